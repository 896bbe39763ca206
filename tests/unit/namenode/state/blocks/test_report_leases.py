"""Leases of full block reports: so many at a time, each for one datanode and some time."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks.report_leases import NO_LEASE, ReportLeases
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, InMemoryNamenode


def everybody(uuid: str) -> bool:
    return True


def test_as_many_leases_as_allowed_are_out_and_the_next_waits_for_one_that_is_done() -> None:
    leases = ReportLeases(2, 1000)
    one, two = leases.request("dn1", everybody, 0), leases.request("dn2", everybody, 0)
    assert NO_LEASE not in (one, two)
    assert one != two
    assert leases.request("dn3", everybody, 0) == NO_LEASE
    leases.check("dn1", one, 10)
    leases.release("dn1")
    assert leases.request("dn3", everybody, 10) != NO_LEASE


def test_a_lease_is_for_one_datanode_and_a_new_one_ends_the_old() -> None:
    leases = ReportLeases(2, 1000)
    first = leases.request("dn1", everybody, 0)
    second = leases.request("dn1", everybody, 0)
    assert len(leases) == 1
    with pytest.raises(errors.InvalidReportLease, match="it has"):
        leases.check("dn1", first, 1)
    with pytest.raises(errors.InvalidReportLease, match="it has none"):
        leases.check("dn2", second, 1)
    leases.check("dn1", second, 1)


def test_a_lease_ends_in_time_and_is_free_for_others_then() -> None:
    leases = ReportLeases(1, 1000)
    lease = leases.request("dn1", everybody, 0)
    assert leases.request("dn2", everybody, 999) == NO_LEASE
    with pytest.raises(errors.InvalidReportLease, match="ended 5 ms ago"):
        leases.check("dn1", lease, 1005)
    leases.request("dn1", everybody, 1005)
    assert leases.request("dn2", everybody, 2005) != NO_LEASE


def test_a_dead_datanode_keeps_nobody_from_reporting() -> None:
    leases = ReportLeases(1, 1000)
    leases.request("dn1", everybody, 0)
    assert leases.request("dn2", lambda uuid: uuid != "dn1", 1) != NO_LEASE


def test_a_report_that_an_administrator_asked_for_needs_no_lease() -> None:
    ReportLeases(1, 1000).check("dn1", NO_LEASE, 0)


class Cluster:
    """A namenode that lets two datanodes report at a time, and four datanodes."""

    def __init__(self) -> None:
        self.namenode = InMemoryNamenode(Settings(POOL_ID, max_report_leases=2))
        self.nodes = [self.namenode.join(f"dn{number}") for number in range(4)]

    def lease(self, node: InMemoryDatanode) -> int:
        answer = self.namenode.call(
            "sendHeartbeat",
            dn.HeartbeatRequestProto(
                registration=node.registration(), requestFullBlockReportLease=True
            ),
        )
        assert isinstance(answer, dn.HeartbeatResponseProto)
        return answer.fullBlockReportLeaseId

    def report(self, node: InMemoryDatanode, lease: int, call: int = 0, calls: int = 1) -> None:
        self.namenode.call(
            "blockReport",
            dn.BlockReportRequestProto(
                registration=node.registration(),
                blockPoolId=POOL_ID,
                context=dn.BlockReportContextProto(
                    totalRpcs=calls, curRpc=call, id=1, leaseId=lease
                ),
            ),
        )


def test_datanodes_that_all_want_to_report_do_so_by_twos() -> None:
    cluster = Cluster()
    leases = [cluster.lease(node) for node in cluster.nodes]
    assert [bool(lease) for lease in leases] == [True, True, False, False]
    first = cluster.nodes[0]
    cluster.report(first, leases[0], call=0, calls=2)
    assert not cluster.lease(cluster.nodes[2]), "the first has not told all"
    cluster.report(first, leases[0], call=1, calls=2)
    assert cluster.lease(cluster.nodes[2])
    with pytest.raises(errors.InvalidReportLease):
        cluster.report(first, leases[0])


def test_a_datanode_whose_lease_came_to_an_end_is_refused() -> None:
    cluster = Cluster()
    lease = cluster.lease(cluster.nodes[0])
    cluster.namenode.clock.advance(300_000)
    with pytest.raises(errors.InvalidReportLease, match="ended"):
        cluster.report(cluster.nodes[0], lease)
