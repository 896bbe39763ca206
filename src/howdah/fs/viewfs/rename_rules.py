"""Which renames may cross mount points, `fs.viewfs.rename.strategy` (pure).

Mirrors ViewFileSystem.verifyRenameStrategy: no data is copied, so both ends must be in one
filesystem; a table may forbid even that, since a mount point of today may be another
filesystem tomorrow.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.fs.viewfs.mount_table import Link

SAME_MOUNTPOINT: Final = "SAME_MOUNTPOINT"
SAME_TARGET_URI: Final = "SAME_TARGET_URI_ACROSS_MOUNTPOINT"
SAME_FILESYSTEM: Final = "SAME_FILESYSTEM_ACROSS_MOUNTPOINT"
STRATEGIES: Final = (SAME_MOUNTPOINT, SAME_TARGET_URI, SAME_FILESYSTEM)


def check(source: Link, target: Link, strategy: str) -> None:
    """Raises AcrossMountPoints (an IOException) for renames between links that are forbidden."""
    if source is target or (source.nfly is None and target.nfly is None and source == target):
        return
    if source.nfly is None and target.nfly is None:
        one, other = source.target, target.target
        if strategy == SAME_TARGET_URI and one == other:
            return
        same = (one.scheme, one.authority.lower()) == (other.scheme, other.authority.lower())
        if strategy == SAME_FILESYSTEM and same:
            return
    raise errors.AcrossMountPoints(
        "Renames across Mount points not supported: "
        f"{source.mount} is {source.target_text}, {target.mount} is {target.target_text} "
        f"(fs.viewfs.rename.strategy is {strategy})"
    )
