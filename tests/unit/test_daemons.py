"""Work that waits for others does not hold up the end of a process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from howdah import daemons


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


def test_a_loop_ends_while_such_work_waits(gate: threading.Event) -> None:
    begun = threading.Event()

    def wait() -> bool:
        assert threading.current_thread().daemon
        begun.set()
        return gate.wait(30)

    async def scenario() -> asyncio.Future[bool]:
        waiting = daemons.beside(wait, "waiting")
        await asyncio.to_thread(begun.wait)
        return waiting

    assert not asyncio.run(scenario()).done()
    assert not gate.is_set()


def test_the_loop_hears_what_came_of_it() -> None:
    def fail() -> None:
        raise OSError("it is gone")

    async def scenario() -> None:
        assert await daemons.beside(lambda: 7, "seven") == 7
        with pytest.raises(OSError, match="it is gone"):
            await daemons.beside(fail, "failing")

    asyncio.run(scenario())


def test_whoever_gives_up_hears_nothing(gate: threading.Event) -> None:
    async def scenario() -> None:
        waiting = daemons.beside(gate.wait, "waiting")
        waiting.cancel()
        gate.set()
        assert await daemons.beside(lambda: 1, "another") == 1
        assert waiting.cancelled()

    asyncio.run(scenario())


def test_a_thread_that_cannot_be_had_is_an_error_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        future = daemons.begin(lambda: 1, "work")
    with pytest.raises(OSError, match="no thread for work"):
        future.result()
