"""One block and its replicas, as fsck sees them (pure).

Hadoop's `NumberReplicas`, `BlockManager.createLocatedBlock` and
`BlockPlacementPolicyDefault.verifyBlockPlacement`.

A replica that is in excess has an order to be deleted. It counts no more, and fsck shows it
until its datanode has reported that it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.blocks.policies import BY_DEFAULT, ENOUGH_RACKS, Policy, domain_of
from howdah.namenode.state.blocks.reconstruction import LEAVING_LAST
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block, BlockState
from howdah.namenode.state.inodes.storage_policies import name_on_the_wire

UNDEFINED: Final = "undefined"


@dataclass(slots=True)
class Counts:
    """The replicas of one block by the state of their datanodes. Corrupt ones are in none."""

    live: int = 0
    decommissioned: int = 0
    decommissioning: int = 0
    entering_maintenance: int = 0
    in_maintenance: int = 0

    @property
    def total(self) -> int:
        return (
            self.live
            + self.decommissioned
            + self.decommissioning
            + self.entering_maintenance
            + self.in_maintenance
        )


def count(blocks: BlockMap, block: Block) -> Counts:
    """Its good replicas; of a block that is not complete, also those that datanodes are writing
    or have yet to report."""
    if isinstance(block, Group):
        return _count_group(blocks, block)
    is_complete = block.state is BlockState.COMPLETE
    if is_complete and not blocks.redundancy.out_of_service:
        return Counts(live=block.replica_count)
    return _counted(
        [storage.node for storage in block.replicas] if is_complete else _open_at(blocks, block)
    )


def _count_group(blocks: BlockMap, group: Group) -> Counts:
    """Of a group: its internal blocks, each at the best of the datanodes that have it."""
    best: list[Datanode] = []
    for part in (
        group.parts if not group.is_settled else map(group.part, group.layout.block_indices)
    ):
        nodes = [storage.node for storage in part.replicas]
        if group.state is not BlockState.COMPLETE:
            nodes = _open_at(blocks, part)
        best += sorted(nodes, key=lambda node: LEAVING_LAST[node.admin_state])[:1]
    return _counted(best)


def _counted(nodes: Iterable[Datanode]) -> Counts:
    counts = Counts()
    for node in nodes:
        match node.admin_state:
            case AdminState.NORMAL:
                counts.live += 1
            case AdminState.DECOMMISSIONED:
                counts.decommissioned += 1
            case AdminState.DECOMMISSION_INPROGRESS:
                counts.decommissioning += 1
            case AdminState.ENTERING_MAINTENANCE if node.alive:
                counts.entering_maintenance += 1
            case _:
                counts.in_maintenance += 1
    return counts


def _open_at(blocks: BlockMap, block: Block) -> list[Datanode]:
    """The datanodes that have a replica of a block that is not complete, or may have one."""
    if block.is_settled:
        reported = [storage.node for storage in block.replicas]
        return list(dict.fromkeys([*reported, *blocks.awaited_reports(block)]))
    return [node for node in blocks.nodes_that_may_hold(block) if node.alive]


def places_of(blocks: BlockMap, block: Block) -> list[Storage]:
    """Where a client would be sent: to good replicas, though not to those in maintenance; if
    there is no good replica, to corrupt ones."""
    replicas = block.replicas
    if not replicas and block.state is BlockState.COMPLETE:
        return list(block.corrupt)
    if not blocks.redundancy.out_of_service and block.state is BlockState.COMPLETE:
        return replicas
    places = [s for s in replicas if not (s.node.admin_state.is_maintenance and _rests(s.node))]
    if block.state is not BlockState.COMPLETE:
        held = {storage.node for storage in replicas}
        others = blocks.holders(block)
        places += [s for s in others if s.node not in held and s.node.alive]
    return places


def _rests(node: Datanode) -> bool:
    return not node.alive or node.admin_state is AdminState.IN_MAINTENANCE


def out_of_service(node: Datanode, *, with_maintenance: bool) -> str:
    """The state of a datanode that is not in service, as fsck words it; else empty."""
    state = node.admin_state
    return _WORDS[state] if with_maintenance or not state.is_maintenance else ""


_WORDS: Final = {
    AdminState.NORMAL: "",
    AdminState.DECOMMISSIONED: "DECOMMISSIONED",
    AdminState.DECOMMISSION_INPROGRESS: "DECOMMISSIONING",
    AdminState.ENTERING_MAINTENANCE: "ENTERING MAINTENANCE",
    AdminState.IN_MAINTENANCE: "IN MAINTENANCE",
}


class Excess:
    """The excess replicas that are still to be deleted, until others have their turn."""

    def __init__(self, datanodes: Iterable[Datanode]) -> None:
        self._deleting = [node for node in datanodes if node.invalidated]

    def of(self, block: Block) -> list[Storage]:
        if isinstance(block, Group):
            return [storage for part in block.parts for storage in self.of(part)]
        storages = []
        for node in self._deleting:
            order = node.invalidated.get(block.block_id)
            if order is not None and order.is_excess and order.storage not in block.replicas:
                storages.append(order.storage)
        return storages


def holders_of(block: Block, excess: Excess) -> list[Storage]:
    """Every storage that has a replica of a block of final length, good or not; of another
    block, those of its pipeline."""
    if block.is_settled:
        return [*block.replicas, *block.corrupt, *excess.of(block)]
    return list(block.expected)


@dataclass(frozen=True, slots=True)
class Racks:
    """The racks of the cluster: how many have live datanodes, and whether there ever were
    several; and the policy that wants replicas on so many."""

    count: int
    ever_several: bool
    policy: Policy = BY_DEFAULT

    @classmethod
    def of(cls, namesystem: Namesystem) -> Racks:
        datanodes = namesystem.datanode_manager.datanodes
        live = {node.location for node in datanodes if node.alive}
        several = len({node.location for node in datanodes}) > 1
        return cls(len(live), several, namesystem.block_manager.placement.policy)

    def lacking(self, places: Sequence[Storage], replication: int) -> int:
        """On how many more racks a block should be; 0 if it is well placed."""
        if not self.ever_several:
            return 0
        rack_count = len({storage.node.location for storage in places})
        wanted = replication if self.policy.spreads else min(ENOUGH_RACKS, replication)
        return 0 if rack_count >= min(wanted, self.count) else wanted - rack_count

    def misplacement_reason(self, places: Sequence[Storage], replication: int) -> str:
        """What the policy has against these places, in Hadoop's words; empty if nothing."""
        lacking = self.lacking(places, replication)
        reasons = []
        if lacking:
            reasons.append(
                f"Block should be additionally replicated on {lacking} more rack(s). Total number "
                f"of racks in the cluster: {self.count}"
            )
        domains = dict.fromkeys(domain_of(storage.node) for storage in places)
        if len(domains) < min(self.policy.domains, replication):
            reasons.append(
                f"The block has {replication} replicas. But it only has {len(domains)} upgrade "
                f"domains [{', '.join(domains)}]."
            )
        return " ".join(reasons)


def block_text(namesystem: Namesystem, block: Block) -> str:
    """`BP-…:blk_1073741825_1001`."""
    return f"{namesystem.settings.block_pool_id}:{block.name}"


def replicas_text(namesystem: Namesystem, block: Block, options: Options, excess: Excess) -> str:
    """Where the replicas are, as the options say; empty if nobody asks. Of a group that is complete
    with their ids."""
    if not options.shows_replicas:
        return ""
    parts: Sequence[Block] = block.parts if isinstance(block, Group) else (block,)
    shown = []
    for part, storage in [(one, s) for one in parts for s in holders_of(one, excess)]:
        node = storage.node
        if options.racks:
            text = f"{node.location}/{node.name}"
        else:
            kind = name_on_the_wire(storage.storage_type)
            text = f"DatanodeInfoWithStorage[{node.name},{storage.storage_id},{kind}]"
        if options.upgrade_domains:
            text += f"(ud={node.upgrade_domain or UNDEFINED})"
        if options.replica_details:
            state = out_of_service(node, with_maintenance=options.maintenance)
            text += f"({state or _state(namesystem, part, storage)})"
        if isinstance(block, Group) and block.state is BlockState.COMPLETE:
            text = f"blk_{part.block_id}:{text}"
        shown.append(text)
    return f" [{', '.join(shown)}]"


def _state(namesystem: Namesystem, block: Block, storage: Storage) -> str:
    if storage in block.corrupt:
        return "CORRUPT"
    if block.is_settled and storage not in block.replicas:
        return "EXCESS"
    if namesystem.datanode_manager.datanodes.is_stale(
        storage.node, namesystem.clock.monotonic_ms()
    ):
        return "STALE_NODE"
    return "LIVE" if storage.reported else "STALE_BLOCK_CONTENT"
