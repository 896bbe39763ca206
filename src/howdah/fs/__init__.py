"""The FileSystem interface and what implements it.

`api.FileSystem` is the interface, `status` its records, `streams` its streams,
`builders` its builders; `paths` and `glob` know names and patterns and no filesystem.
`registry.connect` chooses by URI scheme; `hdfs` is HDFS, `local` this machine's files
with checksums (`local_raw` without), `memory` files of this process.
"""
