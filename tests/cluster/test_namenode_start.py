"""A namenode that is started is seen on its web port before it has loaded anything."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from howdah.config import Configuration, keys
from howdah.namenode.server.process.format import format_namenode
from howdah.testing.waiting import wait_until

NAME = {
    "dfs.nameservices": "east",
    "dfs.ha.namenodes.east": "nn1,nn2",
    "dfs.ha.namenode.id": "nn1",
    "dfs.namenode.rpc-address.east.nn1": "127.0.0.1:18020",
    "dfs.namenode.rpc-address.east.nn2": "127.0.0.2:18020",
}


def begun(values: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    settings = [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "howdah", *settings, "namenode"],
            stdout=output,
            stderr=subprocess.STDOUT,
        )


@pytest.fixture
def silent_journal_nodes() -> Iterator[list[str]]:
    """Which take connections and say nothing: a start waits for them."""
    with ExitStack() as held:
        found = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        yield ["{}:{}".format(*each.getsockname()) for each in found]


@pytest.mark.req("FS-262", "FS-269")
def test_a_start_that_waits_for_its_journal_is_seen_to_wait(
    tmp_path: Path, silent_journal_nodes: list[str]
) -> None:
    name = {keys.DFS_NAMENODE_NAME_DIR.name: (tmp_path / "name").as_uri()}
    format_namenode(Configuration({keys.FS_DEFAULTFS.name: "hdfs://127.0.0.1:18020", **name}))
    shared = f"qjournal://{';'.join(silent_journal_nodes)}/east"
    log = tmp_path / "log"
    process = begun(
        {
            **NAME,
            **name,
            "dfs.namenode.http-address.east.nn1": "127.0.0.1:0",
            "dfs.namenode.shared.edits.dir": shared,
            "dfs.qjournal.select-input-streams.timeout.ms": "600s",
        },
        log,
    )

    def place() -> str:
        found = re.search(r"the start is can be seen at http://(\S+)", log.read_text())
        return found[1] if found else ""

    def get(path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(place(), timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    try:
        wait_until(lambda: bool(place()), timeout_s=60)
        wait_until(lambda: json.loads(get("/health")[1])["phase"] == "LoadingEdits", timeout_s=60)
        assert [get(path)[0] for path in ("/health", "/ready", "/")] == [503, 503, 200]
        image, edits, *rest = json.loads(get("/startupProgress")[1])["phases"]
        assert (image["status"], edits["status"]) == ("COMPLETE", "RUNNING")
        assert {each["status"] for each in rest} == {"PENDING"}
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.mark.req("FS-269")
def test_a_start_without_a_keystore_ends_before_it_looks_at_its_directories(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    process = begun(
        {
            "fs.defaultFS": "hdfs://127.0.0.1:0",
            "dfs.namenode.name.dir": (tmp_path / "not there").as_uri(),
            "dfs.namenode.http-address": "127.0.0.1:0",
            "dfs.namenode.https-address": "127.0.0.1:0",
            "dfs.http.policy": "HTTPS_ONLY",
            "dfs.https.server.keystore.resource": str(tmp_path / "ssl-server.xml"),
        },
        log,
    )
    assert process.wait(60) == 1
    assert str(tmp_path / "ssl-server.xml") in log.read_text()
    assert "not there" not in log.read_text()
