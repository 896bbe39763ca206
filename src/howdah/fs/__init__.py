"""The FileSystem interface and what implements it.

`api.FileSystem` is the interface, `status` its records, `streams` its streams,
`builders` its builders; `paths` and `glob` know names and patterns and no filesystem.
`registry.connect` chooses by URI scheme; `hdfs` is HDFS.
"""
