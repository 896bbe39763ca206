"""A caller that waits for each answer before it asks again, alone at the server (pure).

To put the loop to sleep after each answer, and to wake it up for the next call, takes a thread
longer than such a caller needs to ask again. So the loop waits a moment for it, awake, when it
has answered a call at once. Others that come meanwhile wait as long at most. Where the caller
does not come back in time, as one that has work of its own, or whose processor the waiting
takes away, the next try is put off: by twice as many calls each time, so that waiting in vain
takes next to nothing.
"""

from __future__ import annotations

from typing import Final

MOMENT_NS: Final = 100_000
"""So long the loop waits."""

FIRST: Final = 8
"""After so many calls in a row one caller counts as alone."""

MOST: Final = 4096
"""So many calls a try is put off at most."""


class BusyPollPolicy:
    """Whether to wait for the next call, now that one came."""

    __slots__ = ("_after", "_caller", "_in_row")

    def __init__(self) -> None:
        self._caller: object | None = None
        self._in_row = 0
        self._after = FIRST

    def note_call(self, caller: object) -> bool:
        """`caller` has asked: True if it is worth while to wait for it when it is answered."""
        if caller is not self._caller:
            self._caller, self._in_row = caller, 0
            return False
        self._in_row += 1
        return self._in_row > self._after

    def waited(self, has_come: bool) -> None:
        """How waiting ended."""
        if has_come:
            self._after = max(self._after // 2, FIRST)
            return
        self._in_row = 0
        self._after = min(self._after * 2, MOST)

    def note_end(self, caller: object) -> None:
        """It ended its connection."""
        if caller is self._caller:
            self._caller = None
