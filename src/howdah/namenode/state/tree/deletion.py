"""What an edit takes off the tree, and what is freed of it (pure).

A huge tree is deleted in two parts:

1. `settle`, at the end of the edit: everything that anybody can see. The files' leases
   end; what a snapshot shows becomes what the snapshot shows; what is kept for snapshots of
   the rest, and counts for quotas, goes. This costs a look at each inode where snapshots
   are, and where there are none a look at the open files only.
2. `reap`, in slices, when others had their turn: the rest, which is memory, and the blocks,
   of which the block map hears one by one.

So it is the log that fixes what a deletion means: a replay, or a standby, has the same after
each edit, however far its reaping has come. The order in which blocks are freed is the
log's, too: one deletion after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable

from howdah.namenode.state.inodes.inodes import Directory, File, INode, Inodes
from howdah.namenode.state.snapshots.snapshots import Snapshots
from howdah.namenode.state.tree.leases import LeaseRegistry
from howdah.namenode.state.tree.quota_usage import Tally
from howdah.namenode.state.tree.satisfier_queue import SatisfierQueue


class Deletion:
    """Releases and reaps inodes that are in the tree no more."""

    def __init__(
        self,
        inodes: Inodes,
        snapshots: Snapshots,
        leases: LeaseRegistry,
        tally: Tally,
        marks: SatisfierQueue,
        truncations: dict[int, tuple[str, int]],
        free_block: Callable[[int], None],
    ) -> None:
        self._inodes = inodes
        self._snapshots = snapshots
        self._leases = leases
        self._tally = tally
        self._marks = marks
        self._truncations = truncations
        self._free_block = free_block
        self.reaped = 0
        """Inodes that were freed."""
        # Those that nothing shows any more, not settled yet; empty between edits.
        self._gone: deque[INode] = deque()
        # Those that are settled, each with all that is below it.
        self._unreaped: deque[INode] = deque()
        # The way down in the first of them that was begun.
        self._stack: list[INode] = []

    # While an edit is applied.

    def release(self, inodes: Iterable[INode]) -> None:
        """These have no link any more, neither in the tree nor in a snapshot."""
        self._gone.extend(inodes)

    def settle(self) -> None:
        """The edit is applied: what it took away is gone for everybody."""
        snapshots = self._snapshots
        while self._gone or snapshots.must_trim:
            self._gone.extend(snapshots.trim())
            if not self._gone:
                continue
            top = self._gone.popleft()
            # Copies outlast the last directory that may have snapshots.
            if snapshots.roots or snapshots.copies:
                self._leave_snapshots(top)
            elif isinstance(top, Directory):
                self._end_leases(top)
            else:
                self._leases.release(top.inode_id)
            self._unreaped.append(top)

    def _leave_snapshots(self, top: INode) -> None:
        """Take the inode and all below it out of the tables of snapshots and leases. What
        a snapshot shows by another link is cut off, and stays."""
        snapshots = self._snapshots
        stack = [top]
        while stack:
            node = stack.pop()
            self._gone.extend(snapshots.forget(node))
            if isinstance(node, Directory):
                snapshots.cut_off_shown(node)
                stack += node.subdirectories()
                noted = snapshots.noted_files(node) | self._leases.held_among(node.contents())
                stack += [node.file(inode_id) for inode_id in sorted(noted)]
            else:
                self._leases.release(node.inode_id)

    def _end_leases(self, top: Directory) -> None:
        """Of all files below. Either these are looked at, or all open files: whichever are
        fewer."""
        files_left = self._leases.open_files
        stack = [top]
        while stack and files_left > 0:
            directory = stack.pop()
            files_left -= len(directory.entries)
            if files_left >= 0:
                self._release(self._leases.held_among(directory.contents()))
                stack += directory.subdirectories()
        if stack or files_left < 0:
            self._release(self._open_below(top))

    def _open_below(self, top: Directory) -> list[int]:
        is_below: dict[int, bool] = {top.inode_id: True}
        open_ids = []
        for inode_id in self._leases.held():
            way: list[int] = []
            node: INode | None = self._inodes.get(inode_id)
            while node is not None and node.inode_id not in is_below:
                way.append(node.inode_id)
                node = node.parent
            below = node is not None and is_below[node.inode_id]
            is_below.update(dict.fromkeys(way, below))
            if below:
                open_ids.append(inode_id)
        return open_ids

    def _release(self, inode_ids: Collection[int]) -> None:
        for inode_id in sorted(inode_ids):
            self._leases.release(inode_id)

    # Afterwards.

    @property
    def must_reap(self) -> bool:
        """True while `reap` has work."""
        return bool(self._unreaped or self._stack)

    def reap(self, max_inodes: int) -> None:
        """Free up to so many inodes, with their blocks."""
        stack = self._stack
        while max_inodes > 0 and (stack or self._unreaped):
            if not stack:
                stack.append(self._unreaped.popleft())
            node = stack[-1]
            if isinstance(node, Directory) and node.entries:
                # One by one: there may be a million.
                stack.append(node.take_child())
                continue
            stack.pop()
            max_inodes -= 1
            self._tally.directories.discard(node.inode_id)
            self._marks.discard(node.inode_id)
            if isinstance(node, File):
                self._truncations.pop(node.inode_id, None)
                for block_id in node.block_ids:
                    self._free_block(block_id)
                node.block_ids = ()
            self._inodes.remove(node.inode_id)
            self.reaped += 1
