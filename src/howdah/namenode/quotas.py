"""Quotas: what a subtree takes, and who is refused more (pure).

A directory may have bounds on the names below it (it counts as one), on the bytes of
all replicas, and on those of each storage type, as the files' policies would place
them. What counts of a block is its length; one that is being written counts as a full
block until it is settled, so that a writer who was let in is never stopped halfway.

Every directory with bounds keeps what is used. `Tally` moves the counts along with each
edit, by what the paths that it names take before and after: nothing else in the
namespace has to think of quotas, and a replayed log counts as the live calls did.
Where no directory has bounds it does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.namenode import storage_policies
from howdah.namenode.features import UNLIMITED, Quota
from howdah.namenode.inodes import Block, BlockState, Directory, File, INode
from howdah.namenode.storage_policies import HOT, POLICIES, UNSPECIFIED, StoragePolicy
from howdah.storage.edits import StorageKind

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
        for kind, count in other.by_kind_bytes.items():
            self.by_kind_bytes[kind] = self.by_kind_bytes.get(kind, 0) + sign * count


def counted_bytes(file: File, block: Block) -> int:
    """What a block of the file counts for, with one replica."""
    if block.state is BlockState.UNDER_CONSTRUCTION and not block.truncating:
        return file.block_size_bytes
    return block.length_bytes


def of_bytes(
    file: File, count: int, replication: int, policy: StoragePolicy | None = None
) -> Usage:
    """What so many bytes of the file take with so many replicas, under its own policy or
    another one."""
    return _of_bytes(count, replication, policy or storage_policies.of(file))


def _of_bytes(count: int, replication: int, policy: StoragePolicy) -> Usage:
    usage = Usage(0, count * replication)
    for kind in policy.wanted(replication):
        if kind in COUNTED_KINDS:
            usage.by_kind_bytes[kind] = usage.by_kind_bytes.get(kind, 0) + count
    return usage


def file_bytes(file: File) -> int:
    """What the file's blocks count for, with one replica."""
    return sum(counted_bytes(file, block) for block in file.blocks)


def of_subtree(top: INode, parent: INode | None = None) -> Usage:
    """What an inode and all below it take; or would take if `parent` were above it, whose
    policy then counts for what has none of its own."""
    total = Usage()
    above = parent if parent is not None else top.parent
    stack = [(top, UNSPECIFIED if above is None else storage_policies.effective_id(above))]
    while stack:
        inode, policy_id = stack.pop()
        total.names += 1
        policy_id = storage_policies.own_id(inode) or policy_id
        if isinstance(inode, File):
            policy = POLICIES.get(policy_id, HOT)
            total.add(of_bytes(inode, file_bytes(inode), inode.replication, policy))
        elif isinstance(inode, Directory):
            _add_files(total, inode, policy_id)
            stack.extend((child, policy_id) for child in _others(inode))
    return total


def _add_files(total: Usage, directory: Directory, policy_id: int) -> None:
    """What those files take that have nothing but what all files have."""
    files = directory.files
    if files is None:
        return
    lengths: dict[int, int] = {}
    for entry in directory.entries.values():
        measure = files.measure(entry) if isinstance(entry, int) else None
        if measure is not None:
            total.names += 1
            lengths[measure[0]] = lengths.get(measure[0], 0) + measure[1]
    policy = POLICIES.get(policy_id, HOT)
    for replication, count in lengths.items():
        total.add(_of_bytes(count, replication, policy))


def _others(directory: Directory) -> Iterator[INode]:
    """What else is in the directory."""
    files = directory.files
    for entry in directory.entries.values():
        if not isinstance(entry, int):
            yield entry
        elif files is not None and entry in files.features:
            yield files[entry]


def count_anew(directory: Directory, quota: Quota) -> None:
    """Bring what is used up to date, by looking at everything below."""
    usage = of_subtree(directory)
    quota.used_names = usage.names
    quota.used_bytes = usage.space_bytes
    quota.used_by_kind_bytes = usage.by_kind_bytes


def bounded(inode: INode | None) -> Iterator[tuple[Directory, Quota]]:
    """The directory, and those above it, that have bounds, from the inside out."""
    while inode is not None:
        if isinstance(inode, Directory) and inode.quota is not None:
            yield inode, inode.quota
        inode = inode.parent


def charge(parent: INode | None, change: Usage) -> None:
    """Something in `parent` takes so much more (or less)."""
    for _, quota in bounded(parent):
        quota.used_names += change.names
        quota.used_bytes += change.space_bytes
        for kind, count in change.by_kind_bytes.items():
            quota.used_by_kind_bytes[kind] = quota.used_by_kind_bytes.get(kind, 0) + count


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
