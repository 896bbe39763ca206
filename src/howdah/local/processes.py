"""Processes by their number: whether they run, since when, and how they are signalled.

Whether a number is still the same process says `howdah.runtime.process_identity`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from howdah.runtime.process_identity import start_time, stat_fields, state_and_start

POLL_S = 0.002
_STANDING_STILL = frozenset("TtZX")


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
    status = state_and_start(pid)
    return status is not None and status[0] == "T"


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
        if stat_fields(process)[2:3] == [str(leader)]:
            for thread in process.glob("task/*"):
                yield from stat_fields(thread)[:1]


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
