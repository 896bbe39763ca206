"""Input streams: from a path to bytes of replicas that were checked.

`input` is the stream (DFSInputStream in Hadoop), `locations` and `block_map` know where
blocks are, `file_replicas` and `attempts` which node is next, `block_reader` reads one;
`hedged` asks two, `vectored` many ranges. `checksum` and `replica_check` read without a
stream. Arrows: `input -> file_replicas -> readers`; knows no writer.
"""
