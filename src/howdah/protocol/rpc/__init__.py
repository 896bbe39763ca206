"""Speak Hadoop RPC v9: frames, sessions, services (pure).

- `wire`     frames, varint-delimited messages, calls and answers as bytes
- `session`  the server's side of one connection: bytes in, events out
- `service`  which method of which protocol is answered by what

The sockets are in `howdah.rpc`.
"""
