"""Which process is which, and its death."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from howdah.runtime.process_identity import (
    AskedToEnd,
    LivingProcess,
    descriptors_after_raise,
    identity_of,
    raise_descriptor_limit,
    this_process,
)

if TYPE_CHECKING:
    from _typeshed import TraceFunction

WAITS = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.mark.parametrize(
    ("soft", "hard", "after"),
    [
        (1024, 4096, 4096),
        (4096, 4096, 4096),
        (1024, 1 << 30, 1 << 20),
        (1024, resource.RLIM_INFINITY, 1 << 20),
        (1 << 21, 1 << 30, 1 << 21),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, sys.maxsize),
    ],
)
def test_the_soft_limit_of_open_files_is_raised_and_never_lowered(
    soft: int, hard: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.append(wanted))
    assert descriptors_after_raise() == after
    assert raise_descriptor_limit()[1] == after
    assert limits[1:] == ([(after, hard)] if soft not in (after, resource.RLIM_INFINITY) else [])


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(WAITS, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_process_has_one_identity(child: subprocess.Popen[bytes]) -> None:
    assert identity_of(child.pid) == identity_of(child.pid) != this_process()


def test_the_death_of_a_process_is_seen(child: subprocess.Popen[bytes]) -> None:
    identity = identity_of(child.pid)
    assert identity is not None
    living = LivingProcess.find(identity)
    assert living is not None
    assert not living.wait_for_death(0)
    child.kill()
    # It is dead before anybody asks for its exit code.
    assert living.wait_for_death(30)
    living.close()


def test_another_process_of_the_same_id_is_not_taken_for_it(
    child: subprocess.Popen[bytes],
) -> None:
    identity = identity_of(child.pid)
    assert identity is not None
    assert LivingProcess.find(replace(identity, start_ticks=identity.start_ticks + 1)) is None
    assert LivingProcess.find(replace(identity, boot_id="another boot")) is None


def test_of_a_process_that_is_gone_nothing_is_known(child: subprocess.Popen[bytes]) -> None:
    identity = identity_of(child.pid)
    assert identity is not None
    child.kill()
    child.wait()
    assert identity_of(child.pid) is None
    assert LivingProcess.find(identity) is None


@pytest.mark.parametrize("pid", [0, -1, 1 << 31, 1 << 63])
def test_what_is_no_process_is_none(pid: int) -> None:
    identity = this_process()
    assert identity is not None
    assert identity_of(pid) is None
    assert LivingProcess.find(replace(identity, pid=pid)) is None


def set_at_every_step(event: threading.Event, waits: Callable[[], bool]) -> int:
    """Call `waits`, and set `event` before each line that it runs, as a signal's handler may; how
    many lines that were."""
    lines = 0

    def step(frame: FrameType, what: str, _: object) -> TraceFunction:
        nonlocal lines
        if what == "line":
            lines += 1
            sys.settrace(None)
            event.set()
            sys.settrace(step)
        return step

    sys.settrace(step)
    try:
        waits()
    finally:
        sys.settrace(None)
    return lines


@pytest.mark.parametrize("timeout_s", [None, 0, 60])
def test_a_signal_may_come_at_any_step_of_a_wait_for_the_end(timeout_s: float | None) -> None:
    for _ in range(2):
        asked = AskedToEnd()
        assert set_at_every_step(asked, partial(asked.wait, timeout_s)) > 1
        assert asked.is_set()
        assert asked.wait(timeout_s)


def test_all_who_wait_for_the_end_hear_of_it() -> None:
    asked = AskedToEnd()
    assert not asked.wait(0)
    assert not asked.wait(-1)
    assert not asked.is_set()
    with pytest.raises(NotImplementedError, match="stays asked"):
        asked.clear()
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(asked.wait, 60) for _ in range(4)]
        asked.set()
        assert all(each.result(60) for each in waiting)


def test_signals_end_a_loop_that_waits_whenever_they_come() -> None:
    program = """
import signal, sys
from howdah.runtime.process_identity import AskedToEnd
asked = AskedToEnd()
signal.signal(signal.SIGTERM, lambda *_: asked.set())
print("ready", flush=True)
while not asked.wait(0.00001):
    pass
"""
    for _ in range(20):
        with subprocess.Popen(
            [sys.executable, "-S", "-c", program],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.terminate()
            assert process.wait(60) == 0
