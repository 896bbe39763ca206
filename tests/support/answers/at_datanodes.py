"""The requests at a datanode's two ports, and those that a datanode sends to its namenode.

A part of `conversation`, which says when they come.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from howdah.proto import data_transfer_pb2, types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    BlockChecksumType,
    ReadBlock,
    Stage,
    TransferBlock,
    WriteBlock,
)
from howdah.protocol.data_transfer.packet_stream import PacketStream
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.protocol.data_transfer.responses import encode_read_status
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection
from tests.support.answers.asking import AT_DATANODE, BETWEEN_DATANODES, CLIENT, DATANODE, Asking

WRITER: Final = "DFSClient_answers"
SPEC: Final = ChecksumSpec(ChecksumType.CRC32C, 512)
DATA: Final = bytes(range(250)) * 3


class AtDatanodes:
    """One file is written and read; `_dn` is the datanode, which the namenode has named before."""

    def __init__(self, asking: Asking) -> None:
        self._ask = asking
        self._dn = DatanodeAddress("", "", "", 0)
        self._block = types_pb2.ExtendedBlockProto()

    def _do(self, method: str, what: str = "", **fields: Any) -> Any:
        return self._ask.call(f"{method} {what}".strip(), CLIENT, method, fields)

    def _create(self, path: str, what: str = "") -> types_pb2.HdfsFileStatusProto:
        answer = self._do("create", what, **created(path, 1024))
        status: types_pb2.HdfsFileStatusProto = answer.fs
        return status

    # --- the data port ---

    def _data_port(self) -> None:
        ask, address = self._ask, (self._dn.ip, self._dn.transfer_port)
        self._create("/d", "for the data port")
        located = self._do("addBlock", "for the data port", src="/d", clientName=WRITER).block
        block = ExtendedBlock.from_proto(located.b)
        away = DatanodeAddress("127.0.0.1", "localhost", "away", _port_of_nobody())
        connection, _ = ask.at_data_port(
            "WRITE_BLOCK to a mirror that is away",
            address,
            WriteBlock(
                block,
                WRITER,
                Stage.PIPELINE_SETUP_CREATE,
                SPEC,
                targets=(away,),
                pipeline_size=2,
                target_storage_types=(StorageType.DISK,),
                target_storage_ids=("DS-away",),
            ),
        )
        connection.close()
        self._do("abandonBlock", "of the data port", b=located.b, src="/d", holder=WRITER)
        located = self._do("addBlock", "once more", src="/d", clientName=WRITER).block
        block = ExtendedBlock.from_proto(located.b)
        connection = self._write(located, "WRITE_BLOCK of a block to be read")
        self._send(connection, "all in one packet", 0, 0, DATA)
        self._send(connection, "its end", 1, len(DATA), b"", last=True)
        connection.close()
        connection, _ = ask.at_data_port("READ_BLOCK", address, ReadBlock(block, WRITER, 100, 200))
        self._packets("READ_BLOCK", connection)
        connection.send_all(encode_read_status(Status.CHECKSUM_OK))
        connection.close()
        connection, _ = ask.at_data_port(
            "READ_BLOCK without checksums",
            address,
            ReadBlock(block, WRITER, 0, len(DATA), send_checksums=False),
        )
        self._packets("READ_BLOCK without checksums", connection)
        connection.close()
        whole = ExtendedBlock(block.pool_id, block.block_id, block.generation_stamp, len(DATA))
        self._block = located.b
        unknown = ExtendedBlock(block.pool_id, block.block_id + 1000, 1, 0)
        for exchange, request in (
            ("BLOCK_CHECKSUM", BlockChecksum(whole)),
            ("BLOCK_CHECKSUM of a part", BlockChecksum(replace(whole, length_bytes=600))),
            (
                "BLOCK_CHECKSUM as a CRC",
                BlockChecksum(whole, checksum_type=BlockChecksumType.COMPOSITE_CRC),
            ),
            ("READ_BLOCK beyond the end", ReadBlock(block, WRITER, 10_000, 1)),
            ("READ_BLOCK of nothing", ReadBlock(unknown, WRITER, 0, 1)),
            ("BLOCK_CHECKSUM of nothing", BlockChecksum(unknown)),
            ("TRANSFER_BLOCK of nothing", TransferBlock(unknown, WRITER, (away,))),
        ):
            connection, _ = ask.at_data_port(exchange, address, request)
            connection.close()

    def _packets(self, exchange: str, connection: Connection) -> None:
        """The headers of all packets, up to the one that ends the read."""
        stream = PacketStream()
        number = 0
        while True:
            packet = stream.next_packet()
            if packet is None:
                stream.filled(connection.recv_some_into(stream.writable()))
                continue
            header = packet.header
            self._ask.keep(
                f"{exchange}, packet {number}",
                data_transfer_pb2.PacketHeaderProto(
                    offsetInBlock=header.offset_in_block,
                    seqno=header.seqno,
                    lastPacketInBlock=header.last_in_block,
                    dataLen=header.data_length_bytes,
                ),
            )
            number += 1
            if header.last_in_block:
                return

    def _write(self, located: types_pb2.LocatedBlockProto, exchange: str) -> Connection:
        connection, response = self._ask.at_data_port(
            exchange,
            (self._dn.ip, self._dn.transfer_port),
            WriteBlock(
                ExtendedBlock.from_proto(located.b),
                WRITER,
                Stage.PIPELINE_SETUP_CREATE,
                SPEC,
                storage_id=located.storageIDs[0],
            ),
        )
        assert response.status == data_transfer_pb2.SUCCESS, response
        return connection

    def _send(
        self,
        connection: Connection,
        exchange: str,
        seqno: int,
        offset: int,
        data: bytes,
        *,
        last: bool = False,
    ) -> None:
        sums = bytearray(SPEC.sums_length(len(data)))
        checksum_chunks(SPEC, data, sums)
        connection.send_all(encode_packet(PacketHeader(offset, seqno, last, len(data)), sums, data))
        self._ack(connection, exchange)

    def _ack(self, connection: Connection, exchange: str) -> None:
        self._ask.read(f"ack of {exchange}", connection, data_transfer_pb2.PipelineAckProto())

    # --- the port for calls ---

    def _at_dn(self, method: str, what: str = "", **fields: Any) -> Any:
        exchange = f"{method} {what}".strip()
        return self._ask.call(
            exchange, AT_DATANODE, method, fields, at=(self._dn.ip, self._dn.ipc_port)
        )

    def _datanode_calls(self) -> None:
        nothing = {"poolId": self._block.poolId, "blockId": 1, "generationStamp": 1}
        self._at_dn("getReplicaVisibleLength", "of nothing", block=nothing)
        self._at_dn("getDatanodeInfo")
        self._at_dn("getVolumeReport")
        self._at_dn("getBalancerBandwidth")
        self._at_dn("triggerBlockReport", incremental=True)
        self._at_dn("getReconfigurationStatus")
        self._at_dn("listReconfigurableProperties")
        located = {"b": nothing, "offset": 0, "locs": [], "corrupt": False}
        located["blockToken"] = {"identifier": b"", "password": b"", "kind": "", "service": ""}
        self._ask.call(
            "initReplicaRecovery of nothing",
            BETWEEN_DATANODES,
            "initReplicaRecovery",
            {"block": {"newGenStamp": 2, "block": located}},
            at=(self._dn.ip, self._dn.ipc_port),
        )

    # --- the namenode's port for datanodes ---

    def _as_a_datanode(self) -> None:
        """A node of our own making comes, says that it lives, and that it has nothing."""
        ask = self._ask
        version = ask.call("versionRequest", DATANODE, "versionRequest", {})
        info = version.info.storageInfo
        registration: dict[str, Any] = {
            "datanodeID": {
                "ipAddr": "127.0.0.1",
                "hostName": "localhost",
                "datanodeUuid": "11111111-2222-3333-4444-555555555555",
                "xferPort": 19866,
                "infoPort": 19864,
                "ipcPort": 19867,
            },
            "storageInfo": {
                "layoutVersion": 0xFFFFFFFF - 56,
                "namespceID": info.namespceID,
                "clusterID": info.clusterID,
                "cTime": info.cTime,
            },
            "keys": {
                "isBlockTokenEnabled": False,
                "keyUpdateInterval": 0,
                "tokenLifeTime": 0,
                "currentKey": {"keyId": 0, "expiryDate": 0},
            },
            "softwareVersion": version.info.softwareVersion,
        }
        registered = ask.call(
            "registerDatanode", DATANODE, "registerDatanode", {"registration": registration}
        ).registration
        storage = {"storageUuid": "DS-answers", "state": "NORMAL", "storageType": "DISK"}
        beat: Mapping[str, Any] = {
            "registration": registered,
            "reports": [{"storageUuid": "DS-answers", "capacity": 1, "storage": storage}],
        }
        ask.call("sendHeartbeat", DATANODE, "sendHeartbeat", beat)
        ask.call(
            "sendHeartbeat that wants to report",
            DATANODE,
            "sendHeartbeat",
            {**beat, "requestFullBlockReportLease": True},
        )
        pool = version.info.blockPoolID
        ask.call(
            "blockReport",
            DATANODE,
            "blockReport",
            {
                "registration": registered,
                "blockPoolId": pool,
                "reports": [{"storage": storage, "numberOfBlocks": 0, "blocksBuffers": [b""]}],
                "context": {"totalRpcs": 1, "curRpc": 0, "id": 1, "leaseId": 0},
            },
        )
        received = {"registration": registered, "blockPoolId": pool}
        ask.call("blockReceivedAndDeleted", DATANODE, "blockReceivedAndDeleted", received)
        ask.call(
            "errorReport",
            DATANODE,
            "errorReport",
            {"registartion": registered, "errorCode": 0, "msg": "nothing"},
        )
        stranger = {**registration, "datanodeID": {**registration["datanodeID"]}}
        stranger["datanodeID"]["datanodeUuid"] = "99999999-2222-3333-4444-555555555555"
        ask.call(
            "sendHeartbeat of a stranger", DATANODE, "sendHeartbeat", {"registration": stranger}
        )


def created(path: str, block_size_bytes: int) -> dict[str, Any]:
    return {
        "src": path,
        "masked": {"perm": 0o644},
        "clientName": WRITER,
        "createFlag": 1,
        "createParent": True,
        "replication": 1,
        "blockSize": block_size_bytes,
    }


def _port_of_nobody() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
