"""Leases: which client writes which file (pure).

Hadoop's `LeaseManager`. `lease_states` has the table of states.

A client holds one lease for all files that it writes, and renews it by its client name.
After the soft limit another client may have a file recovered. After the hard limit the
namenode recovers the files itself. Either way the namenode takes the lease first, and
the old holder can no longer write. Which files are held follows from the edits. The
times of renewal are not in the log: after a restart they count from the start.

Times are milliseconds of one monotonic `now_ms` that the caller passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from howdah import errors

SOFT_LIMIT_MS: Final = 60_000

NAMENODE_HOLDER: Final = "HDFS_NameNode"
"""How the names begin under which namenodes hold leases: of files that they recover."""


def namenode_holder(wall_ms: int) -> str:
    """The name under which a namenode that starts now holds leases, as Hadoop forms it.

    >>> namenode_holder(1_700_000_000_123)
    'HDFS_NameNode-2023-11-14 22:13:20,123+0000'
    """
    started = datetime.fromtimestamp(wall_ms // 1000, UTC)
    return f"{NAMENODE_HOLDER}-{started:%Y-%m-%d %H:%M:%S},{wall_ms % 1000:03}+0000"


def is_namenode_holder(holder: str) -> bool:
    """True for this namenode's name, and for those of earlier starts."""
    return holder.startswith(NAMENODE_HOLDER + "-")


def check_client_name(client_name: str) -> None:
    """Raises IllegalArgument for a name that only a namenode may go by: its bearer could
    go on writing a file that is being recovered."""
    if is_namenode_holder(client_name):
        raise errors.IllegalArgument(f"the client name {client_name} is a namenode's")


class Lease:
    """One holder's lease."""

    __slots__ = ("holder", "inode_ids", "renewed_ms")

    def __init__(self, holder: str, renewed_ms: int) -> None:
        self.holder = holder
        self.inode_ids: set[int] = set()
        self.renewed_ms = renewed_ms


class LeaseRegistry:
    """All leases, by holder; a file is in at most one of them (FS-005)."""

    def __init__(
        self, hard_limit_ms: int = 20 * 60_000, soft_limit_ms: int = SOFT_LIMIT_MS
    ) -> None:
        self.hard_limit_ms = hard_limit_ms
        self.soft_limit_ms = soft_limit_ms
        self._leases: dict[str, Lease] = {}
        self._holder_of: dict[int, str] = {}
        self._clock_ms = 0

    def __len__(self) -> int:
        return len(self._leases)

    @property
    def open_files(self) -> int:
        return len(self._holder_of)

    def holder_of(self, inode_id: int) -> str | None:
        return self._holder_of.get(inode_id)

    def held_among(self, entries: Iterable[object]) -> set[int]:
        """Those of the entries of a directory that are ids of files that somebody writes."""
        return {i for i in entries if i in self._holder_of} if self._holder_of else set()

    def grant(self, holder: str, inode_id: int) -> None:
        """`holder` writes the file from now on."""
        assert inode_id not in self._holder_of, f"inode {inode_id} is leased already"
        lease = self._leases.get(holder)
        if lease is None:
            lease = self._leases[holder] = Lease(holder, self._clock_ms)
        lease.inode_ids.add(inode_id)
        self._holder_of[inode_id] = holder

    def release(self, inode_id: int) -> None:
        """No client writes the file any more. A file that is not held is no error."""
        holder = self._holder_of.pop(inode_id, None)
        if holder is None:
            return
        lease = self._leases[holder]
        lease.inode_ids.discard(inode_id)
        if not lease.inode_ids:
            del self._leases[holder]

    def renew(self, holder: str, now_ms: int) -> None:
        """The holder lives. An unknown holder has nothing to renew."""
        self.advance(now_ms)
        lease = self._leases.get(holder)
        if lease is not None:
            lease.renewed_ms = now_ms

    def renew_all(self, now_ms: int) -> None:
        """At a start: no client could renew while the namenode was down."""
        self.advance(now_ms)
        for lease in self._leases.values():
            lease.renewed_ms = now_ms

    def advance(self, now_ms: int) -> None:
        """Leases granted from here on count from `now_ms`."""
        self._clock_ms = max(self._clock_ms, now_ms)

    def soft_expired(self, holder: str, now_ms: int) -> bool:
        lease = self._leases.get(holder)
        return lease is None or now_ms - lease.renewed_ms > self.soft_limit_ms

    def is_hard_expired(self, holder: str, now_ms: int) -> bool:
        """Whether the holder, who has a lease, has been silent beyond the hard limit."""
        lease = self._leases.get(holder)
        return lease is not None and now_ms - lease.renewed_ms > self.hard_limit_ms

    def hard_expired(self, now_ms: int) -> list[Lease]:
        """Leases whose holders have been silent beyond the hard limit."""
        return [
            lease
            for lease in self._leases.values()
            if now_ms - lease.renewed_ms > self.hard_limit_ms
        ]

    def of_namenodes(self) -> list[Lease]:
        """Leases of this namenode, and of it before it was started anew."""
        return [lease for lease in self._leases.values() if is_namenode_holder(lease.holder)]

    def held(self) -> list[int]:
        """The inode ids of all files that are being written, in order."""
        return sorted(self._holder_of)
