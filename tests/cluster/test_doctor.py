"""The doctor visits a cluster of real servers."""

from __future__ import annotations

from howdah.doctor.checks import examine
from howdah.doctor.collect import gather
from howdah.doctor.findings import Level
from howdah.testing import MiniCluster


def test_a_cluster_that_runs_has_no_error_and_tells_its_racks(
    howdah_cluster: MiniCluster,
) -> None:
    facts = gather(howdah_cluster.conf, ["namenode"])
    (namenode,) = facts.namenodes
    assert namenode.state == "ACTIVE"
    assert namenode.ahead_s is not None
    assert abs(namenode.ahead_s) - namenode.doubt_s < 60
    assert facts.racks
    assert [each.line() for each in examine(facts) if each.level is Level.ERROR] == []


def test_a_namenode_that_is_not_there_is_a_line(howdah_cluster: MiniCluster) -> None:
    conf = howdah_cluster.conf.with_values(
        {"fs.defaultFS": "hdfs://127.0.0.1:9", "dfs.namenode.rpc-address": "127.0.0.1:9"}
    )
    lines = [each.line() for each in examine(gather(conf, ["namenode"]))]
    assert any("namenode 127.0.0.1:9 at 127.0.0.1:9 does not answer" in line for line in lines)


def test_a_port_of_a_running_server_is_its_own(howdah_cluster: MiniCluster) -> None:
    facts = gather(howdah_cluster.conf, ["namenode"], asks=False)
    held = [each for each in facts.listeners if each.holder is not None]
    assert held
    assert not [each for each in examine(facts) if each.check == "port taken"]
