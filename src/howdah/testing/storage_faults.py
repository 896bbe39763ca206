"""Injects faults into a running server's metadata: at a kind of change of a kind of file.

    with MiniCluster(faults=True) as cluster:
        fault = cluster.storage_faults("namenode").arm(
            Operation.WRITE, "fsimage.ckpt_*", StorageAction.FULL, skip=1
        )
        ...
        (pid,) = fault.victims()

Before a server changes a file of its metadata it looks for a fault that is armed; a child
that it forked does so too. A fault happens once.

`install` runs in the server, the rest in the test.
"""

from __future__ import annotations

import enum
import errno
import json
import os
import signal
import uuid
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from howdah.runtime import disk
from howdah.runtime.disk import Operation


class StorageAction(enum.StrEnum):
    """What happens to the process that makes the change."""

    FULL = "full"
    """The disk is full: ENOSPC."""
    BROKEN = "broken"
    """The disk is broken: EIO."""
    KILL = "kill"
    """SIGKILL, for that process alone."""
    PAUSE = "pause"
    """SIGSTOP, for that process alone."""


_ERRORS = {StorageAction.FULL: errno.ENOSPC, StorageAction.BROKEN: errno.EIO}


@dataclass(frozen=True, slots=True)
class StorageFault:
    """One that was armed."""

    armed: Path

    def victims(self) -> list[int]:
        """The processes that it hit."""
        hits = self.armed.parent.glob(f"{self.armed.name}.hit.*")
        return sorted(int(hit.suffix[1:]) for hit in hits)


def _armed(directory: Path, name: str) -> list[Path]:
    markers = directory.glob(f"storage.{name}.*")
    return [path for path in markers if ".hit." not in path.name]


class StorageFaults:
    """Arms faults in one server."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name

    def arm(
        self, operation: Operation, pattern: str, action: StorageAction, *, skip: int = 0
    ) -> StorageFault:
        """At the change after `skip` of a file whose name matches `pattern`, as in a shell.

        What was armed before and did not happen is off.
        """
        for old in _armed(self._directory, self._name):
            old.unlink()
        armed = self._directory / f"storage.{self._name}.{uuid.uuid4().hex}"
        fault = {"operation": operation, "pattern": pattern, "action": action, "skip": skip}
        prepared = self._directory / "storage.new"
        prepared.write_text(json.dumps(fault))
        prepared.rename(armed)
        return StorageFault(armed)


# --- in the server ------------------------------------------------------------------------


class _Gate:
    """Stands before every change of metadata."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._seen: Counter[Path] = Counter()

    def enter(self, operation: Operation, path: Path) -> None:
        for armed in _armed(self._directory, self._name):
            try:
                action = self._at(armed, operation, path)
            except FileNotFoundError:
                continue  # another process, or thread, was here first
            if action is not None:
                _happen(action)

    def _at(self, armed: Path, operation: Operation, path: Path) -> StorageAction | None:
        fault = json.loads(armed.read_text())
        if fault["operation"] != operation or not fnmatch(path.name, fault["pattern"]):
            return None
        self._seen[armed] += 1
        if self._seen[armed] <= fault["skip"]:
            return None
        armed.rename(f"{armed}.hit.{os.getpid()}")
        return StorageAction(fault["action"])

    def leave(self, operation: Operation, path: Path) -> None:
        """Nothing happens behind a change."""

    def room(self, path: Path, length_bytes: int) -> int:
        return length_bytes


def _happen(action: StorageAction) -> None:
    match action:
        case StorageAction.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        case StorageAction.PAUSE:
            os.kill(os.getpid(), signal.SIGSTOP)
        case _:
            raise OSError(_ERRORS[action], os.strerror(_ERRORS[action]))


def install(directory: Path, name: str) -> None:
    """Obey what is armed in `directory` from now on, in this process and its forks."""
    disk.gate = _Gate(directory, name)
