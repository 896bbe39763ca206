"""Hadoop RPC on sockets: servers and the client of `howdah.protocol.rpc`.

- `server`           on the event loop
- `threaded_server`  on blocking sockets
- `client`           the blocking caller with its pool of connections
- `call_pair`        two calls that reach a server in one piece

Nothing here knows what a namenode is.
"""
