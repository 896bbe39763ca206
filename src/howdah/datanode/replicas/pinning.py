"""Replicas that are pinned to their datanode: no balancer moves them away.

FsDatasetImpl.setPinning and getPinning in Hadoop, which keep it in the sticky bit of the block
file. A client pins a replica that it wrote to a datanode it favours, where
`dfs.datanode.block-pinning.enabled` says so.
"""

from __future__ import annotations

import os
import stat

from howdah.datanode.replicas.open_replica import OpenReplica


def is_pinned(opened: OpenReplica) -> bool:
    return bool(os.fstat(opened.block_fd).st_mode & stat.S_ISVTX)


def pin(block_path: str) -> None:
    """`OSError` is the disk's."""
    os.chmod(block_path, stat.S_IMODE(os.stat(block_path).st_mode) | stat.S_ISVTX)
