"""Injects faults at an exact point of a datanode's work: kill, freeze, cut off, disk full.

    with MiniCluster(faults=True) as cluster:
        fault = cluster.faults.arm(Point.FIRST_PACKET, Action.KILL, behind=0)
        ...
        (victim,) = fault.victims()

A fault is armed by files that the servers look for: `POINT` says what is to happen and to
which servers, and each of `POINT.0`, `POINT.1`, … is one occurrence. The process that
reaches the point claims one by renaming it to `POINT.0.hit.NAME`, and fails. So a fault
happens as often as was asked for and at most once to a server, and a test can see which
servers it hit.

`install` runs in the server, the rest in the test.
"""

from __future__ import annotations

import enum
import errno
import fcntl
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howdah.datanode.state import fault_points
from howdah.datanode.state.fault_points import Point as Point
from howdah.runtime.sockets import Connection, PeerClosed


class Action(enum.StrEnum):
    """What befalls a datanode."""

    KILL = "kill"
    """`kill -9`, control process and data process at once."""
    PAUSE = "pause"
    """SIGSTOP: connections stay open, nothing is said."""
    DISK_FULL = "disk-full"
    """The write fails with ENOSPC."""
    CUT = "cut"
    """The network is gone: connections break, none can be made, and no heartbeat leaves;
    the process lives, and knows what it knew when `Faults.heal` ends it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One that was armed."""

    directory: Path
    point: Point

    def victims(self) -> list[str]:
        """The names of the servers that it befell."""
        hits = self.directory.glob(f"{self.point}.*.hit.*")
        return sorted(hit.name.rpartition(".")[2] for hit in hits)


def fault_directory(cluster: Path) -> Path:
    """Where faults are armed in the directory of a cluster."""
    return cluster / "faults"


class Faults:
    """Arms faults in the servers of one cluster."""

    def __init__(
        self, directory: Path, signal_server: Callable[[str, signal.Signals], None]
    ) -> None:
        self._directory = directory
        self._signal = signal_server

    def arm(
        self,
        point: Point,
        action: Action,
        *,
        names: Sequence[str] | None = None,
        behind: int | None = None,
        count: int = 1,
    ) -> Fault:
        """Have `action` happen to the first `count` datanodes that reach `point`.

        `names`: only to these. `behind`: only where so many datanodes of the pipeline are
        behind it, so 0 is the last one. This replaces what was armed at this point before.
        """
        self.disarm(point)
        for number in range(count):
            (self._directory / f"{point}.{number}").touch()
        prepared = self._directory / f"{point}.new"
        prepared.write_text(json.dumps({"action": action, "behind": behind, "names": names}))
        prepared.rename(self._directory / point)
        return Fault(self._directory, point)

    def disarm(self, point: Point) -> None:
        """Take back what has not happened at `point` yet."""
        (self._directory / point).unlink(missing_ok=True)
        for left in self._directory.glob(f"{point}.*"):
            left.unlink(missing_ok=True)

    def killed(self) -> list[str]:
        """The servers that an armed fault has killed, or is about to kill."""
        names: set[str] = set()
        for point in Point:
            armed = self._directory / point
            if armed.exists() and json.loads(armed.read_text())["action"] == Action.KILL:
                names.update(Fault(self._directory, point).victims())
        return sorted(names)

    def heal(self) -> list[str]:
        """Disarm everything and repair the networks that were cut; whose they were.

        A server that is just reaching a point is cut before that, and healed, or not at all.
        """
        healed = []
        with _cutting(self._directory):
            for point in Point:
                self.disarm(point)
            for marker in sorted(self._directory.glob("cut.*")):
                name = marker.name.partition(".")[2]
                marker.unlink()
                self._signal(name, signal.SIGCONT)
                healed.append(name)
        return healed


# --- in the server ------------------------------------------------------------------------


def install(directory: Path, name: str) -> None:
    """Look for faults in `directory` from now on, in this process and its forks."""

    def at(point: Point, block_id: int, behind: int) -> None:
        try:
            fault = json.loads((directory / point).read_text())
        except FileNotFoundError:
            return
        meant = fault["behind"] in (None, behind) and name in (fault["names"] or (name,))
        action = Action(fault["action"])
        if meant and action is Action.CUT:
            # From the claim to the signal in one, or `heal` could come between.
            stop = None
            with _cutting(directory):
                if (directory / point).exists() and _claim(directory, point, name):
                    stop = _cut(directory / f"cut.{name}")
            if stop is not None:
                stop()
        elif meant and _claim(directory, point, name):
            _happen(action, f"{block_id} at {point}")

    fault_points.listen(at)
    _break_connections_while(directory / f"cut.{name}")


def _claim(directory: Path, point: Point, name: str) -> bool:
    """Claim one of the occurrences that are left, unless this server had one."""
    if list(directory.glob(f"{point}.*.hit.{name}")):
        return False
    for left in sorted(directory.glob(f"{point}.*")):
        if left.suffix[1:].isdigit():
            try:
                left.rename(f"{left}.hit.{name}")
            except FileNotFoundError:
                continue  # another process claimed it
            return True
    return False


@contextmanager
def _cutting(directory: Path) -> Iterator[None]:
    """Only one at a time cuts a network or heals it, of all processes."""
    with (directory / "cutting").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _cut(marker: Path) -> Callable[[], None] | None:
    """Stop the control process, which leads the group and is the one that sends heartbeats. Most
    points are reached in its child. One that is reached in the control process itself has it
    stopped by what is returned, to be called without the lock: a stopped process would hold it
    until it is healed.
    """
    marker.touch()
    control = os.getpgrp()
    if control != os.getpid():
        os.kill(control, signal.SIGSTOP)
        return None
    # A child has the lock, too, and lets go of it when it has stopped the control process.
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write_end)
        os.read(read_end, 1)
        os.kill(control, signal.SIGSTOP)
        os._exit(0)
    os.close(read_end)

    def stop() -> None:
        os.close(write_end)
        os.waitpid(child, 0)

    return stop


def _happen(action: Action, where: str) -> None:
    match action:
        case Action.KILL:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        case Action.PAUSE:
            os.killpg(os.getpgrp(), signal.SIGSTOP)
        case Action.DISK_FULL:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} (block {where})")


def _break_connections_while(cut: Path) -> None:
    for name in ("_recv_into", "send_all", "send_buffers", "send_more", "send_file"):
        _break_while(cut, name, getattr(Connection, name))


def _break_while(cut: Path, name: str, method: Callable[..., Any]) -> None:
    def broken(connection: Connection, *arguments: Any) -> Any:
        result = None if cut.exists() else method(connection, *arguments)
        if cut.exists():
            # Also what came while this one waited came too late.
            connection.shutdown()
            raise PeerClosed(f"the connection to {connection.peer} broke: the network is cut")
        return result

    setattr(Connection, name, broken)
