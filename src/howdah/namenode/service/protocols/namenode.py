"""NamenodeProtocol: what a secondary namenode asks, and a balancer (pure).

Mirrors Hadoop's NamenodeProtocolServerSideTranslatorPB before NameNodeRpcServer.

    rollEditLog -> getEditLogManifest, then image and segments over HTTP, and back

All of it but the version is for the superuser. What a backup node would ask, which Hadoop
has besides, is refused by name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from howdah import errors
from howdah.namenode.service.attributes.satisfaction import SatisfactionCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.service.protocols.encoders import LONG_MASK, signed
from howdah.namenode.state.blocks.balancer_moves import Dice, movable_blocks
from howdah.namenode.state.inodes.block_table import Block
from howdah.namenode.state.inodes.files import File
from howdah.namenode.state.inodes.group_table import Group
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, Service, Slices

log = logging.getLogger(__name__)

FirstAndLast = tuple[int, int]
_SLICE_BLOCKS: Final = 500
"""Blocks that are written into an answer in one go: some milliseconds."""


_IMAGE_KINDS: Final = {"IMAGE": False, "IMAGE_ROLLBACK": True}
"""Whether a rolling upgrade may go back to it."""
_INVALID_TXID: Final = -12345


class CheckpointSource(Protocol):
    """The shell's part. Nothing of it waits for a disk."""

    def roll_edits(self) -> int: ...

    def newest_image(
        self, rollback: bool, told: Callable[[int | errors.HowdahError | None], None]
    ) -> None: ...

    def image_txid(self) -> int: ...

    def is_upgrade_finalized(self) -> bool: ...

    def list_finished(
        self,
        since_txid: int,
        told: Callable[[Sequence[FirstAndLast] | errors.HowdahError], None],
    ) -> None:
        """Find the finished segments that hold `since_txid` and what follows it."""


class NamenodeProtocol:
    """The namenode as its helpers see it."""

    PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"

    def __init__(
        self, namesystem: Namesystem, cluster: ClusterIdentity, source: CheckpointSource, dice: Dice
    ) -> None:
        self._dice = dice
        self._namesystem = namesystem
        self._cluster = cluster
        self._source = source
        self._satisfaction = SatisfactionCalls(namesystem)

    def service(self) -> Service:
        descriptor = pb.DESCRIPTOR.services_by_name["NamenodeProtocolService"]
        return Service(
            self.PROTOCOL,
            1,
            descriptor,
            self,
            refused=["registerSubordinateNamenode", "endCheckpoint"],
        )

    def _check(self, caller: Caller, what: str) -> None:
        self._namesystem.permissions.check_superuser(
            self._namesystem.identities.of(caller.user), what
        )

    def version_request(
        self, request: server_pb.VersionRequestProto, caller: Caller
    ) -> server_pb.VersionResponseProto:
        """For anybody: balancers and benchmarks of other users ask, too."""
        return server_pb.VersionResponseProto(info=self._cluster.namespace_info())

    def get_blocks(self, request: pb.GetBlocksRequestProto, caller: Caller) -> Slices:
        """Blocks of one datanode that a balancer may move, and where their replicas are. In
        slices: there may be a million that are too small."""
        namesystem = self._namesystem
        size_bytes, min_bytes = signed(request.size), signed(request.minBlockSize)
        if size_bytes <= 0:
            raise errors.IllegalArgument(f"Unexpected not positive size: {size_bytes}")
        if min_bytes < 0:
            raise errors.IllegalArgument(f"Unexpected negative size: {min_bytes}")
        self._check(caller, "ask for the blocks of a datanode")
        namesystem.safe_mode.check("Cannot execute getBlocks")
        uuid = request.datanode.datanodeUuid
        node = namesystem.datanode_manager.datanodes.get(uuid)
        if node is None:
            raise errors.IllegalArgument(f"Datanode {uuid} not found.")
        interval_ms = signed(request.timeInterval)
        found = yield from movable_blocks(
            node,
            namesystem.namespace.blocks,
            self._dice,
            size_bytes=size_bytes,
            min_block_bytes=min_bytes,
            storage_type=request.storageType if request.HasField("storageType") else None,
            is_hot=self._read_in_the_last(interval_ms) if interval_ms > 0 else None,
        )
        answer = pb.GetBlocksResponseProto()
        # The field is required, and may be empty.
        answer.blocks.SetInParent()
        for number, block_id in enumerate([block.block_id for block in found], 1):
            block = namesystem.namespace.blocks.get(block_id)
            if block is not None:
                entry = answer.blocks.blocks.add(
                    block=types_pb2.BlockProto(
                        blockId=block_id & LONG_MASK,
                        genStamp=block.generation_stamp,
                        numBytes=block.length_bytes,
                    ),
                    datanodeUuids=[storage.node.identity.uuid for storage in block.replicas],
                    storageUuids=[storage.storage_id for storage in block.replicas],
                    storageTypes=[storage.storage_type for storage in block.replicas],
                )
                if isinstance(block, Group):
                    # Its replicas are those of all its internal blocks.
                    entry.indices = bytes(index for index, _ in block.held)
                    entry.dataBlockNum = block.policy.schema.data_units
                    entry.cellSize = block.policy.cell_bytes
            if number % _SLICE_BLOCKS == 0:
                yield
        return answer

    def _read_in_the_last(self, interval_ms: int) -> Callable[[Block], bool]:
        """Whether the file of a block was read of late, as far as its access time says."""
        since_ms = self._namesystem.clock.wall_ms() - interval_ms

        def is_hot(block: Block) -> bool:
            file = self._namesystem.namespace.inodes.get(block.file_id)
            return isinstance(file, File) and file.atime_ms >= since_ms

        return is_hot

    def get_transaction_id(
        self, request: pb.GetTransactionIdRequestProto, caller: Caller
    ) -> pb.GetTransactionIdResponseProto:
        self._check(caller, "ask for the last transaction")
        return pb.GetTransactionIdResponseProto(txId=self._namesystem.last_txid)

    def get_most_recent_checkpoint_tx_id(
        self, request: pb.GetMostRecentCheckpointTxIdRequestProto, caller: Caller
    ) -> pb.GetMostRecentCheckpointTxIdResponseProto:
        self._check(caller, "ask for the last checkpoint")
        return pb.GetMostRecentCheckpointTxIdResponseProto(txId=self._source.image_txid())

    def get_most_recent_name_node_file_tx_id(
        self, request: pb.GetMostRecentNameNodeFileTxIdRequestProto, caller: Caller
    ) -> Deferred:
        """The transaction of the newest image of a kind: `IMAGE`, or `IMAGE_ROLLBACK`, which a
        rolling upgrade may go back to. Hadoop's `INVALID_TXID` where there is none."""
        self._check(caller, "ask for an image")
        if request.nameNodeFile not in _IMAGE_KINDS:
            raise errors.IllegalArgument(
                f"{request.nameNodeFile!r} is no kind of image: {' or '.join(_IMAGE_KINDS)}"
            )

        def respond(txid: int | None) -> pb.GetMostRecentNameNodeFileTxIdResponseProto:
            found = _INVALID_TXID if txid is None else txid
            return pb.GetMostRecentNameNodeFileTxIdResponseProto(txId=found & LONG_MASK)

        answer = Deferred()
        self._source.newest_image(
            _IMAGE_KINDS[request.nameNodeFile],
            answer.fed_by("getMostRecentNameNodeFileTxId", respond),
        )
        return answer

    def roll_edit_log(
        self, request: pb.RollEditLogRequestProto, caller: Caller
    ) -> pb.RollEditLogResponseProto:
        """A new segment; all before it is finished when the answer is there."""
        self._check(caller, "roll the edit log")
        self._namesystem.safe_mode.check("Log not rolled")
        first_txid = self._source.roll_edits()
        return pb.RollEditLogResponseProto(
            signature=server_pb.CheckpointSignatureProto(
                blockPoolId=self._cluster.block_pool_id,
                mostRecentCheckpointTxId=self._source.image_txid(),
                curSegmentTxId=first_txid,
                storageInfo=self._cluster.storage_info(),
            )
        )

    def get_edit_log_manifest(
        self, request: pb.GetEditLogManifestRequestProto, caller: Caller
    ) -> Deferred:
        self._check(caller, "list the edit log")
        last_txid = self._namesystem.last_txid

        def manifest(segments: Sequence[FirstAndLast]) -> pb.GetEditLogManifestResponseProto:
            logs = [
                server_pb.RemoteEditLogProto(startTxId=first, endTxId=last, isInProgress=False)
                for first, last in segments
            ]
            return pb.GetEditLogManifestResponseProto(
                manifest=server_pb.RemoteEditLogManifestProto(logs=logs, committedTxnId=last_txid)
            )

        answer = Deferred()
        self._source.list_finished(request.sinceTxId, answer.fed_by("getEditLogManifest", manifest))
        return answer

    def get_block_keys(
        self, request: pb.GetBlockKeysRequestProto, caller: Caller
    ) -> pb.GetBlockKeysResponseProto:
        """Without them blocks are read without tokens, which a balancer has to be told."""
        self._check(caller, "ask for block keys")
        tokens = self._namesystem.block_tokens
        if tokens is not None:
            return pb.GetBlockKeysResponseProto(keys=tokens.exported())
        none = server_pb.ExportedBlockKeysProto(
            isBlockTokenEnabled=False,
            keyUpdateInterval=0,
            tokenLifeTime=0,
            currentKey=server_pb.BlockKeyProto(keyId=0, expiryDate=0, keyBytes=b""),
        )
        return pb.GetBlockKeysResponseProto(keys=none)

    def is_upgrade_finalized(
        self, request: pb.IsUpgradeFinalizedRequestProto, caller: Caller
    ) -> pb.IsUpgradeFinalizedResponseProto:
        self._check(caller, "ask for the upgrade")
        return pb.IsUpgradeFinalizedResponseProto(
            isUpgradeFinalized=self._source.is_upgrade_finalized()
        )

    def is_rolling_upgrade(
        self, request: pb.IsRollingUpgradeRequestProto, caller: Caller
    ) -> pb.IsRollingUpgradeResponseProto:
        """Whether one is under way."""
        self._check(caller, "ask for the upgrade")
        return pb.IsRollingUpgradeResponseProto(
            isRollingUpgrade=self._namesystem.namespace.rolling_upgrade.is_under_way
        )

    def get_next_spspath(
        self, request: pb.GetNextSPSPathRequestProto, caller: Caller
    ) -> pb.GetNextSPSPathResponseProto:
        """A marked path, for a storage policy satisfier; none if it was told of all."""
        self._check(caller, "ask for paths whose storage policy is to be satisfied")
        return pb.GetNextSPSPathResponseProto(spsPath=self._satisfaction.next_path(caller))

    def error_report(
        self, request: pb.ErrorReportRequestProto, caller: Caller
    ) -> pb.ErrorReportResponseProto:
        self._check(caller, "report an error")
        log.error(
            "%s at %s reports error %d: %s",
            server_pb.NamenodeRegistrationProto.NamenodeRoleProto.Name(request.registration.role),
            request.registration.rpcAddress,
            request.errorCode,
            request.msg,
        )
        return pb.ErrorReportResponseProto()

    def start_checkpoint(self, request: pb.StartCheckpointRequestProto, caller: Caller) -> Deferred:
        raise errors.UnsupportedOperation(
            "backup and checkpoint nodes are not supported: run a secondary namenode"
        )
