"""Edits as XML and back, as Hadoop's offline edits viewer has it (pure).

The fields of an edit name their elements (`form`), and each kind of value has its
elements here, in both directions. The text is Hadoop's to
the byte: what its serializer escapes is escaped the same way, and characters that
XML cannot hold, and backslashes, are written as `\\001f;`.

What Hadoop's XML leaves out is lost on the way here too: the storage policy and
the extended attributes of OP_ADD.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from howdah import errors
from howdah.formats.edits import edits as ed
from howdah.formats.edits import field_codecs as codecs
from howdah.formats.edits.base import forms_of
from howdah.formats.edits.codec import BODIES
from howdah.formats.tokens.token import HDFS_DELEGATION

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
        elements = self.all(name)
        if len(elements) > 1:
            raise errors.IllegalArgument(f"More than one {name} in {self.name}")
        return elements[0].text if elements else None

    def want(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise errors.IllegalArgument(f"There is no {name} in {self.name}")
        return value


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


def _integer(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise errors.IllegalArgument(f"{name} is not a number: {text!r}") from error


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
    """Show a number; nothing is shown for None."""

    def write(edit: Any) -> Iterator[str]:
        value = getattr(edit, field)
        if value is not None:
            yield line(3, name, str(value))

    def read(data: Element) -> dict[str, Any]:
        shown = data.get(name)
        return {field: None if shown is None else _integer(shown, name)}

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


def _permission(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        owned: ed.Permission = getattr(edit, field)
        return _block_of_lines(
            3,
            name,
            [
                line(4, "USERNAME", owned.owner),
                line(4, "GROUPNAME", owned.group),
                line(4, "MODE", str(owned.mode)),
            ],
        )

    def read(data: Element) -> dict[str, Any]:
        (status,) = data.all(name) or [Element(name)]
        mode = _integer(status.want("MODE"), "MODE")
        return {field: ed.Permission(status.want("USERNAME"), status.want("GROUPNAME"), mode)}

    return Shown(write, read)


def _storage_kind(name: str, field: str) -> Shown:
    shown = number(name, field)

    def read(data: Element) -> dict[str, Any]:
        ordinal = shown.read(data)[field]
        try:
            return {field: ed.StorageKind(ordinal)}
        except ValueError as error:
            raise errors.IllegalArgument(f"{name}: {error}") from error

    return Shown(shown.write, read)


def _block_lines(name: str, block: ed.EditBlock) -> Iterator[str]:
    return _block_of_lines(
        3,
        name,
        [
            line(4, "BLOCK_ID", str(block.block_id)),
            line(4, "NUM_BYTES", str(block.length_bytes)),
            line(4, "GENSTAMP", str(block.generation_stamp)),
        ],
    )


def _read_blocks(name: str, data: Element) -> tuple[ed.EditBlock, ...]:
    numbers = ("BLOCK_ID", "NUM_BYTES", "GENSTAMP")
    return tuple(
        ed.EditBlock(*(_integer(block.want(number), number) for number in numbers))
        for block in data.all(name)
    )


def _blocks(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        for block in getattr(edit, field):
            yield from _block_lines(name, block)

    return Shown(write, lambda data: {field: _read_blocks(name, data)})


def _last_blocks(name: str, before: str, _: str, last: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        for block in (getattr(edit, before), getattr(edit, last)):
            if block is not None:
                yield from _block_lines(name, block)

    def read(data: Element) -> dict[str, Any]:
        blocks = _read_blocks(name, data)
        if len(blocks) not in (1, 2):
            raise errors.IllegalArgument(f"{len(blocks)} last blocks; there can be one or two")
        return {before: blocks[0] if len(blocks) == 2 else None, last: blocks[-1]}

    return Shown(write, read)


def _truncate_block(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        block = getattr(edit, field)
        if block is not None:
            yield from _block_lines(name, block)

    # Hadoop prints it and does not read it.
    return Shown(write, lambda data: {field: None})


_RWX: Final = tuple(
    "".join(letter if digit & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True))
    for digit in range(8)
)


def _acl(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        for entry in getattr(edit, field):
            lines = [line(4, "SCOPE", entry.scope.name), line(4, "TYPE", entry.kind.name)]
            if entry.name is not None:
                lines.append(line(4, "NAME", entry.name))
            lines.append(line(4, "PERM", _RWX[entry.permission]))
            yield from _block_of_lines(3, name, lines)

    def read(data: Element) -> dict[str, Any]:
        entries = []
        for element in data.all(name):
            try:
                scope = ed.AclScope[element.want("SCOPE")]
                kind = ed.AclKind[element.want("TYPE")]
                permission = _RWX.index(element.want("PERM"))
            except (KeyError, ValueError) as error:
                raise errors.IllegalArgument(f"ACL entry makes no sense: {error}") from error
            entries.append(ed.AclEntry(scope, kind, permission, element.get("NAME")))
        return {field: tuple(entries)}

    return Shown(write, read)


def _xattrs(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        for xattr in getattr(edit, field):
            lines = [line(4, "NAMESPACE", xattr.namespace.name), line(4, "NAME", xattr.name)]
            if xattr.value is not None:
                lines.append(line(4, "VALUE", "0x" + xattr.value.hex()))
            yield from _block_of_lines(3, name, lines)

    def read(data: Element) -> dict[str, Any]:
        xattrs = []
        for xattr in data.all(name):
            try:
                namespace = ed.XAttrNamespace[xattr.want("NAMESPACE")]
                shown = xattr.get("VALUE")
                value = None if shown is None else bytes.fromhex(shown.removeprefix("0x"))
            except (KeyError, ValueError) as error:
                raise errors.IllegalArgument(
                    f"Extended attribute makes no sense: {error}"
                ) from error
            xattrs.append(ed.XAttr(namespace, xattr.want("NAME"), value))
        return {field: tuple(xattrs)}

    return Shown(write, read)


def _call(id_name: str, id_field: str, call_name: str, call_field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        client = getattr(edit, id_field)
        yield line(3, id_name, str(uuid.UUID(bytes=client)) if client else "")
        yield line(3, call_name, str(getattr(edit, call_field)))

    def read(data: Element) -> dict[str, Any]:
        shown, call_id = data.get(id_name), data.get(call_name)
        if shown is None or call_id is None:
            return {}
        try:
            client = uuid.UUID(shown).bytes if shown else b""
        except ValueError as error:
            raise errors.IllegalArgument(f"{shown!r} is not a client id") from error
        return {id_field: client, call_field: _integer(call_id, call_name)}

    return Shown(write, read)


def _sources(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        numbered = enumerate(getattr(edit, field), 1)
        return _block_of_lines(3, name, [line(4, f"SOURCE{n}", s) for n, s in numbered])

    def read(data: Element) -> dict[str, Any]:
        (element,) = data.all(name) or [Element(name)]
        count = len(element.children or ())
        return {field: tuple(element.want(f"SOURCE{n}") for n in range(1, count + 1))}

    return Shown(write, read)


def _named_options(name: str, field: str) -> Shown:
    """Shows how many there are, and then each."""

    def write(edit: Any) -> Iterator[str]:
        options = getattr(edit, field)
        yield line(3, name, str(len(options)))
        for key, value in options:
            yield from _block_of_lines(
                3, "EXTRAOPTION", [line(4, "KEY", key), line(4, "VALUE", value)]
            )

    def read(data: Element) -> dict[str, Any]:
        options = [(one.want("KEY"), one.want("VALUE")) for one in data.all("EXTRAOPTION")]
        return {field: tuple(options)}

    return Shown(write, read)


def _options(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        yield line(3, name, "|".join(option.name for option in getattr(edit, field)))

    def read(data: Element) -> dict[str, Any]:
        shown = data.want(name)
        try:
            return {field: tuple(ed.RenameFlag[flag] for flag in shown.split("|") if flag)}
        except KeyError as error:
            raise errors.IllegalArgument(f"There is no rename option {error}") from error

    return Shown(write, read)


_TOKEN_NUMBERS: Final = (
    ("ISSUE_DATE", "issue_date_ms"),
    ("MAX_DATE", "max_date_ms"),
    ("MASTER_KEY_ID", "master_key_id"),
)


def _delegation_token(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        token: ed.DelegationTokenIdentifier = getattr(edit, field)
        lines = [
            line(4, "KIND", HDFS_DELEGATION),
            line(4, "SEQUENCE_NUMBER", str(token.sequence_number)),
            line(4, "OWNER", token.owner),
            line(4, "RENEWER", token.renewer),
            line(4, "REALUSER", token.real_user),
        ]
        lines += [line(4, number, str(getattr(token, part))) for number, part in _TOKEN_NUMBERS]
        return _block_of_lines(3, name, lines)

    def read(data: Element) -> dict[str, Any]:
        (element,) = data.all(name) or [Element(name)]
        kind = element.want("KIND")
        if kind != HDFS_DELEGATION:
            raise errors.IllegalArgument(f"A delegation token of the kind {kind!r}")
        sequence = _integer(element.want("SEQUENCE_NUMBER"), "SEQUENCE_NUMBER")
        numbers = {part: _integer(element.want(number), number) for number, part in _TOKEN_NUMBERS}
        token = ed.DelegationTokenIdentifier(
            owner=element.want("OWNER"),
            renewer=element.want("RENEWER"),
            real_user=element.want("REALUSER"),
            sequence_number=sequence,
            **numbers,
        )
        return {field: token}

    return Shown(write, read)


def _delegation_key(name: str, field: str) -> Shown:
    def write(edit: Any) -> Iterator[str]:
        key: ed.DelegationKey = getattr(edit, field)
        lines = [
            line(4, "KEY_ID", str(key.key_id)),
            line(4, "EXPIRY_DATE", str(key.expiry_date_ms)),
        ]
        if key.key:
            lines.append(line(4, "KEY", key.key.hex()))
        return _block_of_lines(3, name, lines)

    def read(data: Element) -> dict[str, Any]:
        (element,) = data.all(name) or [Element(name)]
        key_id = _integer(element.want("KEY_ID"), "KEY_ID")
        expiry = _integer(element.want("EXPIRY_DATE"), "EXPIRY_DATE")
        try:
            key = bytes.fromhex(element.get("KEY") or "")
        except ValueError as error:
            raise errors.IllegalArgument("KEY is not hexadecimal") from error
        return {field: ed.DelegationKey(key_id, expiry, key)}

    return Shown(write, read)


def _path_and(shown: Callable[[str, str], Shown]) -> Callable[[str, str, str, str], Shown]:
    """A path, and what there is of it."""

    def both(path_name: str, path_field: str, name: str, field: str) -> Shown:
        path, rest = text(path_name, path_field), shown(name, field)
        return Shown(
            lambda edit: chain(path.write(edit), rest.write(edit)),
            lambda data: path.read(data) | rest.read(data),
        )

    return both


_KINDS: Final[dict[codecs.Codec, Callable[..., Shown]]] = {
    codecs.I64: number,
    codecs.I32: number,
    codecs.I16: number,
    codecs.I8: number,
    codecs.TWICE_I64: number,
    codecs.BOOLEAN: flag,
    codecs.STRING: text,
    codecs.OPTIONAL_STRING: optional,
    codecs.STRINGS: _sources,
    codecs.OPTIONS: _named_options,
    codecs.RENAME_OPTIONS: _options,
    codecs.STORAGE_KIND: _storage_kind,
    codecs.PERMISSION: _permission,
    codecs.BLOCKS: _blocks,
    codecs.COMPACT_BLOCKS: _blocks,
    codecs.LAST_BLOCKS: _last_blocks,
    codecs.OPTIONAL_BLOCK: _truncate_block,
    codecs.ACL: _acl,
    codecs.ACL_MESSAGE: _path_and(_acl),
    codecs.XATTRS: _xattrs,
    codecs.XATTR_MESSAGE: _path_and(_xattrs),
    codecs.RPC_IDS: _call,
    codecs.DELEGATION_TOKEN: _delegation_token,
    codecs.DELEGATION_KEY: _delegation_key,
}
"""How a kind of value is shown, whose elements and fields are given in turn."""
_OPTIONAL: Final[dict[codecs.Codec, Callable[..., Shown]]] = {
    codecs.I64: optional_number,
    codecs.I16: optional_number,
    codecs.STRING: optional,
}


def _elements_of(kind: type[ed.Edit]) -> tuple[Shown, ...]:
    shown = []
    left = forms_of(kind, kind.xml_tail or kind.record_tail)
    while left:
        _, form = left[0]
        shown += [constant(name, value) for name, value in form.behind]
        if form.element is not None:
            kinds = _OPTIONAL if form.is_optional else _KINDS
            pairs = [(part.element, field) for field, part in left[: form.codec.width]]
            shown.append(kinds[form.codec](*chain.from_iterable(pairs)))
        left = left[form.codec.width :]
    return tuple(shown)


SHOWN: Final = {kind: _elements_of(kind) for kind in BODIES}
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
    return ed.LoggedEdit(_integer(data.want("TXID"), "TXID"), kind(**values))
