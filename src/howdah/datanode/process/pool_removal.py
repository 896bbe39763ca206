"""`dfsadmin -deleteBlockPool`: the directories of a pool that this datanode serves no more.

They are left over from a namenode whose datanode this was once, or one that was taken
out of the configuration. Only an empty pool goes without being forced.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from howdah import errors
from howdah.datanode.replicas.startup_scan import pools_on
from howdah.datanode.volumes.volumes import Volume
from howdah.storage.dir_walk import all_below

log = logging.getLogger(__name__)


def remove_pool(volumes: Iterable[Volume], pool_id: str, *, force: bool) -> None:
    """Raises IllegalArgument for a pool that is on no volume, RemoteError if it has replicas
    and is not forced, and OSError."""
    holding = [volume for volume in volumes if pool_id in pools_on(volume)]
    if not holding:
        raise errors.IllegalArgument(f"there is no block pool {pool_id} on this datanode")
    if not force:
        for volume in holding:
            first = _first_block(volume.pool_path(pool_id))
            if first is not None:
                raise errors.RemoteError(
                    f"Cannot delete block pool, it contains some block files: {first}"
                )
    for volume in holding:
        path = volume.pool_path(pool_id)
        log.warning("deleting block pool %s in %s", pool_id, path)
        shutil.rmtree(path)


def _first_block(path: str) -> Path | None:
    for directory, _, names in all_below(path):
        for name in names:
            if name.startswith("blk_"):
                return Path(directory, name)
    return None
