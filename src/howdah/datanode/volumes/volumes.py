"""The volumes of a datanode: a directory each, on a disk of its own.

FsVolumeImpl and FsVolumeList in Hadoop.

A volume knows where its block files lie, how much room it has, and whether it
still works. A new replica goes to a volume of the wanted storage type that has room
for a whole block, by the policies of `choosing` (the storage id that a client names is
a hint which Hadoop's default ignores too).

A disk that is full is not a broken disk. Any other error makes the volume prove
itself with a small write: one bad sector, or one missing file, costs a replica, a
dead or unplugged disk the volume.

Used bytes are counted here, block and meta files together, from the scan at the
start and each replica since; no walk over the directory is ever needed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah import errors
from howdah.datanode.latency.monitor import DiskMeter, DiskOp
from howdah.datanode.state.volumes import block_files
from howdah.datanode.state.volumes.choosing import ChoosingPolicy, group
from howdah.datanode.state.volumes.reserve import Reserve
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.runtime.atomic_files import fsync_directory

DISK_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
# Failures of this process, which say nothing about the disk.
_NOT_THE_DISK = DISK_FULL | frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EFBIG, errno.EINTR)
)


def is_about_the_disk(error: OSError) -> bool:
    """Whether the volume must prove itself after this error."""
    return error.errno not in _NOT_THE_DISK


HANGS_AFTER_S = 5.0
"""A call to a disk that takes longer is one to go round, though it may come back."""


NO_RESERVE = Reserve()
ROUND_ROBIN_POLICY = ChoosingPolicy()


class Turn:
    """A lock that says how long its present holder has had it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since_s: float | None = None
        self.meter: DiskMeter | None = None
        """Told how long each holder had it."""

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since_s = time.monotonic()

    def __exit__(self, *_: object) -> None:
        since_s, self._since_s = self._since_s, None
        self._lock.release()
        if self.meter is not None and since_s is not None:
            self.meter.add(DiskOp.METADATA, time.monotonic() - since_s)

    @property
    def held_s(self) -> float:
        since_s = self._since_s
        return 0.0 if since_s is None else time.monotonic() - since_s


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one volume, in bytes, as a StorageReportProto has it."""

    capacity_bytes: int
    used_bytes: int
    remaining_bytes: int
    non_dfs_used_bytes: int


class Volume:
    """One data directory."""

    def __init__(
        self,
        path: str,
        storage_id: str,
        storage_type: StorageType = StorageType.DISK,
        reserve: Reserve = NO_RESERVE,
    ) -> None:
        self.path = path
        self.storage_id = storage_id
        self.storage_type = storage_type
        self.reserve = reserve
        self.reserved_bytes = reserve.of(0)
        """As of the last time that it was asked how full it is."""
        self.number = 0
        """Among all volumes that there have been since the start."""
        self.failure: str | None = None
        self.capacity_bytes = 0
        """As it was when it was asked last; 0 before."""
        self.changing = Turn()
        """Held by whoever makes, renames or removes files of replicas."""
        self.meter: DiskMeter | None = None
        """How long its disk takes, where that is measured."""
        self._asking = Turn()
        """Held by who asks the filesystem how full it is."""
        self._lock = threading.Lock()
        self._used_bytes: dict[str, int] = {}
        self._promised_bytes = 0
        self.on_promise: Callable[[int], None] | None = None
        """Told of the promised bytes whenever they change."""

    def __repr__(self) -> str:
        return f"{self.path} ({self.storage_type.name}, {self.storage_id})"

    @property
    def is_transient(self) -> bool:
        """It is in memory: what is there is gone with the next start of the machine."""
        return self.storage_type is StorageType.RAM_DISK

    def measure(self, meter: DiskMeter) -> None:
        """From now on."""
        self.meter = self.changing.meter = meter

    # --- where things lie ---

    def pool_path(self, pool_id: str) -> str:
        return f"{self.path}/{block_files.CURRENT}/{pool_id}"

    def current_path(self, pool_id: str) -> str:
        return f"{self.pool_path(pool_id)}/{block_files.CURRENT}"

    def trash_path(self, pool_id: str) -> str:
        return f"{self.pool_path(pool_id)}/{block_files.TRASH}"

    def rbw_path(self, pool_id: str) -> str:
        return f"{self.pool_path(pool_id)}/{block_files.CURRENT}/{block_files.RBW}"

    def finalized_path(self, pool_id: str) -> str:
        return f"{self.pool_path(pool_id)}/{block_files.CURRENT}/{block_files.FINALIZED}"

    def lazy_persist_path(self, pool_id: str) -> str:
        return f"{self.pool_path(pool_id)}/{block_files.CURRENT}/{block_files.LAZY_PERSIST}"

    def tmp_path(self, pool_id: str) -> str:
        return f"{self.pool_path(pool_id)}/{block_files.TMP}"

    def quarantine_path(self, pool_id: str) -> str:
        return f"{self.pool_path(pool_id)}/{block_files.QUARANTINE}"

    def finalized_directory(self, pool_id: str, block_id: int) -> str:
        return f"{self.finalized_path(pool_id)}/{block_files.subdirectory(block_id)}"

    def restart_path(self, pool_id: str, block_id: int) -> str:
        name = block_files.restart_file_name(block_id)
        return f"{self.pool_path(pool_id)}/{block_files.CURRENT}/{name}"

    def make_pool_directories(self, pool_id: str) -> None:
        """Durable: whatever is synced later must not vanish with a directory above it."""
        for path in self.finalized_path(pool_id), self.rbw_path(pool_id), self.tmp_path(pool_id):
            os.makedirs(path, exist_ok=True)
        # Also of what is there: the process that made it may have died before it was synced.
        pool = Path(self.pool_path(pool_id))
        for directory in (pool / block_files.CURRENT, pool, pool.parent, pool.parent.parent):
            fsync_directory(directory)

    # --- room ---

    def count(self, pool_id: str, change_bytes: int) -> None:
        """Block and meta files of the pool have grown, or shrunk, by so much."""
        with self._lock:
            self._used_bytes[pool_id] = self._used_bytes.get(pool_id, 0) + change_bytes

    def forget_pool(self, pool_id: str) -> None:
        """Nothing of the pool is here any more."""
        with self._lock:
            self._used_bytes.pop(pool_id, None)

    def promise(self, change_bytes: int) -> None:
        """Room that replicas being written will still take; negative gives it back.

        Whoever is told may refuse the number: then nothing has changed.
        """
        with self._lock:
            promised_bytes = self._promised_bytes + change_bytes
            assert promised_bytes >= 0, f"{self} would have promised {promised_bytes} bytes"
            if self.on_promise is not None:
                self.on_promise(promised_bytes)
            self._promised_bytes = promised_bytes

    def promise_up_to(self, wanted_bytes: int) -> int:
        """Hold that much room, or what is left; how much. A client says what it wants, and must
        not take room from others that isn't there. `OSError` if the volume can't be asked."""
        promised = max(min(wanted_bytes, self.usage().remaining_bytes), 0)
        self.promise(promised)
        return promised

    @property
    def promised_bytes(self) -> int:
        return self._promised_bytes

    def pool_used_bytes(self, pool_id: str) -> int:
        """The control process's estimates of what is deleted may be more than what was counted."""
        return max(self._used_bytes.get(pool_id, 0), 0)

    def usage(self, promised_elsewhere_bytes: int = 0) -> Usage:
        """From the filesystem, now. What others use counts against what is reserved for them.

        `promised_elsewhere_bytes` are those that another process has promised.
        """
        with self._asking:
            stat = os.statvfs(self.path)
        total = stat.f_blocks * stat.f_frsize
        free = stat.f_bavail * stat.f_frsize
        self.reserved_bytes = self.reserve.of(total)
        with self._lock:
            used = sum(max(used_bytes, 0) for used_bytes in self._used_bytes.values())
            promised = self._promised_bytes + promised_elsewhere_bytes
        capacity = self.capacity_bytes = max(total - self.reserved_bytes, 0)
        others = max(total - stat.f_bfree * stat.f_frsize - used, 0)
        still_reserved = max(self.reserved_bytes - others, 0)
        remaining = min(capacity - used, free - still_reserved) - promised
        return Usage(capacity, used, max(remaining, 0), max(others - self.reserved_bytes, 0))

    # --- health ---

    @property
    def hangs(self) -> bool:
        """Somebody waits for this disk, and has for so long that others had better not."""
        return max(self.changing.held_s, self._asking.held_s) > HANGS_AFTER_S

    def probe(self, pools: Iterable[str]) -> OSError | None:
        """Why the volume can't be used, or None if it can.

        An unplugged disk leaves its mount point behind, an empty directory on
        another disk, so what must be there is looked for as well.
        """
        path = f"{self.path}/{block_files.CURRENT}/probe-{os.getpid()}-{threading.get_ident()}"
        try:
            for pool_id in pools:
                os.stat(self.rbw_path(pool_id))
                os.stat(self.finalized_path(pool_id))
            fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                os.pwrite(fd, b"probe", 0)
                os.fsync(fd)
            finally:
                try:
                    os.close(fd)
                finally:
                    os.unlink(path)
        except OSError as error:
            return error if is_about_the_disk(error) else None
        return None


@contextlib.contextmanager
def changing(volumes: Iterable[Volume]) -> Iterator[None]:
    """Hold `Volume.changing` of several volumes, in the one order in which everybody takes them:
    two who took them in two orders would wait for each other for ever."""
    with contextlib.ExitStack() as stack:
        for volume in sorted(volumes, key=lambda volume: volume.storage_id):
            stack.enter_context(volume.changing)
        yield


class VolumeSet:
    """Holds all volumes of the datanode, failed ones included."""

    def __init__(
        self, volumes: Sequence[Volume], policy: ChoosingPolicy = ROUND_ROBIN_POLICY
    ) -> None:
        assert volumes, "a datanode has at least one volume"
        self.all = tuple(volumes)
        for number, volume in enumerate(volumes):
            volume.number = number
        self.by_id = {volume.storage_id: volume for volume in volumes}
        """Removed ones included: there may be threads that are busy with them."""
        self._lock = threading.Lock()
        self.policy = policy
        self._next: dict[tuple[StorageType, str], int] = {}
        self.on_hang: Callable[[], None] = lambda: None
        """Called when a volume was passed over because it hangs."""

    def __getitem__(self, storage_id: str) -> Volume:
        return self.by_id[storage_id]

    def know(self, volume: Volume) -> None:
        """Replicas may lie on this one. No new one goes there before it is added."""
        with self._lock:
            self.by_id[volume.storage_id] = volume

    def add(self, volume: Volume) -> None:
        """Use this one, too; its number is one that none has had."""
        with self._lock:
            self.by_id[volume.storage_id] = volume
            self.all = (*self.all, volume)

    def remove(self, volume: Volume) -> None:
        """Stop using the volume."""
        with self._lock:
            self.all = tuple(other for other in self.all if other is not volume)

    def working(self) -> list[Volume]:
        return [volume for volume in self.all if volume.failure is None]

    def on_disks(self) -> list[Volume]:
        """Those that work and keep what they have when the machine ends."""
        return [volume for volume in self.working() if not volume.is_transient]

    def choose(
        self,
        storage_type: StorageType,
        needed_bytes: int,
        on_error: Callable[[Volume, OSError], None],
    ) -> Volume:
        """The next volume of this type with room for `needed_bytes`.

        `DiskOutOfSpace` when none has; it says how much the emptiest has left. A
        volume that can't be asked is passed over, after `on_error` was told of it, and so is
        one that hangs.
        """
        candidates = [v for v in self.working() if v.storage_type is storage_type]
        if not candidates:
            raise errors.DiskOutOfSpace(
                f"No more available volumes: this datanode has no working volume "
                f"of type {storage_type.name}"
            )
        broken: list[str] = []

        def remaining_of(volume: Volume) -> int | None:
            if volume.hangs:
                broken.append(f"{volume.path}: it has not answered for {HANGS_AFTER_S:g} s")
                self.on_hang()
                return None
            try:
                return volume.usage().remaining_bytes
            except OSError as error:
                broken.append(f"{volume.path}: {error}")
                on_error(volume, error)
                return None

        known: dict[Volume, int | None] = {}
        name = "all"
        if self.policy.by_space:
            known = {volume: remaining_of(volume) for volume in candidates}
            answering = [(volume, left) for volume, left in known.items() if left is not None]
            chosen = group(
                self.policy, [left for _, left in answering], needed_bytes, random.random()
            )
            name, candidates = chosen.name, [answering[n][0] for n in chosen.members]
        most = -1
        for volume in self._in_turn(storage_type, name, candidates):
            remaining = known[volume] if volume in known else remaining_of(volume)
            if remaining is not None:
                if self.policy.has_room(remaining, needed_bytes):
                    return volume
                most = max(most, remaining)
        raise errors.DiskOutOfSpace(
            f"Out of space: The volume of type {storage_type.name} with the most available space "
            f"(={max(most, 0)} B) is less than the block size (={needed_bytes} B)."
            + (f" Not readable: {'; '.join(broken)}" if broken else "")
        )

    def _in_turn(
        self, storage_type: StorageType, name: str, candidates: list[Volume]
    ) -> Iterator[Volume]:
        """All of them, beginning with the one behind that with which it began last."""
        if not candidates:
            return
        with self._lock:
            start = self._next.get((storage_type, name), 0) % len(candidates)
            self._next[storage_type, name] = start + 1
        for index in range(len(candidates)):
            yield candidates[(start + index) % len(candidates)]
