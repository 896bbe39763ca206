"""getEditsFromTxid: the log's recent edits, read from its segments as events (shell).

On a thread, as it reads files. Finished segments are read whole, the one that is
being written as far as it is durable: what a crash could take back is told to
nobody. Who asks for more than is there gets an empty answer, and who asks for
edits that were purged gets the oldest that are left, from whose number the client
sees what it has missed.

A client that keeps up asks again and again for the end of the same segment. Where
the last answers ended is remembered, so that nobody reads a long segment from its
beginning each time.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.namenode.journal.inotify import EventsBuilder
from howdah.proto import client_namenode_pb2 as pb
from howdah.storage.edits.segment_scan import HEADER_BYTES, SegmentReader
from howdah.storage.edits.segments import Segment, list_segments

log = logging.getLogger(__name__)

_REMEMBERED: Final = 64
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a segment a transaction begins."""

    segment_txid: int
    offset: int


class Watching:
    """Reads one namenode's edits for those who watch. Any thread may ask."""

    def __init__(self, directories: Callable[[], list[Path]], max_events: int) -> None:
        """`directories` are the edits directories that work, best first."""
        self._directories = directories
        self._max_events = max_events
        self._lock = threading.Lock()
        self._places: OrderedDict[int, _Place] = OrderedDict()

    def events(self, from_txid: int, durable_txid: int) -> pb.EventsListProto:
        """The events of the edits from `from_txid` on, as many as fit one answer.

        Raises RemoteError if no directory can be read.
        """
        failure: Exception | None = None
        for directory in self._directories():
            for _ in range(_TRIES):
                try:
                    return self._read(directory, max(from_txid, 1), durable_txid)
                except FileNotFoundError as error:
                    # A segment was finished, and got another name, or was purged.
                    failure = error
                except (OSError, errors.CorruptEditLog) as error:
                    log.warning("who watches gets no edits from %s: %s", directory, error)
                    failure = error
                    break
        raise errors.RemoteError(f"the edits from {from_txid} on cannot be read: {failure}")

    def _read(self, directory: Path, from_txid: int, durable_txid: int) -> pb.EventsListProto:
        builder = EventsBuilder(self._max_events, durable_txid)
        if from_txid > durable_txid:
            return builder.events
        for segment in list_segments(directory):
            if segment.last_txid is not None and segment.last_txid < from_txid:
                continue
            if segment.first_txid > durable_txid:
                break
            if not self._add(segment, from_txid, durable_txid, builder):
                break
        return builder.events

    def _add(
        self, segment: Segment, from_txid: int, durable_txid: int, builder: EventsBuilder
    ) -> bool:
        """One segment's edits; False when the answer is complete."""
        begin_txid, skipped = segment.first_txid, 0
        place = self._place_of(from_txid - 1)
        if place is not None and place.segment_txid == segment.first_txid:
            begin_txid, skipped = from_txid - 1, place.offset - HEADER_BYTES
        with open(segment.path, "rb", buffering=0) as file:
            reader = SegmentReader(
                _Resumed(file, skipped),
                str(segment.path),
                first_txid=begin_txid,
                last_txid=segment.last_txid,
            )
            for placed in reader:
                txid = placed.logged.txid
                has_room = txid < from_txid or builder.add(placed.logged)
                if txid >= durable_txid or not has_room:
                    self._remember(txid, _Place(segment.first_txid, placed.offset + skipped))
                    return False
        return True

    def _place_of(self, txid: int) -> _Place | None:
        with self._lock:
            return self._places.get(txid)

    def _remember(self, txid: int, place: _Place) -> None:
        with self._lock:
            self._places[txid] = place
            self._places.move_to_end(txid)
            while len(self._places) > _REMEMBERED:
                self._places.popitem(last=False)


class _Resumed:
    """A segment's file without the first `skipped` bytes behind its header."""

    def __init__(self, file: RawIOBase, skipped: int) -> None:
        self._file = file
        self._header = file.read(HEADER_BYTES) or b""
        file.seek(skipped, os.SEEK_CUR)

    def read(self, count: int, /) -> bytes:
        header, self._header = self._header, b""
        return header + (self._file.read(count) or b"")
