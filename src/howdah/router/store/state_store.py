"""The state store: what routers of a federation share (shell).

Its records lie in a directory of files or in ZooKeeper, one by one and by their names, in the
form of Hadoop's StateStoreFileImpl and StateStoreZooKeeperImpl. Every router reads them again
now and then; what one router changes it knows at once.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import router_pb2 as pb
from howdah.router.state.table.mount_table import MountEntry
from howdah.router.state.table.records import (
    entry_from_proto,
    entry_to_proto,
    file_name,
    from_lines,
    to_line,
)
from howdah.runtime.metrics.histogram import Times

M = TypeVar("M", bound=Message)
T = TypeVar("T")

MOUNT_TABLE: Final = "MountTable"
DISABLED: Final = "DisabledNameservice"
MOST_BYTES: Final = 1 << 20
"""No record is larger."""


class Records(Protocol):
    """Where records are kept, by kind and name. All of it raises OSError where that fails."""

    @property
    def location(self) -> str:
        """What to tell an operator."""

    def prepare(self, kinds: Iterable[str]) -> None:
        """Make what is missing."""

    def read(self, kind: str) -> Iterable[tuple[str, bytes]]:
        """Names and contents, in the order of the names."""

    def create(self, kind: str, name: str, content: bytes) -> bool:
        """False if it is there."""

    def replace(self, kind: str, name: str, content: bytes) -> bool:
        """False if it is not there."""

    def remove(self, kind: str, name: str) -> bool:
        """False if it is not there."""

    def close(self) -> None:
        """Give back what is held."""


@dataclass(slots=True)
class StoreFigures:
    """How often records were read and changed since the start, and how long that took. Hadoop:
    StateStoreMetrics."""

    reads: Times = field(default_factory=Times)
    """Of all records of a kind."""
    writes: Times = field(default_factory=Times)
    removes: Times = field(default_factory=Times)
    failures: Times = field(default_factory=Times)


class CountedRecords:
    """Records, with how often they are read and changed and how long that takes. Thread-safe, if
    the records are."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._lock = threading.Lock()
        self.figures = StoreFigures()

    @property
    def location(self) -> str:
        return self._records.location

    def prepare(self, kinds: Iterable[str]) -> None:
        self._records.prepare(kinds)

    def read(self, kind: str) -> Iterable[tuple[str, bytes]]:
        return self._timed(self.figures.reads, lambda: list(self._records.read(kind)))

    def create(self, kind: str, name: str, content: bytes) -> bool:
        return self._timed(self.figures.writes, lambda: self._records.create(kind, name, content))

    def replace(self, kind: str, name: str, content: bytes) -> bool:
        return self._timed(self.figures.writes, lambda: self._records.replace(kind, name, content))

    def remove(self, kind: str, name: str) -> bool:
        return self._timed(self.figures.removes, lambda: self._records.remove(kind, name))

    def close(self) -> None:
        self._records.close()

    def _timed(self, times: Times, work: Callable[[], T]) -> T:
        began_ns = time.perf_counter_ns()
        into = self.figures.failures
        try:
            done = work()
            into = times
            return done
        finally:
            with self._lock:
                into.add(time.perf_counter_ns() - began_ns)


class StateStore:
    """Blocking: run it on a thread. Raises OSError where the records cannot be had."""

    def __init__(self, records: Records) -> None:
        self.records = counted = CountedRecords(records)
        self.figures = counted.figures

    def prepare(self) -> None:
        """Make what is missing."""
        self.records.prepare((MOUNT_TABLE, DISABLED))

    def close(self) -> None:
        self.records.close()

    # -- mount table -----------------------------------------------------------------------

    def mount_entries(self) -> list[MountEntry]:
        """All of them. Raises OSError if one cannot be read: without it, what is below its
        mount point would be another place, and new files would go there."""
        return list(self._read_all(MOUNT_TABLE, pb.MountTableRecordProto, entry_from_proto))

    def add_mount(self, entry: MountEntry) -> bool:
        """False if there is one at the same path."""
        content = to_line(entry_to_proto(entry))
        return self.records.create(MOUNT_TABLE, file_name(entry.source), content)

    def update_mount(self, entry: MountEntry) -> bool:
        """False if there is none at that path."""
        content = to_line(entry_to_proto(entry))
        return self.records.replace(MOUNT_TABLE, file_name(entry.source), content)

    def remove_mount(self, source: str) -> bool:
        """False if there is none."""
        return self.records.remove(MOUNT_TABLE, file_name(source))

    # -- disabled nameservices -------------------------------------------------------------

    def disabled_nameservices(self) -> list[str]:
        return sorted(
            self._read_all(DISABLED, pb.DisabledNameserviceRecordProto, lambda m: m.nameServiceId)
        )

    def disable(self, nameservice: str) -> None:
        now_ms = int(time.time() * 1000)
        record = pb.DisabledNameserviceRecordProto(
            dateCreated=now_ms, dateModified=now_ms, nameServiceId=nameservice
        )
        self.records.create(DISABLED, file_name(nameservice), to_line(record))

    def enable(self, nameservice: str) -> bool:
        """False if it was not disabled."""
        return self.records.remove(DISABLED, file_name(nameservice))

    def _read_all(self, kind: str, record: type[M], decode: Callable[[M], T]) -> Iterable[T]:
        for name, content in self.records.read(kind):
            try:
                yield decode(from_lines(content, record))
            except errors.IllegalArgument as error:
                raise damaged(self.records.location, kind, name, str(error)) from error


def damaged(place: str, kind: str, name: str, why: str) -> OSError:
    return OSError(errno.EBADMSG, f"a damaged record: {why}", f"{place}/{kind}/{name}")
