"""Paths whose blocks a storage policy satisfier is to move, and which it is told of next (pure).

Hadoop's `StoragePolicySatisfyManager` and `FSDirSatisfyStoragePolicyOp`.

A path is marked by an extended attribute of its inode, which edits set and remove. So the
marks are in the log and in images, and a start, a standby and a live call have the same.
Which marks were handed out is in no log:

1. Every mark waits until a satisfier has asked for it, in the order in which they were set.
2. A namenode that starts, or becomes active, knows of no satisfier: all marks wait.
3. A satisfier takes the mark off when all is in its place. One that was killed could not: so
   a satisfier that was not heard before is told of all marks. (Hadoop tells each mark once;
   what a killed satisfier was told is forgotten until the namenode starts again.)

Marks of inodes that only snapshots have are kept, and never handed out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from howdah.namenode.state.inodes import xattrs
from howdah.namenode.state.inodes.inodes import INode, Inodes


class SatisfierQueue:
    """Of one namespace. Its size is bounded by the inodes that have the attribute."""

    def __init__(self) -> None:
        # Dictionaries keep an order.
        self._all: dict[int, None] = {}
        self._waiting: dict[int, None] = {}
        self._told: bytes = b""
        self.retired: deque[int] = deque()
        """Of which the mark is to be taken off, because no satisfier may run any more."""

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, inode_id: object) -> bool:
        return inode_id in self._all

    @property
    def waiting(self) -> int:
        """How many were not handed out yet."""
        return len(self._waiting)

    # What edits do.

    def follow(self, inode: INode, *, again: bool = True) -> None:
        """The attributes of an inode were changed. With `again` the mark was set just now, and
        waits, though it may have been handed out before."""
        inode_id = inode.inode_id
        if not xattrs.is_marked(inode.xattrs):
            self.discard(inode_id)
        elif again or inode_id not in self._all:
            self._all[inode_id] = None
            self._waiting[inode_id] = None

    def discard(self, inode_id: int) -> None:
        """The mark, or the inode, is there no more."""
        if self._all:
            self._all.pop(inode_id, None)
            self._waiting.pop(inode_id, None)

    def find_all(self, inodes: Inodes) -> None:
        """Those that a namespace from an image has."""
        self._all = {
            inode_id: None
            for inode_id, features in inodes.files.features.items()
            if features.xattrs and xattrs.is_marked(features.xattrs)
        }
        for directory in inodes.directories.values():
            if directory.xattrs and xattrs.is_marked(directory.xattrs):
                self._all[directory.inode_id] = None
        self.start_over()

    # What a satisfier asks.

    def start_over(self) -> None:
        """Nothing was handed out."""
        self._waiting = dict(self._all)
        self._told = b""
        self.retired.clear()

    def next(self, asks: bytes, is_there: Callable[[int], bool]) -> int | None:
        """The inode id of the next mark for a satisfier with the client id `asks`; None if it
        was told of all. `is_there` says of an id whether paths lead to the inode."""
        if asks != self._told:
            # Those that waited come first, so that two who ask in turn pass none over.
            self._waiting = {**self._waiting, **self._all}
            self._told = asks
        while self._waiting:
            inode_id = next(iter(self._waiting))
            del self._waiting[inode_id]
            if is_there(inode_id):
                return inode_id
        return None

    def retire(self) -> None:
        """No satisfier may run any more: the marks that wait are to be taken off."""
        self.retired.extend(self._waiting)
        self._waiting.clear()
