"""Which namenode of a nameservice is active, by what their heartbeats answer (pure).

The rule of BPOfferService.updateActorStatesFromHeartbeat in Hadoop. Every answer carries
the namenode's state and the id of its last transaction (NNHAStatusHeartbeatProto):

1. At first no namenode is active.
2. A namenode that claims to be active is believed if its transaction id is newer than that
   of the last claim that was believed. It takes over from the active that there was.
3. A claim that is not newer changes nothing: that namenode was active once, and has yet to
   notice that another one has taken over.
4. The active that no longer claims it has given it up. No namenode is active then; rule 2
   still asks for a newer transaction id.
5. The active's further claims only move the transaction id forward.

Orders are obeyed if they come from the active. One order is obeyed from every namenode: to
register, since each keeps its own list of datanodes.
"""

from __future__ import annotations

import enum

from howdah.datanode.state.commands import Order, Register, Unsupported, UpdateKeys

_NO_CLAIM = -1


class Change(enum.Enum):
    """What an answer changes."""

    NOTHING = enum.auto()
    TAKEN_OVER = enum.auto()
    """The namenode is active from now on."""
    GIVEN_UP = enum.auto()
    """The namenode was active and is no longer."""
    STALE = enum.auto()
    """A claim that is not believed: another namenode has claimed it since."""


class ActiveTracker:
    """Of one nameservice. Namenodes are told apart by their names."""

    __slots__ = ("_active", "_txid")

    def __init__(self) -> None:
        self._active: str | None = None
        self._txid = _NO_CLAIM

    @property
    def active(self) -> str | None:
        return self._active

    @property
    def txid(self) -> int:
        """Of the last claim that was believed; -1 if there was none."""
        return self._txid

    def note_heartbeat(self, namenode: str, *, claims: bool, txid: int) -> Change:
        """`namenode` has answered a heartbeat, with its last transaction id."""
        is_active = self._active == namenode
        if not claims:
            if not is_active:
                return Change.NOTHING
            self._active = None
            return Change.GIVEN_UP
        if is_active:
            self._txid = max(self._txid, txid)
            return Change.NOTHING
        if txid <= self._txid:
            return Change.STALE
        self._active, self._txid = namenode, txid
        return Change.TAKEN_OVER

    def obeys(self, namenode: str, order: Order) -> bool:
        """Whether an order of this namenode counts. Keys are each namenode's own, so those of a
        standby do, too."""
        return isinstance(order, Register | Unsupported | UpdateKeys) or self._active == namenode
