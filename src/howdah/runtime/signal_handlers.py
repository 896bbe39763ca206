"""Errors that a signal handler of the program raises in the midst of a call.

A program may bound a call by an alarm whose handler raises, most often a `TimeoutError`. That is
not the time-out of a socket: to take it for one would go on, to another server or to another
attempt, and the program would never get its error. A traceback tells them apart: the handler is
in it.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator
from types import CodeType
from typing import Any


def is_raised_by_handler(error: BaseException) -> bool:
    """Whether a handler that this program has set raised the error, or something that it called."""
    codes = set(_codes())
    trace = error.__traceback__
    while trace is not None and codes:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _codes() -> Iterator[CodeType]:
    """Yield the code of each handler that is set."""
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, functools.partial):
            handler = handler.func
        # Of an object that can be called, its class has the function.
        for function in (handler, vars(type(handler)).get("__call__")):
            code = getattr(function, "__code__", None)
            if isinstance(code, CodeType):
                yield code
