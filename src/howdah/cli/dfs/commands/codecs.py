"""What `-text` makes of a file: which encoding it has, and the decoded bytes.

The first bytes decide, then the name, as in FsShell: gzip by its magic number,
SequenceFile and Avro by theirs, else a compression by the suffix that Hadoop's
codecs use. What cannot be decoded is named, never printed as garbage.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

from howdah.cli.dfs.shell.error_text import PathProblem

PIECE_BYTES = 1 << 20
MAGIC_BYTES = 4

GZIP_MAGIC = b"\x1f\x8b"
SEQUENCE_FILE_MAGIC = b"SEQ"
AVRO_MAGIC = b"Obj\x01"
SUFFIXES = frozenset((".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst"))


def decoded(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the content of a file as `-text` shows it, piece by piece.

    Raises `PathProblem` for an unknown encoding and for damaged data.
    """
    magic = stream.read(MAGIC_BYTES)
    rest = _Rejoined(magic, stream)
    suffix = name[name.rfind(".") :] if "." in name else ""
    pieces = _decoded(rest, stream, magic, suffix)
    if pieces is None:
        yield from iter(lambda: rest.read(PIECE_BYTES), b"")
        return
    from howdah.cli.dfs.decoding.source import Damaged

    try:
        yield from pieces
    except Damaged as error:
        raise PathProblem(name, str(error)) from error


def _decoded(
    rest: _Rejoined, stream: IO[bytes], magic: bytes, suffix: str
) -> Iterator[bytes] | None:
    """The decoder of a file; None for one that is as it is."""
    if magic.startswith(SEQUENCE_FILE_MAGIC):
        from howdah.cli.dfs.decoding import sequence_file

        return sequence_file.lines(_Rejoined(magic[len(SEQUENCE_FILE_MAGIC) :], stream))
    if magic == AVRO_MAGIC:
        from howdah.cli.dfs.decoding import avro

        return avro.lines(stream)
    is_gzip = magic.startswith(GZIP_MAGIC)
    if not is_gzip and (not magic or suffix not in SUFFIXES):
        return None
    from howdah.cli.dfs.decoding.compression import BY_SUFFIX, GZIP

    return (GZIP if is_gzip else BY_SUFFIX[suffix])(rest)


class _Rejoined:
    """A stream with bytes put back in front of it."""

    def __init__(self, front: bytes, stream: IO[bytes]) -> None:
        self._front = io.BytesIO(front)
        self._stream = stream

    def read(self, count: int) -> bytes:
        return self._front.read(count) or self._stream.read(count)
