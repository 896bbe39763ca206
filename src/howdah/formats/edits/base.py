# mypy: disable-error-code="misc"
"""What edits have in common, and what they hold (pure).

Values that every call makes have an `__init__` of their own: mypyc compiles that, and not the one
that `dataclass` makes. The type checker would refuse it what it refuses everybody, to set a field
of a frozen class; so it is told not to look here.
"""

from __future__ import annotations

from typing import ClassVar

from howdah.formats.edits.opcodes import AclKind, AclScope, Opcode, XAttrNamespace
from howdah.formats.edits.value_classes import dataclass
from howdah.protocol.call_ids import NO_CALL_ID as NO_CALL_ID
from howdah.protocol.call_ids import NO_CLIENT_ID as NO_CLIENT_ID
from howdah.protocol.call_ids import is_identity


@dataclass(frozen=True, slots=True, init=False)
class EditBlock:
    """One block of a file as the log knows it: no locations, ever (FS-024)."""

    block_id: int
    length_bytes: int
    generation_stamp: int

    def __init__(
        self,
        block_id: int,
        length_bytes: int,
        generation_stamp: int,
    ) -> None:
        self.block_id = block_id
        self.length_bytes = length_bytes
        self.generation_stamp = generation_stamp


@dataclass(frozen=True, slots=True, init=False)
class Permission:
    """Owner, group and the mode (rwx for three, sticky bit 0o1000) of a new inode."""

    owner: str
    group: str
    mode: int

    def __init__(
        self,
        owner: str,
        group: str,
        mode: int,
    ) -> None:
        self.owner = owner
        self.group = group
        self.mode = mode


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

    @property
    def has_call(self) -> bool:
        """Whether a retry cache can know the call."""
        return is_identity(self.rpc_client_id, self.rpc_call_id)


@dataclass(frozen=True, slots=True)
class LoggedEdit:
    """An edit with its place in the log."""

    txid: int
    edit: Edit
