"""Protobuf messages of bytes that others wrote (pure).

The parser takes more than a message may be: one that lacks required fields, and any bytes for
a text of a proto2 message, which come out as bytes. Whoever reads a file, a znode or a request
uses `parse`, so that what is behind it meets texts alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

M = TypeVar("M", bound=Message)


def parse(kind: type[M], data: bytes) -> M:
    """The message. Raises DecodeError for bytes that are none: also if a required field is not
    there, or a text is not UTF-8."""
    message = kind.FromString(data)
    if not message.IsInitialized():
        raise DecodeError(f"{kind.DESCRIPTOR.full_name} lacks required fields")
    # Bytes of ASCII cannot hold a text that is not UTF-8.
    if not data.isascii():
        field = texts_of(kind).undecodable(message)
        if field is not None:
            raise DecodeError(f"the text {field} is not UTF-8")
    return message


class Texts:
    """Where the messages of one type have texts, in themselves and in their parts.

    The parser takes any bytes for a string of a proto2 message and hands those that are no
    UTF-8 out as bytes, which nobody behind it expects. To go through all fields that a message
    has costs a call of the namenode a tenth of its time; its type says where to look.
    """

    __slots__ = ("_lists", "_messages", "_strings", "exist")

    def __init__(self, kind: type[Message], above: Mapping[str, Texts] | None = None) -> None:
        """`above` are types that are being looked at: a part may be of its whole's type."""
        self._strings: list[tuple[str, str]] = []
        self._lists: list[tuple[str, str]] = []
        self._messages: list[tuple[str, bool, Texts]] = []
        self.exist = False
        """Whether there is any place for a text."""
        above = {**(above or {}), kind.DESCRIPTOR.full_name: self}
        empty = kind()
        for field in kind.DESCRIPTOR.fields:
            found = getattr(empty, field.name)
            if field.type == FieldDescriptor.TYPE_STRING:
                places = self._strings if isinstance(found, str) else self._lists
                places.append((field.name, field.full_name))
            elif field.message_type is not None:
                inner, many = field.message_type, not isinstance(found, Message)
                part = found.add() if many else found
                within = above.get(inner.full_name) or Texts(type(part), above)
                # Of a type that is not finished yet nobody knows.
                if within.exist or inner.full_name in above:
                    self._messages.append((field.name, many, within))
        self.exist = bool(self._strings or self._lists or self._messages)

    def undecodable(self, message: Message) -> str | None:
        """The name of the first text in `message` that is no UTF-8, if there is one."""
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
                found = texts.undecodable(part)
                if found is not None:
                    return found
        return None


_TEXTS: Final[dict[str, Texts]] = {}


def texts_of(kind: type[Message]) -> Texts:
    """Of a type of messages."""
    name = kind.DESCRIPTOR.full_name
    found = _TEXTS.get(name)
    if found is None:
        found = _TEXTS.setdefault(name, Texts(kind))
    return found
