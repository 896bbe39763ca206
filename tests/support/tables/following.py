"""A namespace that is followed by its changes alone: what a consumer of the stream can keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from howdah.formats.edits.edits import LoggedEdit
from howdah.fs.inotify import EventBatch, event_batch
from howdah.fs.paths import is_under
from howdah.namenode.state.edit_log.inotify import EventsBuilder
from howdah.spark.tables.change_rows import (
    CLOSE,
    CREATE,
    LISTED,
    METADATA,
    RENAME,
    RESET,
    TRUNCATE,
    UNLINK,
    listed_rows,
    rows_of,
)
from howdah.testing.in_memory import InMemoryNamenode, replayed
from tests.support.tables.frames import image_of, rows_of_image

Entry = dict[str, Any]
KEPT = ("type", "owner", "group", "permission", "replication", "length", "target")
_OWNED = ("owner", "group", "permission", "replication")


class Followed:
    """Paths with what the changes say of them. A length that no change says is None, and so is a
    permission that an ACL has changed. Directories that are above all changes have no entry."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.last = (-1, -1)
        self.resets = 0

    def apply_all(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Apply rows in their order. Raises AssertionError for one that came before."""
        for row in sorted(rows, key=lambda row: (row["txid"], row["sequence"], row["path"])):
            self.apply(row)

    def apply(self, row: Mapping[str, Any]) -> None:
        if row["event"] != LISTED:
            place = row["txid"], row["sequence"]
            assert place > self.last or row["event"] == RESET, f"{place} comes again: {row}"
            self.last = place
        path = row["path"]
        match row["event"]:
            case str(event) if event == RESET:
                self.entries.clear()
                self.resets += 1
            case str(event) if event in (LISTED, CREATE):
                self._remove(path)
                entry = {name: row[name] for name in KEPT}
                entry["replication"] = entry["replication"] or 0
                if event == CREATE or entry["type"] != "file":
                    entry["length"] = 0
                self.entries[path] = entry
            case str(event) if event in (CLOSE, TRUNCATE):
                self._change(path, {"length": row["length"]})
            case str(event) if event == RENAME:
                self._rename(path, row["destination"])
            case str(event) if event == UNLINK:
                self._remove(path)
            case str(event) if event == METADATA:
                said = {name: row[name] for name in _OWNED if row[name] is not None}
                if row["attribute"] == "acl":
                    said["permission"] = None
                self._change(path, said)

    def _change(self, path: str, values: Entry) -> None:
        if path in self.entries:
            self.entries[path] |= values

    def _below(self, path: str) -> list[str]:
        return [each for each in self.entries if is_under(each, path)]

    def _remove(self, path: str) -> None:
        for each in self._below(path):
            del self.entries[each]

    def _rename(self, path: str, destination: str) -> None:
        moved = {each: self.entries[each] for each in self._below(path)}
        if not moved:
            return  # It was listed under its new name.
        self._remove(destination)
        for each, entry in moved.items():
            del self.entries[each]
            self.entries[destination + each.removeprefix(path)] = entry

    def differences(self, expected: Mapping[str, Entry]) -> list[str]:
        """Where it is not what is expected."""
        problems = [f"{path} is missing" for path in expected.keys() - self.entries.keys()]
        problems += [f"{path} is too much" for path in self.entries.keys() - expected.keys()]
        for path in expected.keys() & self.entries.keys():
            entry = self.entries[path]
            for name, value in expected[path].items():
                if name in ("length", "permission") and entry[name] is None:
                    continue
                if entry[name] != value:
                    problems.append(f"{name} of {path} is {entry[name]!r}, not {value!r}")
        return sorted(problems)


def batches_of(namenode: InMemoryNamenode) -> Iterator[EventBatch]:
    """What clients of inotify get of all edits of a namenode."""
    builder = EventsBuilder(1 << 30, 1 << 30)
    for txid, edit in enumerate(namenode.edits(), 1):
        builder.add(LoggedEdit(txid, edit))
    return map(event_batch, builder.events.batch)


def followed(namenode: InMemoryNamenode) -> Followed:
    """The namespace of a namenode, by its changes from the first one on."""
    model = Followed()
    for batch in batches_of(namenode):
        model.apply_all(rows_of(batch))
    return model


def followed_from_image(namenode: InMemoryNamenode, txid: int) -> Followed:
    """The same by an image of transaction `txid`, and the changes behind it."""
    then = replayed(namenode.edits()[:txid])
    model = Followed()
    model.apply_all(listed_rows(rows_of_image(image_of(then)).values(), txid))
    for batch in batches_of(namenode):
        if batch.txid > txid:
            model.apply_all(rows_of(batch))
    return model
