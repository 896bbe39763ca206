"""The parts of the tree: directories, files, symbolic links and their blocks.

Hadoop's `INodeDirectory`, `INodeFile`, `INodeSymlink` and `INodeMap`. They are the values
of one namespace, in memory (FS-025). Only edits change them, through `namespace`. A
file's blocks have no locations (FS-024); the block map in `blocks` has those, from the
reports of datanodes.

Directories and links are objects. Files and blocks, of which there are a hundred times
as many, are rows of tables (`files`, `block_table`), shown as objects.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Final

from howdah.namenode.inodes.block_table import Block, BlockState
from howdah.namenode.inodes.features import NO_FEATURES, Features, Quota
from howdah.namenode.inodes.files import File, FileTable, Traits
from howdah.namenode.inodes.inode import (
    DIRECTORY_DEFAULT_MODE,
    MODE_MASK,
    ROOT_INODE_ID,
    STICKY_BIT,
    INode,
)
from howdah.namenode.inodes.sorted_names import SortedNames

__all__ = [
    "DIRECTORY_DEFAULT_MODE",
    "LAST_RESERVED_BLOCK_ID",
    "LAST_RESERVED_GENERATION_STAMP",
    "MODE_MASK",
    "ROOT_INODE_ID",
    "STICKY_BIT",
    "Block",
    "BlockState",
    "Children",
    "Directory",
    "File",
    "INode",
    "Inodes",
    "Symlink",
    "Traits",
    "mode_string",
    "permission_string",
]

LAST_RESERVED_BLOCK_ID: Final = 1 << 30
LAST_RESERVED_GENERATION_STAMP: Final = 1000


class _Held(INode):
    """An inode that is an object."""

    __slots__ = (
        "atime_ms",
        "features",
        "group",
        "inode_id",
        "mode",
        "mtime_ms",
        "name",
        "owner",
        "parent",
    )

    def __init__(
        self, inode_id: int, name: str, owner: str, group: str, mode: int, mtime_ms: int
    ) -> None:
        self.inode_id = inode_id
        self.name = name
        # A log that is replayed brings each of them as a string of its own.
        self.owner = sys.intern(owner)
        self.group = sys.intern(group)
        self.mode = mode
        self.mtime_ms = mtime_ms
        self.atime_ms = 0
        self.parent: Directory | None = None
        self.features: Features = NO_FEATURES


class Directory(_Held):
    """Children by name. `sorted_names` is the order of listings: by UTF-8 bytes,
    which for Python's strings is the order of code points.

    `entries` has of a file its inode id only; `children` shows the file. `files` is the
    table of those files.
    """

    __slots__ = ("_sorted", "entries", "files")

    def __init__(
        self, inode_id: int, name: str, owner: str, group: str, mode: int, mtime_ms: int
    ) -> None:
        super().__init__(inode_id, name, owner, group, mode, mtime_ms)
        self.entries: dict[str, INode | int] = {}
        self.files: FileTable | None = None
        self._sorted: SortedNames | None = None

    @property
    def children(self) -> Children:
        return Children(self)

    @property
    def quota(self) -> Quota | None:
        """Bounds of what is below, with what is used of them; None if there are none."""
        return self.features.quota

    @quota.setter
    def quota(self, quota: Quota | None) -> None:
        self._set_feature("quota", quota)

    def child(self, name: str) -> INode | None:
        entry = self.entries.get(name)
        return self.file(entry) if entry.__class__ is int else entry  # type: ignore[return-value]

    def pick(self, names: Iterable[str]) -> list[INode | int]:
        """What has these names, files by their ids."""
        entries = self.entries
        return [entries[name] for name in names]

    def file(self, inode_id: int) -> File:
        """A file that is among the entries."""
        assert self.files is not None, "only a table's files are entered by their ids"
        return self.files[inode_id]

    def add(self, child: INode) -> None:
        name = child.name
        assert name not in self.entries, f"{name} stands already in {self.path}"
        is_row = isinstance(child, File) and child.table is self.files
        self.entries[name] = child.inode_id if is_row else child
        child.parent = self
        if self._sorted is not None:
            self._sorted.add(name)

    def remove(self, child: INode) -> None:
        del self.entries[child.name]
        child.parent = None
        if self._sorted is not None:
            self._sorted.remove(child.name)

    def contents(self) -> list[INode | int]:
        """What is in it, files by their ids."""
        return list(self.entries.values())

    def take_child(self) -> INode:
        """Any child, which is not among the entries from now on; it keeps its parent."""
        _, entry = self.entries.popitem()
        self._sorted = None
        return self.file(entry) if isinstance(entry, int) else entry

    def subdirectories(self) -> list[Directory]:
        return [entry for entry in self.entries.values() if isinstance(entry, Directory)]

    def sorted_names(self) -> list[str]:
        return sorted(self.entries) if self._sorted is None else list(self._sorted)

    def names_after(self, name: str, limit: int) -> tuple[list[str], int]:
        """A page of a listing: up to `limit` names behind `name`, and how many follow.

        From the first one on the names are kept in order.
        """
        if self._sorted is None:
            self._sorted = SortedNames(self.entries)
        return self._sorted.after(name, limit)

    def clear(self) -> None:
        """Nothing is in it any more."""
        self.entries.clear()
        self._sorted = None


class Children(Mapping[str, INode]):
    """What is in a directory, by name."""

    __slots__ = ("_directory",)

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __getitem__(self, name: str) -> INode:
        entry = self._directory.entries[name]
        return self._directory.file(entry) if isinstance(entry, int) else entry

    def get(self, name: str, default: None = None) -> INode | None:  # type: ignore[override]
        return self._directory.child(name)

    def __contains__(self, name: object) -> bool:
        return name in self._directory.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._directory.entries)

    def __len__(self) -> int:
        return len(self._directory.entries)

    def clear(self) -> None:
        self._directory.clear()


class Symlink(_Held):
    __slots__ = ("target",)

    def __init__(
        self,
        inode_id: int,
        name: str,
        owner: str,
        group: str,
        mode: int,
        mtime_ms: int,
        target: str,
    ) -> None:
        super().__init__(inode_id, name, owner, group, mode, mtime_ms)
        self.target = target


class Inodes(MutableMapping[int, INode]):
    """All inodes by id, to be used like a dictionary. Those that are given an id here
    come under `files`, or are kept."""

    __slots__ = ("directories", "files", "links")

    def __init__(self) -> None:
        self.directories: Final[dict[int, Directory]] = {}
        self.links: Final[dict[int, Symlink]] = {}
        self.files: Final = FileTable(self.directories)

    def __getitem__(self, inode_id: int) -> INode:
        found = self.get(inode_id)
        if found is None:
            raise KeyError(inode_id)
        return found

    def get(self, inode_id: int, default: None = None) -> INode | None:  # type: ignore[override]
        return (
            self.files.get(inode_id) or self.directories.get(inode_id) or self.links.get(inode_id)
        )

    def __setitem__(self, inode_id: int, inode: INode) -> None:
        assert inode_id == inode.inode_id, inode
        if isinstance(inode, File):
            self.files.adopt(inode)
        elif isinstance(inode, Directory):
            inode.files = self.files
            self.directories[inode_id] = inode
        else:
            assert isinstance(inode, Symlink), inode
            self.links[inode_id] = inode

    def __delitem__(self, inode_id: int) -> None:
        if not self.remove(inode_id):
            raise KeyError(inode_id)

    def remove(self, inode_id: int) -> bool:
        """Take one out; False if it is not there."""
        return (
            self.files.remove(inode_id)
            or self.directories.pop(inode_id, None) is not None
            or self.links.pop(inode_id, None) is not None
        )

    def __contains__(self, inode_id: object) -> bool:
        assert isinstance(inode_id, int), inode_id
        return inode_id in self.files.rows or inode_id in self.directories or inode_id in self.links

    def __len__(self) -> int:
        return self.files.rows.count + len(self.directories) + len(self.links)

    def __iter__(self) -> Iterator[int]:
        """They may come and go meanwhile."""
        yield from list(self.directories)
        yield from list(self.links)
        yield from self.files.rows


def mode_string(inode: INode) -> str:
    """As `ls` prints it: `drwxr-xr-x`, `-rw-r--r-T`."""
    kind = "d" if isinstance(inode, Directory) else "l" if isinstance(inode, Symlink) else "-"
    return kind + permission_string(inode.mode)


def permission_string(mode: int) -> str:
    """Nine letters, with the sticky bit as `t` or `T` in the last place."""
    letters = [
        letter if mode & (0o400 >> place) else "-" for place, letter in enumerate("rwxrwxrwx")
    ]
    if mode & STICKY_BIT:
        letters[8] = "t" if mode & 1 else "T"
    return "".join(letters)
