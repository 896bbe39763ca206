"""Which process is which, and its death."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from howdah.processes import LivingProcess, identity_of, this_process

WAITS = [sys.executable, "-c", "import sys; sys.stdin.read()"]


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
