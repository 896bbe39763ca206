"""A cache for what is made again and again of what others send (pure).

Contexts of callers, tails of headers and of acks: there are few different ones, and they are
short. What is long is a stranger's, who could fill the memory with it: it is made each time, and
not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, Generic, ParamSpec, TypeVar, cast

MAX_KEPT_LENGTH: Final = 512

P = ParamSpec("P")
R = TypeVar("R")


class CachedIfShort(Generic[P, R]):
    """A function, and the same with a memory for its results."""

    __slots__ = ("_kept", "_made")

    def __init__(self, function: Callable[P, R], entries: int) -> None:
        self._made = function
        self._kept = cast("Callable[P, R]", lru_cache(entries)(function))

    def of(self, length: int) -> Callable[P, R]:
        """The one to call with arguments that are so long, in bytes or characters."""
        return self._kept if length <= MAX_KEPT_LENGTH else self._made


def cache_short(entries: int) -> Callable[[Callable[P, R]], CachedIfShort[P, R]]:
    """Have a function remember the latest `entries` results of short arguments.

    >>> @cache_short(2)
    ... def shout(text):
    ...     print("called")
    ...     return text.upper()
    >>> shout.of(1)("a"), shout.of(1)("a")
    called
    ('A', 'A')
    """

    def decorate(function: Callable[P, R]) -> CachedIfShort[P, R]:
        return CachedIfShort(function, entries)

    return decorate
