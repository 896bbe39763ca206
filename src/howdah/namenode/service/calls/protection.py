"""Protected directories: who deletes or moves one that is not empty is refused (pure).

Hadoop's `DFSUtil.checkProtectedDescendants`, for `fs.protected.directories` and
`dfs.protected.subdirectories.enable`. The check binds everybody, the superuser included:

1. a protected directory with entries stays where it is
2. so does every directory above a protected one that has entries
3. with `dfs.protected.subdirectories.enable` so does every directory with entries below a
   protected one

Files and empty directories are not protected, as in Hadoop.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.calls.checks import Checks
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.state.inodes.inodes import Directory


def check_not_protected(core: Checks, found: Resolved) -> None:
    """Raises AccessDenied where `found`, which is to be deleted or moved, is protected."""
    protected = core.settings.protected_directories
    if not protected.paths or not _has_entries(found.inode):
        return
    path = found.path
    if path in protected:
        raise errors.AccessDenied(f"Cannot delete/rename non-empty protected directory {path}")
    # Nobody deletes or moves the root.
    for below in protected.below(path) if found.components else ():
        if _has_entries(core.namespace.find(below)):
            raise errors.AccessDenied(
                f"Cannot delete/rename non-empty protected subdirectory {below}"
            )
    if core.settings.protects_subdirectories:
        above = protected.above(path)
        if above is not None:
            raise errors.AccessDenied(
                f"Cannot delete/rename subdirectory under protected subdirectory {above}"
            )


def _has_entries(inode: object) -> bool:
    return isinstance(inode, Directory) and bool(inode.entries)
