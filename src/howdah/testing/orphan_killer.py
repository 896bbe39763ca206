"""A process that kills others when the process that started them is gone.

It reads process ids from stdin, one a line, each the leader of a process group, and when
that process started. When stdin ends, for its writer has closed it or has died in whatever
way, all these groups are killed, but for those whose leader's number is another process's
by now: in a long run of tests numbers come round. `Guard` is the other side.

It imports nothing of howdah: it has to be there at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

CLOSE_TIMEOUT_S = 10.0


class Guard:
    """Kills the groups of processes when it is closed, or when this process dies."""

    def __init__(self) -> None:
        # Not `-m`: the package and what it imports are of no use to it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, leader: int) -> None:
        """From now on this process and its group end with us."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{leader} {_started(leader)}\n".encode())
        self._process.stdin.flush()

    def close(self) -> None:
        """Kill them now; they are gone, or about to be, on return."""
        self._process.communicate(timeout=CLOSE_TIMEOUT_S)


def _started(pid: int) -> str:
    """When a process started, in the system's ticks; "-" of none, or where nothing says it."""
    try:
        # The second field is the name in brackets and may have blanks in it.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"


def main() -> None:
    """Read ids to the end, and kill."""
    known = [line.split() for line in sys.stdin]
    for leader, since in known:
        if _started(int(leader)) not in (since, "-"):
            continue  # Another process has the number. Of the group, nothing can be left.
        # Some systems say EPERM where all that is left of a group is a dead leader.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(int(leader), signal.SIGKILL)


if __name__ == "__main__":
    main()
