"""What `-text` makes of a file: which encoding it has, and the decoded bytes.

The first bytes decide, then the name, as in FsShell: gzip by its magic number,
SequenceFile and Avro by theirs, else a compression by the suffix that Hadoop's
codecs use. What cannot be decoded is named, never printed as garbage.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Protocol

from howdah.cli.dfs.shell.problems import PathProblem

PIECE_BYTES = 1 << 20
MAGIC_BYTES = 4

GZIP_MAGIC = b"\x1f\x8b"
SEQUENCE_FILE_MAGIC = b"SEQ"
AVRO_MAGIC = b"Obj\x01"
UNKNOWN_SUFFIXES = {".snappy": "Snappy", ".lz4": "LZ4", ".zst": "Zstandard", ".lzo": "LZO"}


class _Decompressor(Protocol):
    """What zlib and bz2 have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def decoded(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """The content of a file as text users read it, piece by piece.

    Raises `PathProblem` for an encoding that is not known here and for damaged data.
    """
    magic = stream.read(MAGIC_BYTES)
    rest = _Rejoined(magic, stream)
    if magic.startswith(GZIP_MAGIC):
        return _inflated(rest, name, "gzip")
    if magic.startswith(SEQUENCE_FILE_MAGIC):
        raise PathProblem(name, "is a SequenceFile, which howdah cannot show as text yet")
    if magic == AVRO_MAGIC:
        raise PathProblem(name, "is an Avro file, which howdah cannot show as text yet")
    suffix = name[name.rfind(".") :] if "." in name else ""
    if suffix in UNKNOWN_SUFFIXES and magic:
        raise PathProblem(name, f"is compressed with {UNKNOWN_SUFFIXES[suffix]}, unknown here")
    if suffix == ".deflate" and magic:
        return _inflated(rest, name, "zlib")
    if suffix == ".bz2" and magic:
        return _inflated(rest, name, "bzip2")
    return iter(lambda: rest.read(PIECE_BYTES), b"")


class _Rejoined:
    """A stream with bytes put back in front of it."""

    def __init__(self, front: bytes, stream: IO[bytes]) -> None:
        self._front = io.BytesIO(front)
        self._stream = stream

    def read(self, count: int) -> bytes:
        return self._front.read(count) or self._stream.read(count)


def _decompressor(kind: str) -> _Decompressor:
    if kind == "bzip2":
        import bz2

        return bz2.BZ2Decompressor()
    import zlib

    return zlib.decompressobj(wbits=31 if kind == "gzip" else 15)


def _inflated(stream: _Rejoined, name: str, kind: str) -> Iterator[bytes]:
    """Decompress all members of a stream; parts may have been glued together."""
    import zlib

    decompressor = _decompressor(kind)
    fresh = True
    while data := stream.read(PIECE_BYTES):
        while data:
            if decompressor.eof:
                decompressor = _decompressor(kind)
            fresh = False
            try:
                piece = decompressor.decompress(data)
            except (zlib.error, OSError) as error:
                raise PathProblem(name, f"damaged {kind} data: {error}") from error
            if piece:
                yield piece
            data = decompressor.unused_data if decompressor.eof else b""
    if not fresh and not decompressor.eof:
        raise PathProblem(name, f"{kind} data ends too early")
