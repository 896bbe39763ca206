"""Where there is room for the edit log."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from howdah.namenode.server.process.resources import HANGS_MS, Resources, free_bytes

A, B, C = Path("/a"), Path("/b"), Path("/c")


def resources(free: dict[Path, int | None], *required: Path, minimum: int = 1) -> Resources:
    return Resources(
        [A, B],
        required,
        reserved_bytes=100,
        minimum=minimum,
        interval_ms=0,
        now_ms=lambda: 0,
        free=free.__getitem__,
    )


@pytest.mark.parametrize(
    ("free", "required", "minimum", "has_room"),
    [
        ({A: 101, B: 101}, [], 1, True),
        ({A: 101, B: 100}, [], 1, True),
        ({A: 100, B: 100}, [], 1, False),
        ({A: None, B: 101}, [], 1, True),
        ({A: None, B: None}, [], 1, False),
        ({A: 101, B: 100}, [], 2, False),
        ({A: 101, B: 101}, [], 3, True),  # there are no more than two
        ({A: 100, B: 101}, [A], 1, False),
        ({A: 101, B: 100}, [A], 1, False),
        ({A: 101, B: 101, C: 0}, [C], 1, False),
    ],
)
def test_room_is_where_the_policy_wants_it(
    free: dict[Path, int | None], required: list[Path], minimum: int, has_room: bool
) -> None:
    assert (resources(free, *required, minimum=minimum).check() == "") is has_room


def test_trouble_is_said_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    free: dict[Path, int | None] = {A: 0, B: 0}
    found = resources(free)

    async def check() -> None:
        found.tick()
        while found._is_checking:
            await asyncio.sleep(0)

    caplog.set_level("INFO")
    asyncio.run(check())
    asyncio.run(check())
    assert found.trouble == "less than 100 bytes are free at /a, /b"
    free[A] = 1000
    asyncio.run(check())
    assert not found.trouble
    assert [record.levelname for record in caplog.records if "room" in record.message] == ["INFO"]
    assert caplog.text.count("no resources available") == 1


def test_a_directory_that_is_gone_has_no_room(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "gone") is None
    assert (free_bytes(tmp_path) or 0) > 0


def test_a_look_that_no_thread_could_take_is_taken_at_the_next_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = resources({A: 0, B: 0})

    async def check() -> None:
        loop = asyncio.get_running_loop()
        with monkeypatch.context() as without:
            without.setattr(type(loop), "run_in_executor", no_thread)
            found.tick()
            while found._is_checking:
                await asyncio.sleep(0)
        assert not found.trouble
        found.tick()
        while found._is_checking:
            await asyncio.sleep(0)

    asyncio.run(check())
    assert found.trouble


def no_thread(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_a_mount_that_hangs_is_trouble_and_one_that_is_back_is_none() -> None:
    """An edit would hang there, too, and nobody has written one yet."""
    now_ms, begun, hangs = [0], threading.Event(), threading.Event()

    def free(path: Path) -> int:
        begun.set()
        hangs.wait()
        return 1000

    found = Resources(
        [A],
        [],
        reserved_bytes=100,
        minimum=1,
        interval_ms=5000,
        now_ms=lambda: now_ms[0],
        free=free,
    )

    async def scenario() -> None:
        found.tick()
        assert begun.wait(60)
        for now_ms[0] in range(0, HANGS_MS, 250):
            found.tick()
            assert found.trouble == ""
        now_ms[0] = HANGS_MS
        found.tick()
        assert "one of /a hangs" in found.trouble
        hangs.set()
        while found._is_checking:
            await asyncio.sleep(0)
        assert found.trouble == ""

    asyncio.run(scenario())


def test_a_look_that_waits_for_a_thread_is_no_mount_that_hangs() -> None:
    """Else work on all threads would switch the safe mode on."""
    now_ms = [0]
    found = Resources(
        [A],
        [],
        reserved_bytes=100,
        minimum=1,
        interval_ms=5000,
        now_ms=lambda: now_ms[0],
        free=lambda path: 1000,
    )

    async def scenario() -> None:
        is_over = threading.Event()
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        other = loop.run_in_executor(None, is_over.wait)
        try:
            for now_ms[0] in range(0, 2 * HANGS_MS, 250):
                found.tick()
                assert found.trouble == ""
        finally:
            is_over.set()
        await other

    asyncio.run(scenario())


def test_a_process_that_was_stopped_takes_no_mount_for_one_that_hangs() -> None:
    now_ms, begun, goes_on = [0], threading.Event(), threading.Event()

    def free(path: Path) -> int:
        begun.set()
        goes_on.wait()
        return 1000

    found = Resources(
        [A],
        [],
        reserved_bytes=100,
        minimum=1,
        interval_ms=5000,
        now_ms=lambda: now_ms[0],
        free=free,
    )

    async def scenario() -> None:
        try:
            found.tick()
            assert begun.wait(60)
            found.tick()
            now_ms[0] = 100 * HANGS_MS
            found.tick()
            assert found.trouble == ""
        finally:
            goes_on.set()

    asyncio.run(scenario())
