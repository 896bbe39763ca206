"""Replicas that are locked in memory, as those see them that send them over the network.

MappableBlock in Hadoop, which only local readers gain by. A block of the cache is mapped into
this process, and its meta file beside it: both are the kernel's pages of the files, as every
other reader has them. What is sent from there takes no open, no look at the meta file's header,
and one system call for all.

Rules:
- who sends borrows first; the memory is not given back before the last one is done;
- nothing is read here, the kernel reads: a file that somebody has cut ends a process that looks
  at the pages behind its end (SIGBUS), while a system call says EFAULT;
- bytes below the length stay as they are whatever is done to the replica, but for the checksum
  of a partial last chunk, which an append overwrites: that one is kept here.
"""

from __future__ import annotations

import threading

from howdah.protocol.data_transfer.checksum import ChecksumSpec

Key = tuple[str, int]
"""(pool id, block id)."""

LONGEST_BYTES = 256 * 1024
"""A packet. Of what is longer the open is a small part, and `sendfile` copies nothing."""


class MappedReplica:
    """A finalized replica that was verified. Thread-safe."""

    __slots__ = (
        "_data",
        "_is_closed",
        "_last_sum",
        "_lock",
        "_sums",
        "_users",
        "checksum",
        "generation_stamp",
        "length_bytes",
    )

    def __init__(
        self,
        generation_stamp: int,
        checksum: ChecksumSpec,
        data: memoryview,
        sums: memoryview,
        last_sum: bytes,
    ) -> None:
        """`sums` are those of all chunks; `last_sum` that of the last one, if it is partial."""
        assert checksum.sum_bytes, "a replica without checksums cannot have been verified"
        assert len(sums) == checksum.sums_length(len(data)), f"{len(sums)} bytes of checksums"
        self.generation_stamp = generation_stamp
        self.checksum = checksum
        self.length_bytes = len(data)
        self._data = data
        self._sums = sums
        self._last_sum = last_sum
        self._lock = threading.Lock()
        self._users = 0
        self._is_closed = False

    def borrow(self) -> bool:
        """Whether its bytes may be used until `give_back`; False once it is on its way out."""
        with self._lock:
            if self._is_closed:
                return False
            self._users += 1
            return True

    def give_back(self) -> None:
        with self._lock:
            assert self._users > 0, "it was not borrowed"
            self._users -= 1

    def close(self) -> bool:
        """Nobody borrows it any more. Whether nobody has it, so that the memory can go."""
        with self._lock:
            self._is_closed = True
            return not self._users

    def chunks(self, start: int, end: int) -> tuple[memoryview, bytes, memoryview]:
        """(checksums, the last one if it is kept here, data) of [start, end), both of which are
        chunks' or the end. For who has borrowed it, and to be passed to the kernel alone."""
        spec = self.checksum
        first = start // spec.bytes_per_checksum * spec.sum_bytes
        last = first + spec.sums_length(end - start)
        kept = self._last_sum if end == self.length_bytes else b""
        return self._sums[first : last - len(kept)], kept, self._data[start:end]
