"""`verify`: compares source and target of a mirror at a point in time, at a rate (shell).

Both sides are read in their snapshots of the same name, so rounds may go on meanwhile. Where the
target has no snapshots it is read as it is, and must not be between two points in time.
"""

from __future__ import annotations

import enum
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.checksums import checksum_of
from howdah.copy.common.filesystems import for_each, prefix
from howdah.copy.common.job_tokens import with_job_tokens
from howdah.copy.context import CopyContext
from howdah.copy.copier import COMPOSITE, COMPOSITE_TYPES
from howdah.copy.layout import lay_out
from howdah.copy.listing.entries import Entry, Found, Kind
from howdah.copy.listing.walking import Walk
from howdah.copy.options import MEBIBYTE, Options
from howdah.copy.roots import roots_of
from howdah.fs.api import FileSystem
from howdah.fs.status import FileChecksum
from howdah.mirror.sides import Directory, Refused
from howdah.mirror.state import planner
from howdah.protocol.data_transfer.checksum import crc
from howdah.runtime.byte_rate import Throttle

_AT_ONCE: Final = 64
_PIECE_BYTES: Final = 1 << 20


class Verdict(enum.Enum):
    """How an entry of the two sides compares."""

    EQUAL = "equal"
    EQUAL_LENGTH = "equal in length; checksums cannot be compared"
    MISSING = "missing at the target"
    EXTRA = "at the target only"
    KIND = "one is a directory, the other is not"
    LENGTH = "lengths differ"
    CHECKSUM = "checksums differ"
    ATTRIBUTES = "attributes differ"
    UNREADABLE = "cannot be read"


GOOD: Final = (Verdict.EQUAL, Verdict.EQUAL_LENGTH)


@dataclass(frozen=True, slots=True)
class Difference:
    """An entry that differs; `path` is relative."""

    path: str
    verdict: Verdict
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.verdict.value}" + (f" ({self.detail})" if self.detail else "")


@dataclass(slots=True)
class Verified:
    """What was compared."""

    snapshot: str
    files: int = 0
    directories: int = 0
    bytes: int = 0
    by_length: int = 0
    """Files of which only the lengths could be compared."""
    differences: list[Difference] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        return not self.differences


@with_job_tokens
def verify(
    target: str,
    source: str | None = None,
    *,
    rate_mb: float | None = None,
    snapshot: str | None = None,
    conf: Configuration | None = None,
    user: str | None = None,
    found: Callable[[Difference], None] = lambda _: None,
) -> Verified:
    """Compare a mirror's target with its source, at most so many MiB of files a second.

    `source` is by default the one in the target's state file, `snapshot` the newest common one.
    Raises Refused.

    >>> verify("hdfs://b:8020/data").is_equal  # doctest: +SKIP
    """
    configuration = Configuration.load() if conf is None else conf
    there = Directory.of(target, configuration, user)
    record = there.read_record()
    if record is None:
        raise Refused(f"{there.uri} is not the target of a mirror: it has no state file")
    here = Directory.of(source or record.source, configuration, user)
    name = snapshot or _newest(here, there, record.key)
    if not there.has_snapshots and (record.goal is not None or record.complete != name):
        raise Refused(f"{there.uri} is not {name} now: it has no snapshots, and a round was begun")
    return _Verification(here, there, name, configuration, user, rate_mb, found).run()


def _newest(here: Directory, there: Directory, key: str) -> str:
    common = planner.looked(key, here.inspect(key), there.inspect(key), 0).common
    if common is None:
        raise Refused(f"{here.uri} and {there.uri} have no snapshot in common")
    return common


class _Verification:
    def __init__(
        self,
        here: Directory,
        there: Directory,
        name: str,
        conf: Configuration,
        user: str | None,
        rate_mb: float | None,
        found: Callable[[Difference], None],
    ) -> None:
        self._has_attributes = there.has_snapshots
        at = there.snapshot_path(name) if there.has_snapshots else there.path
        self._options = Options(update=True, delete=True, ignore_failures=True)
        self._context = CopyContext.read(
            [here.fs.uri + here.snapshot_path(name)],
            there.fs.uri + at,
            self._options,
            conf,
            user,
        )
        self._source_fs, self._target_fs = here.fs, there.fs
        self._found = found
        self._throttle = Throttle(
            0 if rate_mb is None else rate_mb * MEBIBYTE,
            began_s=time.monotonic(),
            credit_s=math.inf,
        )
        self._sums = Verified(name)

    def run(self) -> Verified:
        rows = self._rows()
        while some := list(islice(rows, _AT_ONCE)):
            for row, difference in zip(some, for_each(self._compared, some), strict=True):
                self._count(row, difference)
            moved = sum(row.length for row in some if row.kind == Kind.FILE)
            delay_s = self._throttle.delay_s(moved, time.monotonic())
            if delay_s:
                time.sleep(delay_s)
        return self._sums

    def _rows(self) -> Iterator[Entry]:
        context, path = self._context, self._context.target_path
        sources = [source for source, _ in context.sources]
        placed = lay_out(sources, context.target_state, context.target_uri, self._options)
        walk = Walk(
            sources=context.places,
            target=context.target,
            target_path=prefix(path),
            wants_missing=True,
            ignore_failures=True,
            most_entries=sys.maxsize,
            is_alone=True,
        )
        return walk.walked(roots_of(context, self._options, placed, path))

    def _count(self, row: Entry, difference: Difference) -> None:
        sums = self._sums
        if row.kind == Kind.FILE:
            sums.files += 1
            sums.bytes += row.length
        elif row.kind == Kind.DIRECTORY:
            sums.directories += 1
        sums.by_length += difference.verdict is Verdict.EQUAL_LENGTH
        if difference.verdict not in GOOD:
            sums.differences.append(difference)
            self._found(difference)

    def _compared(self, row: Entry) -> Difference:
        path = decode(row.relative)
        try:
            verdict, detail = self._verdict(row)
        except (errors.HowdahError, OSError) as error:
            verdict, detail = Verdict.UNREADABLE, str(error)
        return Difference(path or "/", verdict, detail)

    def _verdict(self, row: Entry) -> tuple[Verdict, str]:
        is_directory = row.kind == Kind.DIRECTORY
        if row.kind == Kind.MISSING:
            return Verdict.EXTRA, ""
        if row.kind == Kind.UNREADABLE:
            return Verdict.UNREADABLE, row.owner
        if row.target == Found.ABSENT:
            return Verdict.MISSING, ""
        if row.target != (Found.DIRECTORY if is_directory else Found.FILE):
            return Verdict.KIND, ""
        if not is_directory and row.length != row.target_length:
            return Verdict.LENGTH, f"{row.length} and {row.target_length} bytes"
        there = prefix(self._context.target_path) + decode(row.relative)
        if self._has_attributes and (detail := self._attributes(row, there)):
            return Verdict.ATTRIBUTES, detail
        if is_directory or not row.length:
            return Verdict.EQUAL, ""
        return self._by_checksum(row, there)

    def _attributes(self, row: Entry, path: str) -> str:
        now = self._target_fs.get_file_status(path)
        pairs = (
            ("permission", f"{row.permission:o}", f"{now.permission:o}"),
            ("owner", row.owner, now.owner),
            ("group", row.group, now.group),
        )
        return ", ".join(f"{name} {one} and {other}" for name, one, other in pairs if one != other)

    def _by_checksum(self, row: Entry, there: str) -> tuple[Verdict, str]:
        ours = checksum_of(self._source_fs, row.path, COMPOSITE)
        theirs = checksum_of(self._target_fs, there, COMPOSITE)
        if theirs is None and ours is not None and ours.algorithm in COMPOSITE_TYPES:
            theirs = _read_checksum(self._target_fs, there, ours.algorithm)
        if ours is None or theirs is None or ours.algorithm != theirs.algorithm:
            return Verdict.EQUAL_LENGTH, ""
        if ours.bytes == theirs.bytes:
            return Verdict.EQUAL, ""
        if _is_encrypted(self._source_fs, row.path) or _is_encrypted(self._target_fs, there):
            return Verdict.EQUAL_LENGTH, ""  # these are checksums of cipher texts
        return Verdict.CHECKSUM, f"{ours} and {theirs}"


def _read_checksum(fs: FileSystem, path: str, algorithm: str) -> FileChecksum:
    """The checksum of a file on a filesystem that has none, from its bytes."""
    kind, sum_ = COMPOSITE_TYPES[algorithm], 0
    with fs.open(path) as stream:
        while piece := stream.read(_PIECE_BYTES):
            sum_ = crc(kind, piece, sum_)
    return FileChecksum(algorithm, sum_.to_bytes(4, "big"))


def _is_encrypted(fs: FileSystem, path: str) -> bool:
    return fs.get_file_status(path).is_encrypted
