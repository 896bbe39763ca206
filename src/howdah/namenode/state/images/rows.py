"""Files of an image to rows of the tables of a namespace and back, many at once (pure).

Part of Hadoop's `FSImageFormatPBINode`. For a file without special features only its
rows and its name are made: the columns of `formats.image.columns` go to rows, and come
from rows, in strides.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, cast

from howdah.formats.edits.edits import EditBlock
from howdah.formats.image.columns import BATCH, FileColumns, Look, NamesInPages
from howdah.formats.image.name_order import in_order
from howdah.namenode.state.inodes import block_table, limits
from howdah.namenode.state.inodes.block_table import Block, BlockState, BlockTable
from howdah.namenode.state.inodes.directory import MODE_MASK
from howdah.namenode.state.inodes.file_table import (
    ATIME,
    BLOCK,
    MTIME,
    PARENT,
    SEVERAL,
    TRAITS,
    WIDTH,
    Traits,
)
from howdah.namenode.state.inodes.files import File, FileTable
from howdah.namenode.state.inodes.inodes import Directory, INode, Inodes
from howdah.namenode.state.inodes.row_table import MASK, SHIFT
from howdah.namenode.state.tree.namespace import Namespace
from howdah.native.loader import kernel

Permission = Callable[[int], tuple[str, str, int]]

_COMPLETE: Final = BlockState.COMPLETE << 1 | 1
_FILES_ALONE: Final = frozenset((int,))


class Impossible(Exception):
    """The image contradicts itself."""


def check_block(block: EditBlock) -> None:
    """Raises Impossible for numbers that no block has."""
    wrong = limits.wrong_block(block.block_id, block.length_bytes, block.generation_stamp)
    if wrong is not None:
        raise Impossible(wrong)


def add_block(blocks: BlockTable, file: File, listed: EditBlock, state: BlockState) -> Block:
    """Add a block of a file to the table: a block group, if the file is erasure coded. Raises
    Impossible where its id is none of that kind."""
    numbers = listed.block_id, listed.length_bytes, listed.generation_stamp
    policy_id = file.coding_policy_id
    if not policy_id:
        if listed.block_id < 0:
            raise Impossible(f"the replicated file {file.inode_id} has group {listed.block_id}")
        return blocks.new(*numbers, file.inode_id, state)
    wrong = limits.wrong_group_id(listed.block_id)
    if wrong is not None:
        raise Impossible(wrong)
    return blocks.groups.new(*numbers, file.inode_id, state, policy_id)


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
        self._check_numbers(columns)
        rows = array("q", bytes(8 * WIDTH * len(ids)))
        rows[TRAITS::WIDTH] = array("q", map(self._marks.__getitem__, columns.looks))
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
        for look in set(columns.looks):
            if look.storage_policy_id:
                self._set_policies(columns, look)

    def _set_policies(self, columns: FileColumns, look: Look) -> None:
        for inode_id, its_look in zip(columns.ids, columns.looks, strict=True):
            if its_look == look:
                self._files[inode_id].storage_policy_id = look.storage_policy_id

    def _check_numbers(self, columns: FileColumns) -> None:
        for wrong in (
            limits.wrong_inode_id(min(columns.ids)),
            limits.wrong_block(0, min(columns.lengths_bytes, default=0), 0),
            limits.wrong_stamp(min(columns.generation_stamps, default=0)),
            limits.wrong_stamp(max(columns.generation_stamps, default=0)),
        ):
            if wrong is not None:
                raise Impossible(wrong)

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
            if min(block_ids, default=0) < 0:
                raise Impossible(f"the replicated file {inode_id} has group {min(block_ids)}")
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


class Gathering:
    """Files come from these tables, and the rest of the tree with them."""

    def __init__(self, namespace: Namespace, permission: Callable[[str, str, int], int]) -> None:
        """`permission` makes one number of owner, group and mode, as the image has it."""
        self._namespace = namespace
        self._files = namespace.inodes.files
        self._looks = _Looks(self._files, permission)

    def inodes(self, go_on: Callable[[], None]) -> Iterator[FileColumns | INode]:
        """Yield the whole tree, every directory before what is in it: columns of the files that
        have what all have, and the other inodes one by one. Takes the permissions of one when all
        before were taken."""
        files = self._files
        features = files.features.keys()
        waiting = array("q")
        for part in attached(self._namespace, go_on):
            if not isinstance(part, array):
                yield part
            elif not features or features.isdisjoint(part):
                waiting += part
            else:
                yield from (files[inode_id] for inode_id in part if inode_id in features)
                waiting.extend(inode_id for inode_id in part if inode_id not in features)
            whole = len(waiting) - len(waiting) % BATCH
            for begin in range(0, whole, BATCH):
                yield self._columns(waiting[begin : begin + BATCH])
            del waiting[:whole]
        if waiting:
            yield self._columns(waiting)

    def _columns(self, ids: array[int]) -> FileColumns:
        files = self._files
        rows, names = files.rows.copy_rows(ids), NamesInPages(files.rows.pages, SHIFT, ids)
        block_ids = rows[BLOCK::WIDTH]
        counts: list[int] | None = None
        if min(block_ids) <= 0:
            lists = [
                files.block_lists[i] if b == SEVERAL else (b,) if b else ()
                for i, b in zip(ids, block_ids, strict=True)
            ]
            counts = list(map(len, lists))
            block_ids = array("q", chain.from_iterable(lists))
        block_rows = files.blocks.rows.copy_rows(block_ids)
        return FileColumns(
            ids,
            names,
            rows[MTIME::WIDTH],
            rows[ATIME::WIDTH],
            list(map(self._looks.__getitem__, rows[TRAITS::WIDTH])),
            block_ids,
            _stamps(block_rows[block_table.STAMP :: block_table.WIDTH]),
            block_rows[block_table.LENGTH :: block_table.WIDTH],
            counts,
        )


def _stamps(column: array[int]) -> Sequence[int]:
    """The generation stamps of blocks, by what their rows have of them."""
    native = kernel()
    if native is not None:
        return _numbers_of(native.shift_right(column, 3))
    return [stamp >> 3 for stamp in column]


def attached(namespace: Namespace, go_on: Callable[[], None]) -> Iterator[INode | array[int]]:
    """The whole tree, and what only snapshots have: every directory before what is in
    it, files by their ids, those of a directory together."""
    dead = list(namespace.snapshots.dead_inodes())
    dead_files = array("q", (inode.inode_id for inode in dead if isinstance(inode, File)))
    if dead_files:
        yield dead_files
    todo = [namespace.root, *(inode for inode in dead if not isinstance(inode, File))]
    while todo:
        inode = todo.pop()
        yield inode
        if isinstance(inode, Directory):
            go_on()
            files = file_ids(inode.entries)
            if files is None:
                entries = inode.entries.values()
                files = array("q", (entry for entry in entries if isinstance(entry, int)))
                todo += [entry for entry in entries if not isinstance(entry, int)]
            if files:
                yield files


def file_ids(entries: Mapping[str, int | INode]) -> array[int] | None:
    """Return the ids of a directory's entries, if all of them are files, as in most."""
    native = kernel()
    if native is not None:
        ids = native.file_ids(entries)
        return None if ids is None else _numbers_of(ids)
    values = list(entries.values())
    return (
        array("q", cast("list[int]", values))
        if _FILES_ALONE.issuperset(map(type, values))
        else None
    )


def children_in_order(entries: Mapping[str, int | INode]) -> Sequence[int]:
    """Return the inodes of a directory's entries, in Hadoop's order of their names."""
    native = kernel()
    ids = None if native is None else native.ids_in_order(entries)
    if ids is not None:
        return _numbers_of(ids)
    ordered = map(entries.__getitem__, in_order(entries))
    return [entry if isinstance(entry, int) else entry.inode_id for entry in ordered]


def _numbers_of(data: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(data)
    return numbers


class _Looks(dict[int, Look]):
    """What files look like, by what a row has of it; those with a policy are not asked for."""

    def __init__(self, files: FileTable, permission: Callable[[str, str, int], int]) -> None:
        self._files = files
        self._permission = permission

    def __missing__(self, mark: int) -> Look:
        traits = self._files.traits[mark >> 1]
        look = self[mark] = Look(
            self._permission(traits.owner, traits.group, traits.mode),
            traits.replication,
            traits.block_size_bytes,
            0,
        )
        return look


class _Marks(dict[Look, int]):
    """What rows have of looks."""

    def __init__(self, files: FileTable, permission: Permission) -> None:
        self._files = files
        self._permission = permission

    def __missing__(self, look: Look) -> int:
        owner, group, mode = self._permission(look.permission)
        wrong = limits.wrong_file(look.replication, look.block_size_bytes, look.storage_policy_id)
        if wrong is not None:
            raise Impossible(wrong)
        traits = Traits(owner, group, mode & MODE_MASK, look.replication, look.block_size_bytes)
        mark = self[look] = self._files.number_of(traits) << 1 | 1
        return mark
