"""Carries replicas from memory to disks, in the background, and takes them out of memory.

LazyWriter, RamDiskAsyncLazyPersistService and FsDatasetImpl.evictLazyPersistBlocks in Hadoop.
`saving` makes one copy, `evicting` has one take its replica's place, `lazy_writer` has the threads.
What is saved, and what is next, is `memory.tracker`'s. Arrows: `lazy_writer -> saving, evicting ->
replicas`.
"""
