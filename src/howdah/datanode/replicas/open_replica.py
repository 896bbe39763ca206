"""A replica opened for reading: its two files, and how much of them may be read.

What may be read is fixed when the files are opened. A writer may go on meanwhile, or
begin to append, which changes neither the bytes below that length nor, as far as this
reader is concerned, the checksum of the last, partial chunk: both were noted together.
Files that are renamed or unlinked stay readable until they are closed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.state.replicas.replicas import Replica, Tail
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, crc, verify_chunks
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES, decode_meta_header

VERIFY_BYTES = 4 * 1024 * 1024
"""Data that is verified at once."""


@dataclass(slots=True)
class OpenReplica:
    """Descriptors, checksum and length; close it, or use it as a context manager."""

    replica: Replica
    volume: Volume
    block_fd: int
    meta_fd: int
    checksum: ChecksumSpec
    tail: Tail
    """With the checksum of a partial last chunk, also where the replica is finalized."""
    generation_stamp: int
    """The replica's, from before its files were opened."""

    @classmethod
    def of(cls, replica: Replica, volume: Volume, paths: tuple[str, str]) -> OpenReplica:
        """Open (block file, meta file). Raises what `os.open` does, and
        `ChecksumMismatch` where the meta file is none. Hadoop's datanode writes no sums of a
        replica in memory whose client sends none: such a one is read without."""
        generation_stamp = replica.generation_stamp
        block_fd = os.open(paths[0], os.O_RDONLY)
        try:
            meta_fd = os.open(paths[1], os.O_RDONLY)
            try:
                header = os.pread(meta_fd, META_HEADER_BYTES, 0)
                checksum = decode_meta_header(header)
                if volume.is_transient and _has_no_sums(replica, meta_fd):
                    checksum = ChecksumSpec(ChecksumType.NULL, checksum.bytes_per_checksum)
            except BaseException:
                os.close(meta_fd)
                raise
        except BaseException:
            os.close(block_fd)
            raise
        opened = cls(replica, volume, block_fd, meta_fd, checksum, replica.tail, generation_stamp)
        try:
            opened._note_last_sum()
        except BaseException:
            opened.close()
            raise
        return opened

    def _note_last_sum(self) -> None:
        """That of a finalized replica is in the meta file alone, and an append overwrites it
        there. It has a new tail before it writes: the same one after the look is proof."""
        spec = self.checksum
        while True:
            length, last_sum = tail = self.replica.tail
            if last_sum or not spec.sum_bytes or not length % spec.bytes_per_checksum:
                self.tail = tail
                return
            offset = block_files.sums_offset(spec, length // spec.bytes_per_checksum)
            last_sum = os.pread(self.meta_fd, spec.sum_bytes, offset)
            if self.replica.tail is tail:
                # Of a meta file that ends too early, readers find out.
                self.tail = (length, last_sum if len(last_sum) == spec.sum_bytes else b"")
                return

    @property
    def length_bytes(self) -> int:
        return self.tail[0]

    @property
    def is_final_as_opened(self) -> bool:
        """Whether it is a final replica that nobody has cut or written again since: what is wrong
        with these files is wrong with it."""
        # In this order: what becomes final again has its new stamp by then.
        is_final = self.replica.stored_as is ReplicaState.FINALIZED
        return is_final and self.replica.generation_stamp == self.generation_stamp

    def sum_up_to(self, end: int) -> bytes:
        """The checksum of the bytes of the last chunk before `end`, if that is in mid-chunk;
        else nothing. Of data that fits the checksum which it has now: one of our own
        making would hide damage. `ChecksumMismatch` if it doesn't.
        """
        spec = self.checksum
        partial = end % spec.bytes_per_checksum
        if not partial or not spec.sum_bytes:
            return b""
        start = end - partial
        stop = min(start + spec.bytes_per_checksum, self.length_bytes)
        data = os.pread(self.block_fd, stop - start, start)
        length, present = self.tail
        if stop != length or not present:
            offset = block_files.sums_offset(spec, start // spec.bytes_per_checksum)
            present = os.pread(self.meta_fd, spec.sum_bytes, offset)
        if len(present) != spec.sum_bytes or verify_chunks(spec, data, present) >= 0:
            raise errors.ChecksumMismatch(
                f"the chunk at {start} of {self.replica!r} on {self.volume.path} "
                "does not fit its checksum, so nothing can be appended to it"
            )
        return crc(spec.type, data[:partial]).to_bytes(spec.sum_bytes, "big")

    def first_damaged(self, start: int) -> int | None:
        """Where the first chunk begins, from `start` on, that does not fit its checksum; None
        if all do. Of a replica that nobody writes; `start` is where a chunk begins."""
        spec = self.checksum
        if not spec.sum_bytes:
            return None
        step = max(VERIFY_BYTES // spec.bytes_per_checksum, 1) * spec.bytes_per_checksum
        for offset in range(start, self.length_bytes, step):
            damaged = self.damaged_between(offset, min(offset + step, self.length_bytes))
            if damaged is not None:
                return damaged
        return None

    def damaged_between(self, start: int, stop: int) -> int | None:
        """The same for the bytes from `start` to `stop`, which is where a chunk ends, read at
        once. Of a replica without checksums only its length is looked at."""
        spec = self.checksum
        data = os.pread(self.block_fd, stop - start, start)
        whole = spec.chunks(stop - start)
        if len(data) < stop - start:
            whole = len(data) // spec.bytes_per_checksum
        if not spec.sum_bytes:
            return None if len(data) == stop - start else start + len(data)
        sums_offset = block_files.sums_offset(spec, start // spec.bytes_per_checksum)
        sums = os.pread(self.meta_fd, spec.sums_length(stop - start), sums_offset)
        # Of files that end too early the first chunk that is not whole is damaged.
        whole = min(whole, len(sums) // spec.sum_bytes)
        there = data[: whole * spec.bytes_per_checksum]
        bad = verify_chunks(spec, there, sums[: whole * spec.sum_bytes]) if whole else -1
        if bad < 0 and len(there) == stop - start:
            return None
        return start + (whole if bad < 0 else bad) * spec.bytes_per_checksum

    def close(self) -> None:
        os.close(self.block_fd)
        os.close(self.meta_fd)

    def __enter__(self) -> OpenReplica:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_no_sums(replica: Replica, meta_fd: int) -> bool:
    is_final = replica.stored_as is ReplicaState.FINALIZED
    return is_final and os.fstat(meta_fd).st_size == META_HEADER_BYTES
