"""Which replicas are kept in memory for the namenode.

FsDatasetCache in Hadoop. The states of one:

    CACHING    room is held; a thread maps, locks and verifies it
    CACHED     readers on this machine may read it without its checksums; to others it is sent
               from where it is mapped (`memory.mapped`)
    UNCACHING  it is to go; local readers that are in the middle of it have time to end

    CACHING -> CACHED -uncache-> UNCACHING -> gone
    CACHING -uncache, change-> CANCELLED -> gone     CACHED -change-> gone

Rules:
- a replica that is about to change, to be moved or to be deleted is not cached from that moment
  on: whoever changes it revokes its local readers first (`replicas.short_circuit`), and this
  is told;
- locked bytes, with those of replicas on volumes in memory, are never more than
  `dfs.datanode.max.locked.memory`;
- a damaged replica is not cached; the scanner is told to look at it.

Each volume has one thread that caches, from its first order on, so that a disk that hangs
keeps none from the others.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from queue import SimpleQueue

from howdah import errors
from howdah.datanode.memory.mmap_replicas import MappedReplica
from howdah.datanode.replicas.open_replica import VERIFY_BYTES, OpenReplica
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.fault_points import Point, reach
from howdah.datanode.state.messages import CacheChanged
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.runtime import libc

# A file in memory that the kernel may not take back: mmap and mlock.
#
# Hadoop's MemoryMappedBlock. Python's `mmap` has no `mlock`, and keeps a descriptor for each
# mapping, so both come from the C library. The calls let other threads run: to lock a file means
# to read it.


class MappedFile:
    """The first `length_bytes` of a file, mapped until `release`. They come from the disk when
    they are needed."""

    __slots__ = ("_address", "length_bytes")

    def __init__(self, fd: int, length_bytes: int) -> None:
        """`OSError` if the file cannot be mapped."""
        assert length_bytes > 0, f"{length_bytes} bytes cannot be mapped"
        self.length_bytes = length_bytes
        self._address: int | None = libc.map_file(fd, length_bytes)

    def view(self) -> memoryview:
        """The mapped bytes, for system calls that are over before `release`. Who looks at them
        here ends this process if the file was cut meanwhile."""
        assert self._address is not None, "it was released"
        return libc.view_of(self._address, self.length_bytes)

    def release(self) -> None:
        """Unmapped memory is not locked any more. Safe to repeat."""
        address, self._address = self._address, None
        if address is not None:
            libc.unmap(address, self.length_bytes)


class LockedFile(MappedFile):
    """The same, read and locked at once."""

    __slots__ = ()

    def __init__(self, fd: int, length_bytes: int) -> None:
        """`OSError` if the process may not lock so much, or the file cannot be read."""
        super().__init__(fd, length_bytes)
        assert self._address is not None
        try:
            libc.lock_memory(self._address, length_bytes)
        except OSError:
            self.release()
            raise


log = logging.getLogger(__name__)

Key = tuple[str, int]
"""(pool id, block id)."""


class Stage(enum.Enum):
    CACHING = "caching"
    CANCELLED = "cancelled"
    CACHED = "cached"
    UNCACHING = "uncaching"


@dataclass(slots=True, frozen=True)
class _Memory:
    """What a replica has here: its files, and the way of who sends it to them."""

    files: tuple[MappedFile, ...]
    mapped: MappedReplica | None
    """None without checksums: nothing was verified."""

    def is_left(self) -> bool:
        """Nobody begins to send from it any more. Whether nobody is in the middle of it."""
        return self.mapped is None or self.mapped.close()

    def release(self) -> None:
        for file in self.files:
            file.release()


@dataclass(slots=True, eq=False)
class _Entry:
    key: Key
    held_bytes: int
    stage: Stage = Stage.CACHING
    memory: _Memory | None = None
    give_up_s: float = field(default=0.0)
    """When readers that are still in the middle of it are not waited for any more."""


class BlockCache:
    """Of one datanode. Thread-safe; its lock may be taken with the store's held, so nothing of
    the store is asked with it held."""

    def __init__(
        self,
        store: BlockStore,
        *,
        revocation_timeout_s: float = 900.0,
        polling_s: float = 0.5,
        lock_memory: Callable[[int, int], LockedFile] = LockedFile,
    ) -> None:
        """Local readers have `revocation_timeout_s` to let go of a replica; they are looked at
        every `polling_s`."""
        self._store = store
        self._registry = store.short_circuit
        self._timeout_s = revocation_timeout_s
        self._polling_s = polling_s
        self._lock_memory = lock_memory
        self._lock = threading.Lock()
        self._entries: dict[Key, _Entry] = {}
        self._leaving: list[_Entry] = []
        self._news: deque[CacheChanged] = deque()
        self._changed = threading.Condition(self._lock)
        self._janitor: threading.Thread | None = None
        self._queues: dict[str, SimpleQueue[tuple[_Entry, Volume]]] = {}
        self._registry.on_revoke = self._revoked

    def is_cached(self, pool_id: str, block_id: int) -> bool:
        with self._lock:
            entry = self._entries.get((pool_id, block_id))
            return entry is not None and entry.stage is Stage.CACHED

    # --- orders ---

    def cache(self, pool_id: str, block_ids: Iterable[int]) -> None:
        """What cannot be cached is left: the namenode orders it again."""
        for block_id in block_ids:
            self._begin(pool_id, block_id)

    def uncache(self, pool_id: str, block_ids: Iterable[int]) -> None:
        for block_id in block_ids:
            self._end((pool_id, block_id), time.monotonic() + self._timeout_s)

    def leave_pool(self, pool_id: str) -> None:
        """It is not served any more: nothing of it takes memory that others could have."""
        with self._lock:
            block_ids = [block_id for pool, block_id in self._entries if pool == pool_id]
        self.uncache(pool_id, block_ids)

    def _begin(self, pool_id: str, block_id: int) -> None:
        replica = self._store.find_id(pool_id, block_id)
        why = "there is no replica of it"
        if replica is not None:
            volume = self._store.volumes[replica.volume_id]
            if replica.state is not ReplicaState.FINALIZED:
                why = f"it is {replica.state.name}"
            elif volume.is_transient:
                why = f"it is in memory, on {volume.path}"
            else:
                held = self._hold((pool_id, block_id), replica.length_bytes)
                if held is None:
                    return
                try:
                    self._queue_of(volume).put((held, volume))
                except RuntimeError as error:
                    self._loaded(held, None, f"there is no thread for {volume.path}: {error}")
                return
        log.warning("block %d of %s is not cached: %s", block_id, pool_id, why)

    def _hold(self, key: Key, length_bytes: int) -> _Entry | None:
        """None if it is cached, or about to be, or there is no room."""
        memory = self._store.in_memory
        held_bytes = memory.tracker.round_up(length_bytes)
        with self._lock:
            if key in self._entries:
                return None
            if not memory.hold_cached(held_bytes):
                log.warning(
                    "block %d of %s is not cached: it has %d bytes, and %d of "
                    "dfs.datanode.max.locked.memory = %d are in use. The namenode orders it again "
                    "as long as it is to be cached",
                    key[1],
                    key[0],
                    length_bytes,
                    memory.tracker.locked_bytes,
                    memory.tracker.limit_bytes,
                )
                return None
            entry = self._entries[key] = _Entry(key, held_bytes)
            return entry

    def _queue_of(self, volume: Volume) -> SimpleQueue[tuple[_Entry, Volume]]:
        with self._lock:
            queue = self._queues.get(volume.storage_id)
            if queue is None:
                queue = SimpleQueue()
                threading.Thread(
                    target=self._work, args=(queue,), name=f"caching of {volume.path}", daemon=True
                ).start()
                self._queues[volume.storage_id] = queue
            return queue

    # --- caching ---

    def _work(self, queue: SimpleQueue[tuple[_Entry, Volume]]) -> None:
        while True:
            entry, volume = queue.get()
            memory: _Memory | None = None
            why: str | None = None
            try:
                memory = self._load(entry)
            except errors.HowdahError as error:
                why = str(error)
            except OSError as error:
                why = f"{volume.path}: {error}"
            except Exception:
                # The only thread for this volume.
                log.exception("caching block %d failed on a defect", entry.key[1])
                why = "of a defect"
            try:
                self._loaded(entry, memory, why)
            except Exception:
                log.exception("the end of caching block %d failed on a defect", entry.key[1])

    def _load(self, entry: _Entry) -> _Memory | None:
        """Map, lock and verify it; None for a replica without a byte."""
        pool_id, block_id = entry.key
        replica = self._store.find_id(pool_id, block_id)
        if replica is None:
            raise errors.ReplicaNotFound("it has just been deleted")
        with self._store.open(replica.as_block(pool_id)) as opened:
            if opened.replica.state is not ReplicaState.FINALIZED:
                raise errors.ReplicaNotFound(f"it is {opened.replica.state.name} now")
            if opened.length_bytes > entry.held_bytes:
                # It was appended to between the order's look at it and the hold.
                raise errors.ReplicaNotFound(f"it has grown to {opened.length_bytes} bytes")
            if not opened.length_bytes:
                return None
            locked = self._lock_memory(opened.block_fd, opened.length_bytes)
            try:
                reach(Point.CACHE_LOCKED, block_id)
                self._verify(entry, opened)
                return _mapped(opened, locked)
            except BaseException:
                locked.release()
                raise

    def _verify(self, entry: _Entry, opened: OpenReplica) -> None:
        """What is locked is what is read here: both are the kernel's pages of the file."""
        spec = opened.checksum
        step = max(VERIFY_BYTES // spec.bytes_per_checksum, 1) * spec.bytes_per_checksum
        for start in range(0, opened.length_bytes, step):
            if entry.stage is not Stage.CACHING:
                raise errors.ReplicaNotFound("it is to go again")
            damaged = opened.damaged_between(start, min(start + step, opened.length_bytes))
            if damaged is not None:
                self._store.suspect(entry.key[0], opened.replica)
                raise errors.ChecksumMismatch(
                    f"the chunk at {damaged} of {opened.replica!r} on {opened.volume.path} does "
                    "not fit its checksum. The replica is verified again, and reported if it is "
                    "damaged"
                )

    def _loaded(self, entry: _Entry, memory: _Memory | None, why: str | None) -> None:
        pool_id, block_id = entry.key
        with self._lock:
            is_wanted = entry.stage is Stage.CACHING and why is None
            if is_wanted:
                entry.stage, entry.memory = Stage.CACHED, memory
                if memory is not None and memory.mapped is not None:
                    self._store.in_memory.mapped[entry.key] = memory.mapped
                self._registry.cached(*entry.key)
                self._notify(CacheChanged(pool_id, (block_id,), ()))
            else:
                self._entries.pop(entry.key, None)
        if is_wanted:
            log.info("block %d of %s is cached: %d bytes", block_id, pool_id, entry.held_bytes)
            return
        try:
            if memory is not None:
                memory.release()
        finally:
            self._store.in_memory.free_cached(entry.held_bytes)
        if why is not None and entry.stage is Stage.CACHING:
            log.warning("block %d of %s is not cached: %s", block_id, pool_id, why)

    # --- uncaching ---

    def _revoked(self, pool_id: str, block_id: int) -> None:
        """The replica is about to change. The caller has the store's lock."""
        self._end((pool_id, block_id), None)

    def _end(self, key: Key, give_up_s: float | None) -> None:
        """Local readers have until `give_up_s`; without it they were told to stop."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return
            if entry.stage is Stage.CACHING:
                entry.stage = Stage.CANCELLED
            elif entry.stage is Stage.CACHED:
                entry.stage = Stage.UNCACHING
                entry.give_up_s = 0.0 if give_up_s is None else give_up_s
                self._store.in_memory.mapped.pop(key, None)
                self._registry.uncached(*key)
                self._leaving.append(entry)
                self._notify(CacheChanged(key[0], (), (key[1],)))
            elif entry.stage is Stage.UNCACHING and give_up_s is None:
                entry.give_up_s = 0.0
                self._changed.notify()

    def _notify(self, news: CacheChanged) -> None:
        """With the lock held, so in order: a thread tells the control process and gives memory
        back, never whoever changes a replica."""
        self._news.append(news)
        if self._janitor is None:
            janitor = threading.Thread(target=self._run, name="uncaching", daemon=True)
            try:
                janitor.start()
                self._janitor = janitor
            except RuntimeError as error:
                # With the next news there may be one.
                log.error("the namenode is told later of what is cached: %s", error)
        self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._news:
                    self._changed.wait(self._polling_s if self._leaving else None)
            try:
                while self._news:
                    self._store.notify(self._news.popleft())
                self.let_go()
            except Exception:
                # The only thread for these: memory would never be given back again.
                log.exception("uncaching failed on a defect")
                time.sleep(self._polling_s)

    def let_go(self) -> None:
        """Give back the memory of those that nobody is in the middle of. Who sends one over the
        network is waited for, as long as the reader's connection lives."""
        now_s = time.monotonic()
        with self._lock:
            gone: list[_Entry] = []
            staying: list[_Entry] = []
            for entry in self._leaving:
                in_use = now_s < entry.give_up_s and self._registry.is_anchored(*entry.key)
                if in_use or not (entry.memory is None or entry.memory.is_left()):
                    staying.append(entry)
                    continue
                gone.append(entry)
                self._entries.pop(entry.key, None)
            self._leaving = staying
        for entry in gone:
            self._give_back(entry)

    def _give_back(self, entry: _Entry) -> None:
        try:
            if entry.memory is not None:
                entry.memory.release()
        except Exception:
            # Those behind it have their turn.
            log.exception("unlocking block %d failed on a defect", entry.key[1])
        self._store.in_memory.free_cached(entry.held_bytes)
        log.info("block %d of %s is uncached", entry.key[1], entry.key[0])


def _mapped(opened: OpenReplica, locked: LockedFile) -> _Memory:
    """What those send who send the replica; it was verified just now."""
    spec = opened.checksum
    if not spec.sum_bytes:
        return _Memory((locked,), None)
    header = block_files.sums_offset(spec, 0)
    try:
        sums = MappedFile(opened.meta_fd, header + spec.sums_length(opened.length_bytes))
    except OSError as error:
        # As where a process has as many mappings as it may (vm.max_map_count).
        log.warning("%r is cached, and sent as if it were not: %s", opened.replica, error)
        return _Memory((locked,), None)
    partial = opened.length_bytes % spec.bytes_per_checksum
    mapped = MappedReplica(
        opened.replica.generation_stamp,
        spec,
        locked.view(),
        sums.view()[header:],
        opened.tail[1] if partial else b"",
    )
    return _Memory((locked, sums), mapped)
