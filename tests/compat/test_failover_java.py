"""Hadoop's own client, as PySpark ships it, goes on while our namenodes fail over."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.testing import MiniCluster
from howdah.testing.internal.failover import trouble
from howdah.testing.spark import java_command, java_fs_shell
from howdah.testing.waiting import wait_until

PROGRAM = Path(__file__).with_name("FailoverClient.java")
TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, namenodes=3) as cluster:
        yield cluster


class JavaClient:
    """The program at work; it has ended well when the context ends."""

    def __init__(self, cluster: MiniCluster, directory: str, output: Path) -> None:
        self._output = output
        command = java_command(cluster, str(PROGRAM), [f"{cluster.uri}{directory}"])
        with output.open("wb") as out:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT
            )

    @property
    def said(self) -> str:
        return self._output.read_text(errors="replace")

    @property
    def rounds(self) -> int:
        """How many were acknowledged."""
        return self.said.count("round ")

    def wait_for(self, rounds: int) -> None:
        """Until so many more were acknowledged."""
        goal = self.rounds + rounds
        wait_until(
            lambda: self.rounds >= goal or self._process.poll() is not None,
            TIMEOUT_S,
            f"{rounds} more rounds",
        )
        assert self._process.poll() is None, self.said[-3000:]

    def finish(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(TIMEOUT_S) == 0, self.said[-3000:]
        assert "done " in self.said

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.mark.req("FS-057", "FS-075")
def test_javas_client_goes_on_through_failovers(cluster: MiniCluster, tmp_path: Path) -> None:
    client = JavaClient(cluster, "/java", tmp_path / "output")
    try:
        client.wait_for(3)
        for how in (trouble.kill_active, trouble.freeze_active, trouble.fail_over):
            how(cluster)
            client.wait_for(5)
        client.finish()
    finally:
        client.kill()
    with cluster.connect() as fs:
        names = {status.name for status in fs.list_status("/java")}
    assert names == {"log", *(f"file-{number}" for number in range(client.rounds))}


def test_javas_shell_takes_the_logical_name(cluster: MiniCluster) -> None:
    with cluster.connect() as fs, fs.create("/shell/file") as out:
        out.write(b"content")
    trouble.fail_over(cluster)
    assert java_fs_shell(cluster, "-cat", "hdfs://howdah/shell/file").stdout == "content"
    assert java_fs_shell(cluster, "-cat", "/shell/file").stdout == "content"
