"""What must hold, whatever happens to a quorum and its writers.

1. **Recovered is at least what was acknowledged.** The log that a writer finds when it has
   taken over has every edit that was ever acknowledged, or that a reader was ever shown.
2. **One history.** What a writer finds, everybody finds from then on. Finished copies of a
   segment are the same on all nodes.
3. **One at a time.** No two writers may serve at the same instant, and none after a younger
   one has served. Whoever serves has everything that callers know of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.support.journals.node import Node, Records


class Violation(AssertionError):
    """A promise was broken."""


class History:
    """The log, as far as it is promised to anybody. The first transaction is 1."""

    def __init__(self) -> None:
        self.log: list[bytes] = []
        self.served_epoch = 0
        self.answered = 0
        """So many edits were acknowledged to callers, by writers who served."""
        self._served_from: dict[int, int] = {}
        """By epoch, in which step of the world a writer served first."""
        self._answered_at: dict[int, int] = {}
        """By epoch, in which step the latest of the answers that left was computed."""
        self._finished: dict[int, Records] = {}

    def promise(self, first_txid: int, records: Sequence[bytes], who: str) -> None:
        """Records are acknowledged, shown to a reader, or found by a writer."""
        known = self.log[first_txid - 1 : first_txid - 1 + len(records)]
        if list(records[: len(known)]) != known:
            raise Violation(f"{who} has another history: {records} in the place of {known}")
        if first_txid - 1 > len(self.log):
            raise Violation(f"{who} has {first_txid}, and nobody has {len(self.log) + 1}")
        self.log += records[len(known) :]

    def found(self, records: Sequence[bytes], who: str) -> None:
        """All that a writer finds when it has taken over."""
        if len(records) < len(self.log):
            raise Violation(f"{who} finds {len(records)} of {len(self.log)} promised edits")
        self.promise(1, records, who)

    def serve(self, writers: Iterable[tuple[int, int]], step: int) -> None:
        """Who would answer now: the epoch, and how many edits the writer has."""
        serving = list(writers)
        if len(serving) > 1:
            raise Violation(f"several writers serve at the same time: {serving}")
        for epoch, known in serving:
            if epoch < self.served_epoch:
                raise Violation(f"epoch {epoch} serves after {self.served_epoch}")
            if known < self.answered:
                raise Violation(f"epoch {epoch} serves {known} edits of {self.answered}")
            if epoch > self.served_epoch:
                self._served_from[epoch] = step
                for other, computed in self._answered_at.items():
                    self._check_order(other, computed, epoch)
            self.served_epoch = epoch

    def answer(self, epoch: int, computed: int) -> None:
        """An answer of a writer leaves, whenever: it was computed in that step."""
        self._answered_at[epoch] = computed
        for other in self._served_from:
            self._check_order(epoch, computed, other)

    def _check_order(self, answers: int, computed: int, serves: int) -> None:
        since = self._served_from[serves]
        if serves > answers and since < computed:
            raise Violation(
                f"epoch {answers} answers of step {computed}, and {serves} served from {since}"
            )

    def check_finished(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            for segment, records in node.finished().items():
                known = self._finished.setdefault(segment.first_txid, records)
                if known != records:
                    raise Violation(f"{node} finished {segment} with other records than another")
