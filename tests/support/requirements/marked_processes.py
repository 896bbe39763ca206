"""A process that kills all processes of a test run when the run's first process is gone.

Processes of a run have a mark in their environment, `NAME=TOKEN`; they inherit it, in whatever
group or session they are. This process reads its standard input to the end, which comes when
the first process closes it or dies in whatever way, and then sends SIGKILL to each process that
has the mark.

It imports nothing of howdah: it has to be there at once. Where there is no /proc it ends
without effect.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROUNDS = 50
PAUSE_S = 0.1


def marked(mark: bytes) -> Iterator[int]:
    """Yield the ids of the processes whose environment holds the mark, but for this one."""
    for directory in Path("/proc").glob("[0-9]*"):
        if int(directory.name) == os.getpid():
            continue
        try:
            environment = (directory / "environ").read_bytes()
        except OSError:
            continue  # It has ended, or is another user's.
        if mark in environment.split(b"\0"):
            yield int(directory.name)


def main() -> None:
    """Wait for the end of the run, then kill until no process is left."""
    mark = sys.argv[1].encode()
    sys.stdin.buffer.read()
    for _ in range(ROUNDS):
        found = list(marked(mark))
        if not found:
            return
        for process_id in found:
            try:
                os.kill(process_id, signal.SIGKILL)
            except ProcessLookupError:
                continue  # It has ended meanwhile.
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
