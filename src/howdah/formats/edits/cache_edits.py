"""The edits of centralised caching.

Hadoop's `FSEditLogOp.AddCacheDirectiveInfoOp` and its kin, with the shared forms of
`FSImageSerialization.writeCacheDirectiveInfo` and `writeCachePoolInfo`. A field that is None
is not in the record: of a change it stays as it is.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from howdah.formats.edits.base import RetryableEdit, form
from howdah.formats.edits.field_codecs import I16, I64, STRING
from howdah.formats.edits.opcodes import Opcode
from howdah.formats.edits.value_classes import dataclass


@dataclass(frozen=True, slots=True)
class CacheDirectiveEdit(RetryableEdit):
    """`expiry_ms` is by the wall clock, in Unix milliseconds."""

    directive_id: int = field(metadata=form(I64, "ID"))
    path: str | None = field(metadata=form(STRING, "PATH", is_optional=True))
    replication: int | None = field(metadata=form(I16, "REPLICATION", is_optional=True))
    pool: str | None = field(metadata=form(STRING, "POOL", is_optional=True))
    expiry_ms: int | None = field(metadata=form(I64, "EXPIRATION", is_optional=True))


@dataclass(frozen=True, slots=True)
class AddCacheDirectiveOp(CacheDirectiveEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_ADD_CACHE_DIRECTIVE


@dataclass(frozen=True, slots=True)
class ModifyCacheDirectiveOp(CacheDirectiveEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_MODIFY_CACHE_DIRECTIVE


@dataclass(frozen=True, slots=True)
class RemoveCacheDirectiveOp(RetryableEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_REMOVE_CACHE_DIRECTIVE
    directive_id: int = field(metadata=form(I64, "ID"))


@dataclass(frozen=True, slots=True)
class CachePoolEdit(RetryableEdit):
    name: str = field(metadata=form(STRING, "POOLNAME"))
    owner: str | None = field(metadata=form(STRING, "OWNERNAME", is_optional=True))
    group: str | None = field(metadata=form(STRING, "GROUPNAME", is_optional=True))
    mode: int | None = field(metadata=form(I16, "MODE", is_optional=True))
    limit_bytes: int | None = field(metadata=form(I64, "LIMIT", is_optional=True))
    max_relative_expiry_ms: int | None = field(
        metadata=form(I64, "MAXRELATIVEEXPIRY", is_optional=True)
    )
    default_replication: int | None = field(
        metadata=form(I16, "DEFAULTREPLICATION", is_optional=True)
    )


@dataclass(frozen=True, slots=True)
class AddCachePoolOp(CachePoolEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_ADD_CACHE_POOL


@dataclass(frozen=True, slots=True)
class ModifyCachePoolOp(CachePoolEdit):
    opcode: ClassVar[Opcode] = Opcode.OP_MODIFY_CACHE_POOL


@dataclass(frozen=True, slots=True)
class RemoveCachePoolOp(RetryableEdit):
    """The pool goes with all its directives."""

    opcode: ClassVar[Opcode] = Opcode.OP_REMOVE_CACHE_POOL
    name: str = field(metadata=form(STRING, "POOLNAME"))
