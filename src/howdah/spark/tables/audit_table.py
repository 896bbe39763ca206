"""`howdah.audit`: a row for each line of the audit logs of namenodes, Hadoop's and ours.

The path is a file, a directory of them, or a pattern (`/var/log/hadoop/hdfs-audit.log*`): all
rotated files, whatever their names. Files that end in `.gz` or `.bz2` are decompressed, and read by
one task each; of other files tasks read parts of 64 MiB.
"""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import tzinfo
from typing import IO, TYPE_CHECKING, Any, ClassVar, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from howdah import errors
from howdah.copy.common.filesystems import Place
from howdah.fs.path_expansion import named
from howdah.spark.tables.audit_lines import AUDIT, AuditLines
from howdah.spark.tables.columns import Columns
from howdah.spark.tables.table import PATH, Table

if TYPE_CHECKING:
    import pyarrow as pa

PART_BYTES: Final = 64 << 20
ROWS_A_BATCH: Final = 5000
TIME_ZONE, MALFORMED = "timeZone", "malformed"
KEEP, DROP, FAIL = "keep", "drop", "fail"
_LOCAL_ZONE: Final = "/etc/localtime"
_OPENERS: Final[Mapping[str, Callable[[Any], Any]]] = {".gz": gzip.open, ".bz2": bz2.open}


@dataclass(frozen=True, slots=True)
class AuditPart:
    """Lines of a file that begin from `begin` on and before `end`; all of a compressed file."""

    place: Place
    path: str
    begin: int
    end: int


class AuditTable(Table):
    """See the module."""

    name = "howdah.audit"
    all_columns: ClassVar[Columns] = AUDIT
    known_options = (TIME_ZONE, MALFORMED)

    def parts(self) -> list[Any]:
        """Raises PathNotFound where no file matches."""
        where = self.options.required(PATH, "audit logs: a file, a directory, or a pattern")
        self._zone()
        self._malformed()
        place, path = self.home.place(where)
        fs = place.connect()
        files = []
        for status in named(fs, path):
            if status.is_directory:
                files += [each for each in fs.list_status_iter(status.path) if each.is_file]
            else:
                files.append(status)
        if not files:
            raise errors.PathNotFound(f"{self.name}: there are no files at {where}")
        return [
            AuditPart(place, status.path, begin, min(begin + step, max(status.length, 1)))
            for status in files
            for step in (_step(status.path, status.length),)
            for begin in range(0, max(status.length, 1), step)
        ]

    def _malformed(self) -> str:
        return self.options.choice(MALFORMED, (KEEP, DROP, FAIL))

    def _zone(self) -> tzinfo:
        name = self.options.text(TIME_ZONE)
        if name is None:
            return local_zone()
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            raise self.options.refused(TIME_ZONE, "is no time zone") from None

    def batches(self, part: Any) -> Iterator[pa.RecordBatch]:
        """Raises MalformedText where the option says so."""
        assert isinstance(part, AuditPart)
        lines = AuditLines(part.path, self._zone())
        malformed = self._malformed()
        rows: list[dict[str, Any]] = []
        for line in self._lines(part):
            row = lines.row(line)
            if row["malformed"] is not None:
                if malformed == FAIL:
                    raise errors.MalformedText(f"{part.path} has a line of no audit log: {line!r}")
                if malformed == DROP:
                    continue
            rows.append(row)
            if len(rows) == ROWS_A_BATCH:
                yield self.made_columns.batch_of_rows(rows)
                rows = []
        if rows:
            yield self.made_columns.batch_of_rows(rows)

    def _lines(self, part: AuditPart) -> Iterator[str]:
        with ExitStack() as stack:
            file: Any = stack.enter_context(part.place.connect().open(part.path))
            opener = _OPENERS.get(_suffix(part.path))
            if opener is not None:
                file = stack.enter_context(opener(file))
            for line in lines_between(file, part.begin, None if opener else part.end):
                yield line.decode("utf-8", "replace")


def lines_between(file: IO[bytes], begin: int, end: int | None) -> Iterator[bytes]:
    """The lines of a file that begin from `begin` on and before `end`, without their ends; empty
    ones are left out."""
    at = begin
    if begin:
        # The line before ends at `begin`, or goes on there and is another part's.
        file.seek(begin - 1)
        at = begin - 1 + len(file.readline())
    while end is None or at < end:
        line = file.readline()
        if not line:
            return
        at += len(line)
        line = line.rstrip(b"\r\n")
        if line:
            yield line


def local_zone() -> tzinfo:
    """The time zone of this machine, with its summer time."""
    name = os.environ.get("TZ", "").lstrip(":")
    if name:
        return ZoneInfo(name)
    try:
        with open(_LOCAL_ZONE, "rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return ZoneInfo("UTC")


def _suffix(path: str) -> str:
    return path[path.rfind(".") :] if "." in path else ""


def _step(path: str, length: int) -> int:
    """How many bytes of a file a task reads."""
    return max(length, 1) if _suffix(path) in _OPENERS else PART_BYTES
