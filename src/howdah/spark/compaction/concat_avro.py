"""Avro's container files joined without decoding records.

A container is a header (magic, a map with schema and codec, a sync marker of 16 bytes), then
blocks: number of records, number of bytes, the bytes, the sync marker. Files of the same schema
and codec are joined by writing one header, and all their blocks with its marker instead of theirs.

The schemas must be the same JSON. Readers take the schema of one file for all, so columns could be
lost if they differed. So must be all else that headers say: by it readers tell how days and times
are counted (Spark's `legacyDateTime`, Hive's `writer.time.zone`), and the new file has one header.
Only Spark's version may differ, as long as it counts days by the same calendar.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.protocol.varint import encode_varint, zigzag
from howdah.spark.compaction.concat_lines import Joined, NotJoinable

MAGIC: Final = b"Obj\x01"
MARK_BYTES: Final = 16
_MOST_BYTES: Final = 1 << 31
_SCHEMA: Final = "avro.schema"
_CODEC: Final = "avro.codec"
_SPARKS_VERSION: Final = "org.apache.spark.version"
_NEW_CALENDAR: Final = b"3.0.0"
"""The first version of Spark that counts days before 1582 as ISO 8601 does. Spark compares
versions as text, too."""


class _Source(Protocol):
    def read(self, count: int, /) -> bytes: ...


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class CorruptAvro(errors.HowdahError, ValueError):
    """A file is not an Avro container, or is truncated."""


@dataclass(frozen=True, slots=True)
class Header:
    """The beginning of a container."""

    entries: dict[str, bytes]
    mark: bytes

    @property
    def kind(self) -> bytes:
        """What must be the same in all files: codec, schema, and what else is said."""
        schema = json.loads(self.entries[_SCHEMA])
        codec = self.entries.get(_CODEC, b"null").decode()
        said: dict[str, str | bool] = {
            key: value.hex()
            for key, value in sorted(self.entries.items())
            if key not in (_SCHEMA, _CODEC)
        }
        if _SPARKS_VERSION in self.entries:
            said[_SPARKS_VERSION] = self.entries[_SPARKS_VERSION] < _NEW_CALENDAR
        return json.dumps([codec, schema, said]).encode()


def join(fs: FileSystem, sources: Iterable[FileStatus], out: _Sink, name: str) -> Joined:
    """Write one container with the blocks of all sources. The sync marker is a hash of its name,
    so another attempt writes the same file."""
    made = Joined()
    mark = hashlib.sha256(name.encode()).digest()[:MARK_BYTES]
    for status in sources:
        made.files += 1
        if not status.length:
            continue
        with fs.open(status.path) as stream:
            reader = Reader(stream, status.path)
            header = reader.header()
            if made.header is None:
                made.header = header.kind
                out.write(encode_header(Header(header.entries, mark)))
            elif header.kind != made.header:
                raise NotJoinable(f"{status.path} differs in schema, codec or metadata")
            made.records += _blocks(reader, header.mark, out, mark)
    return made


def _blocks(reader: Reader, mark: bytes, out: _Sink, new_mark: bytes) -> int:
    records = 0
    while (count := reader.count_or_end()) is not None:
        data = reader.bytes()
        if reader.exactly(MARK_BYTES) != mark:
            raise CorruptAvro(f"{reader.name}: a block does not end with the file's mark")
        out.write(encode_long(count) + encode_long(len(data)) + data + new_mark)
        records += count
    return records


def count(source: _Source, name: str, length: int) -> int:
    """The number of records of a container; 0 for an empty file."""
    if not length:
        return 0
    reader = Reader(source, name)
    mark, records = reader.header().mark, 0
    while (more := reader.count_or_end()) is not None:
        records += more
        reader.bytes()
        if reader.exactly(MARK_BYTES) != mark:
            raise CorruptAvro(f"{name}: a block does not end with the file's mark")
    return records


class Reader:
    """Reads the parts of a container."""

    def __init__(self, source: _Source, name: str) -> None:
        self._source = source
        self.name = name

    def exactly(self, count: int) -> bytes:
        pieces = []
        while count:
            piece = self._source.read(count)
            if not piece:
                raise CorruptAvro(f"{self.name} ends too early")
            pieces.append(piece)
            count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def long_or_end(self) -> int | None:
        """The next number; None at the end of the file."""
        first = self._source.read(1)
        return self._long(first[0]) if first else None

    def count_or_end(self) -> int | None:
        """The number of records of the next block; None at the end of the file."""
        count = self.long_or_end()
        if count is not None and count < 0:
            raise CorruptAvro(f"{self.name}: a block of {count} records can't be")
        return count

    def long(self) -> int:
        return self._long(self.exactly(1)[0])

    def _long(self, byte: int) -> int:
        value, shift = byte & 0x7F, 7
        while byte & 0x80:
            if shift > 63:
                raise CorruptAvro(f"{self.name}: a number has more than 64 bits")
            byte = self.exactly(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
        return (value >> 1) ^ -(value & 1)

    def bytes(self) -> bytes:
        count = self.long()
        if not 0 <= count < _MOST_BYTES:
            raise CorruptAvro(f"{self.name}: {count} bytes can't be")
        return self.exactly(count) if count else b""

    def header(self) -> Header:
        if self.exactly(len(MAGIC)) != MAGIC:
            raise CorruptAvro(f"{self.name} is no Avro container")
        entries: dict[str, bytes] = {}
        while count := self.long():
            if count < 0:
                count = -count
                self.long()  # the size of the entries
            for _ in range(count):
                key = self.bytes().decode("utf-8", "surrogateescape")
                entries[key] = self.bytes()
        if _SCHEMA not in entries:
            raise CorruptAvro(f"{self.name} has no schema")
        try:
            json.loads(entries[_SCHEMA])
            entries.get(_CODEC, b"").decode()
        except ValueError as error:
            raise CorruptAvro(f"{self.name}: its schema or codec makes no sense") from error
        return Header(entries, self.exactly(MARK_BYTES))


def encode_long(value: int) -> bytes:
    """An Avro long: zigzag, seven bits a byte.

    >>> encode_long(-1), encode_long(64)
    (b'\\x01', b'\\x80\\x01')
    """
    return encode_varint(zigzag(value))


def encode_header(header: Header) -> bytes:
    """The encoded header of a file."""
    entries = b"".join(
        encode_long(len(key)) + key + encode_long(len(value)) + value
        for key, value in (
            (name.encode("utf-8", "surrogateescape"), said) for name, said in header.entries.items()
        )
    )
    return MAGIC + encode_long(len(header.entries)) + entries + encode_long(0) + header.mark
