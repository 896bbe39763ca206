"""The command of a local ZooKeeper, and what it is asked. That it serves: tests/cluster."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.local import zookeeper as module
from howdah.local.layout import Layout
from howdah.local.zookeeper import NoZooKeeper, is_serving, zookeeper_command


def test_server_listens_where_it_is_told_to(tmp_path: Path) -> None:
    command = zookeeper_command(tmp_path / "zookeeper", ("127.0.0.1", 2181))
    settings = Path(command[-1]).read_text().splitlines()
    assert "clientPortAddress=127.0.0.1" in settings
    assert "clientPort=2181" in settings
    assert f"dataDir={tmp_path}/zookeeper/data" in settings
    assert "ZooKeeperServerMain" in command[-2]


def test_sessions_may_be_as_short_as_local_clusters_want_them(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, namenodes=2, zookeeper=True)
    session_ms = int(plan.server_conf("zkfc0").raw("ha.zookeeper.session-timeout.ms") or 0)
    assert session_ms >= 2 * module.TICK_MS


def test_layout_says_how_it_is_run(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, namenodes=2, zookeeper=True)
    assert plan.nameservice is not None
    assert plan.command("zookeeper") == [
        "zookeeper",
        *("--dir", str(tmp_path / "zookeeper")),
        *("--address", str(plan.nameservice.zookeeper)),
        *("--ready-file", str(tmp_path / "run" / "zookeeper.json")),
    ]


def test_without_pyspark_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(NoZooKeeper, match=r"howdah\[spark\]"):
        zookeeper_command(tmp_path, ("127.0.0.1", 2181))


class Answering:
    """A server that takes one connection, and answers what a ZooKeeper in some state does."""

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self._answers = answers

    def is_found_serving(self) -> bool:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def reply() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(self._answers[connection.recv(4)])

            replying = threading.Thread(target=reply)
            replying.start()
            host, port = listener.getsockname()
            found = is_serving((host, port))
            replying.join()
            return found


def test_server_that_tells_its_facts_serves() -> None:
    told = b"Zookeeper version: 3.9.4-7246445e, built on 2025-08-19 19:53 UTC\nMode: standalone\n"
    assert Answering({b"ruok": b"imok", b"srvr": told}).is_found_serving()


def test_server_that_listens_before_it_serves_is_waited_for() -> None:
    """It is well, it says, and a session that is asked for then hangs."""
    told = b"This ZooKeeper instance is not currently serving requests\n"
    assert not Answering({b"ruok": b"imok", b"srvr": told}).is_found_serving()


def test_server_that_says_nothing_does_not_serve() -> None:
    assert not Answering({b"ruok": b"", b"srvr": b""}).is_found_serving()


def test_nobody_serves_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
    assert not is_serving((host, port))


def test_address_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["zookeeper", "--dir", str(tmp_path), "--address", "nowhere"]) == 255
    assert "--address nowhere" in capsys.readouterr().err
