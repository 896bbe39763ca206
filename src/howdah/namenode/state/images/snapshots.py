"""Snapshots to the records of an image (pure; `restored_snapshots` is the way back).

Hadoop's `FSImageFormatPBSnapshot.Saver`. Hadoop keeps a list of differences with each
inode that changed: under the id of a snapshot the changes between it and the next one of
the list. So links and versions become lists here. A difference of a directory has

* the names of entries that were created: the next state has them, this one has not
* the inodes that were deleted: this state has them, the next one has not
* the attributes, if there is a version under that id

References name an inode with several links. That of the last link says from which
snapshot on it counts; those before have a name, and the last snapshot that shows it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from howdah.formats.image import records as rec
from howdah.formats.image.name_order import in_order
from howdah.namenode.state.inodes.file_blocks import edit_blocks
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Block, BlockState, Directory, File, INode
from howdah.namenode.state.snapshots.snapshot_model import attributes_of
from howdah.namenode.state.snapshots.snapshots import NONE, NOW, DeadLink, Snapshot, Version
from howdah.namenode.state.tree.namespace import Namespace
from howdah.namenode.state.tree.snapshot_views import quota_then

_NO_QUOTA: Final = Quota()


def _attributes(kind: type[rec.InodeRecord], state: INode | Version) -> dict[str, Any]:
    """Those that such a record has: a directory's storage policy is an extended attribute."""
    names = kind.__dataclass_fields__
    return {name: value for name, value in attributes_of(state).items() if name in names}


class SnapshotRecords:
    """The records of one namespace, in which nothing waits to be reaped.

    References are numbered in the order in which they are asked for.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._snapshots = namespace.snapshots
        self.references: Final[list[rec.ReferenceRecord]] = []

    # Links.

    @property
    def has_references(self) -> bool:
        """True if any entry of a directory may need one."""
        return bool(self._snapshots.dead_of)

    def live_reference(self, inode_id: int, parent: Directory) -> int | None:
        """The reference for an entry of the tree; None if it needs none."""
        if inode_id not in self._snapshots.dead_of:
            return None
        birth = self._snapshots.births.get(inode_id, 0)
        return self._last_link(inode_id, parent, birth)

    def _last_link(self, inode_id: int, parent: Directory, birth: int) -> int:
        before = self._snapshots.newest(parent, birth)
        self.references.append(
            rec.ReferenceRecord(inode_id, destination_snapshot_id=NOW if before == NONE else before)
        )
        return len(self.references) - 1

    def _dead_reference(self, link: DeadLink) -> int | None:
        if not link.moved:
            if len(self._snapshots.dead_of[link.inode.inode_id]) == 1:
                return None
            return self._last_link(link.inode.inode_id, link.parent, link.birth)
        self.references.append(
            rec.ReferenceRecord(
                link.inode.inode_id, name=_bytes(link.name), last_snapshot_id=link.last
            )
        )
        return len(self.references) - 1

    # Sections.

    def snapshots(self) -> rec.SnapshotsRecord:
        roots = self._snapshots.roots
        return rec.SnapshotsRecord(
            self._snapshots.next_id,
            tuple(roots),
            tuple(
                rec.SnapshotRecord(snapshot.snapshot_id, self._root_record(snapshot))
                for root in roots.values()
                for snapshot in _in_byte_order(root.snapshots)
            ),
        )

    def _root_record(self, snapshot: Snapshot) -> rec.DirectoryRecord:
        directory = snapshot.directory
        version = self._snapshots.version(directory, snapshot.snapshot_id)
        record = self._directory_copy(directory, version, snapshot.snapshot_id)
        record.name = snapshot.name
        record.mtime_ms = snapshot.mtime_ms
        return record

    def _directory_copy(
        self, directory: Directory, version: Version | None, snapshot_id: int
    ) -> rec.DirectoryRecord:
        state = directory if version is None else version
        quota = quota_then(self._snapshots, directory, snapshot_id) or _NO_QUOTA
        return rec.DirectoryRecord(
            inode_id=directory.inode_id,
            name=directory.name,
            namespace_quota=quota.namespace,
            space_quota_bytes=quota.space_bytes,
            quotas_by_kind=tuple(sorted(quota.by_kind_bytes.items())),
            **_attributes(rec.DirectoryRecord, state),
        )

    def diffs(self, parts: Iterable[INode | array[int]]) -> Iterator[rec.InodeDiffsRecord]:
        """Yield the diffs of all those inodes that have some; files may be given by their ids."""
        for inode in chain.from_iterable(map(self._inodes, parts)):
            diffs: tuple[rec.FileDiffRecord, ...] | tuple[rec.DirectoryDiffRecord, ...] = ()
            if isinstance(inode, File):
                if inode.inode_id in self._snapshots.versions:
                    diffs = tuple(self._file_diffs(inode))
            elif isinstance(inode, Directory) and self._snapshots.newest(inode) != NONE:
                diffs = tuple(self._directory_diffs(inode))
            if diffs:
                yield rec.InodeDiffsRecord(inode.inode_id, isinstance(inode, Directory), diffs)

    def _inodes(self, part: INode | array[int]) -> Iterable[INode]:
        """Return the inodes, without files that have no versions."""
        if not isinstance(part, array):
            return [part]
        versions = self._snapshots.versions
        return [self._namespace.inodes[inode_id] for inode_id in part if inode_id in versions]

    # Differences.

    def _file_diffs(self, file: File) -> Iterator[rec.FileDiffRecord]:
        later = tuple(file.block_ids)
        for version in reversed(self._snapshots.versions[file.inode_id]):
            blocks: list[Block] = []
            count = len(version.block_ids)
            if version.block_ids != later[:count] or (
                count < len(later) and self._lacks_bytes(version)
            ):
                later = version.block_ids
                blocks = list(map(self._namespace.blocks.__getitem__, later))
            states = tuple(block.logged_state for block in blocks)
            yield rec.FileDiffRecord(
                version.last,
                version.length_bytes,
                _bytes(file.name),
                rec.FileRecord(
                    inode_id=file.inode_id,
                    name=file.name,
                    replication=version.replication,
                    block_size_bytes=file.block_size_bytes,
                    erasure_coding_policy_id=file.coding_policy_id or None,
                    **_attributes(rec.FileRecord, version),
                ),
                edit_blocks(blocks),
                () if all(state is BlockState.COMPLETE for state in states) else states,
            )

    def _lacks_bytes(self, version: Version) -> bool:
        """Return whether the blocks of the version are shorter than the file was in the snapshot,
        as after a recovery that lost bytes. A reader of the image gives a version as many blocks as
        its length takes: without a list it would get blocks that were written later."""
        known = self._namespace.blocks
        return (
            sum(known[block_id].length_bytes for block_id in version.block_ids)
            < version.length_bytes
        )

    def _directory_diffs(self, directory: Directory) -> Iterator[rec.DirectoryDiffRecord]:
        snapshots = self._snapshots
        dead = [
            link
            for links in snapshots.dead_in.get(directory.inode_id, {}).values()
            for link in links
        ]
        births = snapshots.births
        born = {
            name: births[inode_id]
            for name, entry in directory.entries.items()
            if (inode_id := entry if isinstance(entry, int) else entry.inode_id) in births
        }
        epochs = {*born.values(), *(link.birth for link in dead), *(link.death for link in dead)}
        kept = snapshots.versions.get(directory.inode_id, ())
        versions = {version.last: version for version in kept}
        root = snapshots.roots.get(directory.inode_id)
        own = {snapshot.snapshot_id for snapshot in root.snapshots} if root is not None else set()
        tags = {snapshots.newest(directory, epoch) for epoch in epochs} - {NONE}
        tags |= versions.keys() | own
        always = len(directory.entries) - len(born)
        following = NOW
        for tag in sorted(tags, reverse=True):
            created = [name for name, birth in born.items() if tag < birth <= following]
            created += [link.name for link in dead if tag < link.birth <= following < link.death]
            deleted = [link for link in dead if link.shows_in(tag) and link.death <= following]
            references = [(link, self._dead_reference(link)) for link in deleted]
            then = sum(birth <= tag for birth in born.values())
            version = versions.get(tag)
            copies = version is not None and tag not in own
            yield rec.DirectoryDiffRecord(
                tag,
                always + then + sum(link.shows_in(tag) for link in dead),
                tag in own,
                _bytes(directory.name) if copies else None,
                self._directory_copy(directory, version, tag) if copies else None,
                tuple(_bytes(name) for name in in_order(sorted(created))),
                tuple(link.inode.inode_id for link, number in references if number is None),
                tuple(number for _, number in references if number is not None),
            )
            following = tag


def _in_byte_order(snapshots: list[Snapshot]) -> list[Snapshot]:
    by_name = {snapshot.name: snapshot for snapshot in snapshots}
    return [by_name[name] for name in in_order(sorted(by_name))]


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
