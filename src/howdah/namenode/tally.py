"""The counts of quotas move with the edits (pure; see `quotas`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah.namenode import quotas
from howdah.namenode.inodes import INode, Inodes
from howdah.namenode.quotas import Usage
from howdah.storage import edits

Find = Callable[[str], INode | None]

_BY_PATH: Final = (
    edits.AddOp,
    edits.CloseOp,
    edits.AddBlockOp,
    edits.UpdateBlocksOp,
    edits.AppendOp,
    edits.TruncateOp,
    edits.MkdirOp,
    edits.SymlinkOp,
    edits.DeleteOp,
    edits.SetReplicationOp,
)


class Tally:
    """Counts for the directories with bounds, whose inode ids are in `directories`."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self.directories: set[int] = set()

    def before(self, edit: edits.Edit) -> list[tuple[str, INode, Usage]]:
        """What the edit's paths take that lie below a bound."""
        found = []
        for path in _paths_of(edit):
            parent = self._find(path.rpartition("/")[0])
            if parent is not None and next(quotas.bounded(parent), None) is not None:
                found.append((path, parent, self._usage(path)))
        return found

    def after(self, noted: list[tuple[str, INode, Usage]]) -> None:
        """The edit was applied: bring the counts up to date."""
        for path, parent, before in noted:
            change = self._usage(path)
            change.add(before, -1)
            quotas.charge(parent, change)

    def _usage(self, path: str) -> Usage:
        inode = self._find(path)
        return Usage() if inode is None else quotas.of_subtree(inode)

    def count_all(self, inodes: Inodes) -> None:
        """Count everything anew, as after a start from an image."""
        self.directories.clear()
        for directory in inodes.directories.values():
            if directory.quota is not None:
                self.directories.add(directory.inode_id)
                quotas.count_anew(directory, directory.quota)


def _paths_of(edit: edits.Edit) -> tuple[str, ...]:
    if isinstance(edit, _BY_PATH):
        return (edit.path,)
    if isinstance(edit, edits.RenameOp | edits.RenameOldOp):
        return edit.src, edit.dst
    if isinstance(edit, edits.ConcatDeleteOp):
        return edit.target, *edit.sources
    return ()
