"""Edits to bytes and back, as Hadoop 3.5.0 writes them (layout version -67).

A record is, all big-endian:

    opcode    1 byte
    length    int32   counts itself, the transaction id and the body
    txid      int64
    body      the operation's fields, in the order that `base.parts_of` gives
    checksum  int32   CRC32 of all bytes before it

`encode_record` and `decode_record` are the two doors; `record_length` tells how
far a record reaches from its first five bytes. Records of the layout versions
from -63 (Hadoop 2.7) on are read too: they only lack parts that came later.

Nothing here knows of files: an error names the offset within the record, and
`segments` adds the rest. Encoding fails (`IllegalArgument`) on a value that the
record cannot hold, so an edit is encoded before it is applied.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from howdah import errors
from howdah.formats.edits import cache_edits, edits
from howdah.formats.edits.base import Edit, LoggedEdit, parts_of
from howdah.formats.edits.opcodes import Opcode
from howdah.formats.edits.packing import values_getter
from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import Cursor
from howdah.native.loader import kernel

LAYOUT_VERSION: Final = -67
OLDEST_READABLE_LAYOUT_VERSION: Final = -63

PREFIX_BYTES: Final = 5
"""Opcode and length: what `record_length` needs."""
MIN_RECORD_BYTES: Final = 17
"""A record without a body: opcode, length, txid, checksum."""
MAX_RECORD_BYTES: Final = 50 * 1024 * 1024
"""Default of `dfs.namenode.max.op.size`."""

_PREFIX: Final = struct.Struct(">Bi")
_HEADER: Final = struct.Struct(">Biq")
_CHECKSUM: Final = struct.Struct(">I")
_LENGTH_COUNTS: Final = 12
_OUTSIDE_LENGTH: Final = 1 + _CHECKSUM.size

_KINDS: Final[dict[int, type[Edit]]] = {
    int(kind.opcode): kind
    for kind in (*vars(edits).values(), *vars(cache_edits).values())
    if isinstance(kind, type) and issubclass(kind, Edit) and kind.opcode != Opcode.OP_INVALID
}
BODIES: Final = {kind: parts_of(kind) for kind in _KINDS.values()}
"""Every record that can be written, as the sequence of its parts."""

_PACKERS: Final[dict[type[Edit], list[tuple[Callable[[Any], Any], Callable[[Any], bytes]]]]] = {
    kind: [(attrgetter(*part.fields), part.codec.pack) for part in parts]
    for kind, parts in BODIES.items()
}
_NATIVE: Final = getattr(kernel(), "pack_record", None)


class _Packing:
    """What the kernel needs to pack the records of a kind of edit."""

    __slots__ = ("codes", "opcode", "values_of")

    def __init__(self, kind: type[Edit]) -> None:
        """Raises UnsupportedOperation if they have none."""
        if kind not in BODIES:
            raise errors.UnsupportedOperation(f"{kind.__name__} has no edit log record")
        parts = BODIES[kind]
        self.opcode = int(kind.opcode)
        self.codes = b"".join([part.codec.codes or b"y" for part in parts])
        self.values_of: Callable[[Any], list[object]] = values_getter(kind, parts)


_packings: Final[dict[type[Edit], _Packing]] = {}
"""Of each kind that was packed."""


def encode_record(txid: int, edit: Edit) -> bytes:
    """One whole record.

    Raises `IllegalArgument` if a field does not fit, or if the record would be
    longer than a reader accepts, and `UnsupportedOperation` for an edit without an
    on-disk form.
    """
    kind = type(edit)
    packing = _packings.get(kind)
    if packing is None:
        packing = _packings[kind] = _Packing(kind)
    if _NATIVE is not None:
        try:
            record: bytes = _NATIVE(packing.opcode, txid, packing.codes, packing.values_of(edit))
        except (TypeError, ValueError, OverflowError, struct.error, errors.IllegalArgument):
            # Rare, or it does not fit: who can do all says what is wrong.
            return encode_record_here(txid, edit)
        if len(record) <= MAX_RECORD_BYTES:
            return record
    return encode_record_here(txid, edit)


def encode_record_here(txid: int, edit: Edit) -> bytes:
    """The same without the kernel."""
    packers = _PACKERS[type(edit)]
    try:
        body = b"".join([pack(get(edit)) for get, pack in packers])
        record = _HEADER.pack(edit.opcode, _LENGTH_COUNTS + len(body), txid) + body
    except (struct.error, UnicodeEncodeError, ValueError) as error:
        raise errors.IllegalArgument(f"{edit.opcode.name} cannot be logged: {error}") from error
    if len(record) + _CHECKSUM.size > MAX_RECORD_BYTES:
        raise errors.IllegalArgument(
            f"{edit.opcode.name} cannot be logged: its {len(record)} bytes are more than "
            f"the {MAX_RECORD_BYTES} that a record can have"
        )
    return record + _CHECKSUM.pack(zlib.crc32(record))


def record_length(prefix: bytes, offset: int = 0, *, limit: int = MAX_RECORD_BYTES) -> int:
    """Bytes of the whole record whose first five are at `offset`.

    Raises `MalformedRecord` if that is less than a record can have, or more than
    `limit`.
    """
    opcode, length = _PREFIX.unpack_from(prefix, offset)
    total: int = length + _OUTSIDE_LENGTH
    if not MIN_RECORD_BYTES <= total <= limit:
        raise MalformedRecord(
            f"record with opcode {opcode} announces {total} bytes; "
            f"{MIN_RECORD_BYTES} to {limit} are allowed",
            offset=1,
        )
    return total


def check_record(record: bytes) -> int:
    """The transaction id of one whole record whose length and checksum are right.

    Raises `MalformedRecord` if they are not. What the body says is not looked at.
    """
    if len(record) < MIN_RECORD_BYTES:
        raise MalformedRecord(f"{len(record)} bytes are less than the shortest record")
    txid: int
    _, length, txid = _HEADER.unpack_from(record)
    if length + _OUTSIDE_LENGTH != len(record):
        raise MalformedRecord(
            f"record announces {length + _OUTSIDE_LENGTH} bytes and has {len(record)}", offset=1
        )
    end = len(record) - _CHECKSUM.size
    (stored,) = _CHECKSUM.unpack_from(record, end)
    computed = zlib.crc32(memoryview(record)[:end])
    if stored != computed:
        raise MalformedRecord(
            f"checksum is {computed:#010x}, the record says {stored:#010x}", offset=end
        )
    return txid


def decode_checked_record(record: bytes, layout_version: int = LAYOUT_VERSION) -> LoggedEdit:
    """The edit of a record that `check_record` has passed.

    Raises `MalformedRecord` if the body is not what the operation's must be, and
    `UnsupportedOperation` if the operation is not known here.
    """
    opcode, _, txid = _HEADER.unpack_from(record)
    kind = _KINDS.get(opcode)
    if kind is None:
        raise errors.UnsupportedOperation(f"operation {_opcode_name(opcode)} is not supported")
    cursor = Cursor(record, _HEADER.size, len(record) - _CHECKSUM.size)
    values: dict[str, Any] = {}
    for part in BODIES[kind]:
        value: Any = part.codec.read(cursor) if layout_version <= part.since else 0
        if len(part.fields) == 1:
            values[part.fields[0]] = value
        else:
            values.update(zip(part.fields, value, strict=True))
    if cursor.remaining:
        raise cursor.fail(f"{cursor.remaining} bytes too many in {kind.opcode.name}")
    return LoggedEdit(txid, kind(**values))


def decode_record(record: bytes, layout_version: int = LAYOUT_VERSION) -> LoggedEdit:
    """Both steps in one: the edit of one whole record."""
    check_record(record)
    return decode_checked_record(record, layout_version)


def _opcode_name(opcode: int) -> str:
    try:
        return Opcode(opcode).name
    except ValueError:
        return f"with opcode {opcode}"
