"""A directory that failed and works again, or is new: made like the others (shell; FS-030).

It may have come back as it was (an NFS server that was away): then it gets the
segments that it missed. Or it is empty (another disk): then all is copied under
another name, which becomes `current` when it is complete, so that a crash leaves
either an empty directory or a whole one.
"""

from __future__ import annotations

import logging
from pathlib import Path

from howdah import errors
from howdah.namenode.edit_log import STALE, copy_missing, set_aside
from howdah.storage import files
from howdah.storage.atomic import fsync_directory
from howdah.storage.image_files import list_images, md5_path
from howdah.storage.layout import FILLING_NAME, StorageDirectory, StorageLock, StorageState
from howdah.storage.segments import list_segments
from howdah.storage.version import NamenodeVersion

log = logging.getLogger(__name__)


def restore(root: Path, working: Path) -> list[StorageLock]:
    """Make `root` whole, between two segments of the log in `working`.

    The result is the lock that was taken, if this process had none there any more.
    Raises OSError if the directory still fails, InconsistentStorage if what is
    there now is something else, StorageLocked if somebody else has it.
    """
    directory, source = StorageDirectory(root), StorageDirectory(working)
    state = directory.state()
    if state not in (StorageState.NORMAL, StorageState.EMPTY):
        raise errors.InconsistentStorage(f"{root} is {state.value}")
    locks = [] if directory.is_locked_here() else [directory.lock()]
    try:
        if state is StorageState.EMPTY:
            fill(directory, source)
        else:
            _catch_up(directory, source)
    except BaseException:
        for lock in locks:
            lock.release()
        raise
    return locks


def fill(directory: StorageDirectory, source: StorageDirectory) -> None:
    """Make an empty directory a copy of one that is complete."""
    filling = directory.root / FILLING_NAME
    if filling.exists():
        files.remove_tree(filling)
    files.make_directory(filling, 0o700)
    for segment in list_segments(source.current):
        if not segment.in_progress:
            copy_missing(segment.path, filling)
    for image in list_images([source.current]):
        copy_missing(md5_path(image.path), filling)
        copy_missing(image.path, filling)
    for small in (source.seen_txid_file, source.version_file):
        copy_missing(small, filling)
    files.rename(filling, directory.current)
    fsync_directory(directory.root)
    log.warning("%s was empty, and is filled from %s now", directory.root, source.root)


def _catch_up(directory: StorageDirectory, source: StorageDirectory) -> None:
    version = source.read_version(NamenodeVersion)
    found = directory.read_version(NamenodeVersion)
    if found != version:
        raise errors.InconsistentStorage(f"{directory.root} is of another filesystem: {found}")
    wanted = {segment.path.name: segment for segment in list_segments(source.current)}
    for segment in list_segments(directory.current):
        if segment.path.name not in wanted:
            # It ended elsewhere in another way.
            set_aside(segment.path, STALE)
    for segment in wanted.values():
        if not segment.in_progress:
            copy_missing(segment.path, directory.current)
