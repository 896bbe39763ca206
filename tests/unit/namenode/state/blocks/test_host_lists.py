"""Which datanodes may take part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import DatanodeIdentity
from howdah.namenode.state.blocks.host_lists import FOR_EVER_MS, Hosts, parse_combined, parse_hosts
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as datanode_pb
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

NAMES = {"worker1": ["10.0.0.1"], "worker2": ["10.0.0.2", "fd00::2"]}


def identity(ip: str, port: int = 9866, hostname: str = "") -> DatanodeIdentity:
    return DatanodeIdentity("u", ip, hostname or ip, port, 9864, 9867)


def hosts(included: str = "", excluded: str = "") -> Hosts:
    def of(name: str) -> Iterable[str]:
        return NAMES.get(name, ())

    return Hosts(parse_hosts(included, "in", of), parse_hosts(excluded, "out", of))


def test_an_empty_list_allows_everybody() -> None:
    assert hosts("# nobody yet\n\n").allows(identity("10.1.1.1"))


def test_names_stand_for_their_addresses() -> None:
    lists = hosts("worker1 worker2 # and a comment\n")
    assert [lists.allows(identity(ip)) for ip in ("10.0.0.1", "fd00::2", "10.0.0.3")] == [
        True,
        True,
        False,
    ]


def test_a_name_without_address_lets_nobody_in_who_calls_itself_so() -> None:
    assert not hosts("worker9").allows(identity("10.0.0.9", hostname="worker9"))
    assert hosts("worker1 worker9").allows(identity("10.0.0.1", hostname="whatever"))


def test_an_entry_with_a_port_means_the_datanode_there() -> None:
    lists = hosts("worker1:9866 [fd00::2]:50010")
    assert lists.allows(identity("10.0.0.1", 9866))
    assert not lists.allows(identity("10.0.0.1", 9867))
    assert lists.allows(identity("fd00::2", 50010))


def test_addresses_may_be_written_in_any_way() -> None:
    assert hosts("FD00:0::2").allows(identity("fd00::2"))


def test_a_port_that_is_none_is_named() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="in: 'worker1:http'"):
        hosts("worker1:http")


def test_who_is_excluded_and_not_included_does_not_belong() -> None:
    lists = hosts("worker1", "worker2")
    assert not lists.allows(identity("10.0.0.2"))
    assert not lists.to_decommission(identity("10.0.0.2"))


def test_who_is_in_both_lists_is_to_leave() -> None:
    assert hosts("worker1 worker2", "worker2").to_decommission(identity("10.0.0.2"))


# In a namenode.


def claiming(namenode: InMemoryNamenode, peer: str, claim: str) -> Callable[[], object]:
    """A registration from `peer`, under a new uuid, of a node that says it is at `claim`."""
    registration = InMemoryDatanode(namenode, "stranger", claim, {}).registration()
    request = datanode_pb.RegisterDatanodeRequestProto(registration=registration)
    return lambda: namenode.call("registerDatanode", request, address=peer)


@pytest.fixture
def namenode() -> InMemoryNamenode:
    namenode = InMemoryNamenode()
    namenode.join("dn0")
    namenode.join("dn1")
    return namenode


def test_a_stranger_may_not_register(namenode: InMemoryNamenode) -> None:
    namenode.namesystem.datanode_manager.hosts = hosts("10.0.0.1 10.0.0.2")
    with pytest.raises(errors.DisallowedDatanode, match=r"10\.0\.0\.3:9866"):
        namenode.join("dn2")


@pytest.mark.parametrize("claim", ["10.0.0.1", "worker1"])
def test_a_stranger_may_not_come_in_under_anothers_address(
    namenode: InMemoryNamenode, claim: str
) -> None:
    namenode.namesystem.datanode_manager.hosts = hosts("10.0.0.1 10.0.0.2 worker1")
    stranger = claiming(namenode, "10.6.6.6", claim)
    with pytest.raises(errors.DisallowedDatanode, match=r"10\.6\.6\.6:9866"):
        stranger()
    assert [node.name for node in namenode.namesystem.datanode_manager.datanodes.live()] == [
        "10.0.0.1:9866",
        "10.0.0.2:9866",
    ]


def test_who_is_taken_out_counts_no_more_and_is_told_so(namenode: InMemoryNamenode) -> None:
    Administration(namenode.namesystem).apply_hosts(hosts("10.0.0.1"))
    assert [node.name for node in namenode.namesystem.datanode_manager.datanodes.live()] == [
        "10.0.0.1:9866"
    ]
    with pytest.raises(errors.DisallowedDatanode):
        namenode.nodes[1].heartbeat()


def test_who_is_let_in_again_registers(namenode: InMemoryNamenode) -> None:
    administration = Administration(namenode.namesystem)
    administration.apply_hosts(hosts("10.0.0.1"))
    administration.apply_hosts(hosts())
    namenode.nodes[1].register()
    assert len(namenode.namesystem.datanode_manager.datanodes.live()) == 2


def test_who_may_come_and_never_came_is_reported_dead(namenode: InMemoryNamenode) -> None:
    namenode.namesystem.datanode_manager.hosts = hosts("10.0.0.1 10.0.0.2 worker9:50010")
    answer: Any = namenode.call("getDatanodeReport", pb.GetDatanodeReportRequestProto(type=pb.DEAD))
    assert [(node.id.hostName, node.id.xferPort) for node in answer.di] == [("worker9", 50010)]


def test_only_the_superuser_has_the_lists_read_anew(namenode: InMemoryNamenode) -> None:
    with pytest.raises(errors.AccessDenied):
        Administration(namenode.namesystem).read_node_files(
            Caller("mallory", b"", -1, 0, "10.9.9.9"), lambda error: None
        )


def test_who_is_to_leave_and_comes_leaves(namenode: InMemoryNamenode) -> None:
    namenode.namesystem.datanode_manager.hosts = hosts("", "10.0.0.3")
    namenode.join("dn2")
    assert len(namenode.namesystem.datanode_manager.datanodes.live()) == 3
    assert namenode.nodes[2].known.admin_state is AdminState.DECOMMISSION_INPROGRESS


def test_who_is_excluded_and_never_came_has_left(namenode: InMemoryNamenode) -> None:
    namenode.namesystem.datanode_manager.hosts = hosts(
        "10.0.0.1 10.0.0.2 10.0.0.3:50010", "10.0.0.3"
    )
    answer: Any = namenode.call("getDatanodeReport", pb.GetDatanodeReportRequestProto(type=pb.DEAD))
    assert [node.adminState for node in answer.di] == [AdminState.DECOMMISSIONED]


# The JSON file.


def combined(text: str) -> Hosts:
    def of(name: str) -> Iterable[str]:
        return NAMES.get(name, ())

    return Hosts.ordered(parse_combined(text, "all.json", of))


ONE_EACH = """[
    {"hostName": "worker1", "upgradeDomain": "u1"},
    {"hostName": "worker2", "port": 50010, "adminState": "DECOMMISSIONED"},
    {"hostName": "10.0.0.3", "adminState": "IN_MAINTENANCE", "maintenanceExpireTimeInMS": 12345}
]"""


@pytest.mark.parametrize("text", [ONE_EACH, ONE_EACH.replace(",\n", "\n").strip("[]")])
def test_one_json_file_names_them_all_and_what_is_to_become_of_them(text: str) -> None:
    lists = combined(text)
    kept, leaves, rests = identity("10.0.0.1"), identity("10.0.0.2", 50010), identity("10.0.0.3")
    assert all(lists.allows(each) for each in (kept, leaves, rests))
    assert not lists.allows(identity("10.0.0.2", 9866))
    assert [lists.to_decommission(each) for each in (kept, leaves, rests)] == [False, True, False]
    assert [lists.maintenance_until_ms(each) for each in (kept, leaves, rests)] == [0, 0, 12345]
    assert [lists.upgrade_domain(each) for each in (kept, leaves, rests)] == ["u1", "", ""]


def test_a_json_file_without_any_in_service_keeps_nobody_out() -> None:
    lists = combined('{"hostName": "worker1", "adminState": "DECOMMISSIONED"}')
    assert lists.allows(identity("10.9.9.9"))
    assert lists.to_decommission(identity("10.0.0.1"))


def test_maintenance_without_a_time_has_no_end() -> None:
    lists = combined('{"hostName": "worker1", "adminState": "IN_MAINTENANCE"}')
    assert lists.maintenance_until_ms(identity("10.0.0.1")) == FOR_EVER_MS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "no JSON"),
        ("[1]", "is no object"),
        ('{"port": 1}', "no hostName"),
        ('{"hostName": "a", "port": 65536}', "beyond 65535"),
        ('{"hostName": "a", "port": "1"}', "port that is no number"),
        ('{"hostName": 1}', "hostName that is no text"),
        ('{"hostName": "a", "adminState": "DECOMMISSION_INPROGRESS"}', "cannot be ordered"),
        ('{"hostName": "a", "rack": "/r"}', "'rack'"),
    ],
)
def test_a_json_file_that_is_none_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=complaint) as refusal:
        combined(text)
    assert "all.json" in str(refusal.value)
