"""`howdah sps`: how it begins, and with which code it ends."""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.balancer.namenode import AnotherOneRuns
from howdah.balancer.state.satisfier_queue import Outcome
from howdah.cli.balancer import sps
from howdah.config import Configuration

Serve = Callable[..., None]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs the command; `serve` is what it does instead of its work."""
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(sps, "begin", lambda options: None)
    monkeypatch.setattr(sps, "_AGAIN_S", 0.0)

    def run(serve: Serve, *words: str, conf: dict[str, str] | None = None) -> int:
        monkeypatch.setattr(sps, "_serve", serve)
        return sps.main(list(words), Configuration(conf or {}))

    return run


def test_beside_another_one_it_ends_as_hadoops_does(
    ends: Callable[..., int], caplog: pytest.LogCaptureFixture
) -> None:
    def serve(*what: Any, **how: Any) -> None:
        raise AnotherOneRuns("Another ExternalStoragePolicySatisfier is running.")

    assert ends(serve) == 255
    assert "Another ExternalStoragePolicySatisfier is running. This one ends" in caplog.text


def test_it_waits_for_a_namenode(
    ends: Callable[..., int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    refusals: list[errors.HowdahError] = [errors.Unreachable("it is down"), errors.SafeMode("on")]

    def serve(conf: Any, stop: Any, ready_file: Any, *, is_json: bool) -> None:
        assert is_json
        if refusals:
            raise refusals.pop(0)
        stop.set()

    assert ends(serve, "--json") == 0
    assert "no namenode to work for (it is down): next try in" in caplog.text


def test_a_configuration_that_cannot_be_used_ends_it(
    ends: Callable[..., int], caplog: pytest.LogCaptureFixture
) -> None:
    wrong = {"dfs.storage.policy.satisfier.queue.limit": "0"}
    assert ends(lambda *what, **how: pytest.fail("it works"), conf=wrong) == 1
    assert "dfs.storage.policy.satisfier.queue.limit" in caplog.text


def test_only_a_filesystem_with_datanodes_has_blocks_to_move(ends: Callable[..., int]) -> None:
    assert ends(sps._serve, conf={"fs.defaultFS": "file:///"}) == 1


def test_it_tells_what_came_of_a_mark(capsys: pytest.CaptureFixture[str]) -> None:
    sps._tell_json(16387, Outcome(3, 5, 50, 1, 1))
    assert json.loads(capsys.readouterr().out) == {
        "inode": 16387,
        "satisfied": False,
        "files": 3,
        "moved": 5,
        "bytesMoved": 50,
        "failed": 1,
        "givenUp": 1,
    }


@pytest.mark.parametrize("mode", ["internal", "true", ""])
def test_a_namenode_does_not_start_in_a_mode_that_there_is_not(mode: str) -> None:
    conf = Configuration({"dfs.storage.policy.satisfier.mode": mode})
    with pytest.raises(errors.InvalidConfiguration, match="expected one of NONE, EXTERNAL"):
        conf.check_values()
