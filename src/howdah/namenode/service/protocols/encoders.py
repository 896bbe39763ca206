"""From the namenode's objects to protobuf messages (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import StorageKind
from howdah.namenode.service.calls.namespace_reads import Located, Locations
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.blocks.host_lists import HostEntry
from howdah.namenode.state.blocks.topology import DEFAULT_RACK
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.file_blocks import ClientBlock
from howdah.namenode.state.inodes.file_table import Glance
from howdah.namenode.state.inodes.inodes import Block, Directory, File, INode, Symlink
from howdah.namenode.state.inodes.storage_policies import StoragePolicy
from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.encryption_zones.messages import EncryptedKey, encryption_info_of
from howdah.protocol.striping.messages import policy_to_proto
from howdah.protocol.striping.policies import Policy

LONG_MASK: Final = (1 << 64) - 1
"""Java's long, as an unsigned field carries it."""

UNKNOWN_OFFSET: Final = LONG_MASK
"""Of a block that is told without its place in the file: -1."""

UNLIMITED: Final = LONG_MASK
"""A quota of -1, as the unsigned field carries it."""

DEFAULT_TRANSFER_PORT: Final = 9866
DEFAULT_INFO_PORT: Final = 9864
DEFAULT_IPC_PORT: Final = 9867

ROOT_NAMESPACE_QUOTA: Final = (1 << 63) - 1

NO_TOKEN: Final = rpc_pb2.TokenProto(identifier=b"", password=b"", kind="", service="")


def client_block(settings: Settings, proto: types_pb2.ExtendedBlockProto) -> ClientBlock:
    """A block as a client names it. Raises RemoteError for one of another block pool,
    where the same id means other bytes."""
    return named_block(
        settings, (proto.poolId, proto.blockId, proto.generationStamp, proto.numBytes)
    )


def named_block(settings: Settings, named: tuple[str, int, int, int]) -> ClientBlock:
    """The same of a pool, an id, a generation stamp and a length."""
    pool_id, block_id, generation_stamp, length_bytes = named
    if pool_id != settings.block_pool_id:
        raise errors.RemoteError(
            f"Unexpected BlockPoolId {pool_id} - expected {settings.block_pool_id}"
        )
    return ClientBlock(signed(block_id), generation_stamp, length_bytes)


def file_status(
    inode: INode,
    local_name: bytes,
    locations: types_pb2.LocatedBlocksProto | None = None,
    *,
    into: types_pb2.HdfsFileStatusProto | None = None,
) -> types_pb2.HdfsFileStatusProto:
    """What `ls` shows of an inode; `local_name` is empty where the client asked by path.

    `into` is the empty field of an answer: filling it in place, field by field, costs
    half of building a message and copying it in (1.0 against 2.1 µs).
    """
    status = types_pb2.HdfsFileStatusProto() if into is None else into
    status.path = local_name
    if isinstance(inode, File):
        above = inode.parent
        policy_above = storage_policies.effective_id(above) if above is not None else 0
        show_file(status, inode.inode_id, inode.glance(), policy_above)
        if locations is not None:
            status.locations.CopyFrom(locations)
        return status
    status.permission.perm = inode.mode
    status.owner = inode.owner
    status.group = inode.group
    # Times before 1970 are below zero, as clients may set them.
    status.modification_time = inode.mtime_ms & LONG_MASK
    status.access_time = inode.atime_ms & LONG_MASK
    status.fileId = inode.inode_id
    status.flags = types_pb2.HdfsFileStatusProto.HAS_ACL if inode.acl else 0
    status.storagePolicy = storage_policies.effective_id(inode)
    status.length = 0
    # Hadoop sets these for what is no file, too.
    status.block_replication = 0
    status.blocksize = 0
    if isinstance(inode, Directory):
        status.fileType = types_pb2.HdfsFileStatusProto.IS_DIR
        status.childrenNum = len(inode.children)
    elif isinstance(inode, Symlink):
        status.fileType = types_pb2.HdfsFileStatusProto.IS_SYMLINK
        status.childrenNum = 0
        status.symlink = inode.target.encode()
    return status


def show_file(
    status: types_pb2.HdfsFileStatusProto, inode_id: int, glance: Glance, policy_above: int
) -> None:
    """Fill in what is told of a file. `policy_above` is its directory's storage policy."""
    traits, mtime_ms, atime_ms, length_bytes, features = glance
    owner, group, mode, replication, block_size_bytes = traits
    status.fileType = types_pb2.HdfsFileStatusProto.IS_FILE
    status.permission.perm = mode
    status.owner = owner
    status.group = group
    status.modification_time = mtime_ms & LONG_MASK
    status.access_time = atime_ms & LONG_MASK
    status.fileId = inode_id
    status.flags = types_pb2.HdfsFileStatusProto.HAS_ACL if features.acl else 0
    policy_id = features.storage_policy_id or policy_above
    status.storagePolicy = (
        storage_policies.for_groups(policy_id) if features.coding_policy_id else policy_id
    )
    status.length = length_bytes
    status.childrenNum = 0
    status.block_replication = replication
    status.blocksize = block_size_bytes


def show_coding(status: types_pb2.HdfsFileStatusProto, policy: Policy | None) -> None:
    """Add to a status that what it is of is erasure coded, or what is created there will be."""
    if policy is not None:
        status.flags |= types_pb2.HdfsFileStatusProto.HAS_EC
        status.ecPolicy.CopyFrom(policy_to_proto(policy))


def show_encryption(
    status: types_pb2.HdfsFileStatusProto, key: EncryptedKey | None, *, in_zone: bool
) -> None:
    """Add to a status that what it is of is in an encryption zone, and the key of a file."""
    if in_zone:
        status.flags |= types_pb2.HdfsFileStatusProto.HAS_CRYPT
    if key is not None:
        status.fileEncryptionInfo.CopyFrom(encryption_info_of(key))


def datanode_id(node: Datanode) -> types_pb2.DatanodeIDProto:
    identity = node.identity
    return types_pb2.DatanodeIDProto(
        ipAddr=identity.ip,
        hostName=identity.hostname,
        datanodeUuid=identity.uuid,
        xferPort=identity.transfer_port,
        infoPort=identity.info_port,
        ipcPort=identity.ipc_port,
        infoSecurePort=identity.info_secure_port,
    )


def datanode_info(node: Datanode) -> types_pb2.DatanodeInfoProto:
    return types_pb2.DatanodeInfoProto(
        id=datanode_id(node),
        capacity=node.capacity_bytes,
        dfsUsed=node.used_bytes,
        remaining=node.remaining_bytes,
        blockPoolUsed=node.pool_used_bytes,
        nonDfsUsed=node.non_dfs_used_bytes,
        xceiverCount=node.xceivers,
        location=node.location,
        cacheCapacity=node.cache_capacity_bytes,
        cacheUsed=node.cache_used_bytes,
        # The stubs want an enum of their own; the wire has its number.
        adminState=node.admin_state.value,  # type: ignore[arg-type]
        upgradeDomain=node.upgrade_domain or None,
        numBlocks=node.block_count,
    )


def shown_datanode(node: Datanode) -> types_pb2.DatanodeInfoProto:
    """The same, as it was at the last heartbeat: each answer with locations has three or
    six of them, and to make one takes 10 µs, to copy one 1 µs. Its bytes are kept along with it,
    for answers that are made of bytes (`quick.locations`)."""
    shown = node.shown
    if shown is None or shown[0] != _shown_by(node):
        shown = describe(node)
    info = shown[1]
    assert isinstance(info, types_pb2.DatanodeInfoProto)
    return info


def shown_bytes(node: Datanode) -> bytes:
    """The bytes of `shown_datanode`."""
    shown = node.shown
    if shown is None or shown[0] != _shown_by(node):
        shown = describe(node)
    return shown[2]


def _shown_by(node: Datanode) -> tuple[object, ...]:
    """As long as these are the same, so is what clients are shown of the datanode. The kernel
    reads them as well."""
    return (
        node.last_heartbeat_ms,
        node.registrations,
        node.location,
        node.identity,
        node.admin_state,
        node.upgrade_domain,
    )


def describe(node: Datanode) -> tuple[tuple[object, ...], object, bytes]:
    """Keep anew what clients are shown of a datanode: by what, as a message and as its bytes."""
    info = datanode_info(node)
    node.shown = (_shown_by(node), info, info.SerializeToString())
    return node.shown


def datanode_description(node: Datanode, now_ms: int, wall_ms: int) -> types_pb2.DatanodeInfoProto:
    """The datanode as an administrator sees it, with times."""
    info = datanode_info(node)
    info.lastUpdate = max(wall_ms - now_ms + node.last_heartbeat_ms, 0)
    info.lastUpdateMonotonic = max(node.last_heartbeat_ms, 0)
    # Set, as Hadoop does, where nothing was reported yet, too.
    reported_ms = node.last_report_ms
    info.lastBlockReportTime = 0 if reported_ms is None else max(wall_ms - now_ms + reported_ms, 0)
    info.lastBlockReportMonotonic = max(reported_ms or 0, 0)
    if node.identity.software_version:
        info.softwareVersion = node.identity.software_version
    return info


def unknown_datanode(entry: HostEntry, *, excluded: bool) -> types_pb2.DatanodeInfoProto:
    """One that may take part and has never come. If it is `excluded` it has left already."""
    state = AdminState.DECOMMISSIONED if excluded else AdminState.NORMAL
    return types_pb2.DatanodeInfoProto(
        id=types_pb2.DatanodeIDProto(
            ipAddr=min(entry.addresses, default=entry.name),
            hostName=entry.name,
            datanodeUuid="",
            xferPort=entry.port or DEFAULT_TRANSFER_PORT,
            infoPort=DEFAULT_INFO_PORT,
            ipcPort=DEFAULT_IPC_PORT,
        ),
        location=DEFAULT_RACK,
        # The stubs want an enum of their own; the wire has its number.
        adminState=state.value,  # type: ignore[arg-type]
    )


def extended_block(settings: Settings, block: Block) -> types_pb2.ExtendedBlockProto:
    return types_pb2.ExtendedBlockProto(
        poolId=settings.block_pool_id,
        blockId=block.block_id & LONG_MASK,
        generationStamp=block.generation_stamp,
        numBytes=block.length_bytes,
    )


def located_block(
    settings: Settings,
    block: Block,
    offset_bytes: int,
    places: list[Storage],
    *,
    is_corrupt: bool = False,
    cached_on: Iterable[object] = (),
    generation_stamp: int | None = None,
    indices: Sequence[int] = (),
    into: types_pb2.LocatedBlockProto | None = None,
) -> types_pb2.LocatedBlockProto:
    """A block with its places, in the order given; `cached_on` are datanodes. Of a group
    `indices` say which internal block each place has. `into` is the empty field of an answer, to
    be filled in place."""
    located = types_pb2.LocatedBlockProto() if into is None else into
    named = located.b
    named.poolId = settings.block_pool_id
    named.blockId = block.block_id & LONG_MASK
    named.generationStamp = block.generation_stamp if generation_stamp is None else generation_stamp
    named.numBytes = block.length_bytes
    located.offset = offset_bytes
    located.corrupt = is_corrupt
    located.blockToken.CopyFrom(NO_TOKEN)
    located.locs.extend([shown_datanode(storage.node) for storage in places])
    cached = set(cached_on) if cached_on else ()
    located.isCached.extend(
        [storage.node in cached for storage in places] if cached else [False] * len(places)
    )
    # The stubs want the enum; at run time a number is one.
    located.storageTypes.extend(
        [storage.storage_type for storage in places]  # type: ignore[misc]
    )
    located.storageIDs.extend([storage.storage_id for storage in places])
    if block.block_id < 0:
        # There even where nobody has any of it: by this field a client knows a group.
        located.blockIndices = bytes(indices)
        located.blockTokens.extend([NO_TOKEN] * len(indices))
    return located


def located_blocks(
    settings: Settings,
    found: Locations,
    coding: Policy | None = None,
    *,
    into: types_pb2.LocatedBlocksProto | None = None,
) -> types_pb2.LocatedBlocksProto:
    """Where a file's blocks are; `coding` is its erasure coding policy. `into` is the empty field
    of an answer, to be filled in place."""

    def fill(part: Located, into: types_pb2.LocatedBlockProto) -> None:
        located_block(
            settings,
            part.block,
            part.offset_bytes,
            part.places,
            is_corrupt=part.is_corrupt,
            cached_on=part.cached_on,
            indices=part.indices,
            into=into,
        )

    last = found.last
    answer = types_pb2.LocatedBlocksProto() if into is None else into
    answer.fileLength = found.length_bytes
    answer.underConstruction = found.file.under_construction
    if coding is not None:
        answer.ecPolicy.CopyFrom(policy_to_proto(coding))
    for part in found.blocks:
        fill(part, answer.blocks.add())
    if last is not None and found.blocks and last is found.blocks[-1]:
        answer.lastBlock.CopyFrom(answer.blocks[-1])
    elif last is not None:
        fill(last, answer.lastBlock)
    answer.isLastBlockComplete = last is not None and (
        found.is_final or last.block.is_readable_to_the_end
    )
    return answer


def server_defaults(settings: Settings) -> types_pb2.FsServerDefaultsProto:
    return types_pb2.FsServerDefaultsProto(
        blockSize=settings.block_size_bytes,
        bytesPerChecksum=settings.bytes_per_checksum,
        writePacketSize=settings.write_packet_bytes,
        replication=settings.default_replication,
        fileBufferSize=settings.file_buffer_bytes,
        encryptDataTransfer=settings.encrypt_data_transfer,
        trashInterval=settings.trash_interval_minutes,
        checksumType=settings.checksum_type,  # type: ignore[arg-type]
        keyProviderUri=settings.key_provider_uri,
        policyId=storage_policies.HOT.policy_id,
        snapshotTrashRootEnabled=False,
        listsByUnsignedBytes=True,
    )


def storage_policy(policy: StoragePolicy) -> types_pb2.BlockStoragePolicyProto:
    def types(kinds: tuple[StorageKind, ...]) -> types_pb2.StorageTypesProto:
        return types_pb2.StorageTypesProto(storageTypes=[kind.name for kind in kinds])

    return types_pb2.BlockStoragePolicyProto(
        policyId=policy.policy_id,
        name=policy.name,
        creationPolicy=types(policy.kinds),
        creationFallbackPolicy=types(policy.on_create) if policy.on_create else None,
        replicationFallbackPolicy=types(policy.on_repair) if policy.on_repair else None,
    )


def signed(value: int) -> int:
    """Java's long in an unsigned field."""
    return value - (1 << 64) if value >> 63 else value
