"""The counts of quotas follow the edits (pure; see `quotas`).

Part of Hadoop's `DirectoryWithQuotaFeature` and `FSDirectory.updateCount`. An edit
changes what the paths that it names use: their entries, and what snapshots keep of
entries that the edit removed. When a snapshot is deleted, or inodes are freed that only
snapshots had, `changing` encloses each inode of which less is kept afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from howdah.formats.edits import edits
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Directory, File, INode, Inodes
from howdah.namenode.state.snapshots.snapshots import DeadLink, Snapshots
from howdah.namenode.state.tree.quotas import Usage, add_by_kind
from howdah.namenode.state.tree.usage import Measuring

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


@dataclass(frozen=True, slots=True)
class Noted:
    """What a path took before an edit, and how many dead entries had its name."""

    path: str
    parent: INode
    usage: Usage
    dead: int
    then: Usage | None = None
    """What it takes after the edit, where that is known before."""


class Tally:
    """Counts for the directories with bounds, whose inode ids are in `directories`."""

    def __init__(self, find: Find, snapshots: Snapshots, measuring: Measuring) -> None:
        self._find = find
        self._snapshots = snapshots
        self._measuring = measuring
        self.directories: set[int] = set()

    def before(self, edit: edits.Edit) -> list[Noted]:
        """Return what the edit's paths take that lie below a bound."""
        if isinstance(edit, edits.RenameOp | edits.RenameOldOp):
            return self._before_move(edit.src, edit.dst)
        noted = [self._note(path) for path in _paths_of(edit)]
        return [one for one in noted if one is not None]

    def _before_move(self, src: str, dst: str) -> list[Noted]:
        """The same of a move. What moves may have millions of files below it: it takes there what
        it took here, and nothing is new to bounds that are above both places."""
        inode, parent = self._find(src), self._find(dst.rpartition("/")[0])
        source = None if inode is None else inode.parent
        if inode is None or source is None or parent is None:
            return []  # The edit does not fit.
        is_same = self._is_placed_alike(inode, source, parent)
        stays = is_same and self._nearest(source) is self._nearest(parent)
        if stays and not self._snapshots.leaves_link(inode):
            old = self._note(dst, then=Usage())
            return [] if old is None else [old]
        here = self._note(src)
        then = None
        if is_same and self._is_bounded(parent):
            then = self._usage(src) if here is None else here.usage
        there = self._note(dst, then=then)
        return [one for one in (here, there) if one is not None]

    def _note(self, path: str, then: Usage | None = None) -> Noted | None:
        parent = self._find(path.rpartition("/")[0])
        if parent is None or not self._is_bounded(parent):
            return None
        return Noted(path, parent, self._usage(path), len(self._dead(parent, path)), then)

    def _is_placed_alike(self, inode: INode, *above: INode) -> bool:
        """Whether its blocks belong on the same types of storage in all of these directories."""
        if storage_policies.own_id(inode):
            return True
        ids = {self._measuring.policy_id(directory) for directory in above}
        return len({storage_policies.POLICIES.get(i, storage_policies.HOT) for i in ids}) == 1

    def would_take(self, inode: INode, parent: Directory) -> Usage:
        """What the inode, and all below it, would take in that directory."""
        source = inode.parent
        if source is not None and self._is_placed_alike(inode, source, parent):
            return self._of(inode)
        return self._measuring.of_subtree(inode, parent)

    def after(self, noted: list[Noted]) -> None:
        """The edit was applied: bring the counts up to date."""
        for before in noted:
            change = Usage()
            change.add(self._usage(before.path) if before.then is None else before.then)
            for link in self._dead(before.parent, before.path)[before.dead :]:
                change.add(self._measuring.of_link(link))
            change.add(before.usage, -1)
            self._charge(before.parent, change)

    def _usage(self, path: str) -> Usage:
        inode = self._find(path)
        return Usage() if inode is None else self._of(inode)

    def _of(self, inode: INode) -> Usage:
        """What it takes, with all below it. Of what has bounds that is counted already."""
        quota = inode.quota if isinstance(inode, Directory) else None
        if quota is None:
            return self._measuring.of_subtree(inode)
        return Usage(quota.used_names, quota.used_bytes, dict(quota.used_by_kind_bytes))

    def _dead(self, parent: INode, path: str) -> list[DeadLink]:
        dead_in = self._snapshots.dead_in
        if not dead_in:
            return []
        return dead_in.get(parent.inode_id, {}).get(path.rpartition("/")[2], [])

    @contextmanager
    def changing(self, inode: INode, *, goes: bool = False) -> Iterator[None]:
        """What snapshots keep of the inode becomes less meanwhile; with `goes` it may be
        taken out of its directory, which only snapshots have."""
        if not self.directories:
            yield
            return
        before = self._shares(inode, goes)
        yield
        for holder, usage in self._shares(inode, goes):
            self._charge(holder, usage)
        for holder, usage in before:
            self._charge(holder, usage, -1)

    @contextmanager
    def changing_moved(self, links: Sequence[DeadLink]) -> Iterator[None]:
        """Entries that were moved away show less meanwhile, or are kept no more."""
        if not self.directories:
            yield
            return
        for link in links:
            if self._is_bounded(link.parent):
                self._charge(link.parent, self._measuring.of_link(link), -1)
        yield
        for link in links:
            kept = link in self._snapshots.dead_of.get(link.inode.inode_id, ())
            if kept and self._is_bounded(link.parent):
                self._charge(link.parent, self._measuring.of_link(link))

    def _shares(self, inode: INode, goes: bool) -> list[tuple[Directory, Usage]]:
        """What it takes of which directories. Of a directory that stays in its place it is
        not asked: nothing below it changes with it."""
        links = self._snapshots.dead_of.get(inode.inode_id, ())
        shares = [
            (link.parent, self._measuring.of_link(link))
            for link in links
            if self._is_bounded(link.parent)
        ]
        parent = inode.parent
        if parent is not None and (goes or isinstance(inode, File)) and self._is_bounded(parent):
            shares.append((parent, self._measuring.of_subtree(inode)))
        return shares

    def _bounded(self, inode: INode | None) -> Iterator[Quota]:
        """The bounds of the directory and those above it, also where only snapshots have
        it."""
        while inode is not None:
            if isinstance(inode, Directory) and inode.quota is not None:
                yield inode.quota
            inode = self._snapshots.holder(inode)

    def _nearest(self, inode: INode) -> Quota | None:
        return next(self._bounded(inode), None)

    def _is_bounded(self, inode: INode) -> bool:
        return self._nearest(inode) is not None

    def _charge(self, parent: INode, change: Usage, sign: int = 1) -> None:
        """Something in `parent` takes so much more (or less)."""
        for quota in self._bounded(parent):
            quota.used_names += sign * change.names
            quota.used_bytes += sign * change.space_bytes
            add_by_kind(quota.used_by_kind_bytes, change.by_kind_bytes, sign)

    def count(self, directory: Directory, quota: Quota) -> None:
        """Bring what is used of its bounds up to date, by looking at everything below."""
        usage = self._measuring.of_subtree(directory)
        quota.used_names = usage.names
        quota.used_bytes = usage.space_bytes
        quota.used_by_kind_bytes = usage.by_kind_bytes

    def moved(self, inodes: Inodes, inode: INode, policy_id: int) -> None:
        """The inode is elsewhere now, and `policy_id` was the policy above it. Under another
        one its blocks are of other kinds, also for the bounds that went with it."""
        above = self._snapshots.holder(inode)
        if above is not None and self._measuring.policy_id(above) != policy_id:
            self._count_below(inodes, inode)

    @contextmanager
    def changing_policy(self, inodes: Inodes, inode: INode) -> Iterator[None]:
        """The inode gets another policy of its own meanwhile. Nothing else is counted anew: there
        may be millions of files in other directories that have bounds."""
        if not self.directories:
            yield
            return
        links = [
            link
            for link in self._moved_with(inode)
            if not self._is_at_or_below(link.parent, inode) and self._is_bounded(link.parent)
        ]
        above = self._snapshots.holder(inode)
        if above is not None and not self._is_bounded(above):
            above = None
        self._charge_policy(inode, above, links, -1)
        yield
        self._charge_policy(inode, above, links, 1)
        if isinstance(inode, Directory):
            self._count_below(inodes, inode)

    def _charge_policy(
        self, inode: INode, above: INode | None, links: Sequence[DeadLink], sign: int
    ) -> None:
        if above is not None:
            self._charge(above, self._measuring.of_subtree(inode), sign)
        for link in links:
            self._charge(link.parent, self._measuring.of_link(link), sign)

    def _moved_with(self, inode: INode) -> list[DeadLink]:
        """The entries, no more there, with which snapshots show the inode elsewhere: of itself, or
        of a directory in which it is or was."""
        dead_of = self._snapshots.dead_of
        if not dead_of:
            return []
        found: list[DeadLink] = []
        todo, seen = [inode], {inode.inode_id}
        while todo:
            node = todo.pop()
            links = dead_of.get(node.inode_id, ())
            found += [link for link in links if link.moved]
            for holder in (node.parent, *(link.parent for link in links)):
                if holder is not None and holder.inode_id not in seen:
                    seen.add(holder.inode_id)
                    todo.append(holder)
        return found

    def _count_below(self, inodes: Inodes, top: INode) -> None:
        for inode_id in self.directories:
            directory = inodes.directories[inode_id]
            if directory.quota is not None and self._is_at_or_below(directory, top):
                self.count(directory, directory.quota)

    def _is_at_or_below(self, directory: INode, top: INode) -> bool:
        node: INode | None = directory
        while node is not None and node is not top:
            node = self._snapshots.holder(node)
        return node is top

    def count_all(self, inodes: Inodes) -> None:
        """Count everything anew, as after a start from an image."""
        self.directories.clear()
        for directory in inodes.directories.values():
            if directory.quota is not None:
                self.directories.add(directory.inode_id)
                self.count(directory, directory.quota)


def _paths_of(edit: edits.Edit) -> tuple[str, ...]:
    if isinstance(edit, _BY_PATH):
        return (edit.path,)
    if isinstance(edit, edits.ConcatDeleteOp):
        return edit.target, *edit.sources
    return ()
