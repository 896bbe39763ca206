"""Processes by their number: whether they run, since when, and how they are signalled.

A process found by its number later on is believed to be the same only if it also
started at the same time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

POLL_S = 0.002


def state_and_start(pid: int) -> tuple[str, str] | None:
    """A letter for what the process does, and when it started in the system's words."""
    if sys.platform == "linux":
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The second field is the name in brackets and may have blanks in it.
        fields = status.rpartition(")")[2].split()
        state, threads, since = fields[0], fields[17], fields[19]
        # The first thread may have ended before the others, which hold files and locks.
        return "D" if state == "Z" and threads != "1" else state, since
    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    state, _, since = answer.partition(" ")
    return (state[0], since.strip()) if answer else None


def start_time(pid: int) -> str | None:
    """When a running process started, in whatever form the system has; None: not running.

    A process that has ended and that nobody waited for is not running.
    """
    found = state_and_start(pid)
    return None if found is None or found[0] in "ZX" else found[1]


def signal_group(pid: int, number: signal.Signals) -> bool:
    """Send a signal to the group that `pid` leads; False where there is none any more."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return False
    return True


def signal_process(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def is_paused(pid: int) -> bool:
    found = state_and_start(pid)
    return found is not None and found[0] == "T"


def is_running(pid: int) -> bool:
    return start_time(pid) is not None


def wait_until_ended(pids: Sequence[int], timeout_s: float) -> list[int]:
    """Wait until none of them runs; those that still do when time is up."""
    deadline = time.monotonic() + timeout_s
    left = [pid for pid in pids if is_running(pid)]
    while left and time.monotonic() < deadline:
        time.sleep(POLL_S)
        left = [pid for pid in left if is_running(pid)]
    return left
