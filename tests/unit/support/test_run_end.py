"""A run that is ended leaves no process: neither workers nor what their tests have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.testing.waiting import wait_until
from tests.support.requirements.run_end import EXIT_CODE, MARK

PLUGIN = "tests.support.requirements.run_end"
# A server in a session of its own, as those of a cluster are.
TEST = """
import os, subprocess, sys, time

def test_that_fails():
    assert not "the reason"

def test_with_a_server():
    server = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    with open("ids.partial", "w") as file:
        file.write(f"{os.getpid()} {server.pid}")
    os.rename("ids.partial", "ids")
    time.sleep(600)
"""


def alive(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def run(pytester: pytest.Pytester, number: int) -> Iterator[subprocess.Popen[bytes]]:
    (pytester.path / "test_it.py").write_text(TEST)
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    environment["PYTEST_ADDOPTS"] = ""
    # After SIGTERM pytest-xdist gives a worker ten seconds to end by itself.
    workers = "-n1" if number == signal.SIGKILL else "-n0"
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", workers, "-p", PLUGIN, "test_it.py"],
        cwd=pytester.path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with process:
        yield process
        process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ended_run_leaves_no_process(
    pytester: pytest.Pytester, run: subprocess.Popen[bytes], number: int
) -> None:
    ids = pytester.path / "ids"
    wait_until(ids.exists, 60)
    started = [int(word) for word in ids.read_text().split()]
    assert all(map(alive, started))
    run.send_signal(number)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == (EXIT_CODE if number == signal.SIGTERM else -number)
    for words in (b"ended by SIGTERM", b'assert not "the reason"'):
        assert (words in said) == (number == signal.SIGTERM)
    wait_until(lambda: not any(map(alive, started)), 30)
