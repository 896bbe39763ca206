"""What meets a defect beside the pages ends alone: a connection, and a line of the log."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from howdah.runtime import unexpected_errors
from howdah.web.pages.logs import LastLines
from howdah.web.server import HttpServer


class Defect(Exception):
    """What no code expects."""


def meets_a_defect(*_: object) -> Any:
    raise Defect("a defect of this test")


def test_a_connection_that_meets_a_defect_ends_and_gives_its_thread_back() -> None:
    before = unexpected_errors.seen.total()
    closed: list[object] = []
    threads = threading.Semaphore(0)
    server: Any = SimpleNamespace(
        _stopped=False, _settle=lambda *_: None, _close=closed.append, _threads=threads
    )
    channel: Any = SimpleNamespace(next_request=meets_a_defect, peer="10.0.0.9")
    HttpServer._serve(server, channel, None, SimpleNamespace(reserved_s=0.0))  # type: ignore[arg-type]
    assert closed == [channel]
    assert threads.acquire(blocking=False)
    assert unexpected_errors.seen.total() == before + 1


def test_a_line_that_cannot_be_formatted_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = LastLines()
    told: list[logging.LogRecord] = []
    monkeypatch.setattr(handler, "handleError", told.append)
    broken = logging.LogRecord("a", logging.INFO, "a.py", 1, "%d", ("no number",), None)
    handler.emit(broken)
    assert told == [broken]
    handler.emit(logging.LogRecord("a", logging.INFO, "a.py", 1, "%d", (7,), None))
    assert handler.text().endswith(" INFO a: 7\n")
