"""How much of a process's time a kind of work takes (pure).

Threads of one interpreter compute in turns. A thread that wants its turn waits until the one that
has it blocks, or 0.5 ms at a namenode. So work that nobody asked for is cut into slices that are
shorter, with rests between them, and is given a share of the time in the long run.

Times are those of the processor for what was spent, and of the clock for when.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Debt:
    """What was spent and has not been made good yet: each second makes good `share` seconds."""

    share: float
    _owed_s: float = 0.0
    _at_s: float = 0.0

    def owed_s(self, now_s: float) -> float:
        """
        >>> debt = Debt(0.25)
        >>> debt.spend(1.0, now_s=10.0)
        >>> debt.owed_s(now_s=12.0)
        0.5
        """
        return max(0.0, self._owed_s - self.share * max(0.0, now_s - self._at_s))

    def spend(self, took_s: float, now_s: float) -> None:
        """A negative `took_s` takes back what was spent before."""
        self._owed_s = max(0.0, self.owed_s(now_s) + took_s)
        self._at_s = max(self._at_s, now_s)

    def wait_s(self, now_s: float, allowance_s: float) -> float:
        """How long until no more than `allowance_s` is owed."""
        return max(0.0, self.owed_s(now_s) - allowance_s) / self.share


class Turns:
    """A thread's work in slices. The thread says what it has done, and hears how long to rest."""

    def __init__(
        self,
        *,
        share: float = 0.25,
        slice_s: float = 0.0003,
        rest_s: float = 0.0001,
        burst_s: float = 0.25,
    ) -> None:
        """It works for `slice_s` without a rest of `rest_s`, and for `burst_s` more than its
        `share` of the time."""
        self._slice_s = slice_s
        self._rest_s = rest_s
        self._burst_s = burst_s
        self._debt = Debt(share)
        self._in_slice_s = 0.0
        self._seen_s = 0.0

    def rest_s(self, took_s: float, now_s: float) -> float:
        """`took_s` of the processor since the call before; 0 where it may go on at once.

        >>> turns = Turns(share=0.25, slice_s=0.5, rest_s=0.125, burst_s=0.5)
        >>> [turns.rest_s(0.25, now_s=each) for each in (8.0, 8.25, 8.625, 8.875)]
        [0.0, 0.125, 0.0, 1.125]
        """
        self._debt.spend(took_s, now_s)
        # While it waited for anything, others had their turn.
        waited_s = now_s - self._seen_s - took_s
        self._seen_s = now_s
        self._in_slice_s = took_s if waited_s >= self._rest_s else self._in_slice_s + took_s
        if self._in_slice_s < self._slice_s:
            return 0.0
        self._in_slice_s = 0.0
        return max(self._rest_s, self._debt.wait_s(now_s, self._burst_s))
