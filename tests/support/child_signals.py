"""Gives the children of tests the usual answer to SIGINT and SIGHUP.

A shell starts background jobs with SIGINT ignored, and `nohup` ignores SIGHUP. Both are
inherited by every child, so a test that interrupts a program would wait for ever.
"""

from __future__ import annotations

import signal
from types import FrameType


def hear_signals() -> None:
    """Replace "ignore" by a handler without effect: this process still goes on, and exec gives
    the default back to what it starts. Call it from the main thread."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _go_on)


def _go_on(number: int, frame: FrameType | None) -> None:
    """Do nothing."""
