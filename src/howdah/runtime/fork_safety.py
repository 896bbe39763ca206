"""What a forked child must not share with its parent, and threads must agree on.

A lock may be held, at the moment of a fork, by a thread that the child does not have: in
the child nobody will ever release it. So nothing here waits for a lock of the parent, and
nothing needs one: the first value that gets into a dictionary counts (`dict.setdefault` is
one step), and whoever comes second takes that one.

Which process this is, is asked for at every read, and a system call is dear where reads are
cheap: `process_id` looks at a page of memory that the kernel empties in a child.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

_WIPE_ON_FORK = 18
"""Linux's MADV_WIPEONFORK (4.14 and later), which Python's `mmap` does not name."""


def asking_once() -> Callable[[], int]:
    """A function as `os.getpid`, which asks the kernel once in each process.

    `os.register_at_fork` would not do: forks that an extension or a server which embeds
    Python makes do not always call its hooks. Where there is no page of this kind, it is
    `os.getpid` itself.
    """
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
    except (AttributeError, OSError, ValueError):
        return os.getpid
    own = 0

    def process_id() -> int:
        nonlocal own
        if not page[0]:
            own = os.getpid()
            page[0] = 1
        return own

    return process_id


process_id: Callable[[], int] = asking_once()
"""`os.getpid()` without a system call. Thread-safe; safe after any kind of fork."""


class PerProcess(Generic[T]):
    """A value that each process has of its own; all threads of a process get the same one.

    `make` may be called by two threads of a fresh child, and one of the values is dropped
    unused: so making one must start nothing. Values of ancestors are let go of, not closed.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values = {process_id(): make()}

    def get(self) -> T:
        """The value of this process."""
        pid = process_id()
        try:
            return self._values[pid]
        except KeyError:
            value = self._values.setdefault(pid, self._make())
        for other in list(self._values):
            if other != pid:
                self._values.pop(other, None)
        return value


class made_once(Generic[T]):
    """As `functools.cached_property`, but all threads get the same value, and no lock is held.

    (That of Python 3.11 holds one, which a fork may copy; those from 3.12 on hold none, and
    two threads may go on with two values.) Making a value must start nothing.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> made_once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> made_once[T] | T:
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._make(instance))
        return value
