from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from howdah.local import processes
from howdah.runtime.process_identity import start_time
from howdah.testing.waiting import wait_until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as process:
        yield process
        process.kill()


# -- any process ---------------------------------------------------------------------


def test_running_process_has_a_start_time() -> None:
    assert start_time(os.getpid()) is not None


def test_process_that_is_gone_has_no_start_time(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    assert start_time(sleeper.pid) is None


def test_process_that_nobody_waited_for_is_not_running(sleeper: subprocess.Popen[bytes]) -> None:
    os.kill(sleeper.pid, signal.SIGKILL)
    assert processes.wait_until_ended([sleeper.pid], 10) == []


def test_waiting_gives_up_and_says_who_is_left(sleeper: subprocess.Popen[bytes]) -> None:
    assert processes.wait_until_ended([sleeper.pid], 0.01) == [sleeper.pid]


def test_group_is_signalled_as_a_whole() -> None:
    with subprocess.Popen(
        ["sh", "-c", "sleep 100 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        assert processes.signal_group(leader.pid, signal.SIGKILL)
        wait_until(lambda: not processes.is_running(child))


_TWO_BUSY_PROCESSES = """
import os, threading
os.nice(19)
def work():
    while True:
        sum(range(200))
os.fork()
for _ in range(3):
    threading.Thread(target=work).start()
print("works", flush=True)
"""


def test_paused_group_stands_still_at_once_with_all_threads() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _TWO_BUSY_PROCESSES], stdout=subprocess.PIPE, start_new_session=True
    ) as leader:
        try:
            assert leader.stdout is not None
            for _ in range(2):
                leader.stdout.readline()
            for _ in range(20):
                assert processes.pause_group(leader.pid, 10)
                assert set(processes._states_of_group(leader.pid)) == {"T"}
                processes.signal_group(leader.pid, signal.SIGCONT)
                time.sleep(0.005)
        finally:
            processes.signal_group(leader.pid, signal.SIGKILL)


def test_pausing_gives_up_on_a_group_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_states_of_group", lambda leader: iter("TR"))
    assert not processes.pause_group(2**22 + 1, 0.01)


def test_signal_to_what_is_gone_says_so(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    assert not processes.signal_group(sleeper.pid, signal.SIGTERM)
    assert not processes.signal_process(sleeper.pid, signal.SIGTERM)
