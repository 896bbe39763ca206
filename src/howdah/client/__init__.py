"""The DFS client: from a path and bytes to RPCs, packets and acks, and back.

Rooms, from the bottom to the top:

- `state`         the state machines of files that are read and written (pure)
- `settings`      what a client goes by
- `namenodes`     which namenode is called, and what follows a failure
- `reading`       input streams
- `shortcircuit`  replicas of this machine, read from their files
- `writing`       output streams

`dfs.DFSClient` opens the streams; `namenode` is ClientProtocol as typed methods, `lease`
keeps the leases of open files alive, `peer_cache` and `thread_pool` are connections and threads
that streams share. Nothing here knows the FileSystem interface, which is `howdah.fs`.
"""
