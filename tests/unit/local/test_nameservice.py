"""The layout of a cluster with several namenodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration, keys
from howdah.config.nameservices import datanode_nameservices
from howdah.errors import InvalidConfiguration
from howdah.local.layout import Layout, role_of


@pytest.fixture
def plan(tmp_path: Path) -> Layout:
    return Layout.plan(tmp_path, datanodes=2, namenodes=3)


def test_each_namenode_has_a_controller_and_all_have_three_journal_nodes(plan: Layout) -> None:
    assert plan.names == [
        *("namenode0", "namenode1", "namenode2"),
        *("zkfc0", "zkfc1", "zkfc2"),
        *("journalnode0", "journalnode1", "journalnode2"),
        *("datanode0", "datanode1"),
    ]


def test_roles_are_commands(plan: Layout) -> None:
    roles = {role_of(name) for name in plan.names}
    assert roles == {"namenode", "zkfc", "journalnode", "datanode"}
    assert plan.command("zkfc1")[0] == "zkfc"


def test_no_address_is_given_out_twice(plan: Layout) -> None:
    nameservice = plan.nameservice
    assert nameservice is not None
    addresses = [address for node in plan.namenodes for address in (node.rpc, node.http)]
    addresses += [f"127.0.0.1:{node.zkfc_port}" for node in plan.namenodes]
    addresses += [address for node in nameservice.journalnodes for address in (node.rpc, node.http)]
    assert len(set(addresses)) == len(addresses) == 15


def test_clients_know_a_logical_name_and_the_namenodes_behind_it(plan: Layout) -> None:
    conf = plan.client_conf()
    assert plan.uri == "hdfs://howdah"
    assert conf.get(keys.FS_DEFAULTFS) == "hdfs://howdah"
    assert conf.get(keys.DFS_NAMESERVICES) == ["howdah"]
    assert conf.raw("dfs.ha.namenodes.howdah") == "namenode0,namenode1,namenode2"
    addresses = [conf.raw(f"dfs.namenode.rpc-address.howdah.namenode{n}") for n in range(3)]
    assert addresses == [node.rpc for node in plan.namenodes]
    provider = conf.raw("dfs.client.failover.proxy.provider.howdah")
    assert provider is not None
    assert provider.endswith(".ConfiguredFailoverProxyProvider")


def test_datanodes_report_to_all_namenodes(plan: Layout) -> None:
    found = datanode_nameservices(plan.server_conf("datanode0"))
    expected = [f"{host}:{port}" for host, port in found["howdah"]]
    assert expected == [node.rpc for node in plan.namenodes]


def test_a_namenode_and_its_controller_know_which_one_they_are(plan: Layout) -> None:
    for name in ("namenode1", "zkfc1"):
        conf = plan.server_conf(name)
        assert conf.get(keys.DFS_NAMESERVICE_ID) == "howdah"
        assert conf.get(keys.DFS_HA_NAMENODE_ID) == "namenode1"
    port = plan.server_conf("zkfc0").raw("dfs.ha.zkfc.port.howdah.namenode1")
    assert port == str(plan.namenodes[1].zkfc_port)
    web = "howdah.failover-controller.http-address"
    assert plan.server_conf("zkfc0").raw(web) == "127.0.0.1:0"
    assert plan.server_conf("namenode0").raw(web) is None


def test_namenodes_share_a_journal_of_all_journal_nodes(plan: Layout) -> None:
    nameservice = plan.nameservice
    assert nameservice is not None
    uris = {plan.server_conf(n.name).raw("dfs.namenode.shared.edits.dir") for n in plan.namenodes}
    nodes = ";".join(node.rpc for node in nameservice.journalnodes)
    assert uris == {f"qjournal://{nodes}/howdah"}


def test_namenodes_have_directories_of_their_own(plan: Layout, tmp_path: Path) -> None:
    dirs = [plan.server_conf(n.name).get(keys.DFS_NAMENODE_NAME_DIR) for n in plan.namenodes]
    assert dirs == [[tmp_path / f"namenode{number}" / "name"] for number in range(3)]


def test_a_journal_node_has_a_directory_and_addresses(plan: Layout, tmp_path: Path) -> None:
    conf = plan.server_conf("journalnode2")
    assert plan.nameservice is not None
    assert conf.raw("dfs.journalnode.edits.dir") == str(tmp_path / "journalnode2" / "edits")
    assert conf.raw("dfs.journalnode.rpc-address") == plan.nameservice.journalnodes[2].rpc
    assert conf.raw("dfs.journalnode.http-address") == plan.nameservice.journalnodes[2].http


def test_what_makes_failovers_quick_may_be_set_otherwise(tmp_path: Path) -> None:
    values = {
        "ha.health-monitor.check-interval.ms": "1000",
        "dfs.ha.fencing.methods": "sshfence",
        "dfs.client.failover.max.attempts": "3",
    }
    plan = Layout.plan(tmp_path, namenodes=2, values=values)
    for name, value in values.items():
        assert plan.server_conf("zkfc0").raw(name) == value
    assert plan.client_conf().get(keys.DFS_CLIENT_FAILOVER_MAX_ATTEMPTS) == 3


def test_a_nameservice_may_have_another_name(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, namenodes=2, values={"dfs.nameservices": "prod"})
    assert plan.uri == "hdfs://prod"
    assert plan.client_conf().raw("dfs.ha.namenodes.prod") == "namenode0,namenode1"


def test_without_automatic_failover_there_are_no_controllers(tmp_path: Path) -> None:
    values = {"dfs.ha.automatic-failover.enabled": "false"}
    plan = Layout.plan(tmp_path, namenodes=2, values=values)
    assert not [name for name in plan.names if role_of(name) == "zkfc"]
    assert plan.server_conf("namenode0").raw("dfs.ha.automatic-failover.enabled") == "false"


def test_zookeeper_is_a_server_that_controllers_know(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, namenodes=2, zookeeper=True)
    assert plan.nameservice is not None
    assert "zookeeper" in plan.names
    assert plan.server_conf("zkfc1").raw("ha.zookeeper.quorum") == plan.nameservice.zookeeper


@pytest.mark.parametrize(
    ("namenodes", "zookeeper", "values", "says"),
    [
        (0, False, {}, "0 namenodes"),
        (10, False, {}, "10 namenodes"),
        (1, True, {}, "no election"),
        (2, True, {"dfs.ha.automatic-failover.enabled": "false"}, "no ZooKeeper is wanted"),
        (2, False, {"dfs.nameservices": "a,b"}, "a cluster here has one"),
        (2, False, {"fs.defaultFS": "hdfs://127.0.0.1:1"}, "none has this address alone"),
        (2, False, {"dfs.namenode.http-address": "127.0.0.1:1"}, "none has this address"),
    ],
)
def test_layouts_that_cannot_be_are_refused(
    tmp_path: Path, namenodes: int, zookeeper: bool, values: dict[str, str], says: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=says):
        Layout.plan(tmp_path, namenodes=namenodes, zookeeper=zookeeper, values=values)


@pytest.mark.parametrize("zookeeper", [False, True])
def test_saved_layout_is_loaded_the_same(tmp_path: Path, zookeeper: bool) -> None:
    plan = Layout.plan(tmp_path, namenodes=2, zookeeper=zookeeper)
    plan.save()
    assert Layout.load(tmp_path) == plan
    saved = Configuration.load(plan.server_conf_dir("zkfc0"))
    assert saved.get(keys.DFS_HA_NAMENODE_ID) == "namenode0"


def test_layout_of_an_older_howdah_is_read(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=1)
    plan.save()
    path = tmp_path / "cluster.json"
    saved = json.loads(path.read_text())
    del saved["nameservice"], saved["namenode"]
    (namenode,) = plan.namenodes
    old = {**saved, "version": 1, "rpc": namenode.rpc, "http": namenode.http}
    path.write_text(json.dumps(old))
    assert Layout.load(tmp_path) == plan


@pytest.mark.parametrize(
    "values",
    [{"dfs.nameservices": "other"}, {"dfs.ha.automatic-failover.enabled": "false"}],
)
def test_a_nameservice_stays_what_it_was(plan: Layout, values: dict[str, str]) -> None:
    with pytest.raises(InvalidConfiguration, match="stays so"):
        plan.with_values(values)


def test_values_that_change_nothing_are_taken(plan: Layout) -> None:
    assert plan.with_values({"dfs.nameservices": "howdah", "a": "1"}).values == {
        "dfs.nameservices": "howdah",
        "a": "1",
    }


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"datanodes": 3, "namenodes": 3}, "has 2 datanodes, not 3"),
        ({"datanodes": None, "namenodes": 1}, "has 3 namenodes, not 1"),
        ({"datanodes": None, "namenodes": None, "zookeeper": True}, "has no ZooKeeper"),
    ],
)
def test_number_of_servers_stays(plan: Layout, wanted: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidConfiguration, match=says):
        plan.check_same(**wanted)


def test_no_server_is_given_a_misspelt_key(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, namenodes=2, zookeeper=True)
    for name in plan.names:
        assert list(plan.server_conf(name).misspelt()) == []
