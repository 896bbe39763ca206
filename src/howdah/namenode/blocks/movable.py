"""Which blocks of a datanode a balancer may move, and where else these are (pure).

BlockManager.getBlocksWithLocations in Hadoop. The choice begins somewhere at random: who asks
again gets others. Rules:

- complete blocks only, of a minimal length;
- none of a storage without a full report since its datanode registered;
- blocks of files that were read of late come last, if at all: to move them hurts readers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Final, Protocol

from howdah.namenode.blocks.datanodes import Datanode, Storage
from howdah.namenode.inodes.block_table import Block, BlockState, BlockTable

SLICE_BLOCKS: Final = 2000
"""Blocks that are looked at in one slice: some milliseconds."""


class Dice(Protocol):
    """The random source: `random.Random` fits."""

    def randrange(self, stop: int, /) -> int: ...


def movable_blocks(
    node: Datanode,
    blocks: BlockTable,
    dice: Dice,
    *,
    size_bytes: int,
    min_block_bytes: int,
    storage_type: int | None = None,
    is_hot: Callable[[Block], bool] | None = None,
) -> Generator[None, None, list[Block]]:
    """Blocks with replicas on the node, of `size_bytes` together or a little more; those that
    are hot after the others. `storage_type` is a number on the wire; None is all.

    A generator that yields every few milliseconds; the blocks are its return value.
    """
    storages = [
        storage
        for storage in node.storages.values()
        if storage.reported and not storage.failed
        if storage_type is None or storage.storage_type == storage_type
    ]
    found: list[Block] = []
    hot: list[Block] = []
    left_bytes = size_bytes
    for number, block_id in enumerate(_from_anywhere(storages, dice), 1):
        if left_bytes <= 0:
            return found
        block = blocks.get(block_id)
        if (
            block is not None
            and block.state is BlockState.COMPLETE
            and block.length_bytes >= min_block_bytes
        ):
            if is_hot is not None and is_hot(block):
                hot.append(block)
            else:
                found.append(block)
                left_bytes -= block.length_bytes
        if number % SLICE_BLOCKS == 0:
            yield
    for block in hot:
        if left_bytes <= 0:
            break
        found.append(block)
        left_bytes -= block.length_bytes
    return found


def _from_anywhere(storages: list[Storage], dice: Dice) -> Iterator[int]:
    """The ids of all blocks on the storages, each once, from a random one on."""
    count = sum(len(storage.block_ids) for storage in storages)
    if not count:
        return
    start = dice.randrange(count)
    first = 0
    while start >= len(storages[first].block_ids):
        start -= len(storages[first].block_ids)
        first += 1
    yield from storages[first].block_ids.all_from(start)
    for storage in (*storages[first + 1 :], *storages[:first]):
        yield from storage.block_ids
