"""Which local readers hold a replica's files, and how that is taken back from them.

ShortCircuitRegistry in Hadoop.

A reader that was given the descriptors of a finalized replica reads without asking
again. So whatever changes or deletes the replica first revokes the slots (see
`howdah.protocol.data_transfer.short_circuit`) that its readers look at after each read. Rules:

- a slot is registered before its replica is looked up, and revoked under the store's
  lock, before the first file changes: a reader either is refused or will be told;
- a reader's segment lives as long as the connection that it was given over, so
  readers that die leave nothing behind;
- the segment can't be shortened by the reader: that would kill this process when it
  writes to it.

Readers may also have mapped a block file into their memory, for as long as they like.
Its bytes stay as they are under them: an append only adds to it, a deleted file lives as
long as it is mapped, and a replica that is cut gets another file (`files`).

A replica that is locked in memory (`datanode.caching`) was verified: its slots say that they may
be anchored, and a reader that anchors one need not verify what it reads until it lets go.
"""

from __future__ import annotations

import fcntl
import logging
import mmap
import os
import secrets
import threading
from collections.abc import Callable

from howdah import errors
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.short_circuit import SEGMENT_BYTES, SegmentId, SlotId, Slots

log = logging.getLogger(__name__)

BlockKey = tuple[str, int]
"""(pool id, block id): a slot is for a block, whatever its generation."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class _Segment:
    """Shared memory of one reader; `blocks` says what its slots are for."""

    def __init__(self, client_name: str) -> None:
        self.client_name = client_name
        self.blocks: dict[int, BlockKey] = {}
        self.fd = os.memfd_create("howdah-short-circuit", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, SEGMENT_BYTES)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, _SEALS)
            self._map = mmap.mmap(self.fd, SEGMENT_BYTES)
        except BaseException:
            os.close(self.fd)
            raise
        self.slots = Slots(memoryview(self._map))

    def free(self) -> None:
        self.slots.release()
        self._map.close()
        os.close(self.fd)


class ShortCircuitRegistry:
    """Segments and slots of all local readers. Thread-safe."""

    def __init__(self) -> None:
        self.gives_files = False
        """Whether readers may hold files of this datanode, perhaps since before it started."""
        self._lock = threading.Lock()
        self._segments: dict[SegmentId, _Segment] = {}
        self._slots: dict[BlockKey, set[SlotId]] = {}
        self._cached: set[BlockKey] = set()
        self.on_revoke: Callable[[str, int], None] = lambda pool_id, block_id: None
        """Told of each replica that changes now; the caller may have the store's lock."""

    # --- segments ---

    def open_segment(self, client_name: str) -> tuple[SegmentId, int]:
        """Shared memory for a reader: its id, and a descriptor that stays the registry's.

        `OSError` where the machine has no room for it.
        """
        segment = _Segment(client_name)
        with self._lock:
            while True:
                name = SegmentId(_random64(), _random64())
                if name not in self._segments:
                    break
            self._segments[name] = segment
        return name, segment.fd

    def close_segment(self, name: SegmentId) -> None:
        """Its reader is gone."""
        with self._lock:
            segment = self._segments.pop(name)
            for index in list(segment.blocks):
                self._drop(segment, SlotId(name, index))
            segment.free()

    # --- slots ---

    def register(self, block: ExtendedBlock, slot: SlotId) -> None:
        """The reader of `slot` is about to get the files of `block`.

        `IllegalArgument` unless the slot exists, is free, and marked valid by the reader.
        """
        with self._lock:
            segment = self._segment(slot)
            if not 0 <= slot.index < segment.slots.count:
                raise errors.IllegalArgument(f"there is no {slot}")
            if slot.index in segment.blocks:
                raise errors.IllegalArgument(f"{slot} is in use")
            if not segment.slots.is_valid(slot.index):
                raise errors.IllegalArgument(f"{slot} is not marked as valid")
            key = (block.pool_id, block.block_id)
            segment.blocks[slot.index] = key
            self._slots.setdefault(key, set()).add(slot)
            if key in self._cached:
                segment.slots.allow_anchors(slot.index, allowed=True)

    def release(self, slot: SlotId) -> None:
        """The reader has let go of the files. `IllegalArgument` if it had none."""
        with self._lock:
            segment = self._segment(slot)
            if slot.index not in segment.blocks:
                raise errors.IllegalArgument(f"{slot} is not in use")
            self._drop(segment, slot)

    def revoke(self, pool_id: str, block_id: int) -> None:
        """The replica changes now: no reader may trust what it reads from here on."""
        self.on_revoke(pool_id, block_id)
        with self._lock:
            slots = self._slots.get((pool_id, block_id))
            if not slots:
                return
            for slot in slots:
                self._segments[slot.segment].slots.revoke(slot.index)
        log.debug(
            "%d local readers of block %d of %s are told to stop using its files",
            len(slots),
            block_id,
            pool_id,
        )

    # --- replicas in memory ---

    def cached(self, pool_id: str, block_id: int) -> None:
        """The replica is locked in memory: its slots may be anchored."""
        with self._lock:
            self._cached.add((pool_id, block_id))
            self._allow_anchors((pool_id, block_id), allowed=True)

    def uncached(self, pool_id: str, block_id: int) -> None:
        """It is to go: no slot is anchored from now on."""
        with self._lock:
            self._cached.discard((pool_id, block_id))
            self._allow_anchors((pool_id, block_id), allowed=False)

    def _allow_anchors(self, key: BlockKey, *, allowed: bool) -> None:
        for slot in self._slots.get(key, ()):
            self._segments[slot.segment].slots.allow_anchors(slot.index, allowed=allowed)

    def is_anchored(self, pool_id: str, block_id: int) -> bool:
        """Whether a local reader is in the middle of it."""
        with self._lock:
            return any(
                self._segments[slot.segment].slots.is_anchored(slot.index)
                for slot in self._slots.get((pool_id, block_id), ())
            )

    def readers_of(self, pool_id: str, block_id: int) -> set[str]:
        """Names of the clients that hold the files of a block."""
        with self._lock:
            return {
                self._segments[slot.segment].client_name
                for slot in self._slots.get((pool_id, block_id), ())
            }

    def __len__(self) -> int:
        """Slots in use."""
        with self._lock:
            return sum(len(slots) for slots in self._slots.values())

    def _segment(self, slot: SlotId) -> _Segment:
        segment = self._segments.get(slot.segment)
        if segment is None:
            raise errors.IllegalArgument(
                f"there is no shared memory segment registered with shmId {slot.segment}"
            )
        return segment

    def _drop(self, segment: _Segment, slot: SlotId) -> None:
        segment.slots.revoke(slot.index)
        key = segment.blocks.pop(slot.index)
        slots = self._slots[key]
        slots.discard(slot)
        if not slots:
            del self._slots[key]


def _random64() -> int:
    """A signed number of 64 random bits, as the protocol's fields have it."""
    return secrets.randbits(64) - (1 << 63)
