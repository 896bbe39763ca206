"""What a datanode knows of its replicas (pure): states, lengths, the map of all.

ReplicaInfo and its subclasses, and ReplicaMap, in Hadoop. The states, and what leads from
one to another, are the table in `states`; each event is a method here.

Rules, asserted here and nowhere else:
- a replica's length never shrinks, save by recovery;
- a generation stamp never goes back, nor does a recovery id;
- what is acknowledged was received, and no pipeline takes it back;
- a finalized replica changes only by `reopen`, `restamp` and a recovery.

Under recovery (RUR) a replica is still stored, read and reported as what it was before,
its `stored_as`: a datanode that dies then forgets the recovery, and the next one
begins anew with a higher id. What a recovery may cut off is `block_recovery`'s business:
it knows all replicas of the block, and this module just one.

A client that rebuilds a pipeline knows how many bytes all its nodes acknowledged and
how many it ever sent. `length_kept` and `check_whole` hold the replica against both:
a node whose replica doesn't fit is left out of the pipeline rather than trusted.

A replica is changed by its one writer and read by any thread: the length on disk
and the checksum of its last, partial chunk are one value, replaced as a whole,
so a reader always sees a pair that fits. A writer that lends its files says so by
`follow`: until `settle`, whoever has them says how long the replica is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from howdah import errors
from howdah.datanode.state.replicas.states import Event, ReplicaState, is_allowed, states_before
from howdah.protocol.data_transfer.blocks import ExtendedBlock

_GROWING = (ReplicaState.RBW, ReplicaState.TEMPORARY)

Tail = tuple[int, bytes]
"""Length on disk in bytes; checksum of the last chunk where that is partial, else empty."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """That a replica is under recovery: which one, and what the replica was before."""

    recovery_id: int
    original: ReplicaState


class Progress(Protocol):
    """How far whoever has a replica's files has come. Any thread may ask."""

    @property
    def tail(self) -> Tail: ...
    @property
    def acked_bytes(self) -> int: ...


class Replica:
    """One block at one volume of this datanode."""

    __slots__ = (
        "_acked_bytes",
        "_progress",
        "_state",
        "_tail",
        "block_id",
        "generation_stamp",
        "recovery",
        "synced",
        "volume_id",
    )

    def __init__(
        self,
        block_id: int,
        generation_stamp: int,
        state: ReplicaState,
        volume_id: str,
        length_bytes: int = 0,
        last_sum: bytes = b"",
    ) -> None:
        self.block_id = block_id
        self.generation_stamp = generation_stamp
        self._state = state
        self.volume_id = volume_id
        self._tail: Tail = (length_bytes, last_sum)
        self._acked_bytes = length_bytes
        self._progress: Progress | None = None
        self.recovery: Recovery | None = None
        self.synced = True
        """Whether a client may have asked for bytes of it to be on the disk. Nobody knows that of
        a replica that was found at the start."""

    def __repr__(self) -> str:
        state = self.state.name
        if self.recovery is not None:
            state += f" {self.recovery.recovery_id}, was {self.recovery.original.name}"
        return f"blk_{self.block_id}_{self.generation_stamp} ({state}, {self.length_bytes} bytes)"

    @property
    def state(self) -> ReplicaState:
        return self._state

    @property
    def stored_as(self) -> ReplicaState:
        """What its files say that it is: under recovery that is what it was before."""
        return self.state if self.recovery is None else self.recovery.original

    @property
    def tail(self) -> Tail:
        progress = self._progress
        return self._tail if progress is None else progress.tail

    @property
    def length_bytes(self) -> int:
        """Bytes that are in the block file and covered by its checksums."""
        return self.tail[0]

    @property
    def acked_bytes(self) -> int:
        """Bytes that the whole pipeline behind this datanode has acknowledged."""
        progress = self._progress
        return self._acked_bytes if progress is None else progress.acked_bytes

    @property
    def visible_bytes(self) -> int:
        """What a reader may see; -1 where that isn't known (getReplicaVisibleLength)."""
        match self.stored_as:
            case ReplicaState.FINALIZED:
                return self.length_bytes
            case ReplicaState.RBW:
                return self.acked_bytes
        return -1

    def as_block(self, pool_id: str) -> ExtendedBlock:
        return ExtendedBlock(pool_id, self.block_id, self.generation_stamp, self.length_bytes)

    def follow(self, progress: Progress) -> None:
        """The writer has lent the files, of whole chunks so far."""
        assert self.state in _GROWING, f"{self!r} cannot grow"
        assert self._progress is None, f"the files of {self!r} are lent already"
        assert not self._tail[1], f"{self!r} ends within a chunk"
        self._progress = progress

    def settle(self) -> None:
        """The writer has the files back, and goes on where they end."""
        progress = self._progress
        assert progress is not None, f"the files of {self!r} are not lent"
        tail = progress.tail
        assert self._tail[0] <= tail[0], f"{self!r} would shrink"
        assert progress.acked_bytes <= tail[0], f"{self!r} acknowledges too much"
        self._tail = tail
        self._acked_bytes = max(self._acked_bytes, progress.acked_bytes)
        self._progress = None

    def _set_tail(self, tail: Tail) -> None:
        assert self._progress is None, f"the files of {self!r} are lent"
        self._tail = tail

    def grow(self, length_bytes: int, last_sum: bytes) -> None:
        """The writer has put bytes up to `length_bytes` into the files."""
        assert self.state in _GROWING, f"{self!r} cannot grow"
        assert length_bytes >= self.tail[0], f"{self!r} would shrink to {length_bytes}"
        self._set_tail((length_bytes, last_sum))

    def acknowledge(self, length_bytes: int) -> None:
        """Every datanode behind this one, and this one, has bytes up to `length_bytes`."""
        assert length_bytes <= self.length_bytes, f"{self!r} acknowledges {length_bytes}"
        self._acked_bytes = max(self._acked_bytes, length_bytes)

    def finalize(self) -> None:
        self._move(Event.FINALIZE, ReplicaState.FINALIZED)
        self._set_tail((self.length_bytes, b""))
        self._acked_bytes = self.length_bytes

    def reopen(self, generation_stamp: int, last_sum: bytes) -> None:
        """For append: `last_sum` is the checksum of the partial last chunk, if there is one."""
        self._move(Event.REOPEN, ReplicaState.RBW)
        self._restamp(generation_stamp)
        self._set_tail((self.length_bytes, last_sum))

    def restamp(self, generation_stamp: int) -> None:
        """It was closed by a pipeline that is closed once more, under a newer stamp."""
        self._move(Event.RESTAMP, ReplicaState.FINALIZED)
        self._restamp(generation_stamp)

    def recover(self, generation_stamp: int, length_bytes: int, last_sum: bytes) -> None:
        """A pipeline goes on at `length_bytes`; only bytes nobody was promised are cut."""
        assert self._acked_bytes <= length_bytes <= self.length_bytes, (
            f"recovery of {self!r} would drop acknowledged bytes after {length_bytes}, or make some"
        )
        self._move(Event.RECOVER, ReplicaState.RBW)
        self._restamp(generation_stamp)
        self._set_tail((length_bytes, last_sum))
        self._acked_bytes = length_bytes

    def cut(self, length_bytes: int, last_sum: bytes) -> None:
        """Its files end at `length_bytes` now, for a pipeline that goes on there. Only bytes
        nobody was promised are gone."""
        assert self.state is ReplicaState.RBW, f"{self!r} cannot be cut"
        assert self._acked_bytes <= length_bytes <= self.length_bytes, (
            f"to cut {self!r} to {length_bytes} would drop acknowledged bytes, or make some"
        )
        self._set_tail((length_bytes, last_sum))

    def join(self, acked_bytes: int) -> None:
        """The copy is whole and becomes a member of a pipeline, which has acknowledged
        `acked_bytes`; what the copy has beyond them may be cut by the recovery that follows."""
        assert acked_bytes <= self.length_bytes, f"{self!r} lacks bytes up to {acked_bytes}"
        self._move(Event.JOIN, ReplicaState.RBW)
        self._acked_bytes = acked_bytes

    def length_kept(self, old_stamp: int, new_stamp: int, min_bytes: int, max_bytes: int) -> int:
        """What a pipeline that is rebuilt under `new_stamp` keeps of this replica: all that
        was acknowledged here. `ReplicaNotFound` unless that is at least the client's
        `min_bytes`, and nothing is here that the client did not send."""
        self._check_stamps(old_stamp, new_stamp, (ReplicaState.RBW,))
        acked_bytes = self.acked_bytes
        if acked_bytes < min_bytes or self.length_bytes > max_bytes:
            raise errors.ReplicaNotFound(
                f"Unmatched length replica {self!r}: {acked_bytes} bytes acknowledged and "
                f"{self.length_bytes} received are not in the range of [{min_bytes}, {max_bytes}]"
            )
        return acked_bytes

    def check_whole(self, old_stamp: int, new_stamp: int, expected_bytes: int) -> None:
        """`ReplicaNotFound` unless the replica has just these bytes, all acknowledged: then it
        may be reopened, or closed again, under `new_stamp`, whether it was finalized or not."""
        self._check_stamps(old_stamp, new_stamp, (ReplicaState.FINALIZED, ReplicaState.RBW))
        if not self.length_bytes == self.acked_bytes == expected_bytes:
            raise errors.ReplicaNotFound(
                f"Unmatched length replica {self!r}: {self.acked_bytes} of its bytes are "
                f"acknowledged, and {expected_bytes} are expected"
            )

    # --- under recovery ---

    def distrust(self, good: Tail) -> None:
        """A final replica of a block that is open, and not all of it fits its checksums, as a
        power cut leaves it: from now on it is what its good part is, left over."""
        assert good[0] <= self.length_bytes, f"{self!r} has no {good[0]} bytes"
        if self.recovery is None:
            self._move(Event.DISTRUST, ReplicaState.RWR)
        else:
            assert self.stored_as is ReplicaState.FINALIZED, f"{self!r} is left over already"
            self._move(Event.DISTRUST, ReplicaState.RUR)
            self.recovery = Recovery(self.recovery.recovery_id, ReplicaState.RWR)
        self._set_tail(good)
        self._acked_bytes = good[0]

    def check_recovery(self, block_stamp: int, recovery_id: int) -> None:
        """Whether recovery `recovery_id` of the block under `block_stamp` may have this replica.

        `ReplicaNotFound` if the replica is older than the block; `RecoveryInProgress` if
        another recovery with this id or a higher one has it already, or had it.
        """
        if self.generation_stamp < block_stamp:
            raise errors.ReplicaNotFound(
                f"Cannot recover the block under stamp {block_stamp}: this datanode has "
                f"{self!r}, which is older"
            )
        latest = self.generation_stamp if self.recovery is None else self.recovery.recovery_id
        if max(latest, self.generation_stamp) >= recovery_id:
            raise errors.RecoveryInProgress(
                f"Recovery {recovery_id} of {self!r} comes too late: "
                f"{max(latest, self.generation_stamp)} was here before"
            )

    def begin_recovery(self, block_stamp: int, recovery_id: int) -> None:
        """Nobody writes the replica any more, and recovery `recovery_id` has it."""
        self.check_recovery(block_stamp, recovery_id)
        original = self.stored_as
        self._move(Event.BEGIN_RECOVERY, ReplicaState.RUR)
        self.recovery = Recovery(recovery_id, original)

    def check_agreed(self, recovery_id: int, told_bytes: int, new_bytes: int) -> None:
        """Whether recovery `recovery_id`, which was told of `told_bytes`, may set the replica
        to `new_bytes`: only if it has the replica, unchanged, and makes no bytes."""
        if self.recovery is None:
            raise errors.RemoteError(f"{self!r} is not under recovery {recovery_id}")
        if self.recovery.recovery_id > recovery_id:
            raise errors.RecoveryInProgress(f"Recovery {recovery_id} has lost {self!r} to another")
        if self.recovery.recovery_id < recovery_id:
            raise errors.RemoteError(f"Recovery {recovery_id} of {self!r} was not begun here")
        if self.length_bytes != told_bytes:
            raise errors.RemoteError(
                f"{self!r} does not have the {told_bytes} bytes that recovery {recovery_id} "
                "was told of"
            )
        if not 0 <= new_bytes <= self.length_bytes:
            raise errors.RemoteError(
                f"Recovery {recovery_id} wants {new_bytes} bytes, which {self!r} does not have"
            )

    def set_aside(self) -> None:
        """A finalized replica is about to be cut: its files lie where such replicas do, under
        the recovery's id. A datanode that dies now waits for the next recovery with it."""
        assert self.recovery is not None, f"{self!r} is not under recovery"
        assert self.stored_as is ReplicaState.FINALIZED, f"{self!r} is aside already"
        self._move(Event.SET_ASIDE, ReplicaState.RUR)
        self._restamp(self.recovery.recovery_id)
        self.recovery = Recovery(self.recovery.recovery_id, ReplicaState.RWR)

    def shorten(self, length_bytes: int, last_sum: bytes) -> None:
        """Its files end at `length_bytes` now, as the recovery agreed."""
        assert self.recovery is not None, f"{self!r} is not under recovery"
        assert length_bytes <= self.length_bytes, f"recovery of {self!r} would make bytes"
        self._set_tail((length_bytes, last_sum))
        self._acked_bytes = min(self._acked_bytes, length_bytes)

    def complete_recovery(self) -> None:
        """Every participant has these bytes, and they are final."""
        recovery = self.recovery
        self._move(Event.COMPLETE_RECOVERY, ReplicaState.FINALIZED)
        assert recovery is not None, "under recovery without one"
        self._restamp(recovery.recovery_id)
        self.recovery = None
        self._set_tail((self.length_bytes, b""))
        self._acked_bytes = self.length_bytes

    def end_recovery(self) -> None:
        """The recovery made another block of this one, which stays as it was."""
        assert self.recovery is not None, f"{self!r} is not under recovery"
        self._move(Event.END_RECOVERY, self.recovery.original)
        self.recovery = None

    # --- at a start ---

    def take_back(self) -> None:
        """Its writer was told of the restart, and goes on with it in time."""
        self._move(Event.TAKE_BACK, ReplicaState.RBW)

    def _check_stamps(
        self, old_stamp: int, new_stamp: int, states: tuple[ReplicaState, ...]
    ) -> None:
        if self.state not in states:
            raise errors.ReplicaNotFound(
                f"Cannot recover {self!r}: only a replica in state "
                f"{', '.join(state.name for state in states)} can be"
            )
        # An attempt that failed at another node may have stamped this one already.
        if not old_stamp <= self.generation_stamp <= new_stamp:
            raise errors.ReplicaNotFound(
                f"Unexpected generation stamp of {self!r}: expected one "
                f"of [{old_stamp}, {new_stamp}]"
            )

    def _move(self, event: Event, after: ReplicaState) -> None:
        if not is_allowed(event, self._state, after):
            raise errors.ReplicaNotFound(
                f"Cannot {event.value} {self!r}: only a replica in state "
                f"{', '.join(states_before(event))} can be"
            )
        self._state = after

    def _restamp(self, generation_stamp: int) -> None:
        assert generation_stamp >= self.generation_stamp, (
            f"the generation stamp of {self!r} would go back to {generation_stamp}"
        )
        self.generation_stamp = generation_stamp


class ReplicaMap:
    """Every replica of every block pool. Not locked: its owner is."""

    __slots__ = ("_counts", "_pools")

    def __init__(self) -> None:
        self._pools: dict[str, dict[int, Replica]] = {}
        self._counts: Counter[str] = Counter()

    def add_pool(self, pool_id: str) -> None:
        self._pools.setdefault(pool_id, {})

    def pools(self) -> tuple[str, ...]:
        return tuple(self._pools)

    def remove_pool(self, pool_id: str) -> list[Replica]:
        """Forget the pool; the replicas that it had."""
        gone = list(self._pools.pop(pool_id, {}).values())
        self._counts.subtract(replica.volume_id for replica in gone)
        return gone

    def find(self, pool_id: str, block_id: int) -> Replica | None:
        return self._pools.get(pool_id, {}).get(block_id)

    def get(self, block: ExtendedBlock) -> Replica:
        """The replica of `block`; `ReplicaNotFound` if there is none, or only an older one."""
        if block.pool_id not in self._pools:
            raise errors.ReplicaNotFound(
                f"Replica not found for {block}: this datanode does not serve {block.pool_id}"
            )
        replica = self.find(block.pool_id, block.block_id)
        if replica is None:
            raise errors.ReplicaNotFound(f"Replica not found for {block}")
        if replica.generation_stamp < block.generation_stamp:
            raise errors.ReplicaNotFound(
                f"Replica not found for {block}: this datanode has {replica!r}, which is older"
            )
        return replica

    def add(self, pool_id: str, replica: Replica) -> None:
        """`ReplicaExists` if the block has a replica already."""
        pool = self._pools.get(pool_id)
        if pool is None:
            raise errors.ReplicaNotFound(f"this datanode does not serve {pool_id}")
        existing = pool.get(replica.block_id)
        if existing is not None:
            raise errors.ReplicaExists(
                f"Block {replica.block_id} of {pool_id} already exists: {existing!r}"
            )
        pool[replica.block_id] = replica
        self._counts[replica.volume_id] += 1

    def remove(self, pool_id: str, block_id: int) -> Replica | None:
        replica = self._pools.get(pool_id, {}).pop(block_id, None)
        if replica is not None:
            self._counts[replica.volume_id] -= 1
        return replica

    def count_of_volume(self, volume_id: str) -> int:
        return self._counts[volume_id]

    def count_of_pool(self, pool_id: str) -> int:
        return len(self._pools.get(pool_id, {}))

    def of_pool(self, pool_id: str) -> Iterator[Replica]:
        return iter(self._pools.get(pool_id, {}).values())

    def ids_of_pool(self, pool_id: str) -> list[int]:
        return list(self._pools.get(pool_id, {}))

    def of_volume(self, volume_id: str) -> list[tuple[str, Replica]]:
        return [
            (pool_id, replica)
            for pool_id, pool in self._pools.items()
            for replica in pool.values()
            if replica.volume_id == volume_id
        ]

    def __len__(self) -> int:
        return sum(len(pool) for pool in self._pools.values())
