"""What is in an edit log segment, and where its good part ends.

Mirrors Hadoop's edit log files: an eight-byte header (layout version, feature
flags), records in the order of their transaction ids, and behind them, while the
file is being written, space that was allocated ahead and filled with 0xFF.

A reader that meets bytes that are not a whole record has to tell two things
apart:

* a *torn tail*: the last write before a crash did not get to the disk whole.
  Nothing valid stands behind it, and nothing of it was acknowledged. It is cut;
  that can only be in the segment that was being written.
* *damage*: everything else. A whole record further on proves that the log went
  on; a finished segment is whole or it is damaged; a record whose checksum is
  right was written as it is, so a body or a transaction id that makes no sense is
  damage too. The reader raises `CorruptEditLog` with file, offset and transaction.

Pure: bytes come from anything with `read(count)`.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.formats.edits.codec import (
    LAYOUT_VERSION,
    MAX_RECORD_BYTES,
    MIN_RECORD_BYTES,
    OLDEST_READABLE_LAYOUT_VERSION,
    PREFIX_BYTES,
    check_record,
    decode_checked_record,
    record_length,
)
from howdah.formats.edits.edits import LoggedEdit, Opcode
from howdah.formats.malformed import MalformedRecord

HEADER_BYTES: Final = 8
FILL: Final = bytes((Opcode.OP_INVALID,))

_HEADER: Final = struct.Struct(">ii")
_PREFIX_AND_TXID: Final = struct.Struct(">Biq")
_OUTSIDE_LENGTH: Final = 5
_READ_BYTES: Final = 1 << 20


class Source(Protocol):
    """What a reader needs of a file."""

    def read(self, count: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """An edit, its transaction, and where its record begins in the file."""

    offset: int
    logged: LoggedEdit


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """Where the good part of a segment ends.

    `valid_bytes` is the offset behind the last whole record: where to cut. Of the
    rest, `torn_bytes` are what a torn write left, 0 if the segment is clean;
    `torn_reason` says what is wrong with them. `last_txid` is None if the segment
    has no record, `layout_version` if not even its header is whole.
    """

    layout_version: int | None
    last_txid: int | None
    valid_bytes: int
    torn_bytes: int = 0
    torn_reason: str | None = None


def encode_header(layout_version: int = LAYOUT_VERSION) -> bytes:
    """The first eight bytes of a segment; feature flags do not exist so far."""
    return _HEADER.pack(layout_version, 0)


def decode_header(header: bytes) -> int:
    """The layout version of a segment whose header is whole."""
    layout_version, _ = _HEADER.unpack(header)
    return int(layout_version)


class SegmentReader:
    """Reads one segment from its beginning.

    `name` is for errors. `first_txid` is what the first record must have, None if
    that is not known; `last_txid` what the last one must have, and with it the
    segment is a finished one; None means that it was being written, and that it
    may have a torn tail. `end` is there once the iteration is over.

    >>> reader = SegmentReader(file, "edits_inprogress_0000000000000000001", first_txid=1)
    >>> for placed in reader:
    ...     namespace.apply(placed.logged.edit)
    >>> reader.end.torn_bytes
    0
    """

    def __init__(
        self,
        source: Source,
        name: str,
        *,
        first_txid: int | None = None,
        last_txid: int | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self._source = source
        self._name = name
        self._expected_txid = first_txid
        self._promised_txid = last_txid
        self._max_record_bytes = max_record_bytes
        self._buffer = b""
        self._start = 0  # of the unread part of the buffer
        self._offset = 0  # of the same place in the file
        self._layout_version = LAYOUT_VERSION
        self._last_txid: int | None = None
        self._end: SegmentEnd | None = None

    @property
    def end(self) -> SegmentEnd:
        assert self._end is not None, "the end is known when the segment has been read"
        return self._end

    def __iter__(self) -> Iterator[PlacedEdit]:
        """The edits in order. Raises `CorruptEditLog`; `UnsupportedOperation` for an
        operation that is not known; `IncorrectVersion`."""
        for offset, txid, record in self._records():
            try:
                yield PlacedEdit(offset, decode_checked_record(record, self._layout_version))
            except MalformedRecord as error:
                raise self._damage(offset + error.offset, txid, str(error)) from error
            except errors.UnsupportedOperation as error:
                raise errors.UnsupportedOperation(
                    f"{self._name}: transaction {txid} at offset {offset}: {error}"
                ) from error

    def scan(self) -> SegmentEnd:
        """Checks framing, checksums and transaction ids without decoding any edit."""
        for _ in self._records():
            pass
        return self.end

    # The buffer.

    def _available(self, count: int) -> int:
        """Tries to have `count` unread bytes in the buffer; says how many there are."""
        have = len(self._buffer) - self._start
        if have < count:
            pieces = [self._buffer[self._start :]]
            while have < count and (piece := self._source.read(_READ_BYTES)):
                pieces.append(piece)
                have += len(piece)
            self._buffer = b"".join(pieces)
            self._start = 0
        return have

    def _rest(self) -> bytes:
        self._available(sys.maxsize)
        return self._buffer[self._start :]

    def _pop_bytes(self, count: int) -> bytes:
        """The next `count` bytes, which the buffer has."""
        taken = self._buffer[self._start : self._start + count]
        self._start += count
        self._offset += count
        return taken

    # Records.

    def _records(self) -> Iterator[tuple[int, int, bytes]]:
        """Offset, transaction id and bytes of every record that is whole."""
        if not self._read_header():
            return
        while self._available(1):
            if self._buffer[self._start] == Opcode.OP_INVALID:
                break
            try:
                record, txid = self._next_record()
            except MalformedRecord as error:
                self._judge_rest(str(error))
                return
            if self._expected_txid is not None and txid != self._expected_txid:
                raise self._damage(
                    self._offset,
                    self._expected_txid,
                    f"transaction {txid} stands in its place",
                )
            offset = self._offset
            self._pop_bytes(len(record))
            self._last_txid = txid
            self._expected_txid = txid + 1
            yield offset, txid, record
        self._check_fill()

    def _read_header(self) -> bool:
        have = self._available(HEADER_BYTES)
        if have < HEADER_BYTES:
            self._judge_rest(f"{have} bytes are less than a header")
            return False
        header = self._buffer[:HEADER_BYTES]
        version, flags = _HEADER.unpack(header)
        if version >= 0 or flags:
            self._judge_rest(f"{header.hex()} is not a header")
            return False
        if not LAYOUT_VERSION <= version <= OLDEST_READABLE_LAYOUT_VERSION:
            raise errors.IncorrectVersion(
                f"{self._name} has layout version {version}; "
                f"this software reads {OLDEST_READABLE_LAYOUT_VERSION} to {LAYOUT_VERSION}"
            )
        self._layout_version = version
        self._pop_bytes(HEADER_BYTES)
        return True

    def _next_record(self) -> tuple[bytes, int]:
        have = self._available(PREFIX_BYTES)
        if have < PREFIX_BYTES:
            raise MalformedRecord(f"a record breaks off after {have} bytes")
        length = record_length(self._buffer, self._start, limit=self._max_record_bytes)
        have = self._available(length)
        if have < length:
            raise MalformedRecord(f"a record of {length} bytes breaks off after {have}")
        record = self._buffer[self._start : self._start + length]
        return record, check_record(record)

    # The end.

    def _check_fill(self) -> None:
        """Behind the records comes fill, to the end. Zeros count as fill behind the
        first 0xFF, as they do for Hadoop."""
        if self._rest().strip(FILL + b"\0"):
            self._judge_rest("there is something behind the end of the records")
        else:
            self._finish()

    def _judge_rest(self, reason: str) -> None:
        """What follows is not a record: a torn tail, or damage."""
        if self._promised_txid is not None:
            raise self._damage(self._offset, self._expected_txid, reason)
        rest = self._rest()
        survivor = find_record(rest, self._expected_txid)
        if survivor is not None:
            at, txid = survivor
            raise self._damage(
                self._offset,
                self._expected_txid,
                f"{reason}; yet the log goes on with transaction {txid} "
                f"at offset {self._offset + at}",
            )
        torn_bytes = len(rest.rstrip(FILL))
        self._finish(torn_bytes, reason if torn_bytes else None)

    def _finish(self, torn_bytes: int = 0, torn_reason: str | None = None) -> None:
        if self._promised_txid is not None and self._last_txid != self._promised_txid:
            raise self._damage(
                self._offset,
                self._expected_txid,
                f"it ends before transaction {self._promised_txid}, which its name promises",
            )
        self._end = SegmentEnd(
            self._layout_version if self._offset else None,
            self._last_txid,
            self._offset,
            torn_bytes,
            torn_reason,
        )

    def _damage(self, offset: int, txid: int | None, reason: str) -> errors.CorruptEditLog:
        place = f"transaction {txid}" if txid is not None else "the first transaction"
        return errors.CorruptEditLog(
            f"Edit log {self._name} is damaged at offset {offset}, in {place}: {reason}. "
            f"Restore the file from another journal or a backup"
        )


def find_record(data: bytes, least_txid: int | None) -> tuple[int, int] | None:
    """Offset and transaction id of the first whole record anywhere in `data`.

    Only one that can come after `least_txid` counts: what a recycled disk block
    still holds of an older log proves nothing about this one. Records over the
    limit count, too: whole as they are, they are not to be cut.
    """
    pattern = b"(?=[\0-\x7f](?!\0\0\0[\0-\x0b])[\0-\x7f]"
    most_txid = sys.maxsize
    if least_txid is not None:
        most_txid = least_txid + len(data) // MIN_RECORD_BYTES
        upper_halves = {least_txid >> 32, most_txid >> 32}
        # Whatever lies between the two is farther than any data can reach.
        pattern += b"...(?:%b)" % b"|".join(
            re.escape(half.to_bytes(4, "big")) for half in sorted(upper_halves)
        )
    for match in re.finditer(pattern + b")", data, re.DOTALL):
        at = match.start()
        if at + MIN_RECORD_BYTES > len(data):
            break
        _, length, txid = _PREFIX_AND_TXID.unpack_from(data, at)
        end = at + length + _OUTSIDE_LENGTH
        if (least_txid or 0) <= txid <= most_txid and end <= len(data):
            try:
                return at, check_record(data[at:end])
            except MalformedRecord:
                continue
    return None


def last_record(data: bytes, first_txid: int) -> int | None:
    """The highest transaction id of a whole record anywhere in `data`, damaged or not;
    None if there is none from `first_txid` on."""
    highest: int | None = None
    at = 0
    while (survivor := find_record(data[at:], first_txid)) is not None:
        at += survivor[0]
        try:
            # What follows a whole record is a record, as a rule: no search is needed.
            while at + MIN_RECORD_BYTES <= len(data):
                length = record_length(data, at, limit=len(data) - at)
                txid = check_record(data[at : at + length])
                highest = txid if highest is None else max(highest, txid)
                at += length
        except MalformedRecord:
            at += 1
    return highest
