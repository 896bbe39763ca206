"""Snapshots: what a tree was, kept while the tree goes on (pure).

Ids of snapshots are one number that grows; what happens while the next id is N happens
in epoch N, and a snapshot shows its directory as it was when its id's epoch ended.

* A directory's entry is a link from a name to an inode. It is born in one epoch and
  dies in another, and snapshot S shows it if `birth <= S < death`. Links that are alive
  stand in the tree itself; here are the births of those that some snapshot must not
  show, and the dead links that some snapshot still shows. A rename ends one link and
  begins another one of the same inode.
* An inode's attributes and a file's blocks are kept as versions: before the first
  change that the newest snapshot must not see, a copy is made under that snapshot's id.
  Snapshot S sees the first version with an id of S or more, or what the inode has now.

So a snapshot is made in no time, and costs what changes after it. Where no directory is
snapshottable all tables are empty, and nobody asks them.

Which is the newest snapshot that shows an inode follows from the links by which it
hangs: the newest that shows the directory, if that is not older than the link. So it
need not be kept, and a rename of a large directory touches nothing below it.

When a snapshot goes, what was kept under its id goes over to the next older one that
needs it, if there is one. `by_snapshot` says what that is, so that nobody has to walk
the tree. Blocks and inodes go when no link is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from howdah.namenode.features import Quota
from howdah.namenode.inodes import Directory, File, INode
from howdah.storage.edits import AclEntry, XAttr

NONE: Final = -1
"""No snapshot; smaller than every id."""
NOW: Final = (1 << 31) - 2
"""The tree as it is; larger than every id. Hadoop's number for it."""
MAX_SNAPSHOT_ID: Final = (1 << 28) - 1


class Snapshot:
    """One snapshot of one directory. `mtime_ms`: when it was made, or given its name."""

    __slots__ = ("directory", "mtime_ms", "name", "snapshot_id")

    def __init__(self, snapshot_id: int, name: str, directory: Directory, mtime_ms: int) -> None:
        self.snapshot_id = snapshot_id
        self.name = name
        self.directory = directory
        self.mtime_ms = mtime_ms


class Snapshottable:
    """A directory of which snapshots may be made, and those that there are, by id."""

    __slots__ = ("directory", "snapshots")

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.snapshots: list[Snapshot] = []

    def named(self, name: str) -> Snapshot | None:
        return next((found for found in self.snapshots if found.name == name), None)

    def newest(self, below: int = NOW) -> int:
        """The newest with a smaller id."""
        for snapshot in reversed(self.snapshots):
            if snapshot.snapshot_id < below:
                return snapshot.snapshot_id
        return NONE

    def by_name(self) -> list[Snapshot]:
        """In the order of listings."""
        return sorted(self.snapshots, key=lambda snapshot: snapshot.name)


class DeadLink:
    """An entry of a directory that is no more, and that snapshots show.

    `last` is the newest of those.
    """

    __slots__ = ("birth", "death", "inode", "last", "name", "parent")

    def __init__(
        self, parent: Directory, name: str, inode: INode, birth: int, death: int, last: int
    ) -> None:
        self.parent = parent
        self.name = name
        self.inode = inode
        self.birth = birth
        self.death = death
        self.last = last

    def shows_in(self, snapshot_id: int) -> bool:
        return self.birth <= snapshot_id < self.death


def begun_blocks(file: File) -> tuple[int, ...]:
    """The ids of the file's blocks, but of those at its end of which nothing is known to
    be written: they are no part of any snapshot."""
    ids = tuple(file.block_ids)
    while ids and not file.table.blocks[ids[-1]].length_bytes:
        ids = ids[:-1]
    return ids


class Version:
    """An inode as it was for snapshot `last` and older ones, down to the version before."""

    __slots__ = (
        "acl",
        "atime_ms",
        "block_ids",
        "group",
        "last",
        "length_bytes",
        "mode",
        "mtime_ms",
        "owner",
        "quota",
        "replication",
        "storage_policy_id",
        "xattrs",
    )

    def __init__(self, inode: INode, last: int) -> None:
        self.last = last
        self.owner = inode.owner
        self.group = inode.group
        self.mode = inode.mode
        self.mtime_ms = inode.mtime_ms
        self.atime_ms = inode.atime_ms
        self.acl: tuple[AclEntry, ...] = inode.acl
        self.xattrs: tuple[XAttr, ...] = inode.xattrs
        self.storage_policy_id = inode.storage_policy_id
        self.quota: Quota | None = None
        self.replication = 0
        self.length_bytes = 0
        self.block_ids: tuple[int, ...] = ()
        if isinstance(inode, File):
            self.replication = inode.replication
            self.length_bytes = inode.length_bytes
            self.block_ids = begun_blocks(inode)
        elif isinstance(inode, Directory) and inode.quota is not None:
            bounds = inode.quota
            self.quota = Quota(bounds.namespace, bounds.space_bytes, dict(bounds.by_kind_bytes))

    def as_of(self, other: Version) -> None:
        """Take over the attributes."""
        self.owner = other.owner
        self.group = other.group
        self.mode = other.mode
        self.mtime_ms = other.mtime_ms
        self.atime_ms = other.atime_ms
        self.acl = other.acl
        self.xattrs = other.xattrs
        self.storage_policy_id = other.storage_policy_id
        self.replication = other.replication


class Snapshots:
    """The snapshots of one namespace, and all that is kept for them."""

    def __init__(self, drop_block: Callable[[int], None], end_lease: Callable[[int], None]) -> None:
        """`drop_block` is told of blocks that no file and no version has any more,
        `end_lease` of files that are in the tree no more."""
        self._drop_block = drop_block
        self._end_lease = end_lease
        self.next_id = 0
        """The id of the next snapshot: the epoch."""
        self.count = 0
        self.roots: Final[dict[int, Snapshottable]] = {}
        """The snapshottable directories, by inode id. Without any all else is empty."""
        self.births: Final[dict[int, int]] = {}
        """By inode id: when its live link was born, if an older snapshot shows the parent."""
        self.dead_of: Final[dict[int, list[DeadLink]]] = {}
        """By inode id: its dead links, oldest first."""
        self.dead_in: Final[dict[int, dict[str, list[DeadLink]]]] = {}
        """By directory and name: its dead links."""
        self.versions: Final[dict[int, list[Version]]] = {}
        """By inode id, oldest first."""
        self.by_snapshot: Final[dict[int, dict[int, INode]]] = {}
        """By snapshot: the inodes with a version, or a dead link, whose `last` it is."""
        self.copies: Final[dict[int, int]] = {}
        """By block: the one whose beginning it is to be a copy of. That one is in a snapshot
        and cannot be cut itself; it stays until the copy is made."""
        self._to_trim: list[INode] = []
        self._names: tuple[int, int, list[str]] | None = None

    def all(self) -> Iterator[Snapshot]:
        for root in self.roots.values():
            yield from root.snapshots

    def dead_inodes(self) -> Iterator[INode]:
        """What hangs in snapshots only, without what is below it."""
        for links in self.dead_of.values():
            inode = links[-1].inode
            if inode.parent is None:
                yield inode

    # Which snapshots show what.

    def newest(self, inode: INode, below: int = NOW) -> int:
        """The newest snapshot, among those with smaller ids, that shows the inode."""
        best = NONE
        youngest_link = 0
        node: INode | None = inode
        while node is not None:
            inode_id = node.inode_id
            root = self.roots.get(inode_id)
            if root is not None:
                found = root.newest(below)
                if found >= youngest_link:
                    best = max(best, found)
            for link in self.dead_of.get(inode_id, ()):
                found = self._newest_through(link, below)
                if found >= youngest_link:
                    best = max(best, found)
            youngest_link = max(youngest_link, self.births.get(inode_id, 0))
            node = node.parent
        return best

    def _newest_through(self, link: DeadLink, below: int) -> int:
        if link.last < below:
            return link.last
        found = self.newest(link.parent, min(below, link.death))
        return found if found >= link.birth else NONE

    def shows(self, inode: INode) -> bool:
        """True if some snapshot shows the inode, wherever."""
        return bool(self.count) and self.newest(inode) != NONE

    def version(self, inode: INode, snapshot_id: int) -> Version | None:
        """The inode as the snapshot sees it; None if that is as it is now."""
        for version in self.versions.get(inode.inode_id, ()):
            if version.last >= snapshot_id:
                return version
        return None

    def child(self, directory: Directory, name: str, snapshot_id: int) -> INode | None:
        """What the name stood for in a directory that the snapshot shows."""
        live = directory.children.get(name)
        if live is not None and self.births.get(live.inode_id, 0) <= snapshot_id:
            return live
        dead = self.dead_in.get(directory.inode_id)
        for link in dead.get(name, ()) if dead is not None else ():
            if link.shows_in(snapshot_id):
                return link.inode
        return None

    def names(self, directory: Directory, snapshot_id: int) -> list[str]:
        """The names in a directory that the snapshot shows, sorted. What a snapshot shows
        stays, and so the last answer is kept: listings come page by page."""
        known = self._names
        if known is not None and known[:2] == (directory.inode_id, snapshot_id):
            return known[2]
        births = self.births
        names = [
            name
            for name, child in directory.children.items()
            if births.get(child.inode_id, 0) <= snapshot_id
        ]
        for name, links in self.dead_in.get(directory.inode_id, {}).items():
            if any(link.shows_in(snapshot_id) for link in links):
                names.append(name)
        names.sort()
        self._names = (directory.inode_id, snapshot_id, names)
        return names

    # The tree changes.

    def keep(self, inode: INode) -> None:
        """The inode is about to change: its version is kept, if a snapshot sees it."""
        last = self.newest(inode)
        if last == NONE:
            return
        versions = self.versions.setdefault(inode.inode_id, [])
        if not versions or versions[-1].last < last:
            versions.append(Version(inode, last))
            self.note(last, inode)

    def note(self, snapshot_id: int, inode: INode) -> None:
        """Something of the inode is kept for that snapshot."""
        self.by_snapshot.setdefault(snapshot_id, {})[inode.inode_id] = inode

    def linked(self, inode: INode) -> None:
        """The inode has a new link, in its parent."""
        assert inode.parent is not None, "a link is in a directory"
        if self.newest(inode.parent) != NONE:
            self.births[inode.inode_id] = self.next_id

    def unlink(self, inode: INode) -> None:
        """The inode's link is about to die."""
        parent = inode.parent
        assert parent is not None, "a link is in a directory"
        birth = self.births.pop(inode.inode_id, 0)
        last = self.newest(parent)
        if last != NONE and last >= birth:
            link = DeadLink(parent, inode.name, inode, birth, self.next_id, last)
            self.add_dead(link)

    def add_dead(self, link: DeadLink) -> None:
        """Keep a dead link."""
        self.dead_of.setdefault(link.inode.inode_id, []).append(link)
        in_parent = self.dead_in.setdefault(link.parent.inode_id, {})
        in_parent.setdefault(link.name, []).append(link)
        self.note(link.last, link.inode)

    def _remove_dead(self, link: DeadLink) -> None:
        of_inode = self.dead_of[link.inode.inode_id]
        of_inode.remove(link)
        if not of_inode:
            del self.dead_of[link.inode.inode_id]
        in_parent = self.dead_in[link.parent.inode_id]
        in_parent[link.name].remove(link)
        if not in_parent[link.name]:
            del in_parent[link.name]
            if not in_parent:
                del self.dead_in[link.parent.inode_id]

    def stays(self, inode: INode) -> bool:
        """The inode is in the tree no more. True if a snapshot shows it all the same; then
        it goes by the name of its last link."""
        links = self.dead_of.get(inode.inode_id)
        if not links:
            return False
        inode.name = links[-1].name
        self._to_trim.append(inode)
        return True

    @property
    def must_trim(self) -> bool:
        return bool(self._to_trim)

    def trim(self, max_inodes: int) -> list[INode]:
        """Of what is in snapshots only: take out what is in none of them. The inodes that
        nothing shows any more; up to so many are looked at."""
        gone: list[INode] = []
        while self._to_trim and max_inodes > 0:
            max_inodes -= 1
            inode = self._to_trim.pop()
            newest = self.newest(inode)
            if newest == NONE:
                continue  # It is gone itself by now.
            if isinstance(inode, File):
                self._end_lease(inode.inode_id)
                self._trim_file(inode, newest)
                begun = begun_blocks(inode)
                dropped = inode.block_ids[len(begun) :]
                inode.block_ids = begun
                self._drop(inode, dropped)
            elif isinstance(inode, Directory):
                for child in list(inode.children.values()):
                    if self.births.get(child.inode_id, 0) > newest:
                        inode.remove(child)
                        self.births.pop(child.inode_id, None)
                        if not self.stays(child):
                            gone.append(child)
                    else:
                        self._to_trim.append(child)
        return gone

    def _trim_file(self, file: File, newest: int) -> None:
        versions = self.versions.get(file.inode_id)
        if not versions or versions[-1].last < newest:
            return
        kept = set(versions[-1].block_ids)
        blocks = {block.block_id: block for block in file.blocks}
        file.blocks = [blocks[i] for i in versions[-1].block_ids if i in blocks]
        self._drop(file, (block_id for block_id in blocks if block_id not in kept))

    def holds(self, file: File, block_id: int) -> bool:
        """True if a version of the file has the block."""
        versions = self.versions.get(file.inode_id, ())
        return any(block_id in version.block_ids for version in versions)

    def pins(self, file: File, block_id: int) -> bool:
        """True if the block must not grow: in a version of the file others follow it. (The
        last one of a version may, for its length is kept.)"""
        versions = self.versions.get(file.inode_id, ())
        return any(block_id in version.block_ids[:-1] for version in versions)

    def has_to_keep(self, file: File, block_id: int) -> bool:
        """True if the block, which the file has, stays if the file gets another one."""
        newest = self.newest(file)
        versions = self.versions.get(file.inode_id)
        if newest > (versions[-1].last if versions else NONE):
            return True
        return self.holds(file, block_id)

    def source_of(self, block_id: int) -> int | None:
        """The block of which that one is to be a copy."""
        return self.copies.get(block_id) if self.copies else None

    def copied(self, file: File) -> None:
        """The file's last block is no copy, or is one by now."""
        source = self.copies.pop(file.blocks[-1].block_id, None) if file.blocks else None
        if source is not None:
            self._drop(file, (source,))

    def _drop(self, file: File, block_ids: Iterable[int]) -> None:
        """Of these blocks, those go that the file has in no version."""
        live = {block.block_id for block in file.blocks}
        sources = self.copies.values() if self.copies else ()
        for block_id in block_ids:
            if block_id in live or block_id in sources or self.holds(file, block_id):
                continue
            self._drop_block(block_id)
            source = self.copies.pop(block_id, None)
            if source is not None:
                self._drop(file, (source,))

    def orphans(self, directory: Directory) -> Iterator[INode]:
        """The directory has no link left. Those of its children that nothing shows now."""
        for child in directory.children.values():
            if child.inode_id in self.dead_of:
                child.parent = None
                self.births.pop(child.inode_id, None)
                self.stays(child)
            else:
                yield child

    def forget(self, inode: INode) -> Iterator[INode]:
        """The inode has no link left. Those that it had the last links to."""
        inode_id = inode.inode_id
        self.births.pop(inode_id, None)
        self.roots.pop(inode_id, None)
        for version in self.versions.pop(inode_id, ()):
            self._forget_note(version.last, inode_id)
            for block_id in version.block_ids:
                self._drop_block(block_id)
        if isinstance(inode, File) and self.copies:
            for block in inode.blocks:
                source = self.copies.pop(block.block_id, None)
                if source is not None:
                    self._drop_block(source)
        if isinstance(inode, Directory):
            links = [link for some in self.dead_in.get(inode_id, {}).values() for link in some]
            for link in links:
                self._remove_dead(link)
                if link.inode.parent is None and not self.stays(link.inode):
                    self._forget_note(link.last, link.inode.inode_id)
                    yield link.inode

    def _forget_note(self, snapshot_id: int, inode_id: int) -> None:
        noted = self.by_snapshot.get(snapshot_id)
        if noted is not None:
            noted.pop(inode_id, None)

    # Snapshots come and go.

    def create(self, root: Snapshottable, name: str) -> Snapshot:
        snapshot = Snapshot(self.next_id, name, root.directory, root.directory.mtime_ms)
        root.snapshots.append(snapshot)
        self.next_id += 1
        self.count += 1
        return snapshot

    def delete(self, root: Snapshottable, snapshot: Snapshot) -> list[INode]:
        """Give up what only this snapshot shows. The inodes that nothing shows any more."""
        root.snapshots.remove(snapshot)
        self.count -= 1
        self._names = None
        noted = self.by_snapshot.pop(snapshot.snapshot_id, {})
        gone = []
        for inode in noted.values():
            self._hand_down(inode, snapshot.snapshot_id)
            if inode.parent is None and inode.inode_id not in self.roots and not self.stays(inode):
                gone.append(inode)
        if not self.count:
            self.births.clear()
        return gone

    def _hand_down(self, inode: INode, snapshot_id: int) -> None:
        """What is kept for that snapshot is kept for an older one, if it has to be."""
        for link in list(self.dead_of.get(inode.inode_id, ())):
            if link.last == snapshot_id:
                older = self._newest_through(link, snapshot_id)
                if older == NONE:
                    self._remove_dead(link)
                else:
                    link.last = older
                    self.note(older, inode)
        versions = self.versions.get(inode.inode_id, [])
        at = next((i for i, found in enumerate(versions) if found.last == snapshot_id), None)
        if at is None:
            return
        older = self.newest(inode, snapshot_id)
        if older > (versions[at - 1].last if at else NONE):
            versions[at].last = older
            self.note(older, inode)
            return
        dropped = versions.pop(at)
        if not versions:
            del self.versions[inode.inode_id]
        if isinstance(inode, File):
            self._drop(inode, dropped.block_ids)
