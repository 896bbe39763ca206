"""How long something takes: number, sum, and a histogram whose bounds double (pure).

An addition costs a tenth of a microsecond, which a call of a namenode can bear: the bucket of
a time is the length of the number, and no search.
"""

from __future__ import annotations

from typing import Final

BUCKETS: Final = 26
"""Bounds from 1.024 microseconds to 34 s, and one bucket for what is longer."""
BOUNDS_S: Final = tuple(1024 * 2**number / 1e9 for number in range(BUCKETS))
"""The upper bound of each bucket but the last."""


class Times:
    """Of one kind of work. One thread adds, any may read.

    >>> times = Times()
    >>> times.add(1_500_000)
    >>> times.count, times.total_ns
    (1, 1500000)
    """

    __slots__ = ("buckets", "count", "longest_ns", "total_ns")

    def __init__(self) -> None:
        self.count = 0
        self.total_ns = 0
        self.longest_ns = 0
        self.buckets = [0] * (BUCKETS + 1)

    def add(self, ns: int) -> None:
        """One more, which took `ns` nanoseconds, at least 0."""
        self.count += 1
        self.total_ns += ns
        if ns > self.longest_ns:
            self.longest_ns = ns
        number = (ns >> 10).bit_length()
        self.buckets[number if number < BUCKETS else BUCKETS] += 1


class Rate:
    """The mean of what was added lately, as Hadoop's MutableRate tells it: of the interval that
    ended last, and where nothing came in it, of the one before."""

    __slots__ = ("_began_ns", "_count", "_interval_ns", "_mean_ns", "_total_ns")

    def __init__(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._began_ns = 0
        self._count = 0
        self._total_ns = 0
        self._mean_ns: float | None = None

    def mean_ns(self, count: int, total_ns: int, now_ns: int) -> float:
        """`count` and `total_ns` are of all that came since the start, and only grow."""
        is_over = self._mean_ns is None or now_ns - self._began_ns >= self._interval_ns
        if is_over and count > self._count:
            self._mean_ns = (total_ns - self._total_ns) / (count - self._count)
        if is_over:
            self._count, self._total_ns, self._began_ns = count, total_ns, now_ns
        return self._mean_ns or 0.0
