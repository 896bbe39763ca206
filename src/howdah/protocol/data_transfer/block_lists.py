"""Block reports as bytes: the `blocksBuffers` of DatanodeProtocol (pure).

A report is a run of varints, four a replica: block id (zigzag, since ids of
striped blocks are negative), bytes on disk, generation stamp, state. A long
report is cut into several buffers: ours at a border between replicas, Hadoop's
every 64 KiB wherever that falls, so only all buffers together can be read. The
older form, one packed list of longs, is not spoken: the namenode announces the
capability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from howdah import errors
from howdah.protocol.varint import decode_varint, encode_varint, zigzag

T = TypeVar("T")

MAX_BUFFER_BYTES: Final = 64 * 1024
"""Size at which a buffer is ended and the next begun."""
_UINT64: Final = (1 << 64) - 1


class ListedReplica(NamedTuple):
    """One replica of a report; `state` as in `ReplicaStateProto`, 0 is finalized."""

    block_id: int
    length_bytes: int
    generation_stamp: int
    state: int


def encode(replicas: Iterable[ListedReplica]) -> tuple[int, list[bytes]]:
    """How many replicas, and their buffers."""
    buffers: list[bytes] = []
    out = bytearray()
    count = 0
    for replica in replicas:
        count += 1
        block_id = replica.block_id
        out += encode_varint(zigzag(block_id))
        for number in (replica.length_bytes, replica.generation_stamp, replica.state):
            out += encode_varint(number & _UINT64)
        if len(out) >= MAX_BUFFER_BYTES:
            buffers.append(bytes(out))
            out.clear()
    if out:
        buffers.append(bytes(out))
    return count, buffers


class ReplicaList(Generic[T]):
    """The replicas of a report, one after the other, each as what `make` makes of the fields
    of a `ListedReplica`.

    Whoever reads the bytes of some of them by other means says so by `passed`.
    """

    __slots__ = ("_count", "_make", "_seen", "buffer", "position")

    def __init__(
        self, count: int, buffers: Iterable[bytes], make: Callable[[int, int, int, int], T]
    ) -> None:
        self.buffer: Final = b"".join(buffers)
        self.position = 0
        """Where the next replica begins."""
        self._count = count
        self._seen = 0
        self._make = make

    def passed(self, position: int, count: int) -> None:
        """`count` replicas were read up to `position`."""
        self.position = position
        self._seen += count

    def __iter__(self) -> Iterator[T]:
        """Those that are left. Raises ProtocolViolation if their number is not what was
        announced, or the last one is cut off.

        The four numbers are read in line: as calls they took as long as all that the
        namenode does with a replica that it knows.
        """
        buffer, make = self.buffer, self._make
        end = len(buffer)
        try:
            while (position := self.position) < end:
                raw_id = buffer[position]
                position += 1
                if raw_id >= 0x80:
                    raw_id, position = _long_varint(buffer, position - 1)
                length = buffer[position]
                position += 1
                if length >= 0x80:
                    length, position = _long_varint(buffer, position - 1)
                stamp = buffer[position]
                position += 1
                if stamp >= 0x80:
                    stamp, position = _long_varint(buffer, position - 1)
                state = buffer[position]
                position += 1
                if state >= 0x80:
                    state, position = _long_varint(buffer, position - 1)
                self._seen += 1
                self.position = position
                yield make((raw_id >> 1) ^ -(raw_id & 1), length, stamp, state)
        except IndexError as error:
            raise errors.ProtocolViolation("a block report ends inside a replica") from error
        if self._seen != self._count:
            raise errors.ProtocolViolation(
                f"a block report announces {self._count} replicas and lists {self._seen}"
            )


def decode(
    count: int,
    buffers: Iterable[bytes],
    make: Callable[[int, int, int, int], T] = ListedReplica,  # type: ignore[assignment]
) -> ReplicaList[T]:
    """The `count` replicas that the buffers of a report have."""
    return ReplicaList(count, buffers, make)


def _long_varint(buffer: bytes, start: int) -> tuple[int, int]:
    """The varint of several bytes at `start`, and the position after it. Raises IndexError where
    the buffer ends."""
    found = decode_varint(buffer, start)
    if found is None:
        raise IndexError
    return found
