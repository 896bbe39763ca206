"""Checksum files of local files: `.NAME.crc` beside `NAME`, as Hadoop's local filesystem has them.

The format: `crc\\0`, how many bytes each checksum covers (int32, big-endian), then
the CRC-32 of every such chunk, the last of which may be short. So either side
reads what the other has written, and finds what the disk has changed.

Rules:
1. A chunk's checksum is written before the chunk. Whoever reads a file that is
   being written finds checksums without data, which mean nothing, and never the
   reverse, which is corruption.
2. The last, short chunk is written at `close`: its checksum cannot be known
   before. So such a stream cannot be synced (OS-162…164).
3. A read takes whole chunks from the disk, and gives out nothing of a chunk that
   its checksum does not fit.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from howdah import errors
from howdah.fs import paths
from howdah.fs.local.streams import LocalInput, LocalOutput, write_all
from howdah.protocol.data_transfer.checksum import (
    SUM_BYTES,
    ChecksumSpec,
    ChecksumType,
    checksum_chunks,
    verify_chunks,
)

MAGIC = b"crc\0"
_HEADER = struct.Struct(">4si")
HEADER_BYTES = _HEADER.size
_PIECE_BYTES = 1 << 20


def sums_name(name: str) -> str:
    """What the checksum file of a file is called."""
    return f".{name}.crc"


def summed_name(name: str) -> str | None:
    """The file whose checksum file has this name; None for other names."""
    inner = name.removeprefix(".").removesuffix(".crc")
    return inner if inner and sums_name(inner) == name else None


def sums_path(path: str) -> str:
    """Where the checksums of a file are."""
    return paths.join(paths.parent_of(path) or "/", sums_name(paths.name_of(path)))


def encode_header(bytes_per_checksum: int) -> bytes:
    return _HEADER.pack(MAGIC, bytes_per_checksum)


def decode_header(path: str, data: bytes) -> ChecksumSpec:
    """How the file at `path` is checksummed; `ChecksumMismatch` if this is no such header."""
    if len(data) == HEADER_BYTES:
        magic, bytes_per_checksum = _HEADER.unpack(data)
        if magic == MAGIC and bytes_per_checksum > 0:
            return ChecksumSpec(ChecksumType.CRC32, bytes_per_checksum)
    raise errors.ChecksumMismatch(
        f"{path} cannot be verified: {sums_path(path)} is damaged, or not a checksum file; "
        "remove it, or call set_verify_checksum(False), to read the file as it is"
    ).about(path)


class ChecksummedOutput(LocalOutput):
    """A new file and its checksums; whole chunks are on their way before `close`."""

    def __init__(
        self,
        path: str,
        descriptor: int,
        sums_descriptor: int,
        *,
        bytes_per_checksum: int,
        buffer_bytes: int | None = None,
        progress: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(
            path,
            position=0,
            unit_bytes=bytes_per_checksum,
            buffer_bytes=buffer_bytes,
            progress=progress,
        )
        self._descriptor = descriptor
        self._sums_descriptor = sums_descriptor
        self._spec = ChecksumSpec(ChecksumType.CRC32, bytes_per_checksum)

    def _emit(self, view: memoryview) -> None:
        step = max(_PIECE_BYTES // self._unit_bytes, 1) * self._unit_bytes
        for start in range(0, len(view), step):
            piece = view[start : start + step]
            sums = bytearray(self._spec.sums_length(len(piece)))
            checksum_chunks(self._spec, piece, sums)
            write_all(self._sums_descriptor, memoryview(sums))
            write_all(self._descriptor, piece)

    def _release(self) -> None:
        try:
            os.close(self._sums_descriptor)
        finally:
            os.close(self._descriptor)


class ChecksummedInput(LocalInput):
    """Reads a file and verifies its checksums."""

    def __init__(self, path: str, descriptor: int, sums_descriptor: int) -> None:
        super().__init__(path, descriptor)
        self._sums_descriptor = sums_descriptor
        self._spec: ChecksumSpec | None = None

    def _header(self) -> ChecksumSpec:
        # Read when there is data: a file that is being created has no header for a moment.
        if self._spec is None:
            self._spec = decode_header(self._path, os.pread(self._sums_descriptor, HEADER_BYTES, 0))
        return self._spec

    def _read_at(self, offset: int, view: memoryview) -> int:
        if not len(view) or (self._spec is None and not os.pread(self._descriptor, 1, offset)):
            return 0
        chunk = self._header().bytes_per_checksum
        most = max(_PIECE_BYTES, chunk)
        skip = offset % chunk
        if not skip and len(view) >= chunk:
            return self._verified(offset, view[: min(len(view), most) // chunk * chunk])
        # A part of a chunk is wanted: read the whole of it, and give out that part. Ending
        # with a chunk lets the next read start with one.
        length = max((skip + min(len(view), most)) // chunk, 1) * chunk
        if chunk > _PIECE_BYTES:
            length = min(length, max(self.length - offset + skip, 0))
        scratch = memoryview(bytearray(length))
        part = scratch[: self._verified(offset - skip, scratch)][skip : skip + len(view)]
        view[: len(part)] = part
        return len(part)

    def _verified(self, start: int, view: memoryview) -> int:
        """Fill `view` from the start of a chunk to the end of one; how many bytes.

        Fewer than it could hold only at the end of the file.
        """
        spec = self._header()
        filled = 0
        while filled < len(view):
            count = os.preadv(self._descriptor, [view[filled:]], start + filled)
            if not count:
                break
            filled += count
        position = HEADER_BYTES + start // spec.bytes_per_checksum * SUM_BYTES
        sums = os.pread(self._sums_descriptor, spec.sums_length(filled), position)
        covered = min(len(sums) // SUM_BYTES * spec.bytes_per_checksum, filled)
        bad = verify_chunks(spec, view[:covered], sums[: spec.sums_length(covered)])
        if bad < 0 and covered == filled:
            return filled
        offset = start + (covered if bad < 0 else bad * spec.bytes_per_checksum)
        end = start + filled
        if filled < len(view) and offset + spec.bytes_per_checksum > end and self.length > end:
            # The last chunk was not whole, and grows: it is being written.
            return self._verified(start, view)
        raise errors.ChecksumMismatch(
            f"Checksum error: {self._path} at {offset}: the bytes from there on "
            f"{'have no checksum' if bad < 0 else 'do not fit their checksum'} in "
            f"{sums_path(self._path)}"
        ).about(self._path)

    def _release(self) -> None:
        try:
            os.close(self._sums_descriptor)
        finally:
            super()._release()
