"""Long work in slices."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest

from howdah.namenode.service.incremental_tasks import IncrementalTasks


class Loop:
    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.rounds = IncrementalTasks(self.soon.append)

    def turn(self) -> None:
        soon, self.soon[:] = list(self.soon), []
        for call in soon:
            call()


def test_a_slice_is_done_in_each_turn(caplog: pytest.LogCaptureFixture) -> None:
    def slices() -> Generator[list[str], None, None]:
        yield ["one"]
        yield []
        yield ["three"]

    loop = Loop()
    loop.rounds.begin("work", slices())
    assert [record.getMessage() for record in caplog.records] == ["one"]
    loop.rounds.begin("work", slices())
    assert loop.rounds.is_running("work")
    for _ in range(3):
        loop.turn()
    assert [record.getMessage() for record in caplog.records] == ["one", "three"]
    assert not loop.rounds.is_running("work")
    assert loop.soon == []


def test_a_round_that_meets_a_defect_ends_and_may_begin_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> Generator[list[str], None, None]:
        yield []
        raise AssertionError("nobody foresaw this")

    loop = Loop()
    loop.rounds.begin("work", broken())
    loop.turn()
    assert "work failed on a defect" in caplog.text
    assert not loop.rounds.is_running("work")
