"""Replicas that the namenode wants in memory: mapped, locked, and verified once.

`block_cache` is FsDatasetCache in Hadoop, `block_cache` its MappableBlock. What the namenode
orders comes from the control process; the room is `memory.tracker`'s, together with that of
replicas on volumes in memory.
"""
