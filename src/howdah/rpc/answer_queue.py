"""The answers of one connection that have not left (shell).

An answer is ready, or `Held` until what it tells is durable. Those that are ready leave together
with the next `flush`, by which all bytes of a connection pass that the loop sends; a log that
sends by itself may take a held one (`ResponseWriter`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from howdah.protocol.rpc.answering import GAVE_UP, Held
from howdah.protocol.rpc.server_hooks import ServerHooks
from howdah.protocol.rpc.wrapped_stream import Wrapping
from howdah.rpc.response_writer import ResponseWriter
from howdah.runtime.metrics.rpc import RpcMetrics


class AnswerQueue:
    """Of one connection, on the loop."""

    __slots__ = (
        "_figures",
        "_gave_up",
        "_hooks",
        "_is_closed",
        "_ready",
        "_released",
        "_writer",
        "unsent_bytes",
    )

    def __init__(
        self,
        writer: ResponseWriter,
        hooks: ServerHooks,
        figures: RpcMetrics,
        released: Callable[[], None],
        gave_up: Callable[[], None],
    ) -> None:
        """`released` is called when a held answer may leave with the next `flush`, and `gave_up`
        when one is never to leave."""
        self.unsent_bytes = 0
        """Of answers that are ready or held, but for those that a log is to send."""
        self._ready: list[bytes] = []
        self._writer: Final = writer
        self._hooks: Final = hooks
        self._figures: Final = figures
        self._released = released
        self._gave_up = gave_up
        self._is_closed = False

    @property
    def lent_bytes(self) -> int:
        """Of answers that a log is to send."""
        return self._writer.waiting_bytes

    def protect(self, wrapping: Wrapping) -> None:
        """All answers from now on are wrapped."""
        self.flush()
        self._writer.protect(wrapping)

    def add(self, data: bytes) -> None:
        """An answer is ready."""
        self.unsent_bytes += len(data)
        self._ready.append(data)

    def send(self, data: bytes) -> None:
        """An answer leaves now, with those that are ready."""
        if self._ready or self._is_closed:
            self.add(data)
            self.flush()
        else:
            self._figures.sent_bytes += len(data)
            self._writer.write(data)

    def hold(self, held: Held) -> None:
        """Keep an answer until the barrier lets it through."""
        # The end of a span is the loop's to note, and behind the end nothing is handed over.
        barrier = self._hooks.barrier
        is_lendable = held.over is None and not self._is_closed
        if is_lendable and self._writer.hand_over(held.data, barrier):
            self._figures.sent_bytes += len(held.data)
            return
        self.unsent_bytes += len(held.data)
        barrier.when_clear(partial(self._release, held), partial(self._give_up, held))

    def flush(self) -> None:
        """What is ready leaves. Behind the end nothing can be written: an answer that comes so
        late has no reader."""
        if self._ready:
            ready, self._ready = self._ready, []
            data = ready[0] if len(ready) == 1 else b"".join(ready)
            self.unsent_bytes -= len(data)
            if not self._is_closed:
                self._figures.sent_bytes += len(data)
                self._writer.write(data)

    def close(self) -> None:
        """Nothing is sent any more but what a log has."""
        self._is_closed = True

    def lose(self) -> None:
        """The connection is lost."""
        self._is_closed = True
        self._writer.close()

    def _release(self, held: Held) -> None:
        if held.over is not None:
            held.over(None)
        self._ready.append(held.data)
        self._released()

    def _give_up(self, held: Held) -> None:
        if held.over is not None:
            held.over(GAVE_UP)
        self._gave_up()
