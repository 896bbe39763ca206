"""What the data process does when a disk fails, or a replica turns out to be damaged.

An error is about one file, or about the volume, or about this process (`is_about_the_disk`).
A full disk costs the one replica. Any other error makes the volume prove itself with a small
write; one that can't is left with all its replicas, and the datanode goes on with the
others. Nothing here waits for a change that another thread makes on the sick volume.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator

from howdah import errors
from howdah.datanode.replicas.in_memory import InMemory
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.short_circuit import ShortCircuitRegistry
from howdah.datanode.replicas.writer_registry import Writers
from howdah.datanode.state.messages import (
    CorruptFound,
    Event,
    PoolDeleted,
    ReplicaDeleted,
    VolumeFailed,
)
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume, is_about_the_disk

log = logging.getLogger(__name__)


class DiskErrors:
    """Handles errors of the volumes of one datanode."""

    def __init__(
        self,
        replicas: ReplicaMap,
        lock: threading.Lock,
        short_circuit: ShortCircuitRegistry,
        notify: Callable[[Event], None],
        served: set[str],
        in_memory: InMemory,
        writers: Writers,
    ) -> None:
        """`lock` is that of the map, `served` the pools whose directories must be there."""
        self._replicas = replicas
        self._lock = lock
        self._short_circuit = short_circuit
        self._notify = notify
        self._served = served
        self._in_memory = in_memory
        self._writers = writers
        self.on_leave: list[Callable[[Volume], None]] = []
        """Told of each volume that is not used any more."""

    def corrupt(self, pool_id: str, replica: Replica, reason: str) -> None:
        """This replica's data and checksums don't fit; the namenode decides what follows."""
        log.error("%r of %s is corrupt: %s", replica, pool_id, reason)
        self._notify(CorruptFound(replica.as_block(pool_id), replica.volume_id, None, reason))

    def vanished(self, pool_id: str, replica: Replica, volume: Volume, error: OSError) -> None:
        """A file isn't there: is it the only one?"""
        self.disk_failed(volume, error)
        with self._lock:
            if self._replicas.find(pool_id, replica.block_id) is not replica:
                return
            self._replicas.remove(pool_id, replica.block_id)
            self._short_circuit.revoke(pool_id, replica.block_id)
        if volume.is_transient:
            self._in_memory.forget(pool_id, replica.block_id)
        volume.count(pool_id, -block_files.usual_bytes(replica.length_bytes))
        log.error("a file of %r vanished from %s: %s", replica, volume, error)
        self._notify(ReplicaDeleted(replica.as_block(pool_id), volume.storage_id))

    @contextlib.contextmanager
    def reading(self, pool_id: str, opened: OpenReplica) -> Iterator[None]:
        """Whatever reads the replica's files does so in here: damage and disk errors that it
        meets are told before they are raised. The far end of a connection is no disk, and files
        that were cut since they were opened are no damage."""
        try:
            yield
        except (errors.ChecksumMismatch, errors.BlockMissing) as error:
            if opened.is_final_as_opened:
                self.corrupt(pool_id, opened.replica, error.message)
            raise
        except errors.HowdahError:
            raise
        except OSError as error:
            self.disk_failed(opened.volume, error, pool_id, opened.replica)
            raise

    def disk_failed(
        self,
        volume: Volume,
        error: OSError,
        pool_id: str | None = None,
        replica: Replica | None = None,
    ) -> None:
        """An operation on the volume's files failed: is it the file, or the volume?"""
        log.error("I/O error on %s: %s", volume, error)
        if not is_about_the_disk(error):
            return
        trouble = volume.probe(self._served)
        if trouble is not None:
            self.remove_volume(volume, f"{error}; then {trouble}")
        elif (
            pool_id is not None
            and replica is not None
            and replica.stored_as is ReplicaState.FINALIZED
        ):
            self.corrupt(pool_id, replica, f"unreadable: {error}")

    def check(self, volume: Volume) -> None:
        """The volume proves itself, or is left."""
        if volume.failure is not None:
            return
        trouble = volume.probe(self._served)
        if trouble is not None:
            self.remove_volume(volume, str(trouble))

    def pool_deleted(self, pool_id: str, volumes: Iterable[Volume]) -> None:
        """The directories of a pool that is not served were deleted from these volumes."""
        with self._lock:
            gone = self._replicas.remove_pool(pool_id)
            for replica in gone:
                self._short_circuit.revoke(pool_id, replica.block_id)
        for replica in gone:
            self._in_memory.forget(pool_id, replica.block_id)
        for volume in volumes:
            volume.forget_pool(pool_id)
        log.warning("%d replicas of %s went with its directories", len(gone), pool_id)
        self._notify(PoolDeleted(pool_id))

    def remove_volume(self, volume: Volume, reason: str, *, tell: bool = True) -> None:
        """Stop using the volume, and what lies on it. `tell` is false for one that has not
        failed."""
        with self._lock:
            if volume.failure is not None:
                return
            volume.failure = reason
            lost = self._replicas.of_volume(volume.storage_id)
            for pool_id, replica in lost:
                self._replicas.remove(pool_id, replica.block_id)
                self._short_circuit.revoke(pool_id, replica.block_id)
                self._writers.lost(pool_id, replica.block_id, f"volume {volume} is left: {reason}")
        level = logging.ERROR if tell else logging.INFO
        log.log(level, "volume %s is left with %d replicas: %s", volume, len(lost), reason)
        try:
            self._in_memory.lose_volume(volume)
        finally:
            try:
                for callback in self.on_leave:
                    callback(volume)
            finally:
                # Whatever went wrong here: the namenode has to hear of it.
                if tell:
                    self._notify(VolumeFailed(volume.storage_id, reason))
