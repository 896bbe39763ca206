"""What one journal node decides in an election: to whom it lends its lease (pure).

Failover controllers elect the active namenode on the journal nodes where there is no
ZooKeeper. Who is granted the lease by a majority under one term is elected. No node decides
that: a node answers for itself, and the rules make all majorities agree.

N1. A lease is granted under a *term* larger than any that the node has promised, and only while
    it lends none to another holder. The promise is on disk before the answer.
N2. The holder renews under the same term, before or after the lease has run out, until the node
    has promised a later term. It may go on under a later term, too.
N3. Released, a lease is free at once. Its term is spent: what comes late renews nothing.
N4. After a restart a node has forgotten its lease, and honours it all the same: for the time to
    live that it granted last it grants nothing, save to the holder that it promised its term.
N5. The *breadcrumb* says who may be active. It is written under the term of the elected, to a
    majority, and refused by a node that has promised a later one. So a majority that elects
    somebody knows the latest breadcrumb that any majority has taken, and by N1 nobody
    completes an earlier one afterwards.

An election is for liveness only. That there is one writer follows from the epochs of the
journal, and that there is one who answers from the active's lease on the journal.

Times are milliseconds of the node's own monotonic clock, given from outside.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors

MAX_CONTENT_BYTES: Final = 4096
MAX_TTL_MS: Final = 600_000
MAX_TERM: Final = 1 << 62
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,254}")
_ELECTION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,126}")


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """Who may be active, and under which term that was written; None: nobody any more."""

    term: int
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Lease:
    holder: str
    content: bytes
    until_ms: int


@dataclass(frozen=True, slots=True)
class Promise:
    """What outlives a restart."""

    term: int = 0
    holder: str | None = None
    """To whom the term was promised; None once that lease was released."""
    ttl_ms: int = 0
    breadcrumb: Breadcrumb | None = None


@dataclass(frozen=True, slots=True)
class Election:
    """What a node knows of one election."""

    promise: Promise = Promise()
    lease: Lease | None = None
    """Under the term that was promised last."""
    silent_until_ms: int = 0

    def lease_at(self, now_ms: int) -> Lease | None:
        """The lease, unless it has run out."""
        return self.lease if self.lease is not None and now_ms < self.lease.until_ms else None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request was granted, and what the node knows then.

    The promise of `after` is to be on disk before the answer leaves, if it has changed.
    """

    accepted: bool
    after: Election


def restarted(promise: Promise, now_ms: int) -> Election:
    """What a node knows that has just read its promise from disk (N4)."""
    silent_ms = promise.ttl_ms if promise.holder is not None else 0
    return Election(promise, silent_until_ms=now_ms + silent_ms)


def acquire(
    known: Election, holder: str, term: int, ttl_ms: int, content: bytes, now_ms: int
) -> Decision:
    """Grant a lease, or renew it. Raises IllegalArgument for what nobody may ask for."""
    _check_holder(holder, term)
    _check_content(content)
    if not 0 < ttl_ms <= MAX_TTL_MS:
        raise errors.IllegalArgument(f"a lease of {ttl_ms} ms: 1 to {MAX_TTL_MS} are allowed")
    promise = known.promise
    is_renewal = promise.holder == holder and promise.term == term
    if not is_renewal:
        lease = known.lease_at(now_ms)
        is_lent = lease is not None and lease.holder != holder
        is_silent = now_ms < known.silent_until_ms and promise.holder != holder
        if is_lent or is_silent or term <= promise.term:
            return Decision(False, known)
    if not is_renewal or promise.ttl_ms != ttl_ms:
        promise = replace(promise, term=term, holder=holder, ttl_ms=ttl_ms)
    return Decision(
        True,
        Election(promise, Lease(holder, content, now_ms + ttl_ms), known.silent_until_ms),
    )


def release(known: Election, holder: str, term: int) -> Decision:
    """Give a lease back. What is no lease of the holder's stays as it is."""
    _check_holder(holder, term)
    promise = known.promise
    if promise.holder != holder or promise.term != term:
        return Decision(False, known)
    # Whoever waited for this holder's lease after a restart waits no longer.
    return Decision(True, Election(replace(promise, holder=None)))


def set_breadcrumb(known: Election, holder: str, term: int, content: bytes | None) -> Decision:
    """Write the breadcrumb, or clear it (None), as the elected of a term (N5)."""
    _check_holder(holder, term)
    _check_content(content or b"")
    promise = known.promise
    if term < promise.term or (term == promise.term and promise.holder not in (None, holder)):
        return Decision(False, known)
    if promise.breadcrumb is not None and promise.breadcrumb.term > term:
        return Decision(False, known)
    written = replace(promise, breadcrumb=Breadcrumb(term, content))
    if term > promise.term:
        # A majority elected the holder without this node, which makes the same promise now.
        written = replace(written, term=term, holder=holder)
        return Decision(True, replace(known, promise=written, lease=None))
    return Decision(True, replace(known, promise=written))


def check_election_id(election_id: str) -> str:
    """The id, which may be part of a file's name. Raises IllegalArgument."""
    if not _ELECTION_ID.fullmatch(election_id):
        raise errors.IllegalArgument(f"{election_id[:140]!r} is no id of an election")
    return election_id


def _check_holder(holder: str, term: int) -> None:
    if not _NAME.fullmatch(holder):
        raise errors.IllegalArgument(f"{holder[:260]!r} is no name of a holder")
    if not 0 < term < MAX_TERM:
        raise errors.IllegalArgument(f"term {term}: 1 to {MAX_TERM - 1} are allowed")


def _check_content(content: bytes) -> None:
    if len(content) > MAX_CONTENT_BYTES:
        raise errors.IllegalArgument(
            f"a content of {len(content)} bytes: at most {MAX_CONTENT_BYTES} are allowed"
        )
