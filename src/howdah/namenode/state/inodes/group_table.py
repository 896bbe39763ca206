"""Block groups of striped files, as rows of tables (pure; see `row_table` and `block_rows`).

Hadoop's `BlockInfoStriped`. A group is one block of its file, whose bytes lie in internal blocks,
one for each index of its policy (`protocol.striping.layout`). There are two views of a row:

- `Group` is what files, locations, safe mode and repairs see. Its replicas are the holders of all
  indices, and its count is that of indices which somebody holds.
- `Internal` is one internal block, as datanodes report, delete and copy it. It has an id and a
  length of its own, and should have one replica. Its state and generation stamp are the group's.

So what is corrupt, in excess or to be deleted is known by index, and a datanode may have two
indices of a group.

A row has the file's id, the length of the group's data, the generation stamp with the state, the
policy, and for each index the number of the storage that holds it: three of these are in one number
of 64 bits, as in a block's row. A second holder of an index is beside the table. Ids of groups are
16 apart, and rows are numbered without these gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from howdah.namenode.state.inodes.block_rows import (
    STORAGE_BITS,
    STORAGE_MASK,
    Beside,
    Block,
    BlockState,
)
from howdah.namenode.state.inodes.row_page import Page
from howdah.namenode.state.inodes.row_table import MASK, SHIFT, Table
from howdah.protocol.striping.layout import INDEX_BITS, GroupLayout
from howdah.protocol.striping.policies import Policy

if TYPE_CHECKING:
    from howdah.namenode.state.blocks.datanodes import Storage

POLICY: Final = 3
"""Where in a row the policy's id is; the numbers before it are those of a block's row."""
FIRST_HOLDER: Final = 4
_HOLDERS: Final = 3
"""In one number of a row."""
_ELSEWHERE: Final = STORAGE_MASK
"""In place of a storage's number where that is too large: all holders are beside the table."""
_FIRST_ID: Final = -(1 << 63)
_INDEX_MASK: Final = (1 << INDEX_BITS) - 1
_STAMP: Final = 2


class Group(Block):
    """One block group. Its internal blocks are changed one by one (`part`)."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Group)
            and self.block_id == other.block_id
            and self._page is other._page
        )

    def __hash__(self) -> int:
        return hash(self.block_id)

    @property
    def policy(self) -> Policy:
        """Return how the group is coded."""
        return self._table.policies[self._page[self._at + POLICY]]

    @property
    def layout(self) -> GroupLayout:
        """Return where which of its bytes are."""
        return GroupLayout(self.policy, self.length_bytes)

    @property
    def data_blocks(self) -> int:
        """Return how many internal blocks are needed to read it: those of its data that exist."""
        return self.layout.data_blocks

    def part(self, index: int) -> Internal:
        """Return an internal block."""
        return _internal(self, index)

    @property
    def parts(self) -> list[Internal]:
        """Return its internal blocks, those of no length as well."""
        return [_internal(self, index) for index in range(self.policy.schema.units)]

    @property
    def held(self) -> list[tuple[int, Storage]]:
        """Return the good internal blocks: index and storage of each, in the order of indices."""
        table = self._table
        storages, more = table.storages, table.more
        held = []
        for index, number in self._holders:
            if number != _ELSEWHERE:
                held.append((index, storages[number - 1]))
            if more:
                others = more.get(self.block_id + index, ())
                held += [(index, storage) for storage in others]
        return held

    @property
    def _holders(self) -> list[tuple[int, int]]:
        """Return the indices that somebody holds, each with a storage's number or `_ELSEWHERE`."""
        page, first = self._page, self._at + FIRST_HOLDER
        units = self.policy.schema.units
        holders = []
        for begin in range(0, units, _HOLDERS):
            packed, index = page[first + begin // _HOLDERS], begin
            while packed:
                number = packed & STORAGE_MASK
                if number:
                    holders.append((index, number))
                packed >>= STORAGE_BITS
                index += 1
        return holders

    @property
    def replicas(self) -> list[Storage]:
        """Return the storages that hold any of it."""
        return [storage for _, storage in self.held]

    @replicas.setter
    def replicas(self, storages: Iterable[Storage]) -> None:
        raise TypeError(f"{self.name} is a group: its internal blocks have replicas")

    @property
    def replica_count(self) -> int:
        """Return of how many of its internal blocks that exist somebody has a good replica."""
        existing = self.layout.block_indices
        return sum(1 for index, _ in self._holders if index in existing)

    @property
    def is_available(self) -> bool:
        return self.replica_count >= self.data_blocks

    def add_replica(self, storage: Storage) -> None:
        raise TypeError(f"{self.name} is a group: its internal blocks have replicas")

    def remove_replica(self, storage: Storage) -> None:
        raise TypeError(f"{self.name} is a group: its internal blocks have replicas")

    @property
    def corrupt(self) -> tuple[Storage, ...]:
        """Return where corrupt replicas of its internal blocks are."""
        extras = self._table.extras
        return tuple(
            storage
            for block_id in range(self.block_id, self.block_id + self.policy.schema.units)
            if block_id in extras
            for storage in extras[block_id].corrupt
        )

    @corrupt.setter
    def corrupt(self, storages: tuple[Storage, ...]) -> None:
        raise TypeError(f"{self.name} is a group: its internal blocks are corrupt")

    @property
    def expected_parts(self) -> list[tuple[int, Storage]]:
        """Return where its internal blocks are written: index and storage of each."""
        indices = self._table.expected_indices.get(self.block_id, ())
        return list(zip(indices, self.expected, strict=True))

    @expected_parts.setter
    def expected_parts(self, parts: Iterable[tuple[int, Storage]]) -> None:
        listed = list(parts)
        self.expected = tuple(storage for _, storage in listed)
        indices = self._table.expected_indices
        if listed:
            indices[self.block_id] = tuple(index for index, _ in listed)
        else:
            indices.pop(self.block_id, None)


class Internal(Block):
    """One internal block of a group."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Internal)
            and self.block_id == other.block_id
            and self._page is other._page
        )

    def __hash__(self) -> int:
        return hash(self.block_id)

    @property
    def index(self) -> int:
        """Return which one it is."""
        return self.block_id & _INDEX_MASK

    @property
    def group(self) -> Group:
        """Return the group that it is of."""
        group = Group.__new__(Group)
        group.block_id = self.block_id & ~_INDEX_MASK
        group._table, group._page, group._at = self._table, self._page, self._at
        return group

    @property
    def length_bytes(self) -> int:
        """Return its own length, which follows from that of the group."""
        return self.group.layout.block_length(self.index)

    @length_bytes.setter
    def length_bytes(self, length_bytes: int) -> None:
        raise TypeError(f"{self.name} is of a group, which has a length")

    @property
    def state(self) -> BlockState:
        return self.group.state

    @state.setter
    def state(self, state: BlockState) -> None:
        raise TypeError(f"{self.name} is of a group, which has a state")

    @property
    def replicas(self) -> list[Storage]:
        word, place = divmod(self.index, _HOLDERS)
        packed = self._page[self._at + FIRST_HOLDER + word]
        number = packed >> place * STORAGE_BITS & STORAGE_MASK
        if not number:
            return []
        table = self._table
        others = table.more.get(self.block_id, ())
        return list(others) if number == _ELSEWHERE else [table.storages[number - 1], *others]

    @replicas.setter
    def replicas(self, storages: Iterable[Storage]) -> None:
        listed = list(storages)
        table = self._table
        number = table.number_of(listed[0]) if listed else 0
        beside = listed[1:]
        if number >= _ELSEWHERE:
            number, beside = _ELSEWHERE, listed
        word, place = divmod(self.index, _HOLDERS)
        at, bits = self._at + FIRST_HOLDER + word, place * STORAGE_BITS
        self._page[at] = self._page[at] & ~(STORAGE_MASK << bits) | number << bits
        if beside:
            table.more[self.block_id] = beside
        else:
            table.more.pop(self.block_id, None)

    @property
    def replica_count(self) -> int:
        return len(self.replicas)

    def add_replica(self, storage: Storage) -> None:
        self.replicas = [*self.replicas, storage]

    @property
    def expected(self) -> tuple[Storage, ...]:
        return tuple(storage for index, storage in self.group.expected_parts if index == self.index)

    @expected.setter
    def expected(self, storages: tuple[Storage, ...]) -> None:
        group, own = self.group, self.index
        others = [part for part in group.expected_parts if part[0] != own]
        group.expected_parts = [*others, *((own, storage) for storage in storages)]

    @property
    def corrupt(self) -> tuple[Storage, ...]:
        extras = self._table.extras.get(self.block_id)
        return () if extras is None else extras.corrupt

    @corrupt.setter
    def corrupt(self, storages: tuple[Storage, ...]) -> None:
        if storages:
            self._extras().corrupt = storages
        elif (extras := self._table.extras.get(self.block_id)) is not None:
            extras.corrupt = ()
            self._drop_empty(extras)


def _internal(group: Group, index: int) -> Internal:
    part = Internal.__new__(Internal)
    part.block_id = group.block_id + index
    part._table, part._page, part._at = group._table, group._page, group._at
    return part


class GroupTable:
    """The groups of a namespace, beside its other blocks."""

    __slots__ = ("_beside", "_tables")

    def __init__(self, beside: Beside) -> None:
        """`beside` has what groups share with other blocks."""
        self._beside: Final = beside
        self._tables: Final[dict[int, Table]] = {}
        """By how many internal blocks a group has."""

    @property
    def policies(self) -> dict[int, Policy]:
        """Return the policies that groups may have, by their ids."""
        return self._beside.policies

    def new(
        self,
        group_id: int,
        length_bytes: int,
        generation_stamp: int,
        file_id: int,
        state: BlockState,
        policy_id: int,
    ) -> Group:
        """Add a group. Raises OverflowError for a number of more than 64 bits, KeyError for a
        policy that is not known."""
        units = self._beside.policies[policy_id].schema.units
        table = self._tables.get(units)
        if table is None:
            table = self._tables[units] = Table(_width(units), _STAMP)
        number = _number_of(group_id)
        page = table.page_for(number)
        at = (number & MASK) * _width(units)
        assert not page[at + _STAMP] & 1, f"there is a group {group_id} already"
        page[at + 1] = length_bytes
        page[at] = file_id
        page[at + POLICY] = policy_id
        for place in range(at + FIRST_HOLDER, at + _width(units)):
            page[place] = 0
        page[at + _STAMP] = generation_stamp << 3 | state << 1 | 1
        table.added(page)
        if state is not BlockState.COMPLETE:
            self._beside.unfinished.add(group_id)
        return self._view(group_id, page, at)

    def get(self, group_id: int) -> Group | None:
        """Return a group; None where there is none of that id."""
        if group_id & _INDEX_MASK:
            return None
        number = _number_of(group_id)
        for units, table in self._tables.items():
            page = table.pages.get(number >> SHIFT)
            at = (number & MASK) * _width(units)
            if page is not None and page[at + _STAMP] & 1:
                return self._view(group_id, page, at)
        return None

    def internal(self, block_id: int) -> Internal | None:
        """Return an internal block; None where no group has it."""
        group = self.get(block_id & ~_INDEX_MASK)
        index = block_id & _INDEX_MASK
        if group is None or index >= group.policy.schema.units:
            return None
        return _internal(group, index)

    def remove(self, group: Group) -> None:
        """Take a group out. It is shown as it was for as long as somebody holds it."""
        number = _number_of(group.block_id)
        for table in self._tables.values():
            if table.pages.get(number >> SHIFT) is group._page:
                table.remove(number)
        alone = Beside()
        alone.storages.extend(self._beside.storages)
        alone.policies = self._beside.policies
        for block_id in range(group.block_id, group.block_id + (1 << INDEX_BITS)):
            for mine, its in (
                (self._beside.extras, alone.extras),
                (self._beside.more, alone.more),
                (self._beside.expected_indices, alone.expected_indices),
            ):
                _hand_over(block_id, mine, its)
        group._table = alone

    def _view(self, group_id: int, page: Page, at: int) -> Group:
        group = Group.__new__(Group)
        group.block_id = group_id
        group._table, group._page, group._at = self._beside, page, at
        return group

    def __len__(self) -> int:
        return sum(table.count for table in self._tables.values())

    def __iter__(self) -> Iterator[int]:
        """Yield the ids; groups may come and go meanwhile."""
        for table in list(self._tables.values()):
            for number in table:
                yield (number << INDEX_BITS) + _FIRST_ID


def _hand_over(block_id: int, mine: dict[int, Any], its: dict[int, Any]) -> None:
    kept = mine.pop(block_id, None)
    if kept is not None:
        its[block_id] = kept


def _width(units: int) -> int:
    """Return of how many numbers the rows of such groups are."""
    return FIRST_HOLDER + -(-units // _HOLDERS)


def _number_of(group_id: int) -> int:
    return (group_id - _FIRST_ID) >> INDEX_BITS
