"""What a balancer knows of datanodes, their storages and their blocks (pure).

DatanodeStorageReport and BlockWithLocations in Hadoop. Storages of one type on one datanode count
as one group: which of them takes a replica is the datanode's own choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

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
    """A block, and where its replicas are."""

    block_id: int
    generation_stamp: int
    length_bytes: int
    places: tuple[GroupKey, ...]


@dataclass(frozen=True, slots=True)
class FileBlocks:
    """The blocks of a file that may be moved: neither one that is being written, nor those of
    which every replica is corrupt; none of a file in stripes."""

    blocks: tuple[BlockPlaces, ...]
    is_open: bool = False
    is_striped: bool = False
    has_corrupt: bool = False


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
