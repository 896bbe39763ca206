"""Who calls most: counts of users and operations over the last minutes (pure; `nntop`).

RollingWindowManager in Hadoop. A window of 5 minutes with 10 buckets is the sum of the last
10 half minutes, the one that runs included. Memory is bounded: a bucket keeps so many users of
an operation as `calls.MAX_USERS` says.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ALL: Final = "*"
"""Stands for every operation."""


@dataclass(frozen=True, slots=True)
class TopOperation:
    """The users who asked for an operation most often, the first one most."""

    operation: str
    users: tuple[tuple[str, int], ...]
    total: int


@dataclass(frozen=True, slots=True)
class TopWindow:
    length_ms: int
    operations: tuple[TopOperation, ...]


class _Window:
    """Keeps buckets of counts, the newest at the right."""

    __slots__ = ("bucket_ms", "buckets", "length_ms", "number")

    def __init__(self, length_ms: int, number: int) -> None:
        self.length_ms = length_ms
        self.number = number
        self.bucket_ms = max(1, length_ms // number)
        self.buckets: deque[tuple[int, dict[str, Counter[str]]]] = deque()

    def add(self, at_ms: int, counts: Mapping[str, Mapping[str, int]]) -> None:
        number = at_ms // self.bucket_ms
        if not self.buckets or self.buckets[-1][0] != number:
            self.buckets.append((number, {}))
        bucket = self.buckets[-1][1]
        for operation, users in counts.items():
            bucket.setdefault(operation, Counter()).update(users)
        self.forget(at_ms)

    def forget(self, at_ms: int) -> None:
        oldest = at_ms // self.bucket_ms - self.number + 1
        while self.buckets and self.buckets[0][0] < oldest:
            self.buckets.popleft()

    def sums(self) -> dict[str, Counter[str]]:
        sums: dict[str, Counter[str]] = {}
        for _, bucket in self.buckets:
            for operation, users in bucket.items():
                sums.setdefault(operation, Counter()).update(users)
        return sums


class TopUsers:
    """Keeps all windows of a server. Whoever has counted gives it what came since the last time."""

    def __init__(self, windows_ms: Sequence[int], buckets: int, users: int) -> None:
        """`users` of each operation are told."""
        self._windows = [_Window(length_ms, buckets) for length_ms in windows_ms]
        self._users = users

    def add(self, now_ms: int, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Calls by operation and user, since the last time. `now_ms` never goes back."""
        for window in self._windows:
            window.add(now_ms, counts)

    def top(self, now_ms: int) -> list[TopWindow]:
        """Return the windows as of now: all operations together first, then each, the busiest
        first."""
        windows = []
        for window in self._windows:
            window.forget(now_ms)
            sums = window.sums()
            everything: Counter[str] = Counter()
            for users in sums.values():
                everything.update(users)
            operations = [self._operation(ALL, everything)] if everything else []
            operations += sorted(
                (self._operation(name, users) for name, users in sums.items()),
                key=lambda operation: (-operation.total, operation.operation),
            )
            windows.append(TopWindow(window.length_ms, tuple(operations)))
        return windows

    def _operation(self, name: str, users: Counter[str]) -> TopOperation:
        ranked = sorted(users.items(), key=lambda pair: (-pair[1], pair[0]))
        return TopOperation(name, tuple(ranked[: self._users]), users.total())
