"""Waiting for a condition, with a bound: what a test of servers does instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable

DEFAULT_TIMEOUT_S = 20.0
_POLL_S = 0.02


def wait_until(
    condition: Callable[[], object], timeout_s: float = DEFAULT_TIMEOUT_S, what: str = ""
) -> None:
    """Return as soon as `condition()` is true; `AssertionError` if it isn't within `timeout_s`.

    `what` says in the error what was waited for; by default it is the condition's name.

    >>> wait_until(lambda: True)
    """
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            named = what or getattr(condition, "__name__", repr(condition))
            raise AssertionError(f"within {timeout_s:g} s it did not come to pass: {named}")
        time.sleep(_POLL_S)
