"""The directories of a secondary namenode (shell).

`dfs.namenode.checkpoint.dir` and `dfs.namenode.checkpoint.edits.dir` have the layout of
a namenode's: `current` with VERSION, images with their sums, finished segments. So
`howdah namenode -importCheckpoint` starts from them, Hadoop's does, and a copy of one is
a name directory.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.image.sections import Sink
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.segment_files import STALE, copy_missing, set_aside
from howdah.runtime import disk
from howdah.runtime.atomic_files import TEMPORARY_SUFFIX, fsync_directory, replacing
from howdah.storage.image_files import (
    list_images,
    list_readable_images,
    md5_path,
    remove_unfinished,
)
from howdah.storage.layout import VERSION_NAME, StorageDirectory, StorageLock, StorageState
from howdah.storage.retention import Retention, purge
from howdah.storage.segments import Segment, finished_name, list_segments

log = logging.getLogger(__name__)

# A segment on its way: ours, and what Hadoop's secondary calls it.
_UNFINISHED: Final = re.compile(rf"edits_\d+-\d+{re.escape(TEMPORARY_SUFFIX)}|edits_tmp_.*")


class CheckpointDirectories:
    """All of them, locked for as long as they are open."""

    def __init__(self, image_roots: Sequence[Path], edits_roots: Sequence[Path]) -> None:
        roots = list(dict.fromkeys([*image_roots, *edits_roots]))
        self._storages = [StorageDirectory(root) for root in roots]
        self._locks: list[StorageLock] = []
        self.images = [StorageDirectory(root).current for root in image_roots]
        self.edits = [StorageDirectory(root).current for root in edits_roots]
        self.version: NamenodeVersion | None = None
        """Of which filesystem they are; None until the first checkpoint."""

    def open(self, *, format: bool = False) -> None:
        """Make what is missing, lock, look. With `format`, what they held is lost.

        Raises InconsistentStorage, IncorrectVersion, StorageLocked, OSError.
        """
        try:
            for storage in self._storages:
                disk.make_directory(storage.root)
                self._locks.append(storage.lock())
                if format and storage.current.exists():
                    log.info("formatting %s", storage.root)
                    _erase(storage.current)
                self._look_at(storage)
        except BaseException:
            self.close()
            raise
        for current in self.images:
            remove_unfinished(current)
        for current in self.edits:
            for path in sorted(current.iterdir()):
                if _UNFINISHED.fullmatch(path.name):
                    log.warning("removing %s, which was not finished", path)
                    disk.unlink(path)

    def _look_at(self, storage: StorageDirectory) -> None:
        state = storage.state()
        if state is StorageState.NORMAL:
            version = storage.read_version(NamenodeVersion)
            if self.version is not None and _identity(self.version) != _identity(version):
                raise errors.InconsistentStorage(
                    f"{storage.root} is of another filesystem than the other checkpoint "
                    f"directories: {version} and {self.version}"
                )
            self.version = version
            return
        storage.create()
        if state is not StorageState.EMPTY and (
            state is not StorageState.NOT_FORMATTED
            or list_images([storage.current])
            or list_segments(storage.current)
        ):
            raise errors.InconsistentStorage(
                f"checkpoint directory {storage.root} is {state.value}: -format empties it"
            )

    def close(self) -> None:
        """Give the locks up."""
        for lock in self._locks:
            lock.release()
        self._locks.clear()

    def belong_to(self, version: NamenodeVersion) -> None:
        """See to it that all are of the namenode's filesystem: new ones are from now on,
        and they follow it through an upgrade.

        Raises InconsistentStorage for those of another one.
        """
        if self.version is not None and _identity(self.version) != _identity(version):
            raise errors.InconsistentStorage(
                f"the checkpoint directories are of {self.version}, and the namenode has "
                f"{version}: -format empties them"
            )
        now_ms = time.time_ns() // 1_000_000
        for storage in self._storages:
            if (
                not storage.version_file.exists()
                or storage.read_version(NamenodeVersion) != version
            ):
                storage.write_version(version, now_ms)
        self.version = version

    def newest_image_txid(self, last_txid: int) -> int:
        """Return the transaction of the newest image of a log that ends with `last_txid`; 0 if
        there is none."""
        images = list_readable_images(self.images)
        return next((image.txid for image in images if image.txid <= last_txid), 0)

    def set_later_aside(self, last_txid: int) -> None:
        """Rename the images and segments that reach beyond the end of the namenode's log: they
        tell of a past that it has no more, and none may be taken for its newest image.

        Raises OSError.
        """
        for current in self.images:
            for image in list_images([current]):
                if image.txid > last_txid:
                    set_aside(image.path, STALE)
                    disk.unlink(md5_path(image.path), missing_ok=True)
        for current in self.edits:
            for segment in list_segments(current):
                if segment.last_txid is not None and segment.last_txid > last_txid:
                    set_aside(segment.path, STALE)

    def keep_segment(
        self, first_txid: int, last_txid: int, fetch: Callable[[Sink], None]
    ) -> Segment:
        """Have a segment written into every edits directory that works, in place of what has its
        name there.

        Raises OSError if none does, and what `fetch` raises.
        """
        name = finished_name(first_txid, last_txid)
        source: Path | None = None
        failure = OSError("there is no directory for edits")
        for current in self.edits:
            try:
                if source is None:
                    with replacing(current / name) as file:
                        fetch(file)
                    source = current / name
                else:
                    disk.unlink(current / name, missing_ok=True)
                    copy_missing(source, current)
            except errors.HowdahError:
                raise
            except OSError as error:
                log.error("checkpoint directory %s cannot take %s: %s", current, name, error)
                failure = error
        if source is None:
            raise failure
        return Segment(first_txid, last_txid, source)

    def drop_segment(self, segment: Segment) -> None:
        """One that turned out to be damaged is fetched again the next time."""
        for current in self.edits:
            disk.unlink(current / segment.path.name, missing_ok=True)

    def end_checkpoint(self, txid: int, retention: Retention) -> None:
        """The image of `txid` is there: remove what it makes superfluous."""
        for storage in self._storages:
            try:
                storage.write_seen_txid(txid)
            except OSError as error:
                log.error("checkpoint directory %s fails: %s", storage.root, error)
        purge(self.images, self.edits, retention)


def _identity(version: NamenodeVersion) -> tuple[int, str, str]:
    """What an upgrade does not change."""
    return version.namespace_id, version.cluster_id, version.block_pool_id


def _erase(current: Path) -> None:
    """VERSION goes first: what a crash leaves of it is not formatted."""
    disk.unlink(current / VERSION_NAME, missing_ok=True)
    fsync_directory(current)
    disk.remove_tree(current)
