from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.local.servers import ServerFailed
from howdah.testing.forked import Forked
from howdah.testing.waiting import wait_until


@pytest.fixture
def forked() -> Iterator[Forked]:
    spawner = Forked()
    yield spawner
    spawner.close()


def test_forked_server_writes_its_log(forked: Forked, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    pid = forked.start("a", ["getconf", "-confKey", "dfs.blocksize"], log)
    wait_until(lambda: forked.exit_status(pid) == 0)
    assert log.read_text() == "134217728\n"


def test_forked_server_has_an_exit_status(forked: Forked, tmp_path: Path) -> None:
    pid = forked.start("a", ["nonsense"], tmp_path / "a.log")
    wait_until(lambda: forked.exit_status(pid) == 1)


def test_launcher_that_cannot_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    spawner = Forked()
    with pytest.raises(ServerFailed, match="launcher of the cluster has ended"):
        spawner.start("a", ["getconf"], tmp_path / "a.log")
    spawner.close()


def test_clusters_share_a_launcher() -> None:
    assert Forked.shared() is Forked.shared()


def test_launcher_of_another_environment_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Forked.shared()
    monkeypatch.setenv("HOWDAH_KERNEL", "off")
    assert Forked.shared() is not here


def test_launcher_that_has_died_is_replaced() -> None:
    dead = Forked.shared()
    dead._launcher.kill()
    dead._launcher.wait()
    assert Forked.shared() is not dead


def test_launcher_is_not_shared_with_a_fork() -> None:
    here = Forked.shared()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        other = Forked.shared()
        os.write(writer, b"other" if other is not here else b"same")
        other.close()
        here.close()  # as its handlers of exit would
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"other"
    os.close(reader)
    assert Forked.shared() is here


def test_closed_launcher_says_that_it_is_gone(forked: Forked) -> None:
    forked.close()
    with pytest.raises(ServerFailed, match="has ended"):
        forked.exit_status(1)
