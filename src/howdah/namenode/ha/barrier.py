"""Answers wait until what they may have seen is durable (pure; D5).

What one turn of the loop commits goes to the log at the turn's end, as one batch. Handed over
call by call, the log's thread syncs for nearly every call: with 32 callers 2.5 edits a sync,
and the system call, the wake-ups and the fight for the interpreter cost more than the calls
themselves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from howdah.namenode.calls.core import Core


class WrittenLog(Protocol):
    """The edit log that is being written."""

    last_txid: int
    durable_txid: int

    def append(self, records: Sequence[bytes]) -> None: ...


class DurableBarrier:
    """Holds answers back until the log has caught up with the core. Without a log, as in a
    standby, nothing is committed and nothing waits."""

    def __init__(self, core: Core, soon: Callable[[Callable[[], None]], object]) -> None:
        """`soon` calls back when the loop has served all that it found ready."""
        self._core = core
        self._soon = soon
        self._will_hand_over = False
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self.log: WrittenLog | None = None

    def hold(self) -> bool:
        if self._core.broken is not None:
            return True  # The process ends; `when_clear` keeps nothing.
        written = self.log
        if written is None:
            assert not self._core.outbox, "nothing is committed without a log"
            return False
        if self._core.outbox and not self._will_hand_over:
            self._will_hand_over = True
            self._soon(self.hand_over)
        return written.durable_txid < self._core.last_txid

    def hand_over(self) -> None:
        """Give the log what was committed since the last time."""
        self._will_hand_over = False
        if self._core.outbox:
            assert self.log is not None, "nothing is committed without a log"
            self.log.append(self._core.take_outbox())
            assert self.log.last_txid == self._core.last_txid, "every edit is in the log"

    def when_clear(self, send: Callable[[], None]) -> None:
        if self._core.broken is not None:
            return  # What was computed since is never sent.
        self._waiting.append((self._core.last_txid, send))

    def durable(self, txid: int) -> None:
        """The log has everything up to `txid`."""
        assert self.log is not None, "only the log says so"
        # The log's own end may have overtaken what its thread had to say.
        self.log.durable_txid = max(txid, self.log.durable_txid)
        waiting = self._waiting
        try:
            while waiting and waiting[0][0] <= txid:
                waiting.popleft()[1]()
        except BaseException:
            # The loop reports it; those behind it are not to wait for the next edit.
            self._soon(lambda: self._go_on(txid))
            raise

    def _go_on(self, txid: int) -> None:
        if self.log is not None:
            self.durable(txid)
