"""Settings that an administrator has read anew while the namenode runs (pure).

Hadoop has a protocol for each kind of them. Of what they are about the namenode has
the groups of users; the rest it refuses, and says what there is not. As in Hadoop
anybody may ask, who passes the authorization of services, of which there is none here:
all that it changes is when the namenode looks something up.

`GetUserMappingsProtocol` stands beside them: it tells anybody the groups of any user, as the
namenode knows them, in every role.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.namenode.calls.core import Core
from howdah.proto import refresh_pb2 as pb
from howdah.rpc.service import Caller, Deferred, Service

AUTHORIZATION: Final = "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
USER_MAPPINGS: Final = "org.apache.hadoop.security.RefreshUserMappingsProtocol"
CALL_QUEUE: Final = "org.apache.hadoop.ipc.RefreshCallQueueProtocol"
GROUPS: Final = "org.apache.hadoop.tools.GetUserMappingsProtocol"

OnceKnown = Callable[[str, Callable[[errors.HowdahError | None], None]], None]
"""Calls back when the groups of a user are known, or with the reason why they are not."""


class Refreshing:
    """The methods of the three protocols that have settings read anew."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def refresh_user_to_groups_mappings(
        self, request: pb.RefreshUserToGroupsMappingsRequestProto, caller: Caller
    ) -> pb.RefreshUserToGroupsMappingsResponseProto:
        """Whoever calls from now on has the groups that the system knows by then."""
        self._core.forget_identities()
        return pb.RefreshUserToGroupsMappingsResponseProto()

    def refresh_super_user_groups_configuration(
        self, request: pb.RefreshSuperUserGroupsConfigurationRequestProto, caller: Caller
    ) -> pb.RefreshSuperUserGroupsConfigurationResponseProto:
        """Nobody may act for somebody else here, so there is nothing to read anew."""
        return pb.RefreshSuperUserGroupsConfigurationResponseProto()

    def refresh_service_acl(
        self, request: pb.RefreshServiceAclRequestProto, caller: Caller
    ) -> pb.RefreshServiceAclResponseProto:
        raise errors.AuthorizationFailed("Service Level Authorization not enabled!")

    def refresh_call_queue(
        self, request: pb.RefreshCallQueueRequestProto, caller: Caller
    ) -> pb.RefreshCallQueueResponseProto:
        raise errors.UnsupportedOperation(
            "calls are served in the order in which they come: there is no call queue to refresh"
        )


class UserMappings:
    """Hadoop's GetUserMappingsProtocol."""

    def __init__(self, core: Core, once_known: OnceKnown) -> None:
        self._core = core
        self._once_known = once_known

    def get_groups_for_user(
        self, request: pb.GetGroupsForUserRequestProto, caller: Caller
    ) -> Deferred:
        """The groups of a user, none of one whom the system does not know.

        The answer waits for the look-up, which may ask a directory service. Raises
        IllegalArgument for an empty name, with Hadoop's text.
        """
        if not request.user:
            raise errors.IllegalArgument("Null user")
        answer = Deferred()

        def tell(_: None) -> pb.GetGroupsForUserResponseProto:
            who = self._core.permissions.identity(request.user)
            return pb.GetGroupsForUserResponseProto(groups=who.groups)

        self._once_known(request.user, answer.fed_by("getGroupsForUser", tell))
        return answer


def refresh_services(core: Core, once_known: OnceKnown) -> list[Service]:
    """All four protocols, as a server offers them."""
    refreshing = Refreshing(core)
    services = pb.DESCRIPTOR.services_by_name
    return [
        *(
            Service(protocol, 1, services[name], refreshing)
            for protocol, name in (
                (AUTHORIZATION, "RefreshAuthorizationPolicyProtocolService"),
                (USER_MAPPINGS, "RefreshUserMappingsProtocolService"),
                (CALL_QUEUE, "RefreshCallQueueProtocolService"),
            )
        ),
        Service(
            GROUPS, 1, services["GetUserMappingsProtocolService"], UserMappings(core, once_known)
        ),
    ]
