"""Edits: the only way in which a namespace changes (design decision D4).

Mirrors the operations of Hadoop's edit log, one frozen dataclass an operation,
under the names that `hdfs oev` prints: OP_MKDIR is `MkdirOp`. A field is here
if, and only if, the record on disk has it; `edit_codec` maps the two one to
one, so replaying a log gives back equal edits. Three consequences worth
knowing before `apply` is written:

* Only OP_ADD, OP_CLOSE, OP_MKDIR and OP_SYMLINK carry an inode id. All other
  operations name their target by path.
* The transaction id belongs to the record around the edit: `LoggedEdit`.
* Edits of calls that are not idempotent carry the caller's client id and call
  id (`RetryableEdit`), from which a restarted namenode rebuilds its retry cache.

This module holds values only. It knows neither bytes nor files.
"""

from __future__ import annotations

import enum
from typing import ClassVar, Final

from howdah.storage.edits.values import dataclass

NO_CLIENT_ID: Final = b""
NO_CALL_ID: Final = -2
"""Hadoop's markers for "no RPC stands behind this edit"."""

UNSPECIFIED_STORAGE_POLICY_ID: Final = 0
REPLICATION_POLICY_ID: Final = 0
"""Erasure coding policy id of a file that is replicated."""


class Opcode(enum.IntEnum):
    """First byte of every record. The retired and the later ones are named too."""

    OP_ADD = 0
    OP_RENAME_OLD = 1
    OP_DELETE = 2
    OP_MKDIR = 3
    OP_SET_REPLICATION = 4
    OP_DATANODE_ADD = 5
    OP_DATANODE_REMOVE = 6
    OP_SET_PERMISSIONS = 7
    OP_SET_OWNER = 8
    OP_CLOSE = 9
    OP_SET_GENSTAMP_V1 = 10
    OP_SET_NS_QUOTA = 11
    OP_CLEAR_NS_QUOTA = 12
    OP_TIMES = 13
    OP_SET_QUOTA = 14
    OP_RENAME = 15
    OP_CONCAT_DELETE = 16
    OP_SYMLINK = 17
    OP_GET_DELEGATION_TOKEN = 18
    OP_RENEW_DELEGATION_TOKEN = 19
    OP_CANCEL_DELEGATION_TOKEN = 20
    OP_UPDATE_MASTER_KEY = 21
    OP_REASSIGN_LEASE = 22
    OP_END_LOG_SEGMENT = 23
    OP_START_LOG_SEGMENT = 24
    OP_UPDATE_BLOCKS = 25
    OP_CREATE_SNAPSHOT = 26
    OP_DELETE_SNAPSHOT = 27
    OP_RENAME_SNAPSHOT = 28
    OP_ALLOW_SNAPSHOT = 29
    OP_DISALLOW_SNAPSHOT = 30
    OP_SET_GENSTAMP_V2 = 31
    OP_ALLOCATE_BLOCK_ID = 32
    OP_ADD_BLOCK = 33
    OP_ADD_CACHE_DIRECTIVE = 34
    OP_REMOVE_CACHE_DIRECTIVE = 35
    OP_ADD_CACHE_POOL = 36
    OP_MODIFY_CACHE_POOL = 37
    OP_REMOVE_CACHE_POOL = 38
    OP_MODIFY_CACHE_DIRECTIVE = 39
    OP_SET_ACL = 40
    OP_ROLLING_UPGRADE_START = 41
    OP_ROLLING_UPGRADE_FINALIZE = 42
    OP_SET_XATTR = 43
    OP_REMOVE_XATTR = 44
    OP_SET_STORAGE_POLICY = 45
    OP_TRUNCATE = 46
    OP_APPEND = 47
    OP_SET_QUOTA_BY_STORAGETYPE = 48
    OP_ADD_ERASURE_CODING_POLICY = 49
    OP_ENABLE_ERASURE_CODING_POLICY = 50
    OP_DISABLE_ERASURE_CODING_POLICY = 51
    OP_REMOVE_ERASURE_CODING_POLICY = 52
    OP_INVALID = 0xFF


class RenameFlag(enum.IntEnum):
    """Options of rename2; the same numbers on the wire and on disk."""

    NONE = 0
    OVERWRITE = 1
    TO_TRASH = 2


class StorageKind(enum.IntEnum):
    """Storage types by the ordinal that quota records hold (not the wire's numbers)."""

    RAM_DISK = 0
    SSD = 1
    DISK = 2
    ARCHIVE = 3
    PROVIDED = 4
    NVDIMM = 5


class AclScope(enum.IntEnum):
    ACCESS = 0
    DEFAULT = 1


class AclKind(enum.IntEnum):
    USER = 0
    GROUP = 1
    MASK = 2
    OTHER = 3


class XAttrNamespace(enum.IntEnum):
    USER = 0
    TRUSTED = 1
    SECURITY = 2
    SYSTEM = 3
    RAW = 4


@dataclass(frozen=True, slots=True)
class EditBlock:
    """One block of a file as the log knows it: no locations, ever (FS-024)."""

    block_id: int
    length_bytes: int
    generation_stamp: int


@dataclass(frozen=True, slots=True)
class Permission:
    """Owner, group and the mode (rwx for three, sticky bit 0o1000) of a new inode."""

    owner: str
    group: str
    mode: int


@dataclass(frozen=True, slots=True)
class AclEntry:
    """`permission` is the rwx digit, 0 to 7; `name` is None for the unnamed entries."""

    scope: AclScope
    kind: AclKind
    permission: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class XAttr:
    """An extended attribute; `value` is None where a record names it without one."""

    namespace: XAttrNamespace
    name: str
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Base of all edits. `opcode` is the record's first byte."""

    opcode: ClassVar[Opcode] = Opcode.OP_INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryableEdit(Edit):
    """An edit that remembers which call of which client caused it.

    `rpc_client_id` is the client's 16 bytes, or empty if no call stands behind
    the edit; `rpc_call_id` is then `NO_CALL_ID`.
    """

    rpc_client_id: bytes = NO_CLIENT_ID
    rpc_call_id: int = NO_CALL_ID


@dataclass(frozen=True, slots=True)
class LoggedEdit:
    """An edit with its place in the log."""

    txid: int
    edit: Edit


# Files: creation, blocks, closing.


@dataclass(frozen=True, slots=True)
class AddOp(RetryableEdit):
    """A file came into being, under construction by `client_name`.

    Also logged in old logs when a file is reopened for append, then with blocks.
    """

    opcode = Opcode.OP_ADD
    inode_id: int
    path: str
    replication: int
    mtime_ms: int
    atime_ms: int
    block_size_bytes: int
    permission: Permission
    client_name: str
    client_machine: str
    blocks: tuple[EditBlock, ...] = ()
    overwrite: bool = False
    storage_policy_id: int = UNSPECIFIED_STORAGE_POLICY_ID
    erasure_coding_policy_id: int = REPLICATION_POLICY_ID
    acl: tuple[AclEntry, ...] = ()
    xattrs: tuple[XAttr, ...] = ()


@dataclass(frozen=True, slots=True)
class CloseOp(Edit):
    """A file is complete; `blocks` are all its blocks with their final lengths."""

    opcode = Opcode.OP_CLOSE
    inode_id: int
    path: str
    replication: int
    mtime_ms: int
    atime_ms: int
    block_size_bytes: int
    permission: Permission
    blocks: tuple[EditBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class AddBlockOp(RetryableEdit):
    """A block was added at the end of a file under construction.

    `penultimate_block` is the block before it, whose length is final now; None
    if the new one is the first.
    """

    opcode = Opcode.OP_ADD_BLOCK
    path: str
    penultimate_block: EditBlock | None
    last_block: EditBlock


@dataclass(frozen=True, slots=True)
class UpdateBlocksOp(RetryableEdit):
    """The whole block list of a file under construction: after pipeline recovery
    (new generation stamp), fsync (new length) or abandonBlock (one fewer)."""

    opcode = Opcode.OP_UPDATE_BLOCKS
    path: str
    blocks: tuple[EditBlock, ...]


@dataclass(frozen=True, slots=True)
class AppendOp(RetryableEdit):
    """A complete file was reopened; `new_block` says that its last block stays as it is."""

    opcode = Opcode.OP_APPEND
    path: str
    client_name: str
    client_machine: str
    new_block: bool = False


@dataclass(frozen=True, slots=True)
class TruncateOp(Edit):
    """A file was cut to `new_length_bytes`.

    `truncate_block` is the last block under its new generation stamp if the cut
    goes through it; None if the cut is at a block's border.
    """

    opcode = Opcode.OP_TRUNCATE
    path: str
    client_name: str
    client_machine: str
    new_length_bytes: int
    timestamp_ms: int
    truncate_block: EditBlock | None = None


@dataclass(frozen=True, slots=True)
class ConcatDeleteOp(RetryableEdit):
    """The blocks of `sources` were moved to the end of `target`; the sources are gone."""

    opcode = Opcode.OP_CONCAT_DELETE
    target: str
    sources: tuple[str, ...]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ReassignLeaseOp(Edit):
    """The lease on `path` went from one holder to another (lease recovery)."""

    opcode = Opcode.OP_REASSIGN_LEASE
    lease_holder: str
    path: str
    new_holder: str


# The tree.


@dataclass(frozen=True, slots=True)
class MkdirOp(Edit):
    """One directory; its parents have their own edits before it."""

    opcode = Opcode.OP_MKDIR
    inode_id: int
    path: str
    timestamp_ms: int
    permission: Permission
    acl: tuple[AclEntry, ...] = ()
    xattrs: tuple[XAttr, ...] = ()


@dataclass(frozen=True, slots=True)
class SymlinkOp(RetryableEdit):
    opcode = Opcode.OP_SYMLINK
    inode_id: int
    path: str
    target: str
    mtime_ms: int
    atime_ms: int
    permission: Permission


@dataclass(frozen=True, slots=True)
class RenameOldOp(RetryableEdit):
    """`rename`: `dst` is the final name; the server resolved "into a directory" before."""

    opcode = Opcode.OP_RENAME_OLD
    src: str
    dst: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class RenameOp(RetryableEdit):
    """`rename2`: with options, and errors instead of False."""

    opcode = Opcode.OP_RENAME
    src: str
    dst: str
    timestamp_ms: int
    options: tuple[RenameFlag, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteOp(RetryableEdit):
    """`path` and all under it are gone."""

    opcode = Opcode.OP_DELETE
    path: str
    timestamp_ms: int


# Attributes of inodes.


@dataclass(frozen=True, slots=True)
class SetReplicationOp(Edit):
    opcode = Opcode.OP_SET_REPLICATION
    path: str
    replication: int


@dataclass(frozen=True, slots=True)
class SetPermissionsOp(Edit):
    opcode = Opcode.OP_SET_PERMISSIONS
    path: str
    mode: int


@dataclass(frozen=True, slots=True)
class SetOwnerOp(Edit):
    """An owner or group of None stays as it is (an empty string on disk)."""

    opcode = Opcode.OP_SET_OWNER
    path: str
    owner: str | None
    group: str | None


@dataclass(frozen=True, slots=True)
class TimesOp(Edit):
    """A time of -1 stays as it is."""

    opcode = Opcode.OP_TIMES
    path: str
    mtime_ms: int
    atime_ms: int


@dataclass(frozen=True, slots=True)
class SetQuotaOp(Edit):
    """Quotas of a directory: -1 takes a quota away, `KEEP_QUOTA` leaves it alone."""

    opcode = Opcode.OP_SET_QUOTA
    path: str
    namespace_quota: int
    space_quota_bytes: int


KEEP_QUOTA: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SetQuotaByStorageTypeOp(Edit):
    opcode = Opcode.OP_SET_QUOTA_BY_STORAGETYPE
    path: str
    storage_kind: StorageKind
    space_quota_bytes: int


@dataclass(frozen=True, slots=True)
class SetStoragePolicyOp(Edit):
    opcode = Opcode.OP_SET_STORAGE_POLICY
    path: str
    policy_id: int


@dataclass(frozen=True, slots=True)
class SetAclOp(Edit):
    """The whole list of an inode; no entries take the ACL away."""

    opcode = Opcode.OP_SET_ACL
    path: str
    entries: tuple[AclEntry, ...]


@dataclass(frozen=True, slots=True)
class SetXAttrOp(RetryableEdit):
    opcode = Opcode.OP_SET_XATTR
    path: str
    xattrs: tuple[XAttr, ...]


@dataclass(frozen=True, slots=True)
class RemoveXAttrOp(RetryableEdit):
    opcode = Opcode.OP_REMOVE_XATTR
    path: str
    xattrs: tuple[XAttr, ...]


# Counters.


@dataclass(frozen=True, slots=True)
class SetGenstampV1Op(Edit):
    """The counter of the time when block ids were random; read, never written anew."""

    opcode = Opcode.OP_SET_GENSTAMP_V1
    generation_stamp: int


@dataclass(frozen=True, slots=True)
class SetGenstampV2Op(Edit):
    """The last generation stamp that was given out."""

    opcode = Opcode.OP_SET_GENSTAMP_V2
    generation_stamp: int


@dataclass(frozen=True, slots=True)
class AllocateBlockIdOp(Edit):
    """The last block id that was given out."""

    opcode = Opcode.OP_ALLOCATE_BLOCK_ID
    block_id: int


# Snapshots.


@dataclass(frozen=True, slots=True)
class AllowSnapshotOp(Edit):
    opcode = Opcode.OP_ALLOW_SNAPSHOT
    path: str


@dataclass(frozen=True, slots=True)
class DisallowSnapshotOp(Edit):
    opcode = Opcode.OP_DISALLOW_SNAPSHOT
    path: str


@dataclass(frozen=True, slots=True)
class CreateSnapshotOp(RetryableEdit):
    opcode = Opcode.OP_CREATE_SNAPSHOT
    path: str
    name: str
    mtime_ms: int


@dataclass(frozen=True, slots=True)
class DeleteSnapshotOp(RetryableEdit):
    opcode = Opcode.OP_DELETE_SNAPSHOT
    path: str
    name: str
    mtime_ms: int


@dataclass(frozen=True, slots=True)
class RenameSnapshotOp(RetryableEdit):
    opcode = Opcode.OP_RENAME_SNAPSHOT
    path: str
    old_name: str
    new_name: str
    mtime_ms: int


# The log itself.


@dataclass(frozen=True, slots=True)
class StartLogSegmentOp(Edit):
    """First transaction of every segment."""

    opcode = Opcode.OP_START_LOG_SEGMENT


@dataclass(frozen=True, slots=True)
class EndLogSegmentOp(Edit):
    """Last transaction of a segment that was closed in order."""

    opcode = Opcode.OP_END_LOG_SEGMENT


@dataclass(frozen=True, slots=True)
class RollingUpgradeStartOp(Edit):
    opcode = Opcode.OP_ROLLING_UPGRADE_START
    time_ms: int


@dataclass(frozen=True, slots=True)
class RollingUpgradeFinalizeOp(Edit):
    opcode = Opcode.OP_ROLLING_UPGRADE_FINALIZE
    time_ms: int
