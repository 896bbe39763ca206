"""A dry run of a copy (`--dry-run`): the same decisions, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.failures import FAILURES, error_text
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry, Found, Kind, entries
from howdah.copy.tasks import CopyTask, decision_of
from howdah.fs import paths

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SCHEMA: Final = "action string, source binary, target binary, length long, reason string"


class Action(NamedTuple):
    """What would be done with one entry: `copy`, `skip`, `mkdir`, `delete` and so on, and why."""

    name: str
    source: bytes
    target: bytes
    length: int
    reason: str


@dataclass(frozen=True, slots=True)
class DryRunTask:
    """A task that turns rows of the listing into actions."""

    copy: CopyTask

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        types = (pa.string(), pa.binary(), pa.binary(), pa.int64(), pa.string())
        for batch in given:
            rows = [self.action(entry) for entry in entries(batch)]
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, type=kind) for column, kind in zip(columns, types, strict=True)],
                names=["action", "source", "target", "length", "reason"],
            )

    def action(self, entry: Entry) -> Action:
        """What would be done with an entry."""
        fs = self.copy.target.connect()
        sources = [place.connect() for place in self.copy.sources]
        target = self.copy.target_path + decode(entry.relative)
        try:
            action, reason = self._action(sources, fs, entry, target)
        except FAILURES as error:
            action, reason = "fail", error_text(error)
        source = sources[entry.filesystem].uri.encode() + entry.source if entry.source else b""
        there = fs.uri.encode() + target.encode("utf-8", "surrogateescape")
        return Action(action, source, there, entry.length, reason)

    def _action(self, sources: list[Any], fs: Any, entry: Entry, target: str) -> tuple[str, str]:
        is_directory = entry.kind == Kind.DIRECTORY
        if entry.kind == Kind.MISSING:
            return "delete", "not at the source"
        if entry.kind == Kind.UNREADABLE:
            return "fail", entry.owner
        if entry.target == (Found.FILE if is_directory else Found.DIRECTORY):
            return "fail", "one is a directory, the other is not"
        if is_directory:
            return ("mkdir" if entry.target == Found.ABSENT else "keep"), ""
        decision = decision_of(self.copy, sources[entry.filesystem], fs, entry, target)
        return decision.action.value, decision.reason.value


def report_all(rows: DataFrame, tell: Callable[[str], None]) -> Counters:
    """Report each row by `tell`; return the counters of the copy. Rows come partition by
    partition."""
    counters = Counters()
    for row in rows.toLocalIterator():
        source, target = bytes(row["source"]), bytes(row["target"])
        action = Action(row["action"], source, target, row["length"], row["reason"])
        tell_action(counters, action, tell)
    return counters


def tell_action(counters: Counters, action: Action, tell: Callable[[str], None]) -> None:
    """Count an action, and report it by `tell`."""
    match action.name:
        case "copy" | "append":
            counters.files_copied += 1
            counters.bytes_copied += action.length
        case "skip":
            counters.files_skipped += 1
            counters.bytes_skipped += action.length
        case "mkdir" | "keep":
            counters.directories_copied += 1
        case "delete":
            counters.entries_deleted += 1
        case _:
            counters.files_failed += 1
    if action.name == "keep":
        return
    source, target = decode(action.source), decode(action.target)
    subject = f"{source} --> {target}" if source else target
    why = f" ({action.reason})" if action.reason else ""
    tell(paths.printable(f"{action.name} {subject}{why}"))
