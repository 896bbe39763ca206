"""Hadoop's own client, as PySpark ships it, goes on while our namenodes fail over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.testing import MiniCluster
from howdah.testing.spark import java_fs_shell
from tests.support.failover import server_faults
from tests.support.failover.java_client import JavaClient

PROGRAM = Path(__file__).with_name("FailoverClient.java")


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, namenodes=3) as cluster:
        yield cluster


@pytest.mark.req("FS-057", "FS-075")
def test_javas_client_goes_on_through_failovers(cluster: MiniCluster, tmp_path: Path) -> None:
    client = JavaClient(cluster, PROGRAM, f"{cluster.uri}/java", tmp_path / "output")
    try:
        client.wait_for(3)
        for how in (
            server_faults.kill_active,
            server_faults.freeze_active,
            server_faults.fail_over,
        ):
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
    server_faults.fail_over(cluster)
    assert java_fs_shell(cluster, "-cat", "hdfs://howdah/shell/file").stdout == "content"
    assert java_fs_shell(cluster, "-cat", "/shell/file").stdout == "content"
