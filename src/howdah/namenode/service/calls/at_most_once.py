"""Calls that may not run twice (pure): Hadoop's annotation AtMostOnce and its RetryCache.

A client that lost an answer repeats the call with the same identity, and gets the first
answer again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from google.protobuf.message import Message

from howdah.namenode.service.calls.retry_cache import REBUILT, RetryCache
from howdah.namenode.service.namesystem import Namesystem
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Encoded

M = TypeVar("M", bound=Message | Encoded)


class AtMostOnce:
    """Runs a call, or repeats its answer."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def is_repeated(self, caller: Caller) -> bool:
        """Whether the call was done before, and `__call__` would repeat its answer."""
        return RetryCache.applies(caller) and self._namesystem.retry_cache.knows(caller)

    def __call__(
        self,
        caller: Caller,
        run: Callable[[], M],
        rebuild: Callable[[], M],
        *,
        is_long: bool = False,
    ) -> M:
        """What `run` answers; for a repeated call, the first answer. `rebuild` makes the
        answer anew where it was not kept, as of answers that are long (to ask one for its length
        is to encode it once more), and of those that `run` gives as bytes."""
        if not RetryCache.applies(caller):
            return run()
        cache = self._namesystem.retry_cache
        known = cache.find(caller)
        if known is REBUILT:
            return rebuild()
        if known is not None:
            return cast(M, known)
        answer = run()
        # What `rebuild` can make is kept by the call alone, which its edit may have brought.
        is_rebuilt = is_long or isinstance(answer, Encoded)
        if not is_rebuilt or not cache.knows(caller):
            kept = None if is_rebuilt else cast(Message, answer)
            cache.remember(
                caller.client_id, caller.call_id, kept, self._namesystem.clock.monotonic_ms()
            )
        return answer
