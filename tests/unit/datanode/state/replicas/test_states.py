"""The table of a replica's states against the code: what it allows can be done, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.state.replicas.replicas import Recovery, Replica
from howdah.datanode.state.replicas.states import (
    TRANSITIONS,
    Event,
    ReplicaState,
    markdown,
    outcomes,
)
from howdah.protocol.data_transfer.blocks import StorageType

Lab = Any
STAMP, RECOVERY_ID, DATA = 1001, 2000, b"x" * 700

ON_A_REPLICA: dict[Event, Callable[[Replica], object]] = {
    Event.FINALIZE: Replica.finalize,
    Event.REOPEN: lambda replica: replica.reopen(STAMP + 1, b""),
    Event.RESTAMP: lambda replica: replica.restamp(STAMP + 1),
    Event.RECOVER: lambda replica: replica.recover(STAMP + 1, replica.length_bytes, b""),
    Event.JOIN: lambda replica: replica.join(0),
    Event.DISTRUST: lambda replica: replica.distrust((0, b"")),
    Event.BEGIN_RECOVERY: lambda replica: replica.begin_recovery(STAMP, RECOVERY_ID + 1),
    Event.SET_ASIDE: Replica.set_aside,
    Event.COMPLETE_RECOVERY: Replica.complete_recovery,
    Event.END_RECOVERY: Replica.end_recovery,
    Event.TAKE_BACK: Replica.take_back,
}
IN_A_STORE = {Event.CREATE, Event.COPY, Event.FIND, Event.RESTART, Event.DELETE}
STORED = (ReplicaState.FINALIZED, ReplicaState.RBW, ReplicaState.RWR)


def replicas_in(state: ReplicaState) -> list[Replica]:
    """A replica in that state; under recovery, one for each state that it may be stored in."""
    if state is not ReplicaState.RUR:
        return [Replica(1, STAMP, state, "DS", 100)]
    found = [Replica(1, STAMP, state, "DS", 100) for _ in STORED]
    for replica, stored in zip(found, STORED, strict=True):
        replica.recovery = Recovery(RECOVERY_ID, stored)
    return found


def test_every_event_is_held_against_the_code() -> None:
    assert ON_A_REPLICA.keys() | IN_A_STORE == set(Event)
    assert not ON_A_REPLICA.keys() & IN_A_STORE


@pytest.mark.parametrize("state", list(ReplicaState))
@pytest.mark.parametrize("event", list(ON_A_REPLICA))
def test_an_event_leads_where_the_table_says_and_fails_elsewhere(
    event: Event, state: ReplicaState
) -> None:
    reached = set()
    for replica in replicas_in(state):
        try:
            ON_A_REPLICA[event](replica)
        except (errors.HowdahError, AssertionError):
            assert replica.state is state, "what fails changes nothing"
        else:
            reached.add(replica.state)
    assert reached == outcomes(event, state)


# --- events of a store, on real files ---


def replica_at(lab: Lab, state: ReplicaState, stored: ReplicaState) -> Any:
    """A datanode without a control process that has block 1 in that state."""
    node = lab.node()
    if stored is ReplicaState.FINALIZED:
        lab.write_block(node, lab.block(), DATA)
    else:
        is_copy = stored is ReplicaState.TEMPORARY
        writer = node.store.create(lab.block(), lab.SPEC, StorageType.DISK, temporary=is_copy)
        event = Event.COPY if is_copy else Event.CREATE
        assert outcomes(event, None) == {writer.replica.state}
        if stored is ReplicaState.RWR:
            node = restarted(lab, node)
    if state is ReplicaState.RUR:
        found(node).begin_recovery(STAMP, RECOVERY_ID)
    assert found(node).state is state
    return node


def restarted(lab: Lab, node: Any) -> Any:
    node.close()
    return lab.node(root=node.root)


def found(node: Any) -> Any:
    return node.replicas.find("BP-7-127.0.0.1-1", 1)


EVERYWHERE = [
    (ReplicaState.FINALIZED, ReplicaState.FINALIZED),
    (ReplicaState.RBW, ReplicaState.RBW),
    (ReplicaState.RWR, ReplicaState.RWR),
    (ReplicaState.TEMPORARY, ReplicaState.TEMPORARY),
    (ReplicaState.RUR, ReplicaState.FINALIZED),
    (ReplicaState.RUR, ReplicaState.RBW),
    (ReplicaState.RUR, ReplicaState.RWR),
]


@pytest.mark.parametrize(("state", "stored"), EVERYWHERE)
def test_a_restart_leads_where_the_table_says(
    lab: Lab, state: ReplicaState, stored: ReplicaState
) -> None:
    replica = found(restarted(lab, replica_at(lab, state, stored)))
    after = None if replica is None else replica.state
    assert after in outcomes(Event.RESTART, state)
    assert outcomes(Event.RESTART, stored) == {after}
    assert replica is None or after in outcomes(Event.FIND, None)


@pytest.mark.parametrize(("state", "stored"), EVERYWHERE)
def test_a_replica_in_any_state_is_deleted_with_its_files(
    lab: Lab, state: ReplicaState, stored: ReplicaState
) -> None:
    node = replica_at(lab, state, stored)
    assert outcomes(Event.DELETE, state) == {None}
    assert node.store.invalidate(lab.block())
    assert found(node) is None
    assert node.files("rbw") | node.files("finalized") | node.files("tmp") == set()


# --- the table itself ---


def test_each_state_is_reached_and_left() -> None:
    for state in ReplicaState:
        assert any(state in rule.after for rule in TRANSITIONS)
        assert any(state in rule.before for rule in TRANSITIONS)


def test_no_event_has_two_rules_for_one_state() -> None:
    pairs = [(rule.event, state) for rule in TRANSITIONS for state in rule.before]
    assert len(pairs) == len(set(pairs))


def test_the_documentation_has_a_line_for_each_rule() -> None:
    lines = markdown().splitlines()
    assert len(lines) == 2 + len(TRANSITIONS)
    assert "| reopen | FINALIZED | RBW | a client appends, under a newer stamp |" in lines
    assert "| create | none | RBW | a client's pipeline begins the block here |" in lines
