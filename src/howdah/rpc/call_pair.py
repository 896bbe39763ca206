"""Two calls, of two threads, that reach their server in one piece, one behind the other.

A server that serves what came in one piece in one turn, as ours does, lets nobody see what is
between the two. To any other server they are two calls that come as close as they can.

Each thread makes its call as always, within `CallPair.slot`: that call is held back until the
other one is there. If the other does not come (it fails before it is sent, or goes to another
server), each is sent on its own. So is every repetition: one that has the same call id finds what
became of the first in the server's retry cache.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from howdah import errors
from howdah.protocol.rpc import wire
from howdah.rpc.connection import Connection, Dead, Waits

PATIENCE_S: Final = 1.0
"""How long a call waits for the other one to be made."""

Connect = Callable[[], Connection]


class CallPair:
    """The calls of `methods` that two threads make, the first in place 0, the other in place 1."""

    def __init__(self, *methods: str, patience_s: float = PATIENCE_S) -> None:
        self.methods = frozenset(methods)
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._seats = (PairSlot(self, 0), PairSlot(self, 1))
        self._is_agreed: bool | None = None
        """Whether they go together; None until that is known."""

    @contextmanager
    def slot(self, number: int) -> Iterator[None]:
        """In here the thread's next call of these methods is the first one (0) or the other."""
        mine = self._seats[number]
        token = _seat.set(mine)
        try:
            yield
        finally:
            _seat.reset(token)
            with self._changed:
                mine.is_left = True
                if self._is_agreed is None:
                    self._is_agreed = False
                self._changed.notify_all()

    def meet(self, mine: PairSlot, server: object) -> bool:
        """Wait for the other call; False if this one is to go on its own."""
        with self._changed:
            if mine.server is not None:
                return False  # this call was made before
            mine.server = server
            other = self._seats[1 - mine.number]
            if self._is_agreed is None and other.server is not None:
                self._is_agreed = other.server is server
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_agreed is not None, self._patience_s)
            if self._is_agreed is None:
                self._is_agreed = False
            return self._is_agreed

    def exchange(self, connect: Connect, deadline_s: float, max_bytes: int) -> None:
        """Send both, and give each its answer, or the error that they have in common."""
        first, second = self._seats
        try:
            with self._changed:
                self._changed.wait_for(
                    lambda: second.request or second.is_left, deadline_s - time.monotonic()
                )
            if not second.request:
                raise Dead("the call behind it was not sent")
            connection = connect()
            try:
                requests = first.request + second.request
                answers = connection.exchange_all(requests, 2, deadline_s, max_bytes)
            finally:
                # What else may come on it, nobody waits for.
                connection.close()
            by_call = {wire.decode_answer(answer)[0].callId: answer for answer in answers}
            if by_call.keys() != {first.number_sent, second.number_sent}:
                raise errors.ProtocolViolation(
                    f"{connection.name} answered the calls {sorted(by_call)}, asked were "
                    f"{first.number_sent} and {second.number_sent}"
                )
        except BaseException as error:
            self._give(second, error)
            raise
        first.answer = by_call[first.number_sent]
        self._give(second, by_call[second.number_sent])

    def _give(self, seat: PairSlot, answer: bytes | BaseException) -> None:
        with self._changed:
            seat.answer = answer
            self._changed.notify_all()

    def wait_for_answer(self, deadline_s: float) -> bytes:
        """What the first call's thread found for the second."""
        first, second = self._seats
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: second.answer is not None or first.is_left, deadline_s - time.monotonic()
            )
        answer = second.answer
        if isinstance(answer, bytes):
            return answer
        if isinstance(answer, Exception):
            raise answer
        if answer is None and not first.is_left:
            raise TimeoutError
        raise Dead("the call before it was not sent")


class PairSlot:
    """One of the two, and to its caller the connection that the call is made on."""

    def __init__(self, pair: CallPair, number: int) -> None:
        self._pair = pair
        self.number = number
        self.server: object = None
        self.is_left = False
        self.number_sent = 0
        self.request = b""
        self.answer: bytes | BaseException | None = None
        self.name = ""
        self._connect: Connect | None = None

    def join(self, method: str, server: object, name: str, call_id: int, connect: Connect) -> bool:
        """Whether this call, to `server`, goes with the other one."""
        if method not in self._pair.methods:
            return False
        self.name, self.number_sent, self._connect = name, call_id & 0xFFFFFFFF, connect
        return self._pair.meet(self, server)

    def exchange(
        self, request: bytes, deadline_s: float, max_bytes: int, meanwhile: Waits | None = None
    ) -> bytes:
        """As `Connection.exchange`; nobody looks meanwhile."""
        self.request = request
        if self.number == 1:
            return self._pair.wait_for_answer(deadline_s)
        assert self._connect is not None, "it was taken"
        self._pair.exchange(self._connect, deadline_s, max_bytes)
        assert isinstance(self.answer, bytes), "it was exchanged"
        return self.answer

    def close(self) -> None:
        """The connection is closed as soon as both answers are there."""


_seat: ContextVar[PairSlot | None] = ContextVar("_seat", default=None)


def seat() -> PairSlot | None:
    """Where the thread's next call belongs, if it is one of two."""
    return _seat.get()
