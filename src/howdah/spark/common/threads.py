"""The driver's calls about many things, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 16


def for_each(ask: Callable[[T], R], many: Iterable[T]) -> list[R]:
    """`ask` of each, by several threads; the answers in order, or the first error."""
    several = list(many)
    if len(several) < 2:
        return [ask(each) for each in several]
    with ThreadPoolExecutor(THREADS, thread_name_prefix="driver") as pool:
        asked = [pool.submit(ask, each) for each in several]
        try:
            return [each.result() for each in asked]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
