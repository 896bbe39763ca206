"""Snapshots: earlier states of the tree, kept while it changes (pure).

Hadoop's `SnapshotManager` and `DirectoryWithSnapshotFeature`, with another representation.

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

So a snapshot takes no time to make, and costs what changes after it. Where no directory is
snapshottable all tables are empty, and are not used.

Which is the newest snapshot that shows an inode follows from the links by which it
hangs: the newest that shows the directory, if that is not older than the link. So it
need not be kept, and a rename of a large directory touches nothing below it.

When a snapshot is deleted, the next older one that needs them inherits the versions and
links under its id. `by_snapshot` is an index of these, so no walk of the tree is needed.
Blocks and inodes are freed when no link is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from howdah.namenode.state.inodes.inodes import ROOT_INODE_ID, Directory, File, INode
from howdah.namenode.state.snapshots.snapshot_model import (
    MAX_SNAPSHOT_ID,
    NONE,
    NOW,
    DeadLink,
    Snapshot,
    Snapshottable,
    Version,
    begun_blocks,
)

__all__ = [
    "MAX_SNAPSHOT_ID",
    "NONE",
    "NOW",
    "DeadLink",
    "Snapshot",
    "Snapshots",
    "Snapshottable",
    "Version",
    "begun_blocks",
]


class Changing(Protocol):
    """Around a change after which less is kept of an inode."""

    def __call__(self, inode: INode, *, goes: bool = False) -> AbstractContextManager[None]: ...


class Moving(Protocol):
    """Around a change of what is kept of entries that were moved away. Each takes what it
    shows, and one may show another: so all are counted before any of them changes."""

    def __call__(self, links: Sequence[DeadLink]) -> AbstractContextManager[None]: ...


def _uncounted(inode: INode, *, goes: bool = False) -> AbstractContextManager[None]:
    return nullcontext()


def _uncounted_links(links: Sequence[DeadLink]) -> AbstractContextManager[None]:
    return nullcontext()


class Snapshots:
    """Keeps the snapshots of one namespace, and all that is kept for them."""

    def __init__(
        self,
        drop_block: Callable[[int], None],
        end_lease: Callable[[int], None],
        keeps_less: Callable[[File], None],
    ) -> None:
        """`drop_block` is called with blocks that no file and no version has any more,
        `end_lease` with files that are in the tree no more, `keeps_less` with files of which
        less is kept than before, so that their blocks may have to have fewer replicas."""
        self._drop_block = drop_block
        self._end_lease = end_lease
        self._keeps_less = keeps_less
        self.changing: Changing = _uncounted
        self.changing_moved: Moving = _uncounted_links
        """Quotas have to hear of both; see `tally`."""
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
        """By block: the one whose beginning it is to be a copy of. That one cannot be cut itself,
        since a snapshot has it or since Hadoop has cut the file while it was being upgraded; it
        stays until the copy is made."""
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

    def newest(self, inode: INode, below: int = NOW, since: int = 0) -> int:
        """Return the newest snapshot that shows the inode, among those with smaller ids than
        `below`, and none that is smaller than `since`.

        A directory may be in one that was in it before. At any one time none is in itself: so
        who goes along links goes on as long as there is a time in which all of them were alive,
        and comes to an end.
        """
        best = NONE
        todo: list[tuple[INode, int, int]] = [(inode, below, since)]
        while todo:
            start, below, since = todo.pop()
            node: INode | None = start
            while node is not None and since < below:
                inode_id = node.inode_id
                root = self.roots.get(inode_id)
                if root is not None:
                    newest = root.newest(below)
                    if newest >= since:
                        best = max(best, newest)
                for link in self.dead_of.get(inode_id, ()):
                    if link.last >= below:
                        todo.append((link.parent, min(below, link.death), max(since, link.birth)))
                    elif link.last >= since:
                        best = max(best, link.last)
                since = max(since, self.births.get(inode_id, 0))
                node = node.parent
        return best

    def _newest_through(self, link: DeadLink, below: int) -> int:
        if link.last < below:
            return link.last
        return self.newest(link.parent, min(below, link.death), link.birth)

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

    def children(self, directory: Directory, snapshot_id: int) -> Iterator[INode]:
        """What was in a directory that the snapshot shows."""
        births = self.births
        for child in directory.children.values():
            if births.get(child.inode_id, 0) <= snapshot_id:
                yield child
        for links in self.dead_in.get(directory.inode_id, {}).values():
            for link in links:
                if link.shows_in(snapshot_id):
                    yield link.inode

    def holder(self, inode: INode) -> Directory | None:
        """The directory in which the inode is, or in which it was when it was deleted."""
        if inode.parent is not None or not self.dead_of:
            return inode.parent
        links = self.dead_of.get(inode.inode_id)
        return links[-1].parent if links and not links[-1].moved else None

    def shown_in(self, inode: INode) -> Directory | None:
        """Of an inode that is in no directory: the one in which a snapshot showed it last."""
        links = self.dead_of.get(inode.inode_id)
        return links[-1].parent if links else None

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

    def preserve(self, inode: INode) -> None:
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

    def leaves_link(self, inode: INode) -> bool:
        """True if a snapshot shows the inode's entry, and will when that is gone."""
        if not self.count or inode.parent is None:
            return False
        last = self.newest(inode.parent)
        return last != NONE and last >= self.births.get(inode.inode_id, 0)

    def unlink(self, inode: INode, *, moved: bool) -> None:
        """The inode's link is about to die."""
        parent = inode.parent
        assert parent is not None, "a link is in a directory"
        birth = self.births.pop(inode.inode_id, 0)
        last = self.newest(parent)
        if last != NONE and last >= birth:
            link = DeadLink(parent, inode.name, inode, birth, self.next_id, last, moved=moved)
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
        # It may have been snapshottable, at another place than the one that is shown. Without
        # snapshots of its own, or it could not have been deleted.
        self.roots.pop(inode.inode_id, None)
        self._to_trim.append(inode)
        return True

    @property
    def must_trim(self) -> bool:
        return bool(self._to_trim)

    def trim(self) -> list[INode]:
        """Of what is in snapshots only: take out what is in none of them. The inodes that
        nothing shows any more."""
        gone: list[INode] = []
        while self._to_trim:
            inode = self._to_trim.pop()
            newest = self.newest(inode)
            if newest == NONE:
                continue  # It is gone itself by now.
            if isinstance(inode, File):
                self._end_lease(inode.inode_id)
                with self.changing(inode):
                    self._trim_file(inode)
            elif isinstance(inode, Directory):
                gone += self._trim_directory(inode, newest)
        return gone

    def _trim_directory(self, directory: Directory, newest: int) -> list[INode]:
        gone: list[INode] = []
        files = directory.files
        for entry in directory.contents():
            if isinstance(entry, int):
                assert files is not None, "only a table's files are entered by their ids"
                if not (
                    entry in self.births or entry in self.versions or entry in files.block_lists
                ):
                    measure = files.measure(entry)
                    if measure is not None and measure[1]:
                        # Of most files nothing is to be trimmed: they are closed, have not
                        # changed, and their only block has bytes.
                        continue
            child = files[entry] if files is not None and isinstance(entry, int) else entry
            assert isinstance(child, INode), child
            if self.births.get(child.inode_id, 0) > newest:
                with self.changing(child, goes=True):
                    directory.remove(child)
                self.births.pop(child.inode_id, None)
                if not self.stays(child):
                    gone.append(child)
            else:
                self._to_trim.append(child)
        return gone

    def _trim_file(self, file: File) -> None:
        versions = self.versions.get(file.inode_id)
        if versions:
            # Hadoop takes what is behind the last version for what nobody needs.
            self.preserve(file)
            file.replication = versions[-1].replication
            had = file.block_ids
            file.block_ids = [i for i in versions[-1].block_ids if i in had]
            self._drop(file, set(had).difference(versions[-1].block_ids))
        begun = begun_blocks(file)
        dropped = file.block_ids[len(begun) :]
        file.block_ids = begun
        self._drop(file, dropped)
        if versions:
            self._keeps_less(file)

    def all_block_ids(self, file: File) -> set[int]:
        """Of the blocks that the file has now or in a version."""
        versions = self.versions.get(file.inode_id, ())
        kept = (block_id for version in versions for block_id in version.block_ids)
        return {*file.block_ids, *kept}

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

    def cut_off_shown(self, directory: Directory) -> None:
        """The directory has no link left. Those of its children that a snapshot shows by
        another link are in it no more."""
        if not self.dead_of:
            return
        for entry in directory.contents():
            inode_id = entry if isinstance(entry, int) else entry.inode_id
            if inode_id in self.dead_of:
                child = directory.file(entry) if isinstance(entry, int) else entry
                directory.remove(child)
                self.births.pop(inode_id, None)
                self.stays(child)

    def noted_files(self, directory: Directory) -> set[int]:
        """The ids of the files in it of which something is kept."""
        if not self.births and not self.versions and not self.copies:
            return set()
        ids = {entry for entry in directory.entries.values() if isinstance(entry, int)}
        noted = ids & self.births.keys() | ids & self.versions.keys()
        if self.copies:
            files = [file for i in ids if isinstance(file := directory.file(i), File)]
            noted |= {f.inode_id for f in files if self.copies.keys() & set(f.block_ids[-1:])}
        return noted

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
        # Links first: what they take is what they show, and that is in the versions.
        links = [link for i in noted for link in self.dead_of.get(i, ())]
        moved = [link for link in links if link.moved and link.last == snapshot.snapshot_id]
        with self.changing_moved(moved):
            for link in moved:
                self._hand_down_link(link, snapshot.snapshot_id)
        for inode in noted.values():
            with self.changing(inode):
                for link in list(self.dead_of.get(inode.inode_id, ())):
                    if link.last == snapshot.snapshot_id:
                        self._hand_down_link(link, snapshot.snapshot_id)
        for inode in noted.values():
            with self.changing(inode):
                self._hand_down_version(inode, snapshot.snapshot_id)
            is_cut_off = inode.parent is None and inode.inode_id != ROOT_INODE_ID
            if is_cut_off and not self.stays(inode):
                gone.append(inode)
        if not self.count:
            self.births.clear()
        return gone

    def _hand_down_link(self, link: DeadLink, snapshot_id: int) -> None:
        """What is kept for that snapshot is kept for an older one, if it has to be."""
        older = self._newest_through(link, snapshot_id)
        if older == NONE:
            self._remove_dead(link)
        else:
            link.last = older
            self.note(older, link.inode)

    def _hand_down_version(self, inode: INode, snapshot_id: int) -> None:
        versions = self.versions.get(inode.inode_id, [])
        at = next((i for i, version in enumerate(versions) if version.last == snapshot_id), None)
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
            self._keeps_less(inode)
