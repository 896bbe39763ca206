"""Which racks and upgrade domains the replicas of a block should be on (pure; FS-136 to FS-144).

Hadoop's `BlockPlacementPolicyDefault` and those that it has beside it, which
`dfs.block.replicator.classname` chooses by name:

| class | replicas are |
|---|---|
| `BlockPlacementPolicyDefault` | on two racks |
| `BlockPlacementPolicyRackFaultTolerant` | on as many racks as there are replicas (LM-024) |
| `AvailableSpaceBlockPlacementPolicy` | as by default, rather on nodes with more room |
| `AvailableSpaceRackFaultTolerantBlockPlacementPolicy` | both of these |
| `BlockPlacementPolicyWithUpgradeDomain` | as by default, in different upgrade domains |

A policy has two answers. `scopes` says where the next replica may go, the best first;
`lacking` how far a set of replicas is from what it should be. Neither knows whether a node
has room: that is the business of `placement`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.namenode.state.blocks.datanodes import Datanode

ENOUGH_RACKS: Final = 2
"""The loss of a rack costs no block then."""

EMPTY_ENOUGH_PERCENT: Final = 50
"""A writer's own node that is less full than this is as good as any other."""


class Chance(Protocol):
    """The random source: `random.Random` fits."""

    def randrange(self, stop: int, /) -> int: ...


class Extent(Protocol):
    """How large the cluster is: `network.Network` fits."""

    @property
    def rack_count(self) -> int: ...

    @property
    def domain_count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Scope:
    """Nodes among which one is drawn: those on one rack, or those `outside` of some racks.
    With `new_domain` only those in an upgrade domain that has no replica yet."""

    rack: str | None = None
    outside: frozenset[str] = frozenset()
    new_domain: bool = False


@dataclass(frozen=True, slots=True)
class RoomFirst:
    """Of two nodes that are drawn the emptier one is taken in `percent` of a hundred cases,
    unless they differ by less than `tolerance_percent` and neither is as full as
    `limit_percent`. With `local` the writer's own node competes with others of its rack."""

    percent: int = 60
    tolerance_percent: int = 5
    limit_percent: int = 100
    local: bool = False

    def chosen(
        self, first: Datanode, second: Datanode, dice: Chance, *, is_local: bool = False
    ) -> Datanode:
        """One of the two; `is_local`: the first is the writer's own."""
        fullness = (used_percent(first), used_percent(second))
        if is_local and fullness[0] < EMPTY_ENOUGH_PERCENT:
            return first
        difference = abs(fullness[0] - fullness[1])
        if max(fullness) < self.limit_percent and difference < self.tolerance_percent:
            return first
        emptier, fuller = (first, second) if fullness[0] <= fullness[1] else (second, first)
        return emptier if dice.randrange(100) < self.percent else fuller


def used_percent(node: Datanode) -> float:
    """How much of its room has blocks in it."""
    capacity = node.capacity_bytes
    return 100 * node.used_bytes / capacity if capacity else 100.0


@dataclass(frozen=True, slots=True)
class Policy:
    """`spreads`: each replica on a rack of its own, as far as there are racks. `domains`:
    so many replicas are in upgrade domains of their own; 0 if these mean nothing."""

    name: str = "BlockPlacementPolicyDefault"
    spreads: bool = False
    room: RoomFirst | None = None
    domains: int = 0

    def racks_wanted(self, replicas: int, extent: Extent) -> int:
        """On how many racks so many replicas should be."""
        enough = replicas if self.spreads else min(replicas, ENOUGH_RACKS)
        return min(enough, extent.rack_count)

    def lacking(self, holders: Sequence[Datanode], replicas: int, extent: Extent) -> int:
        """In how many more racks and upgrade domains the replicas on these nodes should be, if
        there are to be so many replicas; 0 if they are well placed."""
        racks = len({node.location for node in holders})
        lacking = max(0, self.racks_wanted(replicas, extent) - racks)
        if self.domains:
            wanted = min(self.domains, replicas, extent.domain_count)
            lacking += max(0, wanted - len({domain_of(node) for node in holders}))
        return lacking

    def needs_racks(self, holders: Sequence[Datanode], replicas: int, extent: Extent) -> bool:
        racks = len({node.location for node in holders})
        return racks < self.racks_wanted(replicas, extent)

    def scopes(
        self, holders: Sequence[Datanode], replicas: int, near: str | None, extent: Extent
    ) -> list[Scope]:
        """Where the next replica goes, the best first; the last one is anywhere. `holders` have
        one, in order, there are to be `replicas`, and `near` is the rack of the writer."""
        if extent.rack_count < 2 and not self.domains:
            return _ANYWHERE
        on_racks = Counter(node.location for node in holders)
        occupied = frozenset(on_racks)
        must: list[Scope] = []
        if holders and self.needs_racks(holders, replicas, extent):
            must.append(Scope(outside=occupied))
        may: list[Scope] = []
        if not holders:
            if near is not None:
                may.append(Scope(rack=near))
        elif self.spreads:
            for level in range(1, max(on_racks.values()) + 1):
                may.append(Scope(outside=_crowded(on_racks, level)))
        elif len(holders) == 2 and not must and len(on_racks) == 2:
            may.append(Scope(rack=holders[1].location))
        most = (replicas - 1) // max(extent.rack_count, 1) + 2
        may += [Scope(outside=_crowded(on_racks, most)), Scope()]
        if not holders or len({domain_of(node) for node in holders}) >= self.domains:
            return [*must, *may]
        return [*_in_new_domain(must), *must, *_in_new_domain(may), *may]

    def most_on_a_rack(self, replicas: int, extent: Extent) -> int:
        """A rack with so many replicas gets no more, as long as there are others."""
        return (replicas - 1) // max(extent.rack_count, 1) + 2


BY_DEFAULT: Final = Policy()
SPREAD: Final = Policy("BlockPlacementPolicyRackFaultTolerant", spreads=True)
_ANYWHERE: Final = [Scope()]


def _in_new_domain(scopes: Sequence[Scope]) -> list[Scope]:
    return [Scope(scope.rack, scope.outside, new_domain=True) for scope in scopes]


def _crowded(on_racks: Counter[str], most: int) -> frozenset[str]:
    return frozenset(rack for rack, count in on_racks.items() if count >= most)


def domain_of(node: Datanode) -> str:
    """A node without an upgrade domain is one of its own."""
    return node.upgrade_domain or node.identity.uuid


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """What the configuration says to the policies that want to know it."""

    room: RoomFirst = RoomFirst()
    room_when_spread: RoomFirst = RoomFirst()
    domains: int = 3


_REFUSED: Final = {
    "BlockPlacementPolicyWithNodeGroup": "node groups are not supported",
    "BlockPlacementPolicyRackFaultTolarent": (
        "it is BlockPlacementPolicyRackFaultTolerant in this version of Hadoop"
    ),
}


def policy_named(class_name: str, figures: PolicyFigures, key: str) -> Policy:
    """Return the policy of Hadoop's class of that name, with or without its package. Raises
    InvalidConfiguration, which names the `key`, for one that is not here."""
    name = class_name.strip().rpartition(".")[2]
    policies = {
        policy.name: policy
        for policy in (
            BY_DEFAULT,
            SPREAD,
            Policy("AvailableSpaceBlockPlacementPolicy", room=figures.room),
            Policy(
                "AvailableSpaceRackFaultTolerantBlockPlacementPolicy",
                spreads=True,
                room=figures.room_when_spread,
            ),
            Policy("BlockPlacementPolicyWithUpgradeDomain", domains=figures.domains),
        )
    }
    policy = policies.get(name)
    if policy is None:
        why = _REFUSED.get(name, "it is not known")
        raise errors.InvalidConfiguration(
            f"{key} = {class_name}: {why}; there are {', '.join(policies)}"
        )
    return policy
