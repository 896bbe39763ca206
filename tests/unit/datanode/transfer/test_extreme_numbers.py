"""Every number of every operation, at both ports of a datanode, at its extremes.

Whatever is sent, it is answered or the connection ends, nothing of it is left behind, and
the datanode can still write, report to its namenode and start anew.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import tempfile
from collections.abc import Iterator
from typing import Any, Final

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.reports import incremental_report
from howdah.datanode.disk_balancer.worker import DiskBalancer
from howdah.datanode.process.ipc import ClientDatanodeProtocol, service
from howdah.datanode.recovery import inter_datanode
from howdah.datanode.recovery.inter_datanode import InterDatanodeProtocol, encode_order
from howdah.datanode.replicas.startup_scan import scan_pool
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.commands import (
    FinalizeUpgrade,
    Register,
    Shutdown,
    Unsupported,
    UpdateKeys,
    decode_orders,
    recovery_order,
)
from howdah.datanode.state.messages import (
    MessageBuffer,
    RecoverBlock,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    encode,
)
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer import operations
from howdah.datanode.transfer.data_server import DataServer, listen
from howdah.datanode.transfer.short_circuit_socket import listen_local
from howdah.proto import client_datanode_pb2, data_transfer_pb2, inter_datanode_pb2
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.block_lists import ListedReplica
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import (
    VERSION,
    BlockChecksum,
    BlockChecksumType,
    BlockGroupChecksum,
    CachingHints,
    CopyBlock,
    Op,
    ReplaceBlock,
    Stage,
    TransferBlock,
    encode_request,
)
from howdah.protocol.data_transfer.responses import read_response
from howdah.protocol.data_transfer.short_circuit import (
    ReleaseSlot,
    RequestDescriptors,
    SegmentId,
    SlotId,
)
from howdah.protocol.rpc.service import Registry
from howdah.protocol.varint import delimited
from howdah.rpc.client import RpcClient
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.runtime.sockets import PeerClosed, connect_local
from howdah.testing.waiting import wait_until
from tests.support.extremes import extremes
from tests.unit.datanode.transfer.test_reconstruction import Group

Lab = Any
DATA: Final = bytes(700)
NOBODY: Final = DatanodeAddress("127.0.0.1", "localhost", "nobody", 1, 2, 3, 4)
MESSAGES: Final[dict[Op, type[Message]]] = {
    Op.WRITE_BLOCK: data_transfer_pb2.OpWriteBlockProto,
    Op.READ_BLOCK: data_transfer_pb2.OpReadBlockProto,
    Op.TRANSFER_BLOCK: data_transfer_pb2.OpTransferBlockProto,
    Op.BLOCK_CHECKSUM: data_transfer_pb2.OpBlockChecksumProto,
    Op.BLOCK_GROUP_CHECKSUM: data_transfer_pb2.OpBlockGroupChecksumProto,
    Op.COPY_BLOCK: data_transfer_pb2.OpCopyBlockProto,
    Op.REPLACE_BLOCK: data_transfer_pb2.OpReplaceBlockProto,
    Op.REQUEST_SHORT_CIRCUIT_FDS: data_transfer_pb2.OpRequestShortCircuitAccessProto,
    Op.RELEASE_SHORT_CIRCUIT_FDS: data_transfer_pb2.ReleaseShortCircuitAccessRequestProto,
}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


class Target:
    """A datanode, and a supply of replicas on it."""

    def __init__(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(operations, "GROWTH_WAIT_S", 0.0)
        self.lab = lab
        self.node = lab.node(DataSettings(socket_timeout_s=10, keepalive_s=1))
        self._ids = itertools.count(1)
        self.others: list[Any] = []
        """Further datanodes, which requests name."""
        self._descriptors = descriptors()

    def fresh(self) -> Any:
        """A block that isn't here."""
        return self.lab.block(next(self._ids), length=1024)

    def finalized(self) -> Any:
        block = self.fresh()
        self.lab.write_block(self.node, block, DATA)
        return block

    def open(self) -> Any:
        """A block whose client has gone."""
        block = self.fresh()
        writer = self.lab.Writer(self.node, self.lab.write_request(block))
        writer.send(0, DATA)
        assert writer.ack().is_success
        writer.close()
        self.node.wait_idle()
        return block

    def send(self, op: Op, message: Message) -> bool:
        """Whether the datanode says that it goes on with this request."""
        wire = wire_of(op, message)
        with self.node.connect() as connection:
            if op is Op.WRITE_BLOCK and self._is_silent(message):
                # No answer comes: a packet that is none has it end.
                wire += b"\xff" * 6
            connection.send_all(wire)
            with contextlib.suppress(PeerClosed):
                if op is Op.RELEASE_SHORT_CIRCUIT_FDS:
                    connection.recv_exactly(1)
                    return True
                return bool(read_response(connection).is_success)
            return False

    @staticmethod
    def _is_silent(message: Any) -> bool:
        transfers = (Stage.TRANSFER_RBW, Stage.TRANSFER_FINALIZED)
        return not message.header.clientName or message.stage in transfers

    def harm(self, caplog: pytest.LogCaptureFixture) -> str:
        """What a request has done that it must not do, or nothing."""
        node = self.node
        for each in (node, *self.others):
            each.wait_idle()
        replicas = list(node.replicas.of_pool(self.lab.POOL))
        listed = [
            ListedReplica(r.block_id, r.length_bytes, r.generation_stamp, r.state) for r in replicas
        ]
        count, buffers = block_lists.encode(listed)
        signs = {
            "a defect": any(record.exc_info for record in caplog.records),
            "somebody writes for ever": len(node.store.writers) > 0,
            "room is promised for ever": node.volumes.all[0].promised_bytes != 0,
            "descriptors leak": self._leaks(),
            "a replica cannot be reported": list(block_lists.decode(count, buffers)) != listed,
            "negative bytes are acknowledged": any(r.acked_bytes < 0 for r in replicas),
            "a stamp that Java cannot have": any(
                not 0 <= r.generation_stamp < 1 << 63 for r in replicas
            ),
        }
        self._descriptors = max(self._descriptors, descriptors())
        return ", ".join(sign for sign, found in signs.items() if found)

    def _leaks(self) -> bool:
        """Whether there are more descriptors than before, and stay.

        Threads of this process that other tests left behind may hold one for a moment.
        """
        with contextlib.suppress(AssertionError):
            wait_until(lambda: descriptors() <= self._descriptors, timeout_s=5)
            return False
        return True

    def assert_well(self) -> None:
        """It writes, tells all that happened, and would find the same after a start."""
        node, lab = self.node, self.lab
        block = self.finalized()
        assert node.content(block.block_id) == DATA
        news = [
            e
            for e in node.events
            if isinstance(e, ReplicaOpened | ReplicaReceived | ReplicaDeleted)
        ]
        volumes = {volume.storage_id: volume for volume in node.volumes.all}
        incremental_report(registration(), lab.POOL, news, volumes).SerializeToString()
        found = ReplicaMap()
        scan_pool(node.volumes, lab.POOL, found)
        assert {
            r.block_id: (r.generation_stamp, r.length_bytes) for r in found.of_pool(lab.POOL)
        } == {
            r.block_id: (r.generation_stamp, r.length_bytes)
            for r in node.replicas.of_pool(lab.POOL)
        }


def registration() -> pb.DatanodeRegistrationProto:
    proto = pb.DatanodeRegistrationProto(datanodeID=NOBODY.id_to_proto(), softwareVersion="3")
    proto.storageInfo.layoutVersion = proto.storageInfo.namespceID = proto.storageInfo.cTime = 1
    proto.storageInfo.clusterID = "CID"
    proto.keys.isBlockTokenEnabled = False
    proto.keys.keyUpdateInterval = proto.keys.tokenLifeTime = 0
    proto.keys.currentKey.keyId = proto.keys.currentKey.expiryDate = 0
    return proto


@pytest.fixture
def target(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Target:
    return Target(lab, monkeypatch)


def message_of(request: Any) -> tuple[Op, Message]:
    wire = encode_request(request)
    op = Op(wire[2])
    body = wire[3:]
    while body[0] >= 0x80:
        body = body[1:]
    return op, MESSAGES[op].FromString(body[1:])


def wire_of(op: Op, message: Message) -> bytes:
    return VERSION.to_bytes(2, "big") + bytes((op,)) + delimited(message)


def sweep(target: Target, make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Send all extremes of the request that `make` makes, each to a replica of its own."""
    harmful: dict[str, str] = {}
    _, pattern = message_of(make())
    for number in range(sum(1 for _ in extremes(pattern))):
        op, message = message_of(make())
        what, changed = next(itertools.islice(extremes(message), number, None))
        caplog.clear()
        target.send(op, changed)
        if harm := target.harm(caplog):
            harmful[what] = harm
    assert not harmful
    target.assert_well()


@pytest.mark.parametrize("stage", [*(s.name for s in Stage), "copy"])
def test_a_write_with_any_number(
    target: Target, caplog: pytest.LogCaptureFixture, stage: str
) -> None:
    supply = {
        "PIPELINE_SETUP_APPEND": target.finalized,
        "PIPELINE_SETUP_APPEND_RECOVERY": target.finalized,
        "PIPELINE_SETUP_STREAMING_RECOVERY": target.open,
        "PIPELINE_CLOSE_RECOVERY": target.open,
    }

    def make() -> Any:
        lab = target.lab
        block = supply.get(stage, target.fresh)()
        request = lab.write_request(
            block,
            client="" if stage == "copy" else "client",
            stage=Stage.PIPELINE_SETUP_CREATE if stage == "copy" else Stage[stage],
        )
        return lab.replace(
            request,
            min_bytes_received=len(DATA),
            max_bytes_received=len(DATA),
            latest_generation_stamp=block.generation_stamp + 1,
            hints=CachingHints(None, 4096),
            source=NOBODY,
        )

    sweep(target, make, caplog)


def test_a_copy_for_a_move_with_any_number(
    target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    sweep(target, lambda: CopyBlock(target.finalized()), caplog)


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        (BlockChecksumType.COMPOSITE_CRC, (1,)),
        pytest.param(BlockChecksumType.COMPOSITE_CRC, (), marks=pytest.mark.torture),
        pytest.param(BlockChecksumType.MD5CRC, (1,), marks=pytest.mark.torture),
    ],
)
def test_the_checksum_of_a_group_with_any_number(
    target: Target,
    caplog: pytest.LogCaptureFixture,
    kind: BlockChecksumType,
    lost: tuple[int, ...],
) -> None:
    group = Group(target.lab, 5000)
    target.others += group.holders.values()
    indices = tuple(index for index in group.blocks if index not in lost)
    nodes = tuple(group.holders[index].address for index in indices)

    def make() -> Any:
        return BlockGroupChecksum(
            group.block, nodes, indices, group.policy, group.block.length_bytes, kind
        )

    assert target.send(*message_of(make()))
    target.harm(caplog)
    sweep(target, make, caplog)


def test_a_move_with_any_number(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    lab = target.lab
    proxy = lab.node(DataSettings(socket_timeout_s=10, keepalive_s=1))
    target.others.append(proxy)

    def make() -> Any:
        block = target.fresh()
        lab.write_block(proxy, block, DATA)
        proxy.wait_idle()
        return ReplaceBlock(block.with_length(len(DATA)), "somebody", proxy.address)

    assert target.send(*message_of(make()))
    target.harm(caplog)
    sweep(target, make, caplog)


def test_a_pipeline_to_any_port(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    lab = target.lab
    for port in (0, 1 << 16, (1 << 16) + target.node.port, (1 << 32) - 1):
        request = lab.write_request(target.fresh())
        node = lab.replace(NOBODY, transfer_port=port)
        with target.node.connect() as connection:
            connection.send_all(encode_request(lab.replace(request, targets=(node,))))
            answer = read_response(connection)
        assert not answer.is_success
        assert answer.first_bad_link == f"127.0.0.1:{port}"
        assert f"there is no port {port}" in answer.message
        assert not target.harm(caplog)
    target.assert_well()


def test_a_packet_with_any_number(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    lab = target.lab
    pattern = data_transfer_pb2.PacketHeaderProto(
        offsetInBlock=0, seqno=0, lastPacketInBlock=False, dataLen=512
    )
    harmful: dict[str, str] = {}
    for what, header in extremes(pattern):
        writer = lab.Writer(target.node, lab.write_request(target.fresh()))
        body = header.SerializeToString()
        writer.connection.send_all(struct.pack(">ih", 4 + 4 + 512, len(body)) + body)
        writer.connection.send_all(lab.sums_of(DATA[:512]) + DATA[:512])
        with contextlib.suppress(PeerClosed):
            writer.ack()
        writer.close()
        if harm := target.harm(caplog):
            harmful[what] = harm
        caplog.clear()
    assert not harmful
    target.assert_well()


@pytest.mark.parametrize("state", ["open", "finalized"])
def test_a_read_with_any_number(
    target: Target, caplog: pytest.LogCaptureFixture, state: str
) -> None:
    block = getattr(target, state)()
    request = target.lab.read_request(block, 0, 512, hints=CachingHints(None, 4096))
    sweep(target, lambda: request, caplog)


@pytest.mark.parametrize("state", ["open", "finalized"])
def test_other_operations_with_any_number(
    target: Target, caplog: pytest.LogCaptureFixture, state: str
) -> None:
    block = getattr(target, state)()
    slot = SlotId(SegmentId(1, 2), 3)
    for request in (
        BlockChecksum(block),
        TransferBlock(block, "client", (NOBODY,)),
        RequestDescriptors(block, slot),
        ReleaseSlot(slot),
    ):
        sweep(target, lambda request=request: request, caplog)


def test_local_requests_with_any_number(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    """Over the socket that descriptors pass: slots and segments of others, or of nobody."""
    block, registry = target.finalized(), target.node.store.short_circuit
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/dn"
        server = DataServer(listen_local(path), target.node.store, target.node.settings)
        server.start()
        segment, _ = registry.open_segment("somebody else")
        for request in (
            RequestDescriptors(block, SlotId(segment, 3)),
            ReleaseSlot(SlotId(segment, 3)),
        ):
            op, pattern = message_of(request)
            for what, message in extremes(pattern):
                with connect_local(path, takes_descriptors=True) as connection:
                    connection.send_all(wire_of(op, message))
                    connection.recv_exactly(1)
                wait_until(lambda: server.active == 0)
                assert not any(record.exc_info for record in caplog.records), what
                assert len(registry) == 0, what
        registry.close_segment(segment)
        server.close()
    target.assert_well()


class Ipc:
    """The IPC port of a datanode."""

    def __init__(self, target: Target) -> None:
        listener = listen(("127.0.0.1", 0))
        self.address = listener.getsockname()
        store, settings = target.node.store, target.node.settings
        client = ClientDatanodeProtocol(
            store,
            lambda event: None,
            "owner",
            disk_balancer=DiskBalancer(store, settings.disk_balancer, lambda: ""),
        )
        services = [
            service(client),
            inter_datanode.service(InterDatanodeProtocol(target.node.store)),
        ]
        self.server = ThreadedRpcServer(listener, Registry(services))
        self.server.start()


@pytest.fixture
def ipc(target: Target) -> Iterator[Ipc]:
    served = Ipc(target)
    yield served
    served.server.close()


def calls(
    target: Target, address: tuple[str, int]
) -> Iterator[tuple[str, str, Any, type[Message]]]:
    """(protocol, method, how to make its request, what it answers)"""
    c, i = client_datanode_pb2, inter_datanode_pb2
    from howdah.datanode.process.ipc import PROTOCOL as CLIENT
    from howdah.datanode.recovery.inter_datanode import PROTOCOL as INTER

    def init() -> Message:
        order = RecoverBlock(target.open(), 2000, (NOBODY,), target.fresh())
        return i.InitReplicaRecoveryRequestProto(block=encode_order(order))

    def update() -> Message:
        block = target.open().with_length(len(DATA))
        order = RecoverBlock(block, 2000, (NOBODY,))
        RpcClient(address, INTER).call(
            "initReplicaRecovery",
            i.InitReplicaRecoveryRequestProto(block=encode_order(order)),
            i.InitReplicaRecoveryResponseProto,
        )
        return i.UpdateReplicaUnderRecoveryRequestProto(
            block=block.to_proto(), recoveryId=2000, newLength=600, newBlockId=block.block_id
        )

    def visible() -> Message:
        return c.GetReplicaVisibleLengthRequestProto(block=target.open().to_proto())

    yield INTER, "initReplicaRecovery", init, i.InitReplicaRecoveryResponseProto
    yield INTER, "updateReplicaUnderRecovery", update, i.UpdateReplicaUnderRecoveryResponseProto
    yield CLIENT, "getReplicaVisibleLength", visible, c.GetReplicaVisibleLengthResponseProto


def test_a_call_with_any_number(target: Target, ipc: Ipc, caplog: pytest.LogCaptureFixture) -> None:
    for protocol, method, make, answer in calls(target, ipc.address):
        for number in range(sum(1 for _ in extremes(make()))):
            client = RpcClient(ipc.address, protocol)
            what, changed = next(itertools.islice(extremes(make()), number, None))
            with contextlib.suppress(errors.HowdahError):
                client.call(method, changed, answer)
            client.close()
            assert not any(record.exc_info for record in caplog.records), f"{method} {what}"
    target.assert_well()


def test_a_length_that_no_block_has_is_promised_to_nobody(target: Target, lab: Lab) -> None:
    node = target.node
    gauges = Gauges(1)
    node.volumes.all[0].on_promise = lambda count: gauges.set_promised_bytes(0, count)
    strangers = []
    for _ in range(3):
        connection = node.connect()
        request = lab.write_request(target.fresh().with_length(-(1 << 63)))
        connection.send_all(encode_request(request))
        answer = read_response(connection)
        assert (answer.is_success, "which no block has" in answer.message) == (False, True)
        strangers.append(connection)
    assert gauges.promised_bytes(0) == node.volumes.all[0].promised_bytes == 0
    target.assert_well()
    assert node.files("rbw") == set()
    for connection in strangers:
        connection.close()


def test_a_replica_whose_room_cannot_be_promised_leaves_nothing(target: Target, lab: Lab) -> None:
    node = target.node
    volume = node.volumes.all[0]

    def refuse(count: int) -> None:
        raise ValueError(f"{count} is too much")

    volume.on_promise = refuse
    with node.connect() as connection:
        connection.send_all(encode_request(lab.write_request(target.fresh())))
        with pytest.raises(PeerClosed):
            read_response(connection)
    node.wait_idle()
    assert len(node.store.writers) == 0
    assert len(node.replicas) == 0
    assert volume.promised_bytes == 0
    volume.on_promise = None
    target.assert_well()


def orders() -> Iterator[pb.DatanodeCommandProto]:
    """One of each that a namenode gives, with all that it may have."""
    block = ExtendedBlock("BP-1", 1, 1001, 100)
    located = encode_order(RecoverBlock(block, 2000, (NOBODY,), block))
    kinds = pb.DatanodeCommandProto
    yield kinds(
        cmdType=kinds.BlockRecoveryCommand,
        recoveryCmd=pb.BlockRecoveryCommandProto(blocks=[located]),
    )
    for action in (pb.BlockCommandProto.TRANSFER, pb.BlockCommandProto.INVALIDATE):
        command = pb.BlockCommandProto(action=action, blockPoolId="BP-1")
        command.blocks.add(blockId=1, genStamp=1001, numBytes=100)
        command.targets.add(datanodes=[NOBODY.to_proto()])
        command.targetStorageTypes.add(storageTypes=[1])
        command.targetStorageUuids.add(storageUuids=["DS"])
        yield kinds(cmdType=kinds.BlockCommand, blkCmd=command)
    yield kinds(
        cmdType=kinds.BalancerBandwidthCommand,
        balancerCmd=pb.BalancerBandwidthCommandProto(bandwidth=1),
    )


def test_an_order_with_any_number_is_read_or_refused_and_can_be_passed_on() -> None:
    refused = set()
    for pattern in orders():
        for what, command in extremes(pattern):
            try:
                decoded = decode_orders([command])
            except errors.ProtocolViolation:
                refused.add(what.partition("=")[0])
                continue
            for order in decoded:
                if isinstance(order, RecoverBlock):
                    assert recovery_order(encode_order(order)) == order
                if not isinstance(
                    order, Register | FinalizeUpgrade | Shutdown | UpdateKeys | Unsupported
                ):
                    assert MessageBuffer().feed(encode(order)) == [order]
    assert refused == {
        "recoveryCmd.blocks.newGenStamp",
        "recoveryCmd.blocks.block.b.generationStamp",
        "recoveryCmd.blocks.block.b.numBytes",
        "recoveryCmd.blocks.truncateBlock.genStamp",
        "recoveryCmd.blocks.truncateBlock.numBytes",
    }
