"""A file is written in block groups, read, repaired and deleted; the datanodes are facts."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.fsck.check import FsckCheck
from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.protocols.encoders import NO_TOKEN
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import BlockState, Directory, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2, types_pb2
from howdah.protocol.data_transfer.blocks import signed64
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode, outcome, reloaded

MIB = 1 << 20
RS32 = "RS-3-2-1024k"
COMMAND = datanode_namenode_pb2.DatanodeCommandProto


class Cluster:
    """A namenode with datanodes, and a client that writes the file /ec/f."""

    def __init__(
        self, nodes: int = 6, racks: int = 1, namenode: InMemoryNamenode | None = None
    ) -> None:
        self.namenode = namenode or InMemoryNamenode()
        self.nodes = [
            self.namenode.join(f"dn{number}", rack=f"/r{number % racks}") for number in range(nodes)
        ]
        self.call("mkdirs", pb.MkdirsRequestProto(src="/ec", masked=MODE, createParent=True))
        self.call(
            "enableErasureCodingPolicy",
            types_pb2.EnableErasureCodingPolicyRequestProto(ecPolicyName=RS32),
        )
        self.call(
            "setErasureCodingPolicy",
            types_pb2.SetErasureCodingPolicyRequestProto(src="/ec", ecPolicyName=RS32),
        )

    def call(
        self, method: str, request: Message, *, address: str | None = None
    ) -> Message | Deferred:
        return self.namenode.call(method, request, address=address)

    def create(self, path: str = "/ec/f", **fields: object) -> types_pb2.HdfsFileStatusProto:
        answer = self.call("create", create_request(path, **fields))
        assert isinstance(answer, pb.CreateResponseProto)
        return answer.fs

    def add_block(
        self, previous: types_pb2.ExtendedBlockProto | None = None, path: str = "/ec/f"
    ) -> types_pb2.LocatedBlockProto:
        answer = self.call(
            "addBlock",
            pb.AddBlockRequestProto(src=path, clientName="client", previous=previous),
        )
        assert isinstance(answer, pb.AddBlockResponseProto)
        return answer.block

    def file(self, path: str = "/ec/f") -> File:
        file = self.namenode.namesystem.namespace.find(path)
        assert isinstance(file, File)
        return file

    def group(self, path: str = "/ec/f") -> Group:
        group = self.file(path).last_block
        assert isinstance(group, Group)
        return group

    def node(self, uuid: str) -> InMemoryDatanode:
        return next(node for node in self.nodes if node.uuid == uuid)

    def store(
        self, block: types_pb2.LocatedBlockProto, length: int, *, lost: tuple[int, ...] = ()
    ) -> types_pb2.ExtendedBlockProto:
        """Each datanode finalizes its internal block of a group of that length."""
        group = self.group()
        layout = type(group.layout)(group.policy, length)
        for index, place in zip(block.blockIndices, block.locs, strict=True):
            if index in layout.block_indices and index not in lost:
                self.node(place.id.datanodeUuid).store(
                    group.block_id + index, group.generation_stamp, layout.block_length(index)
                )
        named = types_pb2.ExtendedBlockProto()
        named.CopyFrom(block.b)
        named.generationStamp = group.generation_stamp
        named.numBytes = length
        return named

    def complete(self, last: types_pb2.ExtendedBlockProto) -> bool | None:
        answer = outcome(
            self.call(
                "complete",
                pb.CompleteRequestProto(src="/ec/f", clientName="client", last=last),
            )
        )
        assert answer is None or isinstance(answer, pb.CompleteResponseProto)
        return None if answer is None else answer.result

    def write(self, length: int = 4 * MIB, *, lost: tuple[int, ...] = ()) -> Group:
        self.create()
        assert self.complete(self.store(self.add_block(), length, lost=lost))
        return self.group()


MODE = types_pb2.FsPermissionProto(perm=0o755)


def create_request(path: str, **fields: object) -> pb.CreateRequestProto:
    request = pb.CreateRequestProto(
        src=path,
        masked=MODE,
        clientName="client",
        createFlag=pb.CREATE,
        createParent=True,
        replication=3,
        blockSize=4 * MIB,
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def test_a_file_is_striped_where_the_directory_says_so() -> None:
    cluster = Cluster()
    shown = cluster.create()
    assert (shown.ecPolicy.id, shown.block_replication) == (2, 1)
    assert shown.flags & types_pb2.HdfsFileStatusProto.HAS_EC
    add = next(e for e in cluster.namenode.edits() if isinstance(e, edits.AddOp))
    assert (add.erasure_coding_policy_id, add.replication) == (2, 1)


def test_a_creator_may_want_a_replicated_file() -> None:
    cluster = Cluster()
    cluster.create(createFlag=pb.CREATE | pb.SHOULD_REPLICATE)
    assert cluster.file().coding_policy_id == 0
    assert cluster.file().replication == 3


def test_a_creator_names_an_enabled_policy() -> None:
    cluster = Cluster()
    cluster.create("/f", ecPolicyName=RS32)
    assert cluster.file("/f").coding_policy_id == 2
    with pytest.raises(errors.IllegalArgument, match="does not match any enabled"):
        cluster.create("/g", ecPolicyName="XOR-2-1-1024k")
    with pytest.raises(errors.IllegalArgument, match="exclusive"):
        cluster.create("/g", ecPolicyName=RS32, createFlag=pb.CREATE | pb.SHOULD_REPLICATE)


def test_a_block_is_no_smaller_than_a_cell() -> None:
    cluster = Cluster()
    with pytest.raises(errors.RemoteError, match="less than the cell size"):
        cluster.create("/ec/new/f", blockSize=MIB // 2)
    assert cluster.namenode.namesystem.namespace.find("/ec/new") is None


def test_a_group_goes_to_as_many_datanodes_as_it_has_blocks() -> None:
    cluster = Cluster()
    cluster.create()
    block = cluster.add_block()
    assert signed64(block.b.blockId) == -(1 << 63) + 16
    assert list(block.blockIndices) == [0, 1, 2, 3, 4]
    assert len({place.id.datanodeUuid for place in block.locs}) == 5
    assert len(block.blockTokens) == 5
    again = cluster.add_block()
    assert again.b == block.b
    assert again.blockIndices == block.blockIndices


def indices_shown(cluster: Cluster) -> list[int]:
    """The indices of a file's only group, as a reader on one of its datanodes hears them."""
    answer = cluster.call(
        "getBlockLocations",
        pb.GetBlockLocationsRequestProto(src="/ec/f", offset=0, length=4 * MIB),
        address=cluster.nodes[2].ip,
    )
    assert isinstance(answer, pb.GetBlockLocationsResponseProto)
    [block] = answer.locations.blocks
    return list(block.blockIndices)


def test_a_groups_places_come_in_the_order_of_their_indices() -> None:
    """Programs take the first places for those of data."""
    cluster = Cluster(nodes=5)
    group = cluster.write()
    assert indices_shown(cluster) == [0, 1, 2, 3, 4]
    group.part(1).replicas[0].node.admin_state = AdminState.DECOMMISSION_INPROGRESS
    assert indices_shown(cluster) == [0, 2, 3, 4, 1]


def test_parity_may_lack_datanodes_and_data_may_not() -> None:
    cluster = Cluster(nodes=4)
    cluster.create()
    assert list(cluster.add_block().blockIndices) == [0, 1, 2, 3]
    cluster = Cluster(nodes=2)
    cluster.create()
    with pytest.raises(errors.NoDatanodes, match="2 of the 3 required nodes for RS-3-2-1024k"):
        cluster.add_block()


def test_internal_blocks_are_spread_over_racks() -> None:
    cluster = Cluster(nodes=9, racks=3)
    cluster.create()
    racks = [place.location for place in cluster.add_block().locs]
    assert sorted(racks.count(rack) for rack in set(racks)) == [1, 2, 2]


def test_a_file_is_closed_when_a_reader_has_enough() -> None:
    cluster = Cluster()
    cluster.create()
    block = cluster.add_block()
    named = cluster.store(block, 4 * MIB, lost=(0, 1, 2))
    assert cluster.complete(named) is None
    cluster = Cluster()
    group = cluster.write(lost=(1, 4))
    assert group.state is BlockState.COMPLETE
    assert (group.replica_count, group.data_blocks) == (3, 3)


def test_the_next_group_comes_behind_the_first() -> None:
    cluster = Cluster()
    cluster.create()
    named = cluster.store(cluster.add_block(), 12 * MIB)
    second = cluster.add_block(named)
    assert signed64(second.b.blockId) == -(1 << 63) + 32
    assert second.offset == 12 * MIB
    assert cluster.complete(cluster.store(second, 5))
    assert cluster.file().length_bytes == 12 * MIB + 5
    assert cluster.group().layout.block_indices == (0, 3, 4)


def test_a_log_and_an_image_of_it_lead_to_the_same() -> None:
    cluster = Cluster()
    cluster.write()
    for namespace in (
        cluster.namenode.restarted().namesystem.namespace,
        reloaded(cluster.namenode.namesystem.namespace),
    ):
        file = namespace.find("/ec/f")
        assert isinstance(file, File)
        group = file.last_block
        assert isinstance(group, Group)
        assert (group.length_bytes, group.policy.policy_id) == (4 * MIB, 2)
        assert namespace.last_group_id == group.block_id
        assert namespace.coding_policies == cluster.namenode.namesystem.namespace.coding_policies


def test_a_failed_datanode_leaves_the_group_under_a_new_stamp() -> None:
    cluster = Cluster()
    cluster.create()
    block = cluster.add_block()
    answer = cluster.call(
        "updateBlockForPipeline",
        pb.UpdateBlockForPipelineRequestProto(block=block.b, clientName="client"),
    )
    assert isinstance(answer, pb.UpdateBlockForPipelineResponseProto)
    assert list(answer.block.blockIndices) == [0, 1, 2, 3, 4]
    new = types_pb2.ExtendedBlockProto()
    new.CopyFrom(answer.block.b)
    nodes = [place.id for place in block.locs]
    storages = list(block.storageIDs)
    nodes[1] = types_pb2.DatanodeIDProto(
        ipAddr="null", hostName="null", datanodeUuid="null", xferPort=0, infoPort=0, ipcPort=0
    )
    storages[1] = ""
    cluster.call(
        "updatePipeline",
        pb.UpdatePipelineRequestProto(
            clientName="client", oldBlock=block.b, newBlock=new, newNodes=nodes, storageIDs=storages
        ),
    )
    group = cluster.group()
    assert [index for index, _ in group.expected_parts] == [0, 2, 3, 4]
    assert group.generation_stamp == new.generationStamp
    assert cluster.complete(cluster.store(block, 3 * MIB, lost=(1,)))


# Repairs.


def reconstructions(cluster: Cluster) -> list[types_pb2.BlockECReconstructionInfoProto]:
    return [
        info
        for node in cluster.nodes
        if node.known.alive
        for command in node.heartbeat()
        for info in command.blkECReconstructionCmd.blockECReconstructioninfo
    ]


def test_a_lost_internal_block_is_made_again() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    victim = cluster.node(group.part(1).replicas[0].node.identity.uuid)
    victim.drop(group.part(1).block_id)
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    assert signed64(info.block.blockId) == group.block_id
    assert info.block.numBytes == group.length_bytes
    assert list(info.liveBlockIndices) == [0, 2, 3, 4]
    assert info.ecPolicy.id == 2
    [target] = info.targetDnInfos.datanodes
    holders = {storage.node.identity.uuid for storage in group.replicas}
    assert target.id.datanodeUuid not in holders
    cluster.namenode.tick(1000)
    assert reconstructions(cluster) == []  # It is under way.
    reconstruction = cluster.namenode.namesystem.block_manager.reconstruction
    assert reconstruction.counts().groups.under_way == 1
    cluster.node(target.id.datanodeUuid).store(
        group.part(1).block_id, group.generation_stamp, group.part(1).length_bytes
    )
    cluster.namenode.tick(1000)
    counts = reconstruction.counts()
    assert (counts.too_few, counts.missing, counts.excess) == (0, 0, 0)
    assert counts.groups.under_way == 0


def test_too_few_internal_blocks_are_missing() -> None:
    cluster = Cluster()
    group = cluster.write()
    for index in (0, 1, 3):
        cluster.node(group.part(index).replicas[0].node.identity.uuid).drop(group.block_id + index)
    cluster.namenode.tick(1000)
    assert reconstructions(cluster) == []
    assert cluster.namenode.namesystem.block_manager.reconstruction.counts().missing == 1


def test_an_internal_block_that_is_there_twice_loses_one_of_them() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    holders = {storage.node.identity.uuid for storage in group.replicas}
    spare = next(node for node in cluster.nodes if node.uuid not in holders)
    part = group.part(4)
    spare.store(part.block_id, group.generation_stamp, part.length_bytes)
    cluster.namenode.tick(1000)
    orders = [
        signed64(block.blockId)
        for node in cluster.nodes
        for command in node.heartbeat()
        if command.blkCmd.action == datanode_namenode_pb2.BlockCommandProto.INVALIDATE
        for block in command.blkCmd.blocks
    ]
    assert orders == [part.block_id]
    assert group.replica_count == 5


def test_a_datanode_with_two_indices_keeps_both() -> None:
    cluster = Cluster(nodes=5)
    group = cluster.write()
    keeper = cluster.node(group.part(0).replicas[0].node.identity.uuid)
    loser = cluster.node(group.part(1).replicas[0].node.identity.uuid)
    part = group.part(1)
    loser.drop(part.block_id)
    keeper.store(part.block_id, group.generation_stamp, part.length_bytes)
    cluster.namenode.tick(1000)
    assert all(not command.blkCmd.blocks for node in cluster.nodes for command in node.heartbeat())
    assert group.replica_count == 5


def test_a_corrupt_internal_block_goes_when_another_one_is_there() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    part = group.part(2)
    bad = part.replicas[0].node
    cluster.call(
        "reportBadBlocks",
        pb.ReportBadBlocksRequestProto(
            blocks=[
                types_pb2.LocatedBlockProto(
                    b=types_pb2.ExtendedBlockProto(
                        poolId="BP-1-127.0.0.1-1",
                        blockId=part.block_id % (1 << 64),
                        generationStamp=group.generation_stamp,
                        numBytes=part.length_bytes,
                    ),
                    offset=0,
                    corrupt=False,
                    locs=[
                        types_pb2.DatanodeInfoProto(
                            id=cluster.node(bad.identity.uuid).registration().datanodeID
                        )
                    ],
                    blockToken=NO_TOKEN,
                )
            ]
        ),
    )
    assert group.replica_count == 4
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    target = info.targetDnInfos.datanodes[0].id.datanodeUuid
    assert target != bad.identity.uuid
    cluster.node(target).store(part.block_id, group.generation_stamp, part.length_bytes)
    cluster.namenode.tick(1000)
    orders = [
        signed64(block.blockId)
        for command in cluster.node(bad.identity.uuid).heartbeat()
        for block in command.blkCmd.blocks
    ]
    assert orders == [part.block_id]


# What groups cannot do.


def test_a_striped_file_is_not_truncated_nor_replicated() -> None:
    cluster = Cluster()
    cluster.write()
    with pytest.raises(errors.UnsupportedOperation, match="Cannot truncate file with striped"):
        cluster.call(
            "truncate", pb.TruncateRequestProto(src="/ec/f", newLength=1, clientName="client")
        )
    answer = cluster.call(
        "setReplication", pb.SetReplicationRequestProto(src="/ec/f", replication=2)
    )
    assert isinstance(answer, pb.SetReplicationResponseProto)
    assert not answer.result


def test_an_append_wants_a_new_block() -> None:
    cluster = Cluster()
    group = cluster.write()
    with pytest.raises(errors.UnsupportedOperation, match="NEW_BLOCK"):
        cluster.call("append", pb.AppendRequestProto(src="/ec/f", clientName="client"))
    answer = cluster.call(
        "append", pb.AppendRequestProto(src="/ec/f", clientName="client", flag=pb.NEW_BLOCK)
    )
    assert isinstance(answer, pb.AppendResponseProto)
    assert signed64(answer.block.b.blockId) == group.block_id
    second = cluster.add_block(answer.block.b)
    assert cluster.complete(cluster.store(second, 7))
    assert cluster.file().length_bytes == 4 * MIB + 7


# What administrators see.


def test_summaries_count_parity_and_name_policies() -> None:
    cluster = Cluster()
    cluster.write()

    def summary(path: str) -> types_pb2.ContentSummaryProto:
        answer = cluster.call("getContentSummary", pb.GetContentSummaryRequestProto(path=path))
        assert isinstance(answer, pb.GetContentSummaryResponseProto)
        return answer.summary

    assert summary("/ec/f").erasureCodingPolicy == RS32
    assert summary("/ec").erasureCodingPolicy == RS32
    assert summary("/").erasureCodingPolicy == ""
    # Four cells in two stripes, of which each has two cells of parity.
    assert (summary("/").length, summary("/").spaceConsumed) == (4 * MIB, 8 * MIB)


def test_quotas_count_parity() -> None:
    cluster = Cluster()
    cluster.call(
        "setQuota",
        pb.SetQuotaRequestProto(
            path="/ec", namespaceQuota=(1 << 63) - 1, storagespaceQuota=21 * MIB
        ),
    )
    cluster.write()
    directory = cluster.namenode.namesystem.namespace.find("/ec")
    assert isinstance(directory, Directory)
    quota = directory.quota
    assert quota is not None
    assert quota.used_bytes == 8 * MIB
    cluster.create("/ec/g")
    with pytest.raises(errors.SpaceQuotaExceeded):  # A group is five blocks of 4 MiB.
        cluster.add_block(path="/ec/g")


def test_a_leaving_datanode_has_its_internal_blocks_copied() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    part = group.part(3)
    leaving = part.replicas[0].node
    leaving.admin_state = AdminState.DECOMMISSION_INPROGRESS
    needs = cluster.namenode.namesystem.block_manager.blocks.redundancy
    needs.out_of_service.add(leaving)
    needs.note(group.block_id)
    cluster.namenode.tick(1000)
    orders = [
        signed64(block.blockId)
        for command in cluster.node(leaving.identity.uuid).heartbeat()
        if command.blkCmd.action == datanode_namenode_pb2.BlockCommandProto.TRANSFER
        for block in command.blkCmd.blocks
    ]
    assert orders == [part.block_id]
    assert reconstructions(cluster) == []


def test_a_killed_writers_group_is_recovered_to_whole_stripes() -> None:
    cluster = Cluster()
    cluster.create()
    block = cluster.add_block()
    for index, place in zip(block.blockIndices, block.locs, strict=True):
        cluster.node(place.id.datanodeUuid).store(
            cluster.group().block_id + index, block.b.generationStamp, MIB, finalized=False
        )
    cluster.call("recoverLease", pb.RecoverLeaseRequestProto(src="/ec/f", clientName="other"))
    [order] = [order for node in cluster.nodes for order in node.orders()]
    assert signed64(order.block.b.blockId) == cluster.group().block_id
    assert (order.ecPolicy.id, list(order.blockIndices)) == (2, [0, 1, 2, 3, 4])
    by_index = dict(zip(order.blockIndices, order.block.locs, strict=True))
    cluster.call(
        "commitBlockSynchronization",
        datanode_namenode_pb2.CommitBlockSynchronizationRequestProto(
            block=order.block.b,
            newGenStamp=order.newGenStamp,
            newLength=3 * MIB,
            closeFile=True,
            deleteBlock=False,
            newTaragets=[
                by_index[index].id
                if index != 4
                else types_pb2.DatanodeIDProto(
                    ipAddr="", hostName="", datanodeUuid="", xferPort=0, infoPort=0, ipcPort=0
                )
                for index in range(5)
            ],
            newTargetStorages=[
                cluster.node(by_index[index].id.datanodeUuid).first_storage if index != 4 else ""
                for index in range(5)
            ],
        ),
        address="10.0.0.1",
    )
    group = cluster.group()
    assert group.state is BlockState.COMPLETE
    assert (group.length_bytes, group.generation_stamp) == (3 * MIB, order.newGenStamp)
    assert [index for index, _ in group.held] == [0, 1, 2, 3]


def test_fsck_counts_groups_apart() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    cluster.node(group.part(0).replicas[0].node.identity.uuid).drop(group.block_id)
    options = Options("/", files=True, blocks=True, locations=True)
    check = FsckCheck(
        cluster.namenode.namesystem,
        Caller("root", b"", 0, 0, "10.9.9.9"),
        cluster.namenode.namesystem.identities.of("root"),
        options,
    )
    for _ in check.entry("/ec/f", cluster.file()):
        pass
    text = check.take_text()
    assert "erasure-coded: policy=RS-3-2-1024k, 1 block(s)" in text
    assert "Target Replicas is 5 but found 4 live replica(s)" in text
    assert f"blk_{group.block_id + 4}:DatanodeInfoWithStorage" in text
    figures = check.group_figures
    assert (figures.files, figures.blocks, figures.under_replicated) == (1, 1, 1)
    assert (figures.lacking_replicas, figures.missing) == (1, 0)
    assert check.figures.files == 0


def test_fsck_shows_internal_blocks_with_their_ids_once_they_are_complete() -> None:
    cluster = Cluster()
    cluster.create()
    first = cluster.store(cluster.add_block(), 12 * MIB)
    done = cluster.group()
    cluster.store(cluster.add_block(first), 5)
    options = Options("/", blocks=True, locations=True, files=True, open_for_write=True)
    check = FsckCheck(
        cluster.namenode.namesystem,
        Caller("root", b"", 0, 0, "10.9.9.9"),
        cluster.namenode.namesystem.identities.of("root"),
        options,
    )
    for _ in check.entry("/ec/f", cluster.file()):
        pass
    complete, _, still_open = check.take_text().partition("Under Construction Block:")
    assert f"blk_{done.block_id + 4}:DatanodeInfoWithStorage" in complete
    assert "Expected_repl=5  [DatanodeInfoWithStorage[" in still_open
    assert still_open.count("blk_") == 1, "the group itself"


# Other namenodes.


def test_a_standby_takes_reports_that_are_ahead_of_its_log() -> None:
    cluster = Cluster()
    standby = InMemoryNamenode()
    standby.namesystem.become_standby()
    others = [standby.join(node.uuid) for node in cluster.nodes]
    group = cluster.write()
    for node, other in zip(cluster.nodes, others, strict=True):
        for block_id, replica in node.replicas[node.first_storage].items():
            other.store(block_id, replica.generation_stamp, replica.length_bytes)
    standby.namesystem.last_txid = 1  # Its root has an owner by an edit of its own.
    for logged in map(decode_record, cluster.namenode.log[1:]):
        standby.namesystem.follow(logged)
    followed = standby.namesystem.namespace.blocks[group.block_id]
    assert isinstance(followed, Group)
    assert [index for index, _ in followed.held] == [0, 1, 2, 3, 4]
    assert followed.state is BlockState.COMPLETE
    standby.namesystem.become_active()
    assert standby.namesystem.block_manager.blocks.safe_count == 1


def test_safe_mode_waits_for_as_much_as_a_reader_needs() -> None:
    cluster = Cluster()
    group = cluster.write()
    fresh = cluster.namenode.restarted()
    assert fresh.namesystem.safe_mode.on
    counts = []
    for node in cluster.nodes:
        other = fresh.join(node.uuid)
        other.replicas[other.first_storage].update(node.replicas[node.first_storage])
        other.report()
        found = fresh.namesystem.namespace.blocks[group.block_id]
        counts.append((found.replica_count, fresh.namesystem.block_manager.blocks.safe_count))
    assert {safe for held, safe in counts if held < 3} <= {0}
    assert {safe for held, safe in counts if held >= 3} == {1}


def test_a_group_without_a_byte_needs_no_datanode() -> None:
    cluster = Cluster()
    cluster.create()
    block = cluster.add_block()
    named = types_pb2.ExtendedBlockProto()
    named.CopyFrom(block.b)
    assert cluster.complete(named)
    blocks = cluster.namenode.namesystem.block_manager.blocks
    assert blocks.safe_count == 1
    fresh = cluster.namenode.restarted().namesystem.block_manager.blocks
    assert (fresh.safe_count, fresh.blocks.count_settled()) == (1, 1)


def test_a_group_is_spread_when_there_are_more_racks() -> None:
    cluster = Cluster(nodes=5)
    group = cluster.write()
    cluster.nodes += [cluster.namenode.join(f"far{number}", rack="/far") for number in range(2)]
    for _ in range(4):
        cluster.namenode.tick(1000)
        for node in cluster.nodes:
            for command in node.heartbeat():
                obey(cluster, node, command)
    racks = [storage.node.location for storage in group.replicas]
    assert sorted(racks) == ["/far", *["/r0"] * 4]
    assert [index for index, _ in group.held] == [0, 1, 2, 3, 4]
    counts = cluster.namenode.namesystem.block_manager.reconstruction.counts()
    assert (counts.misplaced, counts.too_few, counts.excess) == (0, 0, 0)


def obey(cluster: Cluster, node: InMemoryDatanode, command: COMMAND) -> None:
    """Carry out what a datanode is told of replicas."""
    for block, targets in zip(command.blkCmd.blocks, command.blkCmd.targets, strict=False):
        block_id = signed64(block.blockId)
        if command.blkCmd.action == datanode_namenode_pb2.BlockCommandProto.INVALIDATE:
            node.drop(block_id)
        for target in targets.datanodes:
            cluster.node(target.id.datanodeUuid).store(block_id, block.genStamp, block.numBytes)


def test_what_rests_in_maintenance_is_not_made_again() -> None:
    cluster = Cluster(nodes=8)
    group = cluster.write()
    resting = group.part(0).replicas[0].node
    lost = group.part(2)
    resting.admin_state = AdminState.IN_MAINTENANCE
    resting.maintenance_until_ms = 1 << 62
    cluster.namenode.namesystem.block_manager.blocks.redundancy.out_of_service.add(resting)
    resting.alive = False
    cluster.namenode.namesystem.block_manager.blocks.node_rests(resting)
    cluster.node(lost.replicas[0].node.identity.uuid).drop(lost.block_id)
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    assert list(info.liveBlockIndices) == [1, 3, 4]
    assert list(info.excludeReconstructedIndices) == [0]
    assert len(info.targetDnInfos.datanodes) == 1
