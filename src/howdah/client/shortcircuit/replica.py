"""The two files of a replica that a datanode of this machine has passed to this process.

ShortCircuitReplica in Hadoop.

Everything is read by position, so any number of threads can share it. Whole chunks are
checked against the meta file. What was read counts only if `is_current` says so
afterwards: until then the datanode had not begun to change the replica. Where nothing
is to be checked, a look costs no system call: the slot is memory, and that its datanode
lives is asked now and then (`howdah.client.shortcircuit.segments`).
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable

from howdah import errors
from howdah.client.shortcircuit.segments import Slot
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.checksum import (
    SUM_BYTES,
    ChecksumSpec,
    ChecksumType,
    verify_chunks,
)
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES, decode_meta_header
from howdah.runtime.fork_safety import process_id

_SCRATCH_BYTES = 64 * 1024
"""Up to here a copy costs less than care for every chunk."""
_MAX_CHUNK_BYTES = 16 * 1024 * 1024
UNCHECKED = ChecksumSpec(ChecksumType.NULL, 1)
"""For reads that check nothing: every byte is a chunk of its own."""

ReplicaKey = tuple[str, str, int, int]
"""(place of the datanode, pool id, block id, generation stamp). A block has a replica at each of
several datanodes of a machine, and one of them may be damaged."""


def key_of(place: str, block: ExtendedBlock) -> ReplicaKey:
    return place, block.pool_id, block.block_id, block.generation_stamp


class ReplicaRevoked(errors.HowdahError, OSError):
    """The datanode changes the replica; what was read of it is to be forgotten."""


class LocalReplica:
    """Descriptors, checksum and length of one finalized replica. Owned by a cache."""

    __slots__ = (
        "_closed",
        "_free",
        "_lock",
        "_map",
        "block_fd",
        "checksum",
        "idle_since_s",
        "key",
        "length_bytes",
        "meta_fd",
        "pid",
        "readers",
        "slot",
    )

    def __init__(
        self,
        place: str,
        block: ExtendedBlock,
        block_fd: int,
        meta_fd: int,
        slot: Slot | None,
        free: Callable[[Slot], None],
        *,
        check: bool,
    ) -> None:
        """Of the datanode at `place`. Takes the descriptors over, also where it raises; `free`
        gives the slot back.

        `ChecksumMismatch` for a meta file that is none; `ReplicaRevoked` if the replica
        is not, or no longer, the one that was asked for.
        """
        self.key = key_of(place, block)
        self.block_fd = block_fd
        self.meta_fd = meta_fd
        self.slot = slot
        self._free = free
        self.pid = process_id()
        self.readers = 0
        self.idle_since_s = 0.0
        self._closed = False
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None
        try:
            self.length_bytes = os.fstat(block_fd).st_size
            spec = _decode_header(os.pread(meta_fd, META_HEADER_BYTES, 0))
            self.checksum = spec if check else UNCHECKED
            whole = META_HEADER_BYTES + spec.sums_length(self.length_bytes)
            if self.length_bytes < block.length_bytes or os.fstat(meta_fd).st_size != whole:
                raise ReplicaRevoked(f"{block} is not here, or not whole")
            if not self.is_current:
                raise ReplicaRevoked(f"{block} has just changed")
        except BaseException:
            self.close()
            raise

    @property
    def is_current(self) -> bool:
        """Whether all that was read until now is the replica's."""
        if self._closed:
            return False
        if self.slot is not None:
            return self.slot.is_valid
        return self._has_its_length()

    def confirm(self) -> bool:
        """As `is_current`, and its datanode lives at this moment: before damage is told, for a
        replica that changes under its reader looks the same."""
        if self._closed:
            return False
        if self.slot is not None:
            return self.slot.confirm()
        return self._has_its_length()

    def _has_its_length(self) -> bool:
        # A datanode without shared memory: at least the length tells of an append.
        return os.fstat(self.block_fd).st_size == self.length_bytes

    @property
    def is_revoked(self) -> bool:
        """Whether the datanode said so; cheaper than `is_current`, which notices its death."""
        return self._closed or (self.slot is not None and self.slot.is_revoked)

    # --- reading ---

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill `view` with the bytes from `offset` on, checked. They are the replica's.

        What the datanode has locked in memory it has checked, and nothing is checked here.
        """
        if self.slot is not None and self.checksum.sum_bytes and self.slot.anchor():
            try:
                self._fill([view], offset)
            finally:
                self.slot.lift()
            return
        start, stop = self._chunks_around(offset, offset + len(view))
        if stop - start == len(view):
            self._fill([view], start)
            self._check(start, [view])
        elif stop - start <= max(_SCRATCH_BYTES, 2 * self.checksum.bytes_per_checksum):
            scratch = memoryview(bytearray(stop - start))
            self._fill([scratch], start)
            self._check(start, [scratch])
            view[:] = scratch[offset - start : offset - start + len(view)]
        else:
            self._read_around(start, stop, offset, view)

    def _read_around(self, start: int, stop: int, offset: int, view: memoryview) -> None:
        """The first and the last chunk beside the caller's buffer, as far as they go beyond
        it, and all others straight into it."""
        chunk = self.checksum.bytes_per_checksum
        end = offset + len(view)
        head_end = start + chunk if start < offset else start
        tail_start = end - end % chunk if stop > end else stop
        head = memoryview(bytearray(head_end - start))
        tail = memoryview(bytearray(stop - tail_start))
        pieces = [head, view[head_end - offset : tail_start - offset], tail]
        self._fill([piece for piece in pieces if piece], start)
        self._check(start, pieces)
        view[: head_end - offset] = head[offset - start :] if head else b""
        view[tail_start - offset :] = tail[: end - tail_start]

    def view(self, offset: int, count: int) -> memoryview:
        """The same without copying: read-only memory that is the file's, checked when it is
        given, by this process or by the datanode that has locked it. It is not locked for the
        caller: what the kernel reads from the disk once more is checked by nobody."""
        whole = memoryview(self._mapping())
        if self.slot is not None and self.checksum.sum_bytes and self.slot.anchor():
            self.slot.lift()
        else:
            start, stop = self._chunks_around(offset, offset + count)
            self._check(start, [whole[start:stop]])
        return whole[offset : offset + count]

    def _chunks_around(self, offset: int, end: int) -> tuple[int, int]:
        chunk = self.checksum.bytes_per_checksum
        return offset - offset % chunk, min(end + -end % chunk, self.length_bytes)

    def _mapping(self) -> mmap.mmap:
        with self._lock:
            if self._map is None:
                self._map = mmap.mmap(self.block_fd, self.length_bytes, access=mmap.ACCESS_READ)
            return self._map

    def _fill(self, pieces: list[memoryview], offset: int) -> None:
        while pieces:
            count = os.preadv(self.block_fd, pieces, offset)
            if not count:
                raise ReplicaRevoked(f"the file of {_name(self.key)} ends at {offset}")
            offset += count
            while pieces and count >= len(pieces[0]):
                count -= len(pieces.pop(0))
            if count:
                pieces[0] = pieces[0][count:]

    def _check(self, start: int, pieces: list[memoryview]) -> None:
        """Hold chunks, which lie one after the other from `start` on, against their sums."""
        spec = self.checksum
        if not spec.sum_bytes:
            return
        first = start // spec.bytes_per_checksum
        wanted = spec.sums_length(sum(map(len, pieces)))
        sums = memoryview(os.pread(self.meta_fd, wanted, META_HEADER_BYTES + first * SUM_BYTES))
        for piece in pieces:
            own, sums = sums[: spec.sums_length(len(piece))], sums[spec.sums_length(len(piece)) :]
            # Sums that are not there fit nothing.
            whole = len(own) == spec.sums_length(len(piece))
            bad = verify_chunks(spec, piece, own) if whole else 0
            if bad >= 0:
                raise errors.ChecksumMismatch(
                    f"{_name(self.key)} is corrupt at offset "
                    f"{start + bad * spec.bytes_per_checksum}"
                )
            start += len(piece)

    # --- the end ---

    def let_go(self) -> None:
        """Close the files and tell the datanode."""
        self.close()
        if self.slot is not None:
            self._free(self.slot)

    def close(self) -> None:
        """Let go of the files; safe to repeat. Memory that `view` gave stays."""
        with self._lock:
            self.forget()

    def forget(self) -> None:
        """As `close`, in a forked child, where the lock may be a thread's that is not there."""
        if self._closed:
            return
        self._closed = True
        self._map = None
        os.close(self.block_fd)
        os.close(self.meta_fd)


def _name(key: ReplicaKey) -> str:
    return f"blk_{key[2]}_{key[3]}"


def _decode_header(data: bytes) -> ChecksumSpec:
    """How the replica is summed. Chunks that nobody makes are not read into memory at once."""
    spec = decode_meta_header(data)
    if spec.bytes_per_checksum > _MAX_CHUNK_BYTES:
        raise errors.ChecksumMismatch(f"a meta file with chunks of {spec.bytes_per_checksum} bytes")
    return spec
