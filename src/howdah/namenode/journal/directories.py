"""The edits directories of this machine as one journal (shell), and which of a namenode's
directories work. Hadoop: FSEditLog.initJournals, NNStorage.writeTransactionIdFileToStorage.

Each directory is a journal, and all of them are a set, in which those of
`dfs.namenode.edits.dir.required` are required, `dfs.namenode.edits.dir.minimum` have to be
left, and a member that failed comes back if `dfs.namenode.name.dir.restore` says so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from howdah.namenode.journal.directory_journal import DirectoryJournal
from howdah.namenode.journal.directory_restore import Restorations
from howdah.namenode.state.edit_log.journal_set import JournalSet, Member
from howdah.storage.layout import StorageDirectory

log = logging.getLogger(__name__)

DirectorySet = JournalSet[DirectoryJournal]


def directory_set(
    directories: Iterable[Path],
    *,
    required: Iterable[Path] = (),
    minimum: int = 1,
    restores: bool = False,
    on_restored: Callable[[], None] = lambda: None,
) -> DirectorySet:
    """The journal of some `current` directories. `on_restored` is called, on a thread, when a
    directory waits for a roll to join in."""
    needed = frozenset(required)
    return JournalSet(
        [Member(DirectoryJournal(current), current in needed) for current in directories],
        minimum=minimum,
        restorer=Restorations(on_restored),
        restores=restores,
        kind=("edits directory", "edits directories"),
    )


def failed_directories(journals: DirectorySet) -> set[Path]:
    """The `current` directories that do not work now, or are not whole yet."""
    return {state.journal.current for state in journals.states() if state.failure is not None}


class Witnesses:
    """Directories that have images and no edits, and learn how far the log has reached.

    A start reads their `seen_txid`, too: so the loss of the newest segment is noticed where every
    edits directory is an older copy. Each is written by a thread of its own, and the log waits
    for none: what holds no edits has no say in whether they are written.
    """

    def __init__(self, storages: Iterable[StorageDirectory]) -> None:
        self._storages = list(storages)
        self._changed = threading.Condition()
        self._next_txids: dict[StorageDirectory, int] = {}
        self._busy: set[StorageDirectory] = set()

    def note(self, first_txid: int) -> None:
        """Write `seen_txid` to all of them. A directory that fails is logged; the next image
        names it to the administrator. On any thread."""
        for storage in self._storages:
            with self._changed:
                self._next_txids[storage] = first_txid
                if storage in self._busy:
                    continue
                self._busy.add(storage)
            name = f"seen_txid of {storage.root}"
            try:
                threading.Thread(
                    target=self._write, args=(storage,), name=name, daemon=True
                ).start()
            except RuntimeError as error:
                self._failed(storage, error)
                with self._changed:
                    self._busy.discard(storage)

    def wait(self, timeout_s: float) -> bool:
        """Until all have learnt it; False if one still has not."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout_s)

    def _write(self, storage: StorageDirectory) -> None:
        while True:
            with self._changed:
                txid = self._next_txids.pop(storage, None)
                if txid is None:
                    self._busy.discard(storage)
                    self._changed.notify_all()
                    return
            try:
                storage.write_seen_txid(txid)
            except Exception as error:  # noqa: BLE001 - the next segment is noted nevertheless
                self._failed(storage, error)

    def _failed(self, storage: StorageDirectory, error: Exception) -> None:
        log.error("%s does not learn how far the log has reached: %s", storage.root, error)


class Directories:
    """The `current` directories of images and of edits, which may be the same.

    Those of the start, without the ones that have failed since: a mount that is gone costs
    its own copy, and nothing in the directories that are left. One that takes part again is
    used again.
    """

    def __init__(
        self,
        images: Sequence[Path],
        edits: Sequence[Path] | None = None,
        failed: Callable[[], Collection[Path]] = frozenset,
    ) -> None:
        """`failed` are those that do not work now; any thread may ask."""
        self._images = list(images)
        self._edits = list(images if edits is None else edits)
        self._failed = failed

    def images(self) -> list[Path]:
        """Those of images. All, if none is known to work: then the attempt says why."""
        return self._working(self._images) or list(self._images)

    def edits(self) -> list[Path]:
        """Those of edits."""
        return self._working(self._edits)

    def _working(self, directories: list[Path]) -> list[Path]:
        failed = self._failed()
        return [directory for directory in directories if directory not in failed]
