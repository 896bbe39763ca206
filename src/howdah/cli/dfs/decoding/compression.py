"""The compressions of Hadoop's codecs, by the names that their files have (pure, zstd apart).

What follows a gzip member is another member, or padding with zeros, as tapes and block devices
leave it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, Protocol

from howdah.cli.dfs.decoding.blocks import in_blocks, lz4, snappy
from howdah.cli.dfs.decoding.source import Damaged, Readable, Source

PIECE_BYTES: Final = 1 << 20

Decode = Callable[[Readable], Iterator[bytes]]


class _Decompressor(Protocol):
    """What zlib and bz2 have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _gzip() -> _Decompressor:
    import zlib

    return zlib.decompressobj(wbits=31)


def _zlib() -> _Decompressor:
    import zlib

    return zlib.decompressobj(wbits=15)


def _bzip2() -> _Decompressor:
    import bz2

    return bz2.BZ2Decompressor()


def _members(
    make: Callable[[], _Decompressor], codec: str, stream: Readable, *, padded: bool = False
) -> Iterator[bytes]:
    """Decompress all members of a stream, which may be several concatenated files."""
    import zlib

    decompressor = make()
    fresh = True
    while data := stream.read(PIECE_BYTES):
        while data:
            if decompressor.eof:
                if padded:
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                decompressor = make()
            fresh = False
            try:
                piece = decompressor.decompress(data)
            except (zlib.error, OSError) as error:
                raise Damaged(f"damaged {codec} data: {error}") from error
            if piece:
                yield piece
            data = decompressor.unused_data if decompressor.eof else b""
    if not fresh and not decompressor.eof:
        raise Damaged(f"{codec} data ends too early")


def _in_blocks(
    decompress: Callable[[bytes], bytes], codec: str, stream: Readable
) -> Iterator[bytes]:
    try:
        yield from in_blocks(Source(stream), decompress)
    except Damaged as error:
        raise Damaged(f"damaged {codec} data: {error}") from error


def _zstandard(stream: Readable) -> Iterator[bytes]:
    """Python has it from 3.14 on; before that a package is needed."""
    make, errors = _zstandard_of_python() or _zstandard_of_a_package()
    decompressor, is_begun = make(), False
    while data := stream.read(PIECE_BYTES):
        while data:
            if decompressor.eof:
                decompressor = make()
            is_begun = True
            try:
                piece = decompressor.decompress(data)
            except errors as error:
                raise Damaged(f"damaged Zstandard data: {error}") from error
            if piece:
                yield piece
            data = decompressor.unused_data if decompressor.eof else b""
    if is_begun and not decompressor.eof:
        raise Damaged("Zstandard data ends too early")


_Zstandard = tuple[Callable[[], Any], tuple[type[Exception], ...]]
"""What makes a decompressor, and what that raises."""


def _zstandard_of_python() -> _Zstandard | None:
    try:
        zstd: Any = importlib.import_module("compression.zstd")
    except ImportError:
        return None
    return zstd.ZstdDecompressor, (zstd.ZstdError, EOFError)


def _zstandard_of_a_package() -> _Zstandard:
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError as error:
        raise Damaged(
            "it is compressed with Zstandard, which Python has from 3.14 on: pip install zstandard"
        ) from error
    return lambda: zstandard.ZstdDecompressor().decompressobj(), (zstandard.ZstdError,)


GZIP: Final[Decode] = partial(_members, _gzip, "gzip", padded=True)
ZLIB: Final[Decode] = partial(_members, _zlib, "zlib")
BZIP2: Final[Decode] = partial(_members, _bzip2, "bzip2")
SNAPPY: Final[Decode] = partial(_in_blocks, snappy, "Snappy")
LZ4: Final[Decode] = partial(_in_blocks, lz4, "LZ4")
ZSTANDARD: Final[Decode] = _zstandard

BY_SUFFIX: Final[dict[str, Decode]] = {
    ".bz2": BZIP2,
    ".deflate": ZLIB,
    ".gz": GZIP,
    ".lz4": LZ4,
    ".snappy": SNAPPY,
    ".zst": ZSTANDARD,
}
"""By the end of a file's name (CompressionCodecFactory)."""

_CODECS: Final = "org.apache.hadoop.io.compress."
BY_CLASS: Final[dict[str, Decode]] = {
    f"{_CODECS}BZip2Codec": BZIP2,
    f"{_CODECS}DefaultCodec": ZLIB,
    f"{_CODECS}DeflateCodec": ZLIB,
    f"{_CODECS}GzipCodec": GZIP,
    f"{_CODECS}Lz4Codec": LZ4,
    f"{_CODECS}SnappyCodec": SNAPPY,
    f"{_CODECS}ZStandardCodec": ZSTANDARD,
}
"""By the class that a SequenceFile names."""
