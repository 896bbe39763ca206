# mypy: disable-error-code="misc"
"""The edits of which a busy namenode makes one or more in every call (pure).

Each has an `__init__` of its own, for the reason that `base` gives, and its defaults are there.
Everybody knows them by `edits`, where the others are.
"""

from __future__ import annotations

from typing import ClassVar, Final

from howdah.formats.edits.base import (
    NO_CALL_ID,
    NO_CLIENT_ID,
    AclEntry,
    Edit,
    EditBlock,
    Permission,
    RetryableEdit,
    XAttr,
)
from howdah.formats.edits.opcodes import Opcode, RenameFlag
from howdah.formats.edits.value_classes import dataclass

UNSPECIFIED_STORAGE_POLICY_ID: Final = 0
REPLICATION_POLICY_ID: Final = 0
"""Erasure coding policy id of a file that is replicated."""


@dataclass(frozen=True, slots=True, init=False)
class AddOp(RetryableEdit):
    """A file came into being, under construction by `client_name`.

    Also logged in old logs when a file is reopened for append, then with blocks.
    """

    opcode: ClassVar[Opcode] = Opcode.OP_ADD
    inode_id: int
    path: str
    replication: int
    mtime_ms: int
    atime_ms: int
    block_size_bytes: int
    permission: Permission
    client_name: str
    client_machine: str
    blocks: tuple[EditBlock, ...]
    overwrite: bool
    storage_policy_id: int
    erasure_coding_policy_id: int
    acl: tuple[AclEntry, ...]
    xattrs: tuple[XAttr, ...]

    def __init__(
        self,
        inode_id: int,
        path: str,
        replication: int,
        mtime_ms: int,
        atime_ms: int,
        block_size_bytes: int,
        permission: Permission,
        client_name: str,
        client_machine: str,
        blocks: tuple[EditBlock, ...] = (),
        overwrite: bool = False,
        storage_policy_id: int = UNSPECIFIED_STORAGE_POLICY_ID,
        erasure_coding_policy_id: int = REPLICATION_POLICY_ID,
        acl: tuple[AclEntry, ...] = (),
        xattrs: tuple[XAttr, ...] = (),
        *,
        rpc_client_id: bytes = NO_CLIENT_ID,
        rpc_call_id: int = NO_CALL_ID,
    ) -> None:
        self.inode_id = inode_id
        self.path = path
        self.replication = replication
        self.mtime_ms = mtime_ms
        self.atime_ms = atime_ms
        self.block_size_bytes = block_size_bytes
        self.permission = permission
        self.client_name = client_name
        self.client_machine = client_machine
        self.blocks = blocks
        self.overwrite = overwrite
        self.storage_policy_id = storage_policy_id
        self.erasure_coding_policy_id = erasure_coding_policy_id
        self.acl = acl
        self.xattrs = xattrs
        self.rpc_client_id = rpc_client_id
        self.rpc_call_id = rpc_call_id


@dataclass(frozen=True, slots=True, init=False)
class CloseOp(Edit):
    """A file is complete; `blocks` are all its blocks with their final lengths."""

    opcode: ClassVar[Opcode] = Opcode.OP_CLOSE
    inode_id: int
    path: str
    replication: int
    mtime_ms: int
    atime_ms: int
    block_size_bytes: int
    permission: Permission
    blocks: tuple[EditBlock, ...]

    def __init__(
        self,
        inode_id: int,
        path: str,
        replication: int,
        mtime_ms: int,
        atime_ms: int,
        block_size_bytes: int,
        permission: Permission,
        blocks: tuple[EditBlock, ...] = (),
    ) -> None:
        self.inode_id = inode_id
        self.path = path
        self.replication = replication
        self.mtime_ms = mtime_ms
        self.atime_ms = atime_ms
        self.block_size_bytes = block_size_bytes
        self.permission = permission
        self.blocks = blocks


@dataclass(frozen=True, slots=True, init=False)
class AddBlockOp(RetryableEdit):
    """A block was added at the end of a file under construction.

    `penultimate_block` is the block before it, whose length is final now; None
    if the new one is the first.
    """

    opcode: ClassVar[Opcode] = Opcode.OP_ADD_BLOCK
    path: str
    penultimate_block: EditBlock | None
    last_block: EditBlock

    def __init__(
        self,
        path: str,
        penultimate_block: EditBlock | None,
        last_block: EditBlock,
        *,
        rpc_client_id: bytes = NO_CLIENT_ID,
        rpc_call_id: int = NO_CALL_ID,
    ) -> None:
        self.path = path
        self.penultimate_block = penultimate_block
        self.last_block = last_block
        self.rpc_client_id = rpc_client_id
        self.rpc_call_id = rpc_call_id


@dataclass(frozen=True, slots=True, init=False)
class UpdateBlocksOp(RetryableEdit):
    """The whole block list of a file under construction: after pipeline recovery
    (new generation stamp), fsync (new length) or abandonBlock (one fewer)."""

    opcode: ClassVar[Opcode] = Opcode.OP_UPDATE_BLOCKS
    path: str
    blocks: tuple[EditBlock, ...]

    def __init__(
        self,
        path: str,
        blocks: tuple[EditBlock, ...],
        *,
        rpc_client_id: bytes = NO_CLIENT_ID,
        rpc_call_id: int = NO_CALL_ID,
    ) -> None:
        self.path = path
        self.blocks = blocks
        self.rpc_client_id = rpc_client_id
        self.rpc_call_id = rpc_call_id


@dataclass(frozen=True, slots=True, init=False)
class MkdirOp(Edit):
    """One directory; its parents have their own edits before it."""

    opcode: ClassVar[Opcode] = Opcode.OP_MKDIR
    inode_id: int
    path: str
    timestamp_ms: int
    permission: Permission
    acl: tuple[AclEntry, ...]
    xattrs: tuple[XAttr, ...]

    def __init__(
        self,
        inode_id: int,
        path: str,
        timestamp_ms: int,
        permission: Permission,
        acl: tuple[AclEntry, ...] = (),
        xattrs: tuple[XAttr, ...] = (),
    ) -> None:
        self.inode_id = inode_id
        self.path = path
        self.timestamp_ms = timestamp_ms
        self.permission = permission
        self.acl = acl
        self.xattrs = xattrs


@dataclass(frozen=True, slots=True, init=False)
class RenameOldOp(RetryableEdit):
    """`rename`: `dst` is the final name; the server resolved "into a directory" before."""

    opcode: ClassVar[Opcode] = Opcode.OP_RENAME_OLD
    src: str
    dst: str
    timestamp_ms: int

    def __init__(
        self,
        src: str,
        dst: str,
        timestamp_ms: int,
        *,
        rpc_client_id: bytes = NO_CLIENT_ID,
        rpc_call_id: int = NO_CALL_ID,
    ) -> None:
        self.src = src
        self.dst = dst
        self.timestamp_ms = timestamp_ms
        self.rpc_client_id = rpc_client_id
        self.rpc_call_id = rpc_call_id


@dataclass(frozen=True, slots=True, init=False)
class RenameOp(RetryableEdit):
    """`rename2`: with options, and errors instead of False."""

    opcode: ClassVar[Opcode] = Opcode.OP_RENAME
    src: str
    dst: str
    timestamp_ms: int
    options: tuple[RenameFlag, ...]

    def __init__(
        self,
        src: str,
        dst: str,
        timestamp_ms: int,
        options: tuple[RenameFlag, ...] = (),
        *,
        rpc_client_id: bytes = NO_CLIENT_ID,
        rpc_call_id: int = NO_CALL_ID,
    ) -> None:
        self.src = src
        self.dst = dst
        self.timestamp_ms = timestamp_ms
        self.options = options
        self.rpc_client_id = rpc_client_id
        self.rpc_call_id = rpc_call_id


@dataclass(frozen=True, slots=True, init=False)
class DeleteOp(RetryableEdit):
    """`path` and all under it are gone."""

    opcode: ClassVar[Opcode] = Opcode.OP_DELETE
    path: str
    timestamp_ms: int

    def __init__(
        self,
        path: str,
        timestamp_ms: int,
        *,
        rpc_client_id: bytes = NO_CLIENT_ID,
        rpc_call_id: int = NO_CALL_ID,
    ) -> None:
        self.path = path
        self.timestamp_ms = timestamp_ms
        self.rpc_client_id = rpc_client_id
        self.rpc_call_id = rpc_call_id


@dataclass(frozen=True, slots=True, init=False)
class TimesOp(Edit):
    """A time of -1 stays as it is."""

    opcode: ClassVar[Opcode] = Opcode.OP_TIMES
    path: str
    mtime_ms: int
    atime_ms: int

    def __init__(
        self,
        path: str,
        mtime_ms: int,
        atime_ms: int,
    ) -> None:
        self.path = path
        self.mtime_ms = mtime_ms
        self.atime_ms = atime_ms


@dataclass(frozen=True, slots=True, init=False)
class SetGenstampV2Op(Edit):
    """The last generation stamp that was given out."""

    opcode: ClassVar[Opcode] = Opcode.OP_SET_GENSTAMP_V2
    generation_stamp: int

    def __init__(
        self,
        generation_stamp: int,
    ) -> None:
        self.generation_stamp = generation_stamp


@dataclass(frozen=True, slots=True, init=False)
class AllocateBlockIdOp(Edit):
    """The last block id that was given out."""

    opcode: ClassVar[Opcode] = Opcode.OP_ALLOCATE_BLOCK_ID
    block_id: int

    def __init__(
        self,
        block_id: int,
    ) -> None:
        self.block_id = block_id
