"""What control process, data process and namenode say to each other, as bytes and back."""

from __future__ import annotations

import pickle
import struct
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.channel.frames import Link, LinkClosed
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control import reports
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.recovery.inter_datanode import encode_order
from howdah.datanode.state.commands import (
    FinalizeUpgrade,
    Register,
    Shutdown,
    Unsupported,
    UpdateKeys,
    decode_orders,
)
from howdah.datanode.state.messages import (
    BlockSynchronized,
    Cache,
    CheckVolumes,
    CorruptFound,
    Identity,
    Invalidate,
    Message,
    MessageBuffer,
    PoolServed,
    Reconstruct,
    RecoverBlock,
    RecoverGroup,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    ReportAsked,
    ServePool,
    ShutdownAsked,
    Stop,
    Transfer,
    VolumeFailed,
    encode,
)
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.formats.tokens.block_keys import BlockKey, ExportedKeys
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.block_lists import ListedReplica
from howdah.protocol.data_transfer.blocks import (
    UINT64,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.protocol.striping.policies import SYSTEM_POLICIES

POOL = "BP-1-127.0.0.1-1"
NODE = DatanodeAddress("10.0.0.1", "one", "uuid-1", 9866, 9864, 9867)
BLOCK = ExtendedBlock(POOL, -7, 1001, 5)
MESSAGES: list[Message] = [
    ReplicaOpened(BLOCK, "DS-1"),
    ReplicaReceived(BLOCK, "DS-1"),
    ReplicaDeleted(BLOCK, "DS-1"),
    CorruptFound(BLOCK, "DS-1", NODE, "why"),
    VolumeFailed("DS-1", "why"),
    PoolServed(POOL),
    BlockSynchronized(BLOCK, 1007, 5, False, (NODE,), ("DS-1",), "namenode"),
    RecoverBlock(BLOCK, 1007, (NODE,), BLOCK, "namenode"),
    ReportAsked(True),
    ShutdownAsked(False),
    ServePool(POOL),
    Identity("BP-1", NODE),
    Invalidate((BLOCK,)),
    Transfer(BLOCK, (NODE,), (StorageType.SSD,), ("DS-2",)),
    CheckVolumes(),
    Stop(),
]


@given(st.lists(st.sampled_from(MESSAGES), max_size=6), st.integers(1, 50))
def test_messages_come_out_as_they_went_in_whatever_the_pieces(
    messages: list[Message], piece: int
) -> None:
    wire = b"".join(map(encode, messages))
    buffer = MessageBuffer()
    got: list[Message] = []
    for start in range(0, len(wire), piece):
        got += buffer.feed(wire[start : start + piece])
    assert got == messages


def test_what_is_no_message_is_refused() -> None:
    body = pickle.dumps({"not": "a message"})
    with pytest.raises(errors.ProtocolViolation, match="do not say dict"):
        MessageBuffer().feed(struct.pack(">I", len(body)) + body)


def test_a_link_carries_messages_of_many_threads() -> None:
    here, there = Link.pair()

    def send() -> None:
        for _ in range(50):
            here.send(ServePool("BP-" * 200))

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    got: list[Message] = []
    while len(got) < 200:
        got += there.receive()
    for thread in threads:
        thread.join()
    assert got == [ServePool("BP-" * 200)] * 200
    here.close()
    with pytest.raises(LinkClosed):
        there.receive()
    with pytest.raises(LinkClosed):
        there.send(Stop())
    there.close()


def test_gauges_keep_each_number_in_its_place() -> None:
    gauges = Gauges(2)
    gauges.set_connections(5)
    gauges.set_copies(6)
    gauges.set_promised_bytes(0, 1 << 40)
    gauges.set_promised_bytes(1, 7)
    assert (gauges.connections, gauges.copies) == (5, 6)
    assert (gauges.promised_bytes(0), gauges.promised_bytes(1)) == (1 << 40, 7)


# --- orders ---


def block_proto(block_id: int) -> types_pb2.BlockProto:
    return types_pb2.BlockProto(blockId=block_id & (1 << 64) - 1, genStamp=1001, numBytes=5)


def block_command(**fields: Any) -> pb.DatanodeCommandProto:
    return pb.DatanodeCommandProto(
        cmdType=pb.DatanodeCommandProto.BlockCommand,
        blkCmd=pb.BlockCommandProto(blockPoolId=POOL, **fields),
    )


def test_blocks_to_delete_are_read() -> None:
    command = block_command(
        action=pb.BlockCommandProto.INVALIDATE, blocks=[block_proto(1), block_proto(-7)]
    )
    assert decode_orders([command]) == [
        Invalidate((ExtendedBlock(POOL, 1, 1001, 5), ExtendedBlock(POOL, -7, 1001, 5)))
    ]


def test_blocks_to_copy_are_read_with_their_targets() -> None:
    command = block_command(
        action=pb.BlockCommandProto.TRANSFER,
        blocks=[block_proto(-7)],
        targets=[types_pb2.DatanodeInfosProto(datanodes=[NODE.to_proto()])],
        targetStorageTypes=[types_pb2.StorageTypesProto(storageTypes=[types_pb2.SSD])],
        targetStorageUuids=[types_pb2.StorageUuidsProto(storageUuids=["DS-2"])],
    )
    assert decode_orders([command]) == [Transfer(BLOCK, (NODE,), (StorageType.SSD,), ("DS-2",))]


def test_a_copy_without_targets_is_a_contradiction() -> None:
    command = block_command(action=pb.BlockCommandProto.TRANSFER, blocks=[block_proto(1)])
    with pytest.raises(errors.ProtocolViolation, match="1 blocks and 0 lists"):
        decode_orders([command])


@pytest.mark.req("AP-021")
@pytest.mark.parametrize("target", [None, ExtendedBlock(POOL, 9, 1007, 70)])
def test_a_recovery_order_is_decoded_as_primaries_encode_it(target: ExtendedBlock | None) -> None:
    order = RecoverBlock(BLOCK, 1007, (NODE, NODE), target)
    command = pb.DatanodeCommandProto(
        cmdType=pb.DatanodeCommandProto.BlockRecoveryCommand,
        recoveryCmd=pb.BlockRecoveryCommandProto(blocks=[encode_order(order)]),
    )
    assert decode_orders([command]) == [order]


GROUP = ExtendedBlock(POOL, FIRST_GROUP_ID, 1001, 5)
RS_3_2 = SYSTEM_POLICIES[2]


def group_recovery(
    indices: bytes, block: ExtendedBlock = GROUP, committed: int | None = None
) -> pb.DatanodeCommandProto:
    proto = encode_order(RecoverBlock(block, 1007, (NODE, NODE)))
    proto.ecPolicy.id = RS_3_2.policy_id
    proto.blockIndices = indices
    if committed is not None:
        proto.truncateBlock.blockId = block.block_id & UINT64
        proto.truncateBlock.genStamp = 1007
        proto.truncateBlock.numBytes = committed & UINT64
    return pb.DatanodeCommandProto(
        cmdType=pb.DatanodeCommandProto.BlockRecoveryCommand,
        recoveryCmd=pb.BlockRecoveryCommandProto(blocks=[proto]),
    )


def test_the_recovery_of_a_group_says_who_has_which_of_its_blocks() -> None:
    assert decode_orders([group_recovery(b"\0\4")]) == [
        RecoverGroup(GROUP, 1007, (NODE, NODE), (0, 4), RS_3_2)
    ]


@pytest.mark.parametrize("committed", [0, 5, 1 << 40])
def test_the_recovery_of_a_committed_group_says_how_long_it_is(committed: int) -> None:
    [order] = decode_orders([group_recovery(b"\0\4", committed=committed)])
    assert order == RecoverGroup(
        GROUP, 1007, (NODE, NODE), (0, 4), RS_3_2, committed_bytes=committed
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (group_recovery(b"\0\1", committed=-1), "committed with -1 bytes"),
        (group_recovery(b"\0"), "2 datanodes, with the indices"),
        (group_recovery(b"\0\5"), r"indices \[0, 5\]"),
        (group_recovery(b"\0\1", BLOCK), "is no block group"),
        (group_recovery(b"\0\1", replace(GROUP, block_id=FIRST_GROUP_ID + 1)), "no block group"),
    ],
)
def test_a_recovery_of_a_group_that_contradicts_itself_is_refused(
    command: pb.DatanodeCommandProto, said: str
) -> None:
    with pytest.raises(errors.ProtocolViolation, match=said):
        decode_orders([command])


def reconstruction(live: bytes = b"\0\1\2", targets: int = 1) -> pb.DatanodeCommandProto:
    command = pb.DatanodeCommandProto(cmdType=pb.DatanodeCommandProto.BlockECReconstructionCommand)
    info = command.blkECReconstructionCmd.blockECReconstructioninfo.add(
        block=GROUP.to_proto(),
        sourceDnInfos=types_pb2.DatanodeInfosProto(datanodes=[NODE.to_proto()] * 3),
        targetDnInfos=types_pb2.DatanodeInfosProto(datanodes=[NODE.to_proto()] * targets),
        targetStorageUuids=types_pb2.StorageUuidsProto(storageUuids=["DS-2"]),
        targetStorageTypes=types_pb2.StorageTypesProto(storageTypes=[types_pb2.SSD]),
        liveBlockIndices=live,
        excludeReconstructedIndices=b"\3",
    )
    info.ecPolicy.id = RS_3_2.policy_id
    return command


def test_a_reconstruction_is_read_with_sources_and_targets() -> None:
    assert decode_orders([reconstruction()]) == [
        Reconstruct(
            GROUP,
            RS_3_2,
            (NODE,) * 3,
            (0, 1, 2),
            (NODE,),
            (StorageType.SSD,),
            ("DS-2",),
            (3,),
        )
    ]


@pytest.mark.parametrize("command", [reconstruction(b"\0\1"), reconstruction(targets=2)])
def test_a_reconstruction_that_contradicts_itself_is_refused(
    command: pb.DatanodeCommandProto,
) -> None:
    with pytest.raises(errors.ProtocolViolation):
        decode_orders([command])


def test_the_other_orders_keep_their_names() -> None:
    kinds = pb.DatanodeCommandProto
    key = BlockKey(1, 2, b"a")
    keys = ExportedKeys(key, (key,), 3, 4)
    commands = [
        pb.DatanodeCommandProto(cmdType=kinds.RegisterCommand),
        pb.DatanodeCommandProto(cmdType=kinds.NullDatanodeCommand),
        pb.DatanodeCommandProto(
            cmdType=kinds.FinalizeCommand, finalizeCmd=pb.FinalizeCommandProto(blockPoolId=POOL)
        ),
        block_command(action=pb.BlockCommandProto.SHUTDOWN),
        pb.DatanodeCommandProto(
            cmdType=kinds.BlockIdCommand,
            blkIdCmd=pb.BlockIdCommandProto(
                action=pb.BlockIdCommandProto.UNCACHE, blockPoolId=POOL, blockIds=[7, 8]
            ),
        ),
        pb.DatanodeCommandProto(
            cmdType=kinds.KeyUpdateCommand,
            keyUpdateCmd=pb.KeyUpdateCommandProto(keys=keys.to_proto()),
        ),
        pb.DatanodeCommandProto(cmdType=kinds.UnusedUpgradeCommand),
    ]
    assert decode_orders(commands) == [
        Register(),
        FinalizeUpgrade(POOL),
        Shutdown(),
        Cache(POOL, (7, 8), is_over=True),
        UpdateKeys(keys),
        Unsupported("UnusedUpgradeCommand"),
    ]


# --- reports ---


@pytest.fixture
def volumes() -> VolumeSet:
    return VolumeSet([Volume("/nowhere/0", "DS-0"), Volume("/nowhere/1", "DS-1", StorageType.SSD)])


NAMESPACE = reports.Namespace(5, "CID-1", 0, POOL, "3.5.0")
WHO = reports.registration(NODE, NAMESPACE)


def test_the_registration_names_node_cluster_and_layout() -> None:
    assert WHO.datanodeID.datanodeUuid == "uuid-1"
    assert (WHO.storageInfo.clusterID, WHO.storageInfo.namespceID) == ("CID-1", 5)
    assert WHO.storageInfo.layoutVersion == (1 << 32) - 57
    assert WHO.IsInitialized()


@pytest.mark.parametrize("pool", ["", "BP-../../etc", "pool", "../BP-1"])
def test_a_block_pool_that_would_be_a_strange_directory_is_refused(pool: str) -> None:
    info = pb.NamespaceInfoProto(blockPoolID=pool)
    with pytest.raises(errors.ProtocolViolation, match="block pool"):
        reports.Namespace.from_proto(info)


def full(
    volumes: VolumeSet, lists: dict[str, list[ListedReplica]], threshold: int
) -> list[pb.BlockReportRequestProto]:
    return reports.full_reports(
        WHO, POOL, volumes.all, lists, report_id=9, lease_id=3, split_threshold=threshold
    )


def test_a_full_report_has_every_volume_and_each_replica(volumes: VolumeSet) -> None:
    listed = [ListedReplica(-7, 5, 1001, 0), ListedReplica(8, 1 << 30, 1002, 1)]
    (request,) = full(volumes, {"DS-0": listed}, 100)
    assert request.IsInitialized()
    assert [report.storage.storageUuid for report in request.reports] == ["DS-0", "DS-1"]
    first = request.reports[0]
    assert list(block_lists.decode(first.numberOfBlocks, first.blocksBuffers)) == listed
    assert (request.context.totalRpcs, request.context.leaseId) == (1, 3)


def test_a_report_of_too_many_replicas_is_sent_volume_by_volume(volumes: VolumeSet) -> None:
    listed = [ListedReplica(i, 1, 1, 0) for i in range(3)]
    requests = full(volumes, {"DS-0": listed}, 2)
    assert [len(request.reports) for request in requests] == [1, 1]
    assert [(r.context.curRpc, r.context.totalRpcs) for r in requests] == [(0, 2), (1, 2)]


def test_news_of_a_block_keep_their_order_from_volume_to_volume(volumes: VolumeSet) -> None:
    """It is deleted here and comes back there: the namenode must not hear of it in the order of
    the volumes."""
    other = ExtendedBlock(POOL, BLOCK.block_id + 1, 1001, 6)
    news: list[ReplicaOpened | ReplicaReceived | ReplicaDeleted] = [
        ReplicaReceived(other, "DS-1"),
        ReplicaDeleted(BLOCK, "DS-0"),
        ReplicaDeleted(other, "DS-1"),
        ReplicaReceived(BLOCK, "DS-1"),
        ReplicaReceived(other, "DS-0"),
    ]
    by_id = {volume.storage_id: volume for volume in volumes.all}
    request = reports.incremental_report(WHO, POOL, news, by_id)
    status = pb.ReceivedDeletedBlockInfoProto
    assert [
        (part.storageUuid, [(info.block.numBytes, info.status) for info in part.blocks])
        for part in request.blocks
    ] == [
        ("DS-1", [(6, status.RECEIVED), (6, status.DELETED)]),
        ("DS-0", [(5, status.DELETED), (6, status.RECEIVED)]),
        ("DS-1", [(5, status.RECEIVED)]),
    ]


def test_news_keep_their_order_on_each_volume(volumes: VolumeSet) -> None:
    news: list[ReplicaOpened | ReplicaReceived | ReplicaDeleted] = [
        ReplicaOpened(BLOCK, "DS-0"),
        ReplicaReceived(BLOCK, "DS-1"),
        ReplicaReceived(BLOCK, "DS-0"),
        ReplicaDeleted(BLOCK, "DS-0"),
    ]
    by_id = {volume.storage_id: volume for volume in volumes.all}
    request = reports.incremental_report(WHO, POOL, news, by_id)
    assert request.IsInitialized()
    told = [
        (part.storageUuid, [(info.block.numBytes, info.status) for info in part.blocks])
        for part in request.blocks
    ]
    status = pb.ReceivedDeletedBlockInfoProto
    assert told == [
        ("DS-0", [(5, status.RECEIVING)]),
        ("DS-1", [(5, status.RECEIVED)]),
        ("DS-0", [(5, status.RECEIVED), (5, status.DELETED)]),
    ]


def test_a_bad_block_is_reported_at_the_node_that_has_it(volumes: VolumeSet) -> None:
    other = DatanodeAddress("10.0.0.2", "two", "uuid-2", 1)
    by_id = {volume.storage_id: volume for volume in volumes.all}
    here = reports.bad_block_report(CorruptFound(BLOCK, "DS-1", None, ""), NODE, by_id)
    there = reports.bad_block_report(CorruptFound(BLOCK, "", other, ""), NODE, by_id)
    assert here.IsInitialized()
    assert here.blocks[0].locs[0].id.datanodeUuid == "uuid-1"
    assert here.blocks[0].storageTypes == [types_pb2.SSD]
    assert there.blocks[0].locs[0].id.datanodeUuid == "uuid-2"


# --- the control process's list ---


@pytest.fixture
def inventory(volumes: VolumeSet) -> ReplicaIndex:
    replicas = ReplicaMap()
    replicas.add_pool(POOL)
    replicas.add(POOL, Replica(1, 1001, ReplicaState.FINALIZED, "DS-0", 100))
    return ReplicaIndex(volumes, replicas, Gauges(2))


def test_the_list_follows_the_events(inventory: ReplicaIndex) -> None:
    new = ExtendedBlock(POOL, 2, 1001)
    inventory.apply(ReplicaOpened(new, "DS-1"))
    assert inventory.listed(POOL)["DS-1"] == [ListedReplica(2, 0, 1001, ReplicaState.RBW)]
    inventory.apply(ReplicaReceived(new.with_length(50), "DS-1"))
    assert inventory.listed(POOL)["DS-1"] == [ListedReplica(2, 50, 1001, 0)]
    inventory.apply(ReplicaDeleted(ExtendedBlock(POOL, 1, 1001), "DS-0"))
    assert inventory.listed(POOL)["DS-0"] == []


def test_the_replicas_of_a_failed_volume_are_not_reported(inventory: ReplicaIndex) -> None:
    inventory.apply(VolumeFailed("DS-0", "unplugged"))
    assert inventory.listed(POOL) == {"DS-1": []}
    states = inventory.states(POOL)
    assert states[0].failure == "unplugged"
    report = reports.storage_reports(states)[0]
    assert (report.failed, report.capacity) == (True, 0)


def test_a_volume_that_cannot_be_asked_counts_as_failed(inventory: ReplicaIndex) -> None:
    assert "No such file" in (inventory.states(POOL)[0].failure or "")


def test_a_heartbeat_tells_of_failed_volumes(inventory: ReplicaIndex) -> None:
    inventory.apply(VolumeFailed("DS-0", "unplugged"))
    request = reports.heartbeat(
        WHO,
        inventory.states(POOL)[:1],
        connections=3,
        copies=2,
        want_report_lease=True,
        cache_capacity_bytes=9,
        cache_used_bytes=4,
        failures=inventory.failures(),
    )
    assert request.IsInitialized()
    assert (request.cacheCapacity, request.cacheUsed) == (9, 4)
    assert (request.xceiverCount, request.xmitsInProgress, request.failedVolumes) == (3, 2, 1)
    assert request.volumeFailureSummary.failedStorageLocations == ["/nowhere/0"]
    assert request.volumeFailureSummary.lastVolumeFailureDate > 0


def test_a_heartbeat_tells_what_a_failed_volume_had_room_for(inventory: ReplicaIndex) -> None:
    assert inventory.failures() is None
    inventory.volumes["DS-0"].capacity_bytes = 1000
    inventory.apply(VolumeFailed("DS-0", "unplugged"))
    failures = inventory.failures()
    assert failures is not None
    assert (failures.locations, failures.lost_bytes) == (("/nowhere/0",), 1000)
