"""Who may order a namenode to change its role, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.service.protocols.ha_service import Done, HAService, HASettings
from howdah.proto import ha_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryNamenode

ROOT = Caller("root", b"", 0, 0, "10.0.0.9")
USER, FORCED, CONTROLLER = pb.REQUEST_BY_USER, pb.REQUEST_BY_USER_FORCED, pb.REQUEST_BY_ZKFC


@dataclass
class World:
    """A namenode that does what it is told, or fails."""

    automatic: bool = False
    not_in_safe_mode: bool = False
    shares: bool = True
    state: str = "STANDBY"
    trouble: str = ""
    failure: errors.HowdahError | None = None
    namenode: InMemoryNamenode = field(default_factory=InMemoryNamenode)

    def change(self, state: str, done: Done) -> None:
        if self.failure is None:
            self.state = state
        done(self.failure)

    @property
    def service(self) -> HAService:
        return HAService(
            self.namenode.namesystem,
            lambda: self.state,
            lambda: self.trouble,
            self if self.shares else None,
            HASettings(self.automatic, self.not_in_safe_mode),
        )

    def order(self, state: str, source: pb.HARequestSource, caller: Caller = ROOT) -> Any:
        info = pb.HAStateChangeRequestInfoProto(reqSource=source)
        orders: dict[str, Callable[[], Deferred]] = {
            "ACTIVE": lambda: self.service.transition_to_active(
                pb.TransitionToActiveRequestProto(reqInfo=info), caller
            ),
            "STANDBY": lambda: self.service.transition_to_standby(
                pb.TransitionToStandbyRequestProto(reqInfo=info), caller
            ),
            "OBSERVER": lambda: self.service.transition_to_observer(
                pb.TransitionToObserverRequestProto(reqInfo=info), caller
            ),
        }
        told: list[Message | errors.HowdahError] = []
        orders[state]().when_settled(told.append)
        if isinstance(told[0], errors.HowdahError):
            raise told[0]
        return told[0]

    def status(self) -> pb.GetServiceStatusResponseProto:
        return self.service.get_service_status(pb.GetServiceStatusRequestProto(), ROOT)

    def check_health(self) -> None:
        self.service.monitor_health(pb.MonitorHealthRequestProto(), ROOT)


@pytest.mark.req("FS-066", "FS-068")
@pytest.mark.parametrize("state", ["ACTIVE", "STANDBY", "OBSERVER"])
@pytest.mark.parametrize(
    ("automatic", "source", "obeys"),
    [
        (False, USER, True),
        (False, FORCED, True),
        (False, CONTROLLER, False),
        (True, USER, False),
        (True, FORCED, True),
        (True, CONTROLLER, True),
    ],
)
def test_orders_are_obeyed_by_who_gives_them(
    automatic: bool, source: pb.HARequestSource, obeys: bool, state: str
) -> None:
    world = World(automatic=automatic)
    if obeys:
        world.order(state, source)
        assert world.state == state
        return
    with pytest.raises(errors.AccessDenied, match="utomatic"):
        world.order(state, source)
    assert world.state == "STANDBY"


def test_all_of_it_is_for_the_superuser() -> None:
    world, somebody = World(), Caller("somebody", b"", 0, 0, "10.0.0.9")
    for act in (
        lambda: world.order("ACTIVE", USER, somebody),
        lambda: world.service.monitor_health(pb.MonitorHealthRequestProto(), somebody),
        lambda: world.service.get_service_status(pb.GetServiceStatusRequestProto(), somebody),
    ):
        with pytest.raises(errors.AccessDenied, match="Superuser privilege"):
            act()


def test_a_change_that_fails_is_told_to_who_ordered_it() -> None:
    world = World(failure=errors.ServiceFailed("the namenode stays a standby: no quorum"))
    with pytest.raises(errors.ServiceFailed, match="no quorum"):
        world.order("ACTIVE", USER)


def test_a_namenode_without_others_has_no_roles_to_change_and_is_well() -> None:
    world = World(shares=False, trouble="the disk is full")
    with pytest.raises(errors.ServiceFailed, match="HA for namenode is not enabled"):
        world.order("ACTIVE", USER)
    with pytest.raises(errors.ServiceFailed, match="HA for namenode is not enabled"):
        world.status()
    world.check_health()


@pytest.mark.parametrize(
    ("state", "order", "message"),
    [
        ("OBSERVER", "ACTIVE", "Cannot transition from 'observer' to 'active'"),
        ("ACTIVE", "OBSERVER", "Cannot transition from 'active' to 'observer'"),
    ],
)
def test_observers_and_actives_become_each_other_by_way_of_standby(
    state: str, order: str, message: str
) -> None:
    with pytest.raises(errors.ServiceFailed, match=message):
        World(state=state).order(order, USER)


@pytest.mark.parametrize(
    ("state", "value", "ready", "why"),
    [
        ("ACTIVE", pb.ACTIVE, True, ""),
        ("STANDBY", pb.STANDBY, True, ""),
        ("OBSERVER", pb.OBSERVER, False, "State is observer"),
        ("INITIALIZING", pb.INITIALIZING, False, "State is initializing"),
        ("STOPPING", pb.INITIALIZING, False, "State is stopping"),
    ],
)
def test_the_status_says_the_state_and_whether_it_may_become_active(
    state: str, value: pb.HAServiceStateProto, ready: bool, why: str
) -> None:
    status = World(state=state).status()
    assert (status.state, status.readyToBecomeActive) == (value, ready)
    assert status.notReadyReason == why


def test_safe_mode_hinders_only_if_it_is_to() -> None:
    assert World().namenode.namesystem.safe_mode.on is False
    for hinders in (False, True):
        world = World(not_in_safe_mode=hinders)
        world.namenode.namesystem.safe_mode.enter()
        assert world.status().readyToBecomeActive is not hinders
        if not hinders:
            world.check_health()
            world.order("OBSERVER", USER)
            world.order("STANDBY", USER)
            world.order("ACTIVE", USER)
            continue
        assert "The NameNode is in safemode" in world.status().notReadyReason
        configured = "The NameNode is configured to report UNHEALTHY to ZKFC in Safemode."
        with pytest.raises(errors.HealthCheckFailed, match=configured):
            world.check_health()
        for state in ("ACTIVE", "OBSERVER"):
            with pytest.raises(errors.ServiceFailed, match="NameNode still not leave safemode"):
                world.order(state, USER)
        world.order("STANDBY", USER)
        for state in ("ACTIVE", "OBSERVER"):
            # One that is it already changes nothing.
            world.state = state
            world.order(state, USER)


@pytest.mark.req("FS-067")
def test_trouble_is_told_to_who_monitors_the_health() -> None:
    world = World()
    world.check_health()
    world.trouble = "The NameNode has no resources available"
    with pytest.raises(errors.HealthCheckFailed, match="no resources"):
        world.check_health()


def test_an_order_is_in_the_log_with_who_gave_it(caplog: pytest.LogCaptureFixture) -> None:
    world = World(automatic=True)
    with caplog.at_level("INFO"):
        world.order("STANDBY", CONTROLLER)
    assert "a failover controller (root at 10.0.0.9) orders to become a standby" in caplog.text
