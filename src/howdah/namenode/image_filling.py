"""An image's files into the tables of a namespace, many at once (pure).

Where an image says of a file what most files have, nothing is made of it but its rows
and its name: columns come from `image_columns`, and go into rows in strides.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from howdah.namenode import block_table
from howdah.namenode.block_table import BlockState
from howdah.namenode.columns import MASK, SHIFT
from howdah.namenode.files import (
    ATIME,
    BLOCK,
    MTIME,
    PARENT,
    SEVERAL,
    TRAITS,
    WIDTH,
    FileTable,
    Traits,
)
from howdah.namenode.inodes import Directory, Inodes
from howdah.storage.image_columns import FileColumns

Permission = Callable[[int], tuple[str, str, int]]

_COMPLETE: Final = BlockState.COMPLETE << 1 | 1


class Impossible(Exception):
    """The image contradicts itself."""


class Filling:
    """Files go into these tables.

    Everything here raises Impossible, and OverflowError for numbers that are too large.
    """

    def __init__(self, inodes: Inodes, permission: Permission) -> None:
        """`permission` takes the image's word for owner, group and mode apart."""
        self._inodes = inodes
        self._files = inodes.files
        self._marks = _Marks(inodes.files, permission)

    def add(self, columns: FileColumns) -> None:
        """Closed files with their blocks, in no directory yet."""
        ids, names = columns.ids, columns.names
        self._check(ids, names)
        rows = array("q", bytes(8 * WIDTH * len(ids)))
        looks = zip(
            columns.permissions, columns.replications, columns.block_sizes_bytes, strict=True
        )
        rows[TRAITS::WIDTH] = array("q", map(self._marks.__getitem__, looks))
        rows[MTIME::WIDTH] = array("q", columns.mtimes_ms)
        rows[ATIME::WIDTH] = array("q", columns.atimes_ms)
        owners: Sequence[int] = ids
        if columns.block_counts is None and min(columns.block_ids) > 0:
            rows[BLOCK::WIDTH] = array("q", columns.block_ids)
        else:
            counts = columns.block_counts or [1] * len(ids)
            rows[BLOCK::WIDTH] = array("q", self._several(columns, counts))
            owners = [
                inode_id for inode_id, count in zip(ids, counts, strict=True) for _ in range(count)
            ]
        try:
            self._files.rows.fill(ids, rows, names)
        except KeyError as error:
            raise Impossible(f"it has inode {error.args[0]} twice") from None
        self._add_blocks(columns, owners)
        if any(columns.storage_policy_ids):
            for inode_id, policy_id in zip(ids, columns.storage_policy_ids, strict=True):
                if policy_id:
                    self._files[inode_id].storage_policy_id = policy_id

    def _check(self, ids: Sequence[int], names: Sequence[str]) -> None:
        if not all(names) or "/" in "".join(names):
            bad = next(name for name in names if not name or "/" in name)
            raise Impossible(f"an inode has the name {bad!r}")
        for others in (self._inodes.directories, self._inodes.links):
            if not others.keys().isdisjoint(ids):
                raise Impossible(f"it has inode {min(others.keys() & set(ids))} twice")

    def _several(self, columns: FileColumns, counts: Sequence[int]) -> Iterator[int]:
        """What the files' rows say of their blocks; lists of more than one are put aside."""
        begin = 0
        for inode_id, count in zip(columns.ids, counts, strict=True):
            block_ids = columns.block_ids[begin : begin + count]
            begin += count
            if count == 1 and block_ids[0] > 0:
                yield block_ids[0]
            elif count:
                self._files.block_lists[inode_id] = array("q", block_ids)
                yield SEVERAL
            else:
                yield 0

    def _add_blocks(self, columns: FileColumns, owners: Sequence[int]) -> None:
        width = block_table.WIDTH
        rows = array("q", bytes(8 * width * len(owners)))
        rows[block_table.FILE :: width] = array("q", owners)
        rows[block_table.LENGTH :: width] = array("q", columns.lengths_bytes)
        rows[block_table.STAMP :: width] = array(
            "q", [stamp << 3 | _COMPLETE for stamp in columns.generation_stamps]
        )
        try:
            self._files.blocks.rows.fill(columns.block_ids, rows)
        except KeyError as error:
            raise Impossible(f"block {error.args[0]} is in two files") from None

    def enter(self, parent: Directory, children: Sequence[int]) -> None:
        """Put inodes into a directory."""
        pages, entries, parent_id = self._files.rows.pages, parent.entries, parent.inode_id
        before = len(entries)
        for inode_id in children:
            page = pages.get(inode_id >> SHIFT)
            at = (inode_id & MASK) * WIDTH
            if page is None or not page[at + TRAITS] & 1:
                self._enter_other(parent, inode_id)
                continue
            if page[at + PARENT]:
                raise Impossible(f"inode {inode_id} is in two directories")
            page[at + PARENT] = parent_id
            entries[page.names[inode_id & MASK]] = inode_id
        if len(entries) != before + len(children):
            raise Impossible(f"directory {parent_id} has a name twice")

    def _enter_other(self, parent: Directory, inode_id: int) -> None:
        child = self._inodes.get(inode_id)
        if child is None:
            raise Impossible(f"child {inode_id} of directory {parent.inode_id} is not there")
        if child.parent is not None or not child.name:
            raise Impossible(f"inode {inode_id} is in two directories")
        parent.entries[child.name] = child
        child.parent = parent

    def homeless(self) -> Iterator[int]:
        """The files that are in no directory."""
        for number, page in self._files.rows.pages.items():
            parents, marks = page[PARENT::WIDTH], page[TRAITS::WIDTH]
            for place, parent_id in enumerate(parents):
                if not parent_id and marks[place] & 1:
                    yield (number << SHIFT) + place


class _Marks(dict[tuple[int, int, int], int]):
    """What rows have of permission, replication and block size."""

    def __init__(self, files: FileTable, permission: Permission) -> None:
        self._files = files
        self._permission = permission

    def __missing__(self, key: tuple[int, int, int]) -> int:
        bits, replication, block_size_bytes = key
        traits = Traits(*self._permission(bits), replication, block_size_bytes)
        mark = self[key] = self._files.number_of(traits) << 1 | 1
        return mark
