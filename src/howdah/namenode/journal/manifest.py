"""Which finished segments there are, for whoever fetches the log (shell)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from howdah.storage.edits.segments import Segment, finished_name, list_segments


def finished_since(directories: Iterable[Path], txid: int) -> list[Segment]:
    """The finished segments that hold `txid` and what follows it, without a gap, from
    whichever of the `current` directories have them. Empty if none holds `txid`."""
    by_first: dict[int, Segment] = {}
    for directory in directories:
        for segment in _listed(directory):
            known = by_first.get(segment.first_txid)
            if segment.last_txid is not None and (
                known is None or segment.last_txid > (known.last_txid or 0)
            ):
                by_first[segment.first_txid] = segment
    found: list[Segment] = []
    next_txid = txid
    for first_txid, segment in sorted(by_first.items()):
        assert segment.last_txid is not None, "only finished ones are among them"
        if segment.last_txid < txid:
            continue
        if first_txid > next_txid:
            break
        found.append(segment)
        next_txid = segment.last_txid + 1
    return found


def find_finished(directories: Iterable[Path], first_txid: int, last_txid: int) -> Path | None:
    """The file of one segment, from the first directory that has it."""
    paths = (directory / finished_name(first_txid, last_txid) for directory in directories)
    return next((path for path in paths if path.is_file()), None)


def _listed(directory: Path) -> list[Segment]:
    try:
        return list_segments(directory)
    except OSError:
        # The journal has dropped it, and said so.
        return []
