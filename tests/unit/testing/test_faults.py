"""A network that is cut while it is healed: its control process is stopped and goes on, or never
stops."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from howdah.datanode.state import fault_points
from howdah.datanode.state.fault_points import Point
from howdah.testing import faults
from howdah.testing.faults import Action, Faults


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[signal.Signals]:
    """What the control process, which is made up, gets sent."""
    found: list[signal.Signals] = []
    monkeypatch.setattr(os, "getpgrp", lambda: -1)
    monkeypatch.setattr(os, "kill", lambda pid, number: found.append(number))
    monkeypatch.setattr(faults, "_break_connections_while", lambda marker: None)
    return found


def reach_in(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the faults of a datanode here, as its process does."""
    listeners: list[object] = []
    monkeypatch.setattr(fault_points, "listen", listeners.append)
    faults.install(directory, "datanode0")
    (at,) = listeners
    monkeypatch.setattr(fault_points, "reach", at)


def test_a_cut_is_healed_by_the_signal_that_undoes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: list[signal.Signals]
) -> None:
    mine = Faults(tmp_path, lambda name, number: sent.append(number))
    reach_in(tmp_path, monkeypatch)
    mine.arm(Point.FIRST_PACKET, Action.CUT)
    fault_points.reach(Point.FIRST_PACKET, 1, 0)
    assert mine.heal() == ["datanode0"]
    assert sent == [signal.SIGSTOP, signal.SIGCONT]
    assert mine.heal() == []


def test_healing_waits_for_a_cut_that_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: list[signal.Signals]
) -> None:
    mine = Faults(tmp_path, lambda name, number: sent.append(number))
    reach_in(tmp_path, monkeypatch)
    mine.arm(Point.FIRST_PACKET, Action.CUT)
    is_marked, goes_on = threading.Event(), threading.Event()

    def stop(pid: int, number: signal.Signals) -> None:
        is_marked.set()
        assert goes_on.wait(60)
        sent.append(number)

    monkeypatch.setattr(os, "kill", stop)
    cutting = threading.Thread(
        target=fault_points.reach, args=(Point.FIRST_PACKET, 1, 0), daemon=True
    )
    cutting.start()
    assert is_marked.wait(60)
    healing = threading.Thread(target=mine.heal, daemon=True)
    healing.start()
    goes_on.set()
    for thread in (cutting, healing):
        thread.join(60)
        assert not thread.is_alive()
    assert sent == [signal.SIGSTOP, signal.SIGCONT]


def test_what_was_healed_before_it_was_claimed_does_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: list[signal.Signals]
) -> None:
    mine = Faults(tmp_path, lambda name, number: sent.append(number))
    reach_in(tmp_path, monkeypatch)
    mine.arm(Point.FIRST_PACKET, Action.CUT)
    enter = faults._cutting

    def healed_first(directory: Path) -> object:
        monkeypatch.setattr(faults, "_cutting", enter)
        mine.heal()
        return enter(directory)

    monkeypatch.setattr(faults, "_cutting", healed_first)
    fault_points.reach(Point.FIRST_PACKET, 1, 0)
    assert sent == []
    assert not list(tmp_path.glob("cut.*"))
    assert os.listdir(tmp_path) == ["cutting"]
