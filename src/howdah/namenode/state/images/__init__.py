"""The namespace to the records of an image and back (pure).

`image` goes through the tree, `rows` moves files by the thousand, `snapshots` and
`restored_snapshots` write and read what snapshots keep. The bytes are `formats.image`'s.
Arrows: `images -> tree, snapshots, inodes`.
"""
