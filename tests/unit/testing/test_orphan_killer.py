"""The process that ends what a run of tests has left behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from howdah.testing import orphan_killer
from howdah.testing.orphan_killer import Guard

TIMEOUT_S = 20.0


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A leader of a group."""
    command = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(command, start_new_session=True) as process:
        yield process
        process.kill()


def test_what_is_watched_ends_with_the_guard(sleeper: subprocess.Popen[bytes]) -> None:
    watching = Guard()
    watching.watch(sleeper.pid)
    watching.close()
    assert sleeper.wait(TIMEOUT_S) < 0


def test_a_process_that_has_the_number_of_one_that_ended_is_left_alone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    """Numbers come round: in a long run with many processes, within minutes."""
    watching = Guard()
    assert watching._process.stdin is not None
    watching._process.stdin.write(f"{sleeper.pid} 1\n".encode())
    watching.close()
    assert sleeper.poll() is None


def test_one_that_has_ended_already_is_no_obstacle(sleeper: subprocess.Popen[bytes]) -> None:
    watching = Guard()
    watching.watch(sleeper.pid)
    sleeper.kill()
    sleeper.wait(TIMEOUT_S)
    watching.watch(sleeper.pid)
    watching.close()
    assert orphan_killer._started(sleeper.pid) == "-"
