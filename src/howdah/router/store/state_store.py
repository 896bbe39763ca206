"""The state store: what routers of a federation share (shell).

Its records lie in a directory of files or in ZooKeeper, one by one and by their names, in the
form of Hadoop's StateStoreFileImpl and StateStoreZooKeeperImpl. Every router reads them again
now and then; what one router changes it knows at once.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
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
from howdah.security.stored_tokens import StoredToken, decode_key, encode_key

log = logging.getLogger(__name__)

M = TypeVar("M", bound=Message)
T = TypeVar("T")

MOUNT_TABLE: Final = "MountTable"
DISABLED: Final = "DisabledNameservice"
TOKENS: Final = "DelegationToken"
KEYS: Final = "DelegationKey"
PRIVATE: Final = frozenset({TOKENS, KEYS})
"""Kinds of records that routers alone may read. A Hadoop's router has none of them."""
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

    def names(self, kind: str) -> list[str]:
        """The names of all."""

    def get(self, kind: str, name: str) -> bytes | None:
        """The content of one; None if it is not there."""

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

    def names(self, kind: str) -> list[str]:
        return self._timed(self.figures.reads, lambda: self._records.names(kind))

    def get(self, kind: str, name: str) -> bytes | None:
        return self._timed(self.figures.reads, lambda: self._records.get(kind, name))

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

    def prepare_for_tokens(self) -> None:
        """Make what is missing for delegation tokens."""
        self.records.prepare((TOKENS, KEYS))

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

    # -- delegation tokens -----------------------------------------------------------------

    def token(self, identifier: DelegationTokenIdentifier) -> StoredToken | None:
        """None if there is no such token."""
        name = _name_of(identifier)
        content = self.records.get(TOKENS, name)
        if content is None:
            return None
        stored = self._decoded(TOKENS, name, content, StoredToken.decode)
        return stored if stored.identifier == identifier else None

    def add_token(self, token: StoredToken) -> bool:
        """False if one has its number."""
        return self.records.create(TOKENS, _name_of(token.identifier), token.encode())

    def renew_token(self, token: StoredToken) -> bool:
        """False if there is no such token."""
        if self.token(token.identifier) is None:
            return False
        return self.records.replace(TOKENS, _name_of(token.identifier), token.encode())

    def remove_token(self, identifier: DelegationTokenIdentifier) -> bool:
        """False if there is no such token."""
        if self.token(identifier) is None:
            return False
        return self.records.remove(TOKENS, _name_of(identifier))

    def token_names(self) -> list[str]:
        return self.records.names(TOKENS)

    def remove_tokens_over(self, names: Iterable[str], now_ms: int) -> int:
        """Remove those of these tokens whose time is over; how many that were. One that cannot be
        read stays, and the log names it."""
        removed = 0
        for name in names:
            try:
                content = self.records.get(TOKENS, name)
                if content is None:
                    continue
                stored = self._decoded(TOKENS, name, content, StoredToken.decode)
            except OSError as error:
                _note_damaged(error)
                continue
            if stored.until_ms < now_ms:
                removed += self.records.remove(TOKENS, name)
        return removed

    def keys(self) -> list[DelegationKey]:
        """All keys that tokens were made by and that may still be needed. One that cannot be read
        is left out, and the log names it."""
        found = []
        for name in self.records.names(KEYS):
            try:
                content = self.records.get(KEYS, name)
                if content is not None:
                    found.append(self._decoded(KEYS, name, content, decode_key))
            except OSError as error:
                _note_damaged(error)
        return found

    def key_names(self) -> list[str]:
        """Those of all, also of keys that cannot be read."""
        return self.records.names(KEYS)

    def key(self, key_id: int) -> DelegationKey | None:
        """None if there is no such key."""
        content = self.records.get(KEYS, str(key_id))
        return None if content is None else self._decoded(KEYS, str(key_id), content, decode_key)

    def add_key(self, key: DelegationKey) -> bool:
        """False if there is one with its id."""
        return self.records.create(KEYS, str(key.key_id), encode_key(key))

    def remove_keys_over(self, now_ms: int) -> None:
        """Remove keys whose last tokens are over."""
        for key in self.keys():
            if key.expiry_date_ms < now_ms:
                self.records.remove(KEYS, str(key.key_id))

    def _decoded(self, kind: str, name: str, content: bytes, decode: Callable[[bytes], T]) -> T:
        try:
            return decode(content)
        except errors.IllegalArgument as error:
            raise damaged(self.records.location, kind, name, str(error)) from error

    def _read_all(self, kind: str, record: type[M], decode: Callable[[M], T]) -> Iterable[T]:
        for name, content in self.records.read(kind):
            try:
                yield decode(from_lines(content, record))
            except errors.IllegalArgument as error:
                raise damaged(self.records.location, kind, name, str(error)) from error


def _name_of(identifier: DelegationTokenIdentifier) -> str:
    return str(identifier.sequence_number)


def _note_damaged(error: OSError) -> None:
    """Of one record among others. Raises the error where it is about the store."""
    if error.errno != errno.EBADMSG:
        raise error
    log.error("%s; it is left out. Remove it, if it is of no use", error)


def damaged(place: str, kind: str, name: str, why: str) -> OSError:
    return OSError(errno.EBADMSG, f"a damaged record: {why}", f"{place}/{kind}/{name}")
