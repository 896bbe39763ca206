"""Blocking calls that are made on a few threads, and awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from howdah.client.thread_pool import Workers

T = TypeVar("T")
S = TypeVar("S")


class Threads:
    """At most `limit` threads. May be awaited from any loop."""

    def __init__(self, limit: int, name: str) -> None:
        self._workers = Workers(limit, name)

    def start(self, task: Callable[[], T]) -> Future[T]:
        """Make a call whose end nobody has to await."""
        context = copy_context()
        return self._workers.submit(lambda: context.run(task))

    async def run(
        self,
        task: Callable[[], T],
        *,
        abandoned: Callable[[Future[T]], None] | None = None,
    ) -> T:
        """Make a call and return what it returns.

        If this is cancelled, a call that has not begun never does. One that has begun goes on, and
        `abandoned` is told of it at once.
        """
        future = self.start(task)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not future.cancel() and abandoned is not None:
                abandoned(future)
            raise

    async def run_to_its_end(self, started: Future[T]) -> T:
        """Return what a call returns that was started. If this is cancelled, it is made all the
        same, even if it stands in line for a thread."""
        return await asyncio.shield(asyncio.wrap_future(started))


class Opening(Generic[S]):
    """A stream that will be open: `async with` opens and closes it, `await` opens it."""

    def __init__(self, open_stream: Callable[[], Any], close: Callable[[S], Any]) -> None:
        self._open_stream = open_stream
        self._close = close
        self._stream: S | None = None

    def __await__(self) -> Generator[Any, None, S]:
        stream: S = yield from self._open_stream().__await__()
        return stream

    async def __aenter__(self) -> S:
        self._stream = await self
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        assert self._stream is not None, "it was entered"
        await self._close(self._stream)
