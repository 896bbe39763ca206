"""Reads Java class files: which methods a class has, and which ones they call (pure).

No more than that of the format (JVM specification, chapter 4): names, the classes above,
annotations by their types, and the members that the instructions of a method name. The body
of a lambda is a method of its own, called `lambda$METHOD$NUMBER`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

ABSTRACT: Final = 0x400

Member = tuple[str, str, str]
"""A class, and the name and descriptor of its method; the name of a field begins with a dot."""

_UTF8, _CLASS, _LONG, _DOUBLE, _HANDLE = 1, 7, 5, 6, 15
_ONE_INDEX: Final = (7, 8, 16, 19, 20)
_TABLESWITCH, _LOOKUPSWITCH, _WIDE, _IINC = 0xAA, 0xAB, 0xC4, 0x84
_FIELDS: Final = range(0xB2, 0xB6)
_CALLS: Final = range(0xB6, 0xBA)


def _lengths() -> list[int]:
    """Of each instruction, in bytes; those that vary are not looked up."""
    lengths = [1] * 256
    for first, last, length in (
        *((0x10, 0x10, 2), (0x11, 0x11, 3), (0x12, 0x12, 2), (0x13, 0x14, 3), (0x15, 0x19, 2)),
        *((0x36, 0x3A, 2), (0x84, 0x84, 3), (0x99, 0xA8, 3), (0xA9, 0xA9, 2), (0xB2, 0xB8, 3)),
        *((0xB9, 0xBA, 5), (0xBB, 0xBB, 3), (0xBC, 0xBC, 2), (0xBD, 0xBD, 3), (0xC0, 0xC1, 3)),
        *((0xC5, 0xC5, 4), (0xC6, 0xC7, 3), (0xC8, 0xC9, 5)),
    ):
        lengths[first : last + 1] = [length] * (last + 1 - first)
    return lengths


_LENGTH: Final = _lengths()


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a class."""

    name: str
    descriptor: str
    annotations: frozenset[str]
    members: frozenset[Member]
    """What its instructions call, read and write."""


@dataclass(frozen=True, slots=True)
class ClassFile:
    """One class, its names as the format has them: `org/apache/hadoop/fs/Path`."""

    name: str
    above: str | None
    is_abstract: bool
    methods: tuple[Method, ...]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.constants: list[Any] = []
        self.at = 10
        count = self.u2(8)
        self.constants = [None] * count
        number = 1
        while number < count:
            kind = data[self.at]
            if kind == _UTF8:
                length = self.u2(self.at + 1)
                text = data[self.at + 3 : self.at + 3 + length]
                self.constants[number] = text.decode("utf-8", "replace")
                self.at += 3 + length
            elif kind in _ONE_INDEX:
                self.constants[number] = (kind, self.u2(self.at + 1))
                self.at += 3
            elif kind == _HANDLE:
                self.at += 4
            elif kind in (_LONG, _DOUBLE):
                self.at += 9
                number += 1
            else:
                self.constants[number] = (kind, self.u2(self.at + 1), self.u2(self.at + 3))
                self.at += 5
            number += 1

    def u2(self, at: int) -> int:
        return int(struct.unpack_from(">H", self.data, at)[0])

    def u4(self, at: int) -> int:
        return int(struct.unpack_from(">I", self.data, at)[0])

    def class_name(self, index: int) -> str:
        return str(self.constants[self.constants[index][1]])

    def member(self, index: int, mark: str) -> Member:
        _, owner, pair = self.constants[index]
        _, name, descriptor = self.constants[pair]
        return self.class_name(owner), mark + self.constants[name], self.constants[descriptor]

    def attributes(self) -> dict[str, int]:
        """Where each begins."""
        count = self.u2(self.at)
        self.at += 2
        found = {}
        for _ in range(count):
            found[str(self.constants[self.u2(self.at)])] = self.at + 6
            self.at += 6 + self.u4(self.at + 2)
        return found

    def annotations(self, at: int) -> Iterator[str]:
        count = self.u2(at)
        at += 2
        for _ in range(count):
            yield str(self.constants[self.u2(at)])
            at = self._past_annotation(at)

    def _past_annotation(self, at: int) -> int:
        pairs = self.u2(at + 2)
        at += 4
        for _ in range(pairs):
            at = self._past_value(at + 2)
        return at

    def _past_value(self, at: int) -> int:
        tag = chr(self.data[at])
        if tag == "e":
            return at + 5
        if tag == "@":
            return self._past_annotation(at + 1)
        if tag != "[":
            return at + 3
        count = self.u2(at + 1)
        at += 3
        for _ in range(count):
            at = self._past_value(at)
        return at

    def members(self, code: int) -> Iterator[Member]:
        start = code + 8
        at, end = start, start + self.u4(code + 4)
        while at < end:
            operation = self.data[at]
            if operation in _CALLS:
                yield self.member(self.u2(at + 1), "")
            elif operation in _FIELDS:
                yield self.member(self.u2(at + 1), ".")
            at = self._next(start, at, operation)

    def _next(self, start: int, at: int, operation: int) -> int:
        if operation == _WIDE:
            return at + (6 if self.data[at + 1] == _IINC else 4)
        if operation not in (_TABLESWITCH, _LOOKUPSWITCH):
            return at + _LENGTH[operation]
        padded = start + (at - start + 4) // 4 * 4
        if operation == _LOOKUPSWITCH:
            return padded + 8 + 8 * self.u4(padded + 4)
        low, high = struct.unpack_from(">ii", self.data, padded + 4)
        return int(padded + 12 + 4 * (high - low + 1))


def read_class(data: bytes) -> ClassFile:
    """The class of a file that a Java compiler wrote."""
    reader = _Reader(data)
    at = reader.at
    access, this, above = reader.u2(at), reader.u2(at + 2), reader.u2(at + 4)
    reader.at = at + 8 + 2 * reader.u2(at + 6)
    for _ in range(_count(reader)):
        reader.at += 6
        reader.attributes()
    methods = []
    for _ in range(_count(reader)):
        name, descriptor = (str(reader.constants[reader.u2(reader.at + each)]) for each in (2, 4))
        reader.at += 6
        found = reader.attributes()
        told = found.get("RuntimeVisibleAnnotations")
        code = found.get("Code")
        methods.append(
            Method(
                name,
                descriptor,
                frozenset(() if told is None else reader.annotations(told)),
                frozenset(() if code is None else reader.members(code)),
            )
        )
    return ClassFile(
        reader.class_name(this),
        reader.class_name(above) if above else None,
        bool(access & ABSTRACT),
        tuple(methods),
    )


def _count(reader: _Reader) -> int:
    reader.at += 2
    return reader.u2(reader.at - 2)
