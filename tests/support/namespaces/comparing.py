"""Compares the namenode's namespace with the model's."""

from __future__ import annotations

from typing import Final

from howdah.formats.edits.edits import AclScope
from howdah.model import acls as model_acls
from howdah.model.entries import NAMENODE, Entry
from howdah.model.namespace import ModelNamespace
from howdah.model.quotas import count_begun, usage
from howdah.namenode.state.inodes import acls, storage_policies, xattrs
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Directory, File, INode, Symlink
from howdah.namenode.state.tree import coding_policies
from howdah.namenode.state.tree.namespace import Namespace
from howdah.testing.fingerprint import shown_by
from howdah.testing.in_memory import InMemoryNamenode

SCOPES: Final = {AclScope.ACCESS: model_acls.ACCESS, AclScope.DEFAULT: model_acls.DEFAULT}


def compare(namenode: InMemoryNamenode, model: ModelNamespace) -> None:
    """Raises AssertionError where they differ."""
    namespace = namenode.namesystem.namespace
    _compare_snapshots(namespace, model)
    for path, entry in model.entries.items():
        inode = namespace.find(path)
        assert inode is not None, path
        assert isinstance(inode, Directory) == entry.is_directory
        assert (inode.owner, inode.group, inode.mode) == (entry.owner, entry.group, entry.mode)
        assert (inode.mtime_ms, inode.atime_ms) == (entry.mtime_ms, entry.atime_ms), path
        assert acl_of(inode) == entry.acl, (path, acl_of(inode), entry.acl)
        assert xattrs_of(inode) == entry.xattrs, path
        policy = storage_policies.POLICIES.get(storage_policies.own_id(inode))
        assert (policy.name if policy else "") == entry.policy, path
        assert coding_of(namespace, inode) == entry.coding, path
        if isinstance(inode, File):
            _compare_file(namenode, inode, entry)
        elif isinstance(inode, Symlink):
            assert inode.target == entry.target
        elif isinstance(inode, Directory):
            assert inode.sorted_names() == model.children(path)
            _compare_quota(model, path, inode.quota or Quota(), entry)


def _compare_snapshots(namespace: Namespace, model: ModelNamespace) -> None:
    seen = []
    for path in model.snapshottable():
        directory = namespace.find(path)
        assert directory is not None, path
        root = namespace.snapshots.roots[directory.inode_id]
        for name, expected in model.snapshots[model.entries[path].number].items():
            snapshot = root.named(name)
            assert snapshot is not None, f"{name} of {path}"
            seen.append(snapshot)
            shown = shown_by(namespace, snapshot)
            assert shown.keys() == expected.keys(), f"{name} of {path}"
            for below, then in expected.items():
                _compare_then(namespace, shown[below], then)
    assert len(seen) == len(list(namespace.snapshots.all())) == namespace.snapshots.count


def _compare_then(namespace: Namespace, inode: INode, then: Entry) -> None:
    """An inode as a snapshot shows it."""
    assert isinstance(inode, Directory) == then.is_directory
    assert (inode.owner, inode.group, inode.mode) == (then.owner, then.group, then.mode)
    assert (inode.mtime_ms, inode.atime_ms) == (then.mtime_ms, then.atime_ms), inode.path
    assert acl_of(inode) == then.acl, inode.path
    assert xattrs_of(inode) == then.xattrs, inode.path
    assert coding_of(namespace, inode) == then.coding, inode.path
    if isinstance(inode, File):
        assert (inode.length_bytes, len(inode.blocks), inode.replication) == (
            then.length_bytes,
            count_begun(then.blocks),
            then.replication,
        ), inode.path


def _compare_file(namenode: InMemoryNamenode, file: File, entry: Entry) -> None:
    assert tuple(block.length_bytes for block in file.blocks) == entry.blocks
    assert (file.replication, file.block_size_bytes) == (
        entry.replication,
        entry.block_size_bytes,
    )
    taken = file.writer is not None and file.writer == namenode.leases.holder
    assert (NAMENODE if taken else file.writer) == entry.writer


def _compare_quota(model: ModelNamespace, path: str, quota: Quota, entry: Entry) -> None:
    bounds = {"names": quota.namespace, "space": quota.space_bytes}
    bounds |= {kind.name: bound for kind, bound in quota.by_kind_bytes.items()}
    assert {what: bound for what, bound in bounds.items() if bound >= 0} == entry.bounds, path
    if not entry.bounds:
        return
    used = usage(model, path)
    assert (quota.used_names, quota.used_bytes) == (used["names"], used["space"]), path
    for kind, count in quota.used_by_kind_bytes.items():
        assert count == used[kind.name], (path, kind)


def acl_of(inode: INode) -> model_acls.Acl | None:
    """The whole list as the model has it; None if there is none."""
    if not inode.acl:
        return None
    return {
        (SCOPES[entry.scope], entry.kind.name.lower(), entry.name or ""): entry.permission
        for entry in acls.entries_of(inode.mode, inode.acl)
    }


def xattrs_of(inode: INode) -> dict[str, bytes]:
    """All but those in which a directory keeps its storage policy and its erasure coding."""
    return {
        xattrs.full_name(xattr): xattr.value or b""
        for xattr in inode.xattrs
        if xattrs.name_of(xattr) not in (storage_policies.ATTRIBUTE, xattrs.ERASURE_CODING)
    }


def coding_of(namespace: Namespace, inode: INode) -> str:
    """The name of the inode's own erasure coding; empty if it has none."""
    if isinstance(inode, File):
        policy = namespace.coding_policies.by_id(inode.coding_policy_id)
        return policy.name if inode.coding_policy_id and policy is not None else ""
    return (coding_policies.own_name(inode) or "") if isinstance(inode, Directory) else ""
