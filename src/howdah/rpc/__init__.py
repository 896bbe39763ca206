"""Hadoop RPC v9 (`hrpc`): framing, both ends of a connection, method tables.

- `wire`     pure: frames, varint-delimited messages, calls and answers as bytes
- `session`  pure: the server's side of one connection, bytes in, events out
- `service`  pure: which method of which protocol is answered by what
- `server`   the asyncio shell; `threaded_server` the shell on blocking sockets
- `client`   the blocking caller with its pool of connections
- `busy_poll`     pure: when a server waits for its only caller, awake
- `call_pair` two calls that reach a server in one piece

Arrows: `server, threaded -> session, service -> wire -> proto, errors`, and
`client -> wire`. Nothing here knows what a namenode is.
"""
