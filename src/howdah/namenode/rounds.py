"""Long work of the namenode's loop, in slices (pure).

A round is a generator: each step is a slice, after which others have their turn. What a
slice yields is logged as warnings. A round that meets a defect ends with a trace in the
log, and the next tick begins another: neither does the namenode end, nor is the work
given up for good.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable

log = logging.getLogger(__name__)

Round = Generator[Iterable[str], None, None]


class Rounds:
    """At most one round of each name is under way."""

    def __init__(
        self, soon: Callable[[Callable[[], None]], object], after_slice: Callable[[], object]
    ) -> None:
        """`soon` calls back when others had their turn; `after_slice` is called for what a
        slice has committed."""
        self._soon = soon
        self._after_slice = after_slice
        self._running: dict[str, Round] = {}

    def is_running(self, name: str) -> bool:
        return name in self._running

    def begin(self, name: str, slices: Round) -> None:
        """The first slice now, unless such a round is under way."""
        if name not in self._running:
            self._running[name] = slices
            self._go_on(name)

    def _go_on(self, name: str) -> None:
        try:
            said = next(self._running[name])
        except StopIteration:
            del self._running[name]
            self._after_slice()
            return
        except Exception:
            del self._running[name]
            log.exception("%s failed on a defect, and begins again later", name)
            self._after_slice()
            return
        for line in said:
            log.warning("%s", line)
        self._after_slice()
        self._soon(lambda: self._go_on(name))
