"""The edits of centralised caching.

Hadoop's `FSEditLogOp.AddCacheDirectiveInfoOp` and its kin, with the shared forms of
`FSImageSerialization.writeCacheDirectiveInfo` and `writeCachePoolInfo`. A field that is None
is not in the record: of a change it stays as it is.
"""

from __future__ import annotations

from typing import ClassVar

from howdah.formats.edits.base import RetryableEdit
from howdah.formats.edits.opcodes import Opcode
from howdah.formats.edits.value_classes import dataclass


@dataclass(frozen=True, slots=True)
class AddCacheDirectiveOp(RetryableEdit):
    """`expiry_ms` is by the wall clock, in Unix milliseconds."""

    opcode: ClassVar[Opcode] = Opcode.OP_ADD_CACHE_DIRECTIVE
    directive_id: int
    path: str | None
    replication: int | None
    pool: str | None
    expiry_ms: int | None


@dataclass(frozen=True, slots=True)
class ModifyCacheDirectiveOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_MODIFY_CACHE_DIRECTIVE
    directive_id: int
    path: str | None
    replication: int | None
    pool: str | None
    expiry_ms: int | None


@dataclass(frozen=True, slots=True)
class RemoveCacheDirectiveOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_REMOVE_CACHE_DIRECTIVE
    directive_id: int


@dataclass(frozen=True, slots=True)
class AddCachePoolOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_ADD_CACHE_POOL
    name: str
    owner: str | None
    group: str | None
    mode: int | None
    limit_bytes: int | None
    max_relative_expiry_ms: int | None
    default_replication: int | None


@dataclass(frozen=True, slots=True)
class ModifyCachePoolOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_MODIFY_CACHE_POOL
    name: str
    owner: str | None
    group: str | None
    mode: int | None
    limit_bytes: int | None
    max_relative_expiry_ms: int | None
    default_replication: int | None


@dataclass(frozen=True, slots=True)
class RemoveCachePoolOp(RetryableEdit):
    """The pool goes with all its directives."""

    opcode: ClassVar[Opcode] = Opcode.OP_REMOVE_CACHE_POOL
    name: str
