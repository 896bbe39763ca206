"""Requests about what an inode has besides its name and content (pure).

A module a family: `owner_mode_times` (mode, owner, times, replication), `acls`, `xattrs`, `quotas`,
`policies`. Each checks a call, and commits an edit by the namesystem of `calls`.
Knows no protobuf and no socket.
"""
