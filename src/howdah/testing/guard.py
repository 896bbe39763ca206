"""A process that kills others when the process that started them is gone.

It reads process ids from stdin, one a line, each the leader of a process group. When
stdin ends, for its writer has closed it or has died in whatever way, all these groups
are killed. `Guard` is the other side.

It imports nothing of howdah: it has to be there at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

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
        self._process.stdin.write(f"{leader}\n".encode())
        self._process.stdin.flush()

    def close(self) -> None:
        """Kill them now; they are gone, or about to be, on return."""
        self._process.communicate(timeout=CLOSE_TIMEOUT_S)


def main() -> None:
    """Read ids to the end, and kill."""
    leaders = [int(line) for line in sys.stdin]
    for leader in leaders:
        # Some systems say EPERM where all that is left of a group is a dead leader.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


if __name__ == "__main__":
    main()
