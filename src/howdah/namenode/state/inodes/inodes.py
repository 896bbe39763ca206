"""The parts of the tree: directories, files, symbolic links and their blocks.

Hadoop's `INodeDirectory`, `INodeFile`, `INodeSymlink` and `INodeMap`. They are the values
of one namespace, in memory (FS-025). Only edits change them, through `namespace`. A
file's blocks have no locations (FS-024); the block map in `blocks` has those, from the
reports of datanodes.

Directories and links are objects. Files and blocks, of which there are a hundred times
as many, are rows of tables (`files`, `block_table`), shown as objects.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Final

from howdah.namenode.state.inodes.block_table import Block, BlockState
from howdah.namenode.state.inodes.directory import (
    DIRECTORY_DEFAULT_MODE,
    MODE_MASK,
    ROOT_INODE_ID,
    STICKY_BIT,
    Children,
    Directory,
    INode,
    Symlink,
    mode_string,
    permission_string,
)
from howdah.namenode.state.inodes.file_table import Traits
from howdah.namenode.state.inodes.files import File, adopt, table_of
from howdah.namenode.state.inodes.paths import DOT_SNAPSHOT

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
    "inherits_from",
    "mode_string",
    "permission_string",
]

LAST_RESERVED_BLOCK_ID: Final = 1 << 30
LAST_RESERVED_GENERATION_STAMP: Final = 1000


def inherits_from(inode: INode) -> INode | None:
    """Return the directory whose policies count where `inode` has none: the one that it is in.
    A snapshot stands where its directory does, and is not below that as it is now."""
    above = inode.parent
    if above is not None and above.name == DOT_SNAPSHOT and above.parent is not None:
        return above.parent.parent
    return above


class Inodes(MutableMapping[int, INode]):
    """Holds all inodes by id, to be used like a dictionary. Those that are given an id here come
    under `files`, or are kept."""

    __slots__ = ("directories", "files", "links")

    def __init__(self) -> None:
        self.directories: Final[dict[int, Directory]] = {}
        self.links: Final[dict[int, Symlink]] = {}
        self.files: Final = table_of(self.directories)

    def __getitem__(self, inode_id: int) -> INode:
        inode = self.get(inode_id)
        if inode is None:
            raise KeyError(inode_id)
        return inode

    # Nobody asks for another default, and the mapping's own `get` would raise and catch.
    def get(self, inode_id: int, default: None = None) -> INode | None:  # type: ignore[override]
        return (
            self.files.get(inode_id) or self.directories.get(inode_id) or self.links.get(inode_id)
        )

    def __setitem__(self, inode_id: int, inode: INode) -> None:
        assert inode_id == inode.inode_id, inode
        if isinstance(inode, File):
            adopt(self.files, inode)
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
