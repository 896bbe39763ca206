"""What the directories of this machine have of a log that is shared (shell).

Only what is in the shared log has happened. A namenode that was active and died may have more
in its own directories than the others ever agreed to, or a segment that they ended elsewhere.
Hadoop leaves such files where they are. Here they are set aside as `….stale` before this
namenode writes again, so that a directory never has two histories.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from howdah.namenode.journal.segment_files import STALE, set_aside
from howdah.namenode.state.edit_log.journal import SegmentSource
from howdah.storage.segments import Segment, list_segments

log = logging.getLogger(__name__)


def set_strays_aside(directories: Iterable[Path], shared: SegmentSource, last_txid: int) -> None:
    """In the `current` directories nothing stays that contradicts the shared log, which ends
    with `last_txid`. For the one who is about to write.

    A directory that fails is left: it will fail as a journal, too. Raises OSError if the
    shared log cannot be listed.
    """
    ends = {
        copy.first_txid: copy.last_txid
        for copy in shared.segments(scans=False)
        if copy.last_txid is not None
    }
    for directory in directories:
        try:
            for segment in list_segments(directory):
                if _is_stray(segment, ends, last_txid):
                    set_aside(segment.path, STALE)
        except OSError as error:
            log.error("%s keeps what the shared log does not have: %s", directory, error)


def _is_stray(segment: Segment, ends: dict[int, int], last_txid: int) -> bool:
    if segment.last_txid is None or segment.last_txid > last_txid:
        return True
    return ends.get(segment.first_txid, segment.last_txid) != segment.last_txid
