"""Replicas of datanodes on this machine, read from their files.

`cache` keeps what is open, `datanode` asks for descriptors over a Unix socket, which `access`
finds, `segments` is the shared memory by which they are taken back, `replica` and `reader` read.
Arrows: `reader -> cache -> datanode -> replica -> segments`.
"""
