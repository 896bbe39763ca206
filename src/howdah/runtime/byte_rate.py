"""A limit on bytes a second: how long to wait before the next ones may go (pure).

Hadoop has two such limits. DataTransferThrottler, which slows the transfer of images, makes
nothing of a pause: after one, bytes go no faster than before. ThrottledInputStream, which
DistCp reads through (`-bandwidth`), goes by the average since its beginning. They differ in
one number: for how many seconds of a pause a sender may make up.
"""

from __future__ import annotations

import math
from typing import Final

_MOST_BYTES: Final = 1 << 20
_LEAST_BYTES: Final = 4096


class Throttle:
    """The times at which bytes may go, if no more than so many a second are to."""

    def __init__(
        self, bytes_per_s: float, *, began_s: float = -math.inf, credit_s: float = 0.0
    ) -> None:
        """`bytes_per_s` 0 is no limit. `credit_s`: for how long a pause may be made up for;
        if that is `math.inf`, for all of the time since `began_s`."""
        assert credit_s < math.inf or began_s > -math.inf, "an average since which time?"
        self._bytes_per_s = bytes_per_s
        self._credit_s = credit_s
        self._next_s = began_s

    @property
    def piece_bytes(self) -> int:
        """What to move at once: a quarter of a second's worth, 1 MiB at most."""
        if not self._bytes_per_s:
            return _MOST_BYTES
        return max(_LEAST_BYTES, min(_MOST_BYTES, int(self._bytes_per_s) // 4))

    def delay_s(self, moved_bytes: int, now_s: float) -> float:
        """How long to wait after these bytes until the next ones may go.

        >>> throttle = Throttle(1000)
        >>> throttle.delay_s(500, now_s=5.0)
        0.5
        """
        if not self._bytes_per_s:
            return 0.0
        earliest_s = max(self._next_s, now_s - self._credit_s)
        self._next_s = earliest_s + moved_bytes / self._bytes_per_s
        return max(self._next_s - now_s, 0.0)
