"""The namespace to the records of an image and back (pure).

Hadoop's `FSImageFormatProtobuf` and `FSImageFormatPBINode`. An image with content that
the namespace does not support is refused by name; see `_refuse_…`. Blocks get the states
that a replay of the log gives them (`Block.logged_state`). Hadoop's image does not say
them: where the state of a block is not the usual one of its place, fields of our own do,
which Hadoop skips. Usual are, in an open file, a last block under construction and committed
ones before it, and complete blocks everywhere else.

Deleted inodes that `Namespace.reap` has not freed yet are in no image.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import EditBlock
from howdah.formats.image import records as rec
from howdah.formats.image.columns import FileColumns
from howdah.formats.image.fsimage import ImageReader, ImageWriter
from howdah.formats.image.sections import Sink, Source
from howdah.namenode.state.images.restored_snapshots import RestoredSnapshots
from howdah.namenode.state.images.rows import (
    Filling,
    Gathering,
    Impossible,
    add_block,
    attached,
    check_block,
    children_in_order,
)
from howdah.namenode.state.images.snapshots import SnapshotRecords
from howdah.namenode.state.inodes import limits
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.inodes.directory import MODE_MASK
from howdah.namenode.state.inodes.file_blocks import edit_blocks
from howdah.namenode.state.inodes.inode_features import UNLIMITED, Quota
from howdah.namenode.state.inodes.inodes import (
    ROOT_INODE_ID,
    BlockState,
    Directory,
    File,
    INode,
    Symlink,
    Traits,
)
from howdah.namenode.state.tree.namespace import GROUP_REPLICATION, NO_GROUP_ID, Namespace

# What Hadoop writes for the block ids of a time that this namespace never had.
_LEGACY_GENERATION_STAMP: Final = 1000
_NO_LEGACY_BLOCKS: Final = 0
_NO_QUOTA: Final = Quota()


# Writing.


def write_image(
    namespace: Namespace,
    namespace_id: int,
    txid: int,
    sink: Sink,
    *,
    codec: str = "",
    go_on: Callable[[], None] = lambda: None,
) -> None:
    """Write the namespace as it is, which is as it was after transaction `txid`.

    `go_on` is called now and then, and may raise to give up. Raises
    UnsupportedOperation for a codec that is not there, CheckpointFailed for a namespace
    in which an edit failed halfway.
    """
    if namespace.failed_edit is not None:
        raise errors.CheckpointFailed(
            f"no image is written of a namespace in which an edit failed: {namespace.failed_edit}"
        )
    writer = ImageWriter(sink, codec=codec)
    writer.namesystem(
        rec.NamesystemRecord(
            namespace_id=namespace_id,
            legacy_generation_stamp=_LEGACY_GENERATION_STAMP,
            generation_stamp=namespace.generation_stamp,
            legacy_generation_stamp_limit=_NO_LEGACY_BLOCKS,
            last_block_id=namespace.last_block_id,
            txid=txid,
            last_striped_block_id=namespace.last_group_id,
            rolling_upgrade_start_ms=namespace.rolling_upgrade.start_ms,
        )
    )
    writer.erasure_coding(namespace.coding_policies.records())
    records = SnapshotRecords(namespace)
    count, directories = 0, list[Directory]()
    for part in attached(namespace, go_on):
        count += len(part) if isinstance(part, array) else 1
        if isinstance(part, Directory) and part.entries:
            directories.append(part)
    gathered = Gathering(namespace, writer.permission).inodes(go_on)
    writer.inodes(
        namespace.last_inode_id,
        count,
        (part if isinstance(part, FileColumns) else _record(namespace, part) for part in gathered),
    )
    writer.children(_children(directories, records, go_on))
    writer.open_files(
        rec.OpenFileRecord(inode_id, namespace.inodes[inode_id].path)
        for inode_id in namespace.leases.held()
        if inode_id in namespace.inodes and namespace.is_attached(namespace.inodes[inode_id])
    )
    writer.snapshots(
        records.snapshots(),
        records.diffs(attached(namespace, go_on)) if namespace.snapshots.count else None,
        records.references,
    )
    writer.secrets(namespace.tokens.record())
    writer.cache(namespace.caching.record())
    writer.finish()


def _children(
    directories: Iterable[Directory], records: SnapshotRecords, go_on: Callable[[], None]
) -> Iterator[rec.ChildrenRecord]:
    for node in directories:
        go_on()
        children = children_in_order(node.entries)
        if not records.has_references:
            yield rec.ChildrenRecord(node.inode_id, children)
            continue
        own: list[int] = []
        references: list[int] = []
        for inode_id in children:
            reference = records.live_reference(inode_id, node)
            if reference is None:
                own.append(inode_id)
            else:
                references.append(reference)
        yield rec.ChildrenRecord(node.inode_id, own, references)


def _record(namespace: Namespace, inode: INode) -> rec.InodeRecord:
    if isinstance(inode, File):
        last = inode.last_block
        source = None if last is None else namespace.snapshots.source_of(last.block_id)
        return rec.FileRecord(
            inode.inode_id,
            inode.name,
            inode.owner,
            inode.group,
            inode.mode,
            inode.mtime_ms,
            inode.atime_ms,
            inode.replication,
            inode.block_size_bytes,
            edit_blocks(inode.blocks),
            inode.storage_policy_id,
            inode.writer,
            inode.writer_machine,
            last is not None and last.truncating,
            None if source is None else edit_blocks([namespace.blocks[source]])[0],
            *_states(inode),
            inode.acl,
            inode.xattrs,
            inode.coding_policy_id or None,
        )
    if isinstance(inode, Directory):
        is_root = inode.inode_id == ROOT_INODE_ID
        quota = inode.quota or _NO_QUOTA
        names = quota.namespace
        if is_root and names == UNLIMITED:
            names = rec.ROOT_NAMESPACE_QUOTA
        return rec.DirectoryRecord(
            inode.inode_id,
            inode.name,
            inode.owner,
            inode.group,
            inode.mode,
            inode.mtime_ms,
            namespace_quota=names,
            space_quota_bytes=quota.space_bytes,
            quotas_by_kind=tuple(sorted(quota.by_kind_bytes.items())),
            acl=inode.acl,
            xattrs=inode.xattrs,
            atime_ms=inode.atime_ms,
        )
    assert isinstance(inode, Symlink), inode
    return rec.SymlinkRecord(
        inode.inode_id,
        inode.name,
        inode.owner,
        inode.group,
        inode.mode,
        inode.mtime_ms,
        inode.atime_ms,
        inode.target,
    )


def _states(file: File) -> tuple[int, bool]:
    """How many of an open file's first blocks are complete, and whether the last one is
    committed."""
    if file.writer is None:
        return 0, False
    states = [block.logged_state for block in file.blocks]
    complete = sum(1 for _ in takewhile(BlockState.COMPLETE.__eq__, states))
    return complete, bool(states) and states[-1] is BlockState.COMMITTED


# Reading.


def read_image(
    source: Source, name: str, began: Callable[[Namespace, int], None] = lambda *_: None
) -> tuple[Namespace, rec.NamesystemRecord]:
    """Read a namespace from an image, and the image's counters.

    `began` is told of the namespace, while it is empty, and of the inodes that are to come.
    Raises CorruptImage for what cannot be, UnsupportedOperation for what the
    namespace does not know, IncorrectVersion.
    """
    reader = ImageReader(source, name)
    counters = reader.namesystem()
    _refuse_in_image(counters, name)
    _check_counters(counters, name)
    namespace = Namespace()
    namespace.generation_stamp = counters.generation_stamp
    namespace.last_block_id = counters.last_block_id
    namespace.rolling_upgrade.start_ms = counters.rolling_upgrade_start_ms
    if counters.last_striped_block_id is not None:
        namespace.last_group_id = counters.last_striped_block_id
    try:
        _load_coding_policies(namespace, reader)
        began(namespace, reader.inode_count())
        filling = Filling(namespace.inodes, reader.permission)
        for part in reader.inodes_in_bulk():
            if isinstance(part, FileColumns):
                filling.add(part)
                namespace.last_inode_id = max(namespace.last_inode_id, *part.ids)
            else:
                _add_inode(namespace, part)
        namespace.last_inode_id = max(namespace.last_inode_id, reader.last_inode_id())
        restored = RestoredSnapshots(namespace, reader)
        for listed in reader.children():
            _add_children(namespace, filling, listed, restored)
        restored.restore()
        _check_tree(namespace, filling)
        _end_leases(namespace)
        namespace.tally.count_all(namespace.inodes)
        namespace.marks.find_all(namespace.inodes)
        namespace.zones.find_all(namespace.inodes)
        _load_tokens(namespace, reader.secrets())
        _load_caching(namespace, reader.cache())
    except OverflowError as error:
        raise errors.CorruptImage(f"image {name} is damaged: a number is too large") from error
    except (_Refused, errors.UnsupportedOperation) as error:
        raise errors.UnsupportedOperation(f"image {name} cannot be loaded: {error}") from None
    except Impossible as error:
        raise errors.CorruptImage(f"image {name} is damaged: {error}") from None
    return namespace, counters


def _check_counters(counters: rec.NamesystemRecord, name: str) -> None:
    wrong = limits.wrong_stamp(counters.generation_stamp)
    last_group_id = counters.last_striped_block_id
    if last_group_id not in (None, NO_GROUP_ID):
        assert last_group_id is not None, "it is a number"
        wrong = wrong or limits.wrong_group_id(last_group_id)
    for label, number in (
        ("last block id", counters.last_block_id),
        ("last transaction", counters.txid),
    ):
        if number < 0:
            wrong = f"its {label} is {number}"
    if wrong is not None:
        raise errors.CorruptImage(f"image {name} is damaged: {wrong}")


def _possible(wrong: str | None) -> None:
    """Raises Impossible if something is wrong."""
    if wrong is not None:
        raise Impossible(wrong)


def _load_caching(namespace: Namespace, record: rec.CacheRecord) -> None:
    try:
        namespace.caching.load(record)
    except EditDoesNotFit as error:
        raise Impossible(f"its cache pools make no sense: {error}") from None


def _load_tokens(namespace: Namespace, record: rec.SecretsRecord) -> None:
    try:
        namespace.tokens.load(record)
    except EditDoesNotFit as error:
        raise Impossible(f"its delegation tokens make no sense: {error}") from None


def _load_coding_policies(namespace: Namespace, reader: ImageReader) -> None:
    try:
        namespace.coding_policies.load(reader.erasure_coding())
    except ValueError as error:
        raise Impossible(f"its erasure coding policies make no sense: {error}") from None


class _Refused(Exception):
    """The image has what the namespace does not know."""


def _add_inode(namespace: Namespace, record: rec.InodeRecord) -> None:
    if record.inode_id == ROOT_INODE_ID:
        _set_root(namespace, record)
        return
    if record.inode_id in namespace.inodes:
        raise Impossible(f"it has inode {record.inode_id} twice")
    if not record.name or "/" in record.name:
        raise Impossible(f"inode {record.inode_id} has the name {record.name!r}")
    _possible(limits.wrong_inode_id(record.inode_id))
    namespace.inodes[record.inode_id] = _inode(namespace, record)
    namespace.last_inode_id = max(namespace.last_inode_id, record.inode_id)


def _set_root(namespace: Namespace, record: rec.InodeRecord) -> None:
    root = namespace.root
    if not isinstance(record, rec.DirectoryRecord) or record.name:
        raise Impossible("its root is no root")
    root.owner = record.owner
    root.group = record.group
    root.mode = record.mode & MODE_MASK
    root.mtime_ms = record.mtime_ms
    root.atime_ms = record.atime_ms
    _set_features(root, record)


def _inode(namespace: Namespace, record: rec.InodeRecord) -> INode:
    if isinstance(record, rec.FileRecord):
        return _file(namespace, record)
    if isinstance(record, rec.DirectoryRecord):
        directory = Directory(
            record.inode_id,
            record.name,
            record.owner,
            record.group,
            record.mode & MODE_MASK,
            record.mtime_ms,
        )
        directory.atime_ms = record.atime_ms
        _set_features(directory, record)
        return directory
    assert isinstance(record, rec.SymlinkRecord), record
    link = Symlink(
        record.inode_id,
        record.name,
        record.owner,
        record.group,
        record.mode & MODE_MASK,
        record.mtime_ms,
        record.target,
    )
    link.atime_ms = record.atime_ms
    return link


def _set_features(directory: Directory, record: rec.DirectoryRecord) -> None:
    names = record.namespace_quota
    if directory.inode_id == ROOT_INODE_ID and names == rec.ROOT_NAMESPACE_QUOTA:
        names = UNLIMITED
    kinds = {kind: count for kind, count in record.quotas_by_kind if count >= 0}
    quota = Quota(max(names, UNLIMITED), max(record.space_quota_bytes, UNLIMITED), kinds)
    if quota.is_set:
        directory.quota = quota
    if record.acl:
        directory.acl = record.acl
    if record.xattrs:
        directory.xattrs = record.xattrs


def _file(namespace: Namespace, record: rec.FileRecord) -> File:
    policy_id = record.erasure_coding_policy_id or 0
    if policy_id and namespace.coding_policies.by_id(policy_id) is None:
        raise Impossible(f"file {record.name!r} has the erasure coding policy {policy_id}")
    _possible(
        limits.wrong_file(record.replication, record.block_size_bytes, record.storage_policy_id)
    )
    traits = Traits(
        sys.intern(record.owner),
        sys.intern(record.group),
        record.mode & MODE_MASK,
        GROUP_REPLICATION if policy_id else record.replication,
        record.block_size_bytes,
    )
    file = namespace.inodes.files.new(
        record.inode_id, record.name, traits, record.mtime_ms, record.atime_ms
    )
    file.storage_policy_id = record.storage_policy_id
    file.coding_policy_id = policy_id
    if record.acl:
        file.acl = record.acl
    if record.xattrs:
        file.xattrs = record.xattrs
    is_open = record.writer is not None
    complete = record.complete_blocks if is_open else len(record.blocks)
    blocks = namespace.blocks
    for place, listed in enumerate(record.blocks):
        if listed.block_id in blocks:
            raise Impossible(f"block {listed.block_id} is in two files")
        check_block(listed)
        state = BlockState.COMPLETE if place < complete else BlockState.COMMITTED
        file.blocks.append(add_block(blocks, file, listed, state))
    if record.writer is not None:
        file.writer = record.writer
        file.writer_machine = record.writer_machine
        namespace.leases.grant(record.writer, file.inode_id)
        if complete < len(record.blocks):
            if not record.last_committed:
                file.blocks[-1].state = BlockState.UNDER_CONSTRUCTION
            file.blocks[-1].truncating = record.truncating
            if record.truncating and record.source is not None:
                _add_source(namespace, file, record.source)
    return file


def _add_source(namespace: Namespace, file: File, source: EditBlock) -> None:
    """The file's last block is to be a copy. A snapshot may have the source, or nobody
    but the file any more."""
    if source.block_id in namespace.blocks:
        raise Impossible(f"block {source.block_id} is in two files")
    check_block(source)
    namespace.blocks.new(
        source.block_id,
        source.length_bytes,
        source.generation_stamp,
        file.inode_id,
        BlockState.COMPLETE,
    )
    namespace.snapshots.copies[file.block_ids[-1]] = source.block_id


def _add_children(
    namespace: Namespace,
    filling: Filling,
    listed: rec.ChildrenRecord,
    restored: RestoredSnapshots,
) -> None:
    parent = namespace.inodes.directories.get(listed.parent_id)
    if parent is None:
        raise Impossible(f"it lists children of {listed.parent_id}, which is no directory")
    filling.enter(parent, [*listed.children, *map(restored.referred, listed.references)])


def _check_tree(namespace: Namespace, filling: Filling) -> None:
    """Every inode hangs under the root, or in a snapshot."""
    dead = namespace.snapshots.dead_of
    for inode_id in filling.homeless():
        if inode_id not in dead:
            raise Impossible(f"inode {inode_id} is in no directory")
    held = namespace.inodes
    rooted: set[INode] = {namespace.root}
    rooted.update(d for d in held.directories.values() if d.parent is None)
    for inode in (*held.directories.values(), *held.links.values()):
        if inode.parent is None:
            if inode is not namespace.root and inode.inode_id not in dead:
                raise Impossible(f"inode {inode.inode_id} is in no directory")
            continue
        climbed = []
        node = inode.parent
        while node not in rooted:
            climbed.append(node)
            if node.parent is None or len(climbed) > len(namespace.inodes):
                raise Impossible(f"inode {inode.inode_id} does not hang under the root")
            node = node.parent
        rooted.update(climbed)


def _end_leases(namespace: Namespace) -> None:
    """What only snapshots have nobody writes."""
    if namespace.snapshots.count:
        for inode_id in namespace.leases.held():
            if not namespace.is_attached(namespace.inodes[inode_id]):
                namespace.leases.release(inode_id)


# What there is no place for.


def _refuse_in_image(counters: rec.NamesystemRecord, name: str) -> None:
    if counters.legacy_generation_stamp_limit != _NO_LEGACY_BLOCKS:
        raise errors.UnsupportedOperation(
            f"image {name} cannot be loaded: it has blocks from before Hadoop 2, which are not "
            "supported"
        )
