"""Edits: the only way in which a namespace changes (design decision D4).

Mirrors the operations of Hadoop's edit log, one frozen dataclass an operation,
under the names that `hdfs oev` prints: OP_MKDIR is `MkdirOp`. A field is here
if, and only if, the record on disk has it; `codec` maps the two one to
one, so replaying a log gives back equal edits. Three consequences worth
knowing before `apply` is written:

* Only OP_ADD, OP_CLOSE, OP_MKDIR and OP_SYMLINK carry an inode id. All other
  operations name their target by path.
* The transaction id belongs to the record around the edit: `LoggedEdit`.
* Edits of calls that are not idempotent carry the caller's client id and call
  id (`RetryableEdit`), from which a restarted namenode rebuilds its retry cache.

This module holds values only. It knows neither bytes nor files. Those that are
made most often are in `frequent`.
"""

from __future__ import annotations

from typing import ClassVar, Final

from howdah.formats.edits.base import NO_CALL_ID as NO_CALL_ID
from howdah.formats.edits.base import NO_CLIENT_ID as NO_CLIENT_ID
from howdah.formats.edits.base import AclEntry as AclEntry
from howdah.formats.edits.base import Edit as Edit
from howdah.formats.edits.base import EditBlock as EditBlock
from howdah.formats.edits.base import LoggedEdit as LoggedEdit
from howdah.formats.edits.base import Permission as Permission
from howdah.formats.edits.base import RetryableEdit as RetryableEdit
from howdah.formats.edits.base import XAttr as XAttr
from howdah.formats.edits.frequent import REPLICATION_POLICY_ID as REPLICATION_POLICY_ID
from howdah.formats.edits.frequent import (
    UNSPECIFIED_STORAGE_POLICY_ID as UNSPECIFIED_STORAGE_POLICY_ID,
)
from howdah.formats.edits.frequent import AddBlockOp as AddBlockOp
from howdah.formats.edits.frequent import AddOp as AddOp
from howdah.formats.edits.frequent import AllocateBlockIdOp as AllocateBlockIdOp
from howdah.formats.edits.frequent import CloseOp as CloseOp
from howdah.formats.edits.frequent import DeleteOp as DeleteOp
from howdah.formats.edits.frequent import MkdirOp as MkdirOp
from howdah.formats.edits.frequent import RenameOldOp as RenameOldOp
from howdah.formats.edits.frequent import RenameOp as RenameOp
from howdah.formats.edits.frequent import SetGenstampV2Op as SetGenstampV2Op
from howdah.formats.edits.frequent import TimesOp as TimesOp
from howdah.formats.edits.frequent import UpdateBlocksOp as UpdateBlocksOp
from howdah.formats.edits.opcodes import AclKind as AclKind
from howdah.formats.edits.opcodes import AclScope as AclScope
from howdah.formats.edits.opcodes import Opcode as Opcode
from howdah.formats.edits.opcodes import RenameFlag as RenameFlag
from howdah.formats.edits.opcodes import StorageKind as StorageKind
from howdah.formats.edits.opcodes import XAttrNamespace as XAttrNamespace
from howdah.formats.edits.value_classes import dataclass

# Files: creation, blocks, closing.


@dataclass(frozen=True, slots=True)
class AppendOp(RetryableEdit):
    """A complete file was reopened; `new_block` says that its last block stays as it is."""

    opcode: ClassVar[Opcode] = Opcode.OP_APPEND
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

    opcode: ClassVar[Opcode] = Opcode.OP_TRUNCATE
    path: str
    client_name: str
    client_machine: str
    new_length_bytes: int
    timestamp_ms: int
    truncate_block: EditBlock | None = None


@dataclass(frozen=True, slots=True)
class ConcatDeleteOp(RetryableEdit):
    """The blocks of `sources` were moved to the end of `target`; the sources are gone."""

    opcode: ClassVar[Opcode] = Opcode.OP_CONCAT_DELETE
    target: str
    sources: tuple[str, ...]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ReassignLeaseOp(Edit):
    """The lease on `path` went from one holder to another (lease recovery)."""

    opcode: ClassVar[Opcode] = Opcode.OP_REASSIGN_LEASE
    lease_holder: str
    path: str
    new_holder: str


# The tree.


@dataclass(frozen=True, slots=True)
class SymlinkOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_SYMLINK
    inode_id: int
    path: str
    target: str
    mtime_ms: int
    atime_ms: int
    permission: Permission


# Attributes of inodes.


@dataclass(frozen=True, slots=True)
class SetReplicationOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_REPLICATION
    path: str
    replication: int


@dataclass(frozen=True, slots=True)
class SetPermissionsOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_PERMISSIONS
    path: str
    mode: int


@dataclass(frozen=True, slots=True)
class SetOwnerOp(Edit):
    """An owner or group of None stays as it is (an empty string on disk)."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_OWNER
    path: str
    owner: str | None
    group: str | None


@dataclass(frozen=True, slots=True)
class SetQuotaOp(Edit):
    """Quotas of a directory: -1 takes a quota away, `KEEP_QUOTA` leaves it alone."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_QUOTA
    path: str
    namespace_quota: int
    space_quota_bytes: int


KEEP_QUOTA: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SetQuotaByStorageTypeOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_QUOTA_BY_STORAGETYPE
    path: str
    storage_kind: StorageKind
    space_quota_bytes: int


@dataclass(frozen=True, slots=True)
class SetStoragePolicyOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_STORAGE_POLICY
    path: str
    policy_id: int


@dataclass(frozen=True, slots=True)
class SetAclOp(Edit):
    """The whole list of an inode; no entries take the ACL away."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_ACL
    path: str
    entries: tuple[AclEntry, ...]


@dataclass(frozen=True, slots=True)
class SetXAttrOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_SET_XATTR
    path: str
    xattrs: tuple[XAttr, ...]


@dataclass(frozen=True, slots=True)
class RemoveXAttrOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_REMOVE_XATTR
    path: str
    xattrs: tuple[XAttr, ...]


# Counters.


@dataclass(frozen=True, slots=True)
class SetGenstampV1Op(Edit):
    """The counter of the time when block ids were random; read, never written anew."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_GENSTAMP_V1
    generation_stamp: int


# Snapshots.


@dataclass(frozen=True, slots=True)
class AllowSnapshotOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_ALLOW_SNAPSHOT
    path: str


@dataclass(frozen=True, slots=True)
class DisallowSnapshotOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_DISALLOW_SNAPSHOT
    path: str


@dataclass(frozen=True, slots=True)
class CreateSnapshotOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_CREATE_SNAPSHOT
    path: str
    name: str
    mtime_ms: int


@dataclass(frozen=True, slots=True)
class DeleteSnapshotOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_DELETE_SNAPSHOT
    path: str
    name: str
    mtime_ms: int


@dataclass(frozen=True, slots=True)
class RenameSnapshotOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_RENAME_SNAPSHOT
    path: str
    old_name: str
    new_name: str
    mtime_ms: int


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
    time_ms: int


@dataclass(frozen=True, slots=True)
class RollingUpgradeFinalizeOp(Edit):
    opcode: ClassVar[Opcode] = Opcode.OP_ROLLING_UPGRADE_FINALIZE
    time_ms: int
