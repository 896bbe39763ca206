"""The edits directories of this machine as one journal (shell), and which of a namenode's
directories work. Hadoop: FSEditLog.initJournals, NNStorage.writeTransactionIdFileToStorage.

Each directory is a journal, and all of them are a set, in which those of
`dfs.namenode.edits.dir.required` are required, `dfs.namenode.edits.dir.minimum` have to be
left, and a member that failed comes back if `dfs.namenode.name.dir.restore` says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from howdah.namenode.journal.directory_journal import DirectoryJournal
from howdah.namenode.journal.journal_set import JournalSet, Member
from howdah.namenode.journal.restoring import Restorations
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


def note_seen(storages: Iterable[StorageDirectory], first_txid: int) -> None:
    """Write `seen_txid` to directories that have images and no edits. A start reads it there,
    too: so the loss of the newest segment is noticed where every edits directory is an older
    copy. A directory that fails is logged; the next image names it to the administrator."""
    for storage in storages:
        try:
            storage.write_seen_txid(first_txid)
        except OSError as error:
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
