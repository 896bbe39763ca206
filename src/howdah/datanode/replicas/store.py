"""The replicas of this datanode and their files: the one place where both change.

FsDatasetImpl in Hadoop.

Locks, the outer one first:

1. `Volume.changing`, one a volume: whoever makes, renames or removes files of replicas has
   it, and nobody holds it while block data is read, written or synced. A disk that hangs
   keeps nobody from the other volumes.
2. `_lock`, that of the map: held for looks at it and changes of it, never over a call to
   a disk. A replica changes in the map while both are held.

A change goes to the files first and to the map when it is done, and is told to the control process
after that. Who finds a replica in the map and not its files came in between: it looks again
while it has the volume's lock, and what is not there then is lost.

Whatever a disk does wrong comes through `trouble`.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable

from howdah import errors
from howdah.datanode.latency.activity import Activity
from howdah.datanode.latency.monitor import PeerMeter
from howdah.datanode.replicas.disk_errors import DiskErrors
from howdah.datanode.replicas.files import (
    create_files,
    delete_files,
    free_names,
    move_files,
    place_files,
    sync_directories,
    sync_files,
)
from howdah.datanode.replicas.in_memory import InMemory
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.reconciler import Reconciler
from howdah.datanode.replicas.short_circuit import ShortCircuitRegistry
from howdah.datanode.replicas.startup_scan import move_aside, replica_paths, sync_names
from howdah.datanode.replicas.trash import goes_to_trash, keep_as_it_is, move_to_trash, settle_trash
from howdah.datanode.replicas.writer import ReplicaWriter
from howdah.datanode.replicas.writer_registry import STOP_TIMEOUT_S, BriefHold, Stoppable, Writers
from howdah.datanode.state.memory.tracker import Copy
from howdah.datanode.state.messages import (
    Event,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    ReplicaSuspect,
)
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume, VolumeSet, changing
from howdah.protocol.data_transfer.blocks import ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec

log = logging.getLogger(__name__)


class BlockStore:
    """Creates, finds, finalizes and deletes replicas."""

    def __init__(
        self,
        volumes: VolumeSet,
        replicas: ReplicaMap,
        notify: Callable[[Event], None],
        stop_timeout_s: float = STOP_TIMEOUT_S,
        memory_bytes: int = 0,
    ) -> None:
        """`memory_bytes`: what replicas on volumes in memory may take."""
        self.volumes = volumes
        self.in_memory = InMemory(volumes, memory_bytes)
        self._replicas = replicas
        self._notify = notify
        self._lock = threading.Lock()
        self._served: set[str] = set()
        self._with_trash: set[str] = set()
        # By pool and block: a copy under way, and a replica that was found meanwhile on a volume
        # that is new here.
        self._left_aside: dict[tuple[str, int], tuple[Replica, Replica]] = {}
        self.writers = Writers(stop_timeout_s)
        self.short_circuit = ShortCircuitRegistry()
        """Local readers with files of their own; told before a finalized replica changes."""
        self.activity = Activity()
        self.peers: PeerMeter | None = None
        """How long other datanodes take to take packets, where that is measured."""
        self.trouble = DiskErrors(
            replicas,
            self._lock,
            self.short_circuit,
            notify,
            self._served,
            self.in_memory,
            self.writers,
        )
        self.reconciler = Reconciler(
            volumes,
            replicas,
            self._lock,
            self.short_circuit,
            notify,
            lambda block: self.writers.of(block) is not None,
        )
        for volume in volumes.all:
            if volume.is_transient:
                for pool_id, replica in replicas.of_volume(volume.storage_id):
                    self.in_memory.adopt(pool_id, replica)

    # --- pools ---

    def serve_pool(self, pool_id: str) -> None:
        """From now on blocks of this pool may be read and written."""
        with self._lock:
            self._replicas.add_pool(pool_id)
            self._served.add(pool_id)

    def leave_pool(self, pool_id: str) -> None:
        """Blocks of this pool are not read or written any more; their files stay."""
        with self._lock:
            self._served.discard(pool_id)
            self._with_trash.discard(pool_id)
        for writer in self.writers.of_pool(pool_id):
            writer.stop("its namespace is not served any more")

    def keep_deleted(self, pool_id: str, *, keeps: bool) -> None:
        """Whether replicas that the namenode deletes go to the trash: a rolling upgrade of it is
        under way. If it is final, the trash is deleted, beside."""
        with self._lock:
            (self._with_trash.add if keeps else self._with_trash.discard)(pool_id)
        for volume in self.volumes.working():
            settle = functools.partial(settle_trash, volume, pool_id, keeps=keeps)
            try:
                threading.Thread(target=settle, name="trash", daemon=True).start()
            except RuntimeError as error:
                log.error("the trash of %s on %s stays for now: %s", pool_id, volume, error)

    def served_pools(self) -> list[str]:
        return sorted(self._served)

    def _check_pool(self, pool_id: str) -> None:
        if pool_id not in self._served:
            raise errors.ReplicaNotFound(
                f"this datanode does not serve block pool {pool_id} "
                f"(it serves {', '.join(sorted(self._served)) or 'none yet'})"
            )

    # --- looking ---

    def visible_length(self, block: ExtendedBlock) -> int:
        """Bytes of the replica that a reader may see; -1 where that isn't known."""
        self._check_pool(block.pool_id)
        with self._lock:
            return self._replicas.get(block).visible_bytes

    def length(self, block: ExtendedBlock) -> int:
        """Bytes that are on disk."""
        self._check_pool(block.pool_id)
        with self._lock:
            return self._replicas.get(block).length_bytes

    def find(self, block: ExtendedBlock) -> Replica | None:
        """The replica of the block's id, whatever its stamp."""
        self._check_pool(block.pool_id)
        with self._lock:
            return self._replicas.find(block.pool_id, block.block_id)

    def block_ids(self, pool_id: str) -> list[int]:
        """Of all replicas in the pool, on whichever volume."""
        with self._lock:
            return self._replicas.ids_of_pool(pool_id)

    def find_id(self, pool_id: str, block_id: int) -> Replica | None:
        """The replica with this block id."""
        with self._lock:
            return self._replicas.find(pool_id, block_id)

    def block_counts(self) -> dict[str, int]:
        """Replicas on each volume."""
        with self._lock:
            return {
                volume.storage_id: self._replicas.count_of_volume(volume.storage_id)
                for volume in self.volumes.all
            }

    def open(self, block: ExtendedBlock) -> OpenReplica:
        """The replica of `block` for reading. `ReplicaNotFound` if there is none.

        A replica that moves (is made, finalized, reopened) between the look and the open
        is looked up again.
        """
        self._check_pool(block.pool_id)
        while True:
            replica, volume, paths = self._look_up(block)
            try:
                return OpenReplica.of(replica, volume, paths)
            except FileNotFoundError:
                log.debug("%r is in the middle of a change, or lost", replica)
            except OSError as error:
                self.trouble.disk_failed(volume, error, block.pool_id, replica)
                raise
            with volume.changing:
                now, _, paths = self._look_up(block)
                if now is not replica:
                    continue
                try:
                    return OpenReplica.of(replica, volume, paths)
                except FileNotFoundError as error:
                    missing = error
            self.trouble.vanished(block.pool_id, replica, volume, missing)
            raise errors.ReplicaNotFound(
                f"Replica not found for {block}: {missing.filename} is gone from the disk"
            ) from missing

    def _look_up(self, block: ExtendedBlock) -> tuple[Replica, Volume, tuple[str, str]]:
        with self._lock:
            replica = self._replicas.get(block)
            volume = self.volumes[replica.volume_id]
            return replica, volume, replica_paths(volume, block.pool_id, replica)

    # --- creating ---

    def create(
        self,
        block: ExtendedBlock,
        checksum: ChecksumSpec,
        storage_type: StorageType,
        *,
        temporary: bool = False,
        holder: Stoppable | None = None,
        lazy_persist: bool = False,
    ) -> ReplicaWriter:
        """A new, empty replica and its writer, which `holder` writes with.

        `temporary` is for copies from other datanodes, which count only when they
        are whole. With `lazy_persist` it goes to memory if there is room, and to a volume of
        `storage_type` if not. `ReplicaExists`, `DiskOutOfSpace`, or the disk's `OSError`.
        """
        assert block.length_bytes >= 0, f"{block} has {block.length_bytes} bytes"
        self._check_pool(block.pool_id)
        try:
            self._give_way(block, holder)
            volume = self.in_memory.choose(
                block, storage_type, self.disk_failed, lazy_persist=lazy_persist
            )
            state = ReplicaState.TEMPORARY if temporary else ReplicaState.RBW
            replica = Replica(block.block_id, block.generation_stamp, state, volume.storage_id)
            replica.synced = False
            volume.promise(block.length_bytes)
            try:
                with volume.changing:
                    with self._lock:
                        self._check_used(volume, block)
                        self._replicas.add(block.pool_id, replica)
                    try:
                        block_fd, meta_fd = create_files(volume, block.pool_id, replica, checksum)
                    except BaseException:
                        self._forget(block.pool_id, replica)
                        raise
            except BaseException as error:
                volume.promise(-block.length_bytes)
                if volume.is_transient:
                    self.in_memory.forget(block.pool_id, block.block_id)
                if isinstance(error, OSError) and not isinstance(error, errors.HowdahError):
                    self.disk_failed(volume, error)
                raise
        except BaseException:
            self.writers.release(block, holder)
            raise
        if not temporary:
            self._notify(ReplicaOpened(replica.as_block(block.pool_id), volume.storage_id))
        return ReplicaWriter(
            block.pool_id,
            replica,
            volume,
            block_fd,
            meta_fd,
            checksum,
            checksum,
            promised_bytes=block.length_bytes,
            holder=holder,
            unsynced=(volume.rbw_path(block.pool_id),),
        )

    def _forget(self, pool_id: str, replica: Replica) -> None:
        with self._lock:
            if self._replicas.find(pool_id, replica.block_id) is replica:
                self._replicas.remove(pool_id, replica.block_id)

    def _give_way(self, block: ExtendedBlock, holder: Stoppable | None) -> None:
        """`holder` writes the block from now on. An older replica is deleted: one that this
        datanode was left with when it fell out of a pipeline, or a copy that has been overtaken.
        Its writer goes first; so does whoever tells that there is no replica, or that would be
        heard after the new one. `ReplicaExists` if there is one that is not older."""
        with self._lock:
            replica = self._replicas.find(block.pool_id, block.block_id)
        if replica is not None and replica.generation_stamp >= block.generation_stamp:
            # Also if it goes in the next moment: nobody has claimed the block for the new one.
            raise errors.ReplicaExists(
                f"Block {block.block_id} of {block.pool_id} already exists: {replica!r}"
            )
        if replica is not None:
            log.info("%r gives way to %s", replica, block)
        if holder is None:
            if replica is not None:
                self.invalidate(replica.as_block(block.pool_id))
            return
        self.writers.claim(
            block, holder, block.generation_stamp, why=f"{block} takes the place of its replica"
        )
        if replica is not None and replica.generation_stamp < block.generation_stamp:
            self._delete(block.pool_id, replica, tell=replica.state is not ReplicaState.TEMPORARY)

    # --- writing again ---

    def claim(self, block: ExtendedBlock, holder: Stoppable, stamp: int) -> Replica:
        """The replica of `block`, which `holder` alone writes from now on, under `stamp`.

        `ReplicaNotFound` if there is none, or only an older one, and what `Writers.claim` raises.
        """
        self._check_pool(block.pool_id)
        self.writers.claim(block, holder, stamp)
        try:
            with self._lock:
                return self._replicas.get(block)
        except BaseException:
            self.writers.release(block, holder)
            raise

    def paths(self, pool_id: str, replica: Replica) -> tuple[str, str]:
        """(block file, meta file), as they are named now."""
        return replica_paths(self.volumes[replica.volume_id], pool_id, replica)

    def rename(
        self,
        pool_id: str,
        replica: Replica,
        state: ReplicaState,
        generation_stamp: int,
        change: Callable[[], None],
        *,
        durable: bool = True,
    ) -> None:
        """Rename the replica's files to what `state` and `generation_stamp` call for, then
        `change` it so. `ReplicaNotFound` if it was deleted meanwhile.

        `durable`, since the namenode forgets the old stamp: a replica that has it still
        after a power cut is stale, and what was synced in it is as good as lost. During a
        rolling upgrade a finalized replica is kept as it is, too.

        Whoever calls tells the control process. Where it fails when the replica is changed the
        control process is told here: full reports would name for ever what is not there.
        """
        volume = self.volumes[replica.volume_id]
        copy: Copy | None = None
        is_changed = False
        try:
            with volume.changing:
                with self._lock:
                    self._check_there(pool_id, replica)
                    self.short_circuit.revoke(pool_id, replica.block_id)
                    is_kept = pool_id in self._with_trash
                if is_kept and replica.stored_as is ReplicaState.FINALIZED:
                    keep_as_it_is(volume, pool_id, replica)
                copy = self.in_memory.reopen(pool_id, replica)
                try:
                    directories = move_files(volume, pool_id, replica, state, generation_stamp)
                    with self._lock:
                        # The volume may have been left meanwhile.
                        self._check_there(pool_id, replica)
                        change()
                        is_changed = True
                finally:
                    self.in_memory.settled(pool_id, replica)
            if durable:
                sync_directories(directories)
        except errors.HowdahError:
            raise
        except OSError as error:
            self.disk_failed(volume, error)
            if is_changed:
                self.tell_as_it_is(pool_id, replica)
            raise
        finally:
            self.in_memory.delete_copy(copy)

    def _check_there(self, pool_id: str, replica: Replica) -> None:
        if self._replicas.find(pool_id, replica.block_id) is not replica:
            raise errors.ReplicaNotFound(f"{replica!r} of {pool_id} has just been deleted")

    @staticmethod
    def _check_used(volume: Volume, block: ExtendedBlock) -> None:
        """With the map's lock, before a replica is added: once the volume is left nobody would
        take it out again."""
        if volume.failure is not None:
            raise errors.RemoteError(
                f"{block} does not go to {volume}, which is not used any more, {volume.failure}"
            )

    # --- ending a write ---

    def finalize(
        self, writer: ReplicaWriter, *, durable: bool = False, delete_hint: str = ""
    ) -> ExtendedBlock:
        """The replica is whole: close and rename its files, tell the control process.

        Meta file first: a finalized block file always has its checksums. `durable`
        puts files and directory entries on the disk before (`synconclose`, hsync).
        `delete_hint` is the datanode that is to lose its replica for this one, by its uuid.
        """
        if durable:
            writer.sync()
        writer.close()
        replica, pool_id = writer.replica, writer.pool_id
        self.rename(
            pool_id,
            replica,
            ReplicaState.FINALIZED,
            replica.generation_stamp,
            replica.finalize,
            durable=durable,
        )
        self._end_copy(pool_id, replica, is_whole=True)
        block = replica.as_block(pool_id)
        # Before somebody else has it, who may append to it, or delete it, and tell that.
        self._notify(ReplicaReceived(block, replica.volume_id, delete_hint))
        self.writers.release(block, writer.holder)
        return block

    def sync(self, pool_id: str, replica: Replica) -> None:
        """Both files of a finalized replica, and the way to them, are on the disk."""
        paths = self.paths(pool_id, replica)
        leaf = os.path.dirname(paths[0])
        above = os.path.dirname(leaf)
        try:
            sync_files(paths)
            sync_directories((leaf, above, os.path.dirname(above)))
        except OSError as error:
            self.disk_failed(self.volumes[replica.volume_id], error)
            raise

    def join_pipeline(self, writer: ReplicaWriter, acked_bytes: int) -> None:
        """A copy for a client's pipeline is whole: it is a replica that is being written now,
        without a writer until the pipeline comes. It is on the disk if the client had asked
        for that where it was copied from."""
        replica = writer.replica
        if replica.synced:
            writer.sync()
        writer.close()
        if replica.length_bytes < acked_bytes:
            raise errors.ReplicaNotFound(
                f"the copy {replica!r} lacks bytes that are acknowledged: "
                f"{acked_bytes} were announced"
            )
        self.rename(
            writer.pool_id,
            replica,
            ReplicaState.RBW,
            replica.generation_stamp,
            lambda: replica.join(acked_bytes),
            durable=replica.synced,
        )
        self._end_copy(writer.pool_id, replica, is_whole=True)
        self._notify(ReplicaOpened(replica.as_block(writer.pool_id), replica.volume_id))
        self.writers.release(replica.as_block(writer.pool_id), writer.holder)

    def abandon(self, writer: ReplicaWriter) -> None:
        """The writer is gone. What a client has written stays as it is, to be
        recovered; a copy from a datanode that isn't whole goes."""
        try:
            writer.close()
        finally:
            self._let_go(writer, deletes=writer.replica.state is ReplicaState.TEMPORARY, tell=False)

    def _let_go(self, writer: ReplicaWriter, *, deletes: bool, tell: bool) -> None:
        """Whatever went wrong with its files: the next writer of the block need not wait."""
        try:
            if deletes:
                self._delete(writer.pool_id, writer.replica, tell=tell)
                self._end_copy(writer.pool_id, writer.replica, is_whole=False)
        finally:
            self.writers.release(writer.replica.as_block(writer.pool_id), writer.holder)

    def discard(self, writer: ReplicaWriter) -> None:
        """The pipeline of a new replica never came about: nobody knows of the replica."""
        assert not writer.replica.length_bytes, f"{writer.replica!r} has bytes"
        try:
            writer.close()
        finally:
            self._let_go(writer, deletes=True, tell=True)

    # --- from volume to volume ---

    def take_place(
        self,
        pool_id: str,
        old: Replica,
        new: Replica,
        copies: tuple[str, str],
        *,
        is_counted: bool = False,
    ) -> tuple[str, ...]:
        """`new`, whose files are `copies` so far, takes the place of `old`, which is finalized
        on another volume and has no writer. Returns the directories to sync. `old` keeps its
        files; `ReplicaNotFound` if it was deleted meanwhile, or the disk's `OSError`. The bytes of
        `copies` are in the volume's account if `is_counted`."""
        volume = self.volumes[new.volume_id]
        try:
            with changing((self.volumes[old.volume_id], volume)):
                with self._lock:
                    self._check_there(pool_id, old)
                sizes = [os.path.getsize(path) for path in copies]
                directories = place_files(volume, pool_id, new, copies)
                with self._lock:
                    self.short_circuit.revoke(pool_id, old.block_id)
                    self._check_there(pool_id, old)
                    self._check_used(volume, old.as_block(pool_id))
                    self._replicas.remove(pool_id, old.block_id)
                    self._replicas.add(pool_id, new)
        except errors.HowdahError:
            raise
        except OSError as error:
            self.disk_failed(volume, error)
            raise
        if not is_counted:
            volume.count(pool_id, sum(sizes))
        return directories

    def delete_left_behind(self, pool_id: str, old: Replica) -> None:
        """The files of a replica whose place another one has taken."""
        volume = self.volumes[old.volume_id]
        with volume.changing:
            gone = self.in_memory.discard(pool_id, old)
            freed, paths = free_names(volume, pool_id, old)
        volume.count(pool_id, -(freed + delete_files(paths)))
        self.in_memory.settle(gone)

    # --- deleting ---

    def invalidate(self, block: ExtendedBlock) -> bool:
        """Delete the replica of `block` when its writer is gone; False if there is none of this
        generation. If the block has no replica here at all, the control process is told so: the
        namenode believes in one, and waits for its end. Raises what `Writers.claim` does."""
        with self._lock:
            replica = self._replicas.find(block.pool_id, block.block_id)
        stamp = block.generation_stamp
        if replica is not None and replica.generation_stamp != stamp:
            log.info("not deleting %s: this datanode has %r", block, replica)
            return False
        holder = BriefHold("a deletion")
        self.writers.claim(block, holder, stamp, why="its replica is to be deleted")
        try:
            if replica is None:
                self._tell_absent(block)
                return False
            if replica.generation_stamp != stamp:
                return False
            self._delete(block.pool_id, replica, tell=True, may_keep=True, holder=holder)
        finally:
            self.writers.release(block, holder)
        return True

    def _tell_absent(self, block: ExtendedBlock) -> None:
        """No volume has a replica of the block. Whoever calls has claimed it: a new replica is
        told after this."""
        with self._lock:
            if self._replicas.find(block.pool_id, block.block_id) is not None:
                return
        log.info(
            "nothing to delete of %s: this datanode does not have it, and tells the namenode", block
        )
        for volume in self.volumes.working():
            self._notify(ReplicaDeleted(block, volume.storage_id))

    def _delete(
        self,
        pool_id: str,
        replica: Replica,
        *,
        tell: bool,
        may_keep: bool = False,
        holder: Stoppable | None = None,
    ) -> None:
        """With `may_keep` it goes to the trash, if a rolling upgrade is under way. `holder` has
        the replica until it is not in the map any more: its files may take their disk for ever,
        and the next replica of the block is another one."""
        volume = self.volumes[replica.volume_id]
        with volume.changing:
            with self._lock:
                if self._replicas.find(pool_id, replica.block_id) is not replica:
                    return
                self._replicas.remove(pool_id, replica.block_id)
                self.short_circuit.revoke(pool_id, replica.block_id)
                keeps = may_keep and pool_id in self._with_trash and goes_to_trash(replica)
            if holder is not None:
                self.writers.release(replica.as_block(pool_id), holder)
            gone = self.in_memory.discard(pool_id, replica, ordered=may_keep)
            # The next replica of this block may have files of the same names soon.
            paths: tuple[str, ...] = ()
            if keeps:
                freed = move_to_trash(volume, pool_id, replica)
            else:
                freed, paths = free_names(volume, pool_id, replica)
        freed += delete_files(paths)
        volume.count(pool_id, -freed)
        self.in_memory.settle(gone)
        if tell and not self._is_replaced(pool_id, replica):
            self._tell_deleted(pool_id, replica)

    def _tell_deleted(self, pool_id: str, gone: Replica) -> None:
        """No lock keeps the news of the next replica of the block from being told just before this:
        it is told again then, or whoever hears of it would take it for deleted. Whoever writes it
        by now tells of it when it is whole."""
        self._notify(ReplicaDeleted(gone.as_block(pool_id), gone.volume_id))
        with self._lock:
            present = self._replicas.find(pool_id, gone.block_id)
        if present is None or present.state is ReplicaState.TEMPORARY:
            return
        block, holder = present.as_block(pool_id), BriefHold("news of a replica")
        if self.writers.try_hold(block, holder, present.generation_stamp):
            try:
                self.tell_as_it_is(pool_id, present)
            finally:
                self.writers.release(block, holder)

    def _is_replaced(self, pool_id: str, gone: Replica) -> bool:
        """Whether another replica of the block has come while the files were deleted. Its own news
        take the place of the old one, which may not be told after them. A copy under way has
        none yet, and may come to nothing."""
        with self._lock:
            present = self._replicas.find(pool_id, gone.block_id)
            return present is not None and present.state is not ReplicaState.TEMPORARY

    # --- trouble ---

    def notify(self, event: Event) -> None:
        """Pass something on to the control process."""
        self._notify(event)

    def tell_as_it_is(self, pool_id: str, replica: Replica) -> None:
        """Have the control process know the replica's stamp, and what it is stored as; nothing if
        it is not in the map any more."""
        with self._lock:
            if self._replicas.find(pool_id, replica.block_id) is not replica:
                return
        block, state = replica.as_block(pool_id), replica.stored_as
        if state is ReplicaState.FINALIZED:
            self._notify(ReplicaReceived(block, replica.volume_id))
        else:
            left_over = state is ReplicaState.RWR
            self._notify(ReplicaOpened(block, replica.volume_id, left_over))

    def corrupt(self, pool_id: str, replica: Replica, reason: str) -> None:
        self.trouble.corrupt(pool_id, replica, reason)

    def admit(self, pool_id: str, replica: Replica) -> None:
        """It was found on a volume that is new here. If the block has a replica already, the next
        comparison of disk and memory settles which one stays. A copy under way is none yet: if it
        comes to nothing, this one counts. If the volume has been left meanwhile, nobody would take
        it out again."""
        with self._lock:
            if self.volumes[replica.volume_id].failure is not None:
                return
            self._replicas.add_pool(pool_id)
            known = self._replicas.find(pool_id, replica.block_id)
            if known is None:
                self._replicas.add(pool_id, replica)
                self.in_memory.adopt(pool_id, replica)
                return
            if known.state is ReplicaState.TEMPORARY:
                self._left_aside[pool_id, replica.block_id] = known, replica
        log.warning("%r of %s is left aside: there is %r", replica, pool_id, known)

    def _end_copy(self, pool_id: str, copy: Replica, *, is_whole: bool) -> None:
        """A copy has come to its end, and so has what was left aside for it."""
        with self._lock:
            known, found = self._left_aside.get((pool_id, copy.block_id), (None, None))
            if known is not copy:
                return
            del self._left_aside[pool_id, copy.block_id]
        if found is not None and not is_whole:
            self.admit(pool_id, found)
            self.tell_as_it_is(pool_id, found)

    def suspect(self, pool_id: str, replica: Replica) -> None:
        """Who read it had an error that may be the replica's fault."""
        self._notify(ReplicaSuspect(replica.as_block(pool_id), replica.volume_id))

    def quarantine(self, pool_id: str, replica: Replica, reason: str) -> None:
        """Move the files of a replica aside that nobody can read, and forget it.

        Raises OSError where its block file cannot be moved; the replica stays then.
        """
        volume = self.volumes[replica.volume_id]
        is_gone = False
        try:
            with volume.changing:
                with self._lock:
                    if self._replicas.find(pool_id, replica.block_id) is not replica:
                        return
                    self.short_circuit.revoke(pool_id, replica.block_id)
                    paths = replica_paths(volume, pool_id, replica)
                freed = sum(os.path.getsize(path) for path in paths)
                try:
                    moved = move_aside(volume, pool_id, list(paths), reason)
                finally:
                    is_gone = not os.path.lexists(paths[0])
                    if is_gone:
                        self._forget(pool_id, replica)
                        self.in_memory.forget(pool_id, replica.block_id)
            # After a power cut that undoes the move, the next start or reader judges it again.
            sync_names(*moved)
        except OSError as error:
            self.disk_failed(volume, error)
            if not is_gone:
                raise
        log.error("%r of %s is given up, its files are moved aside: %s", replica, pool_id, reason)
        volume.count(pool_id, -freed)
        self._notify(ReplicaDeleted(replica.as_block(pool_id), volume.storage_id))

    def disk_failed(self, volume: Volume, error: OSError) -> None:
        """An operation on the volume's files failed: is it the file, or the volume?"""
        self.trouble.disk_failed(volume, error)
