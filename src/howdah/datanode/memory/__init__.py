"""Replicas on volumes in memory: which of them are on a disk too, and what they take.

`tracker` is RamDiskReplicaTracker in Hadoop, with what FsDatasetCache reserves for them;
`figures` are what Hadoop's DataNodeMetrics counts of them (both pure). `saved_copies` are the
files of their copies. Who makes the copies and takes replicas out of memory is `lazy_persist`; who
makes and deletes replicas is `replicas`. Arrows: `saved_copies -> tracker`.
"""
