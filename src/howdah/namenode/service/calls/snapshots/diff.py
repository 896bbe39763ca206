"""getSnapshotDiffReport and getSnapshotDiffReportListing: compare two states (pure).

Part of Hadoop's `FSDirSnapshotOp`. A report has all differences at once. A listing comes
in pages, which the client puts together. The differences between two snapshots never
change, so the last comparison is kept, and a page continues where the one before ended.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from howdah import errors
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.calls.snapshots.changes import snapshot_path
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.snapshots.diff import (
    SLICE_INODES,
    Gone,
    Made,
    Modified,
    Reported,
    SnapshotDiff,
    report,
)
from howdah.namenode.state.snapshots.snapshots import NOW, Snapshottable
from howdah.protocol.rpc.call import Caller

Entry = tuple[Modified, Made | Gone | None]
"""What is modified; and of a directory what was made in it or went, one by one."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a listing; `next_index` is -1 behind the last."""

    entries: list[Entry]
    next_index: int
    is_from_earlier: bool


class SnapshotDiffCalls:
    """Comparisons of states."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._kept: tuple[tuple[int, int, int], list[Modified]] | None = None

    def report(
        self, caller: Caller, path: str, old: str, new: str
    ) -> Generator[None, None, list[Reported]]:
        """What is to be done to the state `old` to come to `new`; an empty name is the
        tree as it is."""
        modified, is_from_earlier = yield from self._compare(caller, path, old, new)
        return report(modified, forward=is_from_earlier)

    def page(
        self, caller: Caller, path: str, old: str, new: str, index: int
    ) -> Generator[None, None, Page]:
        """The entries from `index` on; -1 is the first."""
        modified, is_from_earlier = yield from self._compare(caller, path, old, new)
        entries: list[Entry] = []
        for one in modified:
            entries.append((one, None))
            entries += [(one, made) for made in one.made]
            entries += [(one, gone) for gone in one.gone]
        first = max(index, 0)
        limit = self._namesystem.settings.snapshot_diff_listing_limit
        end = first + (limit if limit > 0 else 1000)
        return Page(entries[first:end], end if end < len(entries) else -1, is_from_earlier)

    def _compare(
        self, caller: Caller, path: str, old: str, new: str
    ) -> Generator[None, None, tuple[list[Modified], bool]]:
        namesystem = self._namesystem
        _, resolved = namesystem.resolver.resolve_to_change(caller, path)
        if resolved.inode is None:
            raise errors.PathNotFound(f"Directory does not exist: {resolved.path}")
        if not isinstance(resolved.inode, Directory):
            raise errors.PathIsNotDirectory(f"`{resolved.path}': Is not a directory")
        is_root = resolved.inode is namesystem.namespace.root
        if (
            is_root
            and old == new
            and resolved.inode.inode_id not in namesystem.namespace.snapshots.roots
        ):
            return [], True  # As of every directory that may have snapshots.
        root = self._root_of(resolved.path, resolved.inode)
        from_id, to_id = (self._state(root, name) for name in (old, new))
        if from_id == to_id:
            return [], True
        yield from self._check_readable(caller, resolved.path, root, old, new)
        earlier, later = sorted((from_id, to_id))
        key = (resolved.inode.inode_id, earlier, later)
        if self._kept is not None and self._kept[0] == key:
            return self._kept[1], from_id < to_id
        diff = SnapshotDiff(namesystem.namespace.snapshots, resolved.inode, earlier, later)
        modified = yield from diff.modified()
        self._kept = (key, modified) if later != NOW else None
        return modified, from_id < to_id

    def _root_of(self, path: str, directory: Directory) -> Snapshottable:
        roots = self._namesystem.namespace.snapshots.roots
        root = roots.get(directory.inode_id)
        if root is not None:
            return root
        if not self._namesystem.settings.snapshot_diff_below_root:
            raise errors.SnapshotError(f"Directory is not a snapshottable directory: {path}")
        node: INode | None = directory
        while node is not None:
            if node.inode_id in roots:
                return roots[node.inode_id]
            node = node.parent
        raise errors.SnapshotError(
            f"The path {path} is neither snapshottable nor under a snapshot root!"
        )

    @staticmethod
    def _state(root: Snapshottable, name: str) -> int:
        if not name:
            return NOW
        snapshot = root.named(name)
        if snapshot is None:
            raise errors.SnapshotError(
                f"Cannot find the snapshot of directory {root.directory.path} with name {name}"
            )
        return snapshot.snapshot_id

    def _check_readable(
        self, caller: Caller, path: str, root: Snapshottable, *names: str
    ) -> Generator[None, None, None]:
        """Who compares must be able to read both; the superuser is. In slices: there may be
        millions of entries."""
        namesystem = self._namesystem
        top = root.directory.path
        for name in names:
            where = path
            if name:
                below = path[len(top.rstrip("/")) :]
                where = snapshot_path(top, name) + below
            who, resolved = namesystem.resolver.resolve_checked(caller, where)
            if who.is_superuser or not namesystem.permissions.enabled:
                return
            known = namesystem.namespace.inodes.directories
            stack = [resolved.inode] if isinstance(resolved.inode, Directory) else []
            work = 0
            while stack:
                inode = stack.pop()
                namesystem.permissions.check(who, inode, Access.READ)
                stack += inode.subdirectories()
                # Entries that are files take a hundredth of the time.
                entries = known[inode.inode_id].entries if inode.inode_id in known else ()
                work += 100 + len(entries)
                if work >= 100 * SLICE_INODES:
                    work = 0
                    yield
