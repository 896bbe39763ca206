"""What the data process awaits of the control process comes, with its number, whatever goes
wrong."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.control.control_process import ControlProcess
from howdah.datanode.control.reconfiguration import Reconfiguration
from howdah.datanode.process import hot_swap
from howdah.datanode.state.messages import Command, NamenodesRefreshed, Reconfigured, VolumeRemoved


class Defect(Exception):
    """What no code expects."""


def no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def control(refresh: Any, sent: list[Command]) -> Any:
    """As much of one as a refresh needs."""
    made: Any = SimpleNamespace(
        _conf=Configuration({"dfs.namenode.rpc-address": "127.0.0.1:1"}),
        _nameservices=SimpleNamespace(refresh=refresh),
        _command=sent.append,
    )
    made._refresh = lambda number: ControlProcess._refresh(made, number)
    return made


@pytest.mark.parametrize(
    ("raised", "problem"),
    [
        (None, ""),
        (errors.InvalidConfiguration("two of one name"), "two of one name"),
        (Defect("a defect of this test"), "Defect('a defect of this test')"),
    ],
)
def test_each_refresh_is_answered_by_its_number(raised: Exception | None, problem: str) -> None:
    def refresh(*_: object) -> None:
        if raised is not None:
            raised.__traceback__ = None
            raise raised

    sent: list[Command] = []
    ControlProcess._refresh(control(refresh, sent), 7)
    assert sent == [NamenodesRefreshed(problem, 7)]


def test_a_refresh_for_which_there_is_no_thread_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Command] = []
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    ControlProcess._begin_refresh(control(pytest.fail, sent), 7)
    assert sent == [NamenodesRefreshed("can't start new thread", 7)]


def test_a_look_at_the_configuration_for_which_there_is_no_thread_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Command] = []
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    look: Any = SimpleNamespace(_run=pytest.fail, _command=sent.append)
    Reconfiguration.start(look)
    (answer,) = sent
    assert isinstance(answer, Reconfigured)
    assert [change.error for change in answer.changes] == ["can't start new thread"]


def test_a_look_at_the_configuration_that_meets_a_defect_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def defect() -> None:
        raise Defect("a defect of this test")

    sent: list[Command] = []
    look: Any = SimpleNamespace(_find_changes=defect, _command=sent.append)
    Reconfiguration._run(look)
    (answer,) = sent
    assert isinstance(answer, Reconfigured)
    assert [change.error for change in answer.changes] == ["Defect('a defect of this test')"]
    assert "failed on a defect" in caplog.text


def test_the_end_of_a_removal_has_the_number_of_its_order() -> None:
    told: list[Any] = []
    volume = object()

    class Volumes(dict[str, object]):
        def remove(self, volume: object) -> None:
            told.append("removed")

    store: Any = SimpleNamespace(
        volumes=Volumes({"DS-1": volume}),
        trouble=SimpleNamespace(remove_volume=lambda *_, tell: told.append("left")),
        notify=told.append,
    )
    workers: Any = SimpleNamespace(remove_volume=lambda _: told.append("orders are over"))
    hot_swap.remove_volume(store, workers, "DS-1", 7)
    assert told == ["left", "removed", "orders are over", VolumeRemoved("DS-1", 7)]
