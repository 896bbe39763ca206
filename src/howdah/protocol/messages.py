"""Parse protobuf messages from bytes that others wrote (pure).

The parser of protobuf accepts invalid messages: those that lack required fields, and proto2 strings
that are not UTF-8, which it returns as bytes. Code that reads a file, a znode or a request calls
`parse` instead, so that later code sees valid strings only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

M = TypeVar("M", bound=Message)


def parse(kind: type[M], data: bytes) -> M:
    """Parse a message. Raises DecodeError for invalid bytes, a missing required field and a string
    that is not UTF-8."""
    message = kind.FromString(data)
    if not message.IsInitialized():
        raise DecodeError(f"{kind.DESCRIPTOR.full_name} lacks required fields")
    # ASCII bytes cannot hold a string that is not UTF-8.
    if not data.isascii():
        field = texts_of(kind).undecodable(message)
        if field is not None:
            raise DecodeError(f"the text {field} is not UTF-8")
    return message


class Texts:
    """The string fields of one message type and of its submessages.

    Walking all fields of a message takes a tenth of the time of a namenode's call. The fields of
    the type say which of them can hold strings.
    """

    __slots__ = ("_lists", "_messages", "_strings", "exist")

    def __init__(self, kind: type[Message], above: Mapping[str, Texts] | None = None) -> None:
        """`above` has the types that are being scanned: a field may have the type of a message that
        contains it."""
        self._strings: list[tuple[str, str]] = []
        self._lists: list[tuple[str, str]] = []
        self._messages: list[tuple[str, bool, Texts]] = []
        self.exist = False
        """Whether a message of the type can hold a string at all."""
        above = {**(above or {}), kind.DESCRIPTOR.full_name: self}
        empty = kind()
        for field in kind.DESCRIPTOR.fields:
            value = getattr(empty, field.name)
            if field.type == FieldDescriptor.TYPE_STRING:
                places = self._strings if isinstance(value, str) else self._lists
                places.append((field.name, field.full_name))
            elif field.message_type is not None:
                inner, many = field.message_type, not isinstance(value, Message)
                part = value.add() if many else value
                within = above.get(inner.full_name) or Texts(type(part), above)
                # A type that is still being scanned may turn out to have strings.
                if within.exist or inner.full_name in above:
                    self._messages.append((field.name, many, within))
        self.exist = bool(self._strings or self._lists or self._messages)

    def undecodable(self, message: Message) -> str | None:
        """Return the name of the first string in `message` that is not UTF-8, or None."""
        for name, full_name in self._strings:
            if getattr(message, name).__class__ is bytes:
                return full_name
        for name, full_name in self._lists:
            for text in getattr(message, name):
                if text.__class__ is bytes:
                    return full_name
        for name, many, texts in self._messages:
            if many:
                parts = getattr(message, name)
            else:
                parts = (getattr(message, name),) if message.HasField(name) else ()
            for part in parts:
                field = texts.undecodable(part)
                if field is not None:
                    return field
        return None


_TEXTS: Final[dict[str, Texts]] = {}


def texts_of(kind: type[Message]) -> Texts:
    """Return the string fields of a message type; scan the type once."""
    name = kind.DESCRIPTOR.full_name
    texts = _TEXTS.get(name)
    if texts is None:
        texts = _TEXTS.setdefault(name, Texts(kind))
    return texts
