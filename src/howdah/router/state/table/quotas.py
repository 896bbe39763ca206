"""The quota of a mount point, over all its destinations (pure). Hadoop: RouterQuotaManager.

What the destinations use is asked for now and then; what an operation adds is not known here,
so an operation is refused once the usage has reached the limit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from howdah import errors
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.router.state.table.mount_table import MountEntry


@dataclass(frozen=True, slots=True)
class Usage:
    """Names and bytes of all destinations together, replicas counted."""

    names: int = 0
    space_bytes: int = 0
    by_type: tuple[tuple[StorageType, int], ...] = ()
    """Bytes on storages of types that have a quota."""

    def __add__(self, other: Usage) -> Usage:
        by_type = Counter(dict(self.by_type))
        by_type.update(dict(other.by_type))
        return Usage(
            self.names + other.names,
            self.space_bytes + other.space_bytes,
            tuple(sorted(by_type.items())),
        )


def check(entry: MountEntry, usage: Usage) -> None:
    """Raises NamespaceQuotaExceeded, SpaceQuotaExceeded."""
    quota = entry.quota
    if 0 <= quota.names <= usage.names:
        raise errors.NamespaceQuotaExceeded(
            f"The NameSpace quota (directories and files) of directory {entry.source} is "
            f"exceeded: quota={quota.names} file count={usage.names}"
        )
    if 0 <= quota.space_bytes <= usage.space_bytes:
        raise errors.SpaceQuotaExceeded(
            f"The DiskSpace quota of {entry.source} is exceeded: quota = {quota.space_bytes} B "
            f"but diskspace consumed = {usage.space_bytes} B"
        )
    used = dict(usage.by_type)
    for storage_type, limit in quota.by_type:
        if limit <= used.get(storage_type, 0):
            # As Hadoop's router: no class of its own, as a namenode has for it.
            raise errors.SpaceQuotaExceeded(
                f"The DiskSpace quota of {entry.source} on {storage_type.name} is exceeded: "
                f"quota = {limit} B but diskspace consumed = {used.get(storage_type, 0)} B"
            )
