"""Mending what a crash left, by the one who is going to write (shell). Hadoop:
recoverUnfinalizedSegments, and what RedundantEditLogInputStream and JournalSet leave undone.

Every directory should hold the whole log. It does not if it was dropped when its disk failed,
if its last write is torn, or if bytes of it have rotted. When the log was read (`log_reader`) and
made sense, its end is decided: the last transaction that was applied. Then each directory is
mended, by the steps of docs/how-it-works/journal.md:

16. the log is truncated to its end: an unfinished segment is finished, a torn tail is cut
17. a copy that is damaged, and that another directory has sound, is set aside as `….corrupt`
18. a copy that ends before the others is set aside as `….stale`
19. segments that are missing are copied

Reading changes nothing, so a log that is refused is left as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from howdah import errors
from howdah.namenode.journal.directory_journal import DirectoryJournal
from howdah.namenode.journal.log_reader import StoredLog
from howdah.namenode.journal.segment_files import CORRUPT, STALE, copy_missing, set_aside
from howdah.storage.segments import finished_name, list_segments

log = logging.getLogger(__name__)


def recover(journals: Sequence[DirectoryJournal], stored: StoredLog, last_txid: int) -> None:
    """Make all directories hold what was read, up to `last_txid`.

    A directory that cannot be mended is left: the journal will find it failing, or the next
    start does.
    """
    for journal in journals:
        try:
            journal.truncate_to(last_txid)
        except errors.CorruptEditLog as error:
            log.warning("a damaged segment is not finished: %s", error)
        except OSError as error:
            log.error("the log in %s can be read but not finished: %s", journal.name, error)
    whole = _finished_segments(stored)
    for journal in journals:
        try:
            _replace(journal, stored, whole)
        except OSError as error:
            log.error("edits directory %s is not made whole: %s", journal.name, error)


def _finished_segments(stored: StoredLog) -> dict[int, Path]:
    """Return by first transaction the files of segments that were read to their end, and are
    finished."""
    paths = {}
    for part in stored.parts:
        copy = stored.sound.get(part.first_txid)
        if copy is not None:
            # What was unfinished when it was read has its name by now.
            name = finished_name(part.first_txid, part.last_txid)
            path = Path(copy.path).with_name(name)
            if path.exists():
                paths[part.first_txid] = path
    return paths


def _replace(journal: DirectoryJournal, stored: StoredLog, whole: Mapping[int, Path]) -> None:
    """Set aside what is worse than the whole segments, and copy those. What no directory has
    whole is left as it is."""
    damaged = {Path(copy.path) for copy in stored.damaged}
    ends = {part.first_txid: part.last_txid for part in stored.parts}
    for segment in list_segments(journal.current):
        if segment.first_txid not in whole:
            continue
        if segment.path in damaged:
            set_aside(segment.path, CORRUPT)
        elif segment.last_txid is not None and segment.last_txid < ends[segment.first_txid]:
            set_aside(segment.path, STALE)
    for path in whole.values():
        copy_missing(path, journal.current)
