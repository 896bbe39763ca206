"""What edits hold (pure)."""

from __future__ import annotations

from howdah.formats.edits.opcodes import AclKind, AclScope, XAttrNamespace
from howdah.formats.edits.value_classes import dataclass


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
