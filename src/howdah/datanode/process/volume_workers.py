"""Deletions, second looks and checks of volumes, a thread for each volume.

FsDatasetAsyncDiskService and DatasetVolumeChecker in Hadoop. One disk that hangs keeps no
other back.

The keeper's orders come here because no thread waits for their end. A volume deletes one
replica after the other, and looks at what the keeper found damaged in between. An order that is
given again before it was carried out is one order: the second would delete a replica that
has come since. Orders for replicas that no volume has are a thread's of their own. A check has a
thread of its own, since the volume's worker may hang in a deletion, and a time: a volume
that has said nothing by then is left.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from queue import SimpleQueue

from howdah import errors
from howdah.datanode.channel.messages import DeletionEnded, Recheck, Reconcile
from howdah.datanode.process.second_look import verify_again
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.volumes.volumes import Volume
from howdah.transfer.blocks import ExtendedBlock

log = logging.getLogger(__name__)

CHECK_TIMEOUT_S = 600.0
"""As Hadoop has it (`dfs.datanode.disk.check.timeout`)."""


class VolumeWorkers:
    """The background of a data process."""

    def __init__(self, store: BlockStore, check_timeout_s: float = CHECK_TIMEOUT_S) -> None:
        self._store = store
        self._check_timeout_s = check_timeout_s
        self._lock = threading.Lock()
        self._checking: set[str] = set()
        self._to_reconcile: SimpleQueue[Reconcile] = SimpleQueue()
        self._queues: dict[str, SimpleQueue[ExtendedBlock | Recheck | None]] = {
            volume.storage_id: SimpleQueue() for volume in store.volumes.all
        }
        self._absent: SimpleQueue[ExtendedBlock | Recheck | None] = SimpleQueue()
        # Replicas with an order to be deleted that was not carried out yet.
        self._ordered: set[tuple[str, int, int]] = set()

    def start(self) -> None:
        threading.Thread(target=self._reconcile, name="reconciler", daemon=True).start()
        threading.Thread(
            target=self._work, args=(self._absent,), name="deletions of nothing", daemon=True
        ).start()
        for volume in self._store.volumes.all:
            self._start(volume)

    def add_volume(self, volume: Volume) -> None:
        """Work for this one, too; it is not used yet."""
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
        """Do nothing more for this one."""
        self._queues[volume.storage_id].put(None)

    # --- deletions ---

    def invalidate(self, blocks: Iterable[ExtendedBlock]) -> None:
        """Delete these replicas, each when its volume comes to it. The keeper hears of the end
        of each order: no full report names the replica before."""
        for block in blocks:
            try:
                replica = self._store.find(block)
            except errors.HowdahError as error:
                log.error("cannot delete %s: %s", block, error)
                self._store.tell(DeletionEnded(block))
                continue
            with self._lock:
                is_known = _key(block) in self._ordered
                self._ordered.add(_key(block))
            if is_known:
                self._store.tell(DeletionEnded(block))
            elif replica is None:
                self._absent.put(block)
            else:
                self._queues[replica.volume_id].put(block)

    def _work(self, queue: SimpleQueue[ExtendedBlock | Recheck | None]) -> None:
        while True:
            item = queue.get()
            if item is None:
                return
            try:
                if isinstance(item, Recheck):
                    verify_again(self._store, item.block, item.start, item.stop)
                else:
                    self._store.invalidate(item)
            except (errors.HowdahError, OSError) as error:
                # The next report shows that it is there still.
                log.error("%s: %s", _told(item), error)
            except Exception:
                # The only thread for these: what comes next must have its turn.
                log.exception("%s: failed on a defect", _told(item))
            if isinstance(item, ExtendedBlock):
                with self._lock:
                    self._ordered.discard(_key(item))
                self._store.tell(DeletionEnded(item))

    # --- second looks ---

    def verify_again(self, item: Recheck) -> None:
        """Look at the replica when its volume comes to it; the keeper hears of damage."""
        try:
            replica = self._store.find(item.block)
        except errors.ReplicaNotFound as error:
            log.info("%s, and nobody looks again: %s", _told(item), error)
            return
        if replica is not None:
            self._queues[replica.volume_id].put(item)

    # --- differences of disk and memory ---

    def reconcile(self, order: Reconcile) -> None:
        """Look at these replicas again, one after the other."""
        self._to_reconcile.put(order)

    def _reconcile(self) -> None:
        # One thread for all volumes: a replica that was moved to another one is about both.
        while True:
            order = self._to_reconcile.get()
            settled = 0
            for block_id, strays in order.differences:
                try:
                    settled += self._store.reconciler.settle(
                        order.pool_id, block_id, order.storage_id, strays
                    )
                except OSError as error:
                    # Or else the next comparison finds it again.
                    log.error("block %d of %s: %s", block_id, order.pool_id, error)
                    volume = self._store.volumes[order.storage_id]
                    self._store.disk_failed(volume, error)
                except Exception:
                    # The only thread for these, and the next comparison finds it again.
                    log.exception("block %d of %s: a defect", block_id, order.pool_id)
            log.info(
                "%d of %d differences of disk and memory in %s were none",
                len(order.differences) - settled,
                len(order.differences),
                order.pool_id,
            )

    # --- checks ---

    @property
    def checking(self) -> set[str]:
        """The volumes whose check is under way."""
        with self._lock:
            return set(self._checking)

    def check(self) -> None:
        """Have every volume prove itself, but those that are about to. `RuntimeError` where there
        are no threads for that."""
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
                # It says nothing of the volume that this process has no more threads.
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
        if not done.wait(self._check_timeout_s):
            self._store.trouble.leave(
                volume, f"it does not answer a check within {self._check_timeout_s:g} s"
            )


def _key(block: ExtendedBlock) -> tuple[str, int, int]:
    return block.pool_id, block.block_id, block.generation_stamp


def _told(item: ExtendedBlock | Recheck) -> str:
    if isinstance(item, Recheck):
        return f"bytes {item.start} to {item.stop} of {item.block} look damaged"
    return f"cannot delete {item}"
