"""What a forked child begins with, and how it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from typing import NoReturn

import pytest

from howdah.runtime import forked_child


def _say(task: tuple[int, bytes]) -> int:
    pipe, said = task
    os.write(pipe, said)
    return 3


def _fail(task: object) -> NoReturn:
    raise RuntimeError("a defect")


def _status_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_child_runs_one_function_and_ends_with_its_status() -> None:
    reading, writing = os.pipe()
    pid = forked_child.fork_child(_say, (writing, b"hello"), closes=[reading])
    os.close(writing)
    assert os.read(reading, 100) == b"hello"
    os.close(reading)
    assert _status_of(pid) == 3


def test_a_child_keeps_only_what_it_is_given() -> None:
    reading, writing = os.pipe()
    lost = os.dup(writing)
    kept = forked_child.fork_child(_say, (writing, b"x"), keeps=[writing])
    failed = forked_child.fork_child(_say, (lost, b"y"), keeps=[writing])
    for descriptor in (writing, lost):
        os.close(descriptor)
    assert {_status_of(kept), _status_of(failed)} == {1, 3}
    assert os.read(reading, 100) == b"x"
    os.close(reading)


def test_a_child_never_goes_on_as_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised there, as the parent's handlers do not know that they are in a child."""
    assert _status_of(forked_child.fork_child(_fail, None)) == 1


def test_a_defect_in_a_child_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(os, "fork", lambda: 0)
    forked_child.fork_child(_fail, None)
    assert ended == [1]
    assert "a defect" in caplog.text


@pytest.fixture
def pipe_and_above() -> Iterator[tuple[int, int, int]]:
    """Both ends of a pipe, and a descriptor that has a greater number."""
    reading, writing = os.pipe()
    above = fcntl.fcntl(reading, fcntl.F_DUPFD, writing + 1)
    yield reading, writing, above
    for number in (reading, writing, above):
        os.close(number)


def closed_by_child(
    monkeypatch: pytest.MonkeyPatch, kept: int, opened: tuple[int, ...], limit: int
) -> tuple[set[int], int]:
    """What is closed of what is open, where the system allows so many, and how many numbers are
    tried."""
    closed: set[int] = set()
    tried = 0

    def closerange(first: int, behind: int) -> None:
        nonlocal tried
        tried += max(behind - first, 0)
        closed.update(n for n in opened if first <= n < behind)

    monkeypatch.setattr(os, "sysconf", lambda name: limit)
    monkeypatch.setattr(os, "closerange", closerange)
    forked_child.close_all_but([kept])
    return closed, tried


def test_child_does_not_try_every_number_that_may_be_open(
    monkeypatch: pytest.MonkeyPatch, pipe_and_above: tuple[int, int, int]
) -> None:
    """A container may allow a thousand million, and on some Pythons each is a system call."""
    reading, writing, above = pipe_and_above
    closed, tried = closed_by_child(monkeypatch, writing, pipe_and_above, 1 << 30)
    assert closed == {reading, above}
    assert tried < 10_000


def test_child_closes_what_was_opened_before_the_limit_was_lowered(
    monkeypatch: pytest.MonkeyPatch, pipe_and_above: tuple[int, int, int]
) -> None:
    reading, writing, above = pipe_and_above
    closed, _ = closed_by_child(monkeypatch, writing, pipe_and_above, above)
    assert closed == {reading, above}


def test_child_that_cannot_see_what_is_open_tries_every_number(
    monkeypatch: pytest.MonkeyPatch, pipe_and_above: tuple[int, int, int]
) -> None:
    def fails(path: str) -> list[str]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "listdir", fails)
    reading, writing, above = pipe_and_above
    closed, _ = closed_by_child(monkeypatch, writing, pipe_and_above, 1 << 30)
    assert closed == {reading, above}
