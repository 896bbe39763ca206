"""A socket that is waited for, as the kernel's functions that ask and hear have it.

What `howdah.rpc.connection` and `howdah.client.reading.short_read` have in common: the twin of what
kernel/round_trip.c begins with. Every wait has an end. A signal's handlers run meanwhile, and
what they raise ends it.
"""

from __future__ import annotations

import enum
import socket
import time
from typing import Final

from howdah.native.polling import POLLIN, POLLOUT, poll

FOR_EVER = 0
"""A deadline that never comes."""
_AT_ONCE: Final[int] = getattr(socket, "MSG_DONTWAIT", 0)
_PIECE_BYTES: Final = 16 << 10
"""Where no call can be told not to wait, so many bytes are sent at a time: whoever can be written
to takes them."""


class Outcome(enum.IntEnum):
    """Why it is over; kernel/round_trip.c has the same."""

    WHOLE = 0
    ODD = 1
    """What has come is not ordinary: somebody else may understand it."""
    SILENT = 2
    """Nothing came, or nothing more, for as long as is waited."""
    STUCK = 3
    """The far end took no bytes for so long."""
    BROKEN = 4
    """With the number of the system's error, or 0 at the end of the stream."""


class Ended(Exception):
    """The wait is over in another way."""

    def __init__(self, outcome: Outcome, code: int = 0) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.code = code


def deadline_ns(wait_ns: int) -> int:
    return time.monotonic_ns() + wait_ns if wait_ns else FOR_EVER


def send_whole(sock: socket.socket, data: bytes, end_ns: int) -> None:
    """All of it; `Ended` as STUCK or BROKEN."""
    view = memoryview(data)
    while view:
        if not _AT_ONCE:
            _wait(sock, POLLOUT, end_ns, Outcome.STUCK)
        try:
            view = view[sock.send(view if _AT_ONCE else view[:_PIECE_BYTES], _AT_ONCE) :]
        except BlockingIOError:
            _wait(sock, POLLOUT, end_ns, Outcome.STUCK)
        except OSError as error:
            raise _broken(error) from None


def receive_some(sock: socket.socket, room: memoryview, end_ns: int) -> int:
    """At least one byte; `Ended` as SILENT or BROKEN."""
    while True:
        _wait(sock, POLLIN, end_ns, Outcome.SILENT)
        try:
            count = sock.recv_into(room, 0, _AT_ONCE)
        except BlockingIOError:
            continue
        except OSError as error:
            raise _broken(error) from None
        if not count:
            raise Ended(Outcome.BROKEN)
        return count


def _broken(error: OSError) -> Ended:
    if error.errno is None:
        raise error  # a signal's handler has raised it
    return Ended(Outcome.BROKEN, error.errno)


def _wait(sock: socket.socket, events: int, end_ns: int, late: Outcome) -> None:
    arrival = poll()
    arrival.register(sock, events)
    while True:
        left_ms = None
        if end_ns:
            left_ms = -((time.monotonic_ns() - end_ns) // 1_000_000)
            if left_ms <= 0:
                raise Ended(late)
        if arrival.poll(left_ms):
            return
