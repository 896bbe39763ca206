"""The states of a replica, and every transition between them, as one table (pure).

The states are Hadoop's (HdfsServerConstants.ReplicaState), numbered as block reports number
them. `Replica` changes its state by this table and in no other way; a test performs each
event in each state and holds the outcome against it, and the documentation prints it.

Under recovery (RUR) a replica is stored, read and reported as what it was before, its
`stored_as`: a datanode that dies then forgets the recovery. Two events change only that.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class ReplicaState(enum.IntEnum):
    FINALIZED = 0
    RBW = 1
    """Replica being written, by a client's pipeline."""
    RWR = 2
    """Replica waiting to be recovered: nobody writes it, and it may lack acknowledged bytes."""
    RUR = 3
    """Replica under recovery."""
    TEMPORARY = 4
    """A copy from another datanode that is not whole yet."""


class Event(enum.Enum):
    """What may happen to a replica; the values are what errors and the documentation say."""

    CREATE = "create"
    COPY = "copy"
    FIND = "find"
    FINALIZE = "finalize"
    REOPEN = "reopen"
    RESTAMP = "restamp"
    RECOVER = "recover"
    JOIN = "join"
    DISTRUST = "distrust"
    BEGIN_RECOVERY = "begin recovery"
    SET_ASIDE = "set aside"
    COMPLETE_RECOVERY = "complete recovery"
    END_RECOVERY = "end recovery"
    RESTART = "restart"
    TAKE_BACK = "take back"
    DELETE = "delete"


State = ReplicaState | None
"""None: there is no replica."""


@dataclass(frozen=True, slots=True)
class Transition:
    """`event` leads from each state of `before` to one of `after`."""

    event: Event
    before: frozenset[State]
    after: frozenset[State]
    meaning: str


_FINALIZED, _RBW, _RWR = ReplicaState.FINALIZED, ReplicaState.RBW, ReplicaState.RWR
_RUR, _TEMPORARY = ReplicaState.RUR, ReplicaState.TEMPORARY


def _rule(
    event: Event, before: tuple[State, ...], after: tuple[State, ...], meaning: str
) -> Transition:
    return Transition(event, frozenset(before), frozenset(after), meaning)


TRANSITIONS: Final = (
    _rule(Event.CREATE, (None,), (_RBW,), "a client's pipeline begins the block here"),
    _rule(Event.COPY, (None,), (_TEMPORARY,), "a datanode begins to send a copy of the block"),
    _rule(Event.FIND, (None,), (_FINALIZED, _RWR), "a start finds its files on a volume"),
    _rule(Event.FINALIZE, (_RBW, _TEMPORARY), (_FINALIZED,), "all bytes of the block are here"),
    _rule(Event.REOPEN, (_FINALIZED,), (_RBW,), "a client appends, under a newer stamp"),
    _rule(
        Event.RESTAMP,
        (_FINALIZED,),
        (_FINALIZED,),
        "its pipeline is closed once more, under a newer stamp",
    ),
    _rule(Event.RECOVER, (_RBW,), (_RBW,), "its pipeline is rebuilt, under a newer stamp"),
    _rule(
        Event.JOIN,
        (_TEMPORARY,),
        (_RBW,),
        "the copy is whole and becomes a member of a client's pipeline",
    ),
    _rule(
        Event.DISTRUST,
        (_FINALIZED,),
        (_RWR,),
        "a recovery finds it damaged: only its good part is left",
    ),
    _rule(
        Event.DISTRUST, (_RUR,), (_RUR,), "the same, found under a recovery; it is stored as RWR"
    ),
    _rule(
        Event.BEGIN_RECOVERY,
        (_FINALIZED, _RBW, _RWR),
        (_RUR,),
        "nobody writes it until its length is agreed upon",
    ),
    _rule(
        Event.BEGIN_RECOVERY, (_RUR,), (_RUR,), "a later recovery takes over from an earlier one"
    ),
    _rule(
        Event.SET_ASIDE,
        (_RUR,),
        (_RUR,),
        "a finalized replica is about to be cut; it is stored as RWR until it is",
    ),
    _rule(
        Event.COMPLETE_RECOVERY,
        (_RUR,),
        (_FINALIZED,),
        "it has the agreed length, under the recovery's id",
    ),
    _rule(
        Event.END_RECOVERY,
        (_RUR,),
        (_FINALIZED, _RBW, _RWR),
        "a truncate made another block of it; it is again what it was stored as",
    ),
    _rule(Event.RESTART, (_FINALIZED,), (_FINALIZED,), "its datanode ends and starts again"),
    _rule(Event.RESTART, (_RBW, _RWR), (_RWR,), "the same; no pipeline has it now"),
    _rule(
        Event.RESTART,
        (_RUR,),
        (_FINALIZED, _RWR),
        "the same; the recovery is forgotten, and what it was stored as decides",
    ),
    _rule(Event.RESTART, (_TEMPORARY,), (None,), "the same; a copy that is not whole is deleted"),
    _rule(
        Event.TAKE_BACK,
        (_RWR,),
        (_RBW,),
        "after a restart that its writer was told of, and waits for",
    ),
    _rule(
        Event.DELETE,
        tuple(ReplicaState),
        (None,),
        "the namenode invalidates it, its copy fails, or its files are moved to quarantine",
    ),
)


def outcomes(event: Event, before: State) -> frozenset[State]:
    """Return the states to which `event` may lead; none where it cannot happen."""
    states: frozenset[State] = frozenset()
    for rule in TRANSITIONS:
        if rule.event is event and before in rule.before:
            states |= rule.after
    return states


_OUTCOMES: Final = {
    (event, state): outcomes(event, state) for event in Event for state in (None, *ReplicaState)
}


def states_before(event: Event) -> tuple[str, ...]:
    """The names of the states in which it can happen."""
    return tuple(sorted(s.name for s in ReplicaState if _OUTCOMES[event, s]))


def is_allowed(event: Event, before: State, after: State) -> bool:
    return after in _OUTCOMES[event, before]


def markdown() -> str:
    """The table as the documentation has it."""
    lines = ["| event | from | to | what happens |", "|---|---|---|---|"]
    for rule in TRANSITIONS:
        before, after = _names(rule.before), _names(rule.after)
        lines.append(f"| {rule.event.value} | {before} | {after} | {rule.meaning} |")
    return "\n".join(lines) + "\n"


def _names(states: frozenset[State]) -> str:
    if states == frozenset(ReplicaState):
        return "any"
    named = [state.name for state in ReplicaState if state in states]
    return ", ".join(named + (["none"] if None in states else []))
