"""Avro's container files as text: a line of JSON for each record.

Mirrors what Avro's JsonEncoder writes: a value of a union is `{"branch": value}` but for null,
bytes are characters below 256, and maps come in the order of Java's hash tables.
"""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from howdah.cli.dfs.decoding import blocks
from howdah.cli.dfs.decoding.compression import BZIP2, ZSTANDARD
from howdah.cli.dfs.decoding.java_text import double_text, float_text
from howdah.cli.dfs.decoding.source import Damaged, Readable, Source

MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_MOST_BITS: Final = 63
_SUM_BYTES: Final = 4
_MOST_ITEMS: Final = 2**31 - 1

Format = Callable[["_Values"], str]
"""Reads one value of a schema and returns its text."""


class _Values(Source):
    """Numbers as Avro writes them."""

    def long_or_end(self) -> int | None:
        first = self.some(1)
        return self._long(first[0]) if first else None

    def long(self) -> int:
        return self._long(self.exactly(1)[0])

    def _long(self, byte: int) -> int:
        value, shift = byte & 0x7F, 7
        while byte & 0x80:
            if shift > _MOST_BITS:
                raise Damaged("a number has more than 64 bits")
            byte = self.exactly(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
        return (value >> 1) ^ -(value & 1)

    def bytes(self) -> bytes:
        return self.exactly(self.long())

    def counts(self) -> Iterator[int]:
        """Yield the number of items in each part of an array or a map."""
        while count := self.long():
            if count < 0:
                count = -count
                self.long()  # bytes
            if count > _MOST_ITEMS:
                raise Damaged(f"{count} items can't be")
            yield count

    def items(self) -> Iterator[int]:
        """Count up the items of an array or a map."""
        for count in self.counts():
            yield from range(count)


def lines(stream: Readable) -> Iterator[bytes]:
    """Yield a line for each record of a file, read from behind its magic. Raises `Damaged`."""
    source = _Values(stream)
    entries: dict[str, bytes] = {}
    for _ in source.items():
        key = source.bytes().decode("utf-8", "replace")
        entries[key] = source.bytes()
    sync = source.exactly(_SYNC_BYTES)
    try:
        format_record = _Schemas().format_of(json.loads(entries["avro.schema"]), "")
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"its schema is none: {error}") from error
    codec = entries.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in _CODECS:
        raise Damaged(f"its codec is {codec}, which is unknown here")
    while (count := source.long_or_end()) is not None:
        data = _decompress(codec, source.bytes())
        if source.exactly(_SYNC_BYTES) != sync:
            raise Damaged("a block does not end with the file's mark")
        values = _Values(io.BytesIO(data))
        for _ in range(count):
            try:
                line = format_record(values)
            except RecursionError as error:
                raise Damaged("a record is nested too deeply") from error
            yield f"{line}\n".encode()


def _decompress(codec: str, data: bytes) -> bytes:
    import zlib

    try:
        return _CODECS[codec](data)
    except (zlib.error, OSError, EOFError) as error:
        raise Damaged(f"damaged {codec} data: {error}") from error


def _deflate(data: bytes) -> bytes:
    import zlib

    return zlib.decompress(data, wbits=-15)


def _xz(data: bytes) -> bytes:
    import lzma

    try:
        return lzma.decompress(data)
    except lzma.LZMAError as error:
        raise Damaged(f"damaged xz data: {error}") from error


def _snappy(data: bytes) -> bytes:
    import zlib

    block = blocks.snappy(data[:-_SUM_BYTES])
    if zlib.crc32(block) != int.from_bytes(data[-_SUM_BYTES:], "big"):
        raise Damaged("a block does not fit its checksum")
    return block


_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "null": lambda data: data,
    "deflate": _deflate,
    "bzip2": lambda data: b"".join(BZIP2(io.BytesIO(data))),
    "snappy": _snappy,
    "xz": _xz,
    "zstandard": lambda data: b"".join(ZSTANDARD(io.BytesIO(data))),
}


class _Schemas:
    """Compiles schemas to formats of their values. A named type may refer to itself."""

    def __init__(self) -> None:
        self._named: dict[str, Format] = {}

    def format_of(self, schema: Any, space: str) -> Format:
        if isinstance(schema, list):
            return self._union(schema, space)
        if isinstance(schema, str):
            return _PRIMITIVES.get(schema) or self._reference(_full_name(schema, space))
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.format_of(kind, space)
        match kind:
            case "record" | "error":
                return self._record(schema, space)
            case "enum":
                symbols = [_string(symbol) for symbol in schema["symbols"]]
                return self._name(schema, space, lambda values: _nth(symbols, values.long()))
            case "fixed":
                size = int(schema["size"])
                return self._name(schema, space, lambda values: _latin(values.exactly(size)))
            case "array":
                item = self.format_of(schema["items"], space)
                return lambda values: f"[{','.join(item(values) for _ in values.items())}]"
            case "map":
                return self._map(self.format_of(schema["values"], space))
            case _:
                return self.format_of(kind, space)

    def _name(self, schema: Any, space: str, format_value: Format) -> Format:
        self._named[_name_of(schema, space)] = format_value
        return format_value

    def _reference(self, name: str) -> Format:
        if name not in self._named and name.rpartition(".")[2] not in self._named:
            raise ValueError(f"no type is called {name}")
        known = name if name in self._named else name.rpartition(".")[2]
        return lambda values: self._named[known](values)

    def _record(self, schema: Any, space: str) -> Format:
        name = _name_of(schema, space)
        inner = name.rpartition(".")[0]
        fields: list[tuple[str, Format]] = []

        def format_record(values: _Values) -> str:
            members = [f"{key}:{format_field(values)}" for key, format_field in fields]
            return f"{{{','.join(members)}}}"

        self._named[name] = format_record
        for field in schema["fields"]:
            fields.append((_string(field["name"]), self.format_of(field["type"], inner)))
        return format_record

    def _union(self, branches: list[Any], space: str) -> Format:
        formats: list[Format] = []
        for branch in branches:
            format_value = self.format_of(branch, space)
            label = _string(_label(branch, space))
            formats.append(format_value if label == '"null"' else _labelled(label, format_value))
        return lambda values: _nth(formats, values.long())(values)

    @staticmethod
    def _map(item: Format) -> Format:
        def format_map(values: _Values) -> str:
            entries: dict[bytes, str] = {}
            expected = None
            for count in values.counts():
                expected = count if expected is None else expected
                for _ in range(count):
                    key = values.bytes()
                    entries[key] = item(values)
            ordered = java_order(list(entries), expected or 0)
            return f"{{{','.join(f'{_string_of(key)}:{entries[key]}' for key in ordered)}}}"

        return format_map


def _labelled(label: str, format_value: Format) -> Format:
    return lambda values: f"{{{label}:{format_value(values)}}}"


def _nth(choices: list[Any], number: int) -> Any:
    if not 0 <= number < len(choices):
        raise Damaged(f"there is no branch or symbol {number}")
    return choices[number]


def _label(schema: Any, space: str) -> str:
    """Return the label of a union's branch."""
    if isinstance(schema, str):
        return schema if schema in _PRIMITIVES else _full_name(schema, space)
    kind: str = schema["type"]
    return _name_of(schema, space) if kind in ("record", "error", "enum", "fixed") else kind


def _name_of(schema: Any, space: str) -> str:
    return _full_name(schema["name"], schema.get("namespace", space) or "")


def _full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def java_order(keys: list[bytes], expected: int) -> list[bytes]:
    """Return the keys in the order of a Java HashMap made for `expected` keys.

    >>> java_order([b"b", b"a", b"c"], 3)
    [b'a', b'b', b'c']
    """
    size = 1
    while size < expected or len(keys) > size * 3 / 4:
        size *= 2

    def bucket(key: bytes) -> int:
        code = 0
        for byte in key:
            code = (code * 31 + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
        return (code ^ code >> 16) & (size - 1)

    return sorted(keys, key=bucket)


# --- values --------------------------------------------------------------------------------


def _string(text: str) -> str:
    """A string as Jackson writes it."""
    short = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    pieces = []
    for char in text:
        if char in '"\\':
            pieces.append(f"\\{char}")
        elif char < " ":
            pieces.append(short.get(char) or f"\\u{ord(char):04X}")
        elif char > "\uffff":
            pair = char.encode("utf-16-be").hex().upper()
            pieces.append(f"\\u{pair[:4]}\\u{pair[4:]}")
        else:
            pieces.append(char)
    return f'"{"".join(pieces)}"'


def _string_of(data: bytes) -> str:
    return _string(data.decode("utf-8", "replace"))


def _latin(data: bytes) -> str:
    return _string(data.decode("latin-1"))


def _real(kind: str, text: Callable[[float], str]) -> Format:
    width = struct.calcsize(f"<{kind}")

    def format_real(values: _Values) -> str:
        value: float = struct.unpack(f"<{kind}", values.exactly(width))[0]
        return text(value) if math.isfinite(value) else f'"{text(value)}"'

    return format_real


_PRIMITIVES: Final[dict[str, Format]] = {
    "null": lambda values: "null",
    "boolean": lambda values: "true" if values.exactly(1) != b"\0" else "false",
    "int": lambda values: str(values.long()),
    "long": lambda values: str(values.long()),
    "float": _real("f", float_text),
    "double": _real("d", double_text),
    "bytes": lambda values: _latin(values.bytes()),
    "string": lambda values: _string_of(values.bytes()),
}
