"""The holder of a tree's lock: a line of JSON in the lock file.

A lease outlives its holder by a minute, in which no other machine can tell whether the holder
still runs. On the holder's machine that is possible: the line names the process by boot, PID
namespace, process id and start time, so a new process with the same id is not taken for it.
`is_gone` is true only if that is certain.

A lock file that was taken over from a dead holder has a line of each; the last one counts.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

_MOST_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Holder:
    """One job. Empty fields are unknown."""

    job: str = ""
    user: str = ""
    host: str = ""
    pid: int = 0
    started: str = ""
    machine: str = ""
    since_s: int = 0

    @classmethod
    def this_process(cls, job: str, user: str | None = None) -> Self:
        """This process, as the holder of a lock for `job`."""
        return cls(
            job=job,
            user=user or _user(),
            host=socket.gethostname(),
            pid=os.getpid(),
            started=_started(os.getpid()),
            machine=_machine(),
            since_s=int(time.time()),
        )

    def line(self) -> bytes:
        """As it is written to the lock file."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The holder in the last whole line of a lock file; empty if that cannot be parsed."""
        whole, _, _ = content.rpartition(b"\n")
        try:
            fields_found = json.loads(whole.rpartition(b"\n")[2])
        except ValueError:
            return cls()
        if not isinstance(fields_found, dict):
            return cls()
        default = cls()
        known: dict[str, Any] = {}
        for field in fields(cls):
            value = fields_found.get(field.name)
            if type(value) is type(getattr(default, field.name)):
                known[field.name] = value[:_MOST_CHARS] if isinstance(value, str) else value
        return cls(**known)

    @property
    def is_of_this_machine(self) -> bool:
        """Whether the process, if it runs, is visible from this one."""
        return bool(self.machine) and self.machine == _machine() and self.pid > 0

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended, for certain."""
        return self.is_of_this_machine and _started(self.pid) != self.started

    def __str__(self) -> str:
        if not self.job:
            return "an unknown job"
        since = ""
        if 0 < self.since_s < 1 << 40:
            since = time.strftime(", since %Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since_s))
        return f"{self.job} of {self.user} on {self.host} (process {self.pid}{since})"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for this user id
        return str(os.getuid())


def _machine() -> str:
    """The id of this boot and PID namespace, unique among machines and containers; "" if it
    cannot be read."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """The start time of a process, in clock ticks since boot; "" if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The fields behind the name, which may contain blanks and parentheses.
    rest = stat.rpartition(")")[2].split()
    # A zombie has ended, though its parent has not reaped it.
    return "" if rest[0] == "Z" else rest[19]
