"""Hadoop's failover controllers and ours stand against each other in one election."""

from __future__ import annotations

import pytest

from howdah.config.nameservices import specialise
from howdah.failover.zookeeper import ZooKeeperSettings
from howdah.protocol.zookeeper import Session
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.hadoop.mixed import MixedCluster

TIMEOUT_S = 90.0


@pytest.mark.req("FS-066", "FS-068", "FS-070")
def test_a_controller_of_hadoop_and_one_of_ours_take_turns(hadoop_classpath: str) -> None:
    pytest.importorskip("kazoo", reason="an election on ZooKeeper needs kazoo")
    with MixedCluster(hadoop_classpath, ["zkfc1"]) as cluster:
        conf = specialise(cluster.conf, "howdah", "namenode0")
        settings = ZooKeeperSettings.of(conf, "howdah")
        session = Session(settings.ensemble)

        def znode(name: str) -> bytes:
            found = session.read(f"{settings.directory}/{name}")
            assert found is not None
            return found.content

        contents: dict[str, bytes] = {}

        def note(active: str) -> None:
            """What the controller of the active wrote, and that it wrote the same each time."""
            content = znode("ActiveStandbyElectorLock")
            assert znode("ActiveBreadCrumb") == content
            assert contents.setdefault(active, content) == content

        first = cluster.active(timeout_s=TIMEOUT_S)
        note(first)
        second = "namenode1" if first == "namenode0" else "namenode0"
        # A controller that has just started has not seen its namenode yet.
        wait_until(
            lambda: server_faults.haadmin(cluster, "-failover", first, second)[0] == 0, TIMEOUT_S
        )
        assert cluster.active(but=first, timeout_s=TIMEOUT_S) == second
        note(second)
        # The other way round, asked by Hadoop's haadmin.
        done = cluster.hadoops_haadmin("-failover", second, first)
        assert done.returncode == 0, done.stdout + done.stderr
        note(first)
        assert server_faults.kill_active(cluster).new == second
        note(second)
        assert server_faults.kill_active(cluster).new == first
        note(first)
        session.close()
