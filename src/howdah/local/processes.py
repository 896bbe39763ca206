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
from collections.abc import Iterator, Sequence
from pathlib import Path

POLL_S = 0.002
_STANDING_STILL = frozenset("TtZX")


def state_and_start(pid: int) -> tuple[str, str] | None:
    """A letter for what the process does, and when it started in the system's words."""
    if sys.platform == "linux":
        fields = _stat_fields(Path(f"/proc/{pid}"))
        if not fields:
            return None
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


def pause_group(pid: int, timeout_s: float) -> bool:
    """SIGSTOP the group that `pid` leads; False if a part of it still runs when time is up.

    The signal alone says nothing of when: a thread that runs on another core goes on for
    some milliseconds after `killpg` has returned, and may send what it was about to say.
    """
    deadline = time.monotonic() + timeout_s
    signal_group(pid, signal.SIGSTOP)
    while not set(_states_of_group(pid)) <= _STANDING_STILL:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _states_of_group(leader: int) -> Iterator[str]:
    """A letter for what each thread of the group does; of each process where threads are hidden."""
    if sys.platform != "linux":
        answer = subprocess.run(
            ["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True
        ).stdout
        for group, state in (line.split() for line in answer.splitlines()):
            if group == str(leader):
                yield state[0]
        return
    for process in Path("/proc").glob("[0-9]*"):
        if _stat_fields(process)[2:3] == [str(leader)]:
            for thread in process.glob("task/*"):
                yield from _stat_fields(thread)[:1]


def _stat_fields(task: Path) -> list[str]:
    """State, parent, group and what follows in a process's or thread's `stat`; [] if it is gone."""
    try:
        # The second field is the name in brackets and may have blanks in it.
        return (task / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


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
