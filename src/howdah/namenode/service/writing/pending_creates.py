"""Calls of `create` in encryption zones that wait for a key (pure).

The key server is asked by `zone_keys`. What it says is heard on the loop, and the call is made then
as if it had just come: nothing was decided before. A caller who is gone by then opens nothing. Nor
does anybody wait for ever: a key server that hangs is an error for those who waited `WAIT_MS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.service.calls.zone_keys import KeyAwaited
from howdah.namenode.service.namesystem import Namesystem
from howdah.protocol.rpc.service import Deferred, attempt

WAIT_MS: Final = 20_000
_MOST_ROUNDS: Final = 3
"""Others may take the keys that came."""

Create = Callable[[], Message]


@dataclass(slots=True, eq=False)
class _Held:
    key_name: str
    create: Create
    deadline_ms: int
    rounds: int = 0
    answer: Deferred = field(default_factory=Deferred)


class PendingCreates:
    """Of one namenode."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._held: dict[_Held, None] = {}

    def hold(self, key_name: str, create: Create) -> Deferred:
        """The answer, when there is a key."""
        held = _Held(key_name, create, self._namesystem.clock.monotonic_ms() + WAIT_MS)
        self._held[held] = None
        self._await(held)
        return held.answer

    def _await(self, held: _Held) -> None:
        keys = self._namesystem.zone_keys
        assert keys is not None, "it was asked for a key"
        keys.when_there(held.key_name, lambda error: self._came(held, error))

    def _came(self, held: _Held, error: errors.HowdahError | None) -> None:
        if held not in self._held:
            return
        if held.answer.withdrawn or error is not None:
            self._end(held, error)
            return
        held.rounds += 1
        outcome = attempt("create", lambda: _created(held))
        if outcome is None and held.rounds < _MOST_ROUNDS:
            self._await(held)
            return
        self._end(
            held,
            outcome or errors.RetriableError(f"others took the keys that came by {held.key_name}"),
        )

    def _end(self, held: _Held, outcome: Message | errors.HowdahError | None) -> None:
        del self._held[held]
        if outcome is not None and not held.answer.withdrawn:
            held.answer.settle(outcome)

    def recheck(self) -> None:
        """Time passed."""
        if not self._held:
            return
        now_ms = self._namesystem.clock.monotonic_ms()
        for held in [each for each in self._held if now_ms >= each.deadline_ms]:
            self._end(
                held,
                errors.RemoteError(
                    f"the key server has made no key by {held.key_name} within "
                    f"{WAIT_MS // 1000} s: nothing is created in its encryption zones"
                ),
            )

    def refuse_all(self, error: errors.HowdahError) -> None:
        """Nothing is created here any more."""
        for held in list(self._held):
            self._end(held, error)


def _created(held: _Held) -> Message | None:
    """The answer; None where there is no key again."""
    try:
        return held.create()
    except KeyAwaited:
        return None
