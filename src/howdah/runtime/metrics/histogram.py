"""How long something takes: number, sum, and a histogram whose bounds double (pure).

An addition costs a tenth of a microsecond, which a call of a namenode can bear: the bucket of
a time is the length of the number, and no search.
"""

from __future__ import annotations

from typing import Final

BOUNDS_S: Final = tuple(1024 * 2**number / 1e9 for number in range(26))
"""The upper bounds of the first buckets, from 1.024 microseconds to 34 s; those behind them are
one to whoever reads."""
_BUCKETS: Final = 64
"""So many that no time needs a comparison."""


class Times:
    """Of one kind of work. One thread adds, any may read.

    >>> times = Times()
    >>> times.add(1_500_000)
    >>> times.count, times.total_ns
    (1, 1500000)
    """

    __slots__ = ("buckets", "count", "total_ns")

    def __init__(self) -> None:
        self.count = 0
        self.total_ns = 0
        self.buckets = [0] * _BUCKETS

    def add(self, ns: int) -> None:
        """One more, which took `ns` nanoseconds, at least 0."""
        self.count += 1
        self.total_ns += ns
        self.buckets[(ns >> 10).bit_length()] += 1


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


class Rates:
    """Means by name, each of the last ten seconds in which something came."""

    INTERVAL_NS: Final = 10_000_000_000

    def __init__(self) -> None:
        self._rates: dict[str, Rate] = {}

    def mean_ns(self, name: str, count: int, total_ns: int, now_ns: int) -> float:
        """As `Rate.mean_ns`."""
        rate = self._rates.get(name)
        if rate is None:
            rate = self._rates.setdefault(name, Rate(self.INTERVAL_NS))
        return rate.mean_ns(count, total_ns, now_ns)
