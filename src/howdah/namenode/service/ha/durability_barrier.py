"""Answers wait until what they may have seen is durable, and until it is certain that nobody
else could have changed it (pure; D5, LM-016).

What one turn of the loop commits goes to the log at the turn's end, as one batch. Handed over
call by call, the log's thread syncs for nearly every call: with 32 callers 2.5 edits a sync,
and the system call, the wake-ups and the fight for the interpreter cost more than the calls
themselves. Where one caller waits for each answer before it asks again, nothing gathers, and
there is nothing to do meanwhile: the loop has the edit made durable itself, without a hop.

An answer of a connection that has an *outlet* is left with the log, whose thread sends it when it
may (`send_when_durable`). All others wait here.

**Self-fencing.** An active that was stopped, or is cut off, may be replaced without a word. So
an answer of a namenode that shares its log leaves only when it is certain that no other writer
served anything before the answer was computed. That is so while its lease on the log holds, and
when a majority has answered requests that were sent after the answer was computed. The second
matters where the log is slow: a request that takes longer than the lease renews nothing, and
proves what was before it nevertheless. A log that is lost ends the process, and answers that
wait then never leave.

An answer that has waited for long, and still may not leave, is **given up**: its caller does
better to ask another namenode, which knows by the retry cache what this one did for it.

An **early** answer waits for the lease, and not for the log: who asked wants a change to be seen
by others, and can bear that a crash undoes it. The change is in the log like any other, and
everybody who sees it waits until it is durable: so nobody but its author ever knew of it where a
crash undoes it. An early answer that may not leave at once waits as all do. Where nobody waits,
such changes are handed over a few milliseconds later, many of them to one sync; and at once when
an answer waits, or the log is rolled or closed. A log that is shared gets them at the turn's end:
others read it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from howdah.namenode.service.namesystem import Namesystem
from howdah.runtime import unexpected_errors

if TYPE_CHECKING:
    from howdah.native._kernel import Outlet


class WrittenLog(Protocol):
    """The edit log that is being written."""

    last_txid: int
    durable_txid: int

    def append(self, records: list[bytes], *, now: bool) -> bool:
        """`now` is true when nothing else is to be done; true if the records are durable."""
        ...

    @property
    def sends(self) -> bool: ...

    def poll_durable(self) -> int: ...

    def want(self, txid: int) -> bool: ...

    def answer(
        self, outlet: Outlet, data: bytes, txid: int, back: Callable[[bytes], object]
    ) -> int: ...

    def returned(self, txid: int) -> Sequence[tuple[Callable[[bytes], object], bytes]]: ...


class Lease(Protocol):
    """The promise that nobody else writes the log: `journal.shared_log.SharedJournal`."""

    @property
    def lost(self) -> str | None: ...

    def lease_until_ms(self) -> int | None: ...

    def proved_at_ms(self) -> int: ...


LOOK_AGAIN_S: Final = 0.02
"""So often a lease is looked at that has run out."""

MOST_AHEAD: Final = 1000
"""So many transactions may wait for the log when an early answer leaves. A log that falls
further behind slows down those who fill it, or they would fill the memory."""

MOST_DELAY_S: Final = 0.1
"""No early change is kept from the log for longer, whatever is wanted."""

LONE: Final = 8
"""After so many hand-overs for one answer each there is one caller, and it waits."""


class _Waiting:
    """An answer, the last transaction that it may have seen, and when it was computed at the
    latest (by the clock of leases). No dataclass, for the reason that `rpc.call.Call` gives."""

    __slots__ = ("computed_ms", "give_up", "send", "txid")

    def __init__(
        self,
        txid: int,
        computed_ms: int,
        send: Callable[[], None],
        give_up: Callable[[], None] | None,
    ) -> None:
        self.txid = txid
        self.computed_ms = computed_ms
        self.send = send
        self.give_up = give_up


class DurableBarrier:
    """Takes what the namesystem commits to the log, and holds answers back until the log has
    caught up with the namesystem and the lease holds. Without a log, as in a standby, nothing is
    committed and nothing waits."""

    def __init__(
        self,
        namesystem: Namesystem,
        soon: Callable[[Callable[[], None]], object],
        *,
        later: Callable[[float, Callable[[], None]], object] = lambda s, act: None,
        boottime_ms: Callable[[], int] = lambda: 0,
        patience_ms: int = 10_000,
        early_delay_s: float = 0.0,
    ) -> None:
        """Its journal is the `namesystem`'s from now on.

        `soon` calls back when the loop has served all that it found ready, `later` after so
        many seconds; `boottime_ms` is the clock of leases. For `patience_ms` an answer waits
        for it to be certain that nobody else is active. Early changes are handed over after
        `early_delay_s`, of at most `MOST_DELAY_S`, where nobody waits for them."""
        self._namesystem = namesystem
        namesystem.journal = self
        self._soon = soon
        self._later = later
        self._boottime_ms = boottime_ms
        self._patience_ms = patience_ms
        self._will_look = False
        self.lease: Lease | None = None
        """None while the log is nobody else's."""
        self._batch: list[bytes] = []
        """Records that the log does not have yet."""
        self._will_end_turn = False
        self._is_wanted = False
        """Whether somebody waits for what is in the batch."""
        self._early_txid = -1
        """The last transaction that an early answer showed which did not wait."""
        self._early_delay_s = min(early_delay_s, MOST_DELAY_S)
        self._will_hand_over_later = False
        self._lone = 0
        """So many hand-overs in a row had one answer that waited."""
        self._left = 0
        """Answers that wait in the log, as far as is known."""
        self._waiting: deque[_Waiting] = deque()
        self.log: WrittenLog | None = None

    def append(self, record: bytes, /) -> None:
        """Take the record of an edit to the log at the turn's end."""
        self._batch.append(record)
        self._end_turn_soon()

    def must_wait(self, *, early: bool = False) -> bool:
        """Whether an answer that is ready may not leave yet."""
        if self._namesystem.broken is not None:
            return True  # The process ends; `when_clear` keeps nothing.
        written = self.log
        if written is None:
            assert not self._batch, "nothing is committed without a log"
            return False
        most = MOST_AHEAD if early else 0
        is_ahead = self._namesystem.last_txid - written.durable_txid > most
        # What was committed in this turn cannot be durable.
        if is_ahead and (early or not self._batch):
            is_ahead = self._namesystem.last_txid - written.poll_durable() > most
        return is_ahead or not self._is_alone()

    def left_early(self) -> None:
        """An early answer has left: nobody waits for what it shows."""
        self._early_txid = self._namesystem.last_txid

    def _end_turn_soon(self) -> None:
        if self._batch and not self._will_end_turn:
            self._will_end_turn = True
            self._soon(self._end_turn)

    def _end_turn(self) -> None:
        self._will_end_turn = False
        if not self._batch:
            return
        nobody_waits = not self._is_wanted and self._early_txid == self._namesystem.last_txid
        if nobody_waits and self._early_delay_s and self.lease is None:
            if not self._will_hand_over_later:
                self._will_hand_over_later = True
                self._later(self._early_delay_s, self._hand_over_early)
        else:
            self.hand_over()

    def _hand_over_early(self) -> None:
        """What nobody has waited for until now."""
        self._will_hand_over_later = False
        if self._batch and not self._will_end_turn:
            self._append(now=False)

    @property
    def sends(self) -> bool:
        written = self.log
        return written is not None and written.sends and self.lease is None

    def send_when_durable(
        self, outlet: Outlet, data: bytes, back: Callable[[bytes], object]
    ) -> bool:
        written = self.log
        if written is None or self.lease is not None or self._namesystem.broken is not None:
            return False
        self._left = written.answer(outlet, data, self._namesystem.last_txid, back)
        if self._left > 0:
            self._is_wanted = True
            self._end_turn_soon()
        return self._left > 0

    def _is_alone(self) -> bool:
        """Whether nobody else can have served anything by now."""
        lease = self.lease
        if lease is None:
            return True
        if lease.lost is not None:
            return False
        until_ms = lease.lease_until_ms()
        return until_ms is None or self._boottime_ms() < until_ms

    def _may_leave(self, waiting: _Waiting, txid: int, *, is_alone: bool) -> bool:
        """Whether the log has, up to `txid`, all that an answer has seen, and nobody else had
        served when it was computed. A request that was sent in the same millisecond counts: a
        successor waits for a whole lease after it."""
        if waiting.txid > txid:
            return False
        lease = self.lease
        if is_alone or lease is None:
            return True
        return lease.lost is None and waiting.computed_ms <= lease.proved_at_ms()

    def hand_over(self) -> None:
        """Give the log what was committed since the last time."""
        if self._batch:
            self._lone = self._lone + 1 if len(self._waiting) + self._left == 1 else 0
            self._left = 0
            self._append(now=self._lone > LONE and self.lease is None)

    def _append(self, *, now: bool) -> None:
        assert self.log is not None, "nothing is committed without a log"
        is_durable = self.log.append(self._batch, now=now)
        # Not before: what the log did not take comes again, or there would be a gap behind it.
        self._batch = []
        self._is_wanted = False
        assert self.log.last_txid == self._namesystem.last_txid, "every edit is in the log"
        if is_durable:
            self.durable(self.log.last_txid)

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        """Call `send` when the answer may leave, or `give_up` when that takes too long."""
        if self._namesystem.broken is not None:
            return  # What was computed since is never sent.
        # Only leases ask when an answer was computed.
        now_ms = 0 if self.lease is None else self._boottime_ms()
        txid = self._namesystem.last_txid
        self._is_wanted = True
        self._end_turn_soon()
        self._waiting.append(_Waiting(txid, now_ms, send, give_up))
        self._want(txid)
        if not self._is_alone():
            self._look_later()

    def when_durable(self, act: Callable[[], None]) -> None:
        """When all that was committed so far is durable; at once if it is."""
        if self.must_wait():
            self.when_clear(act)
        else:
            act()

    def durable(self, txid: int, *, is_alone: bool = False) -> None:
        """The log has everything up to `txid`. With `is_alone` the caller knows that the lease
        held until now, as the log has ended in order."""
        assert self.log is not None, "only the log says so"
        # The log's own end may have overtaken what its thread had to say.
        self.log.durable_txid = max(txid, self.log.durable_txid)
        is_alone = is_alone or self._is_alone()
        waiting = self._waiting
        while waiting and self._may_leave(waiting[0], txid, is_alone=is_alone):
            try:
                waiting.popleft().send()
            except Exception as error:  # noqa: BLE001 - others get theirs
                unexpected_errors.note("an answer that waited for the log", error, "it is lost")
        for back, data in self.log.returned(txid):
            try:
                back(data)
            except Exception as error:  # noqa: BLE001 - others get theirs
                unexpected_errors.note("an answer that came back from the log", error, "it is lost")
        if waiting:
            self._want(waiting[0].txid)
            if not is_alone:
                self._look_later()

    def _want(self, txid: int) -> None:
        """Come back when the log has this transaction, or in the loop's next turn if it does."""
        if self.log is not None and self.log.want(txid):
            self._soon(self._go_on)

    def _go_on(self) -> None:
        if self.log is not None:
            self.durable(self.log.poll_durable())

    def _look_later(self) -> None:
        if not self._will_look:
            self._will_look = True
            self._later(LOOK_AGAIN_S, self._release_durable)

    def _release_durable(self) -> None:
        self._will_look = False
        if self.log is not None and self._waiting:
            self.durable(self.log.durable_txid)
            if not self._is_alone():
                self._give_up()

    def _give_up(self) -> None:
        """What has waited for too long is never sent."""
        since_ms = self._boottime_ms() - self._patience_ms
        if not self._waiting or self._waiting[0].computed_ms > since_ms:
            return
        kept: deque[_Waiting] = deque()
        given_up: list[Callable[[], None]] = []
        for waiting in self._waiting:
            if waiting.give_up is None or waiting.computed_ms > since_ms:
                kept.append(waiting)
            else:
                given_up.append(waiting.give_up)
        self._waiting = kept
        for give_up in given_up:
            give_up()
