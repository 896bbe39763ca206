"""Percentiles of what came in an interval, as Hadoop's MutableQuantiles tells them (pure).

Told are those of the interval that ended last; where nothing came in it, zeros. A value goes into
the bucket of its first five binary digits, so a percentile is wrong by 3 % at most, and what is
kept does not grow with the number of values.

One thread adds, any may read: what is read is replaced whole.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

PERCENTILES: Final = (50, 75, 90, 95, 99)
_DIGITS: Final = 5


class Quantiles:
    """Keeps the quantiles of intervals of one length.

    >>> quantiles = Quantiles(60, now_s=0)
    >>> for value in range(1, 101): quantiles.add(value, 1)
    >>> quantiles.read(61)
    (100, {50: 51, 75: 77, 90: 91, 95: 95, 99: 99})
    """

    __slots__ = ("_intervals", "interval_s")

    def __init__(self, interval_s: int, now_s: float) -> None:
        self.interval_s = interval_s
        self._intervals: tuple[float, Counter[int], Counter[int]] = (now_s, Counter(), Counter())
        """When this interval began, what came in it, and in the one before."""

    def add(self, value: int, now_s: float) -> None:
        """One more, at least 0."""
        self._intervals = _, current, _ = self._at(now_s)
        current[_bucket(value)] += 1

    def read(self, now_s: float) -> tuple[int, dict[int, int]]:
        """Return how many came, and the value below which so many percent of them are."""
        _, _, before = self._at(now_s)
        counts = sorted(before.items())
        total = sum(count for _, count in counts)
        values: dict[int, int] = {}
        for percent in PERCENTILES:
            left = -(-total * percent // 100)
            for bucket, count in counts:
                left -= count
                if left <= 0:
                    values[percent] = _value(bucket)
                    break
            else:
                values[percent] = 0
        return total, values

    def _at(self, now_s: float) -> tuple[float, Counter[int], Counter[int]]:
        began_s, current, _ = intervals = self._intervals
        over = int((now_s - began_s) // self.interval_s)
        if over < 1:
            return intervals
        return began_s + over * self.interval_s, Counter(), current if over == 1 else Counter()


def _bucket(value: int) -> int:
    shift = max(0, value.bit_length() - _DIGITS)
    return (shift << _DIGITS) + (value >> shift)


def _value(bucket: int) -> int:
    """In the middle of those that have this bucket."""
    shift, digits = bucket >> _DIGITS, bucket & ((1 << _DIGITS) - 1)
    return (digits << shift) + ((1 << shift) >> 1)
