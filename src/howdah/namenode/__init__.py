"""The namenode: the namespace, the block map, and the servers around them.

- `state`    the namespace and its blocks, changed by edits alone (pure)
- `service`  the calls: a request is checked, makes edits, and is answered (pure)
- `journal`  the edit log, its quorum, and checkpoints
- `server`   processes, high availability, the web, monitoring

A room imports only rooms above it in this list.
"""
