"""The layout of a cluster with several nameservices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration, keys
from howdah.config.nameservices import datanode_nameservices, this_namenode
from howdah.errors import InvalidConfiguration
from howdah.formats.version import NamenodeVersion
from howdah.local.cluster import format_new, is_formatted
from howdah.local.layout import Layout
from howdah.local.nameservice import parse_nameservices
from howdah.storage.layout import StorageDirectory

pytestmark = pytest.mark.req("FS-043")


@pytest.fixture
def plan(tmp_path: Path) -> Layout:
    return Layout.plan(tmp_path, datanodes=2, nameservices=["a", "b"])


def test_each_nameservice_has_a_namenode_and_all_share_the_datanodes(plan: Layout) -> None:
    assert plan.names == ["namenode0", "namenode1", "datanode0", "datanode1"]
    assert plan.uris == ("hdfs://a", "hdfs://b")
    assert plan.uri == "hdfs://a"


def test_datanodes_report_to_all_nameservices(plan: Layout) -> None:
    found = datanode_nameservices(plan.server_conf("datanode1"))
    addresses = {name: [f"{host}:{port}" for host, port in all] for name, all in found.items()}
    first, second = plan.namenodes
    assert addresses == {"a": [first.rpc], "b": [second.rpc]}


def test_a_namenode_knows_which_nameservice_it_serves(plan: Layout, tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        conf = plan.server_conf(f"namenode{number}")
        identity = this_namenode(conf, lambda host: True)
        assert (identity.nameservice, identity.namenode) == (name, None)
        assert conf.get(keys.DFS_NAMENODE_NAME_DIR) == [tmp_path / f"namenode{number}" / "name"]


def test_highly_available_nameservices_share_journal_nodes_and_no_namenode(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=1, namenodes=2, nameservices=["a", "b"], zookeeper=True)
    assert plan.names == [
        *("namenode0", "namenode1", "namenode2", "namenode3"),
        *("zkfc0", "zkfc1", "zkfc2", "zkfc3"),
        *("journalnode0", "journalnode1", "journalnode2", "zookeeper"),
        "datanode0",
    ]
    conf = plan.client_conf()
    assert conf.raw("dfs.ha.namenodes.a") == "namenode0,namenode1"
    assert conf.raw("dfs.ha.namenodes.b") == "namenode2,namenode3"
    journals = [plan.server_conf(name).raw("dfs.namenode.shared.edits.dir") for name in plan.names]
    assert str(journals[0]).endswith("/a")
    assert journals[0] == journals[1]
    assert str(journals[2]).endswith("/b")
    controller = plan.server_conf("zkfc3")
    assert controller.get(keys.DFS_NAMESERVICE_ID) == "b"
    assert controller.get(keys.DFS_HA_NAMENODE_ID) == "namenode3"


def test_saved_layout_is_loaded_the_same(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=1, namenodes=2, nameservices=["a", "b"])
    plan.save()
    assert Layout.load(tmp_path) == plan
    with pytest.raises(InvalidConfiguration, match="has the nameservices a, b, not a, c"):
        plan.check_same(datanodes=1, namenodes=2, nameservices=["a", "c"])
    plan.check_same(datanodes=1, namenodes=2, nameservices=["a", "b"])


def test_nameservices_are_formatted_as_one_cluster_of_different_namespaces(plan: Layout) -> None:
    assert not is_formatted(plan)
    format_new(plan)
    assert is_formatted(plan)
    versions = [
        StorageDirectory(plan.dir / node.name / "name").read_version(NamenodeVersion)
        for node in plan.namenodes
    ]
    first, second = versions
    assert first.cluster_id == second.cluster_id
    assert first.block_pool_id != second.block_pool_id
    assert first.namespace_id != second.namespace_id


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nameservices": []}, "0 nameservices"),
        ({"nameservices": ["a", "a"]}, "a name is there twice"),
        ({"nameservices": ["a b"]}, "'a b': a name is the host of a URI"),
        ({"nameservices": ["a"], "zookeeper": True}, "no ZooKeeper is wanted"),
        ({"nameservices": ["a"], "values": {"fs.defaultFS": "hdfs://x:1"}}, "this address alone"),
        ({"nameservices": ["a"], "values": {"dfs.nameservices": "c"}}, "dfs.nameservices is a"),
        ({"nameservices": ["a"], "namenodes": 10}, "10 namenodes"),
    ],
)
def test_layouts_that_cannot_be_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        Layout.plan(tmp_path, **options)


@pytest.mark.parametrize(
    ("text", "names"), [("2", ("ns1", "ns2")), ("a,b", ("a", "b")), ("a", ("a",))]
)
def test_nameservices_are_asked_for_by_number_or_by_name(text: str, names: tuple[str, ...]) -> None:
    assert parse_nameservices(text) == names


def test_values_for_all_nameservices_may_change_and_their_names_not(plan: Layout) -> None:
    fresh = plan.with_values({"dfs.blocksize": "1m"})
    assert Configuration.get(fresh.client_conf(), keys.DFS_BLOCKSIZE) == 1 << 20
    with pytest.raises(InvalidConfiguration, match="since this cluster was made"):
        plan.with_values({"dfs.nameservices": "a"})
    with pytest.raises(InvalidConfiguration, match="there is no nameservice 'c', only a, b"):
        plan.nameservice_called("c")
