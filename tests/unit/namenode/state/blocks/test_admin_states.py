"""The table of administrative states."""

from __future__ import annotations

import pytest

from howdah.namenode.state.blocks.admin_states import (
    ADMIN_TRANSITIONS,
    MEANINGS,
    AdminEvent,
    AdminState,
    next_state,
)
from howdah.proto import types_pb2


def test_states_have_hadoops_names_and_numbers() -> None:
    wire = types_pb2.DatanodeInfoProto.AdminState
    assert {state.name: state.value for state in AdminState} == dict(wire.items())
    assert set(MEANINGS) == set(AdminState)


def test_every_state_is_reached_and_left() -> None:
    assert {row.before for row in ADMIN_TRANSITIONS} == set(AdminState)
    assert {row.after for row in ADMIN_TRANSITIONS} == set(AdminState)


@pytest.mark.parametrize("state", AdminState)
def test_an_order_to_serve_leads_back_to_service(state: AdminState) -> None:
    assert next_state(state, AdminEvent.SERVICE) is AdminState.NORMAL


@pytest.mark.parametrize("state", AdminState)
@pytest.mark.parametrize("event", AdminEvent)
def test_an_event_that_is_repeated_changes_nothing_more(
    state: AdminState, event: AdminEvent
) -> None:
    after = next_state(state, event)
    assert next_state(after, event) is after


@pytest.mark.parametrize(
    "event", [AdminEvent.DECOMMISSION, AdminEvent.DECOMMISSION_DEAD, AdminEvent.ENOUGH_ELSEWHERE]
)
def test_who_has_left_stays_so(event: AdminEvent) -> None:
    assert next_state(AdminState.DECOMMISSIONED, event) is AdminState.DECOMMISSIONED


def test_nobody_rests_without_an_order() -> None:
    for state in (AdminState.NORMAL, AdminState.DECOMMISSION_INPROGRESS, AdminState.DECOMMISSIONED):
        assert not next_state(state, AdminEvent.ENOUGH_ELSEWHERE).is_maintenance
