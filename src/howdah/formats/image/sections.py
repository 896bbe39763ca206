"""The frame of a namespace image: magic, sections of messages, and the summary.

Mirrors Hadoop's `fsimage_TXID`:

    HDFSIMG1                  magic
    section …                 messages, each behind its length as a varint
    FileSummary               a message with its length: layout version, codec, and of
                              every section its name, offset and length
    length                    int32: bytes of the summary with its length

With a codec each section is a compressed stream of its own. The whole file has an
MD5 sum beside it, which whoever opens the file holds it against first; so what is
found wrong here is a defect of the writer, or somebody's intent.

A reader takes a section message by message, in memory bounded by the longest
message. A length that cannot be is refused before anything of it is allocated.

Pure: bytes go to anything with `write`, and come from anything with `seek` and `read`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol, TypeVar

from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.formats.edits.codec import LAYOUT_VERSION, OLDEST_READABLE_LAYOUT_VERSION
from howdah.native.loader import kernel
from howdah.proto import fsimage_pb2 as pb
from howdah.protocol.messages import parse
from howdah.protocol.varint import MAX_VARINT32_BYTES, decode_varint, encode_varint

MAGIC: Final = b"HDFSIMG1"
ON_DISK_VERSION: Final = 1
MAX_MESSAGE_BYTES: Final = 128 << 20
"""Of the longest message, the children of a directory of ten million, a bit more."""
MAX_SUMMARY_BYTES: Final = 1 << 20

_LENGTH: Final = struct.Struct(">i")
_CHUNK_BYTES: Final = 1 << 18
_CODEC_PACKAGE: Final = "org.apache.hadoop.io.compress."

# The window bits that tell zlib which of the two streams is meant.
CODECS: Final[dict[str, int]] = {
    _CODEC_PACKAGE + "DefaultCodec": 15,
    _CODEC_PACKAGE + "DeflateCodec": 15,
    _CODEC_PACKAGE + "GzipCodec": 31,
}
"""Codecs that can be read and written, by Hadoop's class names."""

KNOWN_SECTIONS: Final = frozenset(
    {
        "NS_INFO",
        "STRING_TABLE",
        "ERASURE_CODING",
        "INODE",
        "INODE_REFERENCE",
        "SNAPSHOT",
        "INODE_DIR",
        "FILES_UNDERCONSTRUCTION",
        "SNAPSHOT_DIFF",
        "SECRET_MANAGER",
        "CACHE_MANAGER",
    }
)
# Parts of sections once more, for readers with several threads.
_PARTS: Final = "_SUB"

M = TypeVar("M", bound=Message)


class Sink(Protocol):
    """What a writer needs of a file."""

    def write(self, data: bytes, /) -> object: ...


class Source(Protocol):
    """What a reader needs of a file."""

    def seek(self, offset: int, whence: int = 0, /) -> int: ...

    def read(self, count: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section is in its file."""

    name: str
    offset: int
    length_bytes: int


def check_codec(codec: str) -> None:
    """Raises UnsupportedOperation for a codec that is not among `CODECS`."""
    if codec and codec not in CODECS:
        raise errors.UnsupportedOperation(
            f"images compressed with {codec} are not supported; these are: {', '.join(CODECS)}"
        )


class SectionWriter:
    """Writes an image from front to back: messages, the ends of sections, the summary."""

    def __init__(
        self, sink: Sink, *, codec: str = "", layout_version: int = LAYOUT_VERSION
    ) -> None:
        """`codec` is a class name of Hadoop's; empty for none."""
        check_codec(codec)
        self._sink = sink
        self._codec = codec
        self._layout_version = layout_version
        self._summary = pb.FileSummary(
            ondiskVersion=ON_DISK_VERSION, layoutVersion=layout_version & 0xFFFFFFFF
        )
        if codec:
            self._summary.codec = codec
        self._pieces: list[bytes] = []
        self._piece_bytes = 0
        self._offset = len(MAGIC)
        self._section_offset = len(MAGIC)
        self._deflater = self._new_deflater()
        sink.write(MAGIC)

    def message(self, data: bytes) -> None:
        """One message of the section that is being written."""
        self._pieces.append(encode_varint(len(data)))
        self._pieces.append(data)
        self._piece_bytes += len(data) + 1
        if self._piece_bytes >= _CHUNK_BYTES:
            self._flush()

    def framed(self, data: bytes) -> None:
        """Many messages, each behind its length."""
        self._pieces.append(data)
        self._piece_bytes += len(data)
        if self._piece_bytes >= _CHUNK_BYTES:
            self._flush()

    def end_section(self, name: str) -> None:
        """What came since the last section is the section of that name."""
        self._flush()
        if self._deflater is not None:
            self._write(self._deflater.flush())
            self._deflater = self._new_deflater()
        self._summary.sections.add(
            name=name, length=self._offset - self._section_offset, offset=self._section_offset
        )
        self._section_offset = self._offset

    def finish(self) -> None:
        """The summary; the image is complete."""
        assert not self._pieces, "every message is in a section"
        if self._deflater is not None:
            # Hadoop has begun one more section by then; it is in no table.
            self._write(self._deflater.flush())
        data = self._summary.SerializeToString()
        framed = encode_varint(len(data)) + data
        self._sink.write(framed + _LENGTH.pack(len(framed)))

    def _flush(self) -> None:
        if not self._pieces:
            return
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._piece_bytes = 0
        self._write(data if self._deflater is None else self._deflater.compress(data))

    def _write(self, data: bytes) -> None:
        self._sink.write(data)
        self._offset += len(data)

    def _new_deflater(self) -> zlib._Compress | None:
        return zlib.compressobj(wbits=CODECS[self._codec]) if self._codec else None


def split_messages_here(data: bytes) -> tuple[list[bytes], int, int]:
    """Messages, each behind its length: those that are there, where they end, and how many bytes
    the next one needs; 0 if its length has more than 32 bits. The kernel's twin."""
    messages: list[bytes] = []
    at, end = 0, len(data)
    while at < end:
        length, start = data[at], at + 1
        if length > 0x7F:
            try:
                found = decode_varint(data, at, MAX_VARINT32_BYTES)
            except errors.ProtocolViolation:
                return messages, at, 0
            if found is None:
                return messages, at, end - at + 1
            length, start = found
        stop = start + length
        if stop > end:
            return messages, at, stop - at
        messages.append(data[start:stop])
        at = stop
    return messages, at, 1


split_messages: Final[Callable[[bytes], tuple[list[bytes], int, int]]] = getattr(
    kernel(), "split_messages", split_messages_here
)


class SectionReader:
    """Reads an image section by section, in any order. `name` is for errors."""

    def __init__(self, source: Source, name: str) -> None:
        """Raises CorruptImage, IncorrectVersion, UnsupportedOperation."""
        self._source = source
        self.name = name
        summary = self._read_summary()
        self.layout_version = _signed32(summary.layoutVersion)
        if not LAYOUT_VERSION <= self.layout_version <= OLDEST_READABLE_LAYOUT_VERSION:
            raise errors.IncorrectVersion(
                f"image {name} has layout version {self.layout_version}; "
                f"{OLDEST_READABLE_LAYOUT_VERSION} to {LAYOUT_VERSION} can be read"
            )
        self.codec = summary.codec
        if not isinstance(self.codec, str):
            raise self.fail("its codec's name is not UTF-8")
        try:
            check_codec(self.codec)
        except errors.UnsupportedOperation as error:
            raise errors.UnsupportedOperation(f"image {name}: {error.message}") from None
        self._sections = self._check_sections(summary)

    def fail(self, problem: str) -> errors.CorruptImage:
        """Return the error to raise for what was found."""
        return errors.CorruptImage(f"image {self.name} is damaged: {problem}")

    def __contains__(self, section: str) -> bool:
        return section in self._sections

    def messages(self, section: str) -> Iterator[bytes]:
        """The messages of a section, in order; none if the image does not have it."""
        return chain.from_iterable(self.batches(section))

    def batches(self, section: str) -> Iterator[list[bytes]]:
        """The same, many at a time."""
        place = self._sections.get(section)
        if place is None:
            return iter(())
        return self._split(place, self._chunks(place))

    def batches_between(self, section: str, begin: int, end: int) -> Iterator[list[bytes]]:
        """The messages of a part of a section, many at a time: from `begin` to `end` in its
        content, where messages begin. So several readers share one section.

        Of a compressed section what is before the part is decompressed as well.
        """
        place = self._sections.get(section)
        if place is None:
            return iter(())
        if self.codec:
            return self._split(place, _between(self._chunks(place), begin, end))
        if not 0 <= begin <= end <= place.length_bytes:
            raise self.fail(f"section {section} has no part from {begin} to {end}")
        part = Section(section, place.offset + begin, end - begin)
        return self._split(part, self._chunks(part))

    def parse(self, kind: type[M], data: bytes) -> M:
        """A message that must be of a kind."""
        try:
            return parse(kind, data)
        except DecodeError as error:
            raise self.fail(f"a message is no {kind.DESCRIPTOR.full_name}: {error}") from error

    # The summary.

    def _read_summary(self) -> pb.FileSummary:
        source = self._source
        end = source.seek(0, 2)
        if end < len(MAGIC) + _LENGTH.size:
            raise self.fail(f"it has {end} bytes")
        source.seek(0)
        if self._exactly(len(MAGIC)) != MAGIC:
            raise self.fail(f"it does not begin with {MAGIC.decode()}")
        self._sections_end = end - _LENGTH.size
        source.seek(self._sections_end)
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if not 0 < length <= min(MAX_SUMMARY_BYTES, self._sections_end - len(MAGIC)):
            raise self.fail(f"its summary should have {length} bytes")
        self._sections_end -= length
        source.seek(self._sections_end)
        framed = self._exactly(length)
        place = Section("summary", self._sections_end, length)
        messages = list(chain.from_iterable(self._split(place, lambda count: b"", framed)))
        if len(messages) != 1:
            raise self.fail("its summary is not one message")
        summary = self.parse(pb.FileSummary, messages[0])
        if summary.ondiskVersion != ON_DISK_VERSION:
            raise errors.IncorrectVersion(
                f"image {self.name} is of version {summary.ondiskVersion} of the file format"
            )
        return summary

    def _check_sections(self, summary: pb.FileSummary) -> dict[str, Section]:
        by_name: dict[str, Section] = {}
        for entry in summary.sections:
            section = Section(entry.name, entry.offset, entry.length)
            if not isinstance(section.name, str):
                raise self.fail(f"a section's name is {section.name!r}")
            if not (
                len(MAGIC) <= section.offset
                and section.length_bytes <= self._sections_end
                and section.offset + section.length_bytes <= self._sections_end
            ):
                raise self.fail(
                    f"section {section.name} of {section.length_bytes} bytes at "
                    f"{section.offset} is not within its {self._sections_end} bytes"
                )
            if section.name.endswith(_PARTS):
                continue
            if section.name not in KNOWN_SECTIONS:
                raise errors.UnsupportedOperation(
                    f"image {self.name} has a section {section.name}, which is not known here"
                )
            if section.name in by_name:
                raise self.fail(f"it has two sections {section.name}")
            by_name[section.name] = section
        return by_name

    def _exactly(self, count: int) -> bytes:
        data = self._source.read(count)
        if len(data) != count:
            raise self.fail(f"it ends {count - len(data)} bytes too early")
        return data

    # Sections.

    def _chunks(self, place: Section) -> Callable[[int], bytes]:
        """A function that gives about so many bytes of the section's content, none at its end.

        Each section is read where its place is, so that two can be read at once.
        """
        at = place.offset
        left = place.length_bytes

        def raw(count: int) -> bytes:
            nonlocal at, left
            count = min(count, left)
            if not count:
                return b""
            self._source.seek(at)
            data = self._exactly(count)
            at += count
            left -= count
            return data

        if not self.codec:
            return raw
        inflater = zlib.decompressobj(wbits=CODECS[self.codec])

        def inflated(count: int) -> bytes:
            while not inflater.eof:
                data = inflater.unconsumed_tail or raw(_CHUNK_BYTES)
                if not data:
                    raise self.fail(f"the compressed section {place.name} has no end")
                try:
                    out = inflater.decompress(data, count)
                except zlib.error as error:
                    raise self.fail(f"section {place.name}: {error}") from error
                if out:
                    return out
            if inflater.unused_data or left:
                raise self.fail(f"the compressed section {place.name} has bytes behind its end")
            return b""

        return inflated

    def _split(
        self, place: Section, more: Callable[[int], bytes], window: bytes = b""
    ) -> Iterator[list[bytes]]:
        """Cut content into messages, as many at a time as a chunk has. `window` holds what
        was read and not given out."""
        limit = MAX_MESSAGE_BYTES
        if not self._is_compressed(place):
            limit = min(limit, place.length_bytes)
        while True:
            messages, at, needed = split_messages(window)
            if at < len(window):
                length = self._length_at(place, window, at)
                if length is not None and length > limit:
                    raise self.fail(f"section {place.name} has a message of {length} bytes")
            if messages:
                yield messages
            window = self._refilled(place, more, window[at:], needed)
            if not window:
                return

    def _length_at(self, place: Section, window: bytes, at: int) -> int | None:
        """The length of the message that begins there; None if not all of it is there."""
        try:
            found = decode_varint(window, at, MAX_VARINT32_BYTES)
            return None if found is None else found[0]
        except errors.ProtocolViolation as error:
            raise self.fail(f"section {place.name} has a length of over 32 bits") from error

    def _refilled(
        self, place: Section, more: Callable[[int], bytes], rest: bytes, needed: int
    ) -> bytes:
        """At least `needed` bytes, of which the first are `rest`; none at the end."""
        pieces, have = [rest], len(rest)
        while have < needed:
            piece = more(max(needed - have, _CHUNK_BYTES))
            if not piece:
                if not have:
                    return b""
                raise self.fail(f"section {place.name} ends within a message")
            pieces.append(piece)
            have += len(piece)
        return b"".join(pieces)

    def _is_compressed(self, place: Section) -> bool:
        return place.name != "summary" and bool(self.codec)


def _signed32(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _between(more: Callable[[int], bytes], begin: int, end: int) -> Callable[[int], bytes]:
    """A function that gives the bytes from `begin` to `end` of what `more` gives."""
    at = 0

    def part(count: int) -> bytes:
        nonlocal at
        while at < end:
            data = more(count)
            if not data:
                break
            start = max(begin - at, 0)
            chosen = data[start : end - at]
            at += len(data)
            if chosen:
                return chosen
        return b""

    return part
