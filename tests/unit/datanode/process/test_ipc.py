"""ClientDatanodeProtocol over a real connection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah import __version__, errors
from howdah.config import Configuration
from howdah.datanode.disk_balancer.worker import DiskBalancer
from howdah.datanode.process.ipc import PROTOCOL, ClientDatanodeProtocol, service
from howdah.datanode.process.reconfiguration import NamenodesRefresh
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.block_tokens import KnownKeys
from howdah.datanode.state.disk_balancer.work import DiskBalancerSettings, WorkRules
from howdah.datanode.state.messages import (
    Event,
    NamenodesAsked,
    PoolDeleted,
    ReportAsked,
    ShutdownAsked,
)
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer.data_server import listen
from howdah.datanode.transfer.guard import Guard
from howdah.diskbalancer.plan_files import plan_id, plan_text
from howdah.diskbalancer.planner import NodePlan
from howdah.diskbalancer.status import WorkResult
from howdah.formats.tokens.block_keys import BlockKey, ExportedKeys
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.formats.version import SHOWN_VERSION
from howdah.fs.hdfs.administration import DatanodeAdministration
from howdah.proto import client_datanode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.proven import KERBEROS, TOKEN, Proven
from howdah.protocol.rpc.service import Registry
from howdah.rpc.client import RpcClient
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.testing.waiting import wait_until

Lab = Any


class Ipc:
    def __init__(self, node: Any) -> None:
        self.told: list[Any] = []
        listener = listen(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.uuid = ""
        self.disk_balancer = DiskBalancer(
            node.store, node.settings.disk_balancer, lambda: self.uuid
        )
        self.protocol = ClientDatanodeProtocol(
            node.store,
            self.told.append,
            "owner",
            balance_bandwidth=lambda: node.server.balancing.bytes_per_s,
            disk_balancer=self.disk_balancer,
        )
        self.server = ThreadedRpcServer(listener, Registry([service(self.protocol)]))
        self.server.start()

    def client(self, user: str = "owner") -> RpcClient:
        return RpcClient(self.address, PROTOCOL, user=user)


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


@pytest.fixture
def ipc(node: Any) -> Iterator[Ipc]:
    served = Ipc(node)
    yield served
    served.server.close()


def visible_length(ipc: Ipc, block: Any) -> int:
    answer = ipc.client("reader").call(
        "getReplicaVisibleLength",
        pb.GetReplicaVisibleLengthRequestProto(block=block.to_proto()),
        pb.GetReplicaVisibleLengthResponseProto,
    )
    return answer.length


@pytest.mark.req("FS-149")
def test_the_visible_length_of_an_open_block_is_what_was_acknowledged(
    ipc: Ipc, node: Any, lab: Lab
) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block()))
    assert visible_length(ipc, lab.block()) == 0
    writer.send(0, bytes(1000))
    writer.ack()
    assert visible_length(ipc, lab.block()) == 1000


def test_the_visible_length_of_a_block_that_is_not_here_is_an_error(ipc: Ipc, lab: Lab) -> None:
    with pytest.raises(errors.ReplicaNotFound, match="Replica not found"):
        visible_length(ipc, lab.block(9))


def test_the_datanode_says_what_it_is(ipc: Ipc) -> None:
    answer = ipc.client().call(
        "getDatanodeInfo", pb.GetDatanodeInfoRequestProto(), pb.GetDatanodeInfoResponseProto
    )
    assert answer.localInfo.softwareVersion == SHOWN_VERSION == f"howdah {__version__}"
    assert answer.localInfo.uptime >= 0


def test_an_administrator_sees_the_volumes(ipc: Ipc, node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), bytes(1000))
    answer = ipc.client().call(
        "getVolumeReport", pb.GetVolumeReportRequestProto(), pb.GetVolumeReportResponseProto
    )
    assert [(info.path, info.numBlocks) for info in answer.volumeInfo] == [
        (node.volumes.all[0].path, 1)
    ]


def test_what_is_for_the_control_process_is_passed_on(ipc: Ipc) -> None:
    ipc.client().call(
        "triggerBlockReport",
        pb.TriggerBlockReportRequestProto(incremental=True),
        pb.TriggerBlockReportResponseProto,
    )
    ipc.client().call(
        "shutdownDatanode",
        pb.ShutdownDatanodeRequestProto(forUpgrade=False),
        pb.ShutdownDatanodeResponseProto,
    )
    assert ipc.told == [ReportAsked(True), ShutdownAsked(False)]


@pytest.mark.parametrize(
    ("method", "request_", "answer"),
    [
        (
            "shutdownDatanode",
            pb.ShutdownDatanodeRequestProto(forUpgrade=False),
            pb.ShutdownDatanodeResponseProto,
        ),
        (
            "triggerBlockReport",
            pb.TriggerBlockReportRequestProto(incremental=True),
            pb.TriggerBlockReportResponseProto,
        ),
        (
            "submitDiskBalancerPlan",
            pb.SubmitDiskBalancerPlanRequestProto(planID="1", plan="{}", planFile="p"),
            pb.SubmitDiskBalancerPlanResponseProto,
        ),
        (
            "cancelDiskBalancerPlan",
            pb.CancelPlanRequestProto(planID="1"),
            pb.CancelPlanResponseProto,
        ),
        (
            "queryDiskBalancerPlan",
            pb.QueryPlanStatusRequestProto(),
            pb.QueryPlanStatusResponseProto,
        ),
        (
            "getDiskBalancerSetting",
            pb.DiskBalancerSettingRequestProto(key="DiskBalancerBandwidth"),
            pb.DiskBalancerSettingResponseProto,
        ),
        ("getVolumeReport", pb.GetVolumeReportRequestProto(), pb.GetVolumeReportResponseProto),
    ],
)
def test_others_do_not_administer(ipc: Ipc, method: str, request_: Any, answer: Any) -> None:
    with pytest.raises(errors.AccessDenied, match="guest is not owner"):
        ipc.client("guest").call(method, request_, answer)
    assert ipc.told == []


def test_paths_of_block_files_are_not_given_out(ipc: Ipc, lab: Lab) -> None:
    token = rpc_pb2.TokenProto(identifier=b"", password=b"", kind="", service="")
    with pytest.raises(errors.AccessDenied, match="getBlockLocalPathInfo is not offered"):
        ipc.client().call(
            "getBlockLocalPathInfo",
            pb.GetBlockLocalPathInfoRequestProto(block=lab.block().to_proto(), token=token),
            pb.GetBlockLocalPathInfoResponseProto,
        )


# The disk balancer.


def test_a_plan_is_submitted_asked_about_and_refused(ipc: Ipc) -> None:
    ipc.uuid = "uuid"
    datanode = DatanodeAdministration(ipc.address, "owner")
    text = plan_text(NodePlan("host", "uuid", 1, 1 << 60, ()))
    assert datanode.disk_balancer_status().result is WorkResult.NO_PLAN
    datanode.submit_disk_balancer_plan(text, "/plans/host.plan.json")
    wait_until(lambda: datanode.disk_balancer_status().result is WorkResult.PLAN_DONE)
    status = datanode.disk_balancer_status()
    assert (status.plan_id, status.plan_file) == (plan_id(text), "/plans/host.plan.json")
    assert status.entries == ()
    datanode.cancel_disk_balancer_plan(plan_id(text))
    assert datanode.disk_balancer_setting("DiskBalancerBandwidth") == "10"
    with pytest.raises(errors.DiskBalancerError, match=r"^No such plan\.$"):
        datanode.cancel_disk_balancer_plan("0")
    old = plan_text(NodePlan("host", "uuid", 1, 0, ()))
    with pytest.raises(errors.DiskBalancerError, match="Plan was generated more than 1d ago"):
        datanode.submit_disk_balancer_plan(old, "/old")
    datanode.submit_disk_balancer_plan(old, "/old", skip_date_check=True)
    datanode.close()


def test_a_plan_without_a_version_is_of_the_first(ipc: Ipc) -> None:
    ipc.uuid = "uuid"
    text = plan_text(NodePlan("host", "uuid", 1, 1 << 60, ()))
    request = pb.SubmitDiskBalancerPlanRequestProto(planID=plan_id(text), plan=text, planFile="p")
    ipc.client().call("submitDiskBalancerPlan", request, pb.SubmitDiskBalancerPlanResponseProto)
    request.planVersion = 2
    with pytest.raises(errors.DiskBalancerError, match="Invalid plan version"):
        ipc.client().call("submitDiskBalancerPlan", request, pb.SubmitDiskBalancerPlanResponseProto)


def test_what_a_plan_may_do_is_configured() -> None:
    conf = Configuration(
        {
            "dfs.disk.balancer.enabled": "false",
            "dfs.disk.balancer.max.disk.throughputInMBperSec": "3",
            "dfs.disk.balancer.max.disk.errors": "0",
            "dfs.disk.balancer.block.tolerance.percent": "4",
            "dfs.disk.balancer.plan.valid.interval": "2h",
        }
    )
    settings = DataSettings.of(conf).disk_balancer
    assert settings == DiskBalancerSettings(False, 7200.0, WorkRules(3, 0, 4))


# Administrators.


def test_the_balancers_bandwidth_is_what_it_was_set_to(ipc: Ipc, node: Any) -> None:
    node.server.balancing.set_bandwidth(12345)
    node.server.balancing.set_bandwidth(0)
    answer = ipc.client().call(
        "getBalancerBandwidth",
        pb.GetBalancerBandwidthRequestProto(),
        pb.GetBalancerBandwidthResponseProto,
    )
    assert answer.bandwidth == 12345


def test_evicted_writers_end(ipc: Ipc, node: Any, lab: Lab) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, bytes(1000))
    writer.ack()
    ipc.client().call("evictWriters", pb.EvictWritersRequestProto(), pb.EvictWritersResponseProto)
    wait_until(lambda: not node.store.writers.all())


def test_only_who_runs_the_datanode_evicts_writers(ipc: Ipc) -> None:
    with pytest.raises(errors.AccessDenied):
        ipc.client("mallory").call(
            "evictWriters", pb.EvictWritersRequestProto(), pb.EvictWritersResponseProto
        )


def delete_pool(ipc: Ipc, pool_id: str, *, force: bool = False) -> None:
    ipc.client().call(
        "deleteBlockPool",
        pb.DeleteBlockPoolRequestProto(blockPool=pool_id, force=force),
        pb.DeleteBlockPoolResponseProto,
    )


def old_pool(node: Any) -> Path:
    """A pool with a block, of which no namenode speaks any more."""
    path = Path(node.store.volumes.all[0].pool_path("BP-old-10.0.0.1-1"))
    blocks = path / "current" / "finalized" / "subdir0" / "subdir0"
    blocks.mkdir(parents=True)
    (blocks / "blk_1").write_bytes(b"x")
    return path


def test_a_block_pool_that_is_served_is_not_deleted(ipc: Ipc, node: Any) -> None:
    [served] = node.store.served_pools()
    with pytest.raises(errors.HowdahError, match="still running"):
        delete_pool(ipc, served, force=True)


def test_an_old_block_pool_with_blocks_goes_only_when_forced(ipc: Ipc, node: Any) -> None:
    path = old_pool(node)
    with pytest.raises(errors.RemoteError, match=r"it contains some block files: .*blk_1"):
        delete_pool(ipc, path.name)
    assert path.exists()
    volume = node.store.volumes.all[0]
    node.store.admit(
        path.name, Replica(1, 1001, ReplicaState.FINALIZED, volume.storage_id, length_bytes=1)
    )
    volume.count(path.name, 8)
    delete_pool(ipc, path.name, force=True)
    assert not path.exists()
    assert node.store.block_ids(path.name) == []
    assert volume.pool_used_bytes(path.name) == 0
    assert PoolDeleted(path.name) in node.events


def test_no_pool_is_deleted_while_it_may_be_that_of_a_namenode_which_is_down(
    ipc: Ipc, node: Any
) -> None:
    path = old_pool(node)
    ipc.protocol.awaited = ("west",)
    with pytest.raises(errors.RetriableError, match="no namenode of nameservice west"):
        delete_pool(ipc, path.name, force=True)
    assert path.exists()


def test_a_block_pool_that_is_not_here_is_named(ipc: Ipc) -> None:
    with pytest.raises(errors.IllegalArgument, match="BP-nowhere"):
        delete_pool(ipc, "BP-nowhere")


def refresh(ipc: Ipc, user: str = "owner") -> None:
    ipc.client(user).call(
        "refreshNamenodes",
        pb.RefreshNamenodesRequestProto(),
        pb.RefreshNamenodesResponseProto,
    )


@pytest.mark.req("FS-046")
def test_the_namenodes_are_refreshed_when_the_control_process_says_so(ipc: Ipc) -> None:
    asked = threading.Thread(target=refresh, args=(ipc,))
    asked.start()
    wait_until(lambda: NamenodesAsked() in ipc.told)
    assert asked.is_alive()
    ipc.protocol.refresh.ended("")
    asked.join(30)
    assert not asked.is_alive()


@pytest.mark.req("FS-046")
def test_what_keeps_the_namenodes_from_being_refreshed_is_said(ipc: Ipc) -> None:
    def answer() -> None:
        wait_until(lambda: NamenodesAsked() in ipc.told)
        ipc.protocol.refresh.ended("no address of namenode west")

    answering = threading.Thread(target=answer)
    answering.start()
    with pytest.raises(errors.RemoteError, match="no address of namenode west"):
        refresh(ipc)
    answering.join()


def test_a_late_answer_to_a_refresh_is_none_to_the_next_one() -> None:
    told: list[Event] = []
    asked = NamenodesRefresh(told.append, timeout_s=0.01)
    for _ in range(2):
        with pytest.raises(errors.RemoteError, match="within"):
            asked.run()
    first, second = told
    assert isinstance(first, NamenodesAsked)
    assert isinstance(second, NamenodesAsked)

    def late(event: Event) -> None:
        assert isinstance(event, NamenodesAsked)
        asked.ended("the namenodes stay as they are", event.number)
        asked.ended("", second.number)

    asked._notify = late
    with pytest.raises(errors.RemoteError, match="stay as they are"):
        asked.run()
    asked._notify = lambda _: asked.ended("", second.number)
    with pytest.raises(errors.RemoteError, match="within"):
        asked.run()


def test_only_who_runs_the_datanode_refreshes_its_namenodes(ipc: Ipc) -> None:
    with pytest.raises(errors.AccessDenied):
        refresh(ipc, "mallory")
    assert ipc.told == []


def test_a_client_that_takes_the_ipc_port_for_the_namenodes_hears_so(ipc: Ipc) -> None:
    client = RpcClient(ipc.address, "org.apache.hadoop.hdfs.protocol.ClientProtocol", user="anna")
    with pytest.raises(errors.RpcNoSuchProtocol, match="is this the RPC port of a namenode"):
        client.call(
            "getFileInfo", pb.GetDatanodeInfoRequestProto(), pb.GetDatanodeInfoResponseProto
        )
    client.close()


# -- where blocks are guarded ------------------------------------------------------


def guarded_by(node: Any, *, takes_simple: bool = False) -> ClientDatanodeProtocol:
    """With keys of which the first is known."""
    keys = KnownKeys()
    keys.update_keys(node.store.served_pools()[0], KEYS, NOW_MS)
    balancer = DiskBalancer(node.store, node.settings.disk_balancer, lambda: "")
    return ClientDatanodeProtocol(
        node.store,
        lambda event: None,
        "owner",
        disk_balancer=balancer,
        guard=Guard(keys, "owner", (), now_ms=lambda: NOW_MS, takes_simple=takes_simple),
    )


@pytest.fixture
def guarded(node: Any) -> ClientDatanodeProtocol:
    return guarded_by(node)


NOW_MS = 1_800_000_000_000
KEY = BlockKey(1, NOW_MS + 1000, b"a key")
KEYS = ExportedKeys(KEY, (KEY,), 1000, 1000)


def by_token(pool_id: str, block_id: int = 1, *modes: str, user: str = "alice") -> Caller:
    identifier = BlockTokenIdentifier(
        NOW_MS + 1, 1, user, pool_id, block_id, modes or ("READ",)
    ).encode()
    proven = Proven(TOKEN, user, user, identifier=identifier)
    return Caller(user, b"", 0, 0, "10.0.0.1", proven=proven)


def test_who_has_a_token_of_a_block_learns_its_length_and_no_others(
    guarded: ClientDatanodeProtocol, node: Any, lab: Lab
) -> None:
    lab.write_block(node, lab.block(), bytes(700))
    request = pb.GetReplicaVisibleLengthRequestProto(block=lab.block().to_proto())
    assert guarded.get_replica_visible_length(request, by_token(lab.POOL)).length == 700
    for caller in (by_token(lab.POOL, 2), by_token("BP-2"), by_token(lab.POOL, 1, "WRITE")):
        with pytest.raises(errors.InvalidToken):
            guarded.get_replica_visible_length(request, caller)
    ticket = Caller("owner", b"", 0, 0, "10.0.0.1", proven=Proven(KERBEROS, "owner", "owner@E"))
    for other in (ticket, Caller("owner", b"", 0, 0, "10.0.0.1")):
        with pytest.raises(errors.AccessDenied, match="by no block token"):
            guarded.get_replica_visible_length(request, other)


def test_during_a_change_a_length_is_told_to_who_has_no_token(node: Any, lab: Lab) -> None:
    """A namenode that has not changed yet gives none, neither to who shows a ticket here."""
    both = guarded_by(node, takes_simple=True)
    lab.write_block(node, lab.block(), bytes(700))
    request = pb.GetReplicaVisibleLengthRequestProto(block=lab.block().to_proto())
    ticket = Caller("owner", b"", 0, 0, "10.0.0.1", proven=Proven(KERBEROS, "owner", "owner@E"))
    for caller in (ticket, Caller("bob", b"", 0, 0, "10.0.0.1"), by_token(lab.POOL)):
        assert both.get_replica_visible_length(request, caller).length == 700
    for shown in (by_token(lab.POOL, 2), by_token("BP-2"), by_token(lab.POOL, 1, "WRITE")):
        with pytest.raises(errors.InvalidToken):
            both.get_replica_visible_length(request, shown)


def test_a_token_to_a_block_of_the_owners_is_no_right_of_the_owner(
    guarded: ClientDatanodeProtocol, lab: Lab
) -> None:
    request = pb.ShutdownDatanodeRequestProto(forUpgrade=False)
    with pytest.raises(errors.AccessDenied, match="who runs this datanode"):
        guarded.shutdown_datanode(request, by_token(lab.POOL, user="owner"))
    proven = Proven(KERBEROS, "owner", "owner@EXAMPLE.COM")
    guarded.shutdown_datanode(request, Caller("owner", b"", 0, 0, "10.0.0.1", proven=proven))
