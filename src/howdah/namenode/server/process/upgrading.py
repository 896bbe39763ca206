"""Upgrade, rollback and finalization of the name directories (shell).

Moving in from an older Hadoop is an upgrade: the namespace is loaded, and written as
a new `current` in today's layout and with a new creation time; what was there stays in
`previous`, from which the old software can start again after a rollback. Once
finalized, there is no way back.

All directories are upgraded or none. A directory that fails stops it, and the others
are put back as they were; a crash at any step is ended at the next start in the same
manner (`howdah.storage.transitions`).

    1. every directory: current -> previous.tmp, a new current
    2. the finished edits by hard link, seen_txid, the image
    3. VERSION, in every directory: from here on the upgrade counts
    4. previous.tmp -> previous
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.image.sections import Sink
from howdah.formats.version import NAMENODE_LAYOUT_VERSION, NamenodeVersion
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.server.process.settings import image_codec
from howdah.namenode.state.images.image import write_image
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.storage import transitions
from howdah.storage.image_files import finish_image, write_unfinished
from howdah.storage.layout import PREVIOUS_NAME, StorageDirectory, StorageLock, StorageState
from howdah.storage.segments import list_segments

log = logging.getLogger(__name__)


def upgrade(conf: Configuration) -> NamenodeVersion:
    """Bring the name directories to today's layout, and keep what was there.

    Raises what `load` raises, InconsistentStorage if there is a `previous` already,
    OSError where a directory fails; then none is changed.
    """
    name_directories = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    edits_directories = conf.get(keys.DFS_NAMENODE_EDITS_DIR)
    codec = image_codec(conf)
    loaded = load(name_directories, edits_directories, upgrades=True)
    try:
        return _upgrade(_storages(conf), set(name_directories), loaded, codec)
    finally:
        for lock in loaded.locks:
            lock.release()


def _upgrade(
    storages: Sequence[StorageDirectory], image_roots: set[Path], loaded: Loaded, codec: str
) -> NamenodeVersion:
    for storage in storages:
        if (storage.root / PREVIOUS_NAME).exists():
            raise errors.InconsistentStorage(
                f"{storage.root} has a {PREVIOUS_NAME} already: finalize that upgrade with "
                "'howdah dfsadmin -finalizeUpgrade', or roll it back with "
                "'howdah namenode -rollback'"
            )
        if storage.state() is not StorageState.NORMAL:
            raise errors.InconsistentStorage(f"{storage.root} is {storage.state().value}")
    now_ms = time.time_ns() // 1_000_000
    version = replace(loaded.version, layout_version=NAMENODE_LAYOUT_VERSION, ctime_ms=now_ms)

    def write(sink: Sink) -> None:
        write_image(loaded.namespace, version.namespace_id, loaded.last_txid, sink, codec=codec)

    begun: list[StorageDirectory] = []
    try:
        for storage in storages:
            begun.append(storage)
            transitions.begin_upgrade(storage)
            _link_edits(storage)
            storage.write_seen_txid(loaded.last_txid)
        images = [storage.current for storage in storages if storage.root in image_roots]
        _save_everywhere(images, loaded.last_txid, write)
        for storage in storages:
            storage.write_version(version, now_ms)
    except (errors.HowdahError, OSError) as error:
        log.critical("the upgrade failed, and no directory has it: %s", error)
        for storage in begun:
            _take_back(storage)
        raise
    for storage in storages:
        transitions.end_upgrade(storage)
        log.warning(
            "%s was upgraded from layout version %d to %d; what it was is in %s",
            storage.root,
            loaded.version.layout_version,
            version.layout_version,
            PREVIOUS_NAME,
        )
    return version


def _save_everywhere(directories: Sequence[Path], txid: int, write: Callable[[Sink], None]) -> None:
    """Write the image into all directories: one without it is one too many here."""
    written = write_unfinished(directories, txid, write)
    failed = dict(written.failed)
    if not failed:
        finished = finish_image(written)
        failed = {directory: "no image" for directory in directories if directory not in finished}
    for directory, why in failed.items():
        raise errors.CheckpointFailed(f"{directory} cannot be upgraded: {why}")


def _take_back(storage: StorageDirectory) -> None:
    try:
        if (storage.root / transitions.PREVIOUS_TMP).exists():
            transitions.undo_upgrade(storage)
    except OSError as error:
        log.error("%s is put back at the next start: %s", storage.root, error)


def _link_edits(storage: StorageDirectory) -> None:
    """Finished segments are never changed, so both directories may have the same ones."""
    old = storage.root / transitions.PREVIOUS_TMP
    for segment in list_segments(old):
        if not segment.in_progress:
            disk.link(segment.path, storage.current / segment.path.name)
    fsync_directory(storage.current)


def roll_back(conf: Configuration) -> NamenodeVersion:
    """What was there before the upgrade is there again, and what came after is gone.

    Raises InconsistentStorage if a directory has nothing to go back to.
    """
    storages = _storages(conf)
    locks = _locked(storages)
    try:
        transitions.recover(storages)
        used = [storage for storage in storages if storage.state() is not StorageState.EMPTY]
        for storage in used:
            if storage.state() is not StorageState.NORMAL:
                raise errors.InconsistentStorage(f"{storage.root} is {storage.state().value}")
        without = [storage for storage in used if not (storage.root / PREVIOUS_NAME).exists()]
        if not used or without:
            raise errors.InconsistentStorage(
                "Cannot rollback: "
                + " and ".join(str(storage.root) for storage in without or storages)
                + f" has no {PREVIOUS_NAME}. If others have one, empty it, to have it filled "
                "from them after the rollback"
            )
        version = _previous_version(used)
        _put_current_away(used)
        for storage in used:
            transitions.bring_back_previous(storage)
        for storage in used:
            transitions.end_rollback(storage)
            log.warning("%s was rolled back", storage.root)
        return version
    finally:
        for lock in locks:
            lock.release()


def _put_current_away(storages: Sequence[StorageDirectory]) -> None:
    """The step that can be taken back: from the next one on, a start goes forward."""
    begun: list[StorageDirectory] = []
    try:
        for storage in storages:
            begun.append(storage)
            transitions.begin_rollback(storage)
    except OSError:
        for storage in begun:
            if not storage.current.exists():
                transitions.undo_rollback(storage)
        raise


def _previous_version(storages: Sequence[StorageDirectory]) -> NamenodeVersion:
    versions = []
    for storage in storages:
        file = storage.root / PREVIOUS_NAME / storage.version_file.name
        versions.append(NamenodeVersion.parse(file.read_text("latin-1"), str(file)))
    if any(version != versions[0] for version in versions):
        raise errors.InconsistentStorage(
            f"the directories would go back to different versions: {versions}"
        )
    return versions[0]


def finalize_offline(conf: Configuration) -> bool:
    """Give up what was kept of the time before, with no namenode running."""
    storages = _storages(conf)
    locks = _locked(storages)
    try:
        transitions.recover(storages)
        return finalize(storage.root for storage in storages)
    finally:
        for lock in locks:
            lock.release()


def finalize(roots: Iterable[Path]) -> bool:
    """The same under a namenode that runs: nobody reads `previous`. True if there was one."""
    done = False
    for root in roots:
        if transitions.finalize(StorageDirectory(root)):
            log.warning("the upgrade of %s is final", root)
            done = True
    return done


def _storages(conf: Configuration) -> list[StorageDirectory]:
    roots = [*conf.get(keys.DFS_NAMENODE_NAME_DIR), *conf.get(keys.DFS_NAMENODE_EDITS_DIR)]
    return [StorageDirectory(root) for root in dict.fromkeys(roots)]


def _locked(storages: Sequence[StorageDirectory]) -> list[StorageLock]:
    locks: list[StorageLock] = []
    try:
        for storage in storages:
            if storage.state() is StorageState.MISSING:
                raise errors.InconsistentStorage(f"{storage.root} is missing: mount it")
            locks.append(storage.lock())
    except BaseException:
        for lock in locks:
            lock.release()
        raise
    return locks
