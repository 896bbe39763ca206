"""How full the volumes of a datanode are, and how far each is from the mean (pure).

DiskBalancerVolume, DiskBalancerVolumeSet and DiskBalancerDataNode in Hadoop. Only volumes of one
storage type exchange replicas; they are a set. For each set:

- the ideal is the share of the room of all its volumes that is used;
- a volume's density is the ideal less its own share: above 0 it has too little, below 0 too much;
- shares are cut off after four digits, as Hadoop does, so that both plan the same.

Volumes that have failed, or are to be skipped, count nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

_DIGITS: Final = 10_000


def cut_off(share: float) -> float:
    """Four digits of it, none rounded up.

    >>> cut_off(1 / 3), cut_off(-0.00009)
    (0.3333, 0.0)
    """
    return int(share * _DIGITS) / _DIGITS


@dataclass(frozen=True, slots=True)
class DiskVolume:
    """One volume, as the namenode knows it."""

    storage_id: str
    storage_type: str
    capacity_bytes: int
    used_bytes: int
    path: str = ""
    """Known to the datanode alone; for people."""
    reserved_bytes: int = 0
    failed: bool = False
    transient: bool = False
    """In memory: its replicas are not for other volumes."""
    read_only: bool = False
    skip: bool = False
    density: float = 0.0

    @property
    def effective_bytes(self) -> int:
        """What there is for replicas."""
        return self.capacity_bytes - self.reserved_bytes

    @property
    def free_bytes(self) -> int:
        return self.capacity_bytes - self.used_bytes

    @property
    def counts(self) -> bool:
        return not self.failed and not self.skip


@dataclass(frozen=True, slots=True)
class VolumeSet:
    """Holds the volumes of one storage type."""

    set_id: str
    storage_type: str
    volumes: tuple[DiskVolume, ...]
    ideal: float = 0.0

    @classmethod
    def of(cls, set_id: str, storage_type: str, volumes: Iterable[DiskVolume]) -> VolumeSet:
        """Make a set with the densities that the volumes' figures give."""
        known = [
            volume if volume.effective_bytes >= 0 else replace(volume, skip=True)
            for volume in volumes
        ]
        room = sum(volume.effective_bytes for volume in known if volume.counts)
        used = sum(volume.used_bytes for volume in known if volume.counts)
        ideal = cut_off(used / room) if room else 0.0
        return cls(set_id, storage_type, tuple(_weighed(volume, ideal) for volume in known), ideal)

    def needs_balancing(self, threshold_percent: float) -> bool:
        """Whether a volume is farther from the mean than that."""
        return len(self.volumes) > 1 and any(
            cut_off(abs(volume.density)) > threshold_percent / 100
            for volume in self.volumes
            if volume.counts and not volume.transient
        )


def _weighed(volume: DiskVolume, ideal: float) -> DiskVolume:
    if not volume.counts:
        return volume
    room = volume.effective_bytes
    share = cut_off(volume.used_bytes / room) if room else 0.0
    return replace(volume, density=ideal - share)


@dataclass(frozen=True, slots=True)
class DiskNode:
    """Holds a datanode with its volumes."""

    uuid: str
    ip: str
    name: str
    port: int
    """Where it answers RPC."""
    sets: tuple[VolumeSet, ...]

    @property
    def density(self) -> float:
        """Return how uneven the node is: the distances of all its volumes together."""
        return sum(abs(volume.density) for volume_set in self.sets for volume in volume_set.volumes)

    @property
    def volumes(self) -> tuple[DiskVolume, ...]:
        return tuple(volume for volume_set in self.sets for volume in volume_set.volumes)

    def needs_balancing(self, threshold_percent: float) -> bool:
        return any(volume_set.needs_balancing(threshold_percent) for volume_set in self.sets)

    def with_paths(self, paths: dict[str, str]) -> DiskNode:
        """Return the node with the directories of its volumes, by their storage ids."""
        return replace(
            self,
            sets=tuple(
                replace(
                    volume_set,
                    volumes=tuple(
                        replace(volume, path=paths.get(volume.storage_id, volume.path))
                        for volume in volume_set.volumes
                    ),
                )
                for volume_set in self.sets
            ),
        )

    def is_called(self, name: str) -> bool:
        """Whether `name` is its host name, its IP address or its uuid."""
        return name.lower() == self.name.lower() or name in (self.ip, self.uuid)
