"""Where the replicas of a new block go (pure; FS-136 to FS-144).

Hadoop's `BlockPlacementPolicyDefault`. The first replica goes to the writer's own
datanode, or to a random one; the second to another rack than the first; the third to the
second's rack; further ones anywhere, with at most `(n - 1) // racks + 2` on a rack. No
datanode gets two. Where the rules find no datanode (one rack only, full datanodes), any
good one is taken: constraints are dropped before replicas are.

A writer may name datanodes that it favors (`favoredNodes` of `addBlock`). They come first
if they are as good as others: alive, with room, neither stale nor busy, no rack crowded.
The other replicas follow the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Protocol

from howdah.namenode.blocks import topology
from howdah.namenode.blocks.datanodes import Datanode, Storage
from howdah.namenode.inodes.storage_policies import name_on_the_wire

SHOWN_NAMES: Final = 5
"""Of so many nodes a message gives the names."""


class Dice(Protocol):
    """The random source: `random.Random` fits."""

    def shuffle(self, x: list[Datanode], /) -> None: ...


def usable_storage(
    node: Datanode, block_size_bytes: int, kind: int | None = None
) -> Storage | None:
    """The node's emptiest storage (of a type, by its number on the wire) that has room for
    a whole block."""
    best: Storage | None = None
    for storage in node.storages.values():
        if storage.failed or storage.remaining_bytes < block_size_bytes:
            continue
        if kind is not None and storage.storage_type != kind:
            continue
        if best is None or storage.remaining_bytes > best.remaining_bytes:
            best = storage
    return best


def choose_targets(
    nodes: Iterable[Datanode],
    count: int,
    *,
    block_size_bytes: int,
    dice: Dice,
    kinds: Sequence[int] = (),
    fallbacks: Sequence[int] = (),
    writer: Datanode | None = None,
    writer_location: str | None = None,
    favored: Sequence[Datanode] = (),
    excluded: Collection[str] = (),
    present: Collection[Datanode] = (),
    avoid: Callable[[Datanode], bool] = lambda node: False,
    busy_factor: float | None = 2.0,
) -> list[Storage]:
    """Up to `count` storages, in pipeline order; fewer if there are not enough nodes.

    Nodes that are decommissioned or in maintenance, or about to be, are never chosen.
    `excluded` are uuids the client does not want; `present` are nodes that hold a
    replica already (their racks count); nodes to `avoid` are taken only when
    nothing else is left, and so are those with more than `busy_factor` times the mean
    load, if that is given. `kinds` are the storage types to place on, one a replica, and
    `fallbacks` those to take where there is none of them; without kinds any will do.
    """
    pool: list[Datanode] = []
    for node in nodes:
        if not node.alive or not node.in_service:
            continue
        if node.identity.uuid in excluded or node in present:
            continue
        if usable_storage(node, block_size_bytes) is not None:
            pool.append(node)
    shuffled = pool
    dice.shuffle(shuffled)
    remaining = list(kinds)
    storages: dict[Datanode, Storage] = {}

    def place(node: Datanode, allowed: Sequence[int]) -> Storage | None:
        if not kinds:
            return usable_storage(node, block_size_bytes)
        for kind in dict.fromkeys(allowed):
            storage = usable_storage(node, block_size_bytes, kind)
            if storage is not None:
                if remaining:
                    remaining.remove(kind if kind in remaining else remaining[0])
                return storage
        return None

    load = sum(n.xceivers for n in shuffled) / len(shuffled) if shuffled else 0.0

    def is_busy(node: Datanode) -> bool:
        return busy_factor is not None and node.xceivers > busy_factor * load + 1

    # Sorting is stable: among equals the shuffle decides.
    shuffled.sort(key=lambda n: (avoid(n), is_busy(n)))

    racks = {node.location for node in shuffled} | {node.location for node in present}
    total = count + len(present)
    max_per_rack = (total - 1) // max(len(racks), 1) + 2
    chosen: list[Datanode] = []
    holders = list(present)

    def take(wanted: Callable[[Datanode], bool], allowed: Sequence[int]) -> bool:
        for node in shuffled:
            if node not in chosen and wanted(node):
                storage = place(node, allowed)
                if storage is None:
                    continue
                storages[node] = storage
                chosen.append(node)
                holders.append(node)
                return True
        return False

    def anywhere(node: Datanode) -> bool:
        on_rack = sum(1 for other in holders if other.location == node.location)
        return on_rack < max_per_rack

    def rule(position: int) -> list[Callable[[Datanode], bool]]:
        """Wishes for the replica at `position`, the strictest first."""
        if position == 0:
            wishes: list[Callable[[Datanode], bool]] = []
            if writer is not None:
                wishes.append(lambda n: n is writer)
            near = writer.location if writer is not None else writer_location
            if near is not None:
                wishes.append(lambda n: n.location == near)
            return wishes
        first = holders[0].location
        if position == 1:
            return [lambda n: n.location != first]
        if position == 2:
            second = holders[1].location
            if first == second:
                return [lambda n: n.location != first]
            return [lambda n: n.location == second]
        return []

    for node in favored:
        if len(chosen) < count and not avoid(node) and not is_busy(node) and anywhere(node):
            # Its default binds the node; types of lambdas can't say that.
            take(lambda n, wanted=node: n is wanted, remaining)  # type: ignore[misc]
    while len(chosen) < count:
        wishes = [*rule(len(holders)), anywhere, lambda n: True]
        if not any(take(wish, allowed) for allowed in (remaining, fallbacks) for wish in wishes):
            break
    return [storages[node] for node in _pipeline_order(chosen, writer)]


def why_fewer(
    nodes: Iterable[Datanode],
    block_size_bytes: int,
    kinds: Collection[int],
    excluded: Collection[str],
    chosen: Collection[Storage],
) -> str:
    """Why the nodes that were not chosen got no replica, in words: how many of them for
    which reason, and the first few names. `kinds` are the types that would do, if not any."""
    taken = {storage.node for storage in chosen}
    reasons: dict[str, list[str]] = {}
    for node in nodes:
        if node in taken:
            continue
        if not node.alive:
            why = "dead"
        elif not node.in_service:
            why = "in maintenance" if node.admin_state.is_maintenance else "decommissioned"
        elif node.identity.uuid in excluded:
            why = "excluded by the client"
        else:
            why = _what_it_lacks(node, block_size_bytes, kinds)
        reasons.setdefault(why, []).append(node.name)
    if not reasons:
        return f"all {len(taken)} datanodes have one" if taken else "no datanode has registered"
    return ", ".join(
        f"{len(names)} {why} ({', '.join(names[:SHOWN_NAMES])}"
        f"{', …' if len(names) > SHOWN_NAMES else ''})"
        for why, names in reasons.items()
    )


def _what_it_lacks(node: Datanode, block_size_bytes: int, kinds: Collection[int]) -> str:
    usable = [s for s in node.storages.values() if not s.failed]
    if not usable:
        return "without a volume"
    if kinds:
        usable = [storage for storage in usable if storage.storage_type in kinds]
        if not usable:
            names = " or ".join(name_on_the_wire(kind) for kind in sorted(kinds))
            return f"without {names}"
    if all(storage.remaining_bytes < block_size_bytes for storage in usable):
        return f"without room for a block of {block_size_bytes} bytes"
    return "passed over"


def _pipeline_order(nodes: list[Datanode], writer: Datanode | None) -> list[Datanode]:
    """Each next node the one closest to the one before: a rack's border is crossed once."""
    if len(nodes) < 3:
        return nodes
    remaining = list(nodes)
    start = remaining[0] if writer is None or writer not in remaining else writer
    remaining.remove(start)
    ordered = [start]
    while remaining:
        last = ordered[-1]
        nearest = min(
            remaining,
            key=lambda n: topology.distance(
                last.location, last.identity.uuid, n.location, n.identity.uuid
            ),
        )
        remaining.remove(nearest)
        ordered.append(nearest)
    return ordered
