"""Server processes of a local cluster: what is known of one, and how one is started.

Who starts servers is a `Spawner`. `Detached` starts programs that outlive us, for
`howdah up`; `howdah.testing.forked` has one for clusters that live as long as a test.

Every server leads a process group, so that what it started itself is paused and
killed with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import howdah
from howdah.errors import HowdahError
from howdah.local.processes import is_paused, is_running


class ServerFailed(HowdahError, RuntimeError):
    """A server of a local cluster did not do what it should; the message has its log's end."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server as its cluster sees it; `addresses` are known once it can serve."""

    name: str
    role: str
    pid: int | None
    addresses: dict[str, str]
    log: Path

    @property
    def alive(self) -> bool:
        return self.pid is not None and is_running(self.pid)

    @property
    def paused(self) -> bool:
        return self.pid is not None and is_paused(self.pid)


class Spawner(Protocol):
    """Starts servers and knows which of those it started have ended."""

    def start(self, name: str, arguments: Sequence[str], log: Path) -> int: ...
    def exit_status(self, pid: int) -> int | None: ...
    def close(self) -> None: ...


def environment() -> dict[str, str]:
    """Return our environment without other configurations, and with howdah on the path."""
    env = dict(os.environ)
    env.pop("HADOOP_CONF_DIR", None)
    root = str(Path(howdah.__file__).parent.parent)
    paths = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    if root not in paths:
        env["PYTHONPATH"] = os.pathsep.join([root, *paths])
    return env


class Detached:
    """Each server a program of its own, in a session of its own."""

    def __init__(self) -> None:
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str], log: Path) -> int:
        with log.open("ab") as output:
            process = subprocess.Popen(
                self._command(name, arguments),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(),
                start_new_session=True,
            )
        self._started[process.pid] = process
        return process.pid

    def _command(self, name: str, arguments: Sequence[str]) -> list[str]:
        """What is run; it must become the server, so that the process is known by its number."""
        return [sys.executable, "-P", "-m", "howdah", *arguments]

    def exit_status(self, pid: int) -> int | None:
        process = self._started.get(pid)
        return process.poll() if process else None

    def close(self) -> None:
        """Let go of the servers: they go on."""
        for process in self._started.values():
            # Else Python warns of a process that nobody waited for.
            process.returncode = process.poll() or 0
        self._started.clear()


def tail(log: Path, lines: int = 40) -> str:
    """The end of a log, with its name in front."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return f"({log} does not exist)"
    return "\n".join([f"--- end of {log}", *text.splitlines()[-lines:]])
