"""Datanodes are decommissioned, rest in maintenance, and come back (FS-003, FS-013, FS-015)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.metasave import metasave
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.host_lists import FOR_EVER_MS, HostEntry, HostOrder, Hosts
from howdah.namenode.state.inodes.inodes import Block
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

LENGTH = 100
CLIENT = "DFSClient_membership"
INTERVAL_MS = 30_000
EXPIRY_MS = 60_000
SETTINGS = Settings(
    "",
    min_block_size_bytes=512,
    block_size_bytes=1024,
    heartbeat_expiry_ms=EXPIRY_MS,
    stale_datanode_ms=EXPIRY_MS,
    leaving_interval_ms=INTERVAL_MS,
    lease_hard_limit_ms=1 << 40,
    copies_per_node=10,
)

S = AdminState


class Cluster:
    """Datanodes that obey at once, and a namenode."""

    def __init__(self, nodes: int, **settings: Any) -> None:
        self.namenode = InMemoryNamenode(replace(SETTINGS, **settings))
        self.nodes = [self.namenode.join(f"dn{n}", rack=f"/r{n % 2}") for n in range(nodes)]
        self.down: set[str] = set()
        self.hold_copies = False
        self.sources: list[str] = []

    @property
    def namesystem(self) -> Any:
        return self.namenode.namesystem

    # The host files.

    def order(
        self,
        leave: Iterable[InMemoryDatanode] = (),
        rest: Iterable[InMemoryDatanode] = (),
        until_ms: int = FOR_EVER_MS,
    ) -> None:
        """These are to be decommissioned, and those to be in maintenance; all others serve."""
        orders = [
            *(HostOrder(_entry(node), S.DECOMMISSIONED) for node in leave),
            *(HostOrder(_entry(node), S.IN_MAINTENANCE, until_ms) for node in rest),
        ]
        Administration(self.namesystem).apply_hosts(Hosts.ordered(orders))

    # Time.

    def pass_time(self, ms: int = INTERVAL_MS, times: int = 4) -> None:
        """So many intervals; the datanodes that are up beat, and obey."""
        for _ in range(times):
            self.namenode.clock.advance(ms)
            for node in self.nodes:
                if node.uuid not in self.down:
                    self._obey(node)
            self.namenode.tick()

    def _obey(self, node: InMemoryDatanode) -> None:
        for command in node.heartbeat():
            order = command.blkCmd
            for place, told in enumerate(order.blocks):
                if order.action == dn.BlockCommandProto.INVALIDATE:
                    node.drop(told.blockId)
                elif not self.hold_copies:
                    self.sources.append(node.uuid)
                    for target in order.targets[place].datanodes:
                        other = self.node(target.id.datanodeUuid)
                        other.store(told.blockId, told.genStamp, told.numBytes)

    def die(self, *nodes: InMemoryDatanode) -> None:
        self.down |= {node.uuid for node in nodes}
        self.pass_time(EXPIRY_MS // 2, 3)

    def come_back(self, node: InMemoryDatanode) -> None:
        self.down.discard(node.uuid)
        node.register()
        node.heartbeat(wants_lease=True)
        node.report()

    # Files.

    def open(self, path: str, replication: int) -> types_pb2.ExtendedBlockProto:
        self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=replication,
                blockSize=1024,
            ),
        )
        request = pb.AddBlockRequestProto(src=path, clientName=CLIENT)
        block: Any = self.namenode.call("addBlock", request)
        for place in block.block.locs:
            self.node(place.id.datanodeUuid).store(
                block.block.b.blockId, block.block.b.generationStamp, LENGTH, finalized=False
            )
        named: types_pb2.ExtendedBlockProto = block.block.b
        named.numBytes = LENGTH
        return named

    def close(self, path: str, named: types_pb2.ExtendedBlockProto) -> Block:
        for storage in self.namesystem.namespace.blocks[named.blockId].expected:
            node = self.node(storage.node.identity.uuid)
            node.store(named.blockId, named.generationStamp, LENGTH)
        request = pb.CompleteRequestProto(src=path, clientName=CLIENT, last=named)
        answer: Any = self.namenode.call("complete", request)
        assert answer.result
        block: Block = self.namesystem.namespace.blocks[named.blockId]
        return block

    def write(self, path: str, replication: int) -> Block:
        return self.close(path, self.open(path, replication))

    # Looking.

    def node(self, uuid: str) -> InMemoryDatanode:
        return next(node for node in self.nodes if node.uuid == uuid)

    def holders(self, block: Block) -> list[InMemoryDatanode]:
        """On disk, in the order of the namenode."""
        known = [self.node(storage.node.identity.uuid) for storage in block.replicas]
        return [n for n in known if any(block.block_id in r for r in n.replicas.values())]

    def live(self, block: Block) -> int:
        """Replicas on datanodes that are up and in service."""
        return sum(
            node.uuid not in self.down and state(node) is S.NORMAL for node in self.holders(block)
        )

    def locations(self, path: str) -> list[types_pb2.DatanodeInfoProto]:
        request = pb.GetBlockLocationsRequestProto(src=path, offset=0, length=1)
        answer: Any = self.namenode.call("getBlockLocations", request)
        return list(answer.locations.blocks[0].locs)

    def reported(self, kind: pb.DatanodeReportTypeProto) -> list[str]:
        request = pb.GetDatanodeReportRequestProto(type=kind)
        answer: Any = self.namenode.call("getDatanodeReport", request)
        return [node.id.datanodeUuid for node in answer.di]


def _entry(node: InMemoryDatanode) -> HostEntry:
    return HostEntry(node.ip, frozenset((node.ip,)))


def state(node: InMemoryDatanode) -> AdminState:
    return node.known.admin_state


# Decommission.


@pytest.mark.req("FS-013", "FS-015")
def test_a_datanode_has_left_when_each_of_its_blocks_has_enough_replicas_elsewhere() -> None:
    cluster = Cluster(4)
    blocks = [cluster.write(f"/f{n}", 3) for n in range(6)]
    leaving = cluster.holders(blocks[0])[0]
    cluster.hold_copies = True
    cluster.order(leave=[leaving])
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSION_INPROGRESS
    cluster.hold_copies = False
    cluster.pass_time(ms=310_000, times=2)
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSIONED
    assert [cluster.live(block) for block in blocks] == [3] * 6


@pytest.mark.req("FS-003", "FS-015")
def test_a_datanode_with_the_only_replica_waits_and_is_the_source_of_the_copy() -> None:
    cluster = Cluster(3)
    block = cluster.write("/f", 1)
    (leaving,) = cluster.holders(block)
    cluster.hold_copies = True
    cluster.order(leave=[leaving])
    cluster.pass_time(times=10)
    assert state(leaving) is S.DECOMMISSION_INPROGRESS
    assert leaving.known.leaving.only_leaving == 1
    cluster.hold_copies = False
    cluster.pass_time(ms=310_000, times=2)
    cluster.pass_time()
    assert cluster.sources == [leaving.uuid]
    assert state(leaving) is S.DECOMMISSIONED
    assert cluster.live(block) == 1


def test_a_datanode_waits_for_ever_where_there_is_no_room_elsewhere() -> None:
    cluster = Cluster(3)
    block = cluster.write("/f", 3)
    leaving = cluster.holders(block)[0]
    cluster.order(leave=[leaving])
    cluster.pass_time(times=10)
    assert state(leaving) is S.DECOMMISSION_INPROGRESS
    assert leaving.known.leaving.low_redundancy == 1
    assert cluster.namesystem.block_manager.reconstruction.counts().low_redundancy == 1


def test_the_default_replication_suffices_for_a_datanode_to_leave() -> None:
    cluster = Cluster(4, default_replication=3)
    block = cluster.write("/f", 4)
    leaving = cluster.holders(block)[0]
    cluster.order(leave=[leaving])
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSIONED
    assert cluster.namesystem.block_manager.reconstruction.counts().low_redundancy == 1


def test_holders_that_leave_are_the_last_choice_as_sources() -> None:
    cluster = Cluster(4)
    block = cluster.write("/f", 3)
    leaving = cluster.holders(block)[0]
    cluster.order(leave=[leaving])
    cluster.pass_time()
    assert cluster.sources
    assert leaving.uuid not in cluster.sources


def test_a_datanode_that_leaves_gets_no_new_replicas() -> None:
    cluster = Cluster(4)
    cluster.order(leave=cluster.nodes[:1], rest=cluster.nodes[1:2])
    for number in range(20):
        holders = cluster.holders(cluster.write(f"/f{number}", 2))
        assert set(map(id, holders)) <= set(map(id, cluster.nodes[2:]))


def test_readers_are_sent_to_leaving_datanodes_last() -> None:
    cluster = Cluster(3)
    block = cluster.write("/f", 3)
    first, second, third = cluster.holders(block)
    cluster.order(leave=[first], rest=[second])
    shown = cluster.locations("/f")
    assert [node.id.datanodeUuid for node in shown] == [third.uuid, second.uuid, first.uuid]
    assert [S(node.adminState) for node in shown] == [
        S.NORMAL,
        S.ENTERING_MAINTENANCE,
        S.DECOMMISSION_INPROGRESS,
    ]


def test_the_room_of_leaving_datanodes_is_none_of_the_cluster() -> None:
    cluster = Cluster(3)
    cluster.order(leave=cluster.nodes[:1])
    stats: Any = cluster.namenode.call("getFsStats", pb.GetFsStatusRequestProto())
    assert stats.capacity == sum(node.capacity_bytes for node in cluster.nodes[1:])


@pytest.mark.req("FS-015")
def test_replicas_of_who_is_back_in_service_count_again_and_what_is_too_many_goes() -> None:
    cluster = Cluster(4)
    blocks = [cluster.write(f"/f{n}", 3) for n in range(6)]
    leaving = cluster.holders(blocks[0])[0]
    cluster.order(leave=[leaving])
    cluster.pass_time()
    cluster.order()
    assert state(leaving) is S.NORMAL
    cluster.pass_time()
    assert [len(cluster.holders(block)) for block in blocks] == [3] * 6
    assert not cluster.namesystem.block_manager.blocks.redundancy.out_of_service


# Open files.


def test_a_datanode_waits_for_the_open_file_whose_block_it_alone_has() -> None:
    cluster = Cluster(3)
    named = cluster.open("/open", 1)
    cluster.write("/other", 1)
    block = cluster.namesystem.namespace.blocks[named.blockId]
    leaving = cluster.node(block.expected[0].node.identity.uuid)
    cluster.order(leave=[leaving])
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSION_INPROGRESS
    assert leaving.known.leaving.open_files == 1
    request = pb.ListOpenFilesRequestProto(id=0, types=[pb.BLOCKING_DECOMMISSION], path="/")
    answer: Any = cluster.namenode.call("listOpenFiles", request)
    assert [entry.path for entry in answer.entries] == ["/open"]
    cluster.close("/open", named)
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSIONED
    assert cluster.live(block) == 1


def test_a_pipeline_with_others_in_service_keeps_no_datanode() -> None:
    cluster = Cluster(3)
    named = cluster.open("/open", 2)
    block = cluster.namesystem.namespace.blocks[named.blockId]
    leaving = cluster.node(block.expected[0].node.identity.uuid)
    cluster.order(leave=[leaving])
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSIONED
    cluster.close("/open", named)
    cluster.pass_time()
    assert cluster.live(block) == 2


# Death.


def test_a_dead_datanode_is_decommissioned_at_once() -> None:
    cluster = Cluster(3)
    cluster.die(cluster.nodes[0])
    cluster.order(leave=cluster.nodes[:1])
    assert state(cluster.nodes[0]) is S.DECOMMISSIONED


def test_a_datanode_that_dies_while_it_leaves_has_left_when_the_cluster_lacks_nothing() -> None:
    cluster = Cluster(4)
    block = cluster.write("/f", 3)
    leaving = cluster.holders(block)[0]
    cluster.hold_copies = True
    cluster.order(leave=[leaving])
    cluster.die(leaving)
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSION_INPROGRESS
    cluster.hold_copies = False
    cluster.pass_time(ms=310_000, times=2)
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSIONED
    assert cluster.live(block) == 3


def test_a_datanode_that_dies_with_the_only_replica_goes_on_leaving_when_it_comes_back() -> None:
    cluster = Cluster(3)
    block = cluster.write("/f", 1)
    (leaving,) = cluster.holders(block)
    cluster.hold_copies = True
    cluster.order(leave=[leaving])
    cluster.die(leaving)
    cluster.pass_time(times=10)
    assert state(leaving) is S.DECOMMISSION_INPROGRESS
    assert cluster.namesystem.block_manager.reconstruction.counts().missing == 1
    cluster.hold_copies = False
    cluster.come_back(leaving)
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSIONED
    assert cluster.live(block) == 1


def test_what_the_files_say_holds_for_who_registers_later() -> None:
    cluster = Cluster(2)
    cluster.namesystem.datanode_manager.hosts = Hosts.ordered(
        [HostOrder(HostEntry("w", frozenset(("10.0.0.3",))), S.IN_MAINTENANCE, FOR_EVER_MS, "u7")]
    )
    cluster.nodes.append(cluster.namenode.join("dn2"))
    late = cluster.nodes[2]
    assert state(late) is S.ENTERING_MAINTENANCE
    assert late.known.upgrade_domain == "u7"
    cluster.pass_time()
    assert state(late) is S.IN_MAINTENANCE


# Maintenance.


def in_maintenance(cluster: Cluster, block: Block, hours: int = 1) -> InMemoryDatanode:
    """A holder of the block is in maintenance."""
    resting = cluster.holders(block)[0]
    until_ms = cluster.namenode.clock.wall_ms() + hours * 3_600_000
    cluster.order(rest=[resting], until_ms=until_ms)
    cluster.pass_time()
    assert state(resting) is S.IN_MAINTENANCE
    return resting


@pytest.mark.req("FS-003", "FS-015")
def test_a_datanode_that_is_down_in_maintenance_costs_no_copies() -> None:
    cluster = Cluster(4)
    block = cluster.write("/f", 3)
    resting = in_maintenance(cluster, block)
    cluster.die(resting)
    cluster.pass_time()
    assert cluster.sources == []
    counts = cluster.namesystem.block_manager.reconstruction.counts()
    assert (counts.low_redundancy, counts.missing) == (0, 0)
    assert resting.uuid not in [place.id.datanodeUuid for place in cluster.locations("/f")]
    cluster.come_back(resting)
    cluster.order()
    cluster.pass_time()
    assert state(resting) is S.NORMAL
    assert cluster.live(block) == 3
    assert cluster.sources == []


def test_a_block_whose_only_replica_is_to_rest_is_copied_before() -> None:
    cluster = Cluster(3)
    block = cluster.write("/f", 1)
    (resting,) = cluster.holders(block)
    cluster.hold_copies = True
    cluster.order(rest=[resting])
    cluster.pass_time()
    assert state(resting) is S.ENTERING_MAINTENANCE
    cluster.hold_copies = False
    cluster.pass_time(ms=310_000, times=2)
    cluster.pass_time()
    assert state(resting) is S.IN_MAINTENANCE
    cluster.die(resting)
    assert cluster.live(block) == 1


def test_with_no_replica_required_maintenance_begins_at_once_and_nothing_is_missing() -> None:
    cluster = Cluster(3, maintenance_replication=0)
    block = cluster.write("/f", 1)
    (resting,) = cluster.holders(block)
    cluster.order(rest=[resting])
    assert state(resting) is S.IN_MAINTENANCE
    assert [node.id.datanodeUuid for node in cluster.locations("/f")] == [resting.uuid]
    cluster.die(resting)
    cluster.pass_time()
    counts = cluster.namesystem.block_manager.reconstruction.counts()
    assert (counts.low_redundancy, counts.missing) == (0, 0)
    assert cluster.locations("/f") == []


def test_maintenance_keeps_as_many_live_as_the_key_says() -> None:
    cluster = Cluster(4, maintenance_replication=2)
    block = cluster.write("/f", 2)
    resting = in_maintenance(cluster, block)
    assert cluster.live(block) == 2
    cluster.order()
    cluster.pass_time()
    assert len(cluster.holders(block)) == 2
    assert state(resting) is S.NORMAL


@pytest.mark.req("FS-015")
@pytest.mark.parametrize("is_dead", [True, False])
def test_maintenance_that_is_over_brings_the_datanode_back_and_a_dead_one_is_made_up_for(
    is_dead: bool,
) -> None:
    cluster = Cluster(4)
    block = cluster.write("/f", 3)
    resting = in_maintenance(cluster, block)
    if is_dead:
        cluster.die(resting)
    cluster.pass_time(times=120)
    assert state(resting) is S.NORMAL
    assert bool(cluster.sources) == is_dead
    assert cluster.live(block) == 3


def test_a_time_that_is_over_already_orders_no_maintenance() -> None:
    cluster = Cluster(3)
    cluster.order(rest=cluster.nodes[:1], until_ms=cluster.namenode.clock.wall_ms())
    assert state(cluster.nodes[0]) is S.NORMAL


def test_another_time_holds_for_who_rests_already() -> None:
    cluster = Cluster(4)
    resting = in_maintenance(cluster, cluster.write("/f", 3), hours=1)
    later_ms = cluster.namenode.clock.wall_ms() + 2 * 3_600_000
    cluster.order(rest=[resting], until_ms=later_ms)
    cluster.pass_time(times=150)
    assert state(resting) is S.IN_MAINTENANCE
    cluster.pass_time(times=150)
    assert state(resting) is S.NORMAL


def test_an_append_goes_on_without_who_is_down_in_maintenance() -> None:
    cluster = Cluster(4)
    block = cluster.write("/f", 3)
    resting = in_maintenance(cluster, block)
    cluster.die(resting)
    cluster.namenode.call(
        "append", pb.AppendRequestProto(src="/f", clientName=CLIENT, flag=pb.APPEND)
    )
    assert resting.known not in [storage.node for storage in block.expected]
    assert len(block.expected) == 2


def test_who_dies_in_maintenance_and_is_to_leave_has_left_and_is_made_up_for() -> None:
    cluster = Cluster(4)
    block = cluster.write("/f", 3)
    resting = in_maintenance(cluster, block)
    cluster.die(resting)
    cluster.order(leave=[resting])
    assert state(resting) is S.DECOMMISSIONED
    cluster.pass_time()
    assert cluster.live(block) == 3


# Limits.


def test_only_so_many_datanodes_are_looked_at_in_turns_and_dead_ones_make_room() -> None:
    cluster = Cluster(4, leaving_nodes_at_once=1)
    block = cluster.write("/f", 3)
    stuck = cluster.holders(block)[0]
    (free,) = [node for node in cluster.nodes if node not in cluster.holders(block)]
    cluster.order(leave=[stuck])
    cluster.pass_time(times=1)
    cluster.hold_copies = True
    cluster.order(leave=[stuck, free])
    cluster.pass_time()
    assert state(free) is S.DECOMMISSION_INPROGRESS
    cluster.die(stuck)
    cluster.pass_time()
    assert state(free) is S.DECOMMISSIONED


def test_a_round_ends_after_so_many_blocks_and_the_next_one_goes_on() -> None:
    cluster = Cluster(6, leaving_blocks_per_round=1)
    for number in range(12):
        cluster.write(f"/f{number}", 2)
    first, second = cluster.nodes[:2]
    cluster.order(leave=[first, second])
    cluster.pass_time(ms=1000, times=20)
    assert (state(first), state(second)).count(S.DECOMMISSIONED) <= 1
    cluster.pass_time(times=10)
    assert state(first) is state(second) is S.DECOMMISSIONED


def test_a_long_look_pauses_and_sees_what_changes_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A block that was found to have enough loses a replica before the look ends."""
    monkeypatch.setattr("howdah.namenode.state.blocks.decommission.SLICE_BLOCKS", 1)
    cluster = Cluster(4)
    blocks = [cluster.write(f"/f{n}", 2) for n in range(8)]
    leaving = cluster.nodes[0]
    cluster.order(leave=[leaving])
    cluster.pass_time(ms=0, times=3)
    mine = [block for block in blocks if leaving in cluster.holders(block)]
    assert len(mine) > 1
    cluster.namenode.clock.advance(INTERVAL_MS)
    look = cluster.namesystem.datanode_manager.membership_round()
    next(look)
    next(look)
    (other, *_) = [node for node in cluster.holders(mine[0]) if node is not leaving]
    other.drop(mine[0].block_id)
    for _ in look:
        continue
    assert state(leaving) is S.DECOMMISSION_INPROGRESS


# Calls.


def test_reports_name_the_datanodes_of_a_state() -> None:
    cluster = Cluster(4)
    block = cluster.write("/f", 4)
    cluster.hold_copies = True
    in_maintenance(cluster, block)
    first = cluster.holders(block)[0]
    leaving, entering = [node for node in cluster.nodes if node is not first][:2]
    cluster.order(leave=[leaving], rest=[first, entering])
    assert cluster.reported(pb.DECOMMISSIONING) == [leaving.uuid]
    assert cluster.reported(pb.ENTERING_MAINTENANCE) == [entering.uuid]
    assert cluster.reported(pb.IN_MAINTENANCE) == [first.uuid]
    assert len(cluster.reported(pb.LIVE)) == 4


def test_the_dump_names_the_states() -> None:
    cluster = Cluster(3)
    block = cluster.write("/f", 3)
    leaving, resting, _ = cluster.holders(block)
    cluster.order(leave=[leaving], rest=[resting])
    cluster.pass_time()
    text = metasave(cluster.namesystem)
    assert "live: 1 decommissioning and decommissioned: 1 corrupt: 0 in excess: 0 " in text
    assert "maintenance mode: 1)" in text
    assert f"{leaving.known.name}(decommissioning)" in text
    assert f"{leaving.known.name} {leaving.known.location} DP " in text
    assert f"{resting.known.name} {resting.known.location} IM " in text


def test_a_standby_applies_its_files_and_leaves_the_rest_to_the_active() -> None:
    cluster = Cluster(3)
    cluster.namesystem.become_standby()
    cluster.order(leave=cluster.nodes[:1])
    cluster.pass_time()
    assert state(cluster.nodes[0]) is S.DECOMMISSION_INPROGRESS
    cluster.namesystem.become_active()
    for node in cluster.nodes:
        cluster.come_back(node)
    cluster.namesystem.safe_mode.leave(force=True)
    cluster.pass_time()
    assert state(cluster.nodes[0]) is S.DECOMMISSIONED


def test_nobody_has_left_before_it_has_reported_what_it_has() -> None:
    cluster = Cluster(2)
    silent = InMemoryDatanode(cluster.namenode, "dn9", "10.0.0.9", {"DS-9": {}})
    cluster.nodes.append(silent)
    silent.register()
    silent.heartbeat()
    cluster.order(leave=[silent])
    cluster.pass_time()
    assert state(silent) is S.DECOMMISSION_INPROGRESS
    silent.report()
    cluster.pass_time()
    assert state(silent) is S.DECOMMISSIONED


def test_who_is_taken_off_the_list_is_forgotten_with_its_state() -> None:
    cluster = Cluster(2)
    gone = cluster.nodes[0]
    cluster.order(leave=[gone])
    stays = HostOrder(_entry(cluster.nodes[1]))
    Administration(cluster.namesystem).apply_hosts(Hosts.ordered([stays]))
    assert not cluster.namesystem.block_manager.blocks.redundancy.out_of_service
    assert cluster.reported(pb.ALL) == [cluster.nodes[1].uuid]


def test_a_failed_volume_keeps_no_datanode() -> None:
    cluster = Cluster(3)
    leaving = cluster.nodes[0]
    storage = leaving.known.storages[leaving.first_storage]
    failed = leaving.known.storage("DS-failed", storage.storage_type)
    failed.failed = True
    cluster.order(leave=[leaving])
    cluster.namenode.clock.advance(INTERVAL_MS)
    cluster.namenode.tick()
    assert state(leaving) is S.DECOMMISSIONED


def test_complete_blocks_of_an_open_file_keep_a_datanode_too() -> None:
    """The file is named by which it is kept, though its last block is elsewhere."""
    cluster = Cluster(2)
    named = cluster.open("/open", 1)
    block = cluster.namesystem.namespace.blocks[named.blockId]
    leaving = cluster.node(block.expected[0].node.identity.uuid)
    leaving.store(named.blockId, named.generationStamp, LENGTH)
    cluster.order(leave=[leaving])
    cluster.hold_copies = True
    request = pb.AddBlockRequestProto(src="/open", clientName=CLIENT, previous=named)
    cluster.namenode.call("addBlock", request)
    cluster.pass_time()
    assert state(leaving) is S.DECOMMISSION_INPROGRESS
    listing = pb.ListOpenFilesRequestProto(id=0, types=[pb.BLOCKING_DECOMMISSION], path="/")
    answer: Any = cluster.namenode.call("listOpenFiles", listing)
    assert [entry.path for entry in answer.entries] == ["/open"]


# How fast.


def ordered_copies(node: InMemoryDatanode) -> int:
    return sum(
        len(command.blkCmd.blocks)
        for command in node.heartbeat()
        if command.blkCmd.action == dn.BlockCommandProto.TRANSFER
    )


@pytest.mark.parametrize(
    ("sending", "is_leaving", "expected"),
    [(0, False, 2), (1, False, 1), (0, True, 4), (4, True, 0)],
)
def test_a_datanode_gets_as_many_copies_to_send_as_it_may(
    sending: int, is_leaving: bool, expected: int
) -> None:
    cluster = Cluster(4)
    blocks = [cluster.write(f"/f{n}", 2) for n in range(40)]
    (source, gone), count = Counter(
        tuple(sorted(node.uuid for node in cluster.holders(block))) for block in blocks
    ).most_common(1)[0]
    assert count >= 4, "some pair has several blocks"
    if is_leaving:
        cluster.order(leave=[cluster.node(source), cluster.node(gone)])
    else:
        for n in range(40):
            request = pb.SetReplicationRequestProto(src=f"/f{n}", replication=4)
            cluster.namenode.call("setReplication", request)
    cluster.namenode.clock.advance(INTERVAL_MS)
    cluster.namenode.tick()
    node = cluster.node(source)
    node.copies = sending
    assert ordered_copies(node) == expected
