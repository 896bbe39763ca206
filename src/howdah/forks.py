"""What a forked child must not share with its parent, and threads must agree on.

A lock may be held, at the moment of a fork, by a thread that the child does not have: in
the child nobody will ever release it. So nothing here waits for a lock of the parent, and
nothing needs one: the first value that gets into a dictionary counts (`dict.setdefault` is
one step), and whoever comes second takes that one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that each process has of its own; all threads of a process get the same one.

    `make` may be called by two threads of a fresh child, and one of the values is dropped
    unused: so making one must start nothing. Values of ancestors are let go of, not closed.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values = {os.getpid(): make()}

    def get(self) -> T:
        """The value of this process."""
        pid = os.getpid()
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
