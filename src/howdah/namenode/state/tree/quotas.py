"""Quotas: what a subtree uses, and when more is refused (pure).

Hadoop's `DirectoryWithQuotaFeature` and `QuotaCounts`.

A directory may limit the names below it (it counts as one itself), the bytes of all
replicas, and those of each storage type, as the files' policies would place them. A
block counts with its length. A block being written counts as a full block until it is
settled, or with its synced length if that is more: a writer that was admitted is never
stopped halfway.

Every directory with limits has the counts of its use. `Tally` changes them with each
edit, by what the paths of the edit use before and after it (`usage`), and with what a
deleted snapshot frees. No other part of the namespace handles quotas, and a replayed log
gives the same counts. Where no directory has limits it does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import StorageKind
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inode_features import UNLIMITED, Quota
from howdah.namenode.state.inodes.inodes import Block, BlockState, Directory, File, INode
from howdah.namenode.state.inodes.storage_policies import StoragePolicy

COUNTED_KINDS: Final = frozenset(StorageKind) - {StorageKind.RAM_DISK}
_PREFIXES: Final = ("", "K", "M", "G", "T", "P", "E")


@dataclass(slots=True)
class Usage:
    """What something takes of a quota; also a change of that."""

    names: int = 0
    space_bytes: int = 0
    by_kind_bytes: dict[StorageKind, int] = field(default_factory=dict)

    def add(self, other: Usage, sign: int = 1) -> None:
        self.names += sign * other.names
        self.space_bytes += sign * other.space_bytes
        add_by_kind(self.by_kind_bytes, other.by_kind_bytes, sign)


def add_by_kind(
    total: dict[StorageKind, int], change: dict[StorageKind, int], sign: int = 1
) -> None:
    """Add the bytes of each storage type. One of which nothing is left has no entry: counts that
    followed the edits are the same, then, as those from scratch, which never heard of it."""
    for kind, count in change.items():
        left = total.get(kind, 0) + sign * count
        if left:
            total[kind] = left
        else:
            total.pop(kind, None)


def counted_bytes(file: File, block: Block) -> int:
    """What a block of the file counts for, with one replica; a group with all that it takes."""
    if isinstance(block, Group):
        if block.state is BlockState.UNDER_CONSTRUCTION:
            return max(file.block_size_bytes * block.policy.schema.units, block.layout.space)
        return block.layout.space
    if block.state is BlockState.UNDER_CONSTRUCTION and not block.truncating:
        return max(file.block_size_bytes, block.length_bytes)
    return block.length_bytes


def of_replicas(count: int, replication: int, policy: StoragePolicy) -> Usage:
    """What so many bytes take with so many replicas, where the policy would place them."""
    usage = Usage(0, count * replication)
    for kind, replicas in policy.count(replication).items():
        if kind in COUNTED_KINDS:
            usage.by_kind_bytes[kind] = count * replicas
    return usage


def of_file(file: File, count: int, replication: int, policy: StoragePolicy) -> Usage:
    """What so many bytes of a file take. Those of block groups count for no type of storage, as in
    Hadoop."""
    if file.coding_policy_id:
        return Usage(0, count)
    return of_replicas(count, replication, policy)


def bounded(inode: INode | None) -> Iterator[tuple[Directory, Quota]]:
    """The directory, and those above it, that have bounds, from the inside out."""
    while inode is not None:
        if isinstance(inode, Directory) and inode.quota is not None:
            yield inode, inode.quota
        inode = inode.parent


def check(parent: INode | None, change: Usage, but: Iterable[Directory] = ()) -> None:
    """Raises NamespaceQuotaExceeded, SpaceQuotaExceeded or TypeQuotaExceeded if a bound of
    `parent`, or above, forbids what is about to come; not of the directories `but`."""
    exempt = set(but)
    for directory, quota in bounded(parent):
        if directory not in exempt:
            _check_one(directory, quota, change)


def _check_one(directory: Directory, quota: Quota, change: Usage) -> None:
    names = quota.used_names + change.names
    if 0 <= quota.namespace < names and change.names > 0:
        raise errors.NamespaceQuotaExceeded(
            f"The NameSpace quota (directories and files) of directory {directory.path} is "
            f"exceeded: quota={quota.namespace} file count={names}"
        )
    space = quota.used_bytes + change.space_bytes
    if 0 <= quota.space_bytes < space and change.space_bytes > 0:
        raise errors.SpaceQuotaExceeded(
            f"The DiskSpace quota of {directory.path} is exceeded: quota = {quota.space_bytes} B "
            f"= {readable(quota.space_bytes)} but diskspace consumed = {space} B = "
            f"{readable(space)}"
        )
    for kind, bound in quota.by_kind_bytes.items():
        more = change.by_kind_bytes.get(kind, 0)
        taken = quota.used_by_kind_bytes.get(kind, 0) + more
        if taken > bound and more > 0:
            raise errors.TypeQuotaExceeded(
                f"Quota by storage type : {kind.name} on path : {directory.path} is exceeded. "
                f"quota = {readable(bound)} but space consumed = {readable(taken)}"
            )


def readable(count: int) -> str:
    """Bytes with two decimals and a binary prefix, as Hadoop's messages have them."""
    power = 0
    while power + 1 < len(_PREFIXES) and count >= 1 << (10 * (power + 1)):
        power += 1
    unit = f" {_PREFIXES[power]}B"
    if count % (1 << (10 * power)) == 0:
        return f"{count >> (10 * power)}{unit}"
    return f"{count / (1 << (10 * power)):.2f}{unit}"


def bounds_after(quota: Quota | None, names: int, space_bytes: int) -> Quota:
    """The bounds of a directory that is given these two; what is used is not touched."""
    changed = quota if quota is not None else Quota()
    changed.namespace = names if names >= 0 else UNLIMITED
    changed.space_bytes = space_bytes if space_bytes >= 0 else UNLIMITED
    return changed
