"""Protobuf in, calls, protobuf out: a module a protocol, or a part of ClientProtocol (pure).

`client` and `client_*` are ClientProtocol, the room `datanodes` and `namenode` the other two;
`encoders` makes protobuf of the namenode's objects. Knows no socket: `rpc` does.
Arrows: `protocols -> writing, calls`.
"""
