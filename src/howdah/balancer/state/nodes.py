"""What a balancer knows of datanodes, their storages and their blocks (pure).

DatanodeStorageReport and BlockWithLocations in Hadoop. Storages of one type on one datanode count
as one group: which of them takes a replica is the datanode's own choice.

Of a block group of an erasure-coded file the internal blocks are moved, each as a block of its
own, by its own id and length. What they have in common is where the others of the group are
(`BlockPlaces.siblings`), and that only one of a group is moved at a time (`BlockPlaces.moved_as`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType
from howdah.protocol.striping.layout import group_id_of

MOVABLE_TYPES: Final = (
    StorageType.DISK,
    StorageType.SSD,
    StorageType.ARCHIVE,
    StorageType.NVDIMM,
)
"""Replicas in memory are copies that the datanode writes out itself."""

GroupKey = tuple[str, StorageType]
"""(uuid of the datanode, type)."""


@dataclass(frozen=True, slots=True)
class StorageFigures:
    """One volume of a datanode, in bytes. `pool_used_bytes` is what the block pool in question
    takes of `used_bytes`."""

    storage_type: StorageType
    capacity_bytes: int
    used_bytes: int
    remaining_bytes: int
    pool_used_bytes: int


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A live datanode. `in_service`: neither decommissioned nor in maintenance, nor about to
    be."""

    node: DatanodeAddress
    rack: str
    storages: tuple[StorageFigures, ...]
    in_service: bool = True
    upgrade_domain: str = ""
    """Datanodes of one domain are taken down together."""


NO_DOMAINS: Final[Mapping[str, str]] = MappingProxyType({})


def domains_of(reports: Iterable[NodeReport]) -> Mapping[str, str]:
    """Return the upgrade domains of the datanodes that have one, by uuid."""
    return {report.node.uuid: report.upgrade_domain for report in reports if report.upgrade_domain}


@dataclass(frozen=True, slots=True)
class Group:
    """The storages of one type on one datanode. `utilization` is in percent, `most_bytes` how
    much one iteration may move from here, or to here."""

    node: DatanodeAddress
    rack: str
    storage_type: StorageType
    utilization: float
    most_bytes: int

    @property
    def key(self) -> GroupKey:
        return self.node.uuid, self.storage_type

    def __str__(self) -> str:
        return f"{self.node.transfer_address}:{self.storage_type.name}"


@dataclass(frozen=True, slots=True)
class BlockPlaces:
    """A block or an internal block of a block group, and where its replicas are. `siblings` are the
    places of the other internal blocks of the group; None of a block that is in no group."""

    block_id: int
    generation_stamp: int
    length_bytes: int
    places: tuple[GroupKey, ...]
    siblings: tuple[GroupKey, ...] | None = None

    @property
    def moved_as(self) -> int:
        """Return the id by which moves are known: that of the group, of which one internal block
        is moved at a time. The targets of two moves could be one datanode otherwise."""
        return self.block_id if self.siblings is None else group_id_of(self.block_id)

    @property
    def nodes(self) -> set[str]:
        """Return the datanodes that have a replica of the block, or another block of its group."""
        return {uuid for uuid, _ in (*self.places, *(self.siblings or ()))}

    def keeps_racks(
        self,
        source: str,
        target: Group,
        racks: Mapping[str, str],
        domains: Mapping[str, str] = NO_DOMAINS,
    ) -> bool:
        """Return whether the block is as safe from the loss of a rack when the replica of the
        datanode `source` has gone to `target`: on no fewer racks, and its group on no rack more
        often than on the one before, or than its share of all racks is. Nor is it in fewer upgrade
        domains, where datanodes have such."""
        others = [uuid for uuid, _ in (*self.places, *(self.siblings or ()))]
        others.remove(source)
        if domains and _domains([*others, target.node.uuid], domains) < _domains(
            [*others, source], domains
        ):
            return False
        on = Counter(racks[uuid] for uuid in others if uuid in racks)
        old, new = racks.get(source), target.rack
        if old is not None and len(on.keys() | {new}) < len(on.keys() | {old}):
            return False
        if self.siblings is None or new == old:
            return True
        share = -(-(len(others) + 1) // len({*racks.values(), new}))
        return on[new] < max(on[old or ""] + 1, share)


def _domains(uuids: Iterable[str], domains: Mapping[str, str]) -> int:
    """How many domains datanodes are in."""
    return len({domains[uuid] for uuid in uuids if uuid in domains})


def internal_blocks(
    group_id: int,
    generation_stamp: int,
    members: Sequence[tuple[int, GroupKey]],
    lengths: Mapping[int, int],
) -> Iterator[BlockPlaces]:
    """Yield the internal blocks of a group, in the order of their indices. `members` are the index
    and the place of each replica; internal blocks without a length do not exist."""
    for index in sorted({index for index, _ in members}):
        if lengths.get(index):
            yield BlockPlaces(
                group_id + index,
                generation_stamp,
                lengths[index],
                tuple(key for other, key in members if other == index),
                tuple(key for other, key in members if other != index),
            )


@dataclass(frozen=True, slots=True)
class FileBlocks:
    """The blocks of a file that may be moved: neither one that is being written, nor those of
    which every replica is corrupt. Of a file in stripes they are the internal blocks of its
    groups; `lacks_parts` says that some of these are nowhere."""

    blocks: tuple[BlockPlaces, ...]
    is_open: bool = False
    is_striped: bool = False
    has_corrupt: bool = False
    lacks_parts: bool = False


def groups_of(report: NodeReport) -> Iterator[Group]:
    """The storages of a datanode by type; what has room may take replicas."""
    if not report.in_service:
        return
    room: dict[GroupKey, int] = {}
    for storage in report.storages:
        if storage.storage_type in MOVABLE_TYPES:
            key = report.node.uuid, storage.storage_type
            # A replica has to fit on one volume.
            room[key] = max(room.get(key, 0), storage.remaining_bytes)
    for (_, kind), left_bytes in room.items():
        yield Group(report.node, report.rack, kind, 0.0, left_bytes)


@dataclass(frozen=True, slots=True)
class NodeLists:
    """Which datanodes take part, by name: address, host name, either with the port of transfers.
    An empty list is all of them."""

    included: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    excluded_sources: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    excluded_targets: frozenset[str] = frozenset()

    def takes_part(self, node: DatanodeAddress) -> bool:
        return _is_among(node, self.included, self.excluded)

    def may_be_source(self, node: DatanodeAddress) -> bool:
        return _is_among(node, self.sources, self.excluded_sources)

    def may_be_target(self, node: DatanodeAddress) -> bool:
        return _is_among(node, self.targets, self.excluded_targets)


def _is_among(node: DatanodeAddress, included: Collection[str], excluded: Collection[str]) -> bool:
    names = {
        node.ip,
        node.hostname,
        node.transfer_address,
        f"{node.hostname}:{node.transfer_port}",
    }
    return (not included or bool(names & set(included))) and not names & set(excluded)
