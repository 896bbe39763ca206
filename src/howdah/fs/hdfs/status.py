"""From the protocol's messages to the records of `howdah.fs.status`."""

from __future__ import annotations

from howdah.fs.status import DatanodeReport, ErasureCodingPolicy, FileStatus, ServerDefaults
from howdah.proto import types_pb2
from howdah.protocol.striping.messages import policy_from_proto, policy_name_of, state_from_proto


def name_of(raw: bytes) -> str:
    """Names are bytes on the wire; what isn't UTF-8 survives as surrogates do in `os`."""
    return raw.decode("utf-8", "surrogateescape")


def _signed(value: int) -> int:
    """Java's long in an unsigned field: times before 1970 are negative."""
    return value - (1 << 64) if value >> 63 else value


def file_status(proto: types_pb2.HdfsFileStatusProto, path: str) -> FileStatus:
    kind = proto.fileType
    return FileStatus(
        path=path,
        length=proto.length,
        is_directory=kind == types_pb2.HdfsFileStatusProto.IS_DIR,
        replication=proto.block_replication,
        block_size=proto.blocksize,
        modification_time_ms=_signed(proto.modification_time),
        access_time_ms=_signed(proto.access_time),
        permission=proto.permission.perm,
        owner=proto.owner,
        group=proto.group,
        symlink=(
            name_of(proto.symlink) if kind == types_pb2.HdfsFileStatusProto.IS_SYMLINK else None
        ),
        file_id=proto.fileId,
        children_num=proto.childrenNum,
        storage_policy=proto.storagePolicy,
        has_acl=bool(proto.flags & types_pb2.HdfsFileStatusProto.HAS_ACL),
        is_encrypted=bool(proto.flags & types_pb2.HdfsFileStatusProto.HAS_CRYPT),
        erasure_coding_policy=policy_name_of(proto.ecPolicy)
        if proto.HasField("ecPolicy")
        else None,
        is_snapshot_enabled=bool(proto.flags & types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED),
    )


def erasure_coding_policy(proto: types_pb2.ErasureCodingPolicyProto) -> ErasureCodingPolicy:
    policy = policy_from_proto(proto)
    schema = policy.schema
    return ErasureCodingPolicy(
        policy.name,
        schema.codec,
        schema.data_units,
        schema.parity_units,
        policy.cell_bytes,
        policy.policy_id,
        state_from_proto(proto).name,
        tuple(schema.options.items()),
    )


def datanode_report(proto: types_pb2.DatanodeInfoProto) -> DatanodeReport:
    node = proto.id
    return DatanodeReport(
        uuid=node.datanodeUuid,
        ip=node.ipAddr,
        hostname=node.hostName,
        transfer_port=node.xferPort,
        info_port=node.infoPort,
        ipc_port=node.ipcPort,
        rack=proto.location or "/default-rack",
        admin_state=types_pb2.DatanodeInfoProto.AdminState.Name(proto.adminState),
        capacity=proto.capacity,
        dfs_used=proto.dfsUsed,
        non_dfs_used=proto.nonDfsUsed,
        remaining=proto.remaining,
        block_pool_used=proto.blockPoolUsed,
        last_update_ms=proto.lastUpdate,
        xceiver_count=proto.xceiverCount,
        block_count=proto.numBlocks,
        software_version=proto.softwareVersion,
    )


def server_defaults(proto: types_pb2.FsServerDefaultsProto) -> ServerDefaults:
    return ServerDefaults(
        proto.blockSize,
        proto.bytesPerChecksum,
        types_pb2.ChecksumTypeProto.Name(proto.checksumType).removeprefix("CHECKSUM_"),
        proto.replication,
        proto.writePacketSize,
        proto.fileBufferSize,
        proto.trashInterval,
        bool(proto.keyProviderUri),
        proto.snapshotTrashRootEnabled,
    )
