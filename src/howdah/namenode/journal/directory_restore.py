"""A directory that failed and works again, or is new: made like the others (shell; FS-030).
Hadoop: NNStorage.attemptRestoreRemovedStorage.

A directory that has its old content (an NFS server that was away) gets the segments that it
missed. An empty one (another disk) gets a copy of everything, under another name that becomes
`current` when it is complete: a crash leaves either an empty directory or a whole one.

Each directory has a thread of its own for this, beside the journal's. No answer waits for the
copies, and a mount that hangs delays only its own return.

The steps are those of docs/how-it-works/journal.md:

9. When the log was rolled, the segments that ended before are copied (`begin`).
10. At the next roll the directory joins in: it has every edit from there on (`take_ready`).
11. The segments that ended between the two rolls are copied (`complete`). Until then the
    directory counts as failing; a start with this directory alone names what is missing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.directory_journal import DirectoryJournal
from howdah.namenode.journal.segment_files import STALE, copy_missing, set_aside
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.storage.image_files import list_images, md5_path
from howdah.storage.layout import FILLING_NAME, StorageDirectory, StorageLock, StorageState
from howdah.storage.segments import Segment, list_segments

log = logging.getLogger(__name__)

_ALL: Final = 1 << 63
_PASSES: Final = 5


class Restorations:
    """The `Restorer` of a set of directories. The journal's thread calls; `failures` and
    `wait` are anybody's."""

    def __init__(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """`on_ready` is called, on a thread, when a directory can join in at the next roll."""
        self._on_ready = on_ready
        self._changed = threading.Condition()
        self._busy: set[DirectoryJournal] = set()
        self._ready: list[DirectoryJournal] = []
        self._incomplete: dict[DirectoryJournal, str] = {}
        self._failures: dict[DirectoryJournal, str] = {}
        self._locks: list[StorageLock] = []
        self._closed = False

    def failures(self) -> dict[DirectoryJournal, str]:
        """Why directories are not whole."""
        with self._changed:
            return {**self._failures, **self._incomplete}

    def incomplete(self) -> list[DirectoryJournal]:
        """Those that take part and still lack older segments."""
        with self._changed:
            return list(self._incomplete)

    def begin(self, lost: DirectoryJournal, source: DirectoryJournal, before_txid: int) -> None:
        """Make a directory that takes no part whole, up to a segment's beginning."""

        def ready() -> None:
            self._ready.append(lost)
            self._failures.pop(lost, None)
            log.warning("edits directory %s is restored, and joins in at the next roll", lost.name)

        def failed(why: str) -> None:
            self._failures[lost] = why

        with self._changed:
            if lost in self._busy or lost in self._ready:
                return
            self._busy.add(lost)
        self._start(lost, source, before_txid, ready, failed, self._on_ready)

    def take_ready(self) -> list[DirectoryJournal]:
        """Those that can join in with the segment that is begun now."""
        with self._changed:
            ready, self._ready = self._ready, []
            for journal in ready:
                self._incomplete[journal] = "it lacks the segments before it joined in again"
            return ready

    def complete(
        self, joined: DirectoryJournal, source: DirectoryJournal, before_txid: int
    ) -> None:
        """Give one that takes part again what ended before it did."""

        def finish() -> None:
            self._incomplete.pop(joined, None)
            log.warning("edits directory %s is complete again", joined.name)

        def failed(why: str) -> None:
            self._incomplete[joined] = why

        with self._changed:
            if joined in self._busy:
                return
            self._busy.add(joined)
        self._start(joined, source, before_txid, finish, failed, lambda: None)

    def dropped(self, lost: DirectoryJournal) -> None:
        """The directory failed again."""
        with self._changed:
            self._incomplete.pop(lost, None)

    def _start(
        self,
        journal: DirectoryJournal,
        source: DirectoryJournal,
        before_txid: int,
        done: Callable[[], None],
        failed: Callable[[str], None],
        then: Callable[[], None],
    ) -> None:
        def run() -> None:
            why: str | None = "its thread ended"
            locks: list[StorageLock] = []
            try:
                locks = restore(journal.storage, source.storage, before_txid)
                why = None
            except (OSError, errors.HowdahError) as error:
                log.warning("edits directory %s is still failing: %s", journal.name, error)
                why = str(error)
            except Exception as error:
                log.exception("restoring %s failed on a defect", journal.name)
                why = f"{type(error).__name__}: {error}"
            finally:
                with self._changed:
                    self._busy.discard(journal)
                    self._locks += locks
                    if self._closed:
                        self._release()
                    elif why is None:
                        done()
                    else:
                        failed(why)
                    self._changed.notify_all()
            if why is None and not self._closed:
                then()

        log.info("edits directory %s is restored from %s", journal.name, source.name)
        try:
            threading.Thread(target=run, name=f"restore {journal.name}", daemon=True).start()
        except RuntimeError as error:
            log.error("edits directory %s is not restored now: %s", journal.name, error)
            with self._changed:
                self._busy.discard(journal)
                failed(str(error))
                self._changed.notify_all()

    def wait(self, timeout_s: float) -> bool:
        """Until no thread is at work; False if one still is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout_s)

    def close(self) -> None:
        """Give the locks up; threads that hang are left alone."""
        with self._changed:
            self._closed = True
            self._release()

    def _release(self) -> None:
        for lock in self._locks:
            lock.release()
        self._locks.clear()


def restore(
    directory: StorageDirectory, source: StorageDirectory, before_txid: int = _ALL
) -> list[StorageLock]:
    """Make `directory` have what `source` has, of the segments that began before `before_txid`
    (all of which have ended).

    The result is the lock that was taken, if this process had none there any more.
    Raises OSError if the directory still fails, InconsistentStorage if what is
    there now is something else, StorageLocked if somebody else has it.
    """
    state = directory.state()
    if state not in (StorageState.NORMAL, StorageState.EMPTY):
        raise errors.InconsistentStorage(f"{directory.root} is {state.value}")
    locks = [] if directory.is_locked_here() else [directory.lock()]
    try:
        if state is StorageState.EMPTY:
            fill(directory, source, before_txid)
        else:
            _catch_up(directory, source, before_txid)
    except BaseException:
        for lock in locks:
            lock.release()
        raise
    return locks


def fill(directory: StorageDirectory, source: StorageDirectory, before_txid: int = _ALL) -> None:
    """Make an empty directory a copy of one that is complete."""
    filling = directory.root / FILLING_NAME
    if filling.exists():
        disk.remove_tree(filling)
    disk.make_directory(filling, 0o700)

    def missing_files() -> list[Path]:
        images = list_images([source.current])
        return [
            *_finished(list_segments(source.current), before_txid),
            *(path for image in images for path in (md5_path(image.path), image.path)),
        ]

    _copy_all(missing_files, filling)
    for small in (source.seen_txid_file, source.version_file):
        copy_missing(small, filling)
    disk.rename(filling, directory.current)
    fsync_directory(directory.root)
    log.warning("%s was empty, and is filled from %s now", directory.root, source.root)


def _catch_up(directory: StorageDirectory, source: StorageDirectory, before_txid: int) -> None:
    version = source.read_version(NamenodeVersion)
    own = directory.read_version(NamenodeVersion)
    if own != version:
        raise errors.InconsistentStorage(f"{directory.root} is of another filesystem: {own}")
    names = {segment.path.name for segment in list_segments(source.current)}
    for segment in list_segments(directory.current):
        if segment.first_txid < before_txid and segment.path.name not in names:
            # It ended elsewhere in another way.
            set_aside(segment.path, STALE)
    _copy_all(lambda: _finished(list_segments(source.current), before_txid), directory.current)


def _finished(segments: Iterable[Segment], before_txid: int) -> list[Path]:
    return [
        segment.path
        for segment in segments
        if not segment.in_progress and segment.first_txid < before_txid
    ]


def _copy_all(wanted: Callable[[], list[Path]], target: Path) -> None:
    """Copy what is wanted, while checkpoints may come and make some of it superfluous."""
    for _ in range(_PASSES):
        missing = [path for path in wanted() if not (target / path.name).exists()]
        if not missing:
            return
        for path in missing:
            try:
                copy_missing(path, target)
            except FileNotFoundError:
                if path.exists():
                    raise
                log.info("%s was purged before it was copied", path)
    raise errors.InconsistentStorage(
        f"{target} could not be filled: what it lacks was purged again and again meanwhile"
    )
