"""Words to those who wait: what it costs to know that nobody does."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator

import pytest

from howdah.rpc import wait_notices


class Stream(io.StringIO):
    """A standard error, and how often it was asked what it is."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal
        self.asked = 0

    def isatty(self) -> bool:
        self.asked += 1
        return self.is_terminal


@pytest.fixture
def _as_in_a_server() -> Iterator[None]:
    logger = logging.getLogger("howdah.rpc.wait_notices")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


@pytest.mark.usefixtures("_as_in_a_server")
@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_server_asks_once_whether_its_standard_error_is_a_terminal(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """That is a call of the kernel, and each read and each call would make one."""
    stream = Stream(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    assert [wait_notices.are_wanted() for _ in range(5)] == [is_terminal] * 5
    assert stream.asked == 1


@pytest.mark.usefixtures("_as_in_a_server")
def test_another_standard_error_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal in (False, True, False):
        monkeypatch.setattr(sys, "stderr", Stream(is_terminal=is_terminal))
        assert wait_notices.are_wanted() == is_terminal
