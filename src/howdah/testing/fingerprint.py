"""Everything of a namespace that a log has to restore, as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from howdah.namenode.state.inodes.inodes import Directory, File, INode, Symlink
from howdah.namenode.state.inodes.xattrs import is_marked
from howdah.namenode.state.snapshots.snapshot_model import attributes_of
from howdah.namenode.state.snapshots.snapshots import DeadLink, Snapshot, Version
from howdah.namenode.state.tree.namespace import Namespace
from howdah.namenode.state.tree.snapshot_views import DotSnapshot, root_view

Fingerprint = dict[str, Any]


def walk(namespace: Namespace) -> Iterator[tuple[str, INode]]:
    """Every path of the tree with its inode, a directory before what is in it."""
    stack: list[tuple[str, INode]] = [("/", namespace.root)]
    while stack:
        path, inode = stack.pop()
        yield path, inode
        if isinstance(inode, Directory):
            above = path.rstrip("/")
            stack += [(f"{above}/{name}", child) for name, child in inode.children.items()]


def fingerprint(namespace: Namespace) -> Fingerprint:
    """By path, and the counters. Two namespaces of one fingerprint answer alike."""
    leases = namespace.leases
    found: Fingerprint = {
        "counters": (
            namespace.last_inode_id,
            namespace.last_block_id,
            namespace.last_group_id,
            namespace.generation_stamp,
            namespace.rolling_upgrade.start_ms,
        ),
        "leases": {inode_id: leases.holder_of(inode_id) for inode_id in leases.held()},
        "caching": namespace.caching.record(),
        "coding policies": namespace.coding_policies.records(),
        "tokens": namespace.tokens.record(),
    }
    for path, inode in walk(namespace):
        found[path] = (
            type(inode).__name__,
            inode.inode_id,
            attributes_of(inode),
            *_own(inode),
        )
    _add_snapshots(namespace, found)
    return found


def _add_snapshots(namespace: Namespace, found: Fingerprint) -> None:
    roots = namespace.snapshots.roots.items()
    there = sorted(inode_id for inode_id, root in roots)
    copies = {}
    for block_id, source_id in namespace.snapshots.copies.items():
        source = namespace.blocks[source_id]
        copies[block_id] = source_id, source.length_bytes, source.generation_stamp
    found["snapshots"] = (namespace.snapshots.next_id, there, copies)
    found["versions"] = {
        inode_id: kept
        for inode_id in namespace.snapshots.versions
        if (kept := _versions(namespace, inode_id))
    }
    found["kept"] = {
        inode_id: ([_link(namespace, link) for link in links], _kept(links[-1].inode))
        for inode_id, links in namespace.snapshots.dead_of.items()
    }
    found["births"] = {
        inode_id: first
        for inode_id, birth in namespace.snapshots.births.items()
        if (first := _first_shown(namespace, namespace.inodes[inode_id].parent, birth))
    }
    for snapshot in namespace.snapshots.all():
        found[f"snapshot {snapshot.snapshot_id}"] = (
            snapshot.name,
            snapshot.directory.inode_id,
            {below: _facts_then(inode) for below, inode in shown_by(namespace, snapshot).items()},
        )


def _versions(namespace: Namespace, inode_id: int) -> list[tuple[Any, ...]]:
    """Those versions of an inode that differ from the following one. That of a snapshot's
    directory may not: an image always has one. Its time is nobody's: the snapshot has its own."""
    inode = namespace.inodes[inode_id]
    versions = namespace.snapshots.versions[inode_id]
    if isinstance(inode, File):
        return [(v.last, v.replication, v.length_bytes, v.block_ids) for v in versions]
    is_root = inode_id in namespace.snapshots.roots
    following = _directory_facts(inode, is_root=is_root)
    found = []
    for version in reversed(versions):
        facts = _directory_facts(version, is_root=is_root)
        if facts != following:
            found.append((version.last, facts))
        following = facts
    return found


def _directory_facts(state: INode | Version, *, is_root: bool) -> tuple[Any, ...]:
    quota = state.quota if isinstance(state, Directory | Version) else None
    bounds = (
        None
        if quota is None or not quota.is_set
        else (quota.namespace, quota.space_bytes, quota.by_kind_bytes)
    )
    attributes = attributes_of(state)
    if is_root:
        del attributes["mtime_ms"]
    return attributes, bounds


def _link(namespace: Namespace, link: DeadLink) -> tuple[Any, ...]:
    return link.name, _first_shown(namespace, link.parent, link.birth), link.last, link.moved


def _first_shown(namespace: Namespace, parent: Directory | None, birth: int) -> int:
    """The lowest id that a snapshot can have that shows a link of that birth. No snapshot
    tells the epochs apart in which none was made that shows the directory."""
    assert parent is not None, "a link is in a directory"
    return namespace.snapshots.newest(parent, birth) + 1


def _kept(inode: INode) -> tuple[Any, ...]:
    """What an inode with a dead link has now, for its blocks and for quotas."""
    if isinstance(inode, File):
        return inode.name, inode.replication, tuple(inode.block_ids)
    return (inode.name,)


def _facts_then(inode: INode) -> tuple[Any, ...]:
    facts: tuple[Any, ...] = (type(inode).__name__, inode.inode_id, attributes_of(inode))
    if isinstance(inode, File):
        blocks = [(block.block_id, block.logged_state.name) for block in inode.blocks]
        return *facts, inode.replication, inode.length_bytes, blocks
    return facts


def shown_by(namespace: Namespace, snapshot: Snapshot) -> dict[str, INode]:
    """What there is in a snapshot, by the path below its directory."""
    found: dict[str, INode] = {}
    top = root_view(namespace, snapshot, DotSnapshot(namespace, snapshot.directory))
    stack: list[tuple[str, INode]] = [("", top)]
    while stack:
        below, inode = stack.pop()
        found[below] = inode
        if isinstance(inode, Directory):
            assert inode.sorted_names() == sorted(inode.children)
            stack += [(f"{below}/{name}", child) for name, child in inode.children.items()]
    return found


def _own(inode: INode) -> tuple[Any, ...]:
    if isinstance(inode, Symlink):
        return (inode.target,)
    if isinstance(inode, Directory):
        quota = inode.quota
        if quota is None:
            return ()
        used = {kind: count for kind, count in quota.used_by_kind_bytes.items() if count}
        return (
            *(quota.namespace, quota.space_bytes, dict(quota.by_kind_bytes)),
            *(quota.used_names, quota.used_bytes, used),
        )
    assert isinstance(inode, File)
    return (
        inode.replication,
        inode.block_size_bytes,
        inode.coding_policy_id,
        inode.writer,
        inode.writer_machine,
        [
            (
                block.block_id,
                block.generation_stamp,
                block.length_bytes,
                block.logged_state.name,
                block.truncating,
            )
            for block in inode.blocks
        ],
    )


def check_consistent(namespace: Namespace) -> None:
    """Its parts say the same: tree, inodes by id, blocks by id, leases, what quotas count.
    What was deleted must have been reaped."""
    inodes, blocks, writers = {}, {}, {}
    for path, inode in walk(namespace):
        assert inode.path == path
        inodes[inode.inode_id] = inode
        if isinstance(inode, File):
            blocks.update({block.block_id: block for block in inode.blocks})
            if inode.writer is not None:
                writers[inode.inode_id] = inode.writer
        elif isinstance(inode, Directory) and inode.quota is not None:
            used, kept = namespace.measuring.of_subtree(inode), inode.quota
            assert (kept.used_names, kept.used_bytes) == (used.names, used.space_bytes), path
            kinds = used.by_kind_bytes.keys() | kept.used_by_kind_bytes.keys()
            for kind in kinds:
                counted = kept.used_by_kind_bytes.get(kind, 0)
                assert counted == used.by_kind_bytes.get(kind, 0), (path, kind)
    copies = namespace.snapshots.copies
    block_ids = set(blocks) | copies.keys() | set(copies.values())
    inode_ids = set(inodes)
    for snapshot in namespace.snapshots.all():
        for inode in shown_by(namespace, snapshot).values():
            inode_ids.add(inode.inode_id)
            if isinstance(inode, File):
                block_ids.update(block.block_id for block in inode.blocks)
    # What snapshots show is there, and what nobody sees is not.
    assert set(namespace.inodes) == inode_ids
    assert set(namespace.blocks) == block_ids
    assert {i: inode for i, inode in namespace.inodes.items() if i in inodes} == inodes
    assert {i: block for i, block in namespace.blocks.items() if i in blocks} == blocks
    have_mark = {i for i, inode in namespace.inodes.items() if is_marked(inode.xattrs)}
    assert {i for i in namespace.inodes if i in namespace.marks} == have_mark
    assert len(namespace.marks) == len(have_mark)
    holders = {inode_id: namespace.leases.holder_of(inode_id) for inode_id in inodes}
    assert {i: holder for i, holder in holders.items() if holder} == writers
    assert namespace.leases.open_files == len(writers)
