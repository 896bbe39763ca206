"""Which replicas are on other storages than their policy says, and where they belong (pure).

StorageTypeDiff and Mover.Processor in Hadoop. The types that a block's replicas are on are held
against those that its policy names for as many replicas. Each surplus one is matched with a
lacking one, and moved, if there is a place:

1. best on its own datanode, to another volume: no byte goes over the network;
2. else on a datanode without a replica of the block, in the same rack before others, the one
   with the most room first; the block is on no fewer racks and in no fewer upgrade domains
   afterwards.

Types between which nothing is moved (memory) are left out on both sides.

Internal blocks of a group are blocks with one replica each. No two of them go to one datanode, and
none to one that another is about to leave. A policy that wants several types has no meaning for
them (`ErasureCodingPolicyManager.checkStoragePolicySuitableForECStripedMode`): which of them should
be where, it does not say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from howdah.balancer.state.iteration import Move
from howdah.balancer.state.nodes import (
    MOVABLE_TYPES,
    NO_DOMAINS,
    BlockPlaces,
    Group,
    GroupKey,
)
from howdah.protocol.data_transfer.blocks import StorageType


@dataclass(frozen=True, slots=True)
class Repair:
    """What is to be done for a block. `unplaced` of its replicas violate the policy, and no
    storage was found for them."""

    moves: tuple[Move, ...]
    unplaced: int


_HOT: Final = 7
"""The policy of files that have none, nor a directory that has one."""
_FOR_GROUPS: Final = (_HOT, 2, 12)
"""HOT, COLD, ALL_SSD: those that want all replicas on one type."""


def wanted_policy(policy_id: int | None, *, is_striped: bool) -> int | None:
    """Return the id of the storage policy by which a file's blocks are moved; None where they stay.
    Of a file in stripes a namenode says that it has no policy where its policy does not count."""
    if is_striped:
        return policy_id if policy_id in _FOR_GROUPS else None
    return policy_id or _HOT


def types_for(policy: Sequence[StorageType], count: int) -> list[StorageType]:
    """The types of `count` replicas: the last of the policy's is for all further ones."""
    types = list(policy[:count])
    return types + [policy[-1]] * (count - len(types)) if policy else []


def repairs(
    blocks: Iterable[BlockPlaces],
    policy: Sequence[StorageType],
    groups: Mapping[GroupKey, Group],
    racks: Mapping[str, str],
    left_bytes: dict[GroupKey, int],
    domains: Mapping[str, str] = NO_DOMAINS,
) -> Iterator[Repair]:
    """Yield what each block of a file needs, as `repair` does, with the moves of the others of its
    group in mind: these come one after the other."""
    group_id: int | None = None
    gone: list[tuple[GroupKey, GroupKey]] = []
    for block in blocks:
        if block.siblings is None:
            yield repair(block, policy, groups, racks, left_bytes, domains=domains)
            continue
        if block.moved_as != group_id:
            group_id, gone = block.moved_as, []
        siblings = list(block.siblings)
        for source_key, target_key in gone:
            siblings[siblings.index(source_key)] = target_key
        needed = repair(
            replace(block, siblings=tuple(siblings)),
            policy,
            groups,
            racks,
            left_bytes,
            taken={uuid for (uuid, _), _ in gone},
            domains=domains,
        )
        gone += [(move.source.key, move.target.key) for move in needed.moves]
        yield needed


def repair(
    block: BlockPlaces,
    policy: Sequence[StorageType],
    groups: Mapping[GroupKey, Group],
    racks: Mapping[str, str],
    left_bytes: dict[GroupKey, int],
    *,
    taken: Collection[str] = (),
    domains: Mapping[str, str] = NO_DOMAINS,
) -> Repair:
    """The moves that bring the block's replicas onto the types of its policy.

    `groups` are the storages that may take part, `racks` and `domains` those of all datanodes, and
    `left_bytes` how much room each group has, from which is taken what the moves need. Datanodes
    that are `taken` get nothing.
    """
    lacking: list[StorageType] = [
        t for t in types_for(policy, len(block.places)) if t in MOVABLE_TYPES
    ]
    surplus: list[GroupKey] = []
    for key in block.places:
        if key[1] in lacking:
            lacking.remove(key[1])
        elif key[1] in MOVABLE_TYPES:
            surplus.append(key)
    moves: list[Move] = []
    now = block
    unplaced = 0
    for source_key in surplus[: len(lacking)]:
        source = groups.get(source_key)
        target = None
        if source is not None:
            target = _target(now, source, taken, lacking, groups, racks, left_bytes, domains)
        if source is None or target is None:
            unplaced += 1
            continue
        lacking.remove(target.storage_type)
        left_bytes[target.key] -= block.length_bytes
        places = list(now.places)
        places[places.index(source_key)] = target.key
        now = replace(now, places=tuple(places))
        moves.append(Move(block, source, target, source.node))
    return Repair(tuple(moves), unplaced)


def _target(
    block: BlockPlaces,
    source: Group,
    taken: Collection[str],
    lacking: Sequence[StorageType],
    groups: Mapping[GroupKey, Group],
    racks: Mapping[str, str],
    left_bytes: Mapping[GroupKey, int],
    domains: Mapping[str, str],
) -> Group | None:
    unfit = block.nodes | set(taken)
    fit = [
        group
        for group in groups.values()
        if group.storage_type in lacking
        and left_bytes[group.key] >= block.length_bytes
        and (
            group.node.uuid == source.node.uuid
            or (
                group.node.uuid not in unfit
                and block.keeps_racks(source.node.uuid, group, racks, domains)
            )
        )
    ]
    return min(
        fit,
        key=lambda group: (
            group.node.uuid != source.node.uuid,
            group.rack != source.rack,
            -left_bytes[group.key],
            group.key,
        ),
        default=None,
    )
