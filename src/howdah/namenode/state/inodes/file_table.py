"""The table of a namespace's files (pure; see `row_table`, FS-025).

A row has the parent's id, the times, the block, and the number of the file's traits:
owner, group, mode, replication and block size, which most files of a directory share.
The name is the same string that is the key in its directory. What few files have
(`inode_features`, several blocks) is beside the table.

What every create and close does to a row is here, by the file's id, and makes no view of it
(`files`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from howdah.namenode.state.inodes.block_table import LENGTH, Block, BlockTable
from howdah.namenode.state.inodes.block_table import WIDTH as BLOCK_WIDTH
from howdah.namenode.state.inodes.directory import Directory
from howdah.namenode.state.inodes.inode_features import NO_FEATURES, Features
from howdah.namenode.state.inodes.row_page import Page
from howdah.namenode.state.inodes.row_table import MASK, SHIFT, Table
from howdah.native.layout import check_layout

# The numbers of a row.
WIDTH: Final = 5
PARENT: Final = 0
"""The parent's inode id; 0 while it has none."""
TRAITS: Final = 1
"""The number of its traits << 1 | whether the row is there."""
MTIME: Final = 2
ATIME: Final = 3
BLOCK: Final = 4
"""0, the id of the only block, or `SEVERAL`."""

SEVERAL: Final = -1
check_layout(
    FILE_WIDTH=WIDTH, FILE_TRAITS=TRAITS, FILE_MTIME=MTIME, FILE_ATIME=ATIME, FILE_BLOCK=BLOCK
)


class Traits(NamedTuple):
    """What most files share with their neighbours."""

    owner: str
    group: str
    mode: int
    replication: int
    block_size_bytes: int


Glance = tuple[Traits, int, int, int, Features]
"""Traits, time of modification, of access, length and features."""


V = TypeVar("V")
_NO_BLOCKS: Final = array("q")


class FileRows(Generic[V]):
    """The files of a namespace by inode id, and the views of them: `files.FileTable`."""

    __slots__ = (
        "_numbers",
        "_view",
        "block_lists",
        "blocks",
        "directories",
        "directories_taken",
        "features",
        "rows",
        "traits",
    )

    def __init__(
        self,
        directories: dict[int, Directory],
        view: Callable[[FileRows[V], int, Page, int], V],
    ) -> None:
        """`directories` are those that files can be in, by inode id; `view` shows a row: that of a
        table, of an inode id, which is on a page at a place."""
        self.rows: Final = Table(WIDTH, TRAITS, named=True)
        self.blocks: Final = BlockTable()
        self.directories: Final = directories
        self.directories_taken = 0
        """How many of them were taken out of others: paths through them lead elsewhere then."""
        self.features: Final[dict[int, Features]] = {}
        self.block_lists: Final[dict[int, array[int]]] = {}
        """The ids of the blocks of files with more than one, and of those that have groups."""
        self.traits: Final[list[Traits]] = []
        self._numbers: Final[dict[Traits, int]] = {}
        self._view: Final = view

    def number_of(self, traits: Traits) -> int:
        """By which rows know the traits. They are kept for good: there are not many."""
        number = self._numbers.get(traits)
        if number is None:
            number = self._numbers[traits] = len(self.traits)
            self.traits.append(traits)
        return number

    def new(self, inode_id: int, name: str, traits: Traits, mtime_ms: int, atime_ms: int = 0) -> V:
        """Add a file, which is in no directory yet. Raises OverflowError for a number of more than
        64 bits."""
        self.add(inode_id, name, traits, mtime_ms, atime_ms, 0)
        return self[inode_id]

    def add(
        self,
        inode_id: int,
        name: str,
        traits: Traits,
        mtime_ms: int,
        atime_ms: int,
        parent_id: int,
    ) -> None:
        """The same without showing it; the directory with the id `parent_id` is to have it."""
        rows = self.rows
        page = rows.page_for(inode_id)
        at = (inode_id & MASK) * WIDTH
        assert not page[at + TRAITS] & 1, f"there is a file {inode_id} already"
        page[at + PARENT] = parent_id
        page[at + MTIME] = mtime_ms
        page[at + ATIME] = atime_ms
        page[at + BLOCK] = 0
        page.names[inode_id & MASK] = name
        page[at + TRAITS] = self.number_of(traits) << 1 | 1
        rows.added(page)

    def get(self, inode_id: int) -> V | None:
        page = self.rows.pages.get(inode_id >> SHIFT)
        at = (inode_id & MASK) * WIDTH
        if page is None or not page[at + TRAITS] & 1:
            return None
        return self._view(self, inode_id, page, at)

    def __getitem__(self, inode_id: int) -> V:
        page = self.rows.pages[inode_id >> SHIFT]
        at = (inode_id & MASK) * WIDTH
        if not page[at + TRAITS] & 1:
            raise KeyError(inode_id)
        return self._view(self, inode_id, page, at)

    def of(self, block: Block) -> V:
        """The file that the block belongs to. Raises KeyError if it is gone."""
        return self[block.file_id]

    def glance(self, inode_id: int) -> Glance:
        """What answers show of a file. For listings: a view would cost half as much again."""
        page = self.rows.pages[inode_id >> SHIFT]
        return self.glance_at(inode_id, page, (inode_id & MASK) * WIDTH)

    def glance_at(self, inode_id: int, page: Page, at: int) -> Glance:
        block_id = page[at + BLOCK]
        if block_id > 0:
            blocks = self.blocks.rows.pages.get(block_id >> SHIFT)
            length = 0 if blocks is None else blocks[(block_id & MASK) * BLOCK_WIDTH + LENGTH]
        else:
            length = self.length_of_several(inode_id) if block_id else 0
        return (
            self.traits[page[at + TRAITS] >> 1],
            page[at + MTIME],
            page[at + ATIME],
            length,
            self.features.get(inode_id, NO_FEATURES),
        )

    def measure(self, inode_id: int) -> tuple[int, int] | None:
        """Replication and length in bytes, of a file that has nothing but what all have:
        so it is closed, and has no policy of its own. None for others, and if it is gone.

        For those who walk over a million files; it takes a tenth of making views.
        """
        page = self.rows.pages.get(inode_id >> SHIFT)
        at = (inode_id & MASK) * WIDTH
        if page is None or inode_id in self.features or not page[at + TRAITS] & 1:
            return None
        block_id = page[at + BLOCK]
        replication = self.traits[page[at + TRAITS] >> 1].replication
        if block_id > 0:
            page = self.blocks.rows.pages[block_id >> SHIFT]
            return replication, page[(block_id & MASK) * BLOCK_WIDTH + LENGTH]
        return replication, self.length_of_several(inode_id) if block_id else 0

    def length_of_several(self, inode_id: int) -> int:
        """Of all blocks of a file that has more than one, or groups, in bytes."""
        block_ids = self.block_lists.get(inode_id, _NO_BLOCKS)
        if block_ids and block_ids[0] < 0:
            blocks = self.blocks
            return sum([blocks[group_id].length_bytes for group_id in block_ids])
        pages = self.blocks.rows.pages
        return sum(
            [
                pages[block_id >> SHIFT][(block_id & MASK) * BLOCK_WIDTH + LENGTH]
                for block_id in block_ids
            ]
        )

    def has_blocks(self, inode_id: int) -> bool:
        return self.rows.pages[inode_id >> SHIFT][(inode_id & MASK) * WIDTH + BLOCK] != 0

    def begin_writing(self, inode_id: int, writer: str, machine: str) -> None:
        """Somebody writes the file from now on."""
        features = self.features.get(inode_id)
        if features is None:
            features = self.features[inode_id] = Features()
        features.writer, features.writer_machine = writer, machine

    def end_writing(self, inode_id: int) -> None:
        """Nobody writes it any more."""
        features = self.features.get(inode_id)
        if features is not None:
            features.writer, features.writer_machine = None, ""
            if features.is_empty:
                del self.features[inode_id]

    def close(self, inode_id: int, mtime_ms: int, atime_ms: int) -> None:
        """The same, and these are its times."""
        page = self.rows.pages[inode_id >> SHIFT]
        at = (inode_id & MASK) * WIDTH
        page[at + MTIME] = mtime_ms
        page[at + ATIME] = atime_ms
        self.end_writing(inode_id)

    def remove(self, inode_id: int) -> bool:
        """Take a file out; False if it is not there. Its blocks are not touched."""
        self.features.pop(inode_id, None)
        self.block_lists.pop(inode_id, None)
        return self.rows.remove(inode_id)
