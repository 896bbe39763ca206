"""What datanodes report of replicas, and reports that wait for their edits (pure).

`PostponedReports` is Hadoop's `PendingDataNodeMessages`. A datanode reports to every
namenode, and its report may be ahead of the log that a namenode has read: a standby tails
the log of the active, and a pipeline finalizes a replica under a new generation stamp
before the client has told the active namenode of that stamp. Such a report cannot be
judged yet. It waits here for the edit that names its block or its stamp.

Of one replica only the latest report counts, since it says what is on the disk now. So the
reports that wait are never more than the replicas that datanodes have of blocks to come,
and never more than `MAX_POSTPONED`: beyond that a report is refused, and its datanode has
to report in full again.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from howdah.namenode.state.blocks.datanodes import Storage

MAX_POSTPONED: Final = 500_000
"""Some 130 MB: the replicas of two minutes in which 1,400 blocks a second are written."""
_NOTHING: Final[Mapping[Storage, ReportedReplica]] = {}


class ReplicaState(enum.IntEnum):
    """As datanodes report it; the same numbers on the wire."""

    FINALIZED = 0
    RBW = 1
    RWR = 2
    RUR = 3
    TEMPORARY = 4


class ReportedReplica(NamedTuple):
    """A tuple, since a report has millions: a frozen dataclass takes four times as long
    to make (1.0 and 0.25 µs)."""

    block_id: int
    length_bytes: int
    generation_stamp: int
    state: ReplicaState


class PostponedReports:
    """The latest report of each replica that waits, by block and by storage."""

    def __init__(self, limit: int = MAX_POSTPONED) -> None:
        self._limit = limit
        self._by_block: dict[int, dict[Storage, ReportedReplica]] = {}
        self._by_storage: dict[Storage, set[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, block_id: object) -> bool:
        """Whether a replica of the block waits."""
        return block_id in self._by_block

    def put(self, storage: Storage, replica: ReportedReplica) -> bool:
        """Keep this report, in place of an earlier one of the replica. False if there is no
        room: then nothing is kept of the replica."""
        self.drop(storage, replica.block_id)
        if self._count >= self._limit:
            return False
        self._by_block.setdefault(replica.block_id, {})[storage] = replica
        self._by_storage.setdefault(storage, set()).add(replica.block_id)
        self._count += 1
        return True

    def of(self, block_id: int) -> Mapping[Storage, ReportedReplica]:
        """The replicas of this block that wait."""
        return self._by_block.get(block_id, _NOTHING)

    def at(self, storage: Storage) -> frozenset[int]:
        """The blocks of which a replica on this storage waits."""
        return frozenset(self._by_storage.get(storage, ()))

    def beyond(self, generation_stamp: int) -> Iterator[ReportedReplica]:
        """Those with a higher generation stamp."""
        for by_storage in self._by_block.values():
            for replica in by_storage.values():
                if replica.generation_stamp > generation_stamp:
                    yield replica

    def pop(self, block_id: int) -> dict[Storage, ReportedReplica]:
        """The replicas of this block. They wait no longer."""
        taken = self._by_block.pop(block_id, {})
        for storage in taken:
            self._discard(storage, block_id)
        return taken

    def take_all(self) -> Iterator[tuple[Storage, ReportedReplica]]:
        """All that wait. They wait no longer."""
        by_block, self._by_block = self._by_block, {}
        self._by_storage.clear()
        self._count = 0
        for by_storage in by_block.values():
            yield from by_storage.items()

    def drop(self, storage: Storage, block_id: int) -> None:
        """The replica does not wait, or no longer."""
        by_storage = self._by_block.get(block_id)
        if by_storage is None or by_storage.pop(storage, None) is None:
            return
        if not by_storage:
            del self._by_block[block_id]
        self._discard(storage, block_id)

    def forget(self, storage: Storage) -> None:
        """Nothing that this storage reported counts any more."""
        for block_id in self.at(storage):
            self.drop(storage, block_id)

    def _discard(self, storage: Storage, block_id: int) -> None:
        self._count -= 1
        blocks = self._by_storage[storage]
        blocks.discard(block_id)
        if not blocks:
            del self._by_storage[storage]
