"""The state store beside the router's loop: one piece of work at a time, none waited for long
(shell).

1. Work is done in the order in which it is asked for. So a table that was read before a change
   never takes the place of one that was read after it.
2. Nobody waits longer than `LIMIT_S`: a directory on a network filesystem may hang for ever, and
   the router is to say so, and to go into safe mode in time.
3. While one piece of work hangs no other one is begun: there is one thread, and not one more
   with each attempt. The process ends without it.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Any, Final, TypeVar

from howdah.router.store.state_store import StateStore, StoreFigures
from howdah.runtime import background_threads

T = TypeVar("T")

LIMIT_S: Final = 30.0


class StoreWorker:
    """One state store, for one loop."""

    def __init__(self, store: StateStore, limit_s: float = LIMIT_S) -> None:
        self._store = store
        self._limit_s = limit_s
        self._turn = asyncio.Lock()
        self._work: asyncio.Future[Any] | None = None

    @property
    def location(self) -> str:
        return self._store.records.location

    @property
    def figures(self) -> StoreFigures:
        return self._store.figures

    async def run(self, work: Callable[[StateStore], T]) -> T:
        """What `work` returns, or raises. Raises OSError, too, where the store does not answer;
        then what was asked for may be done later."""
        try:
            async with asyncio.timeout(self._limit_s), self._turn:
                if self._work is not None:
                    await asyncio.wait({self._work})
                begun = background_threads.beside(lambda: work(self._store), "state-store")
                self._work = begun
                return await asyncio.shield(begun)
        except TimeoutError as error:
            if error.errno is not None:
                raise  # the work's own
            raise OSError(
                errno.ETIMEDOUT, f"no answer within {self._limit_s:g} s", self.location
            ) from error
