"""Data directories, each on a disk of its own.

`volumes` chooses one and finds out that one is broken, `usage` asks how full they are,
`block_files` are the names of files in them, as Hadoop has them (pure). Knows no replica's
state. Arrows: `usage -> volumes -> block_files`.
"""
