"""A call's frame out, the frame that answers it in: one step for whoever waits.

`exchange` is the kernel's where that is there: the interpreter's lock is given away once for a
call, and taken back once. `exchange_here` is its twin. What is not ordinary (a frame that is
long, or comes with another one, a far end that says nothing, or ends the connection) is for
`howdah.rpc.connection` to judge.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

from howdah.native.loader import kernel
from howdah.native.socket_io import Ended, Outcome, deadline_ns, receive_some, send_whole

FRAME_LENGTH: Final = 4
MOST_FRAME: Final = 1 << 20
"""One that says that it is longer, with its length, is gathered as it comes."""
_FIRST_ROOM: Final = 4096

Exchanged = bytes | tuple[int, int, bytes]
"""The answer's payload; or an `Outcome`, the number of the system's error, what has come."""


def exchange_here(sock: socket.socket, request: bytes, wait_ns: int, limit: int) -> Exchanged:
    """Send `request` and receive a frame, whose length with its prefix is at most `limit`; in
    all that takes at most `wait_ns`."""
    came = bytearray()
    try:
        end_ns = deadline_ns(wait_ns)
        send_whole(sock, request, end_ns)
        room = memoryview(bytearray(_FIRST_ROOM))
        came += room[: receive_some(sock, room, end_ns)]
        if len(came) < FRAME_LENGTH:
            return Outcome.ODD, 0, bytes(came)
        total = FRAME_LENGTH + int.from_bytes(came[:FRAME_LENGTH], "big")
        if total > limit or total > MOST_FRAME or len(came) > total:
            return Outcome.ODD, 0, bytes(came)
        while len(came) < total:
            came += room[: receive_some(sock, room[: total - len(came)], end_ns)]
    except Ended as ended:
        return ended.outcome, ended.code, bytes(came)
    return bytes(came[FRAME_LENGTH:])


exchange: Final[Callable[[socket.socket, bytes, int, int], Exchanged]] = getattr(
    kernel(), "exchange", exchange_here
)
