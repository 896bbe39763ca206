"""Requests whose numbers are at their extremes, one number at a time (pure).

A number from outside may be anything that its field can carry: negative where Java
writes a long into an unsigned field, one beyond what fits into a file offset, the highest
there is. `extremes` takes a request that is well-formed and yields a copy of it for each
number in it and each extreme of that number's type. Every server's tests send them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)

EXTREMES: Final[dict[int, tuple[int, ...]]] = {
    **dict.fromkeys(
        (
            FieldDescriptor.TYPE_INT32,
            FieldDescriptor.TYPE_SINT32,
            FieldDescriptor.TYPE_SFIXED32,
        ),
        (-(1 << 31), -1, 0, (1 << 31) - 1),
    ),
    **dict.fromkeys(
        (
            FieldDescriptor.TYPE_INT64,
            FieldDescriptor.TYPE_SINT64,
            FieldDescriptor.TYPE_SFIXED64,
        ),
        (-(1 << 63), -1, 0, (1 << 63) - 1),
    ),
    **dict.fromkeys(
        (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32),
        (0, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1),
    ),
    **dict.fromkeys(
        (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64),
        (0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
    ),
}
"""What each type of number is tried with."""


def extremes(message: M) -> Iterator[tuple[str, M]]:
    """(what was changed, a copy of `message` with that one number changed).

    Numbers of the message itself are tried whether they are set or not, those of messages
    within it where these are set. `message` must have all that is required.
    """
    for path, value in _changes(message):
        changed = type(message)()
        changed.CopyFrom(message)
        part: Message = changed
        for name, index in path[:-1]:
            part = getattr(part, name) if index is None else getattr(part, name)[index]
        name, index = path[-1]
        if index is None:
            setattr(part, name, value)
        else:
            numbers = getattr(part, name)
            del numbers[:]
            numbers.append(value)
        yield f"{'.'.join(name for name, _ in path)}={value}", changed


_Step = tuple[str, int | None]
"""A field, and which one of a repeated field."""


def _changes(message: Message) -> Iterator[tuple[list[_Step], int]]:
    for field in message.DESCRIPTOR.fields:
        repeated = bool(field.is_repeated)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if repeated:
                for index, element in enumerate(getattr(message, field.name)):
                    for path, value in _changes(element):
                        yield [(field.name, index), *path], value
            elif message.HasField(field.name):
                for path, value in _changes(getattr(message, field.name)):
                    yield [(field.name, None), *path], value
        else:
            for value in EXTREMES.get(field.type, ()):
                yield [(field.name, 0 if repeated else None)], value
