"""A path, once the tree has been walked along it (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.namenode.state.inodes.inodes import File, INode


@dataclass(slots=True, init=False)
class Resolved:
    """A path and what the tree has along it; `trail[0]` is the root.

    Every call makes one: it is not frozen, and has an `__init__` of its own, for the reasons that
    `rpc.call.Call` gives.
    """

    path: str
    components: list[str]
    trail: list[INode | None]
    in_snapshot: bool
    """The trail leads into a snapshot; from there on it consists of views."""

    def __init__(
        self,
        path: str,
        components: list[str],
        trail: list[INode | None],
        in_snapshot: bool = False,
    ) -> None:
        self.path = path
        self.components = components
        self.trail = trail
        self.in_snapshot = in_snapshot

    @property
    def inode(self) -> INode | None:
        return self.trail[-1]

    @property
    def parent(self) -> INode | None:
        return self.trail[-2] if len(self.trail) > 1 else None

    @property
    def last_existing(self) -> INode:
        for inode in reversed(self.trail):
            if inode is not None:
                return inode
        raise AssertionError("the root always exists")

    def require(self, words: str = "File does not exist: {}") -> INode:
        """What is there. Raises PathNotFound if that is nothing, in the words that Hadoop has for
        the call."""
        inode = self.trail[-1]
        if inode is None:
            raise errors.PathNotFound(words.format(self.path))
        return inode

    def require_file(self) -> File:
        """The file that is there. Raises PathNotFound if it is none."""
        inode = self.require()
        if not isinstance(inode, File):
            raise errors.PathNotFound(f"Path is not a file: {self.path}")
        return inode
