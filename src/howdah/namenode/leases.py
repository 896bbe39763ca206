"""Leases: who writes which file (pure).

A client holds one lease for all the files that it writes and renews it by its
client name. After the soft limit another client may take a file over; after the
hard limit the namenode closes the files itself. Which files are held follows
from the edits; only the times of renewal are not in the log, so a started
namenode counts from its start.

Times are milliseconds of one monotonic `now_ms` that the caller passes.
"""

from __future__ import annotations

from typing import Final

SOFT_LIMIT_MS: Final = 60_000


class Lease:
    """One holder's lease."""

    __slots__ = ("holder", "inode_ids", "renewed_ms")

    def __init__(self, holder: str, renewed_ms: int) -> None:
        self.holder = holder
        self.inode_ids: set[int] = set()
        self.renewed_ms = renewed_ms


class LeaseRegistry:
    """All leases, by holder; a file is in at most one of them (FS-005)."""

    def __init__(self, hard_limit_ms: int = 20 * 60_000) -> None:
        self.hard_limit_ms = hard_limit_ms
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

    def grant(self, holder: str, inode_id: int) -> None:
        """`holder` writes the file from now on."""
        assert inode_id not in self._holder_of, f"inode {inode_id} is leased already"
        lease = self._leases.get(holder)
        if lease is None:
            lease = self._leases[holder] = Lease(holder, self._clock_ms)
        lease.inode_ids.add(inode_id)
        self._holder_of[inode_id] = holder

    def release(self, inode_id: int) -> None:
        """Nobody writes the file any more; releasing what is not held is no error."""
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
        """At start: nobody can have renewed while the namenode was away."""
        self.advance(now_ms)
        for lease in self._leases.values():
            lease.renewed_ms = now_ms

    def advance(self, now_ms: int) -> None:
        """Leases granted from here on count from `now_ms`."""
        self._clock_ms = max(self._clock_ms, now_ms)

    def soft_expired(self, holder: str, now_ms: int) -> bool:
        lease = self._leases.get(holder)
        return lease is None or now_ms - lease.renewed_ms > SOFT_LIMIT_MS

    def hard_expired(self, now_ms: int) -> list[Lease]:
        """Leases whose holders have been silent beyond the hard limit."""
        return [
            lease
            for lease in self._leases.values()
            if now_ms - lease.renewed_ms > self.hard_limit_ms
        ]
