"""HAServiceProtocol: which role a namenode has, and orders to change it (pure).

Mirrors Hadoop's HAServiceProtocolServerSideTranslatorPB before NameNodeRpcServer and
NameNode. For the superuser alone. Who orders counts:

    order comes from           automatic failover on      off
    -------------------------  -------------------------  ---------------
    a person                   refused                    obeyed
    a person who forces it     obeyed, and logged         obeyed
    a failover controller      obeyed                     refused

A namenode without a shared log refuses all orders, and is healthy if it answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.service.namesystem import Namesystem
from howdah.proto import ha_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, Service

log = logging.getLogger(__name__)

Done = Callable[[errors.HowdahError | None], None]

STATES = {
    "INITIALIZING": pb.INITIALIZING,
    "ACTIVE": pb.ACTIVE,
    "STANDBY": pb.STANDBY,
    "OBSERVER": pb.OBSERVER,
}


class RoleChanges(Protocol):
    """The shell's part: it takes a while."""

    def change(self, state: str, done: Done) -> None:
        """Take a role, named as `STATES` has it, and then call `done`."""


@dataclass(frozen=True, slots=True)
class HASettings:
    """What the configuration says of changes of role."""

    automatic: bool
    not_active_in_safe_mode: bool


class HAService:
    """The calls of one namenode."""

    PROTOCOL = "org.apache.hadoop.ha.HAServiceProtocol"

    def __init__(
        self,
        namesystem: Namesystem,
        ha_state: Callable[[], str],
        trouble: Callable[[], str],
        changes: RoleChanges | None,
        settings: HASettings,
        process: Callable[[], pb.HowdahProcessProto | None] = lambda: None,
    ) -> None:
        """`trouble` says what this namenode lacks to be active, "" if nothing; `changes` is
        None where no log is shared; `process` says which process this is, if that is known."""
        self._process = process
        self._namesystem = namesystem
        self._ha_state = ha_state
        self._trouble = trouble
        self._changes = changes
        self._settings = settings

    def service(self) -> Service:
        descriptor = pb.DESCRIPTOR.services_by_name["HAServiceProtocolService"]
        # A namenode that is cut off has to say so.
        return Service(self.PROTOCOL, 1, descriptor, self, shows_state=False)

    # Asking.

    def monitor_health(
        self, request: pb.MonitorHealthRequestProto, caller: Caller
    ) -> pb.MonitorHealthResponseProto:
        """Raises HealthCheckFailed."""
        self._check(caller, "ask for the health of the namenode")
        if self._changes is not None:
            trouble = self._trouble()
            if not trouble and self._safe_mode_trouble():
                trouble = (
                    "The NameNode is configured to report UNHEALTHY to ZKFC in Safemode. "
                    + self._namesystem.safe_mode.status()
                )
            if trouble:
                raise errors.HealthCheckFailed(trouble)
        return pb.MonitorHealthResponseProto()

    def get_service_status(
        self, request: pb.GetServiceStatusRequestProto, caller: Caller
    ) -> pb.GetServiceStatusResponseProto:
        self._check(caller, "ask for the state of the namenode")
        if self._changes is None:
            raise errors.ServiceFailed("HA for namenode is not enabled")
        state = self._ha_state()
        why = self._safe_mode_trouble() if state == "STANDBY" else ""
        if state not in ("ACTIVE", "STANDBY"):
            why = f"State is {state.lower()}"
        return pb.GetServiceStatusResponseProto(
            state=STATES.get(state, pb.INITIALIZING),
            readyToBecomeActive=not why,
            notReadyReason=why or None,
            process=self._process(),
        )

    def _safe_mode_trouble(self) -> str:
        safe_mode = self._namesystem.safe_mode
        if not (safe_mode.on and self._settings.not_active_in_safe_mode):
            return ""
        return f"The NameNode is in safemode. {safe_mode.status()}"

    # Ordering.

    def transition_to_active(
        self, request: pb.TransitionToActiveRequestProto, caller: Caller
    ) -> Deferred:
        changes = self._ordered(request.reqInfo, caller, "become active")
        if self._ha_state() == "OBSERVER":
            raise errors.ServiceFailed("Cannot transition from 'observer' to 'active'")
        self._check_safe_mode("ACTIVE")
        return self._change(changes, "ACTIVE", pb.TransitionToActiveResponseProto())

    def transition_to_standby(
        self, request: pb.TransitionToStandbyRequestProto, caller: Caller
    ) -> Deferred:
        changes = self._ordered(request.reqInfo, caller, "become a standby")
        return self._change(changes, "STANDBY", pb.TransitionToStandbyResponseProto())

    def transition_to_observer(
        self, request: pb.TransitionToObserverRequestProto, caller: Caller
    ) -> Deferred:
        changes = self._ordered(request.reqInfo, caller, "become an observer")
        if self._ha_state() == "ACTIVE":
            raise errors.ServiceFailed("Cannot transition from 'active' to 'observer'")
        self._check_safe_mode("OBSERVER")
        return self._change(changes, "OBSERVER", pb.TransitionToObserverResponseProto())

    def _check_safe_mode(self, wanted: str) -> None:
        """Raises ServiceFailed where safe mode hinders this namenode from taking the role."""
        if self._ha_state() != wanted and self._safe_mode_trouble():
            status = self._namesystem.safe_mode.status()
            raise errors.ServiceFailed(f"NameNode still not leave safemode: {status}")

    def _ordered(
        self, info: pb.HAStateChangeRequestInfoProto, caller: Caller, what: str
    ) -> RoleChanges:
        """Raises AccessDenied, ServiceFailed where the order is not to be obeyed."""
        self._check(caller, what)
        if self._changes is None:
            raise errors.ServiceFailed("HA for namenode is not enabled")
        automatic = self._settings.automatic
        if info.reqSource == pb.REQUEST_BY_USER and automatic:
            raise errors.AccessDenied(
                "Manual HA control for this NameNode is disallowed, because automatic HA is "
                "enabled."
            )
        if info.reqSource == pb.REQUEST_BY_USER_FORCED and automatic:
            log.warning(
                "%s at %s forces this namenode to %s, though automatic failover is on",
                caller.user,
                caller.address,
                what,
            )
        if info.reqSource == pb.REQUEST_BY_ZKFC and not automatic:
            raise errors.AccessDenied(
                f"Request from ZK failover controller at {caller.address} denied since automatic "
                "HA is not enabled"
            )
        who = "a failover controller" if info.reqSource == pb.REQUEST_BY_ZKFC else "somebody"
        log.info("%s (%s at %s) orders to %s", who, caller.user, caller.address, what)
        return self._changes

    def _change(self, changes: RoleChanges, state: str, answer: Message) -> Deferred:
        deferred = Deferred()
        feed = deferred.fed_by(f"becoming {state.lower()}", lambda _: answer)
        changes.change(state, feed)
        return deferred

    def _check(self, caller: Caller, what: str) -> None:
        self._namesystem.permissions.check_superuser(
            self._namesystem.identities.of(caller.user), what
        )
