"""Work that waits for others does not hold up the end of a process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from howdah.runtime import background_threads


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
        waiting = background_threads.beside(wait, "waiting")
        await asyncio.to_thread(begun.wait)
        return waiting

    assert not asyncio.run(scenario()).done()
    assert not gate.is_set()


def test_the_loop_hears_what_came_of_it() -> None:
    def fail() -> None:
        raise OSError("it is gone")

    async def scenario() -> None:
        assert await background_threads.beside(lambda: 7, "seven") == 7
        with pytest.raises(OSError, match="it is gone"):
            await background_threads.beside(fail, "failing")

    asyncio.run(scenario())


def test_whoever_gives_up_hears_nothing(gate: threading.Event) -> None:
    async def scenario() -> None:
        waiting = background_threads.beside(gate.wait, "waiting")
        waiting.cancel()
        gate.set()
        assert await background_threads.beside(lambda: 1, "another") == 1
        assert waiting.cancelled()

    asyncio.run(scenario())


def test_a_thread_that_cannot_be_had_is_an_error_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        future = background_threads.begin(lambda: 1, "work")
    with pytest.raises(OSError, match="no thread for work"):
        future.result()


def no_start(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_an_executor_without_a_thread_is_an_error_that_whoever_waits_hears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    async def scenario() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_start)
            with pytest.raises(background_threads.NoThread, match="no thread for work"):
                await background_threads.pooled(lambda: done.append("refused"), "work")
            await background_threads.surely(lambda: done.append("by the loop"), "work")
        await background_threads.pooled(lambda: done.append("later"), "work")

    asyncio.run(scenario())
    assert done == ["by the loop", "later"], "what was refused is not done behind one's back"


def test_work_that_another_thread_of_the_executor_has_begun_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The executor queues work before it looks for a thread."""
    begun, gate = threading.Event(), threading.Event()

    def wait() -> int:
        begun.set()
        gate.wait(30)
        return 7

    async def scenario() -> None:
        loop = asyncio.get_running_loop()

        def run_in_executor(executor: None, run: Callable[[], None]) -> None:
            threading.Thread(target=run, daemon=True).start()
            assert begun.wait(30)
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(loop, "run_in_executor", run_in_executor)
        waiting = background_threads.pooled(wait, "work")
        gate.set()
        assert await waiting == 7
        # The loop ends its executor when it ends.
        monkeypatch.undo()

    asyncio.run(scenario())
