"""The threads that save replicas, and who makes room in memory.

LazyWriter and RamDiskAsyncLazyPersistService in Hadoop. Every
`dfs.datanode.lazywriter.interval.sec` all replicas that wait for their copies are given to
volumes on disks, by the policy that new replicas go by; each of these volumes has one thread that
copies, so that a disk that hangs keeps none from the others. Where nothing was ever saved there
is no thread.
"""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue

from howdah import errors
from howdah.datanode.lazy_persist import evicting
from howdah.datanode.lazy_persist.saving import save
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.memory.tracker import Record
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.blocks import StorageType

log = logging.getLogger(__name__)


class LazyWriter:
    """Of one datanode."""

    def __init__(self, store: BlockStore, interval_s: float) -> None:
        self._store = store
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._queues: dict[str, SimpleQueue[tuple[Record, int, Volume]]] = {}
        store.in_memory.make_room = lambda count_bytes: evicting.make_room(store, count_bytes)
        store.in_memory.rescue = self._rescue

    def start(self) -> None:
        """Unless nothing can ever come to memory. What a start found there is saved even if
        nothing more may come."""
        memory = self._store.in_memory
        if memory.tracker.limit_bytes or len(memory.tracker):
            threading.Thread(target=self._run, name="lazy writer", daemon=True).start()

    def _rescue(self, records: list[Record]) -> None:
        # Whoever met the failure may hold what a rescue waits for.
        thread = threading.Thread(
            target=evicting.rescue, args=(self._store, records), name="rescue", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            log.error(
                "the copies of %d replicas stay until the next start: %s", len(records), error
            )

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self.deal()
            except Exception:
                # The only thread for this, and the next round may succeed.
                log.exception("giving replicas in memory to volumes failed on a defect")
            pause.wait(self._interval_s)

    def deal(self) -> int:
        """Give all that wait to volumes; how many."""
        memory = self._store.in_memory
        with memory.lock:
            left = memory.tracker.unsaved
        given = 0
        for _ in range(left):
            with memory.lock:
                record = memory.tracker.next_to_save()
            if record is None:
                break
            turn = record.turn
            try:
                given += self._give(record, turn)
            except errors.DiskOutOfSpace as error:
                log.error(
                    "block %d of %s stays in memory alone, and is tried again in %g s: %s",
                    record.key[1],
                    record.key[0],
                    self._interval_s,
                    error,
                )
                self._fail(record, turn)
            except BaseException:
                # Or else it would wait for ever, and its memory would never be free.
                self._fail(record, turn)
                raise
        return given

    def _give(self, record: Record, turn: int) -> bool:
        """Whether it waits at a volume now. Raises what `VolumeSet.choose` does, and RuntimeError
        where there is no thread for that volume."""
        memory = self._store.in_memory
        volume = self._store.volumes.choose(
            StorageType.DISK, record.length_bytes, self._store.disk_failed
        )
        queue = self._queue_of(volume)
        with memory.lock:
            is_on = memory.tracker.aim(record.key, turn, volume.storage_id)
        if is_on:
            queue.put((record, turn, volume))
        return is_on

    def _fail(self, record: Record, turn: int) -> None:
        with self._store.in_memory.lock:
            self._store.in_memory.tracker.not_saved(record.key, turn)

    def _queue_of(self, volume: Volume) -> SimpleQueue[tuple[Record, int, Volume]]:
        with self._lock:
            queue = self._queues.get(volume.storage_id)
            if queue is None:
                queue = SimpleQueue()
                threading.Thread(
                    target=self._work,
                    args=(queue,),
                    name=f"saving to {volume.path}",
                    daemon=True,
                ).start()
                self._queues[volume.storage_id] = queue
            return queue

    def _work(self, queue: SimpleQueue[tuple[Record, int, Volume]]) -> None:
        while True:
            # The volume may have been taken out since the last one, and be back as another.
            record, turn, volume = queue.get()
            try:
                self.attempt(record, turn, volume)
            except Exception:
                # The only thread of this volume.
                log.exception("the end of saving block %d failed on a defect", record.key[1])

    def attempt(self, record: Record, turn: int, volume: Volume) -> bool:
        """Whether it is saved now."""
        pool_id, block_id = record.key
        try:
            if save(self._store, record, turn, volume):
                return True
        except errors.HowdahError as error:
            log.error("block %d of %s is not saved: %s", block_id, pool_id, error)
        except OSError as error:
            log.error("block %d of %s is not saved to %s: %s", block_id, pool_id, volume, error)
            self._fail(record, turn)
            self._store.disk_failed(volume, error)
            return False
        except Exception:
            log.exception("saving block %d of %s failed on a defect", block_id, pool_id)
        self._fail(record, turn)
        return False
