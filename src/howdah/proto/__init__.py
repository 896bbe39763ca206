"""Hadoop's protocols as protobuf messages, and nothing else.

The `.proto` files beside this module hold the facts that cross the wire:
message names, field names and numbers. `*_pb2.py` and `*_pb2.pyi` are made from
them by `./dev proto` and are checked in, so that installing howdah needs no
compiler. The files are grouped by who speaks to whom; arrows run from the
protocols (`client_namenode`, `client_datanode`, `datanode_namenode`, `namenode`, `qjournal`,
`failover`, `election`, `inter_datanode`, `data_transfer`) to the nouns (`types`) and to `rpc`.
"""
