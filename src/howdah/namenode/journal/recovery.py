"""Mending what a crash left, by the one who is going to write (shell). Hadoop:
recoverUnfinalizedSegments, and what RedundantEditLogInputStream and JournalSet leave undone.

Each directory ought to hold everything, and a disk is why it may not: it was dropped when it
failed, its last write is torn, or bytes of it have rotted. When the log has been read
(`reading`) and makes sense, its end is decided: the last transaction that was applied. Then,
in every directory by itself:

1. a copy that is damaged, and that another directory has sound, is set aside as `….corrupt`
2. the log is truncated to its end: an unfinished segment is finished, a torn tail is cut
3. a copy that ends before the others is set aside as `….stale`
4. segments that are missing are copied

Nothing before that changes anything: a log that is refused is left as it is. That a log once
reached further is known from a name, from `seen_txid`, or from whole records behind the damage.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from howdah import errors
from howdah.namenode.journal.directory_journal import DirectoryJournal
from howdah.namenode.journal.reading import StoredLog
from howdah.namenode.journal.segment_files import CORRUPT, STALE, copy_missing, set_aside
from howdah.storage.edits.segments import finished_name, list_segments

log = logging.getLogger(__name__)


def recover(journals: Sequence[DirectoryJournal], stored: StoredLog, last_txid: int) -> None:
    """Make all directories hold what was read, up to `last_txid`.

    A directory that cannot be mended is left: the journal will find it failing, or the next
    start does.
    """
    for journal in journals:
        try:
            _set_damaged_aside(journal, stored)
            journal.truncate_to(last_txid)
        except errors.CorruptEditLog as error:
            # Older than the image, or all of its copies are.
            log.error("%s", error)
        except OSError as error:
            log.error("the log in %s can be read but not finished: %s", journal.name, error)
    for journal in journals:
        try:
            _complete(journal, stored)
        except OSError as error:
            log.error("edits directory %s is not made whole: %s", journal.name, error)


def _set_damaged_aside(journal: DirectoryJournal, stored: StoredLog) -> None:
    for copy in sorted(stored.damaged, key=lambda copy: copy.first_txid):
        path = Path(copy.path)
        if path.parent == journal.current and copy.first_txid in stored.sound:
            set_aside(path, CORRUPT)


def _complete(journal: DirectoryJournal, stored: StoredLog) -> None:
    """Give a directory the segments that it lacks or has by half."""
    ends = {part.first_txid: part.last_txid for part in stored.parts}
    for segment in list_segments(journal.current):
        end_txid = ends.get(segment.first_txid)
        is_short = segment.last_txid is not None and segment.last_txid < (end_txid or 0)
        if is_short and segment.first_txid in stored.sound:
            set_aside(segment.path, STALE)
    for first_txid, copy in stored.sound.items():
        # What was unfinished when it was read has its name by now.
        whole = Path(copy.path).with_name(finished_name(first_txid, ends[first_txid]))
        if whole.exists():
            copy_missing(whole, journal.current)
