"""What balancers move: which blocks of a datanode may go, and which replica goes for one that
has come (pure).

Blocks that may be moved (BlockManager.getBlocksWithLocations in Hadoop): the choice begins
somewhere at random, so who asks again gets others. Rules:

- complete blocks only, of a minimal length;
- none of a storage without a full report since its datanode registered;
- blocks of files that were read of late come last, if at all: to move them hurts readers;
- a block group is one block, of which a balancer moves the internal block that the datanode has.
  Its minimal length is the group's, and its size that of one internal block.

Which datanode is to lose its replica for one that was moved elsewhere (the `delNodeHint` of
BlockManager.addStoredBlock, and useDelHint of Hadoop's BlockPlacementPolicyDefault): a balancer
copies a replica from a full datanode to an empty one, and the target reports it with the full one
as a hint. Without the hint the replica in excess would be chosen anew, and the move might be
undone. A hint is kept while the block has replicas in excess, and no longer: if another replica
was lost meanwhile, nothing is in excess. It is followed unless that would leave the block on fewer
racks than before the move, or otherwise worse placed by the policy in use.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Final, Protocol

from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.inodes.block_table import Block, BlockState, BlockTable
from howdah.namenode.state.inodes.group_table import Group, Internal
from howdah.namenode.state.inodes.limits import GROUP_IDS
from howdah.protocol.striping.layout import is_striped

SLICE_BLOCKS: Final = 2000
"""Blocks that are looked at in one slice: some milliseconds."""
MOST_PER_BLOCK: Final = 16
"""Hints that are kept of one block."""


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
    """Choose blocks with replicas on the node, of `size_bytes` together or a little more; those
    that are hot after the others. `storage_type` is a number on the wire; None is all.

    A generator that yields every few milliseconds; the blocks are its return value.
    """
    storages = [
        storage
        for storage in node.storages.values()
        if storage.reported and not storage.failed
        if storage_type is None or storage.storage_type == storage_type
    ]
    chosen: list[Block] = []
    hot: list[Block] = []
    left_bytes = size_bytes
    groups: set[int] = set()
    for number, block_id in enumerate(_from_anywhere(storages, dice), 1):
        if left_bytes <= 0:
            return chosen
        held = blocks.reported_as(block_id)
        block = held.group if isinstance(held, Internal) else held
        if (
            held is not None
            and block is not None
            and block.state is BlockState.COMPLETE
            and block.length_bytes >= min_block_bytes
            and block.block_id not in groups
        ):
            if held is not block:
                # The datanode may have several of its internal blocks.
                groups.add(block.block_id)
            if is_hot is not None and is_hot(block):
                hot.append(block)
            else:
                chosen.append(block)
                left_bytes -= _moved_bytes(block)
        if number % SLICE_BLOCKS == 0:
            yield
    for block in hot:
        if left_bytes <= 0:
            break
        chosen.append(block)
        left_bytes -= _moved_bytes(block)
    return chosen


def _moved_bytes(block: Block) -> int:
    """Return what one move takes; of a group, of an internal block that is as long as any."""
    if isinstance(block, Group):
        return block.layout.block_length(0)
    return block.length_bytes


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


class MoveHints:
    """The hints of all blocks. Truthy while there is any."""

    def __init__(self) -> None:
        self._by_block: dict[int, list[tuple[Datanode, Storage]]] = {}

    def __len__(self) -> int:
        return len(self._by_block)

    def __iter__(self) -> Iterator[int]:
        """The blocks, by id."""
        return iter(self._by_block)

    def note(self, block_id: int, source: Datanode, target: Storage) -> None:
        """A replica at `target` has come, for which the one of `source` may go."""
        hints = self._by_block.setdefault(block_id, [])
        if len(hints) < MOST_PER_BLOCK:
            hints.append((source, target))

    def forget(self, block_id: int) -> None:
        """Nothing of the block is in excess any more, nor of any internal block of a group."""
        if not self._by_block:
            return
        for reported_id in range(block_id, block_id + (GROUP_IDS if is_striped(block_id) else 1)):
            self._by_block.pop(reported_id, None)

    def clear(self) -> None:
        self._by_block.clear()

    def victim(
        self,
        block_id: int,
        candidates: Iterable[Storage],
        racks: Mapping[str, int],
        lacking_without: Callable[[Storage], int],
    ) -> Storage | None:
        """The storage among the `candidates` whose replica a hint gives up. `racks` are the
        replicas in service on each rack; `lacking_without` says of how many places the policy
        finds too few if that replica goes. The hint is used up."""
        hints = self._by_block.get(block_id)
        if not hints:
            return None
        by_node = {storage.node: storage for storage in candidates}
        for index, (source, target) in enumerate(hints):
            storage = by_node.get(source)
            # The rack keeps another replica, or the move has brought the block to a new rack.
            if (
                storage is not None
                and (racks.get(source.location, 0) > 1 or racks.get(target.node.location, 0) == 1)
                and lacking_without(storage) <= lacking_without(target)
            ):
                del hints[index]
                return storage
        return None
