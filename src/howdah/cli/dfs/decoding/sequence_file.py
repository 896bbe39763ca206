"""SequenceFiles as text: a line for each record, key and value with a tab between.

Mirrors SequenceFile.Reader and what the Writables' `toString` say. Files of versions 4 to 6 are
read, as they are, compressed record by record or block by block.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import Final

from howdah.cli.dfs.decoding.compression import BY_CLASS, ZLIB, Decode
from howdah.cli.dfs.decoding.java_text import double_text, float_text
from howdah.cli.dfs.decoding.source import Damaged, Readable, Source

MAGIC: Final = b"SEQ"
_OLDEST, _NEWEST = 4, 6
_WITH_CODEC, _WITH_METADATA = 5, 6
_SYNC_BYTES: Final = 16
_ESCAPE: Final = -1
_WRITABLES: Final = "org.apache.hadoop.io"
_BYTES_OF: Final = {"b": 1, "h": 2, "i": 4, "q": 8, "f": 4, "d": 8, "?": 1}


def lines(stream: Readable) -> Iterator[bytes]:
    """Yield a line for each record of a file, read from behind its magic. Raises `Damaged`."""
    source = Source(stream)
    version = source.exactly(1)[0]
    if not _OLDEST <= version <= _NEWEST:
        raise Damaged(f"it is a SequenceFile of version {version}, which is unknown here")
    key_text, value_text = _formatter_of(source.text()), _formatter_of(source.text())
    is_compressed, in_blocks = source.exactly(1) != b"\0", source.exactly(1) != b"\0"
    decode = ZLIB
    if is_compressed and version >= _WITH_CODEC:
        name = source.text()
        if name not in BY_CLASS:
            raise Damaged(f"it is compressed by {name}, which is unknown here")
        decode = BY_CLASS[name]
    if version >= _WITH_METADATA:
        for _ in range(2 * source.number()):
            source.text()
    sync = source.exactly(_SYNC_BYTES)
    records = (
        _read_blocks(source, sync, decode)
        if in_blocks
        else _read_records(source, sync, decode if is_compressed else None)
    )
    for key, value in records:
        yield b"%b\t%b\n" % (key_text(key).encode(), value_text(value).encode())


def _read_records(
    source: Source, sync: bytes, decode: Decode | None
) -> Iterator[tuple[bytes, bytes]]:
    while (length := source.number_or_end()) is not None:
        if length == _ESCAPE:
            _check_sync(source, sync)
            continue
        key_length = source.number()
        key, value = source.exactly(key_length), source.exactly(length - key_length)
        yield key, value if decode is None else _decompress(value, decode)


def _read_blocks(source: Source, sync: bytes, decode: Decode) -> Iterator[tuple[bytes, bytes]]:
    while (escape := source.number_or_end()) is not None:
        if escape != _ESCAPE:
            raise Damaged("a block begins without a sync marker")
        _check_sync(source, sync)
        count = source.vint()
        buffers = [
            Source(io.BytesIO(_decompress(source.exactly(source.vint()), decode))) for _ in range(4)
        ]
        key_lengths, keys, value_lengths, values = buffers
        for _ in range(count):
            yield keys.exactly(key_lengths.vint()), values.exactly(value_lengths.vint())


def _check_sync(source: Source, sync: bytes) -> None:
    if source.exactly(_SYNC_BYTES) != sync:
        raise Damaged("a sync marker is another one than the file's")


def _decompress(data: bytes, decode: Decode) -> bytes:
    return b"".join(decode(io.BytesIO(data)))


# --- Writables ---------------------------------------------------------------------------


def _number(kind: str, to_text: Callable[..., str]) -> Callable[[bytes], str]:
    def format_number(data: bytes) -> str:
        if len(data) < _BYTES_OF[kind]:
            raise Damaged("a record ends too early")
        return to_text(struct.unpack_from(f">{kind}", data)[0])

    return format_number


def _text(data: bytes) -> str:
    source = Source(io.BytesIO(data))
    return source.text()


def _vint(data: bytes) -> str:
    return str(Source(io.BytesIO(data)).vint())


def _bytes(data: bytes) -> str:
    source = Source(io.BytesIO(data))
    return source.exactly(source.number()).hex(" ")


def _boolean(value: bool) -> str:
    return "true" if value else "false"


_FORMATTERS: Final[dict[str, Callable[[bytes], str]]] = {
    "BooleanWritable": _number("?", _boolean),
    "BytesWritable": _bytes,
    "ByteWritable": _number("b", str),
    "DoubleWritable": _number("d", double_text),
    "FloatWritable": _number("f", float_text),
    "IntWritable": _number("i", str),
    "LongWritable": _number("q", str),
    "MD5Hash": lambda data: data[:16].hex(),
    "NullWritable": lambda data: "(null)",
    "ShortWritable": _number("h", str),
    "Text": _text,
    "VIntWritable": _vint,
    "VLongWritable": _vint,
}


def _formatter_of(class_name: str) -> Callable[[bytes], str]:
    package, _, name = class_name.rpartition(".")
    formatter = _FORMATTERS.get(name) if package == _WRITABLES else None
    if formatter is None:
        raise Damaged(f"it is a SequenceFile of {class_name}, which is unknown here")
    return formatter
