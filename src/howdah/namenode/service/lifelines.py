"""When datanodes were last heard of by their lifelines (pure).

Threads note, the loop takes. Nothing here asks who is registered: the namespace and the
datanodes belong to the loop. Nothing is locked either, since each step is one operation on a
dictionary, which Python does not interrupt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_DATANODES: Final = 100_000
"""Some 30 MB, while the loop takes nothing. Anybody can send lifelines."""


class Lifeline(NamedTuple):
    """A datanode was alive."""

    uuid: str
    address: str
    """`ip:port` of its data port."""
    at_ms: int
    """By the namenode's monotonic clock."""


class LifelineRegistry:
    """The last lifeline of each datanode that the loop has not taken yet."""

    def __init__(self, limit: int = MAX_DATANODES) -> None:
        self._limit = limit
        self._lines: dict[tuple[str, str], Lifeline] = {}

    def note(self, line: Lifeline) -> bool:
        """False if too many wait already."""
        key = line.uuid, line.address
        if key not in self._lines and len(self._lines) >= self._limit:
            return False
        self._lines[key] = line
        return True

    def pop_all(self) -> Iterator[Lifeline]:
        """Those that wait now. They wait no longer."""
        for _ in range(len(self._lines)):
            yield self._lines.popitem()[1]
