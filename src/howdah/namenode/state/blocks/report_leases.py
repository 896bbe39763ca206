"""Which datanodes may send a full block report now (pure).

Hadoop's `BlockReportLeaseManager`. A full report is the most expensive call that a
namenode serves, and all datanodes want to send one after it has started. So a datanode
asks for a lease with a heartbeat, and reports when it gets one; the others ask again
with their next heartbeats.

1. `request`: a lease for a datanode, or 0 while as many as allowed are out. A datanode
   that asks again has lost its lease, and gets another one.
2. `check`: a report names its lease. 0 is for a report that an administrator asked for,
   and is always accepted. The report under a lease may come in several calls.
3. `release`: the last call is served, and the lease is free for the next datanode.

A lease that is not used in time is void, and so is the lease of a datanode that died.

A namenode that has become active needs a full report of every datanode again. `is_due` says
whether this datanode is to be told now to register again, which makes it ask for a lease:
at most as many at a time as there are leases. A report under a lease of before is taken,
but is no answer to that (`is_of_this_term`): the datanode may not have heard yet who is
active.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from howdah import errors

NO_LEASE = 0
"""In an answer: not now. In a report: it needs none."""


@dataclass(frozen=True, slots=True)
class _Lease:
    lease_id: int
    until_ms: int


class ReportLeases:
    """The leases that are out."""

    def __init__(self, limit: int, length_ms: int, *, first_id: int = 1) -> None:
        """At most `limit` leases at a time, each for `length_ms`. Those of a namenode that
        was here before are not taken for ours if `first_id` is beyond theirs."""
        self._limit = limit
        self._length_ms = length_ms
        self._ids: Iterator[int] = itertools.count(max(first_id, NO_LEASE + 1))
        self._leases: dict[str, _Lease] = {}
        self._asked_until_ms: dict[str, int] = {}
        self._term_begins_with = NO_LEASE + 1

    def __len__(self) -> int:
        return len(self._leases)

    def request(self, uuid: str, is_alive: Callable[[str], bool], now_ms: int) -> int:
        """A lease for this datanode, or `NO_LEASE`."""
        self._leases.pop(uuid, None)
        self._asked_until_ms.pop(uuid, None)
        if len(self._leases) >= self._limit:
            self._leases = {
                holder: lease
                for holder, lease in self._leases.items()
                if lease.until_ms > now_ms and is_alive(holder)
            }
            if len(self._leases) >= self._limit:
                return NO_LEASE
        lease = _Lease(next(self._ids), now_ms + self._length_ms)
        self._leases[uuid] = lease
        return lease.lease_id

    def check(self, uuid: str, lease_id: int, now_ms: int) -> None:
        """`InvalidReportLease` unless this datanode may report under this lease."""
        if lease_id == NO_LEASE:
            return
        held = self._leases.get(uuid)
        if held is None or held.lease_id != lease_id:
            raise errors.InvalidReportLease(
                f"block report lease {lease_id:#x} of datanode {uuid} is not valid: "
                + ("it has none" if held is None else f"it has {held.lease_id:#x}")
            )
        if held.until_ms <= now_ms:
            del self._leases[uuid]
            raise errors.InvalidReportLease(
                f"block report lease {lease_id:#x} of datanode {uuid} is not valid: it ended "
                f"{now_ms - held.until_ms} ms ago"
            )

    def is_out(self, uuid: str, now_ms: int) -> bool:
        """Whether this datanode has a lease that it may still use."""
        held = self._leases.get(uuid)
        return held is not None and held.until_ms > now_ms

    def begin_term(self) -> None:
        """The namenode has become active, or has ceased to be."""
        self._term_begins_with = next(self._ids)
        self._asked_until_ms.clear()

    def is_of_this_term(self, lease_id: int) -> bool:
        """Whether the lease was given out since the role of the namenode changed last."""
        return lease_id >= self._term_begins_with

    def is_due(self, uuid: str, now_ms: int) -> bool:
        """Whether this datanode, of which a full report is wanted, is to be told so now."""
        asked = self._asked_until_ms
        if asked.get(uuid, now_ms) > now_ms:
            return False
        if len(asked) >= self._limit:
            asked = {other: until_ms for other, until_ms in asked.items() if until_ms > now_ms}
            self._asked_until_ms = asked
        if len(asked) >= self._limit:
            return False
        asked[uuid] = now_ms + self._length_ms
        return True

    def release(self, uuid: str) -> None:
        """The datanode has reported."""
        self._leases.pop(uuid, None)
