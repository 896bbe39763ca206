"""Snapshots from the records of an image (pure; `images.snapshots` writes them).

Hadoop's `FSImageFormatPBSnapshot.Loader`. Differences become links and versions. An
entry in the created list of a difference was born right behind that snapshot, and one in
its deleted list died there: no snapshot shows the moment more precisely.
"""

from __future__ import annotations

import logging
from typing import Final

from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageReader
from howdah.namenode.state.images.rows import Impossible, add_block, check_block
from howdah.namenode.state.inodes import limits
from howdah.namenode.state.inodes.directory import MODE_MASK
from howdah.namenode.state.inodes.inode_features import UNLIMITED, Quota
from howdah.namenode.state.inodes.inodes import BlockState, Directory, File, INode
from howdah.namenode.state.snapshots.snapshot_model import ATTRIBUTES
from howdah.namenode.state.snapshots.snapshots import (
    NOW,
    DeadLink,
    Snapshot,
    Snapshottable,
    Version,
)
from howdah.namenode.state.tree.namespace import Namespace

log = logging.getLogger(__name__)


class RestoredSnapshots:
    """Brings what an image has of snapshots into a namespace."""

    def __init__(self, namespace: Namespace, reader: ImageReader) -> None:
        self._namespace = namespace
        self._snapshots = namespace.snapshots
        self._reader = reader
        self._references: Final = list(reader.references())

    def reference(self, number: int) -> rec.ReferenceRecord:
        if not 0 <= number < len(self._references):
            raise Impossible(f"it has no reference {number}")
        return self._references[number]

    def referred(self, number: int) -> int:
        """The inode of a reference."""
        return self.inode(self.reference(number).inode_id).inode_id

    def inode(self, inode_id: int | None) -> INode:
        inode = None if inode_id is None else self._namespace.inodes.get(inode_id)
        if inode is None:
            raise Impossible(f"a snapshot has inode {inode_id}, which is not there")
        return inode

    def restore(self) -> None:
        """The tree has been built; the rest follows."""
        record = self._reader.snapshots()
        snapshots = self._snapshots
        if not 0 <= record.counter < NOW:
            raise Impossible(f"its next snapshot would have the id {record.counter}")
        snapshots.next_id = record.counter
        having = {listed.root.inode_id for listed in record.snapshots}
        for inode_id in record.snapshottable_ids:
            if inode_id not in having and not self._is_in_tree(inode_id):
                log.warning(
                    "the image lists inode %d as snapshottable, which was deleted and has no "
                    "snapshots: it is left out",
                    inode_id,
                )
                continue
            directory = self._directory(inode_id)
            snapshots.roots[inode_id] = Snapshottable(directory)
        roots = {}
        for listed in sorted(record.snapshots, key=lambda listed: listed.snapshot_id):
            root = snapshots.roots.get(listed.root.inode_id)
            is_id = 0 <= listed.snapshot_id < record.counter
            if root is None or not is_id or listed.snapshot_id in roots:
                raise Impossible(f"it has a snapshot {listed.snapshot_id} that cannot be")
            root.snapshots.append(
                Snapshot(listed.snapshot_id, listed.root.name, root.directory, listed.root.mtime_ms)
            )
            snapshots.count += 1
            roots[listed.snapshot_id] = listed.root
        for diffs in self._reader.snapshot_diffs() or ():
            self._check_ids(diffs, roots.keys())
            inode = self.inode(diffs.inode_id)
            if isinstance(inode, File) and not diffs.is_directory:
                self._restore_file(inode, diffs)
            elif isinstance(inode, Directory) and diffs.is_directory:
                self._restore_directory(inode, diffs, roots)
            else:
                raise Impossible(f"inode {diffs.inode_id} is not what its differences are of")
        for links in snapshots.dead_of.values():
            links.sort(key=lambda link: link.death)
            if links[-1].inode.parent is None:
                links[-1].inode.name = links[-1].name

    def _is_in_tree(self, inode_id: int) -> bool:
        inode = self._namespace.inodes.get(inode_id)
        return inode is not None and self._namespace.is_attached(inode)

    def _directory(self, inode_id: int) -> Directory:
        inode = self.inode(inode_id)
        if not isinstance(inode, Directory):
            raise Impossible(f"inode {inode_id} is snapshottable and no directory")
        return inode

    @staticmethod
    def _check_ids(diffs: rec.InodeDiffsRecord, known: object) -> None:
        ids = [diff.snapshot_id for diff in diffs.diffs]
        if ids != sorted(set(ids), reverse=True) or not set(ids) <= set(known):  # type: ignore[call-overload]
            raise Impossible(f"inode {diffs.inode_id} has differences under the ids {ids}")

    # Files.

    def _restore_file(self, file: File, diffs: rec.InodeDiffsRecord) -> None:
        blocks = self._namespace.blocks
        later = tuple(file.block_ids)
        state: Version | None = None
        versions = []
        for diff in diffs.diffs:
            assert isinstance(diff, rec.FileDiffRecord), diff
            states = diff.block_states or [BlockState.COMPLETE] * len(diff.blocks)
            for listed, number in zip(diff.blocks, states, strict=True):
                check_block(listed)
                if listed.block_id not in blocks:
                    add_block(blocks, file, listed, _block_state(number))
            if diff.blocks:
                later = tuple(listed.block_id for listed in diff.blocks)
            version = Version(file, diff.snapshot_id)
            copy = diff.copy
            if copy is not None:
                wrong = limits.wrong_file(copy.replication, 0, copy.storage_policy_id)
                if wrong is not None:
                    raise Impossible(wrong)
                _set_attributes(version, copy)
                version.replication = (
                    file.replication if file.coding_policy_id else copy.replication
                )
            elif state is not None:
                version.as_of(state)
            if not 0 <= diff.size_bytes <= limits.MAX_NUMBER:
                raise Impossible(f"a file of a snapshot has {diff.size_bytes} bytes")
            version.length_bytes = diff.size_bytes
            version.block_ids = self._covering(later, diff.size_bytes)
            versions.append(version)
            state = version
        self._add_versions(file, versions)

    def _covering(self, block_ids: tuple[int, ...], length_bytes: int) -> tuple[int, ...]:
        """The first blocks, as far as the length goes. What a writer had just begun is
        no part of any snapshot."""
        count = 0
        while length_bytes > 0 and count < len(block_ids):
            length_bytes -= self._namespace.blocks[block_ids[count]].length_bytes
            count += 1
        return block_ids[:count]

    def _add_versions(self, inode: INode, versions: list[Version]) -> None:
        if not versions:
            return
        versions.reverse()
        self._snapshots.versions[inode.inode_id] = versions
        for version in versions:
            self._snapshots.note(version.last, inode)

    # Directories.

    def _restore_directory(
        self,
        directory: Directory,
        diffs: rec.InodeDiffsRecord,
        roots: dict[int, rec.DirectoryRecord],
    ) -> None:
        later: list[dict[str, DeadLink]] = []
        versions = []
        for diff in diffs.diffs:
            assert isinstance(diff, rec.DirectoryDiffRecord), diff
            copy = roots[diff.snapshot_id] if diff.is_snapshot_root else diff.copy
            if copy is not None:
                version = Version(directory, diff.snapshot_id)
                _set_attributes(version, copy)
                quota = Quota(
                    max(copy.namespace_quota, UNLIMITED),
                    max(copy.space_quota_bytes, UNLIMITED),
                    {kind: count for kind, count in copy.quotas_by_kind if count >= 0},
                )
                if quota.namespace == rec.ROOT_NAMESPACE_QUOTA:
                    quota.namespace = UNLIMITED
                version.quota = quota if quota.is_set else None
                versions.append(version)
            for data in diff.created_names:
                self._born(directory, _text(data), diff.snapshot_id + 1, later)
            died = {}
            for link in self._died(directory, diff):
                if link.name in died:
                    raise Impossible(f"{link.name!r} went twice from inode {directory.inode_id}")
                died[link.name] = link
                self._snapshots.add_dead(link)
            later.append(died)
        self._add_versions(directory, versions)

    def _born(
        self, directory: Directory, name: str, birth: int, later: list[dict[str, DeadLink]]
    ) -> None:
        """The entry of that name was made then; `later` is what went since, latest first."""
        for died in reversed(later):
            link = died.get(name)
            if link is not None:
                link.birth = birth
                return
        child = directory.child(name)
        if child is None:
            raise Impossible(f"{name!r} was made in inode {directory.inode_id} and is not there")
        self._snapshots.births[child.inode_id] = birth

    def _died(self, directory: Directory, diff: rec.DirectoryDiffRecord) -> list[DeadLink]:
        links = []
        last = diff.snapshot_id
        for inode_id in diff.deleted_ids:
            inode = self.inode(inode_id)
            links.append(DeadLink(directory, inode.name, inode, 0, last + 1, last, moved=False))
        for number in diff.deleted_references:
            reference = self.reference(number)
            inode = self.inode(reference.inode_id)
            name = inode.name if reference.name is None else _text(reference.name)
            moved = reference.last_snapshot_id is not None
            links.append(DeadLink(directory, name, inode, 0, last + 1, last, moved=moved))
        return links


def _set_attributes(version: Version, copy: rec.FileRecord | rec.DirectoryRecord) -> None:
    """Take over those that the image has: a directory's storage policy is an extended attribute."""
    for name in ATTRIBUTES:
        if hasattr(copy, name):
            setattr(version, name, getattr(copy, name))
    version.mode &= MODE_MASK


def _block_state(number: int) -> BlockState:
    try:
        return BlockState(number)
    except ValueError:
        raise Impossible(f"no block has the state {number}") from None


def _text(name: bytes) -> str:
    try:
        return name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise Impossible(f"the name {name!r} is not UTF-8") from None
