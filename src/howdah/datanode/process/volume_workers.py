"""Delete replicas, verify suspect ones again and check volumes, with a thread for each volume.

FsDatasetAsyncDiskService and DatasetVolumeChecker in Hadoop. A hung disk delays no other.

No thread of the control process waits for the end of an order. The thread of a volume deletes one
replica after the other, and between them verifies replicas that the control process found damaged.
One more thread takes the orders for replicas that no volume has. A check has a thread of its own,
since the volume's worker may hang in a deletion. A volume that does not answer its check within
the time-out is left.

An order is about the replica that the block has when the order arrives:

1. An order that is repeated before it was carried out counts once: the second would delete a
   replica that has arrived since.
2. A replica of the same block on another volume has an order of its own, however long the first
   volume takes.
3. A replica that was moved before its turn is deleted where it is then.
4. The orders of a volume end when the volume is left. If its disk answers again later, its thread
   deletes nothing for them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from queue import SimpleQueue

from howdah import errors
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.messages import DeletionEnded, Recheck, Reconcile
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.blocks import ExtendedBlock

# A second look at bytes that the control process's scanners found damaged: they only read.


def verify_again(store: BlockStore, block: ExtendedBlock, start: int, stop: int) -> None:
    """These bytes of a finalized replica look damaged to who read them beside us: tell of
    them if they are, and it is still the same replica."""
    replica = store.find(block)
    if replica is None or not _is_final(replica, block):
        return
    try:
        with store.open(block) as opened:
            with store.trouble.reading(block.pool_id, opened):
                damaged = opened.damaged_between(start, min(stop, opened.length_bytes))
            replica = opened.replica
    except (errors.ReplicaNotFound, errors.ChecksumMismatch):
        # Who opened it has told of that.
        return
    if damaged is not None and store.find(block) is replica and _is_final(replica, block):
        reason = f"its data does not fit its checksum at {damaged}"
        store.corrupt(block.pool_id, replica, reason)


def _is_final(replica: Replica, block: ExtendedBlock) -> bool:
    """Whether nobody writes it, and it still is the replica of `block`."""
    stamp = block.generation_stamp
    return replica.state is ReplicaState.FINALIZED and replica.generation_stamp == stamp


log = logging.getLogger(__name__)

_Key = tuple[str, int, int]
"""(pool id, block id, generation stamp)."""
_NO_VOLUME = ""

CHECK_TIMEOUT_S = 600.0
"""As Hadoop has it (`dfs.datanode.disk.check.timeout`)."""


@dataclass(slots=True, eq=False)
class _Order:
    """An order to delete the replica of a block on one volume."""

    block: ExtendedBlock
    storage_id: str
    begun: bool = False
    ended: bool = False
    """The control process has been notified of the end."""


class VolumeWorkers:
    """The background threads of a data process."""

    def __init__(self, store: BlockStore, check_timeout_s: float = CHECK_TIMEOUT_S) -> None:
        self._store = store
        self._check_timeout_s = check_timeout_s
        self._lock = threading.Lock()
        self._checking: set[str] = set()
        self._to_reconcile: SimpleQueue[Reconcile] = SimpleQueue()
        self._queues: dict[str, SimpleQueue[_Order | Recheck | None]] = {
            volume.storage_id: SimpleQueue() for volume in store.volumes.all
        }
        self._queues[_NO_VOLUME] = SimpleQueue()
        # Orders that were not carried out yet, by block and by volume.
        self._ordered: dict[_Key, dict[str, _Order]] = {}

    def start(self) -> None:
        threading.Thread(target=self._reconcile, name="reconciler", daemon=True).start()
        threading.Thread(
            target=self._work,
            args=(self._queues[_NO_VOLUME],),
            name="deletions of nothing",
            daemon=True,
        ).start()
        for volume in self._store.volumes.all:
            self._start(volume)

    def add_volume(self, volume: Volume) -> None:
        """Start the thread of a volume that is not used yet."""
        self._queues[volume.storage_id] = SimpleQueue()
        self._start(volume)

    def _start(self, volume: Volume) -> None:
        threading.Thread(
            target=self._work,
            args=(self._queues[volume.storage_id],),
            name=f"deletions of {volume.path}",
            daemon=True,
        ).start()

    def remove_volume(self, volume: Volume) -> None:
        """End the orders and the thread of a volume that is left."""
        self.volume_left(volume)
        self._queues[volume.storage_id].put(None)

    # --- deletions ---

    def invalidate(self, blocks: Iterable[ExtendedBlock]) -> None:
        """Queue the deletion of these replicas. The control process is notified of the end of each
        order; no full report names the replica before."""
        for block in blocks:
            try:
                replica = self._store.find(block)
            except errors.HowdahError as error:
                log.error("cannot delete %s: %s", block, error)
                self._store.notify(DeletionEnded(block))
                continue
            self._order(block, _NO_VOLUME if replica is None else replica.volume_id)

    def _order(self, block: ExtendedBlock, storage_id: str) -> None:
        order = _Order(block, storage_id)
        with self._lock:
            of_block = self._ordered.setdefault(_key(block), {})
            is_known = of_block.setdefault(storage_id, order) is not order
        if is_known:
            self._store.notify(DeletionEnded(block))
            return
        self._queues[storage_id].put(order)
        if self._is_left(storage_id):
            # It was left since the replica was looked up: no thread may take the order any more.
            self._end(order)

    def _is_left(self, storage_id: str) -> bool:
        working = {volume.storage_id for volume in self._store.volumes.working()}
        return storage_id != _NO_VOLUME and storage_id not in working

    def volume_left(self, volume: Volume) -> None:
        """End the orders of a volume: its replicas no longer belong to this datanode."""
        with self._lock:
            over = [
                order
                for of_block in self._ordered.values()
                for order in of_block.values()
                if order.storage_id == volume.storage_id
            ]
        for order in over:
            self._end(order)

    def arrived(self, block: ExtendedBlock, storage_id: str) -> None:
        """Note that a volume has a new replica of the block. An order that is deleting the replica
        on another volume ends now, so that full reports name the new one."""
        if not self._ordered:
            return
        with self._lock:
            orders = list(self._ordered.get(_key(block), {}).values())
        for order in orders:
            if order.begun and order.storage_id != storage_id:
                self._end(order)

    def _begin(self, order: _Order) -> bool:
        """Return True if the volume that has the order in its queue should carry it out."""
        replica = self._store.find(order.block)
        if replica is not None and replica.volume_id != order.storage_id:
            if order.storage_id == _NO_VOLUME:
                # It arrived after the order. The namenode gets a report, and may order again.
                self._end(order)
            elif self._forget(order):
                self._order(order.block, replica.volume_id)
            return False
        with self._lock:
            if order.ended:
                return False
            order.begun = True
        return True

    def _end(self, order: _Order) -> None:
        """End an order; notify the control process once."""
        if self._forget(order):
            self._store.notify(DeletionEnded(order.block))

    def _forget(self, order: _Order) -> bool:
        """Remove an order; return False if it had ended before."""
        with self._lock:
            if order.ended:
                return False
            order.ended = True
            of_block = self._ordered.get(_key(order.block), {})
            if of_block.get(order.storage_id) is order:
                del of_block[order.storage_id]
                if not of_block:
                    del self._ordered[_key(order.block)]
            return True

    def _work(self, queue: SimpleQueue[_Order | Recheck | None]) -> None:
        while True:
            item = queue.get()
            if item is None:
                return
            try:
                if isinstance(item, Recheck):
                    verify_again(self._store, item.block, item.start, item.stop)
                elif self._begin(item):
                    self._store.invalidate(item.block)
                else:
                    continue
            except (errors.HowdahError, OSError) as error:
                # The next report still names the replica.
                log.error("%s: %s", _description_of(item), error)
            except Exception:
                # No other thread does this volume's work: go on with the next item.
                log.exception("%s: failed on a defect", _description_of(item))
            if isinstance(item, _Order):
                self._end(item)

    # --- verification ---

    def verify_again(self, item: Recheck) -> None:
        """Queue the verification of a replica; the control process is notified of damage."""
        try:
            replica = self._store.find(item.block)
        except errors.ReplicaNotFound as error:
            log.info("%s, and are not verified again: %s", _description_of(item), error)
            return
        if replica is not None:
            self._queues[replica.volume_id].put(item)

    # --- differences of disk and memory ---

    def reconcile(self, order: Reconcile) -> None:
        """Queue these replicas to be compared with the disk again."""
        self._to_reconcile.put(order)

    def _reconcile(self) -> None:
        # One thread for all volumes: a replica that was moved concerns two of them.
        while True:
            order = self._to_reconcile.get()
            settled = 0
            for block_id, strays in order.differences:
                try:
                    settled += self._store.reconciler.settle(
                        order.pool_id, block_id, order.storage_id, strays
                    )
                except OSError as error:
                    # Unless the volume is left, the next comparison finds the difference again.
                    log.error("block %d of %s: %s", block_id, order.pool_id, error)
                    self._disk_failed(order.storage_id, error)
                except Exception:
                    # No other thread does this; the next comparison finds the difference again.
                    log.exception("block %d of %s: a defect", block_id, order.pool_id)
            log.info(
                "%d of %d differences of disk and memory in %s were none",
                len(order.differences) - settled,
                len(order.differences),
                order.pool_id,
            )

    def _disk_failed(self, storage_id: str, error: OSError) -> None:
        try:
            self._store.disk_failed(self._store.volumes[storage_id], error)
        except Exception:
            log.exception("what follows from %s failed on a defect", error)

    # --- checks ---

    @property
    def checking(self) -> set[str]:
        """The storage ids of the volumes that are being checked."""
        with self._lock:
            return set(self._checking)

    def check(self) -> None:
        """Start a check of each volume that is not being checked already. Raises RuntimeError if no
        thread can be started."""
        for volume in self._store.volumes.working():
            with self._lock:
                if volume.storage_id in self._checking:
                    continue
                self._checking.add(volume.storage_id)
            done = threading.Event()
            watch = threading.Thread(
                target=self._watch, args=(volume, done), name=f"watch of {volume.path}", daemon=True
            )
            check = threading.Thread(
                target=self._check, args=(volume, done), name=f"check of {volume.path}", daemon=True
            )
            try:
                watch.start()
                check.start()
            except RuntimeError:
                # A lack of threads in this process is no fault of the volume.
                with self._lock:
                    self._checking.discard(volume.storage_id)
                done.set()
                raise

    def _check(self, volume: Volume, done: threading.Event) -> None:
        try:
            self._store.trouble.check(volume)
        except Exception:
            log.exception("checking %s failed on a defect", volume)
        finally:
            with self._lock:
                self._checking.discard(volume.storage_id)
            done.set()

    def _watch(self, volume: Volume, done: threading.Event) -> None:
        if done.wait(self._check_timeout_s):
            return
        try:
            self._store.trouble.remove_volume(
                volume, f"it does not answer a check within {self._check_timeout_s:g} s"
            )
        except Exception:
            log.exception("leaving %s, which hangs, failed on a defect", volume)


def _key(block: ExtendedBlock) -> _Key:
    return block.pool_id, block.block_id, block.generation_stamp


def _description_of(item: _Order | Recheck) -> str:
    if isinstance(item, Recheck):
        return f"bytes {item.start} to {item.stop} of {item.block} look damaged"
    return f"cannot delete {item.block}"
