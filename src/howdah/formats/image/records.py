"""What a namespace image is made of, as values.

One class a message of the image's sections, in plain types: permissions taken
apart, names looked up in the string table, numbers with their signs. `fsimage`
and its parts map them to bytes and back; the namenode maps them to its tree.

Values only. The classes of which an image has millions (inodes and the lists of
children) are not frozen: that would cost half a microsecond a field group, a
second for a million files.

A field of a rare message names the protobuf field that holds it, for
`message_maps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from howdah.formats.edits.edits import AclEntry, EditBlock, StorageKind, XAttr

NO_QUOTA: Final = -1
ROOT_NAMESPACE_QUOTA: Final = (1 << 63) - 1
"""What Hadoop writes as the root's namespace quota where nobody set one."""


def _in(name: str, **how: Any) -> Any:
    return field(metadata={"field": name}, **how)


# Inodes.


@dataclass(slots=True)
class InodeRecord:
    """What files, directories and links have in common. Times are in milliseconds."""

    inode_id: int
    name: str
    owner: str
    group: str
    mode: int
    mtime_ms: int


@dataclass(slots=True)
class FileRecord(InodeRecord):
    """A file. `writer` is None unless it is under construction.

    `truncating`: its last block is being cut to its length; if it is to be a copy of the
    beginning of another block, that is `source`. While it is under construction, so many of
    its first blocks as `complete_blocks` are complete, and the others are committed, but for
    the last one, which is being written unless `last_committed`. Of a striped file
    `erasure_coding_policy_id` is set, and `replication` means nothing.
    """

    atime_ms: int
    replication: int
    block_size_bytes: int
    blocks: tuple[EditBlock, ...] = ()
    storage_policy_id: int = 0
    writer: str | None = None
    writer_machine: str = ""
    truncating: bool = False
    source: EditBlock | None = None
    complete_blocks: int = 0
    last_committed: bool = False
    acl: tuple[AclEntry, ...] = ()
    xattrs: tuple[XAttr, ...] = ()
    erasure_coding_policy_id: int | None = None


@dataclass(slots=True)
class DirectoryRecord(InodeRecord):
    """A directory. Its children are in a `ChildrenRecord`."""

    namespace_quota: int = NO_QUOTA
    space_quota_bytes: int = NO_QUOTA
    quotas_by_kind: tuple[tuple[StorageKind, int], ...] = ()
    acl: tuple[AclEntry, ...] = ()
    xattrs: tuple[XAttr, ...] = ()
    atime_ms: int = 0


@dataclass(slots=True)
class SymlinkRecord(InodeRecord):
    atime_ms: int
    target: str


@dataclass(slots=True)
class ChildrenRecord:
    """The children of one directory, in the order of their names' bytes.

    `references` are places in the section of references: children that are in
    snapshots under another name or in another directory.
    """

    parent_id: int
    children: Sequence[int]
    references: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OpenFileRecord:
    """A file under construction, once more: id and path."""

    inode_id: int = _in("inodeId")
    path: str = _in("fullPath")


# The namespace as a whole.


@dataclass(frozen=True, slots=True)
class NamesystemRecord:
    """Counters. The `legacy` ones are of the time when block ids were random."""

    namespace_id: int = _in("namespaceId")
    legacy_generation_stamp: int = _in("genstampV1")
    generation_stamp: int = _in("genstampV2")
    legacy_generation_stamp_limit: int = _in("genstampV1Limit")
    last_block_id: int = _in("lastAllocatedBlockId")
    txid: int = _in("transactionId")
    rolling_upgrade_start_ms: int | None = _in("rollingUpgradeStartTime", default=None)
    last_striped_block_id: int | None = _in("lastAllocatedStripedBlockId", default=None)


# Snapshots.


@dataclass(frozen=True, slots=True)
class ReferenceRecord:
    """An inode that is reachable from more than one place, or from a snapshot alone."""

    inode_id: int | None = _in("referredId", default=None)
    name: bytes | None = _in("name", default=None)
    destination_snapshot_id: int | None = _in("dstSnapshotId", default=None)
    last_snapshot_id: int | None = _in("lastSnapshotId", default=None)


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """One snapshot; the name of `root` is the snapshot's."""

    snapshot_id: int
    root: DirectoryRecord


@dataclass(frozen=True, slots=True)
class SnapshotsRecord:
    counter: int = 0
    snapshottable_ids: tuple[int, ...] = ()
    snapshots: tuple[SnapshotRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class FileDiffRecord:
    """A file as it was in a snapshot; `copy` has its attributes then.

    `block_states` are those of `blocks`, as numbers; without any, all are complete.
    """

    snapshot_id: int
    size_bytes: int
    name: bytes | None = None
    copy: FileRecord | None = None
    blocks: tuple[EditBlock, ...] = ()
    block_states: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DirectoryDiffRecord:
    """What changed in a directory after a snapshot, up to the next."""

    snapshot_id: int
    children_size: int
    is_snapshot_root: bool = False
    name: bytes | None = None
    copy: DirectoryRecord | None = None
    created_names: tuple[bytes, ...] = ()
    deleted_ids: tuple[int, ...] = ()
    deleted_references: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InodeDiffsRecord:
    """All diffs of one inode, of one of the two kinds, newest first."""

    inode_id: int
    is_directory: bool
    diffs: tuple[FileDiffRecord, ...] | tuple[DirectoryDiffRecord, ...]


# Erasure coding, delegation tokens, centralised caching.


@dataclass(frozen=True, slots=True)
class SchemaOptionRecord:
    key: str = _in("key")
    value: str = _in("value")


@dataclass(frozen=True, slots=True)
class SchemaRecord:
    codec: str = _in("codecName")
    data_units: int = _in("dataUnits")
    parity_units: int = _in("parityUnits")
    options: tuple[SchemaOptionRecord, ...] = _in("options", default=())


@dataclass(frozen=True, slots=True)
class ErasureCodingPolicyRecord:
    """`state`: 1 disabled, 2 enabled, 3 removed."""

    policy_id: int = _in("id")
    name: str | None = _in("name", default=None)
    schema: SchemaRecord | None = field(metadata={"field": "schema"}, default=None)
    cell_size_bytes: int | None = _in("cellSize", default=None)
    state: int | None = _in("state", default=None)


@dataclass(frozen=True, slots=True)
class DelegationKeyRecord:
    key_id: int | None = _in("id", default=None)
    expiry_ms: int | None = _in("expiryDate", default=None)
    key: bytes | None = _in("key", default=None)


@dataclass(frozen=True, slots=True)
class DelegationTokenRecord:
    version: int | None = _in("version", default=None)
    owner: str | None = _in("owner", default=None)
    renewer: str | None = _in("renewer", default=None)
    real_user: str | None = _in("realUser", default=None)
    issued_ms: int | None = _in("issueDate", default=None)
    longest_ms: int | None = _in("maxDate", default=None)
    sequence_number: int | None = _in("sequenceNumber", default=None)
    master_key_id: int | None = _in("masterKeyId", default=None)
    expiry_ms: int | None = _in("expiryDate", default=None)


@dataclass(frozen=True, slots=True)
class SecretsRecord:
    current_key_id: int = 0
    token_sequence_number: int = 0
    keys: tuple[DelegationKeyRecord, ...] = ()
    tokens: tuple[DelegationTokenRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class CacheExpirationRecord:
    millis: int = _in("millis")
    is_relative: bool = _in("isRelative")


@dataclass(frozen=True, slots=True)
class CachePoolRecord:
    name: str | None = _in("poolName", default=None)
    owner: str | None = _in("ownerName", default=None)
    group: str | None = _in("groupName", default=None)
    mode: int | None = _in("mode", default=None)
    limit_bytes: int | None = _in("limit", default=None)
    max_relative_expiry_ms: int | None = _in("maxRelativeExpiry", default=None)
    default_replication: int | None = _in("defaultReplication", default=None)


@dataclass(frozen=True, slots=True)
class CacheDirectiveRecord:
    directive_id: int | None = _in("id", default=None)
    path: str | None = _in("path", default=None)
    replication: int | None = _in("replication", default=None)
    pool: str | None = _in("pool", default=None)
    expiration: CacheExpirationRecord | None = field(metadata={"field": "expiration"}, default=None)


@dataclass(frozen=True, slots=True)
class CacheRecord:
    next_directive_id: int = 1
    pools: tuple[CachePoolRecord, ...] = ()
    directives: tuple[CacheDirectiveRecord, ...] = ()
