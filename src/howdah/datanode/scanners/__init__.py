"""Looks at the disks again and again, so that damage is found before a reader needs the block.

`volume_scanner` verifies finalized replicas against their checksums, a thread a volume
(BlockScanner and VolumeScanner in Hadoop); `volume_schedule` says which replica is next, how
fast, and when its place is saved, and `cursor` is that place (both pure). `directory_scanner`
compares what is there with what is in memory (DirectoryScanner in Hadoop), by `comparison`
(pure). They read only: who finds something wrong has the data process look again, which alone
knows what is being changed. Arrows: `scanners -> replicas, volumes, channel`.
"""
