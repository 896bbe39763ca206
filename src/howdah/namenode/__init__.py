"""The namenode: the namespace, the block map, and the servers around them.

Rooms, from the bottom to the top; each imports only rooms above it in this list:

- `inodes`       what the tree consists of
- `snapshots`    what is kept for earlier states of it
- `tree`         the namespace, and `apply(edit)`, its only change
- `images`       the namespace to an image and back
- `blocks`       where replicas are, and where they should be (imports `inodes` alone)
- `calls`        requests to edits: the core, permissions, a module a family of calls
- `attributes`   requests about modes, owners, lists of access, quotas, policies
- `writing`      the life of a file that is being written
- `protocols`    protobuf in, calls, protobuf out
- `log`          the edit log (imports no other room)
- `checkpoints`  images while the namenode runs
- `process`      the namenode and the secondary namenode as processes

All but `log`, `checkpoints` and `process` are pure: no sockets, files, threads, clocks or dice.
`incremental_tasks` and `log_throttle` are small helps for long work and repeated messages.
"""
