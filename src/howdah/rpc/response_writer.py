"""How the answers of a connection leave (shell).

A connection writes through its transport, until an answer of it waits for a log that sends by
itself. From then on it has an *outlet* as well (`kernel/response_writer.c`), by which the log's
thread and the loop send in turn, each an answer as a whole. What an outlet cannot send at once,
because the client reads slowly or not at all, is the transport's: it waits for room and for the
connection's end. Meanwhile the outlet is closed, and opened again when the transport has sent
everything.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from howdah.native.loader import kernel
from howdah.protocol.rpc.server_hooks import SendingBarrier
from howdah.protocol.rpc.wrapped_stream import Wrapping

if TYPE_CHECKING:
    from howdah.native._kernel import Outlet

log = logging.getLogger(__name__)

MOST_WAITING_BYTES: Final = 256 * 1024
"""Of one connection, left with the log. What comes above waits where it holds the client up."""


class ResponseWriter:
    """Of one connection, on the loop."""

    __slots__ = ("_behind", "_cannot", "_outlet", "_transport", "_wrapping")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._outlet: Outlet | None = None
        self._cannot = False
        self._behind: list[bytes] = []
        self._wrapping: Wrapping | None = None

    def protect(self, wrapping: Wrapping) -> None:
        """Wrap all that is written from now on. Messages of a layer leave in the order in which
        they were wrapped: the loop alone sends them."""
        assert self._outlet is None, "no answer waits before the client is known"
        self._wrapping = wrapping
        self._cannot = True

    @property
    def waiting_bytes(self) -> int:
        """Of answers that a log is to send, or has begun and not given back, or that wait for
        those."""
        if self._outlet is None:
            return 0
        return self._outlet.waiting_bytes + sum(map(len, self._behind))

    def write(self, data: bytes) -> None:
        """Send whole answers, now or when there is room."""
        outlet = self._outlet
        if outlet is None:
            wrapping = self._wrapping
            self._transport.write(data if wrapping is None else wrapping.wrap(data))
            return
        sent = outlet.send(data)
        if sent < 0:
            self._behind.append(data)
        elif sent < len(data):
            self._transport.write(data[sent:] if sent else data)

    def hand_over(self, data: bytes, sender: SendingBarrier) -> bool:
        """Leave a whole answer to the sender; False if it does not take it."""
        outlet = self._outlet
        if outlet is None:
            outlet = self._open(sender)
            if outlet is None:
                return False
        elif not outlet.is_open and not self._reopen(outlet):
            return False
        if outlet.waiting_bytes > MOST_WAITING_BYTES:
            return False
        return sender.send_when_durable(outlet, data, self._back)

    def close(self) -> None:
        """The connection is lost."""
        if self._outlet is not None:
            self._outlet.close()
        self._cannot = True
        self._behind.clear()

    def _open(self, sender: SendingBarrier) -> Outlet | None:
        if self._cannot or not sender.sends or self._transport.get_write_buffer_size():
            return None
        native, socket = kernel(), self._transport.get_extra_info("socket")
        if native is None or socket is None:
            self._cannot = True
            return None
        try:
            self._outlet = native.Outlet(socket.fileno())
        except OSError as error:
            log.warning(
                "a connection's answers are sent by the loop alone, which takes longer: %s", error
            )
            self._cannot = True
        return self._outlet

    def _reopen(self, outlet: Outlet) -> bool:
        return not self._transport.get_write_buffer_size() and outlet.reopen()

    def _back(self, data: bytes) -> None:
        """Could not be sent: the transport does it, before all that came since."""
        if self._cannot:
            return
        self._transport.write(data)
        behind, self._behind = self._behind, []
        for piece in behind:
            self.write(piece)
