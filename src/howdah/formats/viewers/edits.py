"""Any edit log file, read for a person: from its bytes or from XML (pure).

A start is strict about its log (`segment_scan`). Somebody who looks into a file has
it without its neighbours, maybe with gaps in it, maybe damaged; so transaction ids
are not held against anything here, and damage can be passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol
from xml.parsers import expat

from howdah import errors
from howdah.formats.edits.codec import (
    LAYOUT_VERSION,
    OLDEST_READABLE_LAYOUT_VERSION,
    PREFIX_BYTES,
    check_record,
    decode_checked_record,
    record_length,
)
from howdah.formats.edits.edits import LoggedEdit
from howdah.formats.edits.segment_scan import FILL, HEADER_BYTES, find_record
from howdah.formats.malformed import MalformedRecord
from howdah.formats.viewers.edit_xml import Element, read_record, unmangle

_HEADER: Final = struct.Struct(">ii")
_READ_BYTES: Final = 1 << 16
_BLANKS: Final = "".join(map(chr, range(33)))


class Source(Protocol):
    """What is needed of a file."""

    def read(self, count: int = -1, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


@dataclass(slots=True)
class Log:
    """A file's layout version, and its edits, which are read as they are asked for."""

    layout_version: int
    edits: Iterator[LoggedEdit]


def read_binary(
    source: Source, name: str, *, on_damage: Callable[[str], None] | None = None
) -> Log:
    """An edit log as namenodes write it.

    Damage is told to `on_damage` and passed over up to the next whole record; without
    it the iteration raises CorruptEditLog. Raises IncorrectVersion.
    """
    header = source.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        raise errors.CorruptEditLog(f"{name} has no header: it is {len(header)} bytes long")
    version, _ = _HEADER.unpack(header)
    if not LAYOUT_VERSION <= version <= OLDEST_READABLE_LAYOUT_VERSION:
        raise errors.IncorrectVersion(
            f"{name} has layout version {version}; "
            f"this software reads {OLDEST_READABLE_LAYOUT_VERSION} to {LAYOUT_VERSION}"
        )
    return Log(version, _records(source, name, version, on_damage))


def _records(
    source: Source, name: str, version: int, on_damage: Callable[[str], None] | None
) -> Iterator[LoggedEdit]:
    offset = HEADER_BYTES
    while True:
        prefix = source.read(PREFIX_BYTES)
        if not prefix or prefix[:1] == FILL:
            return
        try:
            record = _record(source, prefix)
            check_record(record)
            edit = decode_checked_record(record, version)
        except (MalformedRecord, errors.UnsupportedOperation) as error:
            why = f"{name} is damaged at offset {offset}: {error}"
            if on_damage is None:
                raise errors.CorruptEditLog(why) from error
            on_damage(why)
            source.seek(offset + 1)
            survivor = find_record(source.read(), None)
            if survivor is None:
                return
            offset += 1 + survivor[0]
            source.seek(offset)
            continue
        offset += len(record)
        yield edit


def _record(source: Source, prefix: bytes) -> bytes:
    if len(prefix) < PREFIX_BYTES:
        raise MalformedRecord(f"a record breaks off after {len(prefix)} bytes")
    length = record_length(prefix)
    record = prefix + source.read(length - PREFIX_BYTES)
    if len(record) < length:
        raise MalformedRecord(f"a record of {length} bytes breaks off after {len(record)}")
    return record


def read_xml(source: Source, name: str) -> Log:
    """An edit log as XML. Raises IllegalArgument, naming the line, for what is none."""
    reader = _XmlReader(source, name)
    return Log(reader.version(), reader.edits())


class _XmlReader:
    """Keeps no more than one record."""

    def __init__(self, source: Source, name: str) -> None:
        self._source = source
        self._name = name
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._open: list[Element] = []
        self._version: int | None = None
        self._found: list[LoggedEdit] = []
        self._at_end = False

    def version(self) -> int:
        while self._version is None:
            if self._at_end:
                raise errors.IllegalArgument(f"{self._name} has no EDITS_VERSION")
            self._feed()
        return self._version

    def edits(self) -> Iterator[LoggedEdit]:
        while self._found or not self._at_end:
            batch, self._found = self._found, []
            yield from batch
            if not self._at_end:
                self._feed()

    def _feed(self) -> None:
        data = self._source.read(_READ_BYTES)
        self._at_end = not data
        try:
            self._parser.Parse(data, self._at_end)
        except expat.ExpatError as error:
            raise errors.IllegalArgument(f"{self._name} is not XML: {error}") from error
        except (errors.IllegalArgument, errors.UnsupportedOperation) as error:
            line = self._parser.CurrentLineNumber
            raise type(error)(f"{self._name}, line {line}: {error}") from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        expected = {0: ("EDITS",), 1: ("EDITS_VERSION", "RECORD"), 2: ("OPCODE", "DATA")}
        depth = len(self._open)
        if depth in expected and name not in expected[depth]:
            raise errors.IllegalArgument(f"{name} is not expected here")
        self._open.append(Element(name))

    def _characters(self, text: str) -> None:
        self._open[-1].text += text

    def _end(self, name: str) -> None:
        element = self._open.pop()
        element.text = unmangle(element.text).strip(_BLANKS)
        depth = len(self._open)
        if depth == 1 and name == "EDITS_VERSION":
            try:
                self._version = int(element.text)
            except ValueError as error:
                raise errors.IllegalArgument(f"{element.text!r} is no version") from error
        elif depth == 1 and name == "RECORD":
            data, *more = element.all("DATA") or [Element("DATA")]
            if more:
                raise errors.IllegalArgument("a RECORD has DATA once")
            self._found.append(read_record(element.want("OPCODE"), data))
        elif depth > 1:
            parent = self._open[-1]
            parent.children = [*(parent.children or ()), element]
