"""Requests of DatanodeProtocol: who this datanode is, what it holds, how it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.control.replica_index import VolumeFailures, VolumeState
from howdah.datanode.state.messages import (
    BlockSynchronized,
    CorruptFound,
    OutliersFound,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
)
from howdah.datanode.volumes.volumes import Volume
from howdah.formats.version import DATANODE_LAYOUT_VERSION, SHOWN_VERSION
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.block_lists import ListedReplica
from howdah.protocol.data_transfer.blocks import NO_TOKEN, DatanodeAddress

SOFTWARE_VERSION = "3.5.0"
"""The Hadoop whose protocols are spoken: a namenode refuses datanodes that are too old. People are
told `SHOWN_VERSION`."""

_MASK = (1 << 64) - 1

BlockNews = ReplicaOpened | ReplicaReceived | ReplicaDeleted


@dataclass(frozen=True, slots=True)
class Namespace:
    """What a namenode answers to versionRequest."""

    namespace_id: int
    cluster_id: str
    ctime_ms: int
    pool_id: str
    software_version: str

    @classmethod
    def from_proto(cls, proto: pb.NamespaceInfoProto) -> Namespace:
        info = proto.storageInfo
        if not proto.blockPoolID.startswith("BP-") or "/" in proto.blockPoolID:
            # It becomes the name of a directory.
            raise errors.ProtocolViolation(f"the namenode has block pool {proto.blockPoolID!r}")
        return cls(
            info.namespceID, info.clusterID, info.cTime, proto.blockPoolID, proto.softwareVersion
        )


def registration(node: DatanodeAddress, namespace: Namespace) -> pb.DatanodeRegistrationProto:
    return pb.DatanodeRegistrationProto(
        datanodeID=node.id_to_proto(),
        storageInfo=pb.StorageInfoProto(
            layoutVersion=DATANODE_LAYOUT_VERSION & 0xFFFFFFFF,
            namespceID=namespace.namespace_id,
            clusterID=namespace.cluster_id,
            cTime=namespace.ctime_ms,
        ),
        keys=pb.ExportedBlockKeysProto(
            isBlockTokenEnabled=False,
            keyUpdateInterval=0,
            tokenLifeTime=0,
            currentKey=pb.BlockKeyProto(keyId=0, expiryDate=0),
        ),
        softwareVersion=SOFTWARE_VERSION,
        shownVersion=SHOWN_VERSION,
    )


def storage_of(volume: Volume) -> types_pb2.DatanodeStorageProto:
    return types_pb2.DatanodeStorageProto(
        storageUuid=volume.storage_id, storageType=volume.storage_type.name
    )


def storage_reports(states: Iterable[VolumeState]) -> list[types_pb2.StorageReportProto]:
    reports = []
    for state in states:
        report = types_pb2.StorageReportProto(
            storageUuid=state.volume.storage_id,
            failed=state.failure is not None,
            storage=storage_of(state.volume),
        )
        if state.usage is not None:
            report.capacity = state.usage.capacity_bytes
            report.dfsUsed = state.usage.used_bytes
            report.remaining = state.usage.remaining_bytes
            report.blockPoolUsed = state.pool_used_bytes
            report.nonDfsUsed = state.usage.non_dfs_used_bytes
        reports.append(report)
    return reports


def heartbeat(
    who: pb.DatanodeRegistrationProto,
    states: Sequence[VolumeState],
    *,
    connections: int,
    copies: int,
    want_report_lease: bool,
    cache_capacity_bytes: int,
    cache_used_bytes: int,
    failures: VolumeFailures | None,
) -> pb.HeartbeatRequestProto:
    request = pb.HeartbeatRequestProto(
        registration=who,
        reports=storage_reports(states),
        xmitsInProgress=copies,
        xceiverCount=connections,
        failedVolumes=0 if failures is None else len(failures.locations),
        requestFullBlockReportLease=want_report_lease,
        cacheCapacity=cache_capacity_bytes,
        cacheUsed=cache_used_bytes,
    )
    if failures is not None:
        request.volumeFailureSummary.CopyFrom(
            pb.VolumeFailureSummaryProto(
                failedStorageLocations=failures.locations,
                lastVolumeFailureDate=failures.last_ms,
                estimatedCapacityLostTotal=failures.lost_bytes,
            )
        )
    return request


def add_outliers(request: pb.HeartbeatRequestProto, outliers: OutliersFound) -> None:
    """Add what is slow to a heartbeat. An operation of a disk that is not slow has no figure, as in
    Hadoop."""
    for peer in outliers.peers:
        request.slowPeers.add(
            dataNodeId=peer.name,
            aggregateLatency=peer.mean_ms,
            median=peer.median_ms,
            mad=peer.deviation_ms,
            upperLimitLatency=peer.limit_ms,
        )
    for disk in outliers.disks:
        request.slowDisks.add(
            basePath=disk.path,
            meanMetadataOpLatency=disk.metadata_ms,
            meanReadIoLatency=disk.read_ms,
            meanWriteIoLatency=disk.write_ms,
        )


def full_reports(
    who: pb.DatanodeRegistrationProto,
    pool_id: str,
    volumes: Iterable[Volume],
    lists: Mapping[str, Sequence[ListedReplica]],
    *,
    report_id: int,
    lease_id: int,
    split_threshold: int,
) -> list[pb.BlockReportRequestProto]:
    """One request for all volumes, or one a volume when there are too many replicas."""
    parts = []
    for volume in volumes:
        count, buffers = block_lists.encode(lists.get(volume.storage_id, ()))
        parts.append(
            pb.StorageBlockReportProto(
                storage=storage_of(volume), numberOfBlocks=count, blocksBuffers=buffers
            )
        )
    total = sum(part.numberOfBlocks for part in parts)
    groups = [parts] if total <= split_threshold else [[part] for part in parts]
    return [
        pb.BlockReportRequestProto(
            registration=who,
            blockPoolId=pool_id,
            reports=group,
            context=pb.BlockReportContextProto(
                totalRpcs=len(groups), curRpc=index, id=report_id, leaseId=lease_id
            ),
        )
        for index, group in enumerate(groups)
    ]


def incremental_report(
    who: pb.DatanodeRegistrationProto,
    pool_id: str,
    news: Iterable[BlockNews],
    volumes: Mapping[str, Volume],
) -> pb.BlockReceivedAndDeletedRequestProto:
    """Report what has happened to replicas, in the order in which it did: a volume is named again
    where news of a block come after those of the same block on another volume."""
    status = pb.ReceivedDeletedBlockInfoProto
    groups: list[pb.StorageReceivedDeletedBlocksProto] = []
    of_storage: dict[str, int] = {}
    of_block: dict[int, int] = {}
    for item in news:
        hint = None
        match item:
            case ReplicaReceived():
                kind, hint = status.RECEIVED, item.delete_hint or None
            case ReplicaOpened():
                kind = status.RECEIVING
            case ReplicaDeleted():
                kind = status.DELETED
        place = of_storage.get(item.storage_id, -1)
        if place < of_block.get(item.block.block_id, 0):
            place = of_storage[item.storage_id] = len(groups)
            groups.append(
                pb.StorageReceivedDeletedBlocksProto(
                    storageUuid=item.storage_id, storage=storage_of(volumes[item.storage_id])
                )
            )
        of_block[item.block.block_id] = place
        groups[place].blocks.add(
            block=types_pb2.BlockProto(
                blockId=item.block.block_id & _MASK,
                genStamp=item.block.generation_stamp & _MASK,
                numBytes=item.block.length_bytes,
            ),
            status=kind,
            deleteHint=hint,
        )
    return pb.BlockReceivedAndDeletedRequestProto(
        registration=who, blockPoolId=pool_id, blocks=groups
    )


def bad_block_report(
    corrupt: CorruptFound, this_node: DatanodeAddress, volumes: Mapping[str, Volume]
) -> pb.ReportBadBlocksRequestProto:
    """Report a replica, here or at the node it was copied from, that does not fit its checksums."""
    node = corrupt.node or this_node
    located = types_pb2.LocatedBlockProto(
        b=corrupt.block.to_proto(),
        offset=0,
        locs=[node.to_proto()],
        corrupt=True,
        blockToken=NO_TOKEN.to_proto(),
        storageIDs=[corrupt.storage_id],
    )
    volume = volumes.get(corrupt.storage_id)
    located.storageTypes.append(
        types_pb2.DISK if volume is None else storage_of(volume).storageType
    )
    return pb.ReportBadBlocksRequestProto(blocks=[located])


def synchronization(
    recovery: BlockSynchronized,
) -> pb.CommitBlockSynchronizationRequestProto:
    """How a recovery ended. Its file is closed with it: nobody has the lease who could go on."""
    return pb.CommitBlockSynchronizationRequestProto(
        block=recovery.block.to_proto(),
        newGenStamp=recovery.new_stamp,
        newLength=recovery.new_length_bytes,
        closeFile=True,
        deleteBlock=recovery.delete,
        newTaragets=[node.id_to_proto() for node in recovery.nodes],
        newTargetStorages=recovery.storage_ids,
    )
