"""The finished segments that a secondary namenode, or a standby, can fetch (shell). Hadoop:
RemoteEditLogManifest, JournalSet.getEditLogManifest."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from howdah.namenode.journal.directory_journal import DirectorySource
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy, choose
from howdah.storage.segments import Segment, finished_name

log = logging.getLogger(__name__)


def finished_since(directories: Iterable[Path], txid: int) -> list[Segment]:
    """The finished segments that hold `txid` and what follows it, without a gap, from
    whichever of the `current` directories have them. Empty if none holds `txid`."""
    copies = [copy for directory in directories for copy in _listed(directory)]
    parts = choose(copies, txid, unfinished=False).parts
    return [Segment(part.first_txid, part.last_txid, Path(part.copies[0].path)) for part in parts]


def find_finished(directories: Iterable[Path], first_txid: int, last_txid: int) -> Path | None:
    """The file of one segment, from the first directory that has it."""
    paths = (directory / finished_name(first_txid, last_txid) for directory in directories)
    return next((path for path in paths if path.is_file()), None)


def _listed(directory: Path) -> list[SegmentCopy]:
    try:
        return DirectorySource(directory).segments(scans=False)
    except OSError as error:
        log.warning("no segments are listed of %s: %s", directory, error)
        return []
