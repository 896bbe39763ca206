"""The FileSystem interface and what implements it.

`api.FileSystem` is the interface, `status` its records, `streams` its streams,
`builders` its builders; `paths` and `glob` know names and patterns and no filesystem.
`registry.connect` chooses by URI scheme. The rooms are what it chooses from:

- `hdfs`    HDFS, by a DFS client
- `local`   this machine's files, with checksums or without
- `memory`  files of this process
- `objects` objects of a store, `s3://`, `az://`, `gs://`
- `viewfs`  several of these as one tree, by a mount table
- `webhdfs` HDFS over HTTP

`input_base` and `output_base` are what their streams have in common, `fsspec_adapter` is what
fsspec can open, and `typed_data` what streams read and write beside bytes. Arrows:
`webhdfs -> hdfs`; `hdfs, local, memory, objects, viewfs -> api -> streams, status`, and
`streams -> typed_data`.
"""
