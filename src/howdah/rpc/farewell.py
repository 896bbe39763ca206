"""How a server ends a connection of which it has said all (shell).

    OPEN --begin--> ENDS --every answer has left--> PARTED --the client goes, or LINGER_S--> closed

The server's direction is closed when every answer has left, those that a log sends included. What
the client still sends is dropped until it goes: `LINGER_S` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from howdah.protocol.rpc.server_hooks import ServerHooks
from howdah.protocol.rpc.session import LINGER_S
from howdah.rpc.answer_queue import AnswerQueue


class Farewell:
    """Of one connection, on the loop."""

    __slots__ = (
        "_answers",
        "_hooks",
        "_is_asked",
        "_loop",
        "_parting",
        "_timer",
        "_transport",
        "has_parted",
        "is_begun",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        answers: AnswerQueue,
        hooks: ServerHooks,
        parting: Callable[[], None],
    ) -> None:
        """`parting` is called when the server's direction is closed."""
        self.is_begun = False
        self.has_parted = False
        """What still comes is dropped."""
        self._transport: Final = transport
        self._answers: Final = answers
        self._hooks: Final = hooks
        self._parting = parting
        self._loop = asyncio.get_running_loop()
        self._is_asked = False
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The last answer is there."""
        self.is_begun = True

    def part_if_all_is_sent(self) -> None:
        """Answers have left."""
        answers = self._answers
        if not self.is_begun or answers.unsent_bytes:
            return
        if not answers.lent_bytes:
            self._part()
        elif not self._is_asked:
            self._is_asked = True
            self._hooks.barrier.when_clear(self._look_again_soon)

    def cancel(self) -> None:
        """The connection is lost."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_again_soon(self) -> None:
        """In a turn of its own: until then the barrier gives back what could not be sent."""
        self._loop.call_soon(self._look_again)

    def _look_again(self) -> None:
        self._is_asked = False
        self._answers.flush()
        self.part_if_all_is_sent()

    def _part(self) -> None:
        if self._transport.is_closing() or self.has_parted:
            return
        self.has_parted = True
        self._answers.close()
        self._timer = self._loop.call_later(LINGER_S, self._transport.abort)
        self._transport.write_eof()
        self._parting()
