"""Which datanode is to lose its replica for one that was moved elsewhere (pure).

The `delNodeHint` of BlockManager.addStoredBlock, and useDelHint of Hadoop's
BlockPlacementPolicyDefault. A balancer copies a replica from a full datanode to an empty one; the
target reports it with the full one as a hint. Without the hint the replica in excess would be
chosen anew, and the move might be undone.

A hint is kept while the block has replicas in excess, and no longer: if another replica was lost
meanwhile, nothing is in excess. It is followed unless that would leave the block on fewer racks
than before the move, or otherwise worse placed by the policy in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from howdah.namenode.blocks.datanodes import Datanode, Storage

MOST_PER_BLOCK: Final = 16
"""Hints that are kept of one block."""


class MoveHints:
    """Of all blocks. Truthy while there is any."""

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
        self._by_block.pop(block_id, None)

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
