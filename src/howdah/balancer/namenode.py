"""What a balancer asks of a namenode, and the file by which there is only one balancer.

NameNodeConnector in Hadoop. Of several namenodes the active one is asked: a call of
ClientProtocol finds out which that is, and the calls of NamenodeProtocol go to the same address.

The file `/system/balancer.id` is open for writing as long as the balancer runs. Who finds it
tries to append to it: as long as its writer lives, that fails, and another balancer is running.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.balancer.access import MoveAccess
from howdah.balancer.state.nodes import (
    BlockPlaces,
    FileBlocks,
    Group,
    GroupKey,
    NodeReport,
    StorageFigures,
    internal_blocks,
)
from howdah.client.data_transfer_security import data_connections_of
from howdah.client.state.blocks import LocatedBlock
from howdah.formats.tokens.block_keys import BlockKeys
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.options import CreateFlag
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import namenode_pb2, types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType, signed64
from howdah.protocol.striping.layout import GroupLayout, internal_length
from howdah.protocol.striping.policies import Policy
from howdah.rpc.client import AnswerType, RpcClient
from howdah.runtime.byte_rate import Throttle

log = logging.getLogger(__name__)

M = TypeVar("M")

PROTOCOL: Final = "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"
ID_PATH: Final = "/system/balancer.id"
_ATTEMPTS: Final = 5
_TO_THE_END: Final = (1 << 63) - 1
_ANOTHER_ONE: Final = (
    errors.AlreadyBeingCreated,
    errors.RecoveryInProgress,
    errors.PathExists,
    errors.PathNotFound,
)
"""What whoever wants to be alone is told when another one is, or comes at the same moment."""
_WRONG_ONE: Final = (errors.StandbyError, errors.Unreachable, errors.RetriableError)


class AnotherOneRuns(errors.RemoteError):
    """Somebody else balances this namespace."""

    java_class = "java.io.IOException"


class BalancedNamenode:
    """Calls the namenode of one namespace. Thread-safe. Close it after use."""

    def __init__(self, fs: HdfsFileSystem, *, lists_per_s: int = 0) -> None:
        self._fs = fs
        self._namenode = fs.client.namenode
        self._lock = threading.Lock()
        self._rpc: RpcClient | None = None
        self._throttle = Throttle(lists_per_s)
        self.uri = fs.uri
        version = self._call(
            "versionRequest", server_pb.VersionRequestProto(), server_pb.VersionResponseProto
        )
        self.pool_id = version.info.blockPoolID
        self.access = MoveAccess(
            self._block_keys,
            str(fs.user),
            data_connections_of(self._namenode, fs.client.settings.data_cipher_suites),
        )

    def close(self) -> None:
        self._disconnect()

    def _disconnect(self) -> None:
        """The next call of NamenodeProtocol is a new client's."""
        with self._lock:
            if self._rpc is not None:
                self._rpc.close()
                self._rpc = None

    def _block_keys(self) -> BlockKeys | None:
        answer = self._call(
            "getBlockKeys",
            namenode_pb2.GetBlockKeysRequestProto(),
            namenode_pb2.GetBlockKeysResponseProto,
        )
        return BlockKeys.from_proto(answer.keys) if answer.HasField("keys") else None

    # --- questions ---

    def reports(self) -> list[NodeReport]:
        """All live datanodes."""
        answer = self._namenode.call(
            "getDatanodeStorageReport",
            pb.GetDatanodeStorageReportRequestProto(type=pb.LIVE),
            pb.GetDatanodeStorageReportResponseProto,
        )
        return [_node_report(report) for report in answer.datanodeStorageReports]

    def is_upgrading(self) -> bool:
        """Whether an upgrade, or a rolling one, waits to be finalized."""
        finalized = self._call(
            "isUpgradeFinalized",
            namenode_pb2.IsUpgradeFinalizedRequestProto(),
            namenode_pb2.IsUpgradeFinalizedResponseProto,
        )
        rolling = self._namenode.call(
            "rollingUpgrade",
            pb.RollingUpgradeRequestProto(action=pb.QUERY),
            pb.RollingUpgradeResponseProto,
        )
        is_rolling = rolling.HasField("rollingUpgradeInfo") and not (
            rolling.rollingUpgradeInfo.finalizeTime
        )
        return not finalized.isUpgradeFinalized or is_rolling

    def blocks(
        self, source: Group, size_bytes: int, min_block_bytes: int, hot_interval_ms: int
    ) -> list[BlockPlaces]:
        """Return blocks of which the group has replicas, of about that size together. Of block
        groups they are the internal blocks that it has."""
        with self._lock:
            delay_s = self._throttle.delay_s(1, time.monotonic())
        time.sleep(delay_s)
        answer = self._call(
            "getBlocks",
            namenode_pb2.GetBlocksRequestProto(
                datanode=source.node.id_to_proto(),
                size=size_bytes,
                minBlockSize=min_block_bytes,
                timeInterval=hot_interval_ms,
                storageType=source.storage_type.name,
            ),
            namenode_pb2.GetBlocksResponseProto,
        )
        try:
            return [
                block
                for entry in answer.blocks.blocks
                for block in _block_places(entry, source.key, min_block_bytes)
            ]
        except ValueError as error:
            raise errors.ProtocolViolation(
                f"blocks of {source} with places that mean nothing: {error}"
            ) from error

    def next_mark(self) -> int | None:
        """The inode id of a path whose storage policy is to be satisfied. Each is told a client
        once; None if all were."""
        try:
            answer = self._call(
                "getNextSPSPath",
                namenode_pb2.GetNextSPSPathRequestProto(),
                namenode_pb2.GetNextSPSPathResponseProto,
                attempts=1,
            )
        except errors.HowdahError:
            # An answer may be lost, and what it told is not told again: but to a new client.
            self._disconnect()
            # This goes on until it has found the active namenode, or has had enough.
            self._namenode.get_fs_stats()
            raise
        return answer.spsPath if answer.HasField("spsPath") else None

    def file_blocks(self, path: str) -> FileBlocks:
        """Raises PathNotFound if there is no such file any more."""
        located = self._namenode.get_block_locations(path, 0, _TO_THE_END)
        policy = located.erasure_coding_policy
        open_block = None if located.last_block_complete else located.last_block
        open_id = None if open_block is None else open_block.block.block_id
        settled = [
            block
            for block in located.blocks
            if block.block.block_id != open_id and not block.corrupt
        ]
        blocks: list[BlockPlaces] = []
        lacks_parts = False
        for block in settled:
            if policy is None:
                blocks.append(
                    BlockPlaces(
                        block.block.block_id,
                        block.block.generation_stamp,
                        block.block.length_bytes,
                        _places(block),
                    )
                )
            else:
                parts = _parts(block, policy)
                existing = GroupLayout(policy, block.length_bytes).block_indices
                lacks_parts |= len(parts) < len(existing)
                blocks += parts
        return FileBlocks(
            tuple(blocks),
            is_open=open_block is not None,
            is_striped=policy is not None,
            has_corrupt=any(block.corrupt for block in located.blocks),
            lacks_parts=lacks_parts,
        )

    def _call(
        self, method: str, request: Message, response_type: AnswerType[M], attempts: int = _ATTEMPTS
    ) -> M:
        """A call of NamenodeProtocol at the active namenode."""
        attempt = 0
        while True:
            try:
                return self._connected().call(method, request, response_type)
            except _WRONG_ONE as error:
                attempt += 1
                if attempt == attempts:
                    raise
                log.info("%s failed, the active namenode is looked for: %s", method, error)
                # This goes on until it has found the active namenode, or has had enough.
                self._namenode.get_fs_stats()

    def _connected(self) -> RpcClient:
        address = self._namenode.address
        with self._lock:
            if self._rpc is None or self._rpc.address != address:
                if self._rpc is not None:
                    self._rpc.close()
                self._rpc = RpcClient(address, PROTOCOL, user=self._fs.user)
            return self._rpc

    # --- only one ---

    @contextmanager
    def alone(self, path: str = ID_PATH, name: str = "Balancer") -> Iterator[None]:
        """In this context no other balancer runs, or mover if that is the `name`. Raises
        `AnotherOneRuns`."""
        fs = self._fs
        try:
            if fs.exists(path):
                # The lease on the file that is left is kept until it is gone: of two that come at
                # the same moment the second one would delete the file of the first.
                left = fs.append(path)
                try:
                    fs.delete(path)
                finally:
                    with contextlib.suppress(errors.HowdahError):
                        left.close()
            out = fs.create(path, flags=CreateFlag.SHOULD_REPLICATE)
        except _ANOTHER_ONE as error:
            raise AnotherOneRuns(f"Another {name} is running.") from error
        try:
            out.write(socket.gethostname().encode())
            out.hflush()
            yield
        finally:
            with contextlib.suppress(errors.HowdahError):
                # Its lease may be lost by now; the file is deleted all the same.
                out.close()
            fs.delete(path)


def _node_report(message: pb.DatanodeStorageReportProto) -> NodeReport:
    node = DatanodeAddress.from_proto(message.datanodeInfo)
    storages = []
    for report in message.storageReports:
        try:
            kind = StorageType(report.storage.storageType)
        except ValueError:
            log.warning("%s has a storage of unknown type: it is left out", node)
            continue
        if not report.failed:
            storages.append(
                StorageFigures(
                    kind, report.capacity, report.dfsUsed, report.remaining, report.blockPoolUsed
                )
            )
    return NodeReport(
        node,
        node.location or "/default-rack",
        tuple(storages),
        message.datanodeInfo.adminState == types_pb2.DatanodeInfoProto.NORMAL,
        message.datanodeInfo.upgradeDomain,
    )


def _places(block: LocatedBlock) -> tuple[GroupKey, ...]:
    return tuple(
        (node.uuid, kind) for node, kind in zip(block.nodes, block.storage_types, strict=True)
    )


def _parts(group: LocatedBlock, policy: Policy) -> list[BlockPlaces]:
    """Return the internal blocks of a group that somebody has."""
    block = group.block
    indices = () if group.members is None else group.members.indices
    members = list(zip(indices, _places(group), strict=True))
    layout = GroupLayout(policy, block.length_bytes)
    lengths = {index: layout.block_length(index) for index in layout.block_indices}
    return list(internal_blocks(block.block_id, block.generation_stamp, members, lengths))


def _block_places(
    message: server_pb.BlockWithLocationsProto, source: GroupKey, min_block_bytes: int
) -> Iterator[BlockPlaces]:
    """Yield the block of an entry, or the internal blocks of a group that the source has, without
    those that are too small. Raises `ValueError` where the entry contradicts itself."""
    block = message.block
    block_id, length_bytes = signed64(block.blockId), block.numBytes
    places = tuple(
        (uuid, StorageType(kind))
        for uuid, kind in zip(message.datanodeUuids, message.storageTypes, strict=True)
    )
    if not message.HasField("indices"):
        yield BlockPlaces(block_id, block.genStamp, length_bytes, places)
        return
    data_units, cell_bytes = message.dataBlockNum, message.cellSize
    if not data_units or not cell_bytes:
        raise ValueError(f"{data_units} data blocks with cells of {cell_bytes} bytes")
    members = list(zip(message.indices, places, strict=True))
    lengths = {
        index: internal_length(length_bytes, data_units, cell_bytes, index)
        for index in message.indices
    }
    for part in internal_blocks(block_id, block.genStamp, members, lengths):
        if source in part.places and part.length_bytes >= min_block_bytes:
            yield part
