from __future__ import annotations

from pathlib import Path

import pytest

from howdah.local import servers
from howdah.local.servers import Detached
from howdah.testing.waiting import wait_until


def test_tail_is_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("1\n2\n3\n")
    assert servers.tail(log, 2) == f"--- end of {log}\n2\n3"


def test_tail_of_no_log_says_so(tmp_path: Path) -> None:
    assert "does not exist" in servers.tail(tmp_path / "x.log")


def test_servers_do_not_see_the_installations_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert "HADOOP_CONF_DIR" not in servers.environment()


def test_detached_server_is_a_program_of_its_own(tmp_path: Path) -> None:
    spawner = Detached()
    log = tmp_path / "a.log"
    pid = spawner.start("a", ["getconf", "-confKey", "dfs.replication"], log)
    wait_until(lambda: spawner.exit_status(pid) == 0)
    assert log.read_text() == "3\n"
    spawner.close()
