"""Orders to copy and to delete, and what becomes of those that fail (FS-015)."""

from __future__ import annotations

import pytest

from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import NO_TOKEN
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, InMemoryNamenode

LENGTH = 100
CLIENT = "DFSClient_repair"
PENDING_TIMEOUT_MS = 300_000


class Cluster:
    """Datanodes, and a file of one block on some of them."""

    def __init__(
        self,
        nodes: int,
        holders: int,
        wanted: int | None = None,
        volumes: int = 1,
        silent: int = 0,
    ) -> None:
        """`silent` of the holders have not reported yet when the file is complete."""
        self.namenode = InMemoryNamenode(Settings("", heartbeat_expiry_ms=10_000_000))
        self.nodes = [self.namenode.join(f"dn{n}", volumes=volumes) for n in range(nodes)]
        self._write(holders, silent)
        if wanted is not None:
            self.set_replication(wanted)

    def _write(self, replication: int, silent: int) -> None:
        self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src="/file",
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=replication,
                blockSize=1 << 20,
            ),
        )
        answer = self.namenode.call(
            "addBlock", pb.AddBlockRequestProto(src="/file", clientName=CLIENT)
        )
        assert isinstance(answer, pb.AddBlockResponseProto)
        self.block = answer.block.b
        self.block.numBytes = LENGTH
        pipeline = [self.node(place.id.datanodeUuid) for place in answer.block.locs]
        self.silent = pipeline[len(pipeline) - silent :]
        for node in pipeline:
            if node not in self.silent:
                self.has_written(node)
        self.namenode.call(
            "complete", pb.CompleteRequestProto(src="/file", clientName=CLIENT, last=self.block)
        )

    def has_written(self, node: InMemoryDatanode) -> None:
        node.store(self.block.blockId, self.block.generationStamp, LENGTH)

    def set_replication(self, replication: int) -> None:
        self.namenode.call(
            "setReplication", pb.SetReplicationRequestProto(src="/file", replication=replication)
        )

    def node(self, uuid: str) -> InMemoryDatanode:
        return next(node for node in self.nodes if node.uuid == uuid)

    def holders(self) -> list[InMemoryDatanode]:
        """Nodes with a replica on disk."""
        return [n for n in self.nodes if any(self.block.blockId in r for r in n.replicas.values())]

    def orders(self, ms: int = 0) -> list[tuple[str, str, tuple[str, ...]]]:
        """After a while and a round of repair: who is told to do what, for whom."""
        self.namenode.tick(ms)
        found: list[tuple[str, str, tuple[str, ...]]] = []
        for node in self.nodes:
            for command in node.heartbeat():
                order = command.blkCmd
                if order.action == dn.BlockCommandProto.INVALIDATE:
                    found.append(("delete", node.uuid, ()))
                else:
                    (targets,) = order.targets
                    uuids = tuple(place.id.datanodeUuid for place in targets.datanodes)
                    found.append(("copy", node.uuid, uuids))
        return found

    def report_bad(self, node: InMemoryDatanode) -> None:
        self.namenode.call(
            "reportBadBlocks",
            pb.ReportBadBlocksRequestProto(
                blocks=[
                    types_pb2.LocatedBlockProto(
                        b=types_pb2.ExtendedBlockProto(
                            poolId=POOL_ID,
                            blockId=self.block.blockId,
                            generationStamp=self.block.generationStamp,
                        ),
                        offset=0,
                        locs=[
                            types_pb2.DatanodeInfoProto(
                                id=types_pb2.DatanodeIDProto(
                                    ipAddr=node.ip,
                                    hostName=node.ip,
                                    datanodeUuid=node.uuid,
                                    xferPort=9866,
                                    infoPort=9864,
                                    ipcPort=9867,
                                )
                            )
                        ],
                        corrupt=True,
                        blockToken=NO_TOKEN.to_proto(),
                        storageIDs=[node.first_storage],
                        storageTypes=[types_pb2.DISK],
                    )
                ]
            ),
        )


def test_too_few_replicas_are_copied_to_nodes_without_one() -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3)
    holders = {node.uuid for node in cluster.holders()}
    ((what, source, targets),) = cluster.orders()
    assert what == "copy"
    assert source in holders
    assert len(targets) == 1
    assert not set(targets) & holders


@pytest.mark.req("FS-015")
def test_nothing_is_copied_while_the_pipeline_has_yet_to_report() -> None:
    cluster = Cluster(nodes=5, holders=3, silent=2)
    assert cluster.orders() == []
    for node in cluster.silent:
        cluster.has_written(node)
    assert cluster.orders(PENDING_TIMEOUT_MS) == []


@pytest.mark.req("FS-015")
def test_what_a_pipeline_does_not_report_in_time_is_copied_elsewhere() -> None:
    cluster = Cluster(nodes=5, holders=3, silent=2)
    assert cluster.orders() == []
    ((what, _, targets),) = cluster.orders(PENDING_TIMEOUT_MS)
    assert what == "copy"
    assert len(targets) == 2


@pytest.mark.req("FS-015")
def test_what_is_wanted_beyond_the_pipeline_is_copied_at_once() -> None:
    cluster = Cluster(nodes=5, holders=2, silent=1, wanted=3)
    ((_, _, targets),) = cluster.orders()
    assert len(targets) == 1
    assert cluster.silent[0].uuid not in targets


@pytest.mark.req("FS-015")
def test_datanode_of_the_pipeline_that_starts_anew_without_its_replica_is_not_waited_for() -> None:
    cluster = Cluster(nodes=5, holders=3, silent=1)
    (node,) = cluster.silent
    node.register()
    node.heartbeat()
    node.report()
    ((what, _, targets),) = cluster.orders()
    assert what == "copy"
    assert len(targets) == 1


def test_too_many_replicas_are_deleted() -> None:
    cluster = Cluster(nodes=4, holders=4, wanted=2)
    orders = cluster.orders()
    assert [what for what, _, _ in orders] == ["delete", "delete"]


def test_copy_that_is_under_way_is_not_ordered_again() -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3)
    assert cluster.orders()
    assert cluster.orders(PENDING_TIMEOUT_MS // 2) == []


def test_copy_that_did_not_come_is_ordered_again_elsewhere() -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3)
    ((_, _, first),) = cluster.orders()
    ((_, _, second),) = cluster.orders(PENDING_TIMEOUT_MS)
    assert first != second


@pytest.mark.req("FS-015")
def test_copy_whose_source_turns_out_to_be_bad_is_ordered_at_once_from_another() -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3)
    ((_, bad, _),) = cluster.orders()
    cluster.report_bad(cluster.node(bad))
    ((what, source, _),) = cluster.orders()
    assert what == "copy"
    assert source != bad


@pytest.mark.req("FS-015")
def test_copy_whose_source_lost_its_replica_is_ordered_at_once_from_another() -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3)
    ((_, gone, _),) = cluster.orders()
    cluster.node(gone).drop(cluster.block.blockId)
    ((what, source, _),) = cluster.orders()
    assert what == "copy"
    assert source != gone


@pytest.mark.req("FS-015")
@pytest.mark.parametrize("who", ["source", "target"])
def test_copy_between_nodes_of_which_one_starts_anew_is_ordered_again_at_once(who: str) -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3)
    ((_, source, targets),) = cluster.orders()
    node = cluster.node(source if who == "source" else targets[0])
    node.register()
    node.heartbeat()
    node.report()
    ((what, _, _),) = cluster.orders()
    assert what == "copy"


@pytest.mark.req("FS-015")
@pytest.mark.parametrize("volume", [0, 1])
def test_copy_has_come_whichever_volume_of_its_target_took_it(volume: int) -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3, volumes=2)
    ((_, _, (target,)),) = cluster.orders()
    cluster.node(target).store(
        cluster.block.blockId,
        cluster.block.generationStamp,
        LENGTH,
        storage_id=f"DS-{target}-{volume}",
    )
    cluster.set_replication(4)
    ((what, _, targets),) = cluster.orders()
    assert what == "copy"
    assert targets != (target,)


@pytest.mark.req("FS-015")
def test_bad_replica_makes_room_where_every_node_has_one() -> None:
    cluster = Cluster(nodes=3, holders=3)
    bad, *_ = cluster.holders()
    cluster.report_bad(bad)
    assert ("delete", bad.uuid, ()) in cluster.orders() + cluster.orders()
    bad.drop(cluster.block.blockId)
    ((what, _, targets),) = cluster.orders()
    assert (what, targets) == ("copy", (bad.uuid,))


@pytest.mark.req("FS-015")
def test_copy_that_a_stale_replica_stands_in_the_way_of_is_ordered_again_once_it_is_gone() -> None:
    cluster = Cluster(nodes=3, holders=2, wanted=3)
    ((_, _, (target,)),) = cluster.orders()
    stale = cluster.node(target)
    stale.store(cluster.block.blockId, cluster.block.generationStamp - 1, 3)
    orders = cluster.orders() + cluster.orders()
    assert orders == [("delete", target, ())], "it refuses copies as long as it has one"
    stale.drop(cluster.block.blockId)
    ((what, _, targets),) = cluster.orders()
    assert (what, targets) == ("copy", (target,))


@pytest.mark.req("FS-015")
def test_copy_that_a_stale_replica_stands_in_the_way_of_goes_elsewhere_where_it_can() -> None:
    cluster = Cluster(nodes=4, holders=2, wanted=3)
    ((_, _, (target,)),) = cluster.orders()
    cluster.node(target).store(cluster.block.blockId, cluster.block.generationStamp - 1, 3)
    orders = cluster.orders()
    assert ("delete", target, ()) in orders
    (other,) = {n.uuid for n in cluster.nodes} - {n.uuid for n in cluster.holders()}
    assert [targets for what, _, targets in orders if what == "copy"] == [(other,)]


@pytest.mark.req("FS-015")
def test_order_that_was_lost_with_a_heartbeats_answer_is_sent_again() -> None:
    cluster = Cluster(nodes=3, holders=2, wanted=3)
    ((_, _, (target,)),) = cluster.orders()
    cluster.node(target).store(cluster.block.blockId, cluster.block.generationStamp - 1, 3)
    assert cluster.orders() + cluster.orders() == [("delete", target, ())]
    assert cluster.orders() + cluster.orders(PENDING_TIMEOUT_MS - 1) == []
    assert cluster.orders(1) == [("delete", target, ())]
    assert cluster.orders() == []


@pytest.mark.req("FS-015")
def test_order_for_a_replica_that_a_full_report_does_not_name_is_over() -> None:
    """Also one that was not sent yet: a power cut took the replica before."""
    cluster = Cluster(nodes=3, holders=3)
    cluster.set_replication(2)
    cluster.namenode.tick()
    (victim,) = [node for node in cluster.nodes if node.known.invalidated]
    victim.replicas[victim.first_storage].clear()
    victim.report()
    assert not victim.known.invalidated
    assert cluster.orders() == []


# --- moves ---


def _deleted(cluster: Cluster) -> list[str]:
    return [node for what, node, _ in cluster.orders() if what == "delete"]


def _place(cluster: Cluster, racks: dict[str, str]) -> None:
    for node in cluster.nodes:
        node.known.location = racks[node.uuid]


@pytest.mark.req("FS-015")
@pytest.mark.parametrize("turn", range(3))
def test_a_replica_that_was_moved_goes_where_it_came_from(turn: int) -> None:
    cluster = Cluster(nodes=4, holders=3)
    source = cluster.holders()[turn]
    (target,) = [node for node in cluster.nodes if node not in cluster.holders()]
    # Without the hint the fullest would go.
    for node in cluster.nodes:
        node.used_bytes = 0 if node is source else node.capacity_bytes // 2
        node.heartbeat()
    target.store(
        cluster.block.blockId, cluster.block.generationStamp, LENGTH, delete_hint=source.uuid
    )
    assert _deleted(cluster) == [source.uuid]
    source.drop(cluster.block.blockId)
    assert cluster.orders() == []


def test_a_move_that_would_cost_a_rack_is_not_carried_on() -> None:
    cluster = Cluster(nodes=4, holders=3)
    source, *others = cluster.holders()
    (target,) = [node for node in cluster.nodes if node not in cluster.holders()]
    _place(cluster, {source.uuid: "/a", target.uuid: "/b", **{o.uuid: "/b" for o in others}})
    target.store(
        cluster.block.blockId, cluster.block.generationStamp, LENGTH, delete_hint=source.uuid
    )
    (victim,) = _deleted(cluster)
    assert victim != source.uuid


def test_a_move_to_a_new_rack_is_carried_on() -> None:
    cluster = Cluster(nodes=4, holders=3)
    source, *others = cluster.holders()
    (target,) = [node for node in cluster.nodes if node not in cluster.holders()]
    _place(cluster, {source.uuid: "/a", target.uuid: "/c", **{o.uuid: "/b" for o in others}})
    target.store(
        cluster.block.blockId, cluster.block.generationStamp, LENGTH, delete_hint=source.uuid
    )
    assert _deleted(cluster) == [source.uuid]


@pytest.mark.req("FS-015")
def test_a_move_deletes_nothing_where_another_replica_was_lost_meanwhile() -> None:
    cluster = Cluster(nodes=4, holders=3)
    source, other, _ = cluster.holders()
    (target,) = [node for node in cluster.nodes if node not in cluster.holders()]
    other.drop(cluster.block.blockId)
    target.store(
        cluster.block.blockId, cluster.block.generationStamp, LENGTH, delete_hint=source.uuid
    )
    assert _deleted(cluster) == []
    assert not cluster.namenode.namesystem.block_manager.blocks.redundancy.move_hints
    # What comes back later is chosen among by the usual rules.
    other.store(cluster.block.blockId, cluster.block.generationStamp, LENGTH)
    assert len(_deleted(cluster)) == 1


@pytest.mark.parametrize("hint", ["unheard-of", "target", "empty"])
def test_a_hint_that_means_nothing_is_not_kept(hint: str) -> None:
    cluster = Cluster(nodes=5, holders=3)
    target, empty = [node for node in cluster.nodes if node not in cluster.holders()]
    uuid = {"target": target.uuid, "empty": empty.uuid}.get(hint, hint)
    target.store(cluster.block.blockId, cluster.block.generationStamp, LENGTH, delete_hint=uuid)
    assert not cluster.namenode.namesystem.block_manager.blocks.redundancy.move_hints
    assert len(_deleted(cluster)) == 1


def test_two_moves_of_a_block_cost_their_two_sources() -> None:
    cluster = Cluster(nodes=5, holders=3)
    first, second, _ = cluster.holders()
    targets = [node for node in cluster.nodes if node not in cluster.holders()]
    for source, target in zip((first, second), targets, strict=True):
        target.store(
            cluster.block.blockId, cluster.block.generationStamp, LENGTH, delete_hint=source.uuid
        )
    assert sorted(_deleted(cluster)) == sorted([first.uuid, second.uuid])
    assert not cluster.namenode.namesystem.block_manager.blocks.redundancy.move_hints
