"""Replicas in memory: those on volumes there, and those of the cache.

`tracker` is RamDiskReplicaTracker in Hadoop (which replicas are on a disk too, and what they
take), with what FsDatasetCache reserves for them; `metrics` are what Hadoop's DataNodeMetrics
counts of them (both pure). `mmap_replicas` are cached ones, for who sends them. `saved_copies` are
the files of their copies. Who makes the copies and takes replicas out of memory is `lazy_persist`;
who makes and deletes replicas is `replicas`. Arrows: `saved_copies -> tracker`.
"""
