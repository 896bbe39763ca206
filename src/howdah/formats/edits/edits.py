"""Edits: the only way in which a namespace changes (design decision D4).

Mirrors the operations of Hadoop's edit log, one frozen dataclass an operation,
under the names that `hdfs oev` prints: OP_MKDIR is `MkdirOp`. A field is here
if, and only if, the record on disk has it, and its `form` says how record and XML
hold it: `codec`, the kernel and the viewer have no tables of their own. So replaying
a log gives back equal edits. Three consequences worth knowing before `apply` is
written:

* Only OP_ADD, OP_CLOSE, OP_MKDIR and OP_SYMLINK carry an inode id. All other
  operations name their target by path.
* The transaction id belongs to the record around the edit: `LoggedEdit`.
* Edits of calls that are not idempotent carry the caller's client id and call
  id (`RetryableEdit`), from which a restarted namenode rebuilds its retry cache.

This module holds values only. It knows no files.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Final

from howdah.formats.edits.base import NO_CALL_ID as NO_CALL_ID
from howdah.formats.edits.base import NO_CLIENT_ID as NO_CLIENT_ID
from howdah.formats.edits.base import Edit as Edit
from howdah.formats.edits.base import LoggedEdit as LoggedEdit
from howdah.formats.edits.base import RetryableEdit as RetryableEdit
from howdah.formats.edits.base import form
from howdah.formats.edits.field_codecs import (
    ACL,
    ACL_MESSAGE,
    BLOCKS,
    BOOLEAN,
    COMPACT_BLOCKS,
    DELEGATION_KEY,
    DELEGATION_TOKEN,
    I8,
    I16,
    I32,
    I64,
    LAST_BLOCKS,
    OPTIONAL_BLOCK,
    OPTIONAL_STRING,
    OPTIONS,
    PERMISSION,
    RENAME_OPTIONS,
    STORAGE_KIND,
    STRING,
    STRINGS,
    TWICE_I64,
    XATTR_MESSAGE,
    XATTRS,
)
from howdah.formats.edits.opcodes import AclKind as AclKind
from howdah.formats.edits.opcodes import AclScope as AclScope
from howdah.formats.edits.opcodes import Opcode as Opcode
from howdah.formats.edits.opcodes import RenameFlag as RenameFlag
from howdah.formats.edits.opcodes import StorageKind as StorageKind
from howdah.formats.edits.opcodes import XAttrNamespace as XAttrNamespace
from howdah.formats.edits.value_classes import dataclass
from howdah.formats.edits.values import AclEntry as AclEntry
from howdah.formats.edits.values import EditBlock as EditBlock
from howdah.formats.edits.values import Permission as Permission
from howdah.formats.edits.values import XAttr as XAttr
from howdah.formats.tokens.identifiers import DelegationKey as DelegationKey
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier as DelegationTokenIdentifier

# The layout versions at which fields were added.
_ERASURE_CODING: Final = -64
_SNAPSHOT_MODIFICATION_TIME: Final = -66

# What Hadoop prints though the record has no such field.
_LENGTH: Final = (("LENGTH", "0"),)
_NO_CLIENT: Final = (("CLIENT_NAME", ""), ("CLIENT_MACHINE", ""), ("OVERWRITE", "false"))

# Files: creation, blocks, closing.

UNSPECIFIED_STORAGE_POLICY_ID: Final = 0
REPLICATION_POLICY_ID: Final = 0
"""Erasure coding policy id of a file that is replicated."""


@dataclass(frozen=True, slots=True)
class AddOp(RetryableEdit):
    """A file came into being, under construction by `client_name`.

    Also logged in old logs when a file is reopened for append, then with blocks.
    """

    opcode: ClassVar[Opcode] = Opcode.OP_ADD
    record_tail: ClassVar[tuple[str, ...]] = (
        "blocks",
        "permission",
        "acl",
        "xattrs",
        "client_name",
        "client_machine",
        "overwrite",
        "storage_policy_id",
        "erasure_coding_policy_id",
    )
    xml_tail: ClassVar[tuple[str, ...]] = (
        "client_name",
        "client_machine",
        "overwrite",
        "blocks",
        "permission",
        "acl",
        "erasure_coding_policy_id",
    )
    inode_id: int = field(metadata=form(I64, "INODEID", behind=_LENGTH))
    path: str = field(metadata=form(STRING, "PATH"))
    replication: int = field(metadata=form(I16, "REPLICATION"))
    mtime_ms: int = field(metadata=form(I64, "MTIME"))
    atime_ms: int = field(metadata=form(I64, "ATIME"))
    block_size_bytes: int = field(metadata=form(I64, "BLOCKSIZE"))
    permission: Permission = field(metadata=form(PERMISSION, "PERMISSION_STATUS"))
    client_name: str = field(metadata=form(STRING, "CLIENT_NAME"))
    client_machine: str = field(metadata=form(STRING, "CLIENT_MACHINE"))
    blocks: tuple[EditBlock, ...] = field(default=(), metadata=form(BLOCKS, "BLOCK"))
    overwrite: bool = field(default=False, metadata=form(BOOLEAN, "OVERWRITE"))
    storage_policy_id: int = field(default=UNSPECIFIED_STORAGE_POLICY_ID, metadata=form(I8, None))
    erasure_coding_policy_id: int = field(
        default=REPLICATION_POLICY_ID,
        metadata=form(I8, "ERASURE_CODING_POLICY_ID", since=_ERASURE_CODING),
    )
    acl: tuple[AclEntry, ...] = field(default=(), metadata=form(ACL, "ENTRY"))
    xattrs: tuple[XAttr, ...] = field(default=(), metadata=form(XATTRS, None))


@dataclass(frozen=True, slots=True)
class CloseOp(Edit):
    """A file is complete; `blocks` are all its blocks with their final lengths."""

    opcode: ClassVar[Opcode] = Opcode.OP_CLOSE
    record_tail: ClassVar[tuple[str, ...]] = ("blocks", "permission")
    inode_id: int = field(metadata=form(I64, "INODEID", behind=_LENGTH))
    path: str = field(metadata=form(STRING, "PATH"))
    replication: int = field(metadata=form(I16, "REPLICATION"))
    mtime_ms: int = field(metadata=form(I64, "MTIME"))
    atime_ms: int = field(metadata=form(I64, "ATIME"))
    block_size_bytes: int = field(metadata=form(I64, "BLOCKSIZE"))
    permission: Permission = field(metadata=form(PERMISSION, "PERMISSION_STATUS"))
    blocks: tuple[EditBlock, ...] = field(
        default=(), metadata=form(BLOCKS, "BLOCK", behind=_NO_CLIENT)
    )


@dataclass(frozen=True, slots=True)
class AddBlockOp(RetryableEdit):
    """A block was added at the end of a file under construction.

    `penultimate_block` is the block before it, whose length is final now; None
    if the new one is the first.
    """

    opcode: ClassVar[Opcode] = Opcode.OP_ADD_BLOCK
    path: str = field(metadata=form(STRING, "PATH"))
    penultimate_block: EditBlock | None = field(metadata=form(LAST_BLOCKS, "BLOCK"))
    last_block: EditBlock = field(metadata=form(LAST_BLOCKS, "BLOCK"))


@dataclass(frozen=True, slots=True)
class UpdateBlocksOp(RetryableEdit):
    """The whole block list of a file under construction: after pipeline recovery
    (new generation stamp), fsync (new length) or abandonBlock (one fewer)."""

    opcode: ClassVar[Opcode] = Opcode.OP_UPDATE_BLOCKS
    path: str = field(metadata=form(STRING, "PATH"))
    blocks: tuple[EditBlock, ...] = field(metadata=form(COMPACT_BLOCKS, "BLOCK"))


@dataclass(frozen=True, slots=True)
class AppendOp(RetryableEdit):
    """A complete file was reopened; `new_block` says that its last block stays as it is."""

    opcode: ClassVar[Opcode] = Opcode.OP_APPEND
    path: str = field(metadata=form(STRING, "PATH"))
    client_name: str = field(metadata=form(STRING, "CLIENT_NAME"))
    client_machine: str = field(metadata=form(STRING, "CLIENT_MACHINE"))
    new_block: bool = field(default=False, metadata=form(BOOLEAN, "NEWBLOCK"))


@dataclass(frozen=True, slots=True)
class TruncateOp(Edit):
    """A file was cut to `new_length_bytes`.

    `truncate_block` is the last block under its new generation stamp if the cut
    goes through it; None if the cut is at a block's border.
    """

    opcode: ClassVar[Opcode] = Opcode.OP_TRUNCATE
    path: str = field(metadata=form(STRING, "SRC"))
    client_name: str = field(metadata=form(STRING, "CLIENTNAME"))
    client_machine: str = field(metadata=form(STRING, "CLIENTMACHINE"))
    new_length_bytes: int = field(metadata=form(I64, "NEWLENGTH"))
    timestamp_ms: int = field(metadata=form(I64, "TIMESTAMP"))
    truncate_block: EditBlock | None = field(default=None, metadata=form(OPTIONAL_BLOCK, "BLOCK"))


@dataclass(frozen=True, slots=True)
class ConcatDeleteOp(RetryableEdit):
    """The blocks of `sources` were moved to the end of `target`; the sources are gone."""

    opcode: ClassVar[Opcode] = Opcode.OP_CONCAT_DELETE
    xml_tail: ClassVar[tuple[str, ...]] = ("timestamp_ms", "sources")
    target: str = field(metadata=form(STRING, "TRG", behind=_LENGTH))
    sources: tuple[str, ...] = field(metadata=form(STRINGS, "SOURCES"))
    timestamp_ms: int = field(metadata=form(I64, "TIMESTAMP"))


@dataclass(frozen=True, slots=True)
class ReassignLeaseOp(Edit):
    """The lease on `path` went from one holder to another (lease recovery)."""

    opcode: ClassVar[Opcode] = Opcode.OP_REASSIGN_LEASE
    lease_holder: str = field(metadata=form(STRING, "LEASEHOLDER"))
    path: str = field(metadata=form(STRING, "PATH"))
    new_holder: str = field(metadata=form(STRING, "NEWHOLDER"))


# The tree.


@dataclass(frozen=True, slots=True)
class MkdirOp(Edit):
    """One directory; its parents have their own edits before it."""

    opcode: ClassVar[Opcode] = Opcode.OP_MKDIR
    inode_id: int = field(metadata=form(I64, "INODEID", behind=_LENGTH))
    path: str = field(metadata=form(STRING, "PATH"))
    timestamp_ms: int = field(metadata=form(TWICE_I64, "TIMESTAMP"))
    permission: Permission = field(metadata=form(PERMISSION, "PERMISSION_STATUS"))
    acl: tuple[AclEntry, ...] = field(default=(), metadata=form(ACL, "ENTRY"))
    xattrs: tuple[XAttr, ...] = field(default=(), metadata=form(XATTRS, "XATTR"))


@dataclass(frozen=True, slots=True)
class SymlinkOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_SYMLINK
    inode_id: int = field(metadata=form(I64, "INODEID", behind=_LENGTH))
    path: str = field(metadata=form(STRING, "PATH"))
    target: str = field(metadata=form(STRING, "VALUE"))
    mtime_ms: int = field(metadata=form(I64, "MTIME"))
    atime_ms: int = field(metadata=form(I64, "ATIME"))
    permission: Permission = field(metadata=form(PERMISSION, "PERMISSION_STATUS"))


@dataclass(frozen=True, slots=True)
class RenameOldOp(RetryableEdit):
    """`rename`: `dst` is the final name; the server resolved "into a directory" before."""

    opcode: ClassVar[Opcode] = Opcode.OP_RENAME_OLD
    src: str = field(metadata=form(STRING, "SRC", behind=_LENGTH))
    dst: str = field(metadata=form(STRING, "DST"))
    timestamp_ms: int = field(metadata=form(I64, "TIMESTAMP"))


@dataclass(frozen=True, slots=True)
class RenameOp(RetryableEdit):
    """`rename2`: with options, and errors instead of False."""

    opcode: ClassVar[Opcode] = Opcode.OP_RENAME
    src: str = field(metadata=form(STRING, "SRC", behind=_LENGTH))
    dst: str = field(metadata=form(STRING, "DST"))
    timestamp_ms: int = field(metadata=form(I64, "TIMESTAMP"))
    options: tuple[RenameFlag, ...] = field(default=(), metadata=form(RENAME_OPTIONS, "OPTIONS"))


@dataclass(frozen=True, slots=True)
class DeleteOp(RetryableEdit):
    """`path` and all under it are gone."""

    opcode: ClassVar[Opcode] = Opcode.OP_DELETE
    path: str = field(metadata=form(STRING, "PATH", behind=_LENGTH))
    timestamp_ms: int = field(metadata=form(I64, "TIMESTAMP"))


# Attributes of inodes. Hadoop's XML calls the path SRC in some operations and PATH in others.


@dataclass(frozen=True, slots=True)
class SetReplicationOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_REPLICATION
    path: str = field(metadata=form(STRING, "PATH"))
    replication: int = field(metadata=form(I16, "REPLICATION"))


@dataclass(frozen=True, slots=True)
class SetPermissionsOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_PERMISSIONS
    path: str = field(metadata=form(STRING, "SRC"))
    mode: int = field(metadata=form(I16, "MODE"))


@dataclass(frozen=True, slots=True)
class SetOwnerOp(Edit):
    """An owner or group of None stays as it is (an empty string on disk)."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_OWNER
    path: str = field(metadata=form(STRING, "SRC"))
    owner: str | None = field(metadata=form(OPTIONAL_STRING, "USERNAME"))
    group: str | None = field(metadata=form(OPTIONAL_STRING, "GROUPNAME"))


@dataclass(frozen=True, slots=True)
class TimesOp(Edit):
    """A time of -1 stays as it is."""

    opcode: ClassVar[Opcode] = Opcode.OP_TIMES
    path: str = field(metadata=form(STRING, "PATH", behind=_LENGTH))
    mtime_ms: int = field(metadata=form(I64, "MTIME"))
    atime_ms: int = field(metadata=form(I64, "ATIME"))


@dataclass(frozen=True, slots=True)
class SetQuotaOp(Edit):
    """Quotas of a directory: -1 takes a quota away, `KEEP_QUOTA` leaves it alone."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_QUOTA
    path: str = field(metadata=form(STRING, "SRC"))
    namespace_quota: int = field(metadata=form(I64, "NSQUOTA"))
    space_quota_bytes: int = field(metadata=form(I64, "DSQUOTA"))


KEEP_QUOTA: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SetQuotaByStorageTypeOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_QUOTA_BY_STORAGETYPE
    path: str = field(metadata=form(STRING, "SRC"))
    storage_kind: StorageKind = field(metadata=form(STORAGE_KIND, "STORAGETYPE"))
    space_quota_bytes: int = field(metadata=form(I64, "DSQUOTA"))


@dataclass(frozen=True, slots=True)
class SetStoragePolicyOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_STORAGE_POLICY
    path: str = field(metadata=form(STRING, "PATH"))
    policy_id: int = field(metadata=form(I8, "POLICYID"))


@dataclass(frozen=True, slots=True)
class SetAclOp(Edit):
    """The whole list of an inode; no entries take the ACL away."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_ACL
    path: str = field(metadata=form(ACL_MESSAGE, "SRC"))
    entries: tuple[AclEntry, ...] = field(metadata=form(ACL_MESSAGE, "ENTRY"))


@dataclass(frozen=True, slots=True)
class SetXAttrOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_XATTR
    path: str = field(metadata=form(XATTR_MESSAGE, "SRC"))
    xattrs: tuple[XAttr, ...] = field(metadata=form(XATTR_MESSAGE, "XATTR"))


@dataclass(frozen=True, slots=True)
class RemoveXAttrOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_REMOVE_XATTR
    path: str = field(metadata=form(XATTR_MESSAGE, "SRC"))
    xattrs: tuple[XAttr, ...] = field(metadata=form(XATTR_MESSAGE, "XATTR"))


# Counters.


@dataclass(frozen=True, slots=True)
class SetGenstampV1Op(Edit):
    """The counter of the time when block ids were random; read, never written anew."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_GENSTAMP_V1
    generation_stamp: int = field(metadata=form(I64, "GENSTAMP"))


@dataclass(frozen=True, slots=True)
class SetGenstampV2Op(Edit):
    """The last generation stamp that was given out."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_GENSTAMP_V2
    generation_stamp: int = field(metadata=form(I64, "GENSTAMPV2"))


@dataclass(frozen=True, slots=True)
class AllocateBlockIdOp(Edit):
    """The last block id that was given out."""

    opcode: ClassVar[Opcode] = Opcode.OP_ALLOCATE_BLOCK_ID
    block_id: int = field(metadata=form(I64, "BLOCK_ID"))


# Snapshots.


@dataclass(frozen=True, slots=True)
class AllowSnapshotOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_ALLOW_SNAPSHOT
    path: str = field(metadata=form(STRING, "SNAPSHOTROOT"))


@dataclass(frozen=True, slots=True)
class DisallowSnapshotOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_DISALLOW_SNAPSHOT
    path: str = field(metadata=form(STRING, "SNAPSHOTROOT"))


@dataclass(frozen=True, slots=True)
class CreateSnapshotOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_CREATE_SNAPSHOT
    path: str = field(metadata=form(STRING, "SNAPSHOTROOT"))
    name: str = field(metadata=form(STRING, "SNAPSHOTNAME"))
    mtime_ms: int = field(metadata=form(I64, "MTIME", since=_SNAPSHOT_MODIFICATION_TIME))


@dataclass(frozen=True, slots=True)
class DeleteSnapshotOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_DELETE_SNAPSHOT
    path: str = field(metadata=form(STRING, "SNAPSHOTROOT"))
    name: str = field(metadata=form(STRING, "SNAPSHOTNAME"))
    mtime_ms: int = field(metadata=form(I64, "MTIME", since=_SNAPSHOT_MODIFICATION_TIME))


@dataclass(frozen=True, slots=True)
class RenameSnapshotOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_RENAME_SNAPSHOT
    path: str = field(metadata=form(STRING, "SNAPSHOTROOT"))
    old_name: str = field(metadata=form(STRING, "SNAPSHOTOLDNAME"))
    new_name: str = field(metadata=form(STRING, "SNAPSHOTNEWNAME"))
    mtime_ms: int = field(metadata=form(I64, "MTIME", since=_SNAPSHOT_MODIFICATION_TIME))


# The log itself.


@dataclass(frozen=True, slots=True)
class StartLogSegmentOp(Edit):
    """First transaction of every segment."""

    opcode: ClassVar[Opcode] = Opcode.OP_START_LOG_SEGMENT


@dataclass(frozen=True, slots=True)
class EndLogSegmentOp(Edit):
    """Last transaction of a segment that was closed in order."""

    opcode: ClassVar[Opcode] = Opcode.OP_END_LOG_SEGMENT


@dataclass(frozen=True, slots=True)
class RollingUpgradeStartOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_ROLLING_UPGRADE_START
    time_ms: int = field(metadata=form(I64, "STARTTIME"))


@dataclass(frozen=True, slots=True)
class RollingUpgradeFinalizeOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_ROLLING_UPGRADE_FINALIZE
    time_ms: int = field(metadata=form(I64, "FINALIZETIME"))


# Delegation tokens.


@dataclass(frozen=True, slots=True)
class GetDelegationTokenOp(Edit):
    """A token was issued."""

    opcode: ClassVar[Opcode] = Opcode.OP_GET_DELEGATION_TOKEN
    token: DelegationTokenIdentifier = field(
        metadata=form(DELEGATION_TOKEN, "DELEGATION_TOKEN_IDENTIFIER")
    )
    expiry_ms: int = field(metadata=form(I64, "EXPIRY_TIME"))


@dataclass(frozen=True, slots=True)
class RenewDelegationTokenOp(Edit):
    """A token was renewed until another time."""

    opcode: ClassVar[Opcode] = Opcode.OP_RENEW_DELEGATION_TOKEN
    token: DelegationTokenIdentifier = field(
        metadata=form(DELEGATION_TOKEN, "DELEGATION_TOKEN_IDENTIFIER")
    )
    expiry_ms: int = field(metadata=form(I64, "EXPIRY_TIME"))


@dataclass(frozen=True, slots=True)
class CancelDelegationTokenOp(Edit):
    """A token was cancelled."""

    opcode: ClassVar[Opcode] = Opcode.OP_CANCEL_DELEGATION_TOKEN
    token: DelegationTokenIdentifier = field(
        metadata=form(DELEGATION_TOKEN, "DELEGATION_TOKEN_IDENTIFIER")
    )


@dataclass(frozen=True, slots=True)
class UpdateMasterKeyOp(Edit):
    """There is another key for the passwords of tokens."""

    opcode: ClassVar[Opcode] = Opcode.OP_UPDATE_MASTER_KEY
    key: DelegationKey = field(metadata=form(DELEGATION_KEY, "DELEGATION_KEY"))


# Erasure coding policies.


@dataclass(frozen=True, slots=True)
class AddErasureCodingPolicyOp(RetryableEdit):
    """A policy of a user's came into being, disabled. Its id is not logged: it is the next one."""

    opcode: ClassVar[Opcode] = Opcode.OP_ADD_ERASURE_CODING_POLICY
    coding: str = field(metadata=form(STRING, "CODEC"))
    data_units: int = field(metadata=form(I32, "DATAUNITS"))
    parity_units: int = field(metadata=form(I32, "PARITYUNITS"))
    cell_bytes: int = field(metadata=form(I32, "CELLSIZE"))
    options: tuple[tuple[str, str], ...] = field(default=(), metadata=form(OPTIONS, "EXTRAOPTIONS"))


@dataclass(frozen=True, slots=True)
class EnableErasureCodingPolicyOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_ENABLE_ERASURE_CODING_POLICY
    name: str = field(metadata=form(STRING, "POLICYNAME"))


@dataclass(frozen=True, slots=True)
class DisableErasureCodingPolicyOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_DISABLE_ERASURE_CODING_POLICY
    name: str = field(metadata=form(STRING, "POLICYNAME"))


@dataclass(frozen=True, slots=True)
class RemoveErasureCodingPolicyOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_REMOVE_ERASURE_CODING_POLICY
    name: str = field(metadata=form(STRING, "POLICYNAME"))
