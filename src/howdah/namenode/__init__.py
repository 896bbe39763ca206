"""The namenode: the namespace, the block map, and the servers around them.

Pure (no sockets, files, threads, clocks or dice):

- `inodes`, `paths`, `namespace`   the tree, and `apply(edit)`, its only change
- `columns`, `files`, `block_table` tables of numbers, and files and blocks as their rows
- `image`, `image_rows`            the namespace to an image and back
- `permissions`                    who may do what
- `leases`, `retry_cache`          who writes which file; calls already answered
- `lease_recovery`, `block_recovery` what becomes of files whose writers fell silent
- `topology`, `placement`          racks, distances, where replicas go
- `datanodes`, `blocks`, `repair`  the nodes, their replicas, what must be copied or dropped
- `safe_mode`                      when the cluster may change
- `core`                           the state in one place; requests become edits here
- `tree_calls`, `attribute_calls`, `queries`
                                   the operations of ClientProtocol on the core:
- `opening`, `writing`, `closing`, `pipeline_calls`
                                   the life of a file while it is written, and
- `truncation`, `concat`           what else changes a file's blocks
- `snapshots`, `snapshot_edits`    what is kept for snapshots, and when
- `snapshot_views`                 inodes as a snapshot shows them
- `snapshot_calls`, `client_snapshots`, `snapshot_rules`
                                   the operations on snapshots, and what they forbid
- `client_protocol`, `client_queries`, `datanode_protocol`, `messages`
                                   protobuf in, operations out, and back

Shells:

- `journal`                        group commit of edits to their directories
- `loading`                        from directories to a namespace, at start
- `format`                         a new filesystem
- `server`                         sockets, timers, signals

Arrows: `server -> *_protocol -> *_calls, opening …, queries -> core -> namespace,
blocks …`;
`journal, loading, format -> storage`.
"""
