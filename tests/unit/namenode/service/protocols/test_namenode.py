"""What a secondary namenode asks: who may, and what it is told."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.service.protocols.namenode import FirstAndLast, NamenodeProtocol
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Slices
from howdah.testing.in_memory import CLUSTER, InMemoryDatanode, outcome


class Source:
    """A log of two finished segments, and an image before them."""

    rolls = 0
    finalized = True
    has_rollback_image = False
    failure: errors.HowdahError | None = None

    def roll_edits(self) -> int:
        self.rolls += 1
        return 31

    def image_txid(self) -> int:
        return 10

    def newest_image(
        self, rollback: bool, told: Callable[[int | errors.HowdahError | None], None]
    ) -> None:
        told(7 if rollback and self.has_rollback_image else 10 if not rollback else None)

    def is_upgrade_finalized(self) -> bool:
        return self.finalized

    def list_finished(
        self,
        since_txid: int,
        told: Callable[[Sequence[FirstAndLast] | errors.HowdahError], None],
    ) -> None:
        if self.failure is not None:
            told(self.failure)
            return
        told([each for each in ((11, 20), (21, 30)) if each[1] >= since_txid])


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def protocol(client: Any, source: Source) -> NamenodeProtocol:
    return NamenodeProtocol(client.namenode.namesystem, CLUSTER, source, random.Random(7))


def caller(user: str = "root") -> Caller:
    return Caller(user, b"", -1, 0, "10.9.9.9")


def registration() -> server_pb.NamenodeRegistrationProto:
    return server_pb.NamenodeRegistrationProto(
        rpcAddress="a:1", httpAddress="a:2", storageInfo=CLUSTER.storage_info()
    )


def test_roll_says_where_the_log_and_the_newest_image_are(protocol: NamenodeProtocol) -> None:
    told = protocol.roll_edit_log(pb.RollEditLogRequestProto(), caller()).signature
    assert (told.mostRecentCheckpointTxId, told.curSegmentTxId) == (10, 31)
    assert told.storageInfo.clusterID == CLUSTER.cluster_id


def test_roll_is_refused_in_safe_mode(
    client: Any, protocol: NamenodeProtocol, source: Source
) -> None:
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="Log not rolled"):
        protocol.roll_edit_log(pb.RollEditLogRequestProto(), caller())
    assert not source.rolls


def test_finished_segments_are_listed(protocol: NamenodeProtocol) -> None:
    request = pb.GetEditLogManifestRequestProto(sinceTxId=21)
    answer = outcome(protocol.get_edit_log_manifest(request, caller()))
    assert isinstance(answer, pb.GetEditLogManifestResponseProto)
    assert [(log.startTxId, log.endTxId) for log in answer.manifest.logs] == [(21, 30)]


def test_a_log_that_cannot_be_listed_is_said(protocol: NamenodeProtocol, source: Source) -> None:
    source.failure = errors.RemoteError("no disk")
    request = pb.GetEditLogManifestRequestProto(sinceTxId=21)
    answer = protocol.get_edit_log_manifest(request, caller())
    assert answer._outcome is source.failure


@pytest.mark.parametrize("finalized", [True, False])
def test_upgrade_that_waits_is_told(
    protocol: NamenodeProtocol, source: Source, finalized: bool
) -> None:
    source.finalized = finalized
    request = pb.IsUpgradeFinalizedRequestProto()
    assert protocol.is_upgrade_finalized(request, caller()).isUpgradeFinalized is finalized


ASKED: list[tuple[str, Message]] = [
    ("get_transaction_id", pb.GetTransactionIdRequestProto()),
    ("get_most_recent_checkpoint_tx_id", pb.GetMostRecentCheckpointTxIdRequestProto()),
    (
        "get_most_recent_name_node_file_tx_id",
        pb.GetMostRecentNameNodeFileTxIdRequestProto(nameNodeFile="IMAGE"),
    ),
    ("roll_edit_log", pb.RollEditLogRequestProto()),
    ("get_edit_log_manifest", pb.GetEditLogManifestRequestProto(sinceTxId=1)),
    ("get_block_keys", pb.GetBlockKeysRequestProto()),
    ("is_upgrade_finalized", pb.IsUpgradeFinalizedRequestProto()),
    ("is_rolling_upgrade", pb.IsRollingUpgradeRequestProto()),
    (
        "error_report",
        pb.ErrorReportRequestProto(registration=registration(), errorCode=1, msg="disk"),
    ),
]


@pytest.mark.parametrize(("method", "request_"), ASKED, ids=[method for method, _ in ASKED])
def test_only_the_superuser_may_ask(
    protocol: NamenodeProtocol, method: str, request_: Message
) -> None:
    assert getattr(protocol, method)(request_, caller()) is not None
    with pytest.raises(errors.AccessDenied):
        getattr(protocol, method)(request_, caller("mallory"))


def test_anybody_may_ask_for_the_version(protocol: NamenodeProtocol) -> None:
    """Hadoop's balancer and benchmarks of other users do."""
    answer = protocol.version_request(server_pb.VersionRequestProto(), caller("mallory"))
    assert answer.info.blockPoolID


def test_backup_nodes_are_refused_by_name(protocol: NamenodeProtocol) -> None:
    with pytest.raises(errors.UnsupportedOperation, match="backup and checkpoint nodes"):
        protocol.start_checkpoint(
            pb.StartCheckpointRequestProto(registration=registration()), caller()
        )


# --- what a balancer asks ---


def whole(slices: Slices) -> Message:
    """The answer that the slices come to."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            message: Message = end.value
            return message


def blocks_of(
    protocol: NamenodeProtocol, node: InMemoryDatanode, size: int = 1 << 40, **more: Any
) -> list[server_pb.BlockWithLocationsProto]:
    request = pb.GetBlocksRequestProto(
        datanode=node.registration().datanodeID, size=size, **{"minBlockSize": 0, **more}
    )
    answer = whole(protocol.get_blocks(request, caller()))
    assert isinstance(answer, pb.GetBlocksResponseProto)
    return list(answer.blocks.blocks)


def ids_of(blocks: list[server_pb.BlockWithLocationsProto]) -> list[int]:
    return [each.block.blockId for each in blocks]


def test_blocks_of_a_datanode_are_told_with_all_their_places(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    file = client.write("/file", *[100] * 5, replication=3)
    for node in nodes:
        found = blocks_of(protocol, node)
        assert sorted(ids_of(found)) == sorted(block.block_id for block in file.blocks)
        for each in found:
            assert set(each.datanodeUuids) == {node.uuid for node in nodes}
            assert set(each.storageUuids) == {node.first_storage for node in nodes}
            assert list(each.storageTypes) == [types_pb2.DISK] * 3
            assert each.block.numBytes == 100
    assert blocks_of(protocol, client.namenode.join("empty")) == []


def test_only_as_many_blocks_are_told_as_are_asked_for(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/file", *[100] * 30, replication=3)
    answers = [tuple(ids_of(blocks_of(protocol, nodes[0], size=201))) for _ in range(20)]
    assert {len(answer) for answer in answers} == {3}
    assert len(set(answers)) > 1, "who asks again gets others"


def test_blocks_that_are_small_or_open_are_left_out(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    file = client.write("/file", 100, 200, 50, replication=3)
    client.create("/open", replication=3)
    client.store(client.add_block("/open"), 300)
    assert ids_of(blocks_of(protocol, nodes[0], minBlockSize=150)) == [file.blocks[1].block_id]


def test_a_storage_type_may_be_asked_for(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/file", 100, replication=3)
    assert len(blocks_of(protocol, nodes[0], storageType=types_pb2.DISK)) == 1
    assert not blocks_of(protocol, nodes[0], storageType=types_pb2.SSD)


def test_blocks_that_were_read_of_late_come_last(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    now_ms = client.namenode.namesystem.clock.wall_ms()
    cold = client.write("/cold", *[100] * 10, replication=3)
    hot = client.write("/hot", *[100] * 10, replication=3)
    client.set_times("/cold", atime_ms=now_ms - 5000)
    client.set_times("/hot", atime_ms=now_ms)
    found = ids_of(blocks_of(protocol, nodes[0], timeInterval=1000))
    assert set(found[:10]) == {block.block_id for block in cold.blocks}
    assert set(found[10:]) == {block.block_id for block in hot.blocks}
    few = ids_of(blocks_of(protocol, nodes[0], size=500, timeInterval=1000))
    assert set(few) <= set(found[:10])


def test_a_storage_that_has_yet_to_report_has_no_blocks_to_move(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/file", 100, replication=3)
    nodes[0].register()
    assert blocks_of(protocol, nodes[0]) == []
    nodes[0].heartbeat()
    nodes[0].report()
    assert len(blocks_of(protocol, nodes[0])) == 1


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"size": 0}, "not positive size"),
        ({"size": (1 << 64) - 5}, "not positive size: -5"),
        ({"minBlockSize": (1 << 64) - 1}, "negative size: -1"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(
    protocol: NamenodeProtocol,
    nodes: list[InMemoryDatanode],
    fields: dict[str, int],
    what: str,
) -> None:
    with pytest.raises(errors.IllegalArgument, match=what):
        blocks_of(protocol, nodes[0], **{"size": 1, **fields})


def test_a_datanode_that_nobody_knows_is_refused(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    nodes[0].uuid = "unheard-of"
    with pytest.raises(errors.IllegalArgument, match="Datanode unheard-of not found"):
        blocks_of(protocol, nodes[0])


def test_blocks_are_not_told_in_safe_mode_nor_to_others(
    client: Any, protocol: NamenodeProtocol, nodes: list[InMemoryDatanode]
) -> None:
    request = pb.GetBlocksRequestProto(datanode=nodes[0].registration().datanodeID, size=1)
    with pytest.raises(errors.AccessDenied):
        whole(protocol.get_blocks(request, caller("mallory")))
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="getBlocks"):
        whole(protocol.get_blocks(request, caller()))


@pytest.mark.parametrize(
    ("kind", "there", "txid"),
    [("IMAGE", False, 10), ("IMAGE_ROLLBACK", False, -12345), ("IMAGE_ROLLBACK", True, 7)],
)
def test_the_newest_image_of_each_kind_is_told(
    protocol: NamenodeProtocol, source: Source, kind: str, there: bool, txid: int
) -> None:
    source.has_rollback_image = there
    request = pb.GetMostRecentNameNodeFileTxIdRequestProto(nameNodeFile=kind)
    answer = outcome(protocol.get_most_recent_name_node_file_tx_id(request, caller()))
    assert isinstance(answer, pb.GetMostRecentNameNodeFileTxIdResponseProto)
    assert answer.txId == txid % (1 << 64)


def test_an_image_of_no_kind_is_refused(protocol: NamenodeProtocol) -> None:
    request = pb.GetMostRecentNameNodeFileTxIdRequestProto(nameNodeFile="EDITS")
    with pytest.raises(errors.IllegalArgument, match="'EDITS' is no kind of image"):
        protocol.get_most_recent_name_node_file_tx_id(request, caller())
