"""Fork a child that lives a life of its own (shell).

A datanode's data process and the child that writes a namenode's image are made here and nowhere
else. Such a child begins with one function and the one object that it inherits, and it never
returns into what its parent was about to do. Its memory is that of the parent, as it was.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection
from typing import Final, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

_STANDARD_STREAMS: Final = 3


def fork_child(
    main: Callable[[T], int],
    inherited: T,
    *,
    closes: Collection[int] = (),
    keeps: Collection[int] | None = None,
) -> int:
    """Fork; the child calls `main(inherited)` and ends. Returns the id of the child's process.

    The child closes the descriptors `closes`, which are its parent's alone; or, with `keeps`, all
    that are open but the standard streams and these. It ends with status 0, or with 1 and a line
    in the log if `main` raises. It runs no handlers of exit and flushes no files.

    Fork before threads are started, or let `main` need no lock that one of them may hold. Raises
    OSError in the parent if the system has no room for another process.
    """
    pid = os.fork()
    if pid == 0:
        _live(main, inherited, closes, keeps)
    return pid


def _live(
    main: Callable[[T], int], inherited: T, closes: Collection[int], keeps: Collection[int] | None
) -> None:
    status = 1
    try:
        for descriptor in closes:
            os.close(descriptor)
        if keeps is not None:
            close_all_but(keeps)
        status = main(inherited)
    except BaseException:
        # It must never go on as a second parent.
        log.exception("a forked process ends on a defect")
    finally:
        os._exit(status)


def close_all_but(kept: Collection[int]) -> None:
    """Close what is open behind the standard streams. Not every number that may be one is tried:
    where a container allows a thousand million of them, and Python closes them one by one, that
    takes minutes."""
    try:
        numbers = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    except OSError:
        behind = _STANDARD_STREAMS
        for number in sorted(kept):
            os.closerange(behind, number)
            behind = max(behind, number + 1)
        os.closerange(behind, os.sysconf("SC_OPEN_MAX"))
        return
    for number in numbers:
        if number >= _STANDARD_STREAMS and number not in kept:
            # The listing's own is closed already, which this takes.
            os.closerange(number, number + 1)
