"""Edits as XML and back, as Hadoop's offline edits viewer has it (pure).

One table says of each operation which elements it has, in which order; an
element knows the field that it shows and both directions. The text is Hadoop's to
the byte: what its serializer escapes is escaped the same way, and characters that
XML cannot hold, and backslashes, are written as `\\001f;`.

What Hadoop's XML leaves out is lost on the way here too: the storage policy and
the extended attributes of OP_ADD.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from howdah import errors
from howdah.formats.edits import cache_edits
from howdah.formats.edits import edits as ed

HEAD: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<EDITS>\n'
TAIL: Final = "</EDITS>\n"


@dataclass(slots=True)
class Element:
    """An element as it is read: its text, unescaped, and what is inside."""

    name: str
    text: str = ""
    children: list[Element] | None = None

    def all(self, name: str) -> list[Element]:
        return [child for child in self.children or () if child.name == name]

    def get(self, name: str) -> str | None:
        found = self.all(name)
        if len(found) > 1:
            raise errors.IllegalArgument(f"More than one {name} in {self.name}")
        return found[0].text if found else None

    def want(self, name: str) -> str:
        found = self.get(name)
        if found is None:
            raise errors.IllegalArgument(f"There is no {name} in {self.name}")
        return found


@dataclass(frozen=True, slots=True)
class Shown:
    """Elements for some fields: lines of XML from an edit, field values from XML."""

    write: Callable[[Any], Iterator[str]]
    read: Callable[[Element], dict[str, Any]]


# Text.

_MANGLED: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\\\\\ud800-\udfff\ufffe\uffff]")
_REFERENCE: Final = re.compile("[&<>\r\x7f-\x9f\U00010000-\U0010ffff]")
_NAMED: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_UNMANGLED: Final = re.compile(r"\\([0-9a-fA-F]{4});")


def escape(text: str) -> str:
    """The text of an element."""
    mangled = _MANGLED.sub(lambda match: f"\\{ord(match.group()):04x};", text)
    return _REFERENCE.sub(
        lambda match: _NAMED.get(match.group()) or f"&#{ord(match.group())};", mangled
    )


def unmangle(text: str) -> str:
    """The inverse of what XML itself does not undo. Raises IllegalArgument."""
    plain = _UNMANGLED.sub(lambda match: chr(int(match[1], 16)), text)
    if "\\" in _UNMANGLED.sub("", text):
        raise errors.IllegalArgument(f"A backslash that begins no \\XXXX; in {text[:80]!r}")
    return plain


def line(depth: int, name: str, text: str) -> str:
    indent = "  " * depth
    escaped = escape(text)
    return f"{indent}<{name}>{escaped}</{name}>\n" if escaped else f"{indent}<{name}/>\n"


def _block_of_lines(depth: int, name: str, lines: Sequence[str]) -> Iterator[str]:
    indent = "  " * depth
    if not lines:
        yield f"{indent}<{name}/>\n"
        return
    yield f"{indent}<{name}>\n"
    yield from lines
    yield f"{indent}</{name}>\n"


def _integer(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise errors.IllegalArgument(f"{what} is not a number: {text!r}") from error


# Elements.


def text(name: str, field: str) -> Shown:
    return Shown(
        lambda edit: iter((line(3, name, getattr(edit, field)),)),
        lambda data: {field: data.want(name)},
    )


def optional(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        value = getattr(edit, field)
        if value is not None:
            yield line(3, name, value)

    return Shown(write, lambda data: {field: data.get(name)})


def optional_number(name: str, field: str) -> Shown:
    """Nothing is shown for None."""

    def write(edit: Any) -> Iterator[str]:
        value = getattr(edit, field)
        if value is not None:
            yield line(3, name, str(value))

    def read(data: Element) -> dict[str, Any]:
        found = data.get(name)
        return {field: None if found is None else _integer(found, name)}

    return Shown(write, read)


def number(name: str, field: str) -> Shown:
    return Shown(
        lambda edit: iter((line(3, name, str(int(getattr(edit, field)))),)),
        lambda data: {field: _integer(data.want(name), name)},
    )


def flag(name: str, field: str) -> Shown:
    return Shown(
        lambda edit: iter((line(3, name, str(getattr(edit, field)).lower()),)),
        lambda data: {field: data.want(name) == "true"},
    )


def constant(name: str, value: str) -> Shown:
    """What Hadoop prints though the record has no such field."""
    return Shown(lambda edit: iter((line(3, name, value),)), lambda data: {})


LENGTH: Final = constant("LENGTH", "0")


def _permission() -> Shown:
    def write(edit: Any) -> Iterator[str]:
        owned: ed.Permission = edit.permission
        return _block_of_lines(
            3,
            "PERMISSION_STATUS",
            [
                line(4, "USERNAME", owned.owner),
                line(4, "GROUPNAME", owned.group),
                line(4, "MODE", str(owned.mode)),
            ],
        )

    def read(data: Element) -> dict[str, Any]:
        (found,) = data.all("PERMISSION_STATUS") or [Element("PERMISSION_STATUS")]
        mode = _integer(found.want("MODE"), "MODE")
        owned = ed.Permission(found.want("USERNAME"), found.want("GROUPNAME"), mode)
        return {"permission": owned}

    return Shown(write, read)


PERMISSION: Final = _permission()


def _block_lines(block: ed.EditBlock) -> Iterator[str]:
    return _block_of_lines(
        3,
        "BLOCK",
        [
            line(4, "BLOCK_ID", str(block.block_id)),
            line(4, "NUM_BYTES", str(block.length_bytes)),
            line(4, "GENSTAMP", str(block.generation_stamp)),
        ],
    )


def _read_blocks(data: Element) -> tuple[ed.EditBlock, ...]:
    names = ("BLOCK_ID", "NUM_BYTES", "GENSTAMP")
    return tuple(
        ed.EditBlock(*(_integer(block.want(name), name) for name in names))
        for block in data.all("BLOCK")
    )


def _write_blocks(edit: Any) -> Iterator[str]:
    for block in edit.blocks:
        yield from _block_lines(block)


BLOCKS: Final = Shown(_write_blocks, lambda data: {"blocks": _read_blocks(data)})


def _last_blocks() -> Shown:
    def write(edit: Any) -> Iterator[str]:
        if edit.penultimate_block is not None:
            yield from _block_lines(edit.penultimate_block)
        yield from _block_lines(edit.last_block)

    def read(data: Element) -> dict[str, Any]:
        found = _read_blocks(data)
        if len(found) not in (1, 2):
            raise errors.IllegalArgument(f"{len(found)} last blocks; there can be one or two")
        return {
            "penultimate_block": found[0] if len(found) == 2 else None,
            "last_block": found[-1],
        }

    return Shown(write, read)


def _truncate_block() -> Shown:
    def write(edit: Any) -> Iterator[str]:
        if edit.truncate_block is not None:
            yield from _block_lines(edit.truncate_block)

    # Hadoop prints it and does not read it.
    return Shown(write, lambda data: {"truncate_block": None})


_RWX: Final = tuple(
    "".join(letter if digit & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True))
    for digit in range(8)
)


def _acl(field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        for entry in getattr(edit, field):
            lines = [line(4, "SCOPE", entry.scope.name), line(4, "TYPE", entry.kind.name)]
            if entry.name is not None:
                lines.append(line(4, "NAME", entry.name))
            lines.append(line(4, "PERM", _RWX[entry.permission]))
            yield from _block_of_lines(3, "ENTRY", lines)

    def read(data: Element) -> dict[str, Any]:
        entries = []
        for found in data.all("ENTRY"):
            try:
                scope = ed.AclScope[found.want("SCOPE")]
                kind = ed.AclKind[found.want("TYPE")]
                permission = _RWX.index(found.want("PERM"))
            except (KeyError, ValueError) as error:
                raise errors.IllegalArgument(f"ACL entry makes no sense: {error}") from error
            entries.append(ed.AclEntry(scope, kind, permission, found.get("NAME")))
        return {field: tuple(entries)}

    return Shown(write, read)


def _xattrs() -> Shown:
    def write(edit: Any) -> Iterator[str]:
        for xattr in edit.xattrs:
            lines = [line(4, "NAMESPACE", xattr.namespace.name), line(4, "NAME", xattr.name)]
            if xattr.value is not None:
                lines.append(line(4, "VALUE", "0x" + xattr.value.hex()))
            yield from _block_of_lines(3, "XATTR", lines)

    def read(data: Element) -> dict[str, Any]:
        found = []
        for xattr in data.all("XATTR"):
            try:
                namespace = ed.XAttrNamespace[xattr.want("NAMESPACE")]
                shown = xattr.get("VALUE")
                value = None if shown is None else bytes.fromhex(shown.removeprefix("0x"))
            except (KeyError, ValueError) as error:
                raise errors.IllegalArgument(
                    f"Extended attribute makes no sense: {error}"
                ) from error
            found.append(ed.XAttr(namespace, xattr.want("NAME"), value))
        return {"xattrs": tuple(found)}

    return Shown(write, read)


def _call() -> Shown:
    def write(edit: Any) -> Iterator[str]:
        client = edit.rpc_client_id
        yield line(3, "RPC_CLIENTID", str(uuid.UUID(bytes=client)) if client else "")
        yield line(3, "RPC_CALLID", str(edit.rpc_call_id))

    def read(data: Element) -> dict[str, Any]:
        shown, call_id = data.get("RPC_CLIENTID"), data.get("RPC_CALLID")
        if shown is None or call_id is None:
            return {}
        try:
            client = uuid.UUID(shown).bytes if shown else b""
        except ValueError as error:
            raise errors.IllegalArgument(f"{shown!r} is not a client id") from error
        return {"rpc_client_id": client, "rpc_call_id": _integer(call_id, "RPC_CALLID")}

    return Shown(write, read)


CALL: Final = _call()


def _sources() -> Shown:
    def write(edit: Any) -> Iterator[str]:
        numbered = enumerate(edit.sources, 1)
        return _block_of_lines(3, "SOURCES", [line(4, f"SOURCE{n}", s) for n, s in numbered])

    def read(data: Element) -> dict[str, Any]:
        (found,) = data.all("SOURCES") or [Element("SOURCES")]
        count = len(found.children or ())
        return {"sources": tuple(found.want(f"SOURCE{n}") for n in range(1, count + 1))}

    return Shown(write, read)


def _options() -> Shown:
    def write(edit: Any) -> Iterator[str]:
        yield line(3, "OPTIONS", "|".join(option.name for option in edit.options))

    def read(data: Element) -> dict[str, Any]:
        shown = data.want("OPTIONS")
        try:
            return {"options": tuple(ed.RenameFlag[name] for name in shown.split("|") if name)}
        except KeyError as error:
            raise errors.IllegalArgument(f"There is no rename option {error}") from error

    return Shown(write, read)


_FILE: Final = (
    LENGTH,
    number("INODEID", "inode_id"),
    text("PATH", "path"),
    number("REPLICATION", "replication"),
    number("MTIME", "mtime_ms"),
    number("ATIME", "atime_ms"),
    number("BLOCKSIZE", "block_size_bytes"),
)
_SNAPSHOT: Final = text("SNAPSHOTROOT", "path")
# Hadoop's XML calls the path SRC in some operations and PATH in others.
_SRC: Final = text("SRC", "path")
_PATH: Final = text("PATH", "path")
_TIMESTAMP: Final = number("TIMESTAMP", "timestamp_ms")
_RENAME: Final = (LENGTH, text("SRC", "src"), text("DST", "dst"), _TIMESTAMP)
_CLIENT: Final = (text("CLIENT_NAME", "client_name"), text("CLIENT_MACHINE", "client_machine"))
_XATTRS: Final = _xattrs()

_CACHE_DIRECTIVE: Final = (
    number("ID", "directive_id"),
    optional("PATH", "path"),
    optional_number("REPLICATION", "replication"),
    optional("POOL", "pool"),
    optional_number("EXPIRATION", "expiry_ms"),
    CALL,
)
_CACHE_POOL: Final = (
    text("POOLNAME", "name"),
    optional("OWNERNAME", "owner"),
    optional("GROUPNAME", "group"),
    optional_number("MODE", "mode"),
    optional_number("LIMIT", "limit_bytes"),
    optional_number("MAXRELATIVEEXPIRY", "max_relative_expiry_ms"),
    optional_number("DEFAULTREPLICATION", "default_replication"),
    CALL,
)

SHOWN: Final[dict[type[ed.Edit], tuple[Shown, ...]]] = {
    ed.AddOp: (
        *_FILE,
        *_CLIENT,
        flag("OVERWRITE", "overwrite"),
        BLOCKS,
        PERMISSION,
        _acl("acl"),
        number("ERASURE_CODING_POLICY_ID", "erasure_coding_policy_id"),
        CALL,
    ),
    ed.CloseOp: (
        *_FILE,
        constant("CLIENT_NAME", ""),
        constant("CLIENT_MACHINE", ""),
        constant("OVERWRITE", "false"),
        BLOCKS,
        PERMISSION,
    ),
    ed.AddBlockOp: (_PATH, _last_blocks(), CALL),
    ed.UpdateBlocksOp: (_PATH, BLOCKS, CALL),
    ed.AppendOp: (_PATH, *_CLIENT, flag("NEWBLOCK", "new_block"), CALL),
    ed.TruncateOp: (
        _SRC,
        text("CLIENTNAME", "client_name"),
        text("CLIENTMACHINE", "client_machine"),
        number("NEWLENGTH", "new_length_bytes"),
        _TIMESTAMP,
        _truncate_block(),
    ),
    ed.ConcatDeleteOp: (LENGTH, text("TRG", "target"), _TIMESTAMP, _sources(), CALL),
    ed.ReassignLeaseOp: (
        text("LEASEHOLDER", "lease_holder"),
        _PATH,
        text("NEWHOLDER", "new_holder"),
    ),
    ed.MkdirOp: (
        LENGTH,
        number("INODEID", "inode_id"),
        _PATH,
        _TIMESTAMP,
        PERMISSION,
        _acl("acl"),
        _XATTRS,
    ),
    ed.SymlinkOp: (
        LENGTH,
        number("INODEID", "inode_id"),
        _PATH,
        text("VALUE", "target"),
        number("MTIME", "mtime_ms"),
        number("ATIME", "atime_ms"),
        PERMISSION,
        CALL,
    ),
    ed.RenameOldOp: (*_RENAME, CALL),
    ed.RenameOp: (*_RENAME, _options(), CALL),
    ed.DeleteOp: (LENGTH, _PATH, _TIMESTAMP, CALL),
    ed.SetReplicationOp: (_PATH, number("REPLICATION", "replication")),
    ed.SetPermissionsOp: (_SRC, number("MODE", "mode")),
    ed.SetOwnerOp: (_SRC, optional("USERNAME", "owner"), optional("GROUPNAME", "group")),
    ed.TimesOp: (LENGTH, _PATH, number("MTIME", "mtime_ms"), number("ATIME", "atime_ms")),
    ed.SetQuotaOp: (
        _SRC,
        number("NSQUOTA", "namespace_quota"),
        number("DSQUOTA", "space_quota_bytes"),
    ),
    ed.SetQuotaByStorageTypeOp: (
        _SRC,
        number("STORAGETYPE", "storage_kind"),
        number("DSQUOTA", "space_quota_bytes"),
    ),
    ed.SetStoragePolicyOp: (_PATH, number("POLICYID", "policy_id")),
    ed.SetAclOp: (_SRC, _acl("entries")),
    ed.SetXAttrOp: (_SRC, _XATTRS, CALL),
    ed.RemoveXAttrOp: (_SRC, _XATTRS, CALL),
    ed.SetGenstampV1Op: (number("GENSTAMP", "generation_stamp"),),
    ed.SetGenstampV2Op: (number("GENSTAMPV2", "generation_stamp"),),
    ed.AllocateBlockIdOp: (number("BLOCK_ID", "block_id"),),
    ed.AllowSnapshotOp: (_SNAPSHOT,),
    ed.DisallowSnapshotOp: (_SNAPSHOT,),
    ed.CreateSnapshotOp: (
        _SNAPSHOT,
        text("SNAPSHOTNAME", "name"),
        number("MTIME", "mtime_ms"),
        CALL,
    ),
    ed.DeleteSnapshotOp: (
        _SNAPSHOT,
        text("SNAPSHOTNAME", "name"),
        number("MTIME", "mtime_ms"),
        CALL,
    ),
    ed.RenameSnapshotOp: (
        _SNAPSHOT,
        text("SNAPSHOTOLDNAME", "old_name"),
        text("SNAPSHOTNEWNAME", "new_name"),
        number("MTIME", "mtime_ms"),
        CALL,
    ),
    cache_edits.AddCacheDirectiveOp: _CACHE_DIRECTIVE,
    cache_edits.ModifyCacheDirectiveOp: _CACHE_DIRECTIVE,
    cache_edits.RemoveCacheDirectiveOp: (number("ID", "directive_id"), CALL),
    cache_edits.AddCachePoolOp: _CACHE_POOL,
    cache_edits.ModifyCachePoolOp: _CACHE_POOL,
    cache_edits.RemoveCachePoolOp: (text("POOLNAME", "name"), CALL),
    ed.StartLogSegmentOp: (),
    ed.EndLogSegmentOp: (),
    ed.RollingUpgradeStartOp: (number("STARTTIME", "time_ms"),),
    ed.RollingUpgradeFinalizeOp: (number("FINALIZETIME", "time_ms"),),
}
"""Every operation that can be encoded, as its elements behind TXID."""

_BY_NAME: Final = {kind.opcode.name: kind for kind in SHOWN}


def version_line(layout_version: int) -> str:
    return line(1, "EDITS_VERSION", str(layout_version))


def write_record(logged: ed.LoggedEdit) -> str:
    """One RECORD."""
    edit = logged.edit
    inside = [line(3, "TXID", str(logged.txid))]
    for shown in SHOWN[type(edit)]:
        inside += shown.write(edit)
    data = "".join(_block_of_lines(2, "DATA", inside))
    return f"  <RECORD>\n{line(2, 'OPCODE', edit.opcode.name)}{data}  </RECORD>\n"


def read_record(opcode: str, data: Element) -> ed.LoggedEdit:
    """The edit of an OPCODE and its DATA.

    Raises UnsupportedOperation for an operation that is not known, and
    IllegalArgument for elements that are missing or make no sense.
    """
    kind = _BY_NAME.get(opcode)
    if kind is None:
        raise errors.UnsupportedOperation(f"operation {opcode} is not supported")
    values: dict[str, Any] = {}
    for shown in SHOWN[kind]:
        values |= shown.read(data)
    if "storage_kind" in values:
        try:
            values["storage_kind"] = ed.StorageKind(values["storage_kind"])
        except ValueError as error:
            raise errors.IllegalArgument(f"STORAGETYPE: {error}") from error
    known = {field.name for field in fields(kind)}
    assert values.keys() <= known, f"{opcode} has no {values.keys() - known}"
    return ed.LoggedEdit(_integer(data.want("TXID"), "TXID"), kind(**values))
