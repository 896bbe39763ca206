"""Controllers in threads against namenodes and journal nodes that fail (FS-069, FS-070)."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.failover import server
from howdah.failover.lease import LeaseElection, boot_ms
from howdah.failover.namenodes import Controller
from howdah.failover.server import CannotStart, FailoverServer, setup
from howdah.failover.service_calls import ControllerCalls
from howdah.failover.settings import targets
from howdah.failover.state.active_node import encode
from howdah.failover.state.candidate import Answer
from howdah.failover.state.elector import Breadcrumb
from howdah.proto import failover_pb2, ha_pb2
from howdah.protocol.rpc.call import Caller
from howdah.testing.waiting import wait_until

from .conftest import Cluster, MakeCluster


def test_a_controller_orders_as_a_controller(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    active = cluster.start_zkfcs()
    assert set(cluster.namenodes[active].sources) <= {ha_pb2.REQUEST_BY_ZKFC}


@pytest.mark.req("LM-013")
def test_three_namenodes_have_one_active_as_they_go_one_by_one(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(namenodes=3)
    first = cluster.start_zkfcs()
    cluster.namenodes[first].stop()
    rest = [number for number in range(3) if number != first]
    second = cluster.wait_for_active(*rest)
    cluster.namenodes[second].is_healthy = False
    (last,) = (number for number in rest if number != second)
    cluster.wait_for_active(last)


def test_one_journal_node_of_three_may_be_down(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.journal_nodes[0].stop()
    active = cluster.start_zkfcs()
    cluster.namenodes[active].is_healthy = False
    cluster.wait_for_active(1 - active)


def test_a_breadcrumb_is_written_though_the_nodes_are_being_asked(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster()
    reports: list[str] = []
    addresses = [("127.0.0.1", node.port) for node in cluster.journal_nodes]
    election = LeaseElection(
        addresses, "east", "me", 3000, lambda _, report, __: reports.append(report.name), print
    )
    election.join(1, b"me")
    wait_until(lambda: reports == ["ELECTED"])
    busy, go_on = threading.Barrier(4), threading.Event()

    def hold(client: object) -> Answer:
        busy.wait(10)
        go_on.wait(0.2)
        return Answer()

    for node in election._nodes:
        node.enqueue(hold, lambda number, answer: None, may_wait=True)
    busy.wait(10)
    election.write_breadcrumb(None)
    assert (election.read_breadcrumb() or Breadcrumb(b"", 0)).content == b"me"
    election.close()


def test_who_is_elected_is_asked_again_while_journal_nodes_are_slow(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster()
    elected = threading.Event()
    addresses = [("127.0.0.1", node.port) for node in cluster.journal_nodes]
    election = LeaseElection(addresses, "east", "me", 6000, lambda *_: elected.set(), print)
    election.join(1, b"me")
    assert elected.wait(20)
    go_on = threading.Event()

    def hold(client: object) -> Answer:
        go_on.wait(20)
        return Answer()

    for node in election._nodes[:2]:
        node.enqueue(hold, lambda number, answer: None, may_wait=True)
    # Longer than a round of questions takes, and not as long as the lease.
    threading.Timer(1.5 * election._call_timeout_s, go_on.set).start()
    assert election.active_content() == b"me"
    assert go_on.is_set(), "one node of three is no majority"
    election.close()


def test_journal_nodes_that_restart_one_by_one_cost_no_failover(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.start_zkfcs()
    orders = list(cluster.orders)
    for node in cluster.journal_nodes:
        node.stop()
        node.start()
        wait_until(node.lends)
    assert [each for each in cluster.orders[len(orders) :] if each[1] == "active"] == []


def test_nobody_becomes_active_without_a_majority_of_journal_nodes(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster()
    active = cluster.start_zkfcs()
    for node in cluster.journal_nodes[:2]:
        node.stop()
    running = cluster.zkfcs[1 - active].server.running
    before = len([order for order in cluster.orders if order[1] == "active"])
    cluster.namenodes[active].is_healthy = False
    with pytest.raises(errors.ServiceFailed, match="1 of 3 journal nodes"):
        running.active_content()
    assert len([order for order in cluster.orders if order[1] == "active"]) == before
    for node in cluster.journal_nodes[:2]:
        node.start()
    cluster.wait_for_active(1 - active)


@pytest.mark.req("FS-069", "FS-070")
def test_when_no_method_fences_nothing_becomes_active_and_the_log_says_why(
    make_cluster: MakeCluster, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    fence = tmp_path / "fence"
    cluster = make_cluster()
    cluster.settings["dfs.ha.fencing.methods"] = f"shell(test -e {fence})"
    active = cluster.start_zkfcs()
    cluster.namenodes[active].refuses = "transitionToStandby"
    cluster.namenodes[active].is_healthy = False
    refusal = f"Unable to fence NameNode at 127.0.0.1:{cluster.namenodes[active].port}"
    wait_until(lambda: any(refusal in record.getMessage() for record in caplog.records))
    assert cluster.states()[1 - active] == "standby"
    assert caplog.records[-1].levelno <= logging.ERROR
    fence.touch()
    wait_until(lambda: cluster.states()[1 - active] == "active")


def test_a_controller_that_is_gone_is_replaced_when_its_lease_has_run_out(
    make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_cluster()
    holders: list[str] = []
    addresses = [("127.0.0.1", node.port) for node in cluster.journal_nodes]
    gone = LeaseElection(
        addresses, "east", "gone", 2000, lambda _, report, __: holders.append(report.name), print
    )
    content = encode(targets(cluster.conf(), "east")["nn0"])
    gone.join(1, content)
    wait_until(lambda: holders == ["ELECTED"])
    gone.write_breadcrumb(None)
    # Its threads end without giving the lease back, as after kill -9.
    monkeypatch.setattr(gone, "_release", lambda: None)
    gone.close()
    cluster.start_zkfc(1)
    cluster.wait_for_active(1)
    assert cluster.orders == [("nn1", "standby"), ("nn0", "standby"), ("nn1", "active")] or (
        cluster.orders == [("nn0", "standby"), ("nn1", "active")]
    )


@pytest.mark.req("FS-070")
def test_hostile_content_of_the_election_makes_nothing_active(
    make_cluster: MakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = make_cluster()
    reports: list[str] = []
    addresses = [("127.0.0.1", node.port) for node in cluster.journal_nodes]
    hostile = LeaseElection(
        addresses, "east", "hostile", 3000, lambda _, report, __: reports.append(report.name), print
    )
    hostile.join(1, b"\xffevil")
    wait_until(lambda: reports == ["ELECTED"])
    hostile.write_breadcrumb(None)
    hostile.close()
    cluster.start_zkfc(0)
    message = "the election names no namenode, but ff6576696c"
    wait_until(lambda: any(message in record.getMessage() for record in caplog.records))
    assert "active" not in cluster.states()


def test_a_namenode_that_was_changed_by_somebody_else_is_elected_anew(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster()
    active = cluster.start_zkfcs()
    cluster.namenodes[active].become(ha_pb2.STANDBY)
    cluster.wait_for_active()


def test_an_observer_is_never_ordered_to_be_anything(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(namenodes=2)
    cluster.namenodes[1].become(ha_pb2.OBSERVER)
    cluster.start_zkfcs()
    assert cluster.states() == ["active", "observer"]
    controller = Controller(targets(cluster.conf(), "east")["nn1"], 20)
    with pytest.raises(errors.ServiceFailed, match="is in observer state"):
        controller.fail_over_to_it()
    controller.close()


def test_the_clock_of_a_lease_is_not_set_back() -> None:
    assert boot_ms() <= boot_ms()


# -- what other controllers and administrators ask


def caller(user: str) -> Caller:
    return Caller(user, b"", 0, -1, "10.0.0.1")


def test_only_administrators_order_a_controller() -> None:
    ceded: list[int] = []
    calls = ControllerCalls(ceded.append, lambda: None, {"hdfs", "admin"})
    request = failover_pb2.CedeActiveRequestProto(millisToCede=500)
    calls.cede_active(request, caller("admin/host@REALM"))
    with pytest.raises(errors.AccessDenied, match="Disallowed RPC access from eve"):
        calls.cede_active(request, caller("eve"))
    with pytest.raises(errors.AccessDenied):
        calls.graceful_failover(failover_pb2.GracefulFailoverRequestProto(), caller("eve"))
    assert ceded == [500]


def test_a_time_to_cede_below_zero_is_no_time_and_too_long_a_one_is_refused() -> None:
    ceded: list[int] = []
    calls = ControllerCalls(ceded.append, lambda: None, {"x"})
    calls.cede_active(failover_pb2.CedeActiveRequestProto(millisToCede=0xFFFFFFFF), caller("x"))
    assert ceded == [-1]
    with pytest.raises(errors.IllegalArgument):
        calls.cede_active(failover_pb2.CedeActiveRequestProto(millisToCede=2**31 - 1), caller("x"))


def test_administrators_are_users_and_members_of_groups() -> None:
    conf = Configuration({"dfs.cluster.administrators": "alice,bob root,no-such-group"})
    assert {"alice", "bob"} <= server._administrators(conf)
    assert "root" in server._administrators(conf)


def test_groups_alone_stand_behind_a_blank(tmp_path: Path) -> None:
    """Also from a site file; groups are those of the static mapping and primary ones, too."""
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    (tmp_path / "hdfs-site.xml").write_text(
        "<configuration><property><name>dfs.cluster.administrators</name>"
        "<value> root,ops</value></property><property>"
        "<name>hadoop.user.group.static.mapping.overrides</name><value>carol=ops</value>"
        "</property></configuration>"
    )
    found = server._administrators(Configuration.load(tmp_path))
    assert "root" in found, "by the primary group"
    assert "carol" in found, "by the static mapping"
    assert not {"ops", "eve"} & set(found)
    assert "ops" not in found
    assert "eve" in server._administrators(Configuration({"dfs.cluster.administrators": "*"}))


# -- before a controller starts


def refusal(cluster: Cluster, **changes: str) -> CannotStart:
    cluster.settings |= {key.replace("__", "."): value for key, value in changes.items()}
    with pytest.raises(CannotStart) as told:
        FailoverServer(setup(cluster.conf(0)))
    return told.value


def test_a_controller_does_not_start_without_automatic_failover(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.settings["dfs.ha.automatic-failover.enabled"] = "false"
    assert refusal(cluster).exit_code == 5


def test_a_controller_does_not_start_without_a_fencing_method(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    del cluster.settings["dfs.ha.fencing.methods"]
    assert refusal(cluster).exit_code == 4


def test_a_controller_needs_journal_nodes_or_a_zookeeper(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.settings["dfs.namenode.shared.edits.dir"] = "file:///shared"
    with pytest.raises(errors.InvalidConfiguration, match=r"qjournal://HOST:PORT;…/ID"):
        FailoverServer(setup(cluster.conf(0)))


@pytest.mark.req("FS-073", "LM-017")
def test_a_method_that_does_nothing_is_warned_of_where_the_log_is_in_a_directory(
    make_cluster: MakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = make_cluster(journal_nodes=0)
    cluster.settings |= {
        "dfs.namenode.shared.edits.dir": "file:///shared",
        "dfs.ha.fencing.methods": "shell(/bin/true)",
    }
    with pytest.raises(errors.InvalidConfiguration):
        FailoverServer(setup(cluster.conf(0)))
    assert "shell(/bin/true) fences nobody" in caplog.text


def test_a_controller_needs_a_namenode_of_several() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="HA is not enabled"):
        setup(Configuration({"fs.defaultFS": "hdfs://127.0.0.1:1"}))
