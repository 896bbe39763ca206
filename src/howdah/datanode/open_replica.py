"""A replica opened for reading: its two files, and how much of them may be read.

What may be read is fixed when the files are opened. A writer may go on meanwhile,
which changes neither the bytes below that length nor, as far as this reader is
concerned, the checksum of the last, partial chunk: both were noted together. Files
that are renamed or unlinked stay readable until they are closed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from howdah import errors
from howdah.datanode import block_files
from howdah.datanode.replicas import Replica, Tail
from howdah.datanode.volumes import Volume
from howdah.transfer.checksum import ChecksumSpec, verify_chunks


@dataclass(slots=True)
class OpenReplica:
    """Descriptors, checksum and length; close it, or use it as a context manager."""

    replica: Replica
    volume: Volume
    block_fd: int
    meta_fd: int
    checksum: ChecksumSpec
    tail: Tail

    @classmethod
    def of(cls, replica: Replica, volume: Volume, paths: tuple[str, str]) -> OpenReplica:
        """Open (block file, meta file). Raises what `os.open` does, and
        `ChecksumMismatch` where the meta file is none."""
        block_fd = os.open(paths[0], os.O_RDONLY)
        try:
            meta_fd = os.open(paths[1], os.O_RDONLY)
            try:
                header = os.pread(meta_fd, block_files.META_HEADER_BYTES, 0)
                checksum = block_files.decode_meta_header(header)
            except BaseException:
                os.close(meta_fd)
                raise
        except BaseException:
            os.close(block_fd)
            raise
        return cls(replica, volume, block_fd, meta_fd, checksum, replica.tail)

    @property
    def length_bytes(self) -> int:
        return self.tail[0]

    def checked_last_sum(self) -> bytes:
        """The checksum of a partial last chunk, held against its data; else nothing."""
        spec = self.checksum
        partial = self.length_bytes % spec.bytes_per_checksum
        if not partial or not spec.sum_bytes:
            return b""
        start = self.length_bytes - partial
        data = os.pread(self.block_fd, partial, start)
        offset = block_files.sums_offset(spec, start // spec.bytes_per_checksum)
        last_sum = os.pread(self.meta_fd, spec.sum_bytes, offset)
        if len(last_sum) != spec.sum_bytes or verify_chunks(spec, data, last_sum) >= 0:
            raise errors.ChecksumMismatch(
                f"the last chunk of {self.replica!r} on {self.volume.path} "
                "does not fit its checksum, so nothing can be appended to it"
            )
        return last_sum

    def close(self) -> None:
        os.close(self.block_fd)
        os.close(self.meta_fd)

    def __enter__(self) -> OpenReplica:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
