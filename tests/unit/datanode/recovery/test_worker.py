"""The primary of a recovery and its peers, over their wire."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.recovery import inter_datanode, replica_recovery
from howdah.datanode.recovery.inter_datanode import InterDatanodeProtocol, Peer
from howdah.datanode.recovery.worker import RecoveryWorker
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import BlockSynchronized, RecoverBlock, RecoverGroup
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer.data_server import listen
from howdah.proto import inter_datanode_pb2 as pb
from howdah.protocol.data_transfer.blocks import (
    NO_DATANODE,
    DatanodeAddress,
    ExtendedBlock,
)
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Registry
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.protocol.striping.policies import Policy, Schema
from howdah.rpc.threaded_server import ThreadedRpcServer

Lab = Any
DATA = bytes(range(256)) * 10
ID = 1007
SETTINGS = DataSettings(socket_timeout_s=5)


class Datanode:
    """A node of the lab with its IPC port, and a worker that may be a primary."""

    def __init__(self, node: Any, settings: DataSettings = SETTINGS) -> None:
        self.node = node
        listener = listen(("127.0.0.1", 0))
        self.address = replace(node.address, ipc_port=listener.getsockname()[1])
        self.ipc = ThreadedRpcServer(
            listener, Registry([inter_datanode.service(InterDatanodeProtocol(node.store))])
        )
        self.ipc.start()
        self.told: list[BlockSynchronized] = []
        self.worker = RecoveryWorker(node.store, settings, self.told.append)
        self.worker.uuid = self.address.uuid

    def recover(self, order: RecoverBlock) -> BlockSynchronized | None:
        """Be the primary; what the namenode is to be told, if anything."""
        self.worker.start(order).result(30)
        return self.told.pop() if self.told else None

    def close(self) -> None:
        self.worker.close()
        self.ipc.close()


@pytest.fixture
def nodes(lab: Lab) -> Iterator[list[Datanode]]:
    made = [Datanode(lab.node()) for _ in range(3)]
    yield made
    for node in made:
        node.close()


def order(lab: Lab, nodes: list[Datanode], *more: DatanodeAddress, **options: Any) -> RecoverBlock:
    addresses = (*(node.address for node in nodes), *more)
    return replace(RecoverBlock(lab.block(), ID, addresses, ordered_by="namenode"), **options)


def write_part(lab: Lab, nodes: list[Datanode], data: bytes = DATA[:700]) -> Any:
    first, *mirrors = (node.node for node in nodes)
    writer = lab.Writer(first, lab.write_request(lab.block(), *mirrors))
    writer.send(0, data)
    assert writer.ack().is_success
    return writer


def check_identical(lab: Lab, nodes: list[Datanode], data: bytes, stamp: int = ID) -> None:
    for datanode in nodes:
        node = datanode.node
        replica = node.replicas.find(lab.POOL, 1)
        assert (replica.state, replica.generation_stamp) == (ReplicaState.FINALIZED, stamp)
        assert node.content(1) == data
        meta = node.block_path(1).with_name(f"blk_1_{stamp}.meta").read_bytes()
        assert meta[7:] == lab.sums_of(data)


@pytest.mark.req("AP-021", "AP-022", "AP-023", "AP-025", "AP-026")
def test_all_replicas_are_identical_after_a_recovery(lab: Lab, nodes: list[Datanode]) -> None:
    write_part(lab, nodes)
    result = nodes[1].recover(order(lab, nodes))
    addresses = tuple(node.address for node in nodes)
    assert result == BlockSynchronized(
        lab.block(), ID, 700, False, addresses, ("DS-0",) * 3, "namenode"
    )
    check_identical(lab, nodes, DATA[:700])


@pytest.mark.req("AP-025", "AP-047")
def test_replicas_of_different_lengths_get_the_shortest_that_a_writer_left(
    lab: Lab, nodes: list[Datanode]
) -> None:
    for node, length in zip(nodes, (700, 2560, 1300), strict=True):
        write_part(lab, [node], DATA[:length]).close()
    result = nodes[0].recover(order(lab, nodes))
    assert result is not None
    assert result.new_length_bytes == 700
    check_identical(lab, nodes, DATA[:700])


@pytest.mark.req("AP-048")
def test_a_datanode_that_is_gone_is_left_out(
    lab: Lab, nodes: list[Datanode], caplog: pytest.LogCaptureFixture
) -> None:
    write_part(lab, nodes)
    nodes[2].ipc.close()
    result = nodes[0].recover(order(lab, nodes))
    assert result is not None
    assert result.nodes == (nodes[0].address, nodes[1].address)
    check_identical(lab, nodes[:2], DATA[:700])
    assert nodes[2].address.transfer_address in caplog.text


@pytest.mark.req("AP-048")
def test_a_datanode_that_says_nothing_costs_one_time_out(lab: Lab, nodes: list[Datanode]) -> None:
    write_part(lab, nodes[:2])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dumb = [
            DatanodeAddress("127.0.0.1", "localhost", f"dumb-{n}", 1, 2, silent.getsockname()[1])
            for n in range(2)
        ]
        primary = Datanode(nodes[0].node, DataSettings(socket_timeout_s=1.0))
        primary.worker.uuid = nodes[0].address.uuid
        result = primary.recover(order(lab, nodes[:2], *dumb))
        primary.close()
    assert result is not None
    assert len(result.nodes) == 2


@pytest.mark.req("AP-048")
def test_a_participant_that_cannot_be_set_is_left_out(
    lab: Lab,
    nodes: list[Datanode],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_part(lab, nodes)
    real = replica_recovery.settle

    def settle(store: Any, *arguments: Any) -> str:
        if store is nodes[1].node.store:
            raise OSError(28, "No space left on device")
        return real(store, *arguments)

    monkeypatch.setattr(replica_recovery, "settle", settle)
    result = nodes[0].recover(order(lab, nodes))
    assert result is not None
    assert result.nodes == (nodes[0].address, nodes[2].address)
    check_identical(lab, [nodes[0], nodes[2]], DATA[:700])
    assert "No space left on device" in caplog.text
    assert "defect" not in caplog.text


@pytest.mark.req("AP-048")
def test_the_next_attempt_finishes_what_a_primary_that_died_began(
    lab: Lab, nodes: list[Datanode]
) -> None:
    for node, length in zip(nodes, (700, 2560, 1300), strict=True):
        write_part(lab, [node], DATA[:length]).close()
    for node in nodes:
        replica_recovery.init_recovery(node.node.store, lab.block(), ID)
    found = lab.block(length=1300)
    replica_recovery.settle(nodes[2].node.store, found, ID, 700)
    result = nodes[1].recover(order(lab, nodes, recovery_id=ID + 1))
    assert result is not None
    assert len(result.nodes) == 3
    check_identical(lab, nodes, DATA[:700], ID + 1)


@pytest.mark.req("AP-048")
@pytest.mark.parametrize("late", [ID - 1, ID])
def test_an_attempt_that_is_not_the_latest_gives_way(
    lab: Lab, nodes: list[Datanode], late: int, caplog: pytest.LogCaptureFixture
) -> None:
    write_part(lab, nodes)
    replica_recovery.init_recovery(nodes[2].node.store, lab.block(), ID)
    assert nodes[0].recover(order(lab, nodes, recovery_id=late)) is None
    assert "gives way" in caplog.text
    assert nodes[1].recover(order(lab, nodes, recovery_id=ID + 1)) is not None
    check_identical(lab, nodes, DATA[:700], ID + 1)


@pytest.mark.req("AP-048")
def test_of_attempts_at_once_the_highest_wins_and_no_byte_is_lost(
    lab: Lab, nodes: list[Datanode]
) -> None:
    write_part(lab, nodes)
    threads = [
        threading.Thread(target=node.recover, args=(order(lab, nodes, recovery_id=ID + number),))
        for number, node in enumerate(nodes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    # Whatever became of them, one more attempt brings all together.
    result = nodes[0].recover(order(lab, nodes, recovery_id=ID + 9))
    assert result is not None
    assert len(result.nodes) == 3
    check_identical(lab, nodes, DATA[:700], ID + 9)


def test_a_block_that_nobody_has_is_dropped(lab: Lab, nodes: list[Datanode]) -> None:
    result = nodes[0].recover(order(lab, nodes))
    assert result == BlockSynchronized(lab.block(), ID, 0, True, (), (), "namenode")


def test_a_truncate_cuts_every_replica(lab: Lab, nodes: list[Datanode]) -> None:
    first, *mirrors = (node.node for node in nodes)
    lab.write_block(first, lab.block(), DATA, *mirrors)
    result = nodes[2].recover(order(lab, nodes, target=lab.block(1, ID, 1000)))
    assert result is not None
    assert (result.block, result.new_length_bytes) == (lab.block(), 1000)
    check_identical(lab, nodes, DATA[:1000])


def test_a_truncate_by_a_copy_makes_the_new_block_everywhere(
    lab: Lab, nodes: list[Datanode]
) -> None:
    first, *mirrors = (node.node for node in nodes)
    lab.write_block(first, lab.block(), DATA, *mirrors)
    result = nodes[0].recover(order(lab, nodes, target=lab.block(2, ID, 1000)))
    assert result is not None
    assert len(result.nodes) == 3
    check_identical(lab, nodes, DATA, 1001)
    assert {node.node.content(2) for node in nodes} == {DATA[:1000]}


def test_a_defect_ends_one_recovery_and_not_the_worker(
    lab: Lab,
    nodes: list[Datanode],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_part(lab, nodes)
    with monkeypatch.context() as patch:
        patch.setattr(replica_recovery, "init_recovery", lambda *_: 1 / 0)
        assert nodes[0].recover(order(lab, nodes)) is None
    assert "failed on a defect" in caplog.text
    assert nodes[0].recover(order(lab, nodes)) is not None


# --- the wire ---


def test_the_wire_carries_what_a_replica_is_and_what_becomes_of_it(
    lab: Lab, nodes: list[Datanode]
) -> None:
    peer = Peer(nodes[0].address, 5, use_hostname=False)
    ask = order(lab, nodes[:1])
    assert peer.init_recovery(ask) is None
    write_part(lab, nodes[:1], DATA)
    found = peer.init_recovery(ask)
    assert found is not None
    assert (found.state, found.length_bytes) == (ReplicaState.RBW, len(DATA))
    with pytest.raises(errors.RecoveryInProgress):
        peer.init_recovery(ask)
    assert peer.settle(found.as_block(lab.POOL), ID, 700, 1) == "DS-0"
    check_identical(lab, nodes[:1], DATA[:700])
    peer.close()


def test_negative_block_ids_cross_the_wire(lab: Lab, nodes: list[Datanode]) -> None:
    block = lab.block(-5)
    lab.write_block(nodes[0].node, block, DATA)
    peer = Peer(nodes[0].address, 5, use_hostname=False)
    found = peer.init_recovery(order(lab, nodes[:1], block=block))
    assert found is not None
    assert peer.settle(found.as_block(lab.POOL), ID, 700, -5) == "DS-0"
    assert nodes[0].node.content(-5) == DATA[:700]
    peer.close()


def test_a_participant_is_asked_for_an_internal_block_and_for_no_group(
    lab: Lab, nodes: list[Datanode]
) -> None:
    group = replace(lab.block(), block_id=FIRST_GROUP_ID)
    proto = inter_datanode.encode_order(order(lab, nodes[:1], block=group))
    proto.ecPolicy.id = 1
    proto.blockIndices = b"\0"
    service = InterDatanodeProtocol(nodes[0].node.store)
    request = pb.InitReplicaRecoveryRequestProto(block=proto)
    with pytest.raises(errors.ProtocolViolation, match="one by one"):
        service.init_replica_recovery(request, Caller("test", b"", 0, -1, "127.0.0.1"))


def test_a_block_of_a_pool_that_is_not_served_is_refused(nodes: list[Datanode]) -> None:
    block = ExtendedBlock("BP-9", 1, 1001)
    peer = Peer(nodes[0].address, 5, use_hostname=False)
    with pytest.raises(errors.ReplicaNotFound, match="does not serve"):
        peer.init_recovery(RecoverBlock(block, ID, (nodes[0].address,)))
    peer.close()


# --- block groups ---

RS_3_2 = Policy(64, Schema("rs", 3, 2), 1024)


def test_the_internal_blocks_of_a_group_get_their_lengths_in_whole_stripes(lab: Lab) -> None:
    nodes = [Datanode(lab.node()) for _ in range(4)]
    group = replace(lab.block(), block_id=FIRST_GROUP_ID)
    for index, length in enumerate((2560, 2100, 2048, 700)):
        block = replace(group, block_id=group.block_id + index)
        writer = lab.Writer(nodes[index].node, lab.write_request(block))
        writer.send(0, DATA[:length])
        assert writer.ack().is_success
        if index:  # The first one's writer is still there.
            writer.close()
    addresses = tuple(node.address for node in nodes)
    # The parity block 4 is nowhere: its datanode says so.
    order = RecoverGroup(group, ID, (*addresses, addresses[3]), (0, 1, 2, 3, 4), RS_3_2, "namenode")
    try:
        nodes[1].worker.start(order).result(30)
        (told,) = nodes[1].told
        assert told == BlockSynchronized(
            group,
            ID,
            6144,
            False,
            (*addresses[:3], NO_DATANODE, NO_DATANODE),
            ("DS-0", "DS-0", "DS-0", "", ""),
            "namenode",
        )
        for index, datanode in enumerate(nodes[:3]):
            replica = datanode.node.replicas.find(lab.POOL, group.block_id + index)
            assert (replica.state, replica.generation_stamp) == (ReplicaState.FINALIZED, ID)
            assert datanode.node.content(group.block_id + index) == DATA[:2048]
    finally:
        for node in nodes:
            node.close()
