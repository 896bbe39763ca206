"""Which datanodes get the replicas of a block (pure; FS-136 to FS-144).

The work of Hadoop's `BlockPlacementPolicyDefault`; `policies` has the rules by which it and
its relatives differ. The rules by default: the first replica goes to the writer's own
datanode, or to a random one; the second to another rack than the first; the third to the
second's rack; further ones anywhere, with at most `(n - 1) // racks + 2` on a rack.

1. A policy names scopes for the next replica, the best first, as racks.
2. From a scope a node is drawn that can take the replica: it is alive and in service, has no
   replica yet, and has a volume of a type that is wanted with room for the block. Stale and
   busy nodes are taken where a scope has no other.
3. A scope without such a node makes way for the next. The last scope is anywhere, so
   constraints are dropped before replicas are.

No datanode gets two replicas. A writer may name datanodes that it favors (`favoredNodes` of
`addBlock`). They come first if they are as good as others: alive, with room, neither stale
nor busy, no rack crowded. The other replicas follow the rules. A writer that wants no
replica on its own datanode gets one there only where there are too few others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.namenode.state.blocks import topology
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.blocks.network import Dice, Network
from howdah.namenode.state.blocks.policies import BY_DEFAULT, Policy, Scope, domain_of
from howdah.namenode.state.inodes.storage_policies import name_on_the_wire

SHOWN_NAMES: Final = 5
"""Of so many nodes a message gives the names."""


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


@dataclass(frozen=True, slots=True)
class LoadRule:
    """A node with more than `factor` times the mean load of all is busy; `by_kind`: the mean
    load of those with a volume of the type that is wanted."""

    factor: float = 2.0
    by_kind: bool = False


TWICE_THE_MEAN: Final = LoadRule()


class Placement:
    """Chooses datanodes by a policy."""

    def __init__(
        self,
        network: Network,
        dice: Dice,
        policy: Policy | None = None,
        load: LoadRule | None = None,
    ) -> None:
        """Without `load` no node is busy."""
        self.network: Final = network
        self.policy = policy or BY_DEFAULT
        self.dice: Final = dice
        self.load: Final = load
        self.looks = 0
        """At how many nodes it has looked since the start."""

    # Sets of replicas.

    def change_policy(self, policy: Policy) -> None:
        """From now on. All blocks are looked at again, as when the racks change."""
        self.policy = policy
        self.network.version += 1

    @property
    def is_trivial(self) -> bool:
        """Whether every set of replicas is well placed."""
        return self.network.rack_count < 2 and not self.policy.domains

    def lacking(self, holders: Sequence[Datanode], replicas: int) -> int:
        """In how many more racks and upgrade domains a block with replicas on these nodes should
        be, if it is to have so many replicas; 0 if it is well placed."""
        if self.is_trivial:
            return 0
        return self.policy.lacking(holders, replicas, self.network)

    # Choosing.

    def choose(
        self,
        count: int,
        *,
        block_size_bytes: int,
        kinds: Sequence[int] = (),
        fallbacks: Sequence[int] = (),
        writer: Datanode | None = None,
        writer_location: str | None = None,
        spare_writer: bool = False,
        favored: Sequence[Datanode] = (),
        excluded: Collection[str] = (),
        present: Sequence[Datanode] = (),
        avoid: Callable[[Datanode], bool] | None = None,
    ) -> list[Storage]:
        """Up to `count` storages, in pipeline order; fewer if there are not enough nodes.

        `excluded` are uuids the client does not want; `present` are nodes that hold a
        replica already (their racks count); nodes to `avoid` and busy ones are taken only
        where a scope has no others. `kinds` are the storage types to place on, one a replica,
        and `fallbacks` those to take where there is none of them; without kinds any will do.
        `spare_writer`: the writer wants none on its own node.
        """
        choice = _Choice(self, block_size_bytes, kinds, fallbacks, present, excluded, avoid)
        choice.choose(count, writer, writer_location, favored, spare_writer=spare_writer)
        if spare_writer and len(choice.storages) < count:
            choice = _Choice(self, block_size_bytes, kinds, fallbacks, present, excluded, avoid)
            choice.choose(count, writer, writer_location, favored)
        nodes = _pipeline_order(list(choice.storages), writer)
        return [choice.storages[node] for node in nodes]

    def choose_better(
        self,
        replicas: int,
        *,
        block_size_bytes: int,
        present: Sequence[Datanode],
        removable: Sequence[Datanode],
        kinds: Sequence[int] = (),
        excluded: Collection[str] = (),
        avoid: Callable[[Datanode], bool] | None = None,
    ) -> Storage | None:
        """Choose where another replica makes a badly placed block a better placed one, once one of
        the `removable` is deleted, if there are any. None if there is no such place."""
        before = self.lacking(present, replicas)
        choice = _Choice(self, block_size_bytes, kinds, kinds, present, excluded, avoid)

        def is_better(node: Datanode) -> bool:
            after = [*present, node]
            if not removable:
                return self.lacking(after, replicas) < before
            return any(self.lacking(without(after, gone), replicas) < before for gone in removable)

        racks = frozenset(node.location for node in present)
        scope = Scope(outside=racks)
        if not self.policy.needs_racks(present, replicas, self.network):
            scope = Scope(new_domain=True)
        for kind in dict.fromkeys(kinds) or (None,):
            storage = choice.draw(scope, kind, is_better)
            if storage is not None:
                return storage
        return None


def without(nodes: Sequence[Datanode], gone: Datanode) -> list[Datanode]:
    """Those nodes, but one time less the one that is gone: it may have two blocks of a group."""
    left = list(nodes)
    left.remove(gone)
    return left


class _Choice:
    """The replicas of one block, while they are placed."""

    def __init__(
        self,
        placement: Placement,
        block_size_bytes: int,
        kinds: Sequence[int],
        fallbacks: Sequence[int],
        present: Sequence[Datanode],
        excluded: Collection[str],
        avoid: Callable[[Datanode], bool] | None,
    ) -> None:
        self._placement = placement
        self._block_size_bytes = block_size_bytes
        self._wanted = list(kinds)
        # What `_wanted` has, each once; and the same of the fallbacks.
        self._kinds: Sequence[int | None] = _each_once(kinds) if kinds else _ANY_KIND
        self._fallbacks: Sequence[int | None] = _each_once(fallbacks) if kinds else ()
        self._excluded = excluded
        self._avoid = avoid
        self._holders = list(present)
        self.storages: dict[Datanode, Storage] = {}

    def choose(
        self,
        count: int,
        writer: Datanode | None,
        writer_location: str | None,
        favored: Sequence[Datanode],
        *,
        spare_writer: bool = False,
    ) -> None:
        policy, network = self._placement.policy, self._placement.network
        replicas = len(self._holders) + count
        near = writer.location if writer is not None else writer_location
        if spare_writer and writer is not None:
            self._excluded = {*self._excluded, writer.identity.uuid}
        for node in favored:
            most = policy.most_on_a_rack(replicas, network)
            on_racks = Counter(holder.location for holder in self._holders)
            if len(self.storages) < count and on_racks[node.location] < most:
                self._take_favored(node)
        for _ in range(count - len(self.storages)):
            own = writer if not self._holders else None
            scopes = policy.scopes(self._holders, replicas, near, network)
            if not (
                self._choose_one(own, scopes, self._kinds)
                or self._choose_one(own, scopes, self._fallbacks)
            ):
                break

    def _take_favored(self, node: Datanode) -> None:
        for kind in self._kinds:
            storage = self._fits(node, kind)
            if storage is not None and not any(self._demerits(node, kind)):
                self._add(storage)
                return

    def _choose_one(
        self, own: Datanode | None, scopes: Sequence[Scope], kinds: Sequence[int | None]
    ) -> bool:
        """One more replica, on a storage of one of these types, and in the first scope that
        has one; on the writer's own node if that can be."""
        if own is not None:
            for kind in kinds:
                storage = self._fits(own, kind)
                if storage is not None:
                    self._add(self._emptier(storage, kind))
                    return True
        for scope in scopes:
            for kind in kinds:
                storage = self.draw(scope, kind)
                if storage is not None:
                    self._add(storage)
                    return True
        return False

    def _add(self, storage: Storage) -> None:
        self.storages[storage.node] = storage
        self._holders.append(storage.node)
        if self._wanted:
            kind = storage.storage_type
            self._wanted.remove(kind if kind in self._wanted else self._wanted[0])
            if len(self._kinds) > 1 or not self._wanted:
                self._kinds = _each_once(self._wanted)

    def _emptier(self, own: Storage, kind: int | None) -> Storage:
        """The writer's own, or one on its rack if the policy prefers nodes with more room."""
        room = self._placement.policy.room
        if room is None or not room.local:
            return own
        other = self.draw(Scope(rack=own.node.location), kind, lambda node: node is not own.node)
        if other is None:
            return own
        chosen = room.chosen(own.node, other.node, self._placement.dice, is_local=True)
        return own if chosen is own.node else other

    def draw(
        self,
        scope: Scope,
        kind: int | None,
        suits: Callable[[Datanode], bool] | None = None,
    ) -> Storage | None:
        """A storage on a random node of the scope."""
        placement = self._placement
        pool = placement.network.pool(kind)
        room = placement.policy.room
        domains = {domain_of(holder) for holder in self._holders} if scope.new_domain else ()
        first: Storage | None = None
        makeshift: Storage | None = None
        least: tuple[bool, bool] | None = None
        for node in pool.draw(placement.dice, rack=scope.rack, outside=scope.outside):
            placement.looks += 1
            storage = self._fits(node, kind)
            if storage is None or (domains and domain_of(node) in domains):
                continue
            if suits is not None and not suits(node):
                continue
            demerits = self._demerits(node, kind)
            if demerits != _NO_DEMERITS:
                if least is None or demerits < least:
                    makeshift, least = storage, demerits
            elif room is None:
                return storage
            elif first is None:
                first = storage
            else:
                chosen = room.chosen(first.node, node, placement.dice)
                return first if chosen is first.node else storage
        return makeshift if first is None else first

    def _fits(self, node: Datanode, kind: int | None) -> Storage | None:
        """The node's storage for a replica, if it can take one."""
        if (
            node in self._holders
            or not node.alive
            or not node.in_service
            or (self._excluded and node.identity.uuid in self._excluded)
        ):
            return None
        return usable_storage(node, self._block_size_bytes, kind)

    def _demerits(self, node: Datanode, kind: int | None) -> tuple[bool, bool]:
        """Whether the node is to be avoided, and whether it is busy."""
        avoid, rule = self._avoid, self._placement.load
        is_avoided = avoid is not None and avoid(node)
        if rule is None or not node.xceivers:
            return is_avoided, False
        mean = self._placement.network.pool(kind if rule.by_kind else None).mean_load
        return is_avoided, node.xceivers > rule.factor * mean + 1


_ANY_KIND: Final[Sequence[int | None]] = (None,)
_NO_DEMERITS: Final = (False, False)


def _each_once(kinds: Sequence[int]) -> Sequence[int]:
    return tuple(dict.fromkeys(kinds))


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
    if all(node.location == start.location for node in remaining):
        return ordered + remaining  # Each is as close as any other.
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
