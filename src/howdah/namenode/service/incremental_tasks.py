"""Long work of the namenode's loop, in slices (pure).

A round is a generator: each step is a slice, after which others have their turn. What a
slice yields is logged as warnings. A round that meets a defect ends; whoever began it is
told so (`ended`), and begins another when it likes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable

from howdah.namenode.state.inodes.block_events import NamespaceBroken
from howdah.runtime import unexpected_errors

log = logging.getLogger(__name__)

Round = Generator[Iterable[str], None, None]


class IncrementalTasks:
    """At most one round of each name is under way."""

    def __init__(
        self,
        soon: Callable[[Callable[[], None]], object],
        ended: Callable[[str, bool], None] = lambda name, well: None,
    ) -> None:
        """`soon` calls back when others had their turn; `ended` hears which round has ended, and
        whether it ended well."""
        self._soon = soon
        self._ended = ended
        self._running: dict[str, Round] = {}

    def is_running(self, name: str) -> bool:
        return name in self._running

    def begin(self, name: str, slices: Round) -> None:
        """The first slice now, unless such a round is under way."""
        if name not in self._running:
            self._running[name] = slices
            self._go_on(name, slices)

    def stop(self) -> None:
        """No slice of any round that is under way runs any more."""
        running, self._running = self._running, {}
        for slices in running.values():
            slices.close()

    def _go_on(self, name: str, slices: Round) -> None:
        if self._running.get(name) is not slices:
            return  # It was stopped.
        try:
            said = next(slices)
        except StopIteration:
            self._end(name, well=True)
            return
        except NamespaceBroken:
            self._end(name, well=False)  # The log says so already, and the process ends.
            return
        except Exception as error:  # noqa: BLE001 - nothing else may stop for it
            unexpected_errors.note(name, error, "it begins again later")
            self._end(name, well=False)
            return
        for line in said:
            log.warning("%s", line)
        self._soon(lambda: self._go_on(name, slices))

    def _end(self, name: str, *, well: bool) -> None:
        del self._running[name]
        self._ended(name, well)
