"""What a router is asked to read anew beside its mount table (pure).

Hadoop: RefreshAuthorizationPolicyProtocol, RefreshCallQueueProtocol, GenericRefreshProtocol. A
router of howdah has neither a queue of calls nor anything that has registered for a generic
refresh, and says so. Hadoop's routers read `hadoop-policy.xml` at their start alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.proto import refresh_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, Service

AUTHORIZATION: Final = "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
CALL_QUEUE: Final = "org.apache.hadoop.ipc.RefreshCallQueueProtocol"
GENERIC: Final = "org.apache.hadoop.ipc.GenericRefreshProtocol"


class Refreshing:
    """The methods of both protocols."""

    def refresh_call_queue(
        self, request: pb.RefreshCallQueueRequestProto, caller: Caller
    ) -> pb.RefreshCallQueueResponseProto:
        raise errors.UnsupportedOperation(
            "calls are passed on in the order in which they come: this router has no call queue "
            "to refresh"
        )

    def refresh(
        self, request: pb.GenericRefreshRequestProto, caller: Caller
    ) -> pb.GenericRefreshResponseCollectionProto:
        # As RefreshRegistry of Hadoop of an identifier that nothing has registered for.
        raise errors.IllegalArgument(
            f"Identifier '{request.identifier}' does not exist in RefreshRegistry. "
            f"Valid options are: "
        )


class PolicyRefreshing:
    """The method of RefreshAuthorizationPolicyProtocol."""

    def __init__(self, read_policy: Callable[[], Deferred]) -> None:
        """`read_policy` reads anew who may speak which protocol; its answer comes when that is in
        effect."""
        self._read_policy = read_policy

    def refresh_service_acl(
        self, request: pb.RefreshServiceAclRequestProto, caller: Caller
    ) -> Deferred:
        return self._read_policy()


def policy_service(read_policy: Callable[[], Deferred]) -> Service:
    """As both ports of a router offer it."""
    services = pb.DESCRIPTOR.services_by_name
    refreshing = PolicyRefreshing(read_policy)
    return Service(
        AUTHORIZATION, 1, services["RefreshAuthorizationPolicyProtocolService"], refreshing
    )


def refresh_services() -> list[Service]:
    """The other protocols, as a router's port for administrators offers them."""
    services = pb.DESCRIPTOR.services_by_name
    refreshing = Refreshing()
    return [
        Service(CALL_QUEUE, 1, services["RefreshCallQueueProtocolService"], refreshing),
        Service(GENERIC, 1, services["GenericRefreshProtocolService"], refreshing),
    ]
