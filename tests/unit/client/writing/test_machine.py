"""What the threads of one output stream share: words to those who wait, and its end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.client.writing.machine import Machine
from howdah.rpc import wait_notices


def machine(error: errors.HowdahError | None = None) -> Any:
    return Machine(SimpleNamespace(path="/f", block=None, error=error))  # type: ignore[arg-type]


def test_a_word_is_said_once_until_something_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: False)
    monkeypatch.setattr(wait_notices, "FIRST_NOTICE_S", 0.001)
    waits = machine()
    with waits.lock:
        for _ in range(3):
            waits.wait()
        assert len(caplog.messages) == 1
        with monkeypatch.context() as progress:
            progress.setattr(waits.progress, "wait", lambda timeout_s: True)
            waits.wait()
        waits.wait()
    assert len(caplog.messages) == 2


def test_each_caller_gets_an_error_with_all_that_the_first_one_has() -> None:
    """And of its own: one object would collect the traces of all."""
    first = errors.Unreachable("gone").numbered_as(ConnectionRefusedError(111, "refused"))
    with pytest.raises(errors.Unreachable) as caught:
        machine(first).check()
    assert caught.value is not first
    assert (caught.value.errno, first.errno) == (111, 111)
