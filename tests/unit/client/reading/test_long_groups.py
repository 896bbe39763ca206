"""Groups whose internal blocks are longer than 2 GiB: every number on the way has room for them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from howdah import errors
from howdah.client.reading.readers import Cancellation, ReadSource
from howdah.client.reading.striped_reader import InternalBlockLost, StripedReader
from howdah.client.thread_pool import Workers
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy, Schema

CELL = 64 << 10
POLICY = Policy(64, Schema("rs", 3, 2), CELL)
CODER = Coder("rs", 3, 2)
TWO_GIB = 1 << 31
NODE = DatanodeAddress("127.0.0.1", "localhost", "node", 1)


def data_of(layout: GroupLayout, index: int, start: int, end: int) -> bytes:
    """What a data block has there: bytes that follow from their place."""
    end = min(end, layout.block_length(index))
    return bytes((at * 31 + (at >> 8) * 7 + index * 17) & 255 for at in range(start, end))


def block_of(layout: GroupLayout, index: int, start: int, end: int) -> bytes:
    """The same, of parity too."""
    if index < 3:
        return data_of(layout, index, start, end)
    end = min(end, layout.block_length(index))
    data = [data_of(layout, one, start, end) for one in range(3)]
    parity = [bytearray(end - start) for _ in range(2)]
    CODER.encode(data, parity)
    return bytes(parity[index - 3])


class Reader:
    """A range of one of these blocks, made where it is read."""

    source = ReadSource.REMOTE

    def __init__(self, layout: GroupLayout, index: int, start: int, end: int) -> None:
        assert 0 <= start < end <= layout.block_length(index)
        self.node = NODE
        self._layout, self._index, self._end = layout, index, end
        self.position = start

    @property
    def remaining(self) -> int:
        return self._end - self.position

    def read_into(self, buffer: memoryview) -> int:
        count = min(len(buffer), self.remaining)
        at = self.position
        buffer[:count] = block_of(self._layout, self._index, at, at + count)
        self.position += count
        return count

    def view(self, count: int) -> None:
        return None

    def skip(self, count: int) -> None:
        self.position += count

    def shutdown(self) -> None: ...
    def close(self) -> None: ...


class Blocks:
    """All internal blocks but those that are lost."""

    def __init__(self, layout: GroupLayout, lost: Sequence[int]) -> None:
        self._layout, self._lost = layout, lost

    def open(self, index: int, start: int, end: int, cancellation: Cancellation) -> Reader:
        if index in self._lost:
            raise InternalBlockLost
        return Reader(self._layout, index, start, end)

    def failed(self, index: int, reader: object, error: Exception) -> None:
        raise error

    def too_few(self, missing: Sequence[int]) -> errors.HowdahError:
        return errors.BlockMissing(str(missing))


@pytest.fixture(scope="module")
def workers() -> Workers:
    return Workers(4, "reads of long groups")


LENGTHS = [3 * TWO_GIB + 5, 3 * (TWO_GIB + 3 * CELL), 3 * TWO_GIB + CELL + 100, 1 << 44]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(
    "lost", [(), *itertools.combinations(range(5), 1), (0, 1), (0, 3), (2, 4)], ids=str
)
def test_ranges_behind_two_gib_are_read_also_without_some_blocks(
    workers: Workers, length: int, lost: tuple[int, ...]
) -> None:
    layout = GroupLayout(POLICY, length)
    blocks = Blocks(layout, lost)
    for start, end in (
        (length - 100, length),
        (max(length - 2 * CELL - 3, 0), length - 1),
        (3 * TWO_GIB - 200, min(3 * TWO_GIB + 300, length)),
    ):
        reader = StripedReader(layout, CODER, blocks, start, end, NODE, workers)
        buffer = memoryview(bytearray(end - start))
        filled = 0
        while reader.remaining:
            filled += reader.read_into(buffer[filled:])
        reader.close()
        expected = b"".join(
            data_of(layout, piece.index, piece.block_offset, piece.block_offset + piece.length)
            for piece in layout.pieces(start, end)
        )
        assert bytes(buffer) == expected
