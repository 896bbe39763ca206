"""ZKFCProtocol: what administrators and other controllers ask of a controller (shell).

Mirrors Hadoop's ZKFCRpcServer and DFSZKFailoverController.checkRpcAdminAccess: the user who runs
the controller may ask, and those in dfs.cluster.administrators.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import Final

from howdah import errors
from howdah.failover.namenodes import CONTROLLER_PROTOCOL
from howdah.proto import failover_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Service

log = logging.getLogger(__name__)

VERSION: Final = 1
LONGEST_CEDE_MS: Final = 3_600_000


class ControllerCalls:
    """The calls. `cede` and `fail_over` raise HowdahError."""

    def __init__(
        self,
        cede: Callable[[int], None],
        fail_over: Callable[[], None],
        administrators: Container[str],
    ) -> None:
        """`administrators` are names of users."""
        self._cede = cede
        self._fail_over = fail_over
        self._administrators = administrators

    def cede_active(
        self, request: failover_pb2.CedeActiveRequestProto, caller: Caller
    ) -> failover_pb2.CedeActiveResponseProto:
        self._check(caller)
        for_ms = request.millisToCede
        if for_ms >= 1 << 31:
            for_ms -= 1 << 32  # Hadoop sends -1, and the field knows no sign
        if for_ms > LONGEST_CEDE_MS:
            raise errors.IllegalArgument(
                f"cede for {for_ms} ms: at most {LONGEST_CEDE_MS} are allowed"
            )
        log.info("%s at %s asks to cede for %d ms", caller.user, caller.address, for_ms)
        self._cede(for_ms)
        return failover_pb2.CedeActiveResponseProto()

    def graceful_failover(
        self, request: failover_pb2.GracefulFailoverRequestProto, caller: Caller
    ) -> failover_pb2.GracefulFailoverResponseProto:
        self._check(caller)
        log.info("%s at %s asks for a graceful failover", caller.user, caller.address)
        self._fail_over()
        return failover_pb2.GracefulFailoverResponseProto()

    def _check(self, caller: Caller) -> None:
        user = caller.user.partition("@")[0].partition("/")[0]
        if user not in self._administrators:
            raise errors.AccessDenied(
                f"Disallowed RPC access from {caller.user} at {caller.address}. "
                "Not listed in dfs.cluster.administrators"
            )


def controller_service(calls: ControllerCalls) -> Service:
    """ZKFCProtocol, for the registry of a server."""
    descriptor = failover_pb2.DESCRIPTOR.services_by_name["ZKFCProtocolService"]
    return Service(CONTROLLER_PROTOCOL, VERSION, descriptor, calls)
