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


@pytest.mark.parametrize(("answer", "serves"), [(b"imok", True), (b"not now", False)])
def test_server_that_is_asked_says_whether_it_serves(answer: bytes, serves: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reply() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4)
                connection.sendall(answer)

        replying = threading.Thread(target=reply)
        replying.start()
        host, port = listener.getsockname()
        assert is_serving((host, port)) == serves
        replying.join()


def test_nobody_serves_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
    assert not is_serving((host, port))


def test_address_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["zookeeper", "--dir", str(tmp_path), "--address", "nowhere"]) == 255
    assert "--address nowhere" in capsys.readouterr().err
