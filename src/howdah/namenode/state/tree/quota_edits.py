"""Edits that set quotas, and storage policies, by which quotas of storage types count (pure).

Part of Hadoop's `FSEditLogLoader`. `namespace` applies these edits with all others. They
check only that the path exists, and that what has a quota is a directory. What is used of a
quota is counted when the directory gets its first one, and after that by `tally`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from howdah.formats.edits import edits
from howdah.namenode.state.inodes import limits, storage_policies
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.inodes.inode_features import UNLIMITED, Quota
from howdah.namenode.state.inodes.inodes import ROOT_INODE_ID, Directory, INode, Inodes
from howdah.namenode.state.tree import quotas
from howdah.namenode.state.tree.quota_usage import Tally


class QuotaEdits:
    """`existing` and `directory` find the inode of an edit, or raise EditDoesNotFit. `tally` is
    told which of the `inodes` have quotas."""

    def __init__(
        self,
        existing: Callable[[str, edits.Edit], INode],
        directory: Callable[[str, edits.Edit], Directory],
        inodes: Inodes,
        tally: Tally,
    ) -> None:
        self._existing = existing
        self._directory = directory
        self._inodes = inodes
        self._tally = tally
        self.appliers: Final[dict[type[edits.Edit], Callable[[Any], None]]] = {
            edits.SetQuotaOp: self._set_quota,
            edits.SetQuotaByStorageTypeOp: self._set_quota_by_type,
            edits.SetStoragePolicyOp: self._set_storage_policy,
        }

    def _set_quota(self, op: edits.SetQuotaOp) -> None:
        directory = self._directory(op.path, op)
        names = op.namespace_quota
        if names == edits.KEEP_QUOTA and directory.inode_id == ROOT_INODE_ID:
            names = UNLIMITED  # Hadoop's root has this bound when it has none.
        bounds = quotas.bounds_after(directory.quota, names, op.space_quota_bytes)
        self._bound(directory, bounds)

    def _set_quota_by_type(self, op: edits.SetQuotaByStorageTypeOp) -> None:
        directory = self._directory(op.path, op)
        quota = directory.quota if directory.quota is not None else Quota()
        if op.space_quota_bytes >= 0:
            quota.by_kind_bytes[op.storage_kind] = op.space_quota_bytes
        else:
            quota.by_kind_bytes.pop(op.storage_kind, None)
        self._bound(directory, quota)

    def _bound(self, directory: Directory, quota: Quota) -> None:
        if not quota.is_set:
            directory.quota = None
            self._tally.directories.discard(directory.inode_id)
            return
        if directory.quota is None:
            self._tally.count(directory, quota)
            directory.quota = quota
        self._tally.directories.add(directory.inode_id)

    def _set_storage_policy(self, op: edits.SetStoragePolicyOp) -> None:
        wrong = limits.wrong_policy(op.policy_id)
        if wrong is not None:
            raise EditDoesNotFit(f"{op.opcode.name} of {op.path}: {wrong}")
        inode = self._existing(op.path, op)
        if storage_policies.own_id(inode) == op.policy_id:
            storage_policies.set_on(inode, op.policy_id)
            return
        with self._tally.changing_policy(self._inodes, inode):
            storage_policies.set_on(inode, op.policy_id)
