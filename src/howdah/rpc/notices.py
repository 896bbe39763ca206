"""A word to a person who waits.

Programs read their errors and logs; a person at a terminal sees nothing while a call is
tried again, or waits for a machine that is off. So what takes long is said on standard
error where that is a terminal, and nowhere else.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from types import TracebackType

FIRST_NOTICE_S = 3.0


def is_terminal() -> bool:
    """Whether a person may be reading standard error."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (OSError, ValueError):  # closed
        return False


def say(text: str) -> None:
    """A line to the terminal, if there is one."""
    if is_terminal():
        with contextlib.suppress(OSError, ValueError):
            print(f"howdah: {text}", file=sys.stderr, flush=True)


class Notice:
    """`with Notice("…"):` says so once if what is within takes longer than a few seconds."""

    def __init__(self, text: str, after_s: float | None = None) -> None:
        self._text = text
        self._after_s = FIRST_NOTICE_S if after_s is None else after_s
        self._timer: threading.Timer | None = None

    def __enter__(self) -> None:
        if is_terminal():
            self._timer = threading.Timer(self._after_s, say, (self._text,))
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
