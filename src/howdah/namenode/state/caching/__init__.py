"""Centralised caching: pools, directives, and which datanode caches which block (pure).

Hadoop's `CacheManager`, `CachePool`, `CacheDirective` and `CacheReplicationMonitor`. `pools` is
what edits change and images keep; `planner` decides what is cached where, from what datanodes
report; `adaptive` is ours: how often a block that is read much is cached. What clients ask of
all this is `calls.cache_calls`, what the planner sees of the namespace `calls.caching`.
"""
