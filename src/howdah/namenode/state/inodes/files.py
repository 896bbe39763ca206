"""Files, as they are shown of the rows of their table (pure; see `file_table`, FS-025).

Hadoop's `INodeFile`. A namespace has millions of files. A `File` is a view of a row: it
is made on demand and thrown away. All views of a row are equal and have the same hash,
so compare them with `==`, never with `is`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, overload

from howdah.namenode.state.inodes.block_table import LENGTH, Block
from howdah.namenode.state.inodes.block_table import WIDTH as BLOCK_WIDTH
from howdah.namenode.state.inodes.directory import Directory, Files, INode
from howdah.namenode.state.inodes.file_table import (
    ATIME,
    BLOCK,
    MTIME,
    PARENT,
    SEVERAL,
    TRAITS,
    FileRows,
    Glance,
    Traits,
)
from howdah.namenode.state.inodes.inode_features import NO_FEATURES, Features
from howdah.namenode.state.inodes.row_page import Page
from howdah.namenode.state.inodes.row_table import MASK, SHIFT


class File(INode):
    """A file; `writer` is set while somebody writes it (its lease holder)."""

    __slots__ = ("_at", "_page", "table")

    table: FileTable
    _page: Page
    _at: int

    def __init__(self, table: FileTable, inode_id: int, page: Page, at: int) -> None:
        """A view of the row that is on a page of the table at a place."""
        self.table = table
        self.inode_id = inode_id
        self._page = page
        self._at = at

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, File)
            and self.inode_id == other.inode_id
            and self._page is other._page
        )

    def __hash__(self) -> int:
        return hash(self.inode_id)

    # What the row holds.

    @property
    def name(self) -> str:
        return self._page.names[self.inode_id & MASK]

    @name.setter
    def name(self, name: str) -> None:
        self._page.names[self.inode_id & MASK] = name

    @property
    def parent(self) -> Directory | None:
        return self.table.directories.get(self._page[self._at + PARENT])

    @parent.setter
    def parent(self, parent: Directory | None) -> None:
        if parent is None:
            self._page[self._at + PARENT] = 0
            return
        self._page[self._at + PARENT] = parent.inode_id
        # A file by itself, in a directory by itself.
        self.table.directories.setdefault(parent.inode_id, parent)

    @property
    def mtime_ms(self) -> int:
        return self._page[self._at + MTIME]

    @mtime_ms.setter
    def mtime_ms(self, mtime_ms: int) -> None:
        self._page[self._at + MTIME] = mtime_ms

    @property
    def atime_ms(self) -> int:
        return self._page[self._at + ATIME]

    @atime_ms.setter
    def atime_ms(self, atime_ms: int) -> None:
        self._page[self._at + ATIME] = atime_ms

    # What its traits say.

    @property
    def traits(self) -> Traits:
        return self.table.traits[self._page[self._at + TRAITS] >> 1]

    @traits.setter
    def traits(self, traits: Traits) -> None:
        is_there = self._page[self._at + TRAITS] & 1
        self._page[self._at + TRAITS] = self.table.number_of(traits) << 1 | is_there

    @property
    def owner(self) -> str:
        return self.traits.owner

    @owner.setter
    def owner(self, owner: str) -> None:
        self.traits = self.traits._replace(owner=owner)

    @property
    def group(self) -> str:
        return self.traits.group

    @group.setter
    def group(self, group: str) -> None:
        self.traits = self.traits._replace(group=group)

    @property
    def mode(self) -> int:
        return self.traits.mode

    @mode.setter
    def mode(self, mode: int) -> None:
        self.traits = self.traits._replace(mode=mode)

    @property
    def replication(self) -> int:
        return self.traits.replication

    @replication.setter
    def replication(self, replication: int) -> None:
        self.traits = self.traits._replace(replication=replication)

    @property
    def block_size_bytes(self) -> int:
        return self.traits.block_size_bytes

    @block_size_bytes.setter
    def block_size_bytes(self, block_size_bytes: int) -> None:
        self.traits = self.traits._replace(block_size_bytes=block_size_bytes)

    def is_row_of(self, files: Files | None) -> bool:
        return self.table is files

    def glance(self) -> Glance:
        """What answers show of a file, in one call."""
        return self.table.glance_at(self.inode_id, self._page, self._at)

    # What few have.

    @property
    def features(self) -> Features:
        return self.table.features.get(self.inode_id, NO_FEATURES)

    @features.setter
    def features(self, features: Features) -> None:
        if features is NO_FEATURES:
            self.table.features.pop(self.inode_id, None)
        else:
            self.table.features[self.inode_id] = features

    @property
    def writer(self) -> str | None:
        features = self.table.features.get(self.inode_id)
        return None if features is None else features.writer

    @writer.setter
    def writer(self, writer: str | None) -> None:
        self._set_feature("writer", writer)

    @property
    def writer_machine(self) -> str:
        """Where the writer is; it goes with the writer."""
        return self.features.writer_machine

    @writer_machine.setter
    def writer_machine(self, machine: str) -> None:
        assert self.writer is not None, f"nobody writes {self.path}"
        self.features.writer_machine = machine

    def begin_writing(self, writer: str, machine: str) -> None:
        """Somebody writes it from now on."""
        self.table.begin_writing(self.inode_id, writer, machine)

    def end_writing(self) -> None:
        """Nobody writes it any more."""
        self.table.end_writing(self.inode_id)

    @property
    def coding_policy_id(self) -> int:
        """The policy by which its blocks are groups; 0 of a replicated file. It stays as it is."""
        features = self.table.features.get(self.inode_id)
        return 0 if features is None else features.coding_policy_id

    @coding_policy_id.setter
    def coding_policy_id(self, policy_id: int) -> None:
        self._set_feature("coding_policy_id", policy_id)

    @property
    def under_construction(self) -> bool:
        return self.writer is not None

    # Blocks.

    @property
    def blocks(self) -> FileBlocks:
        """In order. What is done to this list is done to the file."""
        return FileBlocks(self)

    @property
    def last_block(self) -> Block | None:
        block_id = self._page[self._at + BLOCK]
        if block_id == 0:
            return None
        return self.table.blocks[block_id if block_id > 0 else self.block_ids[-1]]

    @property
    def is_complete_but_last(self) -> bool:
        """True if all its blocks are safe, whatever the last one is."""
        if self._page[self._at + BLOCK] != SEVERAL:
            return True
        return self.table.blocks.unfinished.isdisjoint(self.block_ids[:-1])

    def append_block(self, block: Block) -> None:
        """The block is its last one from now on."""
        block.file_id = self.inode_id
        if self._page[self._at + BLOCK] == 0:
            self.block_ids = (block.block_id,)
        else:
            several = self.table.block_lists.get(self.inode_id)
            if several is not None:
                several.append(block.block_id)
            else:
                self.block_ids = [*self.block_ids, block.block_id]

    @property
    def block_ids(self) -> Sequence[int]:
        block_id = self._page[self._at + BLOCK]
        if block_id == 0:
            return ()
        if block_id == SEVERAL:
            return self.table.block_lists.get(self.inode_id, ())
        return (block_id,)

    @block_ids.setter
    def block_ids(self, block_ids: Sequence[int]) -> None:
        lists = self.table.block_lists
        if not block_ids:
            lists.pop(self.inode_id, None)
            self._page[self._at + BLOCK] = 0
        elif len(block_ids) == 1 and block_ids[0] > 0:
            lists.pop(self.inode_id, None)
            self._page[self._at + BLOCK] = block_ids[0]
        else:
            lists[self.inode_id] = array("q", block_ids)
            self._page[self._at + BLOCK] = SEVERAL

    @property
    def length_bytes(self) -> int:
        """Sum of the blocks' lengths; of a block being written, what was synced so far."""
        block_id = self._page[self._at + BLOCK]
        if block_id > 0:
            page = self.table.blocks.rows.pages.get(block_id >> SHIFT)
            return page[(block_id & MASK) * BLOCK_WIDTH + LENGTH] if page is not None else 0
        return self.table.length_of_several(self.inode_id) if block_id else 0


class FileBlocks(Sequence[Block]):
    """The blocks of one file, in order."""

    __slots__ = ("_file",)

    def __init__(self, file: File) -> None:
        self._file = file

    def __len__(self) -> int:
        return len(self._file.block_ids)

    @overload
    def __getitem__(self, place: int) -> Block: ...
    @overload
    def __getitem__(self, place: slice) -> list[Block]: ...
    def __getitem__(self, place: int | slice) -> Block | list[Block]:
        blocks = self._file.table.blocks
        if isinstance(place, slice):
            return [blocks[block_id] for block_id in self._file.block_ids[place]]
        return blocks[self._file.block_ids[place]]

    def __iter__(self) -> Iterator[Block]:
        blocks = self._file.table.blocks
        return iter([blocks[block_id] for block_id in self._file.block_ids])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        raise TypeError("a file's blocks change")

    def __repr__(self) -> str:
        return repr(list(self))

    def append(self, block: Block) -> None:
        self._file.append_block(block)

    def extend(self, blocks: Iterable[Block]) -> None:
        """Append blocks, which may be another file's until now."""
        added = list(blocks)
        for block in added:
            block.file_id = self._file.inode_id
        self._file.block_ids = [*self._file.block_ids, *[block.block_id for block in added]]

    def clear(self) -> None:
        self._file.block_ids = ()

    def pop(self) -> Block:
        """Take the last one off."""
        last = self[-1]
        several = self._file.table.block_lists.get(self._file.inode_id)
        if several is not None and len(several) > 2:
            del several[-1]
        else:
            self._file.block_ids = self._file.block_ids[:-1]
        return last


def _view(table: FileTable, inode_id: int, page: Page, at: int) -> File:
    return File(table, inode_id, page, at)


FileTable: TypeAlias = "FileRows[File]"  # A compiled class has no brackets at run time.


def table_of(directories: dict[int, Directory]) -> FileTable:
    """An empty table of files, which can be in these directories."""
    return FileRows(directories, _view)


def lone_file(
    inode_id: int,
    name: str,
    owner: str,
    group: str,
    mode: int,
    mtime_ms: int,
    *,
    replication: int,
    block_size_bytes: int,
    storage_policy_id: int = 0,
) -> File:
    """A file by itself, in no namespace yet."""
    traits = Traits(owner, group, mode, replication, block_size_bytes)
    file = table_of({}).new(inode_id, name, traits, mtime_ms)
    file.storage_policy_id = storage_policy_id
    return file


def adopt(table: FileTable, file: File) -> None:
    """Take a file into a table that was made by itself, with its blocks."""
    if file.table is table:
        return
    blocks = list(file.blocks)
    name, parent_id, features = file.name, file._page[file._at + PARENT], file.features
    adopted = table.new(file.inode_id, name, file.traits, file.mtime_ms, file.atime_ms)
    adopted._page[adopted._at + PARENT] = parent_id
    if features is not NO_FEATURES:
        table.features[file.inode_id] = features
    file.table, file._page, file._at = table, adopted._page, adopted._at
    for block in blocks:
        own = table.blocks.get(block.block_id)
        if own is None:
            numbers = block.block_id, block.length_bytes, block.generation_stamp
            policy_id = features.coding_policy_id
            if policy_id:
                groups = table.blocks.groups
                own = groups.new(*numbers, file.inode_id, block.state, policy_id)
            else:
                own = table.blocks.new(*numbers, file.inode_id, block.state)
        file.blocks.append(own)
