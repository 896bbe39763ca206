from __future__ import annotations

import json
from pathlib import Path

import pytest

from howdah.config import Configuration, keys
from howdah.errors import InvalidConfiguration
from howdah.local import ports as module
from howdah.local.layout import Layout, role_of


def test_names_are_numbered(tmp_path: Path) -> None:
    assert Layout.plan(tmp_path, datanodes=2).names == ["namenode", "datanode0", "datanode1"]


def test_each_datanode_has_an_address_of_its_own(tmp_path: Path) -> None:
    hosts = [node.host for node in Layout.plan(tmp_path, datanodes=3).datanodes]
    assert hosts == ["127.0.0.11", "127.0.0.12", "127.0.0.13"]


def test_no_address_is_given_out_twice(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=20)
    addresses = [plan.namenodes[0].rpc, plan.namenodes[0].http]
    for node in plan.datanodes:
        addresses += [f"{node.host}:{p}" for p in (node.data_port, node.ipc_port, node.http_port)]
    assert len(set(addresses)) == len(addresses) == 62


def test_racks_are_dealt_out_in_turn(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=3, racks=["a", "/b/c"])
    assert [node.rack for node in plan.datanodes] == ["/a", "/b/c", "/a"]


def test_racks_are_found_by_address(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=2, racks=["/a", "/b"])
    plan.save()
    assert plan.rack_table.read_text() == "127.0.0.11 /a\n127.0.0.12 /b\n"
    conf = Configuration.load(plan.server_conf_dir("namenode"))
    assert conf.get(keys.NET_TOPOLOGY_TABLE_FILE_NAME) == str(plan.rack_table)


def test_racks_are_refused_where_addresses_cannot_tell_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_can_bind", lambda host, port: host == "127.0.0.1")
    with pytest.raises(InvalidConfiguration, match="racks are assigned by address"):
        Layout.plan(tmp_path, datanodes=2, racks=["/a", "/b"])


def test_datanodes_share_an_address_where_there_is_one_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_can_bind", lambda host, port: host == "127.0.0.1")
    plan = Layout.plan(tmp_path, datanodes=2)
    assert [node.host for node in plan.datanodes] == ["127.0.0.1", "127.0.0.1"]


@pytest.mark.parametrize("count", [0, -1, 300])
def test_number_of_datanodes_has_bounds(tmp_path: Path, count: int) -> None:
    with pytest.raises(InvalidConfiguration, match="datanode"):
        Layout.plan(tmp_path, datanodes=count)


def test_volumes_may_have_storage_types(tmp_path: Path) -> None:
    conf = Layout.plan(tmp_path, volumes=["SSD", "DISK"]).server_conf("datanode1")
    assert conf.get(keys.DFS_DATANODE_DATA_DIR) == [
        ("SSD", tmp_path / "datanode1" / "data0"),
        ("DISK", tmp_path / "datanode1" / "data1"),
    ]


@pytest.mark.parametrize("volumes", [0, [], ["TAPE"]])
def test_volumes_that_cannot_be_are_refused(tmp_path: Path, volumes: int | list[str]) -> None:
    with pytest.raises(InvalidConfiguration, match=r"volume|storage type"):
        Layout.plan(tmp_path, volumes=volumes)


def test_saved_layout_is_loaded_the_same(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=2, volumes=2, values={"dfs.blocksize": "1m"})
    plan.save()
    assert Layout.load(tmp_path) == plan


def test_directory_without_a_cluster_has_no_layout(tmp_path: Path) -> None:
    assert Layout.load(tmp_path) is None


@pytest.mark.parametrize("text", ["{", json.dumps({"version": 99})])
def test_damaged_layout_names_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.json").write_text(text)
    with pytest.raises(InvalidConfiguration, match=r"cluster\.json"):
        Layout.load(tmp_path)


# -- values ---------------------------------------------------------------------------


def test_values_reach_servers_and_clients(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, values={"dfs.block.size": "1m"})
    for conf in (plan.client_conf(), *map(plan.server_conf, plan.names)):
        assert conf.get(keys.DFS_BLOCKSIZE) == 1 << 20


def test_values_win_over_what_makes_a_cluster_quick(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, values={"dfs.heartbeat.interval": "5"})
    assert plan.server_conf("datanode0").get(keys.DFS_HEARTBEAT_INTERVAL) == 5


def names_of(plan: Layout) -> list[str | None]:
    return [plan.server_conf(node.name).get(keys.DFS_DATANODE_HOSTNAME) for node in plan.datanodes]


def test_datanodes_without_racks_have_a_name_that_no_scheduler_waits_for(tmp_path: Path) -> None:
    assert names_of(Layout.plan(tmp_path, datanodes=2)) == ["localhost", "localhost"]


def test_datanodes_in_racks_are_called_by_their_addresses(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, datanodes=2, racks=["/a", "/b"])
    assert names_of(plan) == ["127.0.0.11", "127.0.0.12"]


@pytest.mark.parametrize("who", ["client", "datanode"])
def test_datanodes_have_names_where_somebody_connects_by_name(tmp_path: Path, who: str) -> None:
    values = {f"dfs.{who}.use.datanode.hostname": "true"}
    assert names_of(Layout.plan(tmp_path, datanodes=1, values=values)) == ["127.0.0.11"]


def test_name_of_datanodes_may_be_set(tmp_path: Path) -> None:
    values = {"dfs.datanode.hostname": "here"}
    plan = Layout.plan(tmp_path, datanodes=1, racks=["/a"], values=values)
    assert names_of(plan) == ["here"]


def test_replication_is_no_more_than_there_are_datanodes(tmp_path: Path) -> None:
    assert Layout.plan(tmp_path, datanodes=1).client_conf().get(keys.DFS_REPLICATION) == 1


@pytest.mark.parametrize("key", ["fs.defaultFS", "fs.default.name", "dfs.namenode.rpc-address"])
def test_address_of_the_namenode_may_be_fixed(tmp_path: Path, key: str) -> None:
    value = "hdfs://127.0.0.1:4711" if key.startswith("fs.") else "127.0.0.1:4711"
    plan = Layout.plan(tmp_path, values={key: value})
    assert plan.uri == "hdfs://127.0.0.1:4711"
    assert plan.client_conf().get(keys.FS_DEFAULTFS) == plan.uri
    # fsck asks there.
    assert plan.client_conf().raw("dfs.namenode.http-address") == plan.namenodes[0].http


def test_port_zero_is_chosen(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, values={"dfs.namenode.rpc-address": "127.0.0.1:0"})
    assert not plan.uri.endswith(":0")


def test_values_of_a_later_start_are_added(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, values={"a": "1", "b": "1"}).with_values({"b": "2"})
    assert plan.values == {"a": "1", "b": "2"}


def test_address_stays_as_it_was_made(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path)
    with pytest.raises(InvalidConfiguration, match="stays so"):
        plan.with_values({"fs.defaultFS": "hdfs://127.0.0.1:1"})


def test_address_that_is_the_same_is_no_change(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path)
    assert plan.with_values({"fs.defaultFS": plan.uri}) == plan


def test_clients_files_are_hadoops(tmp_path: Path) -> None:
    plan = Layout.plan(tmp_path, values={"dfs.blocksize": "1m", "io.file.buffer.size": "8k"})
    plan.save()
    core = (plan.conf_dir / "core-site.xml").read_text()
    assert plan.uri in core
    assert "io.file.buffer.size" in core
    assert "dfs.blocksize" in (plan.conf_dir / "hdfs-site.xml").read_text()


def test_unknown_server_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="no server 'datanode9'"):
        Layout.plan(tmp_path).datanode("datanode9")


@pytest.mark.parametrize(("name", "role"), [("namenode", "namenode"), ("datanode12", "datanode")])
def test_role_is_the_name_without_its_number(name: str, role: str) -> None:
    assert role_of(name) == role


def test_no_server_is_given_a_key_without_effect(tmp_path: Path) -> None:
    layout = Layout.plan(tmp_path, datanodes=2, racks=["/a", "/b"])
    for name in layout.names:
        conf = layout.server_conf(name)
        assert [*conf.set_in_vain(), *conf.misspelt()] == []
