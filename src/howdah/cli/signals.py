"""Ctrl-C, SIGTERM and SIGHUP end a command alike: what it has half done is removed.

Without this the latter two end the process on the spot, and a copy leaves its temporary file.

Python raises in whatever the main thread does at the moment. Where that is a destructor, or
anything else that is called by what cannot raise, it prints the exception and goes on, and the
command would, too: there it is raised again a moment later.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_WORDS = {signal.SIGINT: "Interrupted", signal.SIGTERM: "Terminated"}
if hasattr(signal, "SIGHUP"):
    _WORDS[signal.SIGHUP] = "Hangup"
_HAS_TIMER = hasattr(signal, "setitimer")
"""Without one, as on Windows, a thread sends the signal again."""
ENDING = tuple(_WORDS)
AGAIN_S = 0.01
"""How long a destructor has to end before what was lost in it is raised again."""


class Terminated(KeyboardInterrupt):
    """A signal that asks for the end; whatever handles Ctrl-C handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(_WORDS[signal.Signals(number)])
        self.number = number
        self.exit_code = 128 + number


@contextmanager
def handled_by(
    handler: Callable[[int, FrameType | None], None], *numbers: signal.Signals
) -> Iterator[None]:
    """`handler` gets these signals, but for those that are ignored (`nohup`); those who
    handled them before get them back. Only the main thread can do so, others change nothing."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


class _Step:
    """Whether a step is under way that is not to be cut in two, and what came meanwhile."""

    def __init__(self) -> None:
        self.is_under_way = False
        self.came: int | None = None


_step = _Step()


def end(number: int, _: FrameType | None) -> None:
    """Raise Terminated: at the end of a step that must be whole, unless asked twice.

    From then on these signals are ignored: a second one does not interrupt the clean-up.
    """
    if _step.is_under_way and _step.came is None:
        _step.came = number
        return
    for signal_number in ENDING:
        signal.signal(signal_number, signal.SIG_IGN)
    raise Terminated(number)


@contextmanager
def whole_step() -> Iterator[None]:
    """A signal that comes within the block raises behind it: who makes a file knows by then
    that it is made, and can remove it. A second signal raises at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _step.is_under_way, _step.came = True, None
    try:
        yield
    finally:
        _step.is_under_way = False
    if _step.came is not None:
        end(_step.came, None)


@contextmanager
def _raised_again() -> Iterator[None]:
    """A Terminated that nobody can get, as it was raised in a destructor, comes once more."""
    before = sys.unraisablehook

    def hook(lost: sys.UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, Terminated):
            before(lost)
            return
        number = lost.exc_value.number

        def again(_: int, __: FrameType | None) -> None:
            raise Terminated(number)

        if _HAS_TIMER:
            signal.signal(signal.SIGALRM, again)
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        else:
            signal.signal(number, again)
            threading.Timer(AGAIN_S, signal.raise_signal, (number,)).start()

    with handled_by(lambda number, frame: None, *((signal.SIGALRM,) if _HAS_TIMER else ())):
        sys.unraisablehook = hook
        try:
            yield
        finally:
            if _HAS_TIMER:
                signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = before


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise Terminated in the block."""
    with _raised_again(), handled_by(end, *ENDING):
        yield
