"""The states of a file's lease, and what moves it between them (pure).

Hadoop's `LeaseManager` has no such states by name; its `Lease` has the same two limits.
`leases` has the holders and their times, `writing.lease_recovery` takes files over. The
edits in the table are in the log, renewals are not: after a restart all leases of clients
count as just renewed.
"""

from __future__ import annotations

import enum
from typing import Final

from howdah.namenode.state.tree.leases import LeaseRegistry, is_namenode_holder
from howdah.runtime.state_table import Transition


class LeasePhase(enum.Enum):
    """Where a file's lease is on its way."""

    NONE = "no client writes the file"
    HELD = "a client writes it, and has renewed its lease within the soft limit"
    SOFT_EXPIRED = "the client was silent beyond the soft limit: another may have it recovered"
    HARD_EXPIRED = "the client was silent beyond the hard limit: the namenode recovers it"
    RECOVERING = "the namenode holds the lease, and recovers the file"


def phase_of(leases: LeaseRegistry, inode_id: int, now_ms: int) -> LeasePhase:
    """The phase of one file's lease at `now_ms`."""
    holder = leases.holder_of(inode_id)
    if holder is None:
        return LeasePhase.NONE
    if is_namenode_holder(holder):
        return LeasePhase.RECOVERING
    if leases.is_hard_expired(holder, now_ms):
        return LeasePhase.HARD_EXPIRED
    return LeasePhase.SOFT_EXPIRED if leases.soft_expired(holder, now_ms) else LeasePhase.HELD


RENEWED: Final = "renewal"
SOFT_LIMIT: Final = "soft limit"
HARD_LIMIT: Final = "hard limit"
DELETED: Final = "file deleted"

_P: Final = LeasePhase
_ASKED: Final = "client: `recoverLease`, at any time"
_WANTED: Final = "client: `create`, `append`, `truncate` or `recoverLease` of another client"
_BY_ITSELF: Final = "namenode: its round of lease recovery"
_DELETED: Final = "client: the file is deleted or replaced"

LEASE_TRANSITIONS: Final[tuple[Transition[LeasePhase], ...]] = (
    Transition(_P.NONE, "OP_ADD", _P.HELD, "client: `create`"),
    Transition(_P.NONE, "OP_APPEND", _P.HELD, "client: `append`"),
    Transition(_P.NONE, "OP_TRUNCATE", _P.HELD, "client: `truncate` within a block"),
    Transition(_P.HELD, RENEWED, _P.HELD, "client: `renewLease`, or it opens another file"),
    Transition(_P.HELD, SOFT_LIMIT, _P.SOFT_EXPIRED, "time: no renewal for the soft limit"),
    Transition(_P.SOFT_EXPIRED, HARD_LIMIT, _P.HARD_EXPIRED, "time: none for the hard limit"),
    Transition(_P.SOFT_EXPIRED, RENEWED, _P.HELD, "client: `renewLease`; it lives after all"),
    Transition(_P.HARD_EXPIRED, RENEWED, _P.HELD, "client: `renewLease`; it lives after all"),
    Transition(_P.HELD, "OP_REASSIGN_LEASE", _P.RECOVERING, _ASKED),
    Transition(_P.SOFT_EXPIRED, "OP_REASSIGN_LEASE", _P.RECOVERING, _WANTED),
    Transition(_P.HARD_EXPIRED, "OP_REASSIGN_LEASE", _P.RECOVERING, _BY_ITSELF),
    Transition(
        _P.RECOVERING,
        "OP_REASSIGN_LEASE",
        _P.RECOVERING,
        "namenode: after a restart or a failover, under its own name",
    ),
    Transition(_P.HELD, "OP_CLOSE", _P.NONE, "client: `complete`; primary: a truncation is done"),
    Transition(
        _P.SOFT_EXPIRED, "OP_CLOSE", _P.NONE, "client: `complete`; namenode: nothing to recover"
    ),
    Transition(
        _P.HARD_EXPIRED, "OP_CLOSE", _P.NONE, "client: `complete`; namenode: nothing to recover"
    ),
    Transition(
        _P.RECOVERING,
        "OP_CLOSE",
        _P.NONE,
        "primary: `commitBlockSynchronization`; namenode: all blocks are complete",
    ),
    Transition(_P.HELD, DELETED, _P.NONE, _DELETED),
    Transition(_P.SOFT_EXPIRED, DELETED, _P.NONE, _DELETED),
    Transition(_P.HARD_EXPIRED, DELETED, _P.NONE, _DELETED),
    Transition(_P.RECOVERING, DELETED, _P.NONE, _DELETED),
)
