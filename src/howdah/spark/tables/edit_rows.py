"""Rows of an edit log, one for each transaction (pure).

What nearly all edits have is a column: the paths, the time, the inode, the call behind the edit.
All other fields of an edit are in the map `fields`, as texts: numbers and names as they are, bytes
in hexadecimal, lists and values with parts as JSON. Keys of delegation tokens are left out: who may
read a table may not be who may make tokens.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import uuid
from typing import Any, Final

from howdah.formats.edits import edits as ed
from howdah.spark.tables import columns as of
from howdah.spark.tables.columns import Columns, as_text, micros

EDITS: Final = Columns(
    {
        "txid": of.LONG,
        "opcode": of.STRING,
        "time": of.TIMESTAMP,
        "path": of.STRING,
        "destination": of.STRING,
        "paths": of.STRINGS,
        "inode_id": of.LONG,
        "client_id": of.STRING,
        "call_id": of.INT,
        "fields": of.TEXTS,
        "segment": of.STRING,
    }
)

_PATHS: Final = ("path", "src", "target")
_TIMES: Final = ("timestamp_ms", "time_ms", "mtime_ms")
_WITHOUT_OWN_TIME: Final = (ed.TimesOp,)
"""Their time is what they set."""
_CALL: Final = frozenset(("rpc_client_id", "rpc_call_id"))
_PREFIX: Final = "OP_"


@dataclasses.dataclass(frozen=True, slots=True)
class EditLayout:
    """Which fields of a class of edits are which columns."""

    path: str | None
    time: str | None
    others: tuple[str, ...]


_layouts: Final[dict[type[ed.Edit], EditLayout]] = {}


def layout_of(kind: type[ed.Edit]) -> EditLayout:
    """The layout of a class of edits."""
    known = _layouts.get(kind)
    if known is None:
        known = _layouts[kind] = _layout(kind)
    return known


def _layout(kind: type[ed.Edit]) -> EditLayout:
    names = [field.name for field in dataclasses.fields(kind)]
    path = next((name for name in _PATHS if name in names), None)
    time = next((name for name in _TIMES if name in names), None)
    if kind in _WITHOUT_OWN_TIME:
        time = None
    shown = {path, time, "dst", "inode_id", *_CALL}
    if kind is ed.ConcatDeleteOp:
        shown.add("sources")
    return EditLayout(path, time, tuple(name for name in names if name not in shown))


def row_of(logged: ed.LoggedEdit, segment: str) -> dict[str, Any]:
    """The row of a transaction."""
    edit = logged.edit
    layout = layout_of(type(edit))
    path = _text(getattr(edit, layout.path)) if layout.path is not None else None
    destination = _text(getattr(edit, "dst", None))
    sources = edit.sources if isinstance(edit, ed.ConcatDeleteOp) else ()
    has_call = isinstance(edit, ed.RetryableEdit) and edit.has_call
    return {
        "txid": logged.txid,
        "opcode": edit.opcode.name.removeprefix(_PREFIX),
        "time": micros(getattr(edit, layout.time)) if layout.time is not None else None,
        "path": path,
        "destination": destination,
        "paths": [each for each in (path, destination, *map(as_text, sources)) if each is not None],
        "inode_id": getattr(edit, "inode_id", None),
        "client_id": str(uuid.UUID(bytes=_call(edit)[0])) if has_call else None,
        "call_id": _call(edit)[1] if has_call else None,
        "fields": [(name, field_text(getattr(edit, name))) for name in layout.others],
        "segment": segment,
    }


def _call(edit: ed.Edit) -> tuple[bytes, int]:
    assert isinstance(edit, ed.RetryableEdit)
    return edit.rpc_client_id, edit.rpc_call_id


def _text(value: str | None) -> str | None:
    return None if value is None else as_text(value)


def field_text(value: object) -> str | None:
    """The text of a field.

    >>> field_text((ed.EditBlock(1, 2, 3),))
    '[{"block_id": 1, "length_bytes": 2, "generation_stamp": 3}]'
    """
    plain = _plain(value)
    if plain is None or isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False)


def _plain(value: object) -> Any:
    """A value of what JSON has."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    assert dataclasses.is_dataclass(value), value
    is_key = isinstance(value, ed.DelegationKey)
    return {
        field.name: _plain(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if not (is_key and field.name == "key")
    }
