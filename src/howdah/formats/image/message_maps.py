"""Rare messages of an image and their records, mapped field by field.

A record's fields name the protobuf fields that hold them (`records`). What a
message does not have is None, or an empty tuple of a repeated field. Integers get
their sign back: Hadoop stores Java's signed numbers in unsigned fields.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from howdah import errors

R = TypeVar("R")

_BITS = {
    FieldDescriptor.TYPE_UINT32: 32,
    FieldDescriptor.TYPE_UINT64: 64,
}


_Pair = tuple[str, str, Any, bool, bool]
"""Attribute, protobuf field, the record class of a nested message, whether the field
is repeated, and whether it must be there."""

_known: dict[type, list[_Pair]] = {}


def signed(number: int, bits: int) -> int:
    """A Java number from the unsigned field that holds it."""
    return number - (1 << bits) if number >> (bits - 1) else number


def to_message(record: Any, message: Message) -> bytes:
    """Fill an empty message from a record; its bytes."""
    _fill(record, message)
    return message.SerializeToString()


def _fill(record: Any, message: Message) -> None:
    for attribute, field, _, _, _ in _pairs(type(record)):
        value = getattr(record, attribute)
        if value is None:
            continue
        described = message.DESCRIPTOR.fields_by_name[field]
        if isinstance(value, tuple):
            for part in value:
                _fill(part, getattr(message, field).add())
        elif dataclasses.is_dataclass(value):
            getattr(message, field).SetInParent()
            _fill(value, getattr(message, field))
        else:
            bits = _BITS.get(described.type)
            setattr(message, field, value & (1 << bits) - 1 if bits else value)


def from_message(kind: type[R], message: Message) -> R:
    """A record of that kind.

    Raises CorruptImage for a text that is no UTF-8, and if something is missing.
    """
    values: dict[str, Any] = {}
    for attribute, field, nested, repeated, is_required in _pairs(kind):
        described = message.DESCRIPTOR.fields_by_name[field]
        value = getattr(message, field)
        if repeated:
            values[attribute] = tuple([from_message(nested, part) for part in value])
        elif not message.HasField(field):
            if is_required:
                raise errors.CorruptImage(f"{described.full_name} is missing")
            values[attribute] = None
        elif nested is not None:
            values[attribute] = from_message(nested, value)
        else:
            if described.type == FieldDescriptor.TYPE_STRING and not isinstance(value, str):
                raise errors.CorruptImage(f"{described.full_name} is not UTF-8")
            bits = _BITS.get(described.type)
            values[attribute] = signed(value, bits) if bits else value
    return kind(**values)


def _pairs(kind: type) -> list[_Pair]:
    known = _known.get(kind)
    if known is None:
        known = _known[kind] = _read_pairs(kind)
    return known


def _read_pairs(kind: type) -> list[_Pair]:
    hints = typing.get_type_hints(kind)
    return [
        (
            field.name,
            field.metadata["field"],
            _nested(hints[field.name]),
            typing.get_origin(hints[field.name]) is tuple,
            field.default is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    ]


def _nested(hint: Any) -> Any:
    if typing.get_origin(hint) in (tuple, typing.Union, types.UnionType):
        hint = typing.get_args(hint)[0]
    return hint if dataclasses.is_dataclass(hint) else None
