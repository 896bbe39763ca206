"""Storage policies: on which types of storage the replicas of a file belong (pure).

Hadoop's `BlockStoragePolicySuite`, with its fixed set. A policy names the types for the
first replicas, the last of them for all further ones, and where to go instead if a type
has no room. An inode without a policy of its own has that of the nearest directory
above that has one; where none has, it is `HOT`, but clients are told 0, "unspecified".

A file keeps its policy's id beside its mode. A directory keeps it in an extended
attribute of the `system` namespace, as Hadoop's image and clients' copies expect.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah.formats.edits.edits import StorageKind, XAttr, XAttrNamespace
from howdah.namenode.state.inodes import xattrs
from howdah.namenode.state.inodes.inode_features import NO_FEATURES
from howdah.namenode.state.inodes.inodes import (
    Directory,
    File,
    INode,
    Symlink,
    inherits_from,
)

UNSPECIFIED: Final = 0
ON_THE_WIRE: Final = {
    StorageKind.DISK: 1,
    StorageKind.SSD: 2,
    StorageKind.ARCHIVE: 3,
    StorageKind.RAM_DISK: 4,
    StorageKind.PROVIDED: 5,
    StorageKind.NVDIMM: 6,
}
"""Numbers of `StorageTypeProto`, by which datanodes report their storages."""
ATTRIBUTE: Final = (XAttrNamespace.SYSTEM, "hsm.block.storage.policy.id")


@dataclass(frozen=True, slots=True)
class StoragePolicy:
    """`on_create` is where a new block goes if `kinds` has no room, `on_repair` a copy.

    With `fixed` a file has the policy from its creation on, and keeps it.
    """

    policy_id: int
    name: str
    kinds: tuple[StorageKind, ...]
    on_create: tuple[StorageKind, ...] = ()
    on_repair: tuple[StorageKind, ...] = ()
    fixed: bool = False

    def preferred_types(self, replication: int) -> list[StorageKind]:
        """A type for each replica."""
        last = self.kinds[-1]
        return [*self.kinds[:replication], *([last] * (replication - len(self.kinds)))]

    def count(self, replication: int) -> dict[StorageKind, int]:
        """How many replicas of each type are wanted."""
        counts: dict[StorageKind, int] = {}
        for kind in self.kinds[:replication]:
            counts[kind] = counts.get(kind, 0) + 1
        more = replication - len(self.kinds)
        if more > 0:
            counts[self.kinds[-1]] += more
        return counts

    def __str__(self) -> str:
        def listed(kinds: tuple[StorageKind, ...]) -> str:
            return f"[{', '.join(kind.name for kind in kinds)}]"

        return (
            f"BlockStoragePolicy{{{self.name}:{self.policy_id}, storageTypes={listed(self.kinds)}, "
            f"creationFallbacks={listed(self.on_create)}, "
            f"replicationFallbacks={listed(self.on_repair)}}}"
        )


_DISK, _SSD, _ARCHIVE = StorageKind.DISK, StorageKind.SSD, StorageKind.ARCHIVE
_PROVIDED = (StorageKind.PROVIDED, _DISK)

POLICIES: Final = {
    policy.policy_id: policy
    for policy in (
        StoragePolicy(1, "PROVIDED", _PROVIDED, _PROVIDED, _PROVIDED),
        StoragePolicy(2, "COLD", (_ARCHIVE,)),
        StoragePolicy(5, "WARM", (_DISK, _ARCHIVE), (_DISK, _ARCHIVE), (_DISK, _ARCHIVE)),
        StoragePolicy(7, "HOT", (_DISK,), (), (_ARCHIVE,)),
        StoragePolicy(10, "ONE_SSD", (_SSD, _DISK), (_SSD, _DISK), (_SSD, _DISK)),
        StoragePolicy(12, "ALL_SSD", (_SSD,), (_DISK,), (_DISK,)),
        StoragePolicy(14, "ALL_NVDIMM", (StorageKind.NVDIMM,), (_DISK,), (_DISK,)),
        StoragePolicy(
            15, "LAZY_PERSIST", (StorageKind.RAM_DISK, _DISK), (_DISK,), (_DISK,), fixed=True
        ),
    )
}
HOT: Final = POLICIES[7]
_FOR_GROUPS: Final = frozenset({7, 2, 12})
"""HOT, COLD and ALL_SSD: those that place all replicas alike. Others do not count for files that
are erasure coded."""
LAZY_PERSIST: Final = POLICIES[15]


def by_name(name: str) -> StoragePolicy | None:
    return next((p for p in POLICIES.values() if p.name == name.upper()), None)


def own_id(inode: INode) -> int:
    """The inode's own policy; 0 if it has none."""
    if not isinstance(inode, Directory):
        return inode.storage_policy_id
    for xattr in inode.xattrs:
        if xattrs.name_of(xattr) == ATTRIBUTE and xattr.value:
            return xattr.value[0]
    return UNSPECIFIED


def effective_id(inode: INode, shown_in: Callable[[INode], INode | None] | None = None) -> int:
    """Return the inode's own policy or that of a directory above; 0 if none has one. What is in no
    directory any more has the policy of the one that it is `shown_in`."""
    if isinstance(inode, File) and inode.coding_policy_id:
        return for_groups(_effective_id(inode, shown_in))
    return _effective_id(inode, shown_in)


def for_groups(policy_id: int) -> int:
    """Return the policy that counts for a file that is erasure coded, where this one is set."""
    return policy_id if policy_id in _FOR_GROUPS else UNSPECIFIED


def _effective_id(inode: INode, shown_in: Callable[[INode], INode | None] | None = None) -> int:
    node: INode | None = None if isinstance(inode, Symlink) else inode
    while node is not None:
        # Every listing asks this of every entry, and hardly anything has features.
        if node.features is not NO_FEATURES and (policy_id := own_id(node)):
            return policy_id
        above = inherits_from(node)
        node = shown_in(node) if above is None and shown_in is not None else above
    return UNSPECIFIED


def of(inode: INode) -> StoragePolicy:
    """The policy that counts for the inode."""
    return POLICIES.get(effective_id(inode), HOT)


def is_lazy_persist(file: File) -> bool:
    """Whether it may be in the memory of a datanode."""
    return effective_id(file) == LAZY_PERSIST.policy_id


def kinds_on_create(file: File, replicas: int) -> tuple[list[int], list[int]]:
    """Where a new block of the file goes, by numbers on the wire: a type for each of so many
    replicas, and the types to take where there is none of those."""
    wanted, fallbacks = _kinds_on_create(of(file).policy_id, replicas)
    return list(wanted), list(fallbacks)


@functools.lru_cache(256)
def _kinds_on_create(policy_id: int, replication: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Every block asks, and there are few answers."""
    policy = POLICIES.get(policy_id, HOT)
    wanted = [ON_THE_WIRE[_on_disk(policy, kind)] for kind in policy.preferred_types(replication)]
    return tuple(wanted), tuple([ON_THE_WIRE[kind] for kind in policy.on_create])


def kinds_on_repair(
    file: File, replicas: int, shown_in: Callable[[INode], INode | None] | None = None
) -> tuple[list[int], list[int]]:
    """On which types so many replicas of the file's blocks should be, by numbers on the wire,
    and the types to take for a copy where there is none of those. A file that only a snapshot has
    is `shown_in` a directory."""
    policy = POLICIES.get(effective_id(file, shown_in), HOT)
    wanted = [ON_THE_WIRE[_on_disk(policy, kind)] for kind in policy.preferred_types(replicas)]
    return wanted, [ON_THE_WIRE[kind] for kind in policy.on_repair]


def _on_disk(policy: StoragePolicy, kind: StorageKind) -> StorageKind:
    """Nobody is sent to memory, as in Hadoop: a namenode does not know how much of it is left.
    A datanode takes a new replica there if the client beside it asks for that, and reports it
    so. What it carries to a disk later is where the policy would have it if memory were full."""
    if kind is not StorageKind.RAM_DISK:
        return kind
    return policy.on_create[0] if policy.on_create else policy.kinds[-1]


def name_on_the_wire(number: int) -> str:
    """Return `ARCHIVE` for 3."""
    return next(
        (kind.name for kind, wire_number in ON_THE_WIRE.items() if wire_number == number),
        str(number),
    )


def set_on(inode: INode, policy_id: int) -> None:
    """Give the inode a policy of its own, or take it away with 0."""
    if not isinstance(inode, Directory):
        inode.storage_policy_id = policy_id
        return
    mark = XAttr(*ATTRIBUTE, bytes([policy_id]))
    without = xattrs.without(inode.xattrs, (mark,))
    inode.xattrs = xattrs.with_set(without, (mark,)) if policy_id else without
