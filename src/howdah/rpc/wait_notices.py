"""A word to those who wait.

A call that is tried again, or waits for a machine that is off, shows nothing for as long as it
takes. So what takes longer than a few seconds is said: on standard error where that is a
terminal, and as a warning of this module's logger elsewhere, which Python shows on standard
error unless a program has its logs go somewhere else. A word names how long is waited in all.

Servers say in their own logs who is away; there only errors of this logger are shown.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from types import TracebackType

FIRST_NOTICE_S = 3.0

_log = logging.getLogger(__name__)


def is_terminal() -> bool:
    """Whether a person may be reading standard error."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (OSError, ValueError):  # closed
        return False


_known: tuple[object, bool] = (None, False)
"""A standard error, and whether it is a terminal."""


def are_wanted() -> bool:
    """Whether anybody would hear a word. Each call and each read asks: the kernel is asked once
    for each standard error."""
    global _known
    if _log.isEnabledFor(logging.WARNING):
        return True
    stream, wanted = _known
    if stream is not sys.stderr:
        wanted = is_terminal()
        _known = sys.stderr, wanted
    return wanted


def show(text: str) -> None:
    """A line to the terminal, or a warning where there is none."""
    if is_terminal():
        with contextlib.suppress(OSError, ValueError):
            print(f"howdah: {text}", file=sys.stderr, flush=True)
    else:
        _log.warning("%s", text)


class Notice:
    """`with Notice("…"):` says so once if what is within takes longer than a few seconds."""

    def __init__(self, text: str, after_s: float | None = None) -> None:
        self._text = text
        self._after_s = FIRST_NOTICE_S if after_s is None else after_s
        self._timer: threading.Timer | None = None

    def __enter__(self) -> None:
        if are_wanted():
            self._timer = threading.Timer(self._after_s, show, (self._text,))
            self._timer.daemon = True
            # Where the system has no thread to spare, the wait goes on in silence.
            with contextlib.suppress(RuntimeError):
                self._timer.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
