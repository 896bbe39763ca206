"""Threads of a namenode, and of a journal node, that meet a defect: those who wait hear of it, or
the thread goes on.

Each handler is entered once. What stands for the thread's owner has only what it uses.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from howdah.journalnode.sync import Syncer
from howdah.namenode.journal import directory_restore
from howdah.namenode.journal.directory_journal import DirectoryJournal
from howdah.namenode.journal.directory_restore import Restorations
from howdah.namenode.journal.edit_log import EditLog
from howdah.namenode.server.audit.log import AuditLog
from howdah.runtime import unexpected_errors


class Defect(Exception):
    """What no code expects."""


def meets_a_defect(*_: object) -> Any:
    raise Defect("a defect of this test")


def test_a_log_whose_thread_meets_a_defect_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    """Without the thread no answer would ever leave: the namenode ends."""
    told: list[str] = []
    log: Any = SimpleNamespace(_write_batch=meets_a_defect, _on_failure=told.append)
    EditLog._run(log)
    assert told == ["the journal failed: Defect: a defect of this test"]
    assert "the journal's thread failed on a defect" in caplog.text


def test_lines_of_the_audit_log_that_meet_a_defect_are_counted_as_lost() -> None:
    before = unexpected_errors.seen.total()
    log: Any = SimpleNamespace(_write=meets_a_defect, _lost=1)
    AuditLog._try_to_write(log, ["one", "two"])
    assert log._lost == 3
    assert unexpected_errors.seen.total() == before + 1


def test_a_directory_whose_restoring_meets_a_defect_has_failed_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored = threading.Event()
    restorations = Restorations(restored.set)
    lost, source = (DirectoryJournal(tmp_path / name / "current") for name in ("a", "b"))
    with monkeypatch.context() as failing:
        failing.setattr(directory_restore, "restore", meets_a_defect)
        restorations.begin(lost, source, 1)
        assert restorations.wait(60)
    assert restorations.failures() == {lost: "Defect: a defect of this test"}
    monkeypatch.setattr(directory_restore, "restore", lambda *_: [])
    restorations.begin(lost, source, 1)
    assert restored.wait(60)
    assert restorations.failures() == {}
    restorations.close()


def test_a_journal_node_syncs_on_after_a_defect() -> None:
    before = unexpected_errors.seen.total()
    waits: list[float] = []
    closed: list[str] = []
    peer = SimpleNamespace(close=lambda: closed.append("closed"))

    def stops(wait_s: float) -> bool:
        waits.append(wait_s)
        return len(waits) > 2

    syncer: Any = SimpleNamespace(
        _stop=SimpleNamespace(wait=stops),
        _interval_s=7.0,
        _peers={"ns": [peer]},
        round=meets_a_defect,
    )
    Syncer._work(syncer)
    assert waits == [0.0, 7.0, 7.0]
    assert closed == ["closed"]
    assert unexpected_errors.seen.total() == before + 2
