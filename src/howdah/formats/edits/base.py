"""What edits have in common, and how the fields of a class tell what its record is (pure).

`form` is the metadata of a field: its bytes, and its element in XML. `parts_of` reads from them
which parts a record has. The kernel and the viewer take what they need from there, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import ClassVar

from howdah.formats.edits.field_codecs import RPC_IDS, Codec, flagged
from howdah.formats.edits.opcodes import Opcode
from howdah.formats.edits.value_classes import dataclass
from howdah.protocol.call_ids import NO_CALL_ID as NO_CALL_ID
from howdah.protocol.call_ids import NO_CLIENT_ID as NO_CLIENT_ID
from howdah.protocol.call_ids import is_identity


@dataclass(frozen=True, slots=True)
class Form:
    """How records and XML hold a field.

    Logs with a layout version greater than `since` (they count downward) lack the field, which
    is 0 then.
    """

    codec: Codec
    element: str | None
    """Its name in XML; None where Hadoop's XML leaves the field out."""
    since: int
    behind: tuple[tuple[str, str], ...]
    """Elements in front of it that no field has: names and texts."""
    is_optional: bool
    """None is not in the record. Such fields stand together, behind a number of flags."""


def form(
    codec: Codec,
    element: str | None,
    *,
    since: int = 0,
    behind: tuple[tuple[str, str], ...] = (),
    is_optional: bool = False,
) -> Mapping[str, Form]:
    """The metadata of an edit's field."""
    return {"form": Form(codec, element, since, behind, is_optional)}


@dataclass(frozen=True, slots=True)
class Edit:
    """Base of all edits. `opcode` is the record's first byte.

    A record has the fields in the order of the class, and those of the call behind an edit at its
    end. Fields that stand elsewhere are named in `record_tail`: they come behind the others, in
    that order. `xml_tail` is the same of XML, where its order is another one.
    """

    opcode: ClassVar[Opcode] = Opcode.OP_INVALID
    record_tail: ClassVar[tuple[str, ...]] = ()
    xml_tail: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryableEdit(Edit):
    """An edit that remembers which call of which client caused it.

    `rpc_client_id` is the client's 16 bytes, or empty if no call stands behind
    the edit; `rpc_call_id` is then `NO_CALL_ID`.
    """

    rpc_client_id: bytes = field(default=NO_CLIENT_ID, metadata=form(RPC_IDS, "RPC_CLIENTID"))
    rpc_call_id: int = field(default=NO_CALL_ID, metadata=form(RPC_IDS, "RPC_CALLID"))

    @property
    def has_call(self) -> bool:
        """Whether a retry cache can know the call."""
        return is_identity(self.rpc_client_id, self.rpc_call_id)


@dataclass(frozen=True, slots=True)
class LoggedEdit:
    """An edit with its place in the log."""

    txid: int
    edit: Edit


def forms_of(kind: type[Edit], tail: tuple[str, ...]) -> list[tuple[str, Form]]:
    """Names and forms of the fields: in the order of the class, then those of the `tail`, and at
    last those of the call."""
    places = {name: place for place, name in enumerate(tail, 1)}
    ordered = sorted(fields(kind), key=lambda one: (one.kw_only, places.get(one.name, 0)))
    return [(one.name, one.metadata["form"]) for one in ordered]


@dataclass(frozen=True, slots=True)
class Part:
    """A run of bytes in a record's body, and the fields that it holds."""

    fields: tuple[str, ...]
    codec: Codec
    since: int


def parts_of(kind: type[Edit]) -> tuple[Part, ...]:
    """The body of an edit's record."""
    parts = []
    left = forms_of(kind, kind.record_tail)
    while left:
        first = left[0][1]
        codec = first.codec
        if first.is_optional:
            codec = flagged([form.codec for _, form in left if form.is_optional])
        names = tuple([name for name, _ in left[: codec.width]])
        parts.append(Part(names, codec, first.since))
        left = left[codec.width :]
    return tuple(parts)
