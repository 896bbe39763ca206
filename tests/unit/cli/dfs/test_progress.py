"""The line that shows how far a copy is."""

from __future__ import annotations

import io

import pytest

from howdah.cli.dfs.copying import progress
from howdah.cli.dfs.copying.progress import CLEAR_LINE, Meter, Progress

MIB = 1 << 20


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_the_line_has_amount_share_and_rate(clock: Clock) -> None:
    meter = Meter(Progress(None), "/f", 8 * MIB)
    clock.now_s += 2
    meter.advance(4 * MIB)
    assert meter.text(clock.now_s) == "/f: 4 M of 8 M (50%), 2 M/s"


def test_a_length_that_nobody_knows_has_no_share(clock: Clock) -> None:
    meter = Meter(Progress(None), "-", None)
    clock.now_s += 1
    meter.advance(MIB)
    assert meter.text(clock.now_s) == "-: 1 M, 1 M/s"


def test_a_short_copy_shows_nothing(clock: Clock) -> None:
    terminal = io.StringIO()
    with Progress(terminal).of("/f", MIB) as meter:
        meter.advance(MIB)
    assert terminal.getvalue() == ""


def test_a_long_copy_is_shown_now_and_then_and_cleared(clock: Clock) -> None:
    terminal = io.StringIO()
    with Progress(terminal).of("/f", 100 * MIB) as meter:
        for _ in range(20):
            clock.now_s += 0.1
            meter.advance(MIB)
    shown = terminal.getvalue().split(CLEAR_LINE)
    assert 4 <= len(shown) <= 8
    assert shown[-1] == ""


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert Progress.on_terminal().stream is None
