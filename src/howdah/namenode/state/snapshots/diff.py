"""What changed between two states of a tree: snapshots, or one and the tree now (pure).

Hadoop's `SnapshotDiffInfo` and `DirectorySnapshottableFeature.computeDiff`. The report
walks the tree of the earlier state and compares the entries of every directory, by
links. An entry that belongs to another inode now was deleted, and created again. An
entry that is gone, and whose inode is elsewhere below the same directory, was renamed. A
directory is modified if its entries or attributes differ, a file if its attributes,
length or blocks do. Times do not count.

Paths are those of the earlier state, below the directory that is compared.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from howdah.formats.image.name_order import in_order
from howdah.namenode.state.inodes.inodes import Directory, File, INode
from howdah.namenode.state.snapshots.snapshot_model import ATTRIBUTES
from howdah.namenode.state.snapshots.snapshots import Snapshots, begun_blocks

SLICE_INODES: Final = 1000
_ENTRIES_PER_INODE: Final = 20
"""Entries that have not changed take as long as one that has."""
_COMPARED: Final = tuple([name for name in ATTRIBUTES if name not in ("mtime_ms", "atime_ms")])

Path = tuple[str, ...]
_Way = tuple[str, "_Way"] | None
"""Names from above, the first one first."""


@dataclass(frozen=True, slots=True)
class Made:
    """An entry that the later state has."""

    path: Path
    inode_id: int
    is_moved: bool


@dataclass(frozen=True, slots=True)
class Gone:
    """An entry that the earlier state has; `target` is where its inode is later."""

    path: Path
    inode_id: int
    target: Path | None


@dataclass(frozen=True, slots=True)
class Modified:
    """A directory or a file that is not what it was."""

    path: Path
    inode_id: int
    is_directory: bool
    made: tuple[Made, ...] = ()
    gone: tuple[Gone, ...] = ()


@dataclass(frozen=True, slots=True)
class Reported:
    """One line of a report: `M`, `+`, `-`, or `R` with a target."""

    label: str
    path: Path
    target: Path | None = None


class SnapshotDiff:
    """One comparison; `later` may be `NOW`."""

    def __init__(self, snapshots: Snapshots, top: Directory, earlier: int, later: int) -> None:
        self._snapshots = snapshots
        self._top = top
        self._earlier = earlier
        self._later = later

    def modified(self) -> Generator[None, None, list[Modified]]:
        """Return all that is modified, a directory before what is in it; in slices."""
        modified: list[Modified] = []
        todo: list[tuple[Path, INode]] = []
        if self._path_at(self._top, self._earlier) is not None:
            todo.append(((), self._top))
        work = 0
        while todo:
            path, inode = todo.pop()
            work += _ENTRIES_PER_INODE
            if isinstance(inode, Directory):
                work += len(inode.entries)
            if work >= SLICE_INODES * _ENTRIES_PER_INODE:
                work = 0
                yield
            if isinstance(inode, Directory):
                todo += reversed(self._directory(path, inode, modified))
            elif isinstance(inode, File) and self._attributes_changed(inode):
                modified.append(Modified(path, inode.inode_id, False))
        return modified

    def _directory(
        self, path: Path, directory: Directory, modified: list[Modified]
    ) -> list[tuple[Path, INode]]:
        """Note how it changed; return what of the earlier state is to be looked at next."""
        snapshots, births = self._snapshots, self._snapshots.births
        made: dict[str, INode] = {}
        gone: dict[str, INode] = {}
        stayed: dict[str, INode] = {}
        for name, entry in directory.entries.items():
            inode_id = entry if isinstance(entry, int) else entry.inode_id
            birth = births.get(inode_id, 0)
            if birth <= self._earlier:
                if not isinstance(entry, int):
                    stayed[name] = entry
                elif inode_id in snapshots.versions:
                    stayed[name] = directory.file(entry)
            elif birth <= self._later:
                made[name] = directory.file(entry) if isinstance(entry, int) else entry
        for name, links in snapshots.dead_in.get(directory.inode_id, {}).items():
            for link in links:
                then, later = link.shows_in(self._earlier), link.shows_in(self._later)
                if then and later:
                    stayed[name] = link.inode
                elif then:
                    gone[name] = link.inode
                elif later:
                    made[name] = link.inode
        targets = {name: self._target(inode) for name, inode in gone.items()}
        if made or gone or self._attributes_changed(directory):
            modified.append(
                Modified(
                    path,
                    directory.inode_id,
                    True,
                    tuple(
                        Made(
                            (*path, name),
                            made[name].inode_id,
                            made[name].inode_id in snapshots.dead_of,
                        )
                        for name in in_order(made)
                    ),
                    tuple(
                        Gone((*path, name), gone[name].inode_id, targets[name])
                        for name in in_order(gone)
                    ),
                )
            )
        stayed.update({name: inode for name, inode in gone.items() if targets[name] is not None})
        return [((*path, name), stayed[name]) for name in in_order(stayed)]

    def _target(self, inode: INode) -> Path | None:
        path = self._path_at(inode, self._later)
        return path or None

    def _path_at(self, inode: INode, snapshot_id: int) -> Path | None:
        """Where the inode was, below the directory; None if not there.

        A link in a directory that the snapshot does not show may look as if it were shown:
        nobody needs its birth. So a link counts only if the way up from it leads here.
        """
        births = self._snapshots.births
        todo: list[tuple[INode, _Way]] = [(inode, None)]
        seen = set()
        while todo:
            node, way = todo.pop()
            if node == self._top:
                return _names(way)
            if node.inode_id in seen:
                continue
            seen.add(node.inode_id)
            if node.parent is not None and births.get(node.inode_id, 0) <= snapshot_id:
                todo.append((node.parent, (node.name, way)))
            todo += [
                (link.parent, (link.name, way))
                for link in self._snapshots.dead_of.get(node.inode_id, ())
                if link.shows_in(snapshot_id)
            ]
        return None

    # What an inode is.

    def _attributes(self, inode: INode, snapshot_id: int) -> tuple[object, ...]:
        version = self._snapshots.version(inode, snapshot_id)
        state = inode if version is None else version
        common = tuple([getattr(state, name) for name in _COMPARED])
        if isinstance(inode, File):
            if version is None:
                blocks = begun_blocks(inode)
                return *common, inode.replication, inode.length_bytes, blocks
            return *common, version.replication, version.length_bytes, version.block_ids
        if isinstance(inode, Directory):
            quota = inode.quota if version is None else version.quota
            if quota is not None:
                return *common, quota.namespace, quota.space_bytes, dict(quota.by_kind_bytes)
        return common

    def _attributes_changed(self, inode: INode) -> bool:
        if inode.inode_id not in self._snapshots.versions:
            return False
        then = self._attributes(inode, self._earlier)
        return then != self._attributes(inode, self._later)


def report(modified: list[Modified], *, forward: bool) -> list[Reported]:
    """Return the modifications as a list of lines; with `forward` False from the later state to the
    earlier one."""
    moved = {
        gone.inode_id for change in modified for gone in change.gone if gone.target is not None
    }
    lines = []
    for change in sorted(modified, key=lambda one: [name.encode() for name in one.path]):
        lines.append(Reported("M", change.path))
        lines += [
            Reported("+" if forward else "-", made.path)
            for made in change.made
            if made.inode_id not in moved
        ]
        for gone in change.gone:
            if gone.target is None:
                lines.append(Reported("-" if forward else "+", gone.path))
            elif forward:
                lines.append(Reported("R", gone.path, gone.target))
            else:
                lines.append(Reported("R", gone.target, gone.path))
    return lines


def _names(way: _Way) -> Path:
    names = []
    while way is not None:
        name, way = way
        names.append(name)
    return tuple(names)
