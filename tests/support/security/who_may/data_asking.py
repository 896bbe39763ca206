"""Asks a secured datanode by tokens of every kind (shell: sockets)."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
from dataclasses import dataclass, replace
from typing import Any, Final

from google.protobuf.message_factory import GetMessageClass

from howdah import errors
from howdah.formats.tokens.block_keys import BLOCK_TOKEN, BlockKey
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.fs.status import DatanodeReport
from howdah.proto import client_datanode_pb2
from howdah.protocol.data_transfer.blocks import (
    NO_TOKEN,
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.handshake import REALM_URI, ClientHandshake
from howdah.protocol.data_transfer.op_requests import (
    OP_HEADER,
    VERSION,
    BlockChecksum,
    BlockGroupChecksum,
    CopyBlock,
    Op,
    ReadBlock,
    ReplaceBlock,
    Request,
    Stage,
    TransferBlock,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.short_circuit import (
    ReleaseSlot,
    RequestDescriptors,
    RequestSegment,
    SegmentId,
    SlotId,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, credentials_of
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.striping.policies import SYSTEM_POLICIES
from howdah.protocol.varint import encode_varint, read_delimited
from howdah.rpc.client import RpcClient
from howdah.runtime.sockets import Connection, PeerClosed, connect, connect_local
from howdah.security.data_handshakes import initiate
from howdah.security.settings import SecuritySettings
from howdah.security.users import BlockTokenUser
from tests.support.security.who_may.calls import ANSWERED as CALL_ANSWERED
from tests.support.security.who_may.calls import RpcRow, opening, services
from tests.support.security.who_may.data_operations import (
    ANSWERED,
    CLOSED,
    NO_HANDSHAKE,
    REFUSED,
    DataRow,
    Shown,
)
from tests.support.security.who_may.requests import request_of

NOWHERE: Final = DatanodeAddress("127.0.0.1", "localhost", "a uuid", 1)
"""Where nobody listens."""
_RIGHTS: Final = ("READ", "WRITE", "COPY", "REPLACE")
_SETTING: Final = "dfs.data.transfer.protection"
_SPEC: Final = ChecksumSpec(ChecksumType.CRC32C, 512)
_HOUR_MS: Final = 3_600_000
_TIMEOUT_S: Final = 60.0
_ABSENT: Final = 1 << 40
"""Ids of blocks that there are none of; each write has one of its own."""
_GROUP: Final = -(1 << 62)
_BEHIND: Final = "DS-behind"


@dataclass(frozen=True, slots=True)
class Keys:
    """What tokens are made by."""

    current: BlockKey
    older: BlockKey


@dataclass(frozen=True, slots=True)
class Place:
    """A datanode, and a finalized block that it has."""

    node: DatanodeReport
    block: ExtendedBlock
    storage_id: str
    socket: str
    """Its Unix domain socket; empty without one."""


class DataAskers:
    """All who come to one datanode."""

    def __init__(self, place: Place, keys: Keys, user: str, delegation: Token) -> None:
        """`user` is who runs the datanode."""
        self._place = place
        self._keys = keys
        self._user = user
        self._delegation = delegation
        self._absent = itertools.count(_ABSENT)
        self._services = {service.protocol: service for service in services()["datanode"]}

    # -- at the data port --------------------------------------------------------------

    def ask(self, row: DataRow, shown: Shown) -> str:
        """What is heard of it: one of the words of `data_operations`."""
        try:
            with self._connection(row, shown) as connection:
                return self._ask(connection, row, shown)
        except (errors.AuthenticationFailed, errors.InvalidToken):
            return NO_HANDSHAKE
        except PeerClosed:
            return CLOSED

    def _connection(self, row: DataRow, shown: Shown) -> Connection:
        if row.by_socket:
            return connect_local(self._place.socket, timeout_s=_TIMEOUT_S)
        node = self._place.node
        plain = connect((node.ip, node.transfer_port), read_timeout_s=_TIMEOUT_S)
        opens = self._token(self._place.block, ("READ",), Shown.RIGHT)
        if row.op is None:
            if shown is Shown.NONE:
                return plain
            opens = self._token(self._place.block, ("READ",), shown)
        mechanism = DigestMd5Client(
            *credentials_of(opens.identifier, opens.password),
            REALM_URI,
            (Protection.AUTHENTICATION,),
            cnonce=os.urandom(16).hex().encode(),
            setting=_SETTING,
        )
        return initiate(plain, ClientHandshake(mechanism, ()), _SETTING)

    def _ask(self, connection: Connection, row: DataRow, shown: Shown) -> str:
        if row.op is None:
            # Whoever was let in is served by a token that is good.
            row, shown = DataRow("", Op.READ_BLOCK, ("READ",)), Shown.RIGHT
        request = self._request(row, shown)
        assert row.op is not None
        if request is None:
            connection.send_all(OP_HEADER.pack(VERSION, row.op) + encode_varint(0))
        else:
            connection.send_all(encode_request(request))
        if row.of_datanode:
            assert isinstance(request, WriteBlock)
            return self._after_write(connection, request.block)
        answer = read_delimited(connection)
        if row.op in (Op.RELEASE_SHORT_CIRCUIT_FDS, Op.REQUEST_SHORT_CIRCUIT_SHM):
            return ANSWERED  # In messages of their own, which have no word for it.
        status = BlockOpResponse.decode(answer).status
        return REFUSED if status is Status.ERROR_ACCESS_TOKEN else ANSWERED

    def _after_write(self, connection: Connection, block: ExtendedBlock) -> str:
        """Whether a block is there that a datanode has sent, which hears nothing of it."""
        with contextlib.suppress(PeerClosed):
            connection.send_all(encode_packet(PacketHeader(0, 0, True, 0, False), b"", b""))
            with contextlib.suppress(OSError):  # Closed at the other side already.
                connection.socket.shutdown(socket.SHUT_WR)
            connection.recv_exactly(1)
        row = DataRow("", Op.BLOCK_CHECKSUM, ("READ",))
        request = BlockChecksum(block, token=self._token(block, row.rights, Shown.RIGHT))
        with self._connection(row, Shown.RIGHT) as asking:
            asking.send_all(encode_request(request))
            answer = BlockOpResponse.decode(read_delimited(asking))
        assert answer.status in (Status.SUCCESS, Status.ERROR), answer
        return ANSWERED if answer.is_success else CLOSED

    def _request(self, row: DataRow, shown: Shown) -> Request | None:
        """None for an operation that is not served: it has no message."""
        place = self._place
        there = place.block
        absent = ExtendedBlock(there.pool_id, next(self._absent), there.generation_stamp)

        def token(block: ExtendedBlock) -> BlockToken:
            return self._token(block, row.rights, shown)

        match row.op:
            case Op.READ_BLOCK:
                return ReadBlock(there, "client", 0, there.length_bytes, token=token(there))
            case Op.WRITE_BLOCK:
                write = WriteBlock(
                    absent,
                    "" if row.of_datanode else "client",
                    Stage.PIPELINE_SETUP_CREATE,
                    _SPEC,
                    storage_id=place.storage_id,
                    token=token(absent),
                )
                if not row.has_storages:
                    return write
                return replace(
                    write,
                    targets=(NOWHERE,),
                    pipeline_size=2,
                    target_storage_types=(StorageType.DISK,),
                    target_storage_ids=(_BEHIND,),
                )
            case Op.TRANSFER_BLOCK:
                kinds, ids = (StorageType.DISK,), (_BEHIND,)
                return TransferBlock(there, "client", (NOWHERE,), kinds, ids, token=token(there))
            case Op.COPY_BLOCK:
                return CopyBlock(there, token=token(there))
            case Op.REPLACE_BLOCK:
                return ReplaceBlock(
                    absent,
                    NOWHERE.uuid,
                    NOWHERE,
                    StorageType.DISK,
                    place.storage_id,
                    token=token(absent),
                )
            case Op.BLOCK_CHECKSUM:
                return BlockChecksum(there, token=token(there))
            case Op.BLOCK_GROUP_CHECKSUM:
                group = ExtendedBlock(there.pool_id, _GROUP, there.generation_stamp, 1)
                policy = SYSTEM_POLICIES[1]
                return BlockGroupChecksum(group, (NOWHERE,), (0,), policy, 1, token=token(group))
            case Op.REQUEST_SHORT_CIRCUIT_FDS:
                return RequestDescriptors(there, gives_receipt=False, token=token(there))
            case Op.RELEASE_SHORT_CIRCUIT_FDS:
                return ReleaseSlot(SlotId(SegmentId(1, 2), 0))
            case Op.REQUEST_SHORT_CIRCUIT_SHM:
                return RequestSegment("client")
            case Op.READ_METADATA | Op.CUSTOM:
                return None
        raise AssertionError(f"{row} has no request")

    # -- at the RPC port ---------------------------------------------------------------

    def call(self, row: RpcRow, shown: Shown) -> str:
        """The Java class of the exception that a call is answered by; empty without one."""
        node, block = self._place.node, self._place.block
        user = BlockTokenUser("alice", SecuritySettings(), self._token(block, ("READ",), shown))
        method = self._services[row.protocol].descriptor.methods_by_name[row.method]
        request: Any = request_of(row.method, GetMessageClass(method.input_type), block.pool_id)
        if row.method == "getReplicaVisibleLength":
            request.block.CopyFrom(block.to_proto())
        first = opening(row.port, row.protocol)
        client = RpcClient((node.ip, node.ipc_port), first, user=user, call_timeout_s=_TIMEOUT_S)
        try:
            if first != row.protocol:
                # A connection is made by the first call that it carries.
                pb = client_datanode_pb2
                client.call(
                    "getDatanodeInfo",
                    pb.GetDatanodeInfoRequestProto(),
                    pb.GetDatanodeInfoResponseProto,
                )
                client.protocol = row.protocol
            client.call(row.method, request, GetMessageClass(method.output_type))
        except errors.HowdahError as error:
            return error.remote_class
        finally:
            client.close()
        return CALL_ANSWERED

    # -- tokens ------------------------------------------------------------------------

    def _token(self, block: ExtendedBlock, rights: tuple[str, ...], shown: Shown) -> BlockToken:
        key, now_ms = self._keys.current, time.time_ns() // 1_000_000
        identifier = BlockTokenIdentifier(
            now_ms + _HOUR_MS,
            key.key_id,
            "alice",
            block.pool_id,
            block.block_id,
            rights,
            ("DISK", "DISK"),
            (self._place.storage_id, _BEHIND),
        )
        match shown:
            case Shown.NONE:
                return NO_TOKEN
            case Shown.DELEGATION:
                given = self._delegation
                return BlockToken(given.identifier, given.password, given.kind, given.service)
            case Shown.EXPIRED:
                identifier = replace(identifier, expiry_date_ms=now_ms - _HOUR_MS)
            case Shown.OTHER_BLOCK:
                identifier = replace(identifier, block_id=block.block_id + 1)
            case Shown.OTHER_POOL:
                identifier = replace(identifier, block_pool_id="BP-2-127.0.0.1-1")
            case Shown.OTHER_RIGHT:
                others = tuple(right for right in _RIGHTS if right not in rights)
                identifier = replace(identifier, modes=others)
            case Shown.OTHER_TYPE:
                identifier = replace(identifier, storage_types=("SSD", "SSD"))
            case Shown.OTHER_STORAGE:
                identifier = replace(identifier, storage_ids=("DS-1", "DS-2"))
            case Shown.OTHER_USER:
                identifier = replace(identifier, user=self._user)
            case Shown.OLDER_KEY:
                key = self._keys.older
                identifier = replace(identifier, key_id=key.key_id)
        encoded = identifier.encode()
        password = bytes(20) if shown is Shown.FORGED else key.password_of(encoded)
        return BlockToken(encoded, password, BLOCK_TOKEN)
