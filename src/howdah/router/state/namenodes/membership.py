"""What is known of the namenodes of a nameservice (pure). Hadoop: MembershipNamenodeResolver.

The active one is asked first, then those of which nothing is known, then standbys and
observers, then those that did not answer. A read that an observer may answer goes to observers
before, to each of them in turn. What a call finds out counts as a heartbeat does.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from howdah.config.value_types import Address


class State(enum.Enum):
    """Of a namenode; the order is that in which they are asked. Hadoop:
    FederationNamenodeServiceState."""

    ACTIVE = "ACTIVE"
    UNKNOWN = "UNKNOWN"
    STANDBY = "STANDBY"
    OBSERVER = "OBSERVER"
    UNAVAILABLE = "UNAVAILABLE"


_RANK = {state: rank for rank, state in enumerate(State)}


@dataclass(slots=True)
class Namenode:
    """One of them, and what was last heard."""

    nameservice: str
    name: str
    address: Address
    state: State = State.UNKNOWN
    changed_s: float = 0.0
    contact_s: float | None = None
    """When it last answered, on the monotonic clock."""
    asked_s: float = float("-inf")
    """When the call began that told how it is, on the monotonic clock."""
    why: str = ""
    """Why it is unavailable."""
    given_up_until_s: float = 0.0
    """Calls do not try it until then, on the monotonic clock."""
    block_pool: str = ""
    cluster: str = ""
    is_in_safe_mode: bool = False
    capacity_bytes: int = 0
    available_bytes: int = 0
    missing_blocks: int = 0
    missing_single_blocks: int = 0
    low_redundancy_blocks: int = 0
    pending_deletion_blocks: int = 0

    def __str__(self) -> str:
        return f"{self.nameservice}-{self.name}" if self.name else self.nameservice

    @property
    def address_text(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"


class Members:
    """Holds the namenodes of one nameservice."""

    def __init__(self, nameservice: str, addresses: dict[str, Address]) -> None:
        self.nameservice = nameservice
        self.namenodes = [Namenode(nameservice, name, at) for name, at in addresses.items()]
        self._reads = 0

    @property
    def active(self) -> Namenode | None:
        return next(
            (namenode for namenode in self.namenodes if namenode.state is State.ACTIVE), None
        )

    @property
    def block_pool(self) -> str:
        return next((namenode.block_pool for namenode in self.namenodes if namenode.block_pool), "")

    @property
    def is_unavailable(self) -> bool:
        return all(namenode.state is State.UNAVAILABLE for namenode in self.namenodes)

    @property
    def available_bytes(self) -> int:
        active = self.active
        return active.available_bytes if active is not None else 0

    def in_order(self) -> list[Namenode]:
        """Return the namenodes in the order in which to ask them."""
        return sorted(self.namenodes, key=lambda namenode: _RANK[namenode.state])

    def next_observer(self) -> Namenode | None:
        """Whose turn it is to answer a read."""
        observers = [namenode for namenode in self.namenodes if namenode.state is State.OBSERVER]
        if not observers:
            return None
        self._reads += 1
        return observers[self._reads % len(observers)]

    def observers_first(self) -> list[Namenode]:
        """Return the namenodes in the order in which to ask them for a read that an observer may
        answer."""
        first = self.next_observer()
        others = [namenode for namenode in self.in_order() if namenode is not first]
        observers = [other for other in others if other.state is State.OBSERVER]
        rest = [other for other in others if other.state is not State.OBSERVER]
        return [*([] if first is None else [first]), *observers, *rest]

    def note_state(
        self,
        namenode: Namenode,
        state: State,
        now_s: float,
        why: str = "",
        *,
        asked_s: float | None = None,
    ) -> State:
        """What a namenode is now; returns what it was. One active at a time: the last one.

        `asked_s` is when the call began that tells so. It may have waited for long, and changes
        nothing where a call that began later has told of this namenode, or of another active.
        """
        before = namenode.state
        asked_s = now_s if asked_s is None else asked_s
        if asked_s < namenode.asked_s or (state is State.ACTIVE and self._is_overtaken(asked_s)):
            return state
        namenode.asked_s = asked_s
        if state is not before:
            namenode.changed_s = now_s
        namenode.state, namenode.why = state, why
        if state is not State.UNAVAILABLE:
            namenode.contact_s = now_s
        if state is State.ACTIVE:
            for other in self.namenodes:
                if other is not namenode and other.state is State.ACTIVE:
                    other.state, other.changed_s = State.UNKNOWN, now_s
        return before

    def _is_overtaken(self, asked_s: float) -> bool:
        active = self.active
        return active is not None and asked_s < active.asked_s
