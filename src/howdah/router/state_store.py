"""The state store: a directory of files that routers share (shell). Hadoop: StateStoreFileImpl.

A directory for each kind of record, a file for each record, replaced as a whole. Routers on
several machines share it on a network filesystem. Every router reads it again now and then;
what one router changes it knows at once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import router_pb2 as pb
from howdah.router.table.mount_table import MountEntry
from howdah.router.table.records import (
    entry_from_proto,
    entry_to_proto,
    file_name,
    from_lines,
    to_line,
)
from howdah.storage import disk
from howdah.storage.atomic import fsync_directory, replace_file

M = TypeVar("M", bound=Message)
T = TypeVar("T")

MOUNT_TABLE: Final = "MountTable"
DISABLED: Final = "DisabledNameservice"
_MOST_BYTES: Final = 1 << 20
_TEMPORARY: Final = ".tmp"
_LOCK: Final = ".lock"


class StateStore:
    """Blocking: run it on a thread. Raises OSError where the directory fails."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def prepare(self) -> None:
        """Make the directories that are missing."""
        for kind in (MOUNT_TABLE, DISABLED):
            disk.make_directory(self.directory / kind, 0o755)

    # -- mount table -----------------------------------------------------------------------

    def mount_entries(self) -> list[MountEntry]:
        """All of them. Raises OSError if one cannot be read: without it, what is below its
        mount point would be another place, and new files would go there."""
        return list(self._read_all(MOUNT_TABLE, pb.MountTableRecordProto, entry_from_proto))

    def add_mount(self, entry: MountEntry) -> bool:
        """False if there is one at the same path."""
        with self._locked():
            if self._path(MOUNT_TABLE, entry.source).exists():
                return False
            self._write(MOUNT_TABLE, entry.source, entry_to_proto(entry))
            return True

    def update_mount(self, entry: MountEntry) -> bool:
        """False if there is none at that path."""
        with self._locked():
            if not self._path(MOUNT_TABLE, entry.source).exists():
                return False
            self._write(MOUNT_TABLE, entry.source, entry_to_proto(entry))
            return True

    def remove_mount(self, source: str) -> bool:
        """False if there is none."""
        with self._locked():
            return self._remove(MOUNT_TABLE, source)

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
        with self._locked():
            self._write(DISABLED, nameservice, record)

    def enable(self, nameservice: str) -> bool:
        """False if it was not disabled."""
        with self._locked():
            return self._remove(DISABLED, nameservice)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One router at a time writes: two must not use the same temporary file."""
        with (self.directory / _LOCK).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # -- files -----------------------------------------------------------------------------

    def records(self, kind: str) -> list[tuple[str, bytes]]:
        """The names and contents of the files of one kind, in the order of their names."""
        found = []
        for path in sorted((self.directory / kind).iterdir()):
            if path.name.endswith(_TEMPORARY) or path.name.startswith("."):
                continue
            try:
                if path.stat().st_size > _MOST_BYTES:
                    raise _damaged(path, f"it is larger than {_MOST_BYTES} bytes")
                found.append((path.name, path.read_bytes()))
            except FileNotFoundError:
                continue  # removed meanwhile
        return found

    def _read_all(self, kind: str, record: type[M], decode: Callable[[M], T]) -> Iterable[T]:
        for name, data in self.records(kind):
            try:
                yield decode(from_lines(data, record))
            except errors.IllegalArgument as error:
                raise _damaged(self.directory / kind / name, str(error)) from error

    def _write(self, kind: str, key: str, record: Message) -> None:
        replace_file(self._path(kind, key), to_line(record) + b"\n")

    def _remove(self, kind: str, key: str) -> bool:
        path = self._path(kind, key)
        if not path.exists():
            return False
        disk.unlink(path)
        fsync_directory(path.parent)
        return True

    def _path(self, kind: str, key: str) -> Path:
        name = file_name(key)
        if len(os.fsencode(name)) > 255:
            raise errors.IllegalArgument(f"{key} is too long for a record of the state store")
        return self.directory / kind / name


def _damaged(path: Path, why: str) -> OSError:
    return OSError(errno.EBADMSG, f"a damaged record: {why}", str(path))
