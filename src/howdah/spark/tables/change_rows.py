"""Rows of a namespace's changes: one for each event of inotify, and each entry of a listing.

A transaction may have several events: `sequence` numbers them, so `(txid, sequence)` is a key, and
gives the order. A column that an event says nothing of is null.

A listing stands for all that happened before: it is a row `reset`, and a row `listed` for each
file, directory and link. Whoever keeps a state forgets it at `reset`. All its rows have the id of
the last transaction before the listing began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from howdah.fs.acl import AclEntry
from howdah.fs.inotify import (
    AppendEvent,
    CloseEvent,
    CreateEvent,
    Event,
    EventBatch,
    MetadataEvent,
    MetadataKind,
    NodeKind,
    RenameEvent,
    TruncateEvent,
    UnlinkEvent,
)
from howdah.spark.listing.kinds import DIRECTORY, FILE, SYMLINK
from howdah.spark.tables import columns as of
from howdah.spark.tables.columns import Columns, as_text, micros

CHANGES: Final = Columns(
    {
        "txid": of.LONG,
        "sequence": of.INT,
        "event": of.STRING,
        "path": of.STRING,
        "destination": of.STRING,
        "time": of.TIMESTAMP,
        "type": of.STRING,
        "length": of.LONG,
        "owner": of.STRING,
        "group": of.STRING,
        "permission": of.INT,
        "replication": of.INT,
        "block_size": of.LONG,
        "overwrite": of.BOOLEAN,
        "target": of.STRING,
        "attribute": of.STRING,
        "modification_time": of.TIMESTAMP,
        "access_time": of.TIMESTAMP,
        "acl": of.STRINGS,
        "xattrs": of.BYTES,
        "xattrs_removed": of.BOOLEAN,
        "new_block": of.BOOLEAN,
    }
)

CREATE: Final = "create"
CLOSE: Final = "close"
APPEND: Final = "append"
RENAME: Final = "rename"
METADATA: Final = "metadata"
UNLINK: Final = "unlink"
TRUNCATE: Final = "truncate"
RESET: Final = "reset"
LISTED: Final = "listed"

_KINDS: Final = {
    NodeKind.FILE: FILE,
    NodeKind.DIRECTORY: DIRECTORY,
    NodeKind.SYMLINK: SYMLINK,
}


def rows_of(batch: EventBatch) -> Iterator[dict[str, Any]]:
    """The rows of one transaction."""
    for sequence, event in enumerate(batch.events):
        row: dict[str, Any] = dict.fromkeys(CHANGES.types)
        row |= _values(event)
        row["txid"], row["sequence"] = batch.txid, sequence
        yield row


def time_of(event: Event) -> int | None:
    """When it happened, in milliseconds, where the event says so."""
    match event:
        case CreateEvent():
            return event.created_ms
        case CloseEvent() | RenameEvent() | UnlinkEvent() | TruncateEvent():
            return event.timestamp_ms
    return None


def _values(event: Event) -> dict[str, Any]:
    values: dict[str, Any] = {"path": as_text(event_path(event)), "time": micros(time_of(event))}
    match event:
        case CreateEvent():
            return values | _created(event)
        case CloseEvent():
            # Where files were joined to it, the length is not known.
            length = event.length if event.length >= 0 else None
            return values | {"event": CLOSE, "length": length}
        case AppendEvent():
            return values | {"event": APPEND, "new_block": event.new_block}
        case RenameEvent():
            return values | {"event": RENAME, "destination": as_text(event.destination)}
        case MetadataEvent():
            return values | {"event": METADATA} | _changed(event)
        case UnlinkEvent():
            return values | {"event": UNLINK}
        case TruncateEvent():
            return values | {"event": TRUNCATE, "length": event.length}


def event_path(event: Event) -> str:
    """The path that an event is about: of a rename the old one."""
    return event.source if isinstance(event, RenameEvent) else event.path


def _created(event: CreateEvent) -> dict[str, Any]:
    values: dict[str, Any] = {
        "event": CREATE,
        "type": _KINDS[event.kind],
        "owner": event.owner,
        "group": event.group,
        "permission": event.permission,
    }
    if event.kind is NodeKind.FILE:
        values |= {
            "replication": event.replication,
            "block_size": event.block_size,
            "overwrite": event.overwrite,
        }
    if event.symlink_target is not None:
        values["target"] = as_text(event.symlink_target)
    return values


def _changed(event: MetadataEvent) -> dict[str, Any]:
    values: dict[str, Any] = {"attribute": event.kind.name.lower()}
    match event.kind:
        case MetadataKind.TIMES:
            values["modification_time"] = micros(event.modification_time_ms)
            values["access_time"] = micros(event.access_time_ms)
        case MetadataKind.REPLICATION:
            values["replication"] = event.replication
        case MetadataKind.OWNER:
            values |= {"owner": event.owner or None, "group": event.group or None}
        case MetadataKind.PERMISSION:
            values["permission"] = event.permission
        case MetadataKind.ACL:
            values["acl"] = [_acl_text(entry) for entry in event.acl]
        case MetadataKind.XATTRS:
            values["xattrs"] = [(name, value or b"") for name, value in event.xattrs]
            values["xattrs_removed"] = event.xattrs_removed
    return values


def _acl_text(entry: AclEntry) -> str:
    return as_text(str(entry))


def reset_row(txid: int, path: str) -> dict[str, Any]:
    """The row before a listing of `path`."""
    row: dict[str, Any] = dict.fromkeys(CHANGES.types)
    return row | {"txid": txid, "sequence": -1, "event": RESET, "path": path}


_LISTED_COLUMNS: Final = (
    *("path", "type", "length", "owner", "group", "permission", "replication", "block_size"),
    *("target", "modification_time", "access_time"),
)
LISTING: Final = _LISTED_COLUMNS
"""The columns of a namespace that rows of a listing have."""


def listed_rows(rows: Iterable[Mapping[str, Any]], txid: int) -> Iterator[dict[str, Any]]:
    """Rows of a namespace as rows of changes."""
    for listed in rows:
        row: dict[str, Any] = dict.fromkeys(CHANGES.types)
        row |= {name: listed[name] for name in _LISTED_COLUMNS}
        row |= {"txid": txid, "sequence": 0, "event": LISTED, "time": row["modification_time"]}
        yield row
