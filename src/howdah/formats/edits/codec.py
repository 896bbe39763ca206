"""Edits to bytes and back, as Hadoop 3.5.0 writes them (layout version -67).

A record is, all big-endian:

    opcode    1 byte
    length    int32   counts itself, the transaction id and the body
    txid      int64
    body      the operation's fields, in the order of the table below
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
from howdah.formats.edits import cache_edits, packing
from howdah.formats.edits import edits as ed
from howdah.formats.edits import field_codecs as part
from howdah.formats.edits.field_codecs import RPC_IDS, Part
from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import Cursor
from howdah.native.loader import kernel

LAYOUT_VERSION: Final = -67
OLDEST_READABLE_LAYOUT_VERSION: Final = -63
# The layout versions at which parts were added.
_ERASURE_CODING: Final = -64
_SNAPSHOT_MODIFICATION_TIME: Final = -66

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

_FILE: Final = (
    part.i64("inode_id"),
    part.string("path"),
    part.i16("replication"),
    part.i64("mtime_ms"),
    part.i64("atime_ms"),
    part.i64("block_size_bytes"),
    part.blocks("blocks"),
    part.permission("permission"),
)

_CACHE_DIRECTIVE: Final = (
    part.flagged(
        part.i64("directive_id"),
        part.string("path"),
        part.i16("replication"),
        part.string("pool"),
        part.i64("expiry_ms"),
    ),
    RPC_IDS,
)
_CACHE_POOL: Final = (
    part.flagged(
        part.string("name"),
        part.string("owner"),
        part.string("group"),
        part.i16("mode"),
        part.i64("limit_bytes"),
        part.i64("max_relative_expiry_ms"),
        part.i16("default_replication"),
    ),
    RPC_IDS,
)

BODIES: Final[dict[type[ed.Edit], tuple[Part, ...]]] = {
    ed.AddOp: (
        *_FILE,
        part.acl("acl"),
        part.xattrs("xattrs"),
        part.string("client_name"),
        part.string("client_machine"),
        part.boolean("overwrite"),
        part.i8("storage_policy_id"),
        part.i8("erasure_coding_policy_id", since=_ERASURE_CODING),
        RPC_IDS,
    ),
    ed.CloseOp: _FILE,
    ed.AddBlockOp: (
        part.string("path"),
        part.last_blocks("penultimate_block", "last_block"),
        RPC_IDS,
    ),
    ed.UpdateBlocksOp: (part.string("path"), part.compact_blocks("blocks"), RPC_IDS),
    ed.AppendOp: (
        part.string("path"),
        part.string("client_name"),
        part.string("client_machine"),
        part.boolean("new_block"),
        RPC_IDS,
    ),
    ed.TruncateOp: (
        part.string("path"),
        part.string("client_name"),
        part.string("client_machine"),
        part.i64("new_length_bytes"),
        part.i64("timestamp_ms"),
        part.optional_block("truncate_block"),
    ),
    ed.ConcatDeleteOp: (
        part.string("target"),
        part.strings("sources"),
        part.i64("timestamp_ms"),
        RPC_IDS,
    ),
    ed.ReassignLeaseOp: (
        part.string("lease_holder"),
        part.string("path"),
        part.string("new_holder"),
    ),
    ed.MkdirOp: (
        part.i64("inode_id"),
        part.string("path"),
        part.twice_i64("timestamp_ms"),
        part.permission("permission"),
        part.acl("acl"),
        part.xattrs("xattrs"),
    ),
    ed.SymlinkOp: (
        part.i64("inode_id"),
        part.string("path"),
        part.string("target"),
        part.i64("mtime_ms"),
        part.i64("atime_ms"),
        part.permission("permission"),
        RPC_IDS,
    ),
    ed.RenameOldOp: (
        part.string("src"),
        part.string("dst"),
        part.i64("timestamp_ms"),
        RPC_IDS,
    ),
    ed.RenameOp: (
        part.string("src"),
        part.string("dst"),
        part.i64("timestamp_ms"),
        part.rename_options("options"),
        RPC_IDS,
    ),
    ed.DeleteOp: (part.string("path"), part.i64("timestamp_ms"), RPC_IDS),
    ed.SetReplicationOp: (part.string("path"), part.i16("replication")),
    ed.SetPermissionsOp: (part.string("path"), part.i16("mode")),
    ed.SetOwnerOp: (
        part.string("path"),
        part.optional_string("owner"),
        part.optional_string("group"),
    ),
    ed.TimesOp: (part.string("path"), part.i64("mtime_ms"), part.i64("atime_ms")),
    ed.SetQuotaOp: (
        part.string("path"),
        part.i64("namespace_quota"),
        part.i64("space_quota_bytes"),
    ),
    ed.SetQuotaByStorageTypeOp: (
        part.string("path"),
        part.storage_kind("storage_kind"),
        part.i64("space_quota_bytes"),
    ),
    ed.SetStoragePolicyOp: (part.string("path"), part.i8("policy_id")),
    ed.SetAclOp: (part.acl_message("path", "entries"),),
    ed.SetXAttrOp: (part.xattr_message("path", "xattrs"), RPC_IDS),
    ed.RemoveXAttrOp: (part.xattr_message("path", "xattrs"), RPC_IDS),
    ed.SetGenstampV1Op: (part.i64("generation_stamp"),),
    ed.SetGenstampV2Op: (part.i64("generation_stamp"),),
    ed.AllocateBlockIdOp: (part.i64("block_id"),),
    ed.AllowSnapshotOp: (part.string("path"),),
    ed.DisallowSnapshotOp: (part.string("path"),),
    ed.CreateSnapshotOp: (
        part.string("path"),
        part.string("name"),
        part.i64("mtime_ms", since=_SNAPSHOT_MODIFICATION_TIME),
        RPC_IDS,
    ),
    ed.DeleteSnapshotOp: (
        part.string("path"),
        part.string("name"),
        part.i64("mtime_ms", since=_SNAPSHOT_MODIFICATION_TIME),
        RPC_IDS,
    ),
    ed.RenameSnapshotOp: (
        part.string("path"),
        part.string("old_name"),
        part.string("new_name"),
        part.i64("mtime_ms", since=_SNAPSHOT_MODIFICATION_TIME),
        RPC_IDS,
    ),
    cache_edits.AddCacheDirectiveOp: _CACHE_DIRECTIVE,
    cache_edits.ModifyCacheDirectiveOp: _CACHE_DIRECTIVE,
    cache_edits.RemoveCacheDirectiveOp: (part.i64("directive_id"), RPC_IDS),
    cache_edits.AddCachePoolOp: _CACHE_POOL,
    cache_edits.ModifyCachePoolOp: _CACHE_POOL,
    cache_edits.RemoveCachePoolOp: (part.string("name"), RPC_IDS),
    ed.StartLogSegmentOp: (),
    ed.EndLogSegmentOp: (),
    ed.RollingUpgradeStartOp: (part.i64("time_ms"),),
    ed.RollingUpgradeFinalizeOp: (part.i64("time_ms"),),
}
"""Every record that can be written, as the sequence of its parts."""

_PACKERS: Final[dict[type[ed.Edit], list[tuple[Callable[[Any], Any], Callable[[Any], bytes]]]]] = {
    kind: [(attrgetter(*p.fields), p.pack) for p in parts] for kind, parts in BODIES.items()
}


class _Values:
    """All values of an edit at once, as the kernel packs them: got by a function of the edit's
    class, where there is one (`packing`), or by the names in the table."""

    __slots__ = ("_get", "_lists", "_odd", "codes", "of", "opcode")

    def __init__(self, kind: type[ed.Edit], parts: tuple[Part, ...]) -> None:
        self.opcode = int(kind.opcode)
        self.codes = b"".join(p.codes or b"y" for p in parts)
        names: list[str] = []
        self._odd: list[tuple[int, Callable[[Any], Any], Callable[[Any], bytes]]] = []
        """The places of what the kernel leaves to Python."""
        self._lists: list[tuple[int, Callable[[Any], bytes]]] = []
        """The places of what it packs where it is empty, as it is of nearly every edit."""
        for p in parts:
            if not p.codes:
                self._odd.append((len(names), attrgetter(*p.fields), p.pack))
            elif p.codes in b"lx":
                self._lists.append((len(names), p.pack))
            names += (p.within or p.fields) if p.codes else p.fields[:1]
        # Of one name an attrgetter gives the value alone, and of none it is none.
        self._get = attrgetter(*names, "opcode", "opcode")
        self.of: Callable[[Any], list[object]] = packing.VALUES.get(kind, self.by_name)

    def by_name(self, edit: ed.Edit) -> list[object]:
        values = list(self._get(edit)[:-2])
        for place, get, pack in self._odd:
            values[place] = pack(get(edit))
        for place, pack in self._lists:
            if values[place]:
                values[place] = pack(values[place])
        return values


_NATIVE: Final = getattr(kernel(), "pack_record", None)
_VALUES: Final = {kind: _Values(kind, parts) for kind, parts in BODIES.items()}
_KINDS: Final[dict[int, type[ed.Edit]]] = {int(kind.opcode): kind for kind in BODIES}


def encode_record(txid: int, edit: ed.Edit) -> bytes:
    """One whole record.

    Raises `IllegalArgument` if a field does not fit, or if the record would be
    longer than a reader accepts, and `UnsupportedOperation` for an edit without an
    on-disk form.
    """
    values = _VALUES.get(type(edit))
    if values is None:
        raise errors.UnsupportedOperation(f"{type(edit).__name__} has no edit log record")
    if _NATIVE is not None:
        try:
            record: bytes = _NATIVE(values.opcode, txid, values.codes, values.of(edit))
        except (TypeError, ValueError, OverflowError, struct.error, errors.IllegalArgument):
            # Rare, or it does not fit: who can do all says what is wrong.
            return encode_record_here(txid, edit)
        if len(record) <= MAX_RECORD_BYTES:
            return record
    return encode_record_here(txid, edit)


def encode_record_here(txid: int, edit: ed.Edit) -> bytes:
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


def decode_checked_record(record: bytes, layout_version: int = LAYOUT_VERSION) -> ed.LoggedEdit:
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
    for piece in BODIES[kind]:
        value = piece.read(cursor) if layout_version <= piece.since else piece.absent
        if len(piece.fields) == 1:
            values[piece.fields[0]] = value
        else:
            values.update(zip(piece.fields, value, strict=True))
    if cursor.remaining:
        raise cursor.fail(f"{cursor.remaining} bytes too many in {kind.opcode.name}")
    return ed.LoggedEdit(txid, kind(**values))


def decode_record(record: bytes, layout_version: int = LAYOUT_VERSION) -> ed.LoggedEdit:
    """Both steps in one: the edit of one whole record."""
    check_record(record)
    return decode_checked_record(record, layout_version)


def _opcode_name(opcode: int) -> str:
    try:
        return ed.Opcode(opcode).name
    except ValueError:
        return f"with opcode {opcode}"
