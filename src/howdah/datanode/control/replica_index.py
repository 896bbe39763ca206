"""The control process's own list of replicas, from which reports are made.

A replica whose deletion is ordered is in no full report from then on, though it may take
its disk long to delete it. The report may be for a namenode that has become active since
and knows nothing of the order. That one must not rely on the replica, and order the
deletion of another one. The rule of FsDatasetImpl.invalidate in Hadoop, which takes the
replica from its map at once.

Scanned by the control process before it forks, so both processes start with the same list,
and kept up by the data process's events. A full report of a million replicas is
encoded from it without the data process noticing.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.state.messages import (
    CopiesCounted,
    DeletionEnded,
    Event,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    VolumeFailed,
)
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.scanners.comparison import InMemory
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.usage import UsageAsker, ask_all
from howdah.datanode.volumes.volumes import Usage, Volume, VolumeSet
from howdah.protocol.data_transfer.block_lists import ListedReplica
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES

# What a replica's checksums take, as a part of its length: CRCs of 4 bytes for 512,
# the default. An estimate is good enough for what a heartbeat says of a volume,
# and the next scan counts again.
_SUMS_PART = 128


@dataclass(frozen=True, slots=True)
class VolumeFailures:
    """What a heartbeat says of volumes that cannot be used: VolumeFailureSummary in Hadoop."""

    locations: tuple[str, ...]
    last_ms: int
    """When the last one failed, in Unix milliseconds."""
    lost_bytes: int
    """What they had room for, as far as that is known."""


@dataclass(frozen=True, slots=True)
class VolumeState:
    """A volume as a heartbeat describes it."""

    volume: Volume
    usage: Usage | None
    """None where the volume has failed."""
    pool_used_bytes: int
    failure: str | None
    hangs: bool = False
    """It has not said in time how full it is."""


class ReplicaIndex:
    """Keeps replicas and volumes as the control process knows them. Any thread may ask."""

    def __init__(
        self,
        volumes: VolumeSet,
        replicas: ReplicaMap,
        gauges: Gauges,
        unusable: Sequence[str] = (),
    ) -> None:
        """`unusable` are directories that failed before they became volumes."""
        self.volumes = volumes
        self._unusable = tuple(unusable)
        self._last_failure_ms = time.time_ns() // 1_000_000
        self._replicas = replicas
        self._gauges = gauges
        self._lock = threading.Lock()
        # Orders to delete replicas that have not come to their end: (pool, block, stamp).
        self._deletions: Counter[tuple[str, int, int]] = Counter()
        self._askers = {volume: self._asker(volume) for volume in volumes.all}

    def _asker(self, volume: Volume) -> UsageAsker:
        def measure() -> Usage:
            return volume.usage(self._gauges.promised_bytes(volume.number))

        return UsageAsker(f"usage of {volume.path}", measure)

    def apply(self, event: Event) -> None:
        """Follow what the data process has done."""
        with self._lock:
            match event:
                case ReplicaOpened(block, storage_id, left_over):
                    state = ReplicaState.RWR if left_over else ReplicaState.RBW
                    self._put(block, storage_id, state)
                case ReplicaReceived(block, storage_id, _):
                    self._put(block, storage_id, ReplicaState.FINALIZED)
                case ReplicaDeleted(block, storage_id):
                    known = self._replicas.find(block.pool_id, block.block_id)
                    # One that has come since, to this volume or another one, is there still.
                    if (
                        known is not None
                        and known.volume_id == storage_id
                        and known.generation_stamp <= block.generation_stamp
                    ):
                        self._drop(block.pool_id, block.block_id)
                case CopiesCounted(pool_id, storage_id, change_bytes):
                    self.volumes[storage_id].count(pool_id, change_bytes)
                case DeletionEnded(block):
                    key = _key(block)
                    self._deletions[key] -= 1
                    if self._deletions[key] <= 0:
                        del self._deletions[key]
                case VolumeFailed(storage_id, reason):
                    self.volumes[storage_id].failure = reason
                    self._last_failure_ms = time.time_ns() // 1_000_000
                    for pool_id, replica in self._replicas.of_volume(storage_id):
                        self._drop(pool_id, replica.block_id)
                case _:
                    return

    def add(self, volume: Volume, replicas: Iterable[tuple[str, Replica]]) -> None:
        """A volume that is used from now on, with the replicas that were found there; their bytes
        are counted already."""
        with self._lock:
            for pool_id, replica in replicas:
                self._replicas.add_pool(pool_id)
                if self._replicas.find(pool_id, replica.block_id) is None:
                    self._replicas.add(pool_id, replica)
            self._askers[volume] = self._asker(volume)
            self.volumes.add(volume)

    def remove(self, volume: Volume) -> None:
        """A volume that is not used any more, though it may work."""
        with self._lock:
            self.volumes.remove(volume)
            volume.failure = volume.failure or "it was taken out of the configuration"
            for pool_id, replica in self._replicas.of_volume(volume.storage_id):
                self._replicas.remove(pool_id, replica.block_id)

    def pool_deleted(self, pool_id: str) -> None:
        """Its directories are gone, and nobody serves it."""
        with self._lock:
            self._replicas.remove_pool(pool_id)
            for volume in self.volumes.all:
                volume.forget_pool(pool_id)

    def will_delete(self, blocks: Iterable[ExtendedBlock]) -> None:
        """These replicas are ordered to be deleted, and the data process will be told."""
        with self._lock:
            self._deletions.update(map(_key, blocks))

    def _put(self, block: ExtendedBlock, storage_id: str, state: ReplicaState) -> None:
        if self.volumes[storage_id].failure is not None:
            # What was under way when the volume was left.
            return
        self._replicas.add_pool(block.pool_id)
        self._drop(block.pool_id, block.block_id)
        replica = Replica(
            block.block_id, block.generation_stamp, state, storage_id, block.length_bytes
        )
        self._replicas.add(block.pool_id, replica)
        self.volumes[storage_id].count(block.pool_id, _files_bytes(replica))

    def _drop(self, pool_id: str, block_id: int) -> None:
        replica = self._replicas.remove(pool_id, block_id)
        if replica is not None:
            self.volumes[replica.volume_id].count(pool_id, -_files_bytes(replica))

    def listed(self, pool_id: str) -> dict[str, list[ListedReplica]]:
        """What a full report says of each working volume, empty ones included."""
        with self._lock:
            deletions = self._deletions
            lists: dict[str, list[ListedReplica]] = {
                volume.storage_id: [] for volume in self.volumes.working()
            }
            for replica in self._replicas.of_pool(pool_id):
                if deletions and (
                    (pool_id, replica.block_id, replica.generation_stamp) in deletions
                ):
                    continue
                lists[replica.volume_id].append(
                    ListedReplica(
                        replica.block_id,
                        replica.length_bytes,
                        replica.generation_stamp,
                        replica.state,
                    )
                )
        return lists

    def counts(self) -> dict[str, int]:
        """Replicas of each block pool."""
        with self._lock:
            replicas = self._replicas
            return {pool_id: replicas.count_of_pool(pool_id) for pool_id in replicas.pools()}

    def finalized(self, pool_id: str, block_id: int, storage_id: str) -> Replica | None:
        """The finalized replica of the block on this volume, unless it is to be deleted. Nobody
        changes it."""
        with self._lock:
            replica = self._replicas.find(pool_id, block_id)
            if (
                replica is None
                or replica.volume_id != storage_id
                or replica.state is not ReplicaState.FINALIZED
                or (pool_id, block_id, replica.generation_stamp) in self._deletions
            ):
                return None
            return replica

    def finalized_by_directory(self, pool_id: str, storage_id: str) -> dict[str, array[int]]:
        """Return the ids of the finalized replicas on the volume, by the directory they belong
        in."""
        by_directory: dict[str, array[int]] = {}
        with self._lock:
            for replica in self._replicas.of_pool(pool_id):
                if replica.volume_id == storage_id and replica.state is ReplicaState.FINALIZED:
                    directory = block_files.subdirectory(replica.block_id)
                    by_directory.setdefault(directory, array("q")).append(replica.block_id)
        return by_directory

    def in_memory(
        self, pool_id: str, block_ids: Iterable[int], storage_id: str
    ) -> dict[int, InMemory]:
        """Of those of these replicas that there are, as seen from this volume."""
        with self._lock:
            replicas = [self._replicas.find(pool_id, block_id) for block_id in block_ids]
            return {
                replica.block_id: InMemory(
                    replica.generation_stamp,
                    replica.length_bytes,
                    here=replica.volume_id == storage_id
                    and replica.state is ReplicaState.FINALIZED,
                    busy=replica.state is not ReplicaState.FINALIZED,
                )
                for replica in replicas
                if replica is not None
            }

    def failures(self) -> VolumeFailures | None:
        """None if every volume works."""
        failed = [volume for volume in self.volumes.all if volume.failure is not None]
        locations = (*self._unusable, *(volume.path for volume in failed))
        if not locations:
            return None
        lost_bytes = sum(volume.capacity_bytes for volume in failed)
        return VolumeFailures(locations, self._last_failure_ms, lost_bytes)

    def states(self, pool_id: str) -> list[VolumeState]:
        """Return every volume as it is now. One that cannot even be asked counts as failed; one
        that hangs is as it was, unless it has hung since the start."""
        volumes = self.volumes.all
        working = [(volume, self._askers[volume]) for volume in volumes if volume.failure is None]
        answers = ask_all([asker for _, asker in working])
        by_volume = {volume: answer for (volume, _), answer in zip(working, answers, strict=True)}
        states = []
        for volume in volumes:
            usage, failure, hangs = None, volume.failure, False
            if volume in by_volume:
                answer = by_volume[volume]
                usage, hangs = answer.usage, answer.is_late
                if usage is None:
                    failure = str(answer.error or "it does not say how full it is")
            used_bytes = volume.pool_used_bytes(pool_id)
            states.append(VolumeState(volume, usage, used_bytes, failure, hangs))
        return states


def _files_bytes(replica: Replica) -> int:
    return replica.length_bytes + replica.length_bytes // _SUMS_PART + META_HEADER_BYTES


def _key(block: ExtendedBlock) -> tuple[str, int, int]:
    return block.pool_id, block.block_id, block.generation_stamp
