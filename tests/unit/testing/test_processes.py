from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah.testing import processes
from howdah.testing.processes import Detached, Forked, ServerFailed


def until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as process:
        yield process
        process.kill()


@pytest.fixture
def forked() -> Iterator[Forked]:
    spawner = Forked()
    yield spawner
    spawner.close()


# -- any process ---------------------------------------------------------------------


def test_running_process_has_a_start_time() -> None:
    assert processes.start_time(os.getpid()) is not None


def test_process_that_is_gone_has_no_start_time(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    assert processes.start_time(sleeper.pid) is None


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
        until(lambda: not processes.is_running(child))


def test_signal_to_what_is_gone_says_so(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    assert not processes.signal_group(sleeper.pid, signal.SIGTERM)
    assert not processes.signal_process(sleeper.pid, signal.SIGTERM)


def test_tail_is_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("1\n2\n3\n")
    assert processes.tail(log, 2) == f"--- end of {log}\n2\n3"


def test_tail_of_no_log_says_so(tmp_path: Path) -> None:
    assert "does not exist" in processes.tail(tmp_path / "x.log")


def test_servers_do_not_see_the_installations_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert "HADOOP_CONF_DIR" not in processes.environment()


# -- starting them ---------------------------------------------------------------------


def test_forked_server_writes_its_log(forked: Forked, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    pid = forked.start("a", ["getconf", "-confKey", "dfs.blocksize"], log)
    until(lambda: forked.exit_status(pid) == 0)
    assert log.read_text() == "134217728\n"


def test_forked_server_has_an_exit_status(forked: Forked, tmp_path: Path) -> None:
    pid = forked.start("a", ["nonsense"], tmp_path / "a.log")
    until(lambda: forked.exit_status(pid) == 1)


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


def test_detached_server_is_a_program_of_its_own(tmp_path: Path) -> None:
    spawner = Detached()
    log = tmp_path / "a.log"
    pid = spawner.start("a", ["getconf", "-confKey", "dfs.replication"], log)
    until(lambda: spawner.exit_status(pid) == 0)
    assert log.read_text() == "3\n"
    spawner.close()
