"""The replicas of a simulated datanode: the real store over a simulated disk.

The same steps in the same order, as far as a crash between two of them, or another thread,
could make a difference. What is allowed, what is cut, which bytes are written where and
which checksums they get is decided by the modules that decide it in a datanode:
`replicas`, `write_plan`, `block_files`.

Not modelled: several volumes, room on them, local readers, the page cache's hints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from howdah import errors
from howdah.datanode.state.messages import (
    CorruptFound,
    Event,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
)
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap, Tail
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.replicas.write_plan import (
    check_sums_length,
    fresh_sums,
    last_sum_of,
    plan_write,
)
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumSpec, crc, verify_chunks
from howdah.protocol.data_transfer.meta_header import (
    META_HEADER_BYTES,
    decode_meta_header,
    encode_meta_header,
)
from howdah.protocol.data_transfer.packets import PacketHeader
from howdah.testing.in_memory import POOL_ID
from howdah.testing.simulator.datanodes.disk import Disk, Name, Place, ReplicaFiles
from howdah.testing.simulator.tasks import PAUSE, Steps, Wait, World

STOP_TIMEOUT_MS = 60_000
STOP_AGAIN_MS = 5_000


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet on its way."""

    header: PacketHeader
    sums: bytes
    data: bytes


class Holder(Protocol):
    """Whoever writes a replica."""

    def stop(self, why: str) -> None: ...


class Briefly:
    """Holds a replica for the length of one call."""

    def stop(self, why: str) -> None:
        """It ends soon by itself."""


def place_of(state: ReplicaState) -> Place:
    match state:
        case ReplicaState.FINALIZED:
            return Place.FINALIZED
        case ReplicaState.TEMPORARY:
            return Place.TMP
    return Place.RBW


def spec_of(files: ReplicaFiles) -> ChecksumSpec:
    """How the replica is summed. `ChecksumMismatch` if the meta file says nothing."""
    return decode_meta_header(bytes(files.meta.content[:META_HEADER_BYTES]))


def sums_of(files: ReplicaFiles, spec: ChecksumSpec, length: int) -> bytes:
    return bytes(files.meta.content[: block_files.meta_bytes(spec, length)])[META_HEADER_BYTES:]


def good_length(files: ReplicaFiles) -> Tail:
    """As `scan.good_length`: bytes whose checksums hold, and the sum of the last part chunk."""
    spec = spec_of(files)
    chunk = spec.bytes_per_checksum
    data = bytes(files.block.content)
    sums = bytes(files.meta.content[META_HEADER_BYTES:])
    good = 0
    for index in range(len(sums) // spec.sum_bytes):
        part, expected = data[good : good + chunk], sums[index * 4 : index * 4 + 4]
        fits = [
            end
            for end in range(1, len(part) + 1)
            if crc(spec.type, part[:end]).to_bytes(4, "big") == expected
        ]
        if not fits:
            break
        good += fits[-1]
        if fits[-1] < chunk:
            return good, expected
    return good, b""


class Opened:
    """A replica as it was when it was opened for reading."""

    def __init__(self, replica: Replica, files: ReplicaFiles) -> None:
        self.replica = replica
        self.state = replica.state
        self.spec = spec_of(files)
        self.length_bytes, self.last_sum = replica.tail
        self.data = bytes(files.block.content[: self.length_bytes])
        sums = sums_of(files, self.spec, self.length_bytes)
        self.sums = sums[: len(sums) - 4] + self.last_sum if self.last_sum else sums

    def check_files(self) -> None:
        """`ChecksumMismatch` if they lack bytes."""
        if len(self.data) < self.length_bytes or len(self.sums) != self.spec.sums_length(
            self.length_bytes
        ):
            raise errors.ChecksumMismatch(f"the files of {self.replica!r} are not all of it")

    def verify(self) -> None:
        """`ChecksumMismatch` if data and sums don't fit."""
        if verify_chunks(self.spec, self.data, self.sums) >= 0:
            raise errors.ChecksumMismatch(f"{self.replica!r} does not fit its checksums")

    def sum_up_to(self, end: int) -> bytes:
        """As `OpenReplica.sum_up_to`."""
        partial = end % self.spec.bytes_per_checksum
        if not partial:
            return b""
        start = end - partial
        index = start // self.spec.bytes_per_checksum
        data = self.data[start : start + self.spec.bytes_per_checksum]
        present = self.sums[index * 4 : index * 4 + 4]
        if len(present) != 4 or verify_chunks(self.spec, data, present) >= 0:
            raise errors.ChecksumMismatch(f"the chunk at {start} of {self.replica!r} is damaged")
        return crc(self.spec.type, data[:partial]).to_bytes(4, "big")


class Writer:
    """The one writer of a replica: `howdah.datanode.replicas.writer`."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        files: ReplicaFiles,
        received: ChecksumSpec,
        holder: Holder | None,
        *,
        is_new: bool,
    ) -> None:
        self.replica = replica
        self.holder = holder
        self._store = store
        self._files = files
        self._on_disk = spec_of(files)
        self._received = received
        self._is_new = is_new
        self._synced_bytes = 0 if is_new else replica.length_bytes

    def is_damaged(self, packet: Packet) -> bool:
        check_sums_length(self._received, packet.header, len(packet.sums))
        return bool(packet.sums) and verify_chunks(self._received, packet.data, packet.sums) >= 0

    def write(self, packet: Packet) -> Steps[None]:
        """Data first, then checksums, then the length."""
        replica, spec, disk = self.replica, self._on_disk, self._store.disk
        check_sums_length(self._received, packet.header, len(packet.sums))
        length, last_sum = replica.tail
        plan = plan_write(spec, self._received, length, packet.header, len(packet.sums))
        if plan is None:
            return
        data = packet.data[plan.data_skip :]
        if plan.reuse:
            sums = packet.sums[plan.sums_skip :]
        else:
            if self.is_damaged(packet):
                raise errors.ChecksumMismatch(f"packet {packet.header.seqno} is damaged")
            sums = bytes(fresh_sums(spec, length, last_sum, data))
        disk.write(self._files.block, plan.data_offset, data)
        yield PAUSE
        if self._synced_bytes > plan.data_offset - plan.data_offset % spec.bytes_per_checksum:
            self._files.block.sync()
        disk.write(self._files.meta, plan.meta_offset, sums)
        replica.grow(plan.end, last_sum_of(spec, plan.end, sums))

    def sync(self) -> Steps[None]:
        length = self.replica.length_bytes
        self.replica.synced = True
        self._files.block.sync()
        yield PAUSE
        self._files.meta.sync()
        if self._is_new:
            self._store.disk.sync_names()
        self._is_new, self._synced_bytes = False, length


class Store:
    """Creates, finds, changes and deletes replicas. `tell` is the way to the control process."""

    def __init__(
        self, world: World, disk: Disk, storage_id: str, tell: Callable[[Event], None]
    ) -> None:
        self.world = world
        self.disk = disk
        self.replicas = ReplicaMap()
        self.replicas.add_pool(POOL_ID)
        self.tell = tell
        self._storage_id = storage_id
        self._holders: dict[int, tuple[Holder, int]] = {}
        self._scan()

    @property
    def storage_id(self) -> str:
        return self._storage_id

    def _scan(self) -> None:
        """What is on the disk at the start (`scan`)."""
        awaited, self.disk.awaited = self.disk.awaited, {}
        for block_id, (name, files) in list(self.disk.names.items()):
            if name.place is Place.TMP:
                self.disk.remove(block_id)
                continue
            state = ReplicaState.FINALIZED
            tail: Tail = (len(files.block.content), b"")
            if name.place is Place.RBW:
                try:
                    tail = good_length(files)
                except errors.ChecksumMismatch:
                    self.disk.remove(block_id)  # into the quarantine
                    continue
                in_time = awaited.get(block_id, 0) > self.world.clock.wall_ms()
                state = ReplicaState.RBW if in_time else ReplicaState.RWR
            stamp = name.generation_stamp
            self.replicas.add(POOL_ID, Replica(block_id, stamp, state, self._storage_id, *tail))

    # --- looking ---

    def find(self, block_id: int) -> Replica | None:
        return self.replicas.find(POOL_ID, block_id)

    def files(self, replica: Replica) -> ReplicaFiles:
        return self.disk.names[replica.block_id][1]

    def open(self, block: ExtendedBlock) -> Opened:
        """The replica of `block`; a final one that can't be opened is told of as corrupt."""
        replica = self.replicas.get(block)
        try:
            opened = Opened(replica, self.files(replica))
            opened.check_files()
        except errors.ChecksumMismatch as error:
            if replica.stored_as is ReplicaState.FINALIZED:
                self.tell(CorruptFound(block, self._storage_id, None, str(error)))
            raise
        return opened

    def open_now(self, replica: Replica) -> Opened:
        return self.open(replica.as_block(POOL_ID))

    # --- writers ---

    def writers(self) -> list[Holder]:
        return [holder for holder, _ in self._holders.values()]

    def claim_writer(self, block_id: int, holder: Holder, stamp: int) -> Steps[None]:
        """`writers.claim`: whoever wrote it before has let go, and the newest stamp has it."""
        deadline_ms = self.world.now_ms + STOP_TIMEOUT_MS
        while (present := self._holders.get(block_id)) is not None:
            if present[1] > stamp:
                raise errors.RecoveryInProgress(f"{block_id} is held under {present[1]}")
            present[0].stop("its pipeline is built anew")
            if self.world.now_ms >= deadline_ms:
                raise errors.RemoteError(f"the writer of {block_id} does not stop")
            held = present
            yield Wait(
                lambda held=held: self._holders.get(block_id) is not held,  # type: ignore[misc]
                min(deadline_ms, self.world.now_ms + STOP_AGAIN_MS),
            )
        self._holders[block_id] = holder, stamp

    def claim(self, block: ExtendedBlock, holder: Holder, stamp: int) -> Steps[Replica]:
        yield from self.claim_writer(block.block_id, holder, stamp)
        try:
            return self.replicas.get(block)
        except errors.HowdahError:
            self.release(block.block_id, holder)
            raise

    def release(self, block_id: int, holder: Holder | None) -> None:
        present = self._holders.get(block_id)
        if present is not None and present[0] is holder:
            del self._holders[block_id]

    # --- creating, and the end of writing ---

    def create(
        self, block: ExtendedBlock, spec: ChecksumSpec, holder: Holder, *, temporary: bool = False
    ) -> Steps[Writer]:
        """A new, empty replica; an older one gives way."""
        older = self.find(block.block_id)
        if older is not None and older.generation_stamp < block.generation_stamp:
            yield from self.claim_writer(block.block_id, holder, block.generation_stamp)
            if older.generation_stamp < block.generation_stamp:
                self.delete(older, tell=older.state is not ReplicaState.TEMPORARY)
        state = ReplicaState.TEMPORARY if temporary else ReplicaState.RBW
        replica = Replica(block.block_id, block.generation_stamp, state, self._storage_id)
        replica.synced = False
        try:
            self.replicas.add(POOL_ID, replica)
        except errors.HowdahError:
            self.release(block.block_id, holder)
            raise
        self._holders[block.block_id] = holder, block.generation_stamp
        files = ReplicaFiles()
        files.meta.write(0, encode_meta_header(spec))
        self.disk.put(block.block_id, Name(place_of(state), block.generation_stamp), files)
        if not temporary:
            self.tell(ReplicaOpened(replica.as_block(POOL_ID), self._storage_id))
        return Writer(self, replica, files, spec, holder, is_new=True)

    def rename(
        self,
        replica: Replica,
        state: ReplicaState,
        generation_stamp: int,
        change: Callable[[], None],
        *,
        durable: bool = True,
    ) -> Steps[None]:
        if self.find(replica.block_id) is not replica:
            raise errors.ReplicaNotFound(f"{replica!r} has just been deleted")
        files = self.files(replica)
        self.disk.put(replica.block_id, Name(place_of(state), generation_stamp), files)
        change()
        if durable:
            yield PAUSE
            self.disk.sync_names()

    def finalize(self, writer: Writer, *, durable: bool = False) -> Steps[None]:
        replica = writer.replica
        if durable:
            yield from writer.sync()
        yield from self.rename(
            replica,
            ReplicaState.FINALIZED,
            replica.generation_stamp,
            replica.finalize,
            durable=durable,
        )
        self.release(replica.block_id, writer.holder)
        self.tell(ReplicaReceived(replica.as_block(POOL_ID), self._storage_id))

    def sync(self, replica: Replica) -> Steps[None]:
        files = self.files(replica)
        files.block.sync()
        files.meta.sync()
        yield PAUSE
        self.disk.sync_names()

    def join_pipeline(self, writer: Writer, acked_bytes: int) -> Steps[None]:
        replica = writer.replica
        if replica.length_bytes < acked_bytes:
            raise errors.ReplicaNotFound(f"the copy {replica!r} lacks bytes up to {acked_bytes}")
        if replica.synced:
            yield from writer.sync()
        yield from self.rename(
            replica,
            ReplicaState.RBW,
            replica.generation_stamp,
            lambda: replica.join(acked_bytes),
            durable=replica.synced,
        )
        self.release(replica.block_id, writer.holder)
        self.tell(ReplicaOpened(replica.as_block(POOL_ID), self._storage_id))

    def abandon(self, writer: Writer) -> None:
        if writer.replica.state is ReplicaState.TEMPORARY:
            self.delete(writer.replica, tell=False)
        self.release(writer.replica.block_id, writer.holder)

    def discard(self, writer: Writer) -> None:
        self.delete(writer.replica, tell=True)
        self.release(writer.replica.block_id, writer.holder)

    def expect_back(self, replica: Replica, until_ms: int) -> None:
        self.disk.awaited[replica.block_id] = until_ms

    # --- deleting ---

    def invalidate(self, block: ExtendedBlock) -> Steps[None]:
        replica, stamp = self.find(block.block_id), block.generation_stamp
        if replica is None or replica.generation_stamp != stamp:
            return
        holder = Briefly()
        yield from self.claim_writer(block.block_id, holder, stamp)
        if replica.generation_stamp == stamp:
            self.delete(replica, tell=True)
        self.release(block.block_id, holder)

    def delete(self, replica: Replica, *, tell: bool) -> None:
        if self.find(replica.block_id) is not replica:
            return
        self.replicas.remove(POOL_ID, replica.block_id)
        self.disk.remove(replica.block_id)
        if tell:
            self.tell(ReplicaDeleted(replica.as_block(POOL_ID), self._storage_id))
