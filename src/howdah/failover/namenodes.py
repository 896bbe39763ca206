"""Calls to namenodes and to failover controllers: HAServiceProtocol and ZKFCProtocol (shell).

A refused connection is not tried again here: nobody listens, and the next check is soon. `user` is
who an administrator is; a controller calls as its process.
"""

from __future__ import annotations

import logging
from typing import Final, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.failover.state.service import (
    RequestSource,
    ServiceState,
    ServiceStatus,
    ServingProcess,
    Target,
)
from howdah.proto import failover_pb2, ha_pb2
from howdah.rpc.client import AnswerType, RpcClient

HA_PROTOCOL: Final = "org.apache.hadoop.ha.HAServiceProtocol"
CONTROLLER_PROTOCOL: Final = "org.apache.hadoop.ha.ZKFCProtocol"
_CONNECT_TIMEOUT_S: Final = 20.0

M = TypeVar("M", bound=Message)
log = logging.getLogger(__name__)

_STATES: Final = {
    ha_pb2.INITIALIZING: ServiceState.INITIALIZING,
    ha_pb2.ACTIVE: ServiceState.ACTIVE,
    ha_pb2.STANDBY: ServiceState.STANDBY,
    ha_pb2.OBSERVER: ServiceState.OBSERVER,
}
_SOURCES: Final = {
    RequestSource.USER: ha_pb2.REQUEST_BY_USER,
    RequestSource.USER_FORCED: ha_pb2.REQUEST_BY_USER_FORCED,
    RequestSource.CONTROLLER: ha_pb2.REQUEST_BY_ZKFC,
}


class Namenode:
    """One namenode, asked with one time-out. Methods raise HowdahError."""

    def __init__(self, target: Target, timeout_s: float, user: str | None = None) -> None:
        self.target = target
        self._client = _client(target.address, HA_PROTOCOL, timeout_s, user)

    def status(self) -> ServiceStatus:
        answer = self._call(
            "getServiceStatus",
            ha_pb2.GetServiceStatusRequestProto(),
            ha_pb2.GetServiceStatusResponseProto,
        )
        state = _STATES.get(answer.state)
        if state is None:
            raise errors.ProtocolViolation(f"{self.target} is in no known state: {answer.state}")
        return ServiceStatus(
            state, answer.readyToBecomeActive, answer.notReadyReason, _process(answer)
        )

    def check_health(self) -> None:
        """Raises HealthCheckFailed where the namenode says that it is not well."""
        self._call(
            "monitorHealth", ha_pb2.MonitorHealthRequestProto(), ha_pb2.MonitorHealthResponseProto
        )

    def make_active(self, source: RequestSource) -> None:
        self._call(
            "transitionToActive",
            ha_pb2.TransitionToActiveRequestProto(reqInfo=_by(source)),
            ha_pb2.TransitionToActiveResponseProto,
        )

    def make_standby(self, source: RequestSource) -> None:
        self._call(
            "transitionToStandby",
            ha_pb2.TransitionToStandbyRequestProto(reqInfo=_by(source)),
            ha_pb2.TransitionToStandbyResponseProto,
        )

    def make_observer(self, source: RequestSource) -> None:
        self._call(
            "transitionToObserver",
            ha_pb2.TransitionToObserverRequestProto(reqInfo=_by(source)),
            ha_pb2.TransitionToObserverResponseProto,
        )

    def close(self) -> None:
        self._client.close()

    def _call(self, method: str, request: Message, answer_type: AnswerType[M]) -> M:
        answer = self._client.call(method, request, answer_type)
        if not answer.IsInitialized():
            raise errors.ProtocolViolation(
                f"{self.target} answered {method} without a required field"
            )
        return answer


def _process(answer: ha_pb2.GetServiceStatusResponseProto) -> ServingProcess | None:
    if not answer.HasField("process"):
        return None
    process = answer.process
    return ServingProcess(
        process.pid,
        process.startTicks,
        process.bootId,
        process.writerEpoch if process.HasField("writerEpoch") else None,
    )


def make_standby(
    target: Target, source: RequestSource, timeout_s: float, user: str | None = None
) -> None:
    """Order a namenode to be standby, once. Raises HowdahError."""
    namenode = Namenode(target, timeout_s, user)
    try:
        namenode.make_standby(source)
    finally:
        namenode.close()


def make_active(
    target: Target, source: RequestSource, timeout_s: float, user: str | None = None
) -> None:
    """Order a namenode to be active, once. Raises HowdahError."""
    namenode = Namenode(target, timeout_s, user)
    try:
        namenode.make_active(source)
    finally:
        namenode.close()


def fence_gracefully(
    target: Target, source: RequestSource, timeout_s: float, user: str | None = None
) -> bool:
    """Order a namenode to be standby; False if it did not say that it is."""
    try:
        make_standby(target, source, timeout_s, user)
    except errors.HowdahError as error:
        log.warning("%s did not become standby when it was asked: %s", target, error)
        return False
    return True


class Controller:
    """The failover controller of a namenode. Methods raise HowdahError."""

    def __init__(self, target: Target, timeout_s: float, user: str | None = None) -> None:
        self.target = target
        self._client = _client(target.controller_address, CONTROLLER_PROTOCOL, timeout_s, user)

    def cede(self, for_ms: int) -> None:
        """Have its namenode made standby, and stay out of the election; -1: no longer."""
        self._client.call(
            "cedeActive",
            failover_pb2.CedeActiveRequestProto(millisToCede=for_ms & 0xFFFFFFFF),
            failover_pb2.CedeActiveResponseProto,
        )

    def fail_over_to_it(self) -> None:
        """Have its namenode made active, the active of now standby."""
        self._client.call(
            "gracefulFailover",
            failover_pb2.GracefulFailoverRequestProto(),
            failover_pb2.GracefulFailoverResponseProto,
        )

    def close(self) -> None:
        self._client.close()


def _client(address: Address, protocol: str, timeout_s: float, user: str | None) -> RpcClient:
    return RpcClient(
        address,
        protocol,
        user=user,
        connect_timeout_s=min(timeout_s, _CONNECT_TIMEOUT_S),
        call_timeout_s=timeout_s,
    )


def _by(source: RequestSource) -> ha_pb2.HAStateChangeRequestInfoProto:
    return ha_pb2.HAStateChangeRequestInfoProto(reqSource=_SOURCES[source])
