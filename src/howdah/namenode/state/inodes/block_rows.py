"""Blocks, as they are shown of the rows of their table (pure; see `block_table`).

Hadoop's `BlockInfo`, and its `BlockUnderConstructionFeature`. A `Block` is a view of a
row: it is made on demand and thrown away. All views of a row are equal and have the same
hash, so compare them with `==`, never with `is`. What few blocks have, such as a
pipeline or corrupt replicas, is beside the table.

A row has the file's id, the length, the generation stamp with the state, and the
replicas: the numbers of up to three storages in one 64-bit number, since a table knows
storages by small numbers. More replicas than that are beside the table, too. The file
itself is known to `files`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from howdah.namenode.state.inodes.row_page import Page
from howdah.native.layout import check_layout
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy

if TYPE_CHECKING:
    from howdah.namenode.state.blocks.datanodes import Storage

# The numbers of a row.
WIDTH: Final = 4
FILE: Final = 0
LENGTH: Final = 1
STAMP: Final = 2
"""Generation stamp << 3 | state << 1 | whether the row is there."""
REPLICAS: Final = 3
"""0, or the first storage's number | the second's << 21 | …, or `ELSEWHERE`."""

STORAGE_BITS: Final = 21
STORAGE_MASK: Final = (1 << STORAGE_BITS) - 1
_INLINE_BITS: Final = 3 * STORAGE_BITS
ELSEWHERE: Final = -1


class BlockState(enum.IntEnum):
    """Being written; of final length; of final length and stored. See `block_states`."""

    UNDER_CONSTRUCTION = 0
    COMMITTED = 1
    COMPLETE = 2


_STATES: Final = tuple(BlockState)
COMPLETE: Final = BlockState.COMPLETE << 1 | 1
check_layout(
    BLOCK_WIDTH=WIDTH,
    BLOCK_LENGTH=LENGTH,
    BLOCK_STAMP=STAMP,
    BLOCK_REPLICAS=REPLICAS,
    STORAGE_BITS=STORAGE_BITS,
    BLOCK_COMPLETE=COMPLETE,
)
"""What is below the stamp of a complete block that is there."""


class Extras:
    """What few blocks have."""

    __slots__ = ("corrupt", "expected", "truncating")

    def __init__(self) -> None:
        self.corrupt: tuple[Storage, ...] = ()
        self.expected: tuple[Storage, ...] = ()
        self.truncating = False

    @property
    def is_empty(self) -> bool:
        return not (self.corrupt or self.expected or self.truncating)


_NO_EXTRAS: Final = Extras()


class Beside:
    """What is beside the rows of a namespace's blocks and groups, and shared by both."""

    __slots__ = (
        "_numbers",
        "expected_indices",
        "extras",
        "more",
        "policies",
        "reported",
        "scattered",
        "storages",
        "unfinished",
    )

    def __init__(self) -> None:
        self.extras: Final[dict[int, Extras]] = {}
        self.scattered: Final[dict[int, list[Storage]]] = {}
        """The replicas of blocks that have more than fit in a row."""
        self.unfinished: Final[set[int]] = set()
        """The ids of blocks that are not complete."""
        self.reported: Final[set[int]] = set()
        """The ids of blocks that are complete by reports, and committed by the edits."""
        self.storages: Final[list[Storage]] = []
        self._numbers: Final[dict[Storage, int]] = {}
        self.policies: dict[int, Policy] = dict(SYSTEM_POLICIES)
        """The policies that groups may have, by their ids. None is ever taken out."""
        self.more: Final[dict[int, list[Storage]]] = {}
        """Further holders of internal blocks, by their ids."""
        self.expected_indices: Final[dict[int, tuple[int, ...]]] = {}
        """Of groups under construction: which index each storage of `expected` is to have."""

    def number_of(self, storage: Storage) -> int:
        """By which rows know the storage; from 1."""
        number = self._numbers.get(storage)
        if number is None:
            self.storages.append(storage)
            number = self._numbers[storage] = len(self.storages)
        return number

    def known_number(self, storage: Storage) -> int | None:
        """The same, None of a storage that no row knows."""
        return self._numbers.get(storage)


class Block:
    """One block of one file.

    `replicas` are the storages that hold a finalized replica of this generation
    stamp and length; `corrupt` those that were reported bad. While the block is
    under construction `expected` are the storages of its pipeline.

    `truncating`: its replicas are being cut to `length_bytes`, and are longer still.
    """

    __slots__ = ("_at", "_page", "_table", "block_id")

    block_id: int
    _table: Beside
    _page: Page
    _at: int

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Block)
            and self.block_id == other.block_id
            and self._page is other._page
        )

    def __hash__(self) -> int:
        return hash(self.block_id)

    @property
    def file_id(self) -> int:
        """The inode id of its file, which may be gone."""
        return self._page[self._at + FILE]

    @file_id.setter
    def file_id(self, inode_id: int) -> None:
        self._page[self._at + FILE] = inode_id

    @property
    def length_bytes(self) -> int:
        return self._page[self._at + LENGTH]

    @length_bytes.setter
    def length_bytes(self, length_bytes: int) -> None:
        self._page[self._at + LENGTH] = length_bytes

    @property
    def generation_stamp(self) -> int:
        return self._page[self._at + STAMP] >> 3

    @generation_stamp.setter
    def generation_stamp(self, stamp: int) -> None:
        self._page[self._at + STAMP] = stamp << 3 | self._page[self._at + STAMP] & 7

    @property
    def state(self) -> BlockState:
        return _STATES[self._page[self._at + STAMP] >> 1 & 3]

    @state.setter
    def state(self, state: BlockState) -> None:
        self._page[self._at + STAMP] = self._page[self._at + STAMP] & ~6 | state << 1
        if state is BlockState.COMPLETE:
            self._table.unfinished.discard(self.block_id)
            self._table.reported.discard(self.block_id)
        elif self._page[self._at + STAMP] & 1:
            self._table.unfinished.add(self.block_id)
            self._table.reported.discard(self.block_id)

    @property
    def logged_state(self) -> BlockState:
        """What the edits alone make of it: without the reports that completed a committed block
        of an open file."""
        state = self.state
        return BlockState.COMMITTED if self.block_id in self._table.reported else state

    def complete_by_reports(self) -> None:
        """The block was committed, and enough replicas were reported."""
        assert self.state is BlockState.COMMITTED, self
        self.state = BlockState.COMPLETE
        if self._page[self._at + STAMP] & 1:
            self._table.reported.add(self.block_id)

    # Replicas.

    @property
    def replicas(self) -> list[Storage]:
        """Return the storages in the order in which they were found. Change them by the methods
        below."""
        packed = self._page[self._at + REPLICAS]
        if packed == 0:
            return []
        if packed == ELSEWHERE:
            return list(self._table.scattered[self.block_id])
        storages = self._table.storages
        replicas = [storages[(packed & STORAGE_MASK) - 1]]
        packed >>= STORAGE_BITS
        while packed:
            replicas.append(storages[(packed & STORAGE_MASK) - 1])
            packed >>= STORAGE_BITS
        return replicas

    @replicas.setter
    def replicas(self, storages: Iterable[Storage]) -> None:
        listed = list(storages)
        table = self._table
        numbers = [table.number_of(storage) for storage in listed]
        packed = 0
        for number in reversed(numbers):
            packed = packed << STORAGE_BITS | number
        if packed >> _INLINE_BITS or max(numbers, default=0) > STORAGE_MASK:
            table.scattered[self.block_id] = listed
            packed = ELSEWHERE
        else:
            table.scattered.pop(self.block_id, None)
        self._page[self._at + REPLICAS] = packed

    @property
    def replica_count(self) -> int:
        packed = self._page[self._at + REPLICAS]
        if packed == ELSEWHERE:
            return len(self._table.scattered[self.block_id])
        return (packed.bit_length() + STORAGE_BITS - 1) // STORAGE_BITS

    @property
    def is_available(self) -> bool:
        """True if enough good replicas are known to read it."""
        return self.replica_count > 0

    def add_replica(self, storage: Storage) -> None:
        """The storage has a good one, too."""
        packed = self._page[self._at + REPLICAS]
        number = self._table.number_of(storage)
        if packed == 0 and number <= STORAGE_MASK:
            self._page[self._at + REPLICAS] = number
        else:
            self.replicas = [*self.replicas, storage]

    def remove_replica(self, storage: Storage) -> None:
        """The storage has none any more. Raises ValueError if it had none."""
        left = self.replicas
        left.remove(storage)
        self.replicas = left

    # What few have.

    @property
    def expected(self) -> tuple[Storage, ...]:
        return self._table.extras.get(self.block_id, _NO_EXTRAS).expected

    @expected.setter
    def expected(self, storages: tuple[Storage, ...]) -> None:
        if storages:
            self._extras().expected = storages
        elif (extras := self._table.extras.get(self.block_id)) is not None:
            extras.expected = ()
            self._drop_empty(extras)

    @property
    def corrupt(self) -> tuple[Storage, ...]:
        return self._table.extras.get(self.block_id, _NO_EXTRAS).corrupt

    @corrupt.setter
    def corrupt(self, storages: tuple[Storage, ...]) -> None:
        if storages:
            self._extras().corrupt = storages
        elif (extras := self._table.extras.get(self.block_id)) is not None:
            extras.corrupt = ()
            self._drop_empty(extras)

    @property
    def truncating(self) -> bool:
        return self._table.extras.get(self.block_id, _NO_EXTRAS).truncating

    @truncating.setter
    def truncating(self, truncating: bool) -> None:
        if truncating:
            self._extras().truncating = True
        elif (extras := self._table.extras.get(self.block_id)) is not None:
            extras.truncating = False
            self._drop_empty(extras)

    def _extras(self) -> Extras:
        extras = self._table.extras.get(self.block_id)
        if extras is None:
            extras = self._table.extras[self.block_id] = Extras()
        return extras

    def _drop_empty(self, extras: Extras) -> None:
        if extras.is_empty:
            del self._table.extras[self.block_id]

    def move_out(self, extras: Extras | None, scattered: list[Storage] | None) -> None:
        """The block is in no table any more, and keeps what was beside its row."""
        alone = Beside()
        alone.storages.extend(self._table.storages)
        if extras is not None:
            alone.extras[self.block_id] = extras
        if scattered is not None:
            alone.scattered[self.block_id] = scattered
        self._table = alone

    # What follows.

    @property
    def is_settled(self) -> bool:
        """True if its length and generation stamp are final, however few replicas are there."""
        return self.state is not BlockState.UNDER_CONSTRUCTION

    @property
    def is_readable_to_the_end(self) -> bool:
        """True if readers can rely on `length_bytes` without asking datanodes."""
        return self.state is BlockState.COMPLETE or self.truncating

    @property
    def name(self) -> str:
        """As logs and messages show it: `blk_1073741825_1001`."""
        return f"blk_{self.block_id}_{self.generation_stamp}"

    def __repr__(self) -> str:
        return f"<{self.name} {self.state.name} {self.length_bytes} bytes>"
