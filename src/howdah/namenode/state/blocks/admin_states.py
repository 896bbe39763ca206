"""The administrative states of a datanode, and what moves a datanode between them (pure).

Hadoop's `DatanodeInfo.AdminStates`. An operator orders by the host files (`host_lists`); the
namenode carries the order out and finds when it is done (`decommission`). A datanode may be
alive or dead in each of the states.
"""

from __future__ import annotations

import enum
from typing import Final

from howdah.runtime.state_table import Transition


class AdminState(enum.IntEnum):
    """The same numbers on the wire."""

    NORMAL = 0
    DECOMMISSION_INPROGRESS = 1
    DECOMMISSIONED = 2
    ENTERING_MAINTENANCE = 3
    IN_MAINTENANCE = 4

    @property
    def is_decommission(self) -> bool:
        return self in (AdminState.DECOMMISSION_INPROGRESS, AdminState.DECOMMISSIONED)

    @property
    def is_maintenance(self) -> bool:
        return self in (AdminState.ENTERING_MAINTENANCE, AdminState.IN_MAINTENANCE)

    @property
    def is_under_way(self) -> bool:
        """Whether the datanode waits until its blocks have enough replicas elsewhere."""
        return self in (AdminState.DECOMMISSION_INPROGRESS, AdminState.ENTERING_MAINTENANCE)


MEANINGS: Final = {
    AdminState.NORMAL: "in service",
    AdminState.DECOMMISSION_INPROGRESS: "it is to leave; its blocks are copied elsewhere",
    AdminState.DECOMMISSIONED: "it may be shut down for ever",
    AdminState.ENTERING_MAINTENANCE: "it is to rest; blocks that would have too few replicas "
    "meanwhile are copied elsewhere",
    AdminState.IN_MAINTENANCE: "it may be shut down for a while",
}


class AdminEvent(enum.Enum):
    """What happens to a datanode."""

    DECOMMISSION = "decommission"
    DECOMMISSION_DEAD = "decommission of a dead datanode"
    MAINTENANCE = "maintenance"
    MAINTENANCE_AT_ONCE = "maintenance at once"
    SERVICE = "service"
    ENOUGH_ELSEWHERE = "enough elsewhere"


_S: Final = AdminState
_E: Final = AdminEvent
_LEAVE: Final = "operator: the host files exclude the datanode"
_LEAVE_DEAD: Final = "operator: the host files exclude the datanode, which is dead"
_REST: Final = "operator: the host file orders maintenance"
_REST_NOW: Final = (
    "operator: the host file orders maintenance, and the datanode is dead or "
    "`dfs.namenode.maintenance.replication.min` is 0"
)
_RETURN: Final = "operator: the host files order neither any more"
_RETURN_LATE: Final = "operator: the host files order neither any more; or the time is over"
_DONE: Final = "namenode: each block has enough replicas elsewhere"

_EVENTS: Final = (
    (_S.NORMAL, _E.DECOMMISSION, _S.DECOMMISSION_INPROGRESS, _LEAVE),
    (_S.NORMAL, _E.DECOMMISSION_DEAD, _S.DECOMMISSIONED, _LEAVE_DEAD),
    (_S.NORMAL, _E.MAINTENANCE, _S.ENTERING_MAINTENANCE, _REST),
    (_S.NORMAL, _E.MAINTENANCE_AT_ONCE, _S.IN_MAINTENANCE, _REST_NOW),
    (_S.DECOMMISSION_INPROGRESS, _E.ENOUGH_ELSEWHERE, _S.DECOMMISSIONED, _DONE),
    (_S.DECOMMISSION_INPROGRESS, _E.SERVICE, _S.NORMAL, _RETURN),
    (_S.DECOMMISSION_INPROGRESS, _E.MAINTENANCE, _S.ENTERING_MAINTENANCE, _REST),
    (_S.DECOMMISSION_INPROGRESS, _E.MAINTENANCE_AT_ONCE, _S.IN_MAINTENANCE, _REST_NOW),
    (_S.DECOMMISSIONED, _E.SERVICE, _S.NORMAL, _RETURN),
    (_S.DECOMMISSIONED, _E.MAINTENANCE, _S.IN_MAINTENANCE, _REST),
    (_S.DECOMMISSIONED, _E.MAINTENANCE_AT_ONCE, _S.IN_MAINTENANCE, _REST_NOW),
    (_S.ENTERING_MAINTENANCE, _E.ENOUGH_ELSEWHERE, _S.IN_MAINTENANCE, _DONE),
    (_S.ENTERING_MAINTENANCE, _E.SERVICE, _S.NORMAL, _RETURN_LATE),
    (_S.ENTERING_MAINTENANCE, _E.DECOMMISSION, _S.DECOMMISSION_INPROGRESS, _LEAVE),
    (_S.ENTERING_MAINTENANCE, _E.DECOMMISSION_DEAD, _S.DECOMMISSIONED, _LEAVE_DEAD),
    (_S.IN_MAINTENANCE, _E.SERVICE, _S.NORMAL, _RETURN_LATE),
    (_S.IN_MAINTENANCE, _E.DECOMMISSION, _S.DECOMMISSION_INPROGRESS, _LEAVE),
    (_S.IN_MAINTENANCE, _E.DECOMMISSION_DEAD, _S.DECOMMISSIONED, _LEAVE_DEAD),
)

ADMIN_TRANSITIONS: Final[tuple[Transition[AdminState], ...]] = tuple(
    Transition(before, event.value, after, cause) for before, event, after, cause in _EVENTS
)
"""What is in no row changes nothing."""

_NEXT: Final = {(before, event): after for before, event, after, _ in _EVENTS}


def next_state(state: AdminState, event: AdminEvent) -> AdminState:
    """The state after the event."""
    return _NEXT.get((state, event), state)
