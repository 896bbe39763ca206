"""Which replica of a block is one too many (pure; FS-015).

Hadoop's `BlockPlacementPolicyDefault.chooseReplicasToDelete`. Of the replicas that may be
deleted it is the first by this order:

1. One that an earlier order may delete anyway.
2. One without which the others are on as many racks, and in as many upgrade domains, as they
   should be, or on the fewest less.
3. One on a type of storage that has more replicas than the storage policy of the file wants.
4. One on the rack with the most replicas.
5. One on a datanode that has said nothing for a while, the longest silent first.
6. One on the storage with the least room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from howdah.namenode.state.blocks.datanodes import Datanode, Storage

SILENT_MS: Final = 12_000
"""A datanode that has said nothing for longer than four heartbeats may be in trouble."""


def excess_kinds(live: Sequence[Storage], wanted: Sequence[int]) -> frozenset[int]:
    """The types of storage that have more replicas than are wanted on them."""
    more = Counter(storage.storage_type for storage in live)
    more.subtract(Counter(wanted))
    return frozenset(kind for kind, count in more.items() if count > 0)


def choose_excess(
    block_id: int,
    candidates: Sequence[Storage],
    live: Sequence[Storage],
    *,
    lacking_without: Callable[[Storage], int],
    wanted_kinds: Sequence[int],
    now_ms: int,
) -> Storage | None:
    """One of the candidates, which are some of the `live` replicas. `lacking_without` says in
    how many more racks and upgrade domains the others should be; `wanted_kinds` are the types
    of storage that as many replicas as are expected should be on."""
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    racks = Counter(storage.node.location for storage in live)
    surplus = excess_kinds(live, wanted_kinds)

    def order(storage: Storage) -> tuple[bool, int, bool, int, int, int, str]:
        node = storage.node
        return (
            block_id in node.maybe_invalidated,
            -lacking_without(storage),
            storage.storage_type in surplus,
            racks[node.location],
            _silence_ms(node, now_ms),
            -storage.remaining_bytes,
            storage.storage_id,
        )

    return max(candidates, key=order)


def _silence_ms(node: Datanode, now_ms: int) -> int:
    silence_ms = now_ms - node.last_heartbeat_ms
    return silence_ms if silence_ms > SILENT_MS else 0
