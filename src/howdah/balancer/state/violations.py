"""Which replicas are on other storages than their policy says, and where they belong (pure).

StorageTypeDiff and Mover.Processor in Hadoop. The types that a block's replicas are on are held
against those that its policy names for as many replicas. Each surplus one is matched with a
lacking one, and moved, if there is a place:

1. best on its own datanode, to another volume: no byte goes over the network;
2. else on a datanode without a replica of the block, in the same rack before others, the one
   with the most room first; the block is on no fewer racks afterwards.

Types between which nothing is moved (memory) are left out on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from howdah.balancer.state.iteration import Move
from howdah.balancer.state.nodes import MOVABLE_TYPES, BlockPlaces, Group, GroupKey
from howdah.protocol.data_transfer.blocks import StorageType


@dataclass(frozen=True, slots=True)
class Repair:
    """What is to be done for a block. `unplaced` of its replicas violate the policy, and no
    storage was found for them."""

    moves: tuple[Move, ...]
    unplaced: int


def types_for(policy: Sequence[StorageType], count: int) -> list[StorageType]:
    """The types of `count` replicas: the last of the policy's is for all further ones."""
    types = list(policy[:count])
    return types + [policy[-1]] * (count - len(types)) if policy else []


def repair(
    block: BlockPlaces,
    policy: Sequence[StorageType],
    groups: Mapping[GroupKey, Group],
    racks: Mapping[str, str],
    left_bytes: dict[GroupKey, int],
) -> Repair:
    """The moves that bring the block's replicas onto the types of its policy.

    `groups` are the storages that may take part, `racks` those of all datanodes, and
    `left_bytes` how much room each group has, from which is taken what the moves need.
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
    places = list(block.places)
    unplaced = 0
    for source_key in surplus[: len(lacking)]:
        source = groups.get(source_key)
        target = None
        if source is not None:
            target = _target(block, source, places, lacking, groups, racks, left_bytes)
        if source is None or target is None:
            unplaced += 1
            continue
        lacking.remove(target.storage_type)
        left_bytes[target.key] -= block.length_bytes
        places[places.index(source_key)] = target.key
        moves.append(Move(block, source, target, source.node))
    return Repair(tuple(moves), unplaced)


def _target(
    block: BlockPlaces,
    source: Group,
    places: Sequence[GroupKey],
    lacking: Sequence[StorageType],
    groups: Mapping[GroupKey, Group],
    racks: Mapping[str, str],
    left_bytes: Mapping[GroupKey, int],
) -> Group | None:
    holders = {uuid for uuid, _ in places}
    others = {racks[uuid] for uuid in holders - {source.node.uuid} if uuid in racks}
    before = len({racks[uuid] for uuid in holders if uuid in racks})
    fit = [
        group
        for group in groups.values()
        if group.storage_type in lacking
        and left_bytes[group.key] >= block.length_bytes
        and (
            group.node.uuid == source.node.uuid
            or (group.node.uuid not in holders and len(others | {group.rack}) >= before)
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
