"""`dfsadmin -reconfig namenode`: a running namenode takes some of its settings anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.administration import Reconfigurable
from howdah.namenode.service.protocols.refresh import RECONFIGURABLE
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

Run = Callable[..., tuple[int, str, str]]
EXPIRY = {"dfs.heartbeat.interval": "100ms", "dfs.namenode.heartbeat.recheck-interval": "10m"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, conf=EXPIRY) as cluster:
        yield cluster


@pytest.fixture
def run(cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    place = cluster.process("namenode").addresses["rpc"]

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["-fs", cluster.uri, "dfsadmin", "-reconfig", "namenode", place, *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def change(cluster: MiniCluster, name: str, value: str) -> None:
    """In the files of the namenode."""
    (site,) = (cluster.dir / "namenode").rglob("hdfs-site.xml")
    setting = f"<property><name>{name}</name><value>{value}</value></property></configuration>"
    site.write_text(site.read_text().replace("</configuration>", setting))


def reconfigure(run: Run) -> str:
    """What the status says in the end, but for its first line."""
    code, said, _ = run("start")
    assert (code, said.startswith("Started reconfiguration task on node [")) == (0, True)
    status: list[str] = []

    def is_over() -> bool:
        status[:] = [run("status")[1]]
        return " and finished at " in status[0]

    wait_until(is_over, 60)
    return status[0].partition("\n")[2]


def test_a_datanode_is_dead_sooner_when_the_interval_is_shorter(
    cluster: MiniCluster, run: Run
) -> None:
    assert run("status")[1].endswith("no task was found.\n")
    code, listed, _ = run("properties")
    assert (code, listed.splitlines()[1:]) == (0, list(RECONFIGURABLE))
    assert reconfigure(run) == "", "nothing has changed"
    cluster.kill("datanode1")
    change(cluster, "dfs.namenode.heartbeat.recheck-interval", "300ms")
    assert reconfigure(run) == (
        "SUCCESS: Changed property dfs.namenode.heartbeat.recheck-interval\n"
        '\tFrom: "10m"\n'
        '\tTo: "300ms"\n'
    )
    with cluster.connect() as fs:
        wait_until(lambda: len(fs.datanode_report("dead")) == 1, 60)
        assert len(fs.datanode_report("live")) == 1


def test_what_cannot_be_is_refused_and_the_rest_is_changed(cluster: MiniCluster, run: Run) -> None:
    change(cluster, "dfs.block.replicator.classname", "NoPolicyOfThisName")
    change(cluster, "dfs.namenode.replication.max-streams", "7")
    told = reconfigure(run)
    assert "FAILED: Change property dfs.block.replicator.classname" in told
    assert "NoPolicyOfThisName" in told.partition("Error: ")[2]
    assert "SUCCESS: Changed property dfs.namenode.replication.max-streams" in told
    assert "dfs.namenode.replication.max-streams is changed from 2 to 7" in cluster.log("namenode")


def test_nobody_but_the_superuser_may(cluster: MiniCluster, run: Run) -> None:
    host, _, port = cluster.process("namenode").addresses["rpc"].rpartition(":")
    stranger = Reconfigurable((host, int(port)), user="mallory")
    for call in (
        stranger.start_reconfiguration,
        stranger.reconfiguration_status,
        stranger.reconfigurable_properties,
    ):
        with pytest.raises(errors.AccessDenied, match="mallory"):
            call()
    stranger.close()
