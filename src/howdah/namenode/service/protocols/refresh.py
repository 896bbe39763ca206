"""Settings that an administrator has read anew while the namenode runs (pure).

Hadoop has a protocol for each kind of them. Of what they are about the namenode has
the groups of users, who may act for whom, and who may speak which protocol; the rest it refuses,
and says what there is not. As in Hadoop anybody may ask for these who may speak their protocols:
all that it changes is when the namenode looks something up.

A few settings of the configuration can change, too (`Reconfiguration`; the superuser's).

`GetUserMappingsProtocol` stands beside them: it tells anybody the groups of any user, as the
namenode knows them, in every role.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.namenode.service.attributes.satisfaction import change_mode
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.reconstruction import Streams
from howdah.proto import client_datanode_pb2
from howdah.proto import refresh_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, Service

log = logging.getLogger(__name__)

RECONFIGURATION: Final = "org.apache.hadoop.hdfs.protocol.ReconfigurationProtocol"
AUTHORIZATION: Final = "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
USER_MAPPINGS: Final = "org.apache.hadoop.security.RefreshUserMappingsProtocol"
CALL_QUEUE: Final = "org.apache.hadoop.ipc.RefreshCallQueueProtocol"
GROUPS: Final = "org.apache.hadoop.tools.GetUserMappingsProtocol"

Done = Callable[[errors.HowdahError | None], None]
OnceKnown = Callable[[str, Done], None]
"""Calls back when the groups of a user are known, or with the reason why they are not."""


class Refreshing:
    """The methods of the three protocols that have settings read anew."""

    def __init__(
        self,
        namesystem: Namesystem,
        read_proxy_users: Callable[[Done], None],
        read_policy: Callable[[Done], None],
    ) -> None:
        """`read_proxy_users` reads anew who may act for whom, and `read_policy` who may speak which
        protocol; both call back."""
        self._namesystem = namesystem
        self._read_proxy_users = read_proxy_users
        self._read_policy = read_policy

    def refresh_user_to_groups_mappings(
        self, request: pb.RefreshUserToGroupsMappingsRequestProto, caller: Caller
    ) -> pb.RefreshUserToGroupsMappingsResponseProto:
        """Whoever calls from now on has the groups that the system knows by then."""
        self._namesystem.identities.forget_all()
        return pb.RefreshUserToGroupsMappingsResponseProto()

    def refresh_super_user_groups_configuration(
        self, request: pb.RefreshSuperUserGroupsConfigurationRequestProto, caller: Caller
    ) -> Deferred:
        """Who connects from now on acts for those whom the configuration's files name by then.
        Raises InvalidConfiguration for what is no rule."""
        answer = Deferred()

        def respond(_: None) -> pb.RefreshSuperUserGroupsConfigurationResponseProto:
            return pb.RefreshSuperUserGroupsConfigurationResponseProto()

        self._read_proxy_users(answer.fed_by("refreshSuperUserGroupsConfiguration", respond))
        return answer

    def refresh_service_acl(
        self, request: pb.RefreshServiceAclRequestProto, caller: Caller
    ) -> Deferred:
        """All connections are judged by what the configuration's files say by then. Raises
        AuthorizationFailed where no such policy is followed, and InvalidConfiguration for what is
        none."""
        answer = Deferred()

        def respond(_: None) -> pb.RefreshServiceAclResponseProto:
            return pb.RefreshServiceAclResponseProto()

        self._read_policy(answer.fed_by("refreshServiceAcl", respond))
        return answer

    def refresh_call_queue(
        self, request: pb.RefreshCallQueueRequestProto, caller: Caller
    ) -> pb.RefreshCallQueueResponseProto:
        raise errors.UnsupportedOperation(
            "calls are served in the order in which they come: there is no call queue to refresh"
        )


class UserMappings:
    """Hadoop's GetUserMappingsProtocol."""

    def __init__(self, namesystem: Namesystem, once_known: OnceKnown) -> None:
        self._namesystem = namesystem
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

        def respond(_: None) -> pb.GetGroupsForUserResponseProto:
            who = self._namesystem.permissions.identity(request.user)
            return pb.GetGroupsForUserResponseProto(groups=who.groups)

        self._once_known(request.user, answer.fed_by("getGroupsForUser", respond))
        return answer


def _heartbeats(namesystem: Namesystem, new: Settings) -> None:
    namesystem.settings = replace(
        namesystem.settings,
        heartbeat_expiry_ms=new.heartbeat_expiry_ms,
        datanode_moves_ms=new.datanode_moves_ms,
    )
    namesystem.datanode_manager.datanodes.expiry_ms = new.heartbeat_expiry_ms


def _pace(namesystem: Namesystem, new: Settings) -> None:
    namesystem.settings = replace(
        namesystem.settings,
        copies_per_node=new.copies_per_node,
        max_streams=new.max_streams,
        most_streams=new.most_streams,
        pending_copy_ms=new.pending_copy_ms,
    )
    namesystem.block_manager.reconstruction.pace(
        blocks_per_node=new.copies_per_node,
        streams=Streams(new.max_streams, max(new.max_streams, new.most_streams)),
        pending_timeout_ms=new.pending_copy_ms,
    )


def _deletions(namesystem: Namesystem, new: Settings) -> None:
    namesystem.settings = replace(
        namesystem.settings, deletions_per_command=new.deletions_per_command
    )


def _slow_nodes(namesystem: Namesystem, new: Settings) -> None:
    namesystem.settings = replace(
        namesystem.settings,
        avoid_slow_for_writing=new.avoid_slow_for_writing,
        avoid_slow_for_reading=new.avoid_slow_for_reading,
        max_slow_nodes=new.max_slow_nodes,
    )
    namesystem.block_manager.avoids_slow = new.avoid_slow_for_writing
    namesystem.datanode_manager.slow_peers.limit(new.max_slow_nodes)


def _placement(namesystem: Namesystem, new: Settings) -> None:
    namesystem.settings = replace(namesystem.settings, placement=new.placement)
    namesystem.block_manager.placement.change_policy(new.placement)


def _satisfier(namesystem: Namesystem, new: Settings) -> None:
    change_mode(namesystem, is_external=new.satisfier_is_external)


def _protection(namesystem: Namesystem, new: Settings) -> None:
    namesystem.settings = replace(
        namesystem.settings, protected_directories=new.protected_directories
    )


RECONFIGURABLE: Final[Mapping[str, Callable[[Namesystem, Settings], None]]] = {
    "dfs.block.invalidate.limit": _deletions,
    "dfs.block.replicator.classname": _placement,
    "dfs.heartbeat.interval": _heartbeats,
    "dfs.namenode.avoid.read.slow.datanode": _slow_nodes,
    "dfs.namenode.block-placement-policy.exclude-slow-nodes.enabled": _slow_nodes,
    "dfs.namenode.heartbeat.recheck-interval": _heartbeats,
    "dfs.namenode.max.slowpeer.collect.nodes": _slow_nodes,
    "dfs.namenode.reconstruction.pending.timeout-sec": _pace,
    "dfs.namenode.replication.max-streams": _pace,
    "dfs.namenode.replication.max-streams-hard-limit": _pace,
    "dfs.namenode.replication.work.multiplier.per.iteration": _pace,
    "dfs.storage.policy.satisfier.mode": _satisfier,
    "fs.protected.directories": _protection,
}
"""What a running namenode takes from its files when an administrator says so, sorted: keys that
Hadoop's takes, too."""

Values = Mapping[str, str]
"""The texts of the keys of `RECONFIGURABLE`."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Of one setting; `error` is empty where it is in effect."""

    name: str
    old: str
    new: str
    error: str


class Reconfiguration:
    """The last new look at the configuration; one is taken at a time. ReconfigurableBase in Hadoop.

    One setting after the other is changed; what cannot keeps its old value, and the reason is
    told. As in Hadoop the look is about this namenode alone, in whichever role."""

    def __init__(
        self,
        namesystem: Namesystem,
        in_effect: Values,
        read: Callable[[Callable[[Values | errors.HowdahError], None]], None],
        settings_with: Callable[[Values], Settings],
    ) -> None:
        """`read` calls back with what the files say now. `settings_with` gives the settings with
        these values, and raises HowdahError for what they cannot be."""
        self._namesystem = namesystem
        self._in_effect = dict(in_effect)
        self._read = read
        self._settings_with = settings_with
        self._started_ms = self._ended_ms = 0
        self._changes: list[_Change] = []

    def service(self) -> Service:
        services = client_datanode_pb2.DESCRIPTOR.services_by_name
        return Service(RECONFIGURATION, 1, services["ReconfigurationProtocolService"], self)

    def start_reconfiguration(
        self, request: client_datanode_pb2.StartReconfigurationRequestProto, caller: Caller
    ) -> client_datanode_pb2.StartReconfigurationResponseProto:
        self._check(caller, "startNamenodeReconfiguration")
        if self._started_ms and not self._ended_ms:
            raise errors.RemoteError("Another reconfiguration task is running.")
        self._started_ms, self._ended_ms = self._namesystem.clock.wall_ms(), 0
        self._changes = []
        self._read(self._changed)
        return client_datanode_pb2.StartReconfigurationResponseProto()

    def get_reconfiguration_status(
        self, request: client_datanode_pb2.GetReconfigurationStatusRequestProto, caller: Caller
    ) -> client_datanode_pb2.GetReconfigurationStatusResponseProto:
        self._check(caller, "getNamenodeReconfigurationStatus")
        answer = client_datanode_pb2.GetReconfigurationStatusResponseProto(
            startTime=self._started_ms
        )
        if self._ended_ms:
            answer.endTime = self._ended_ms
            for change in self._changes:
                answer.changes.add(
                    name=change.name,
                    oldValue=change.old,
                    newValue=change.new,
                    errorMessage=change.error or None,
                )
        return answer

    def list_reconfigurable_properties(
        self, request: client_datanode_pb2.ListReconfigurablePropertiesRequestProto, caller: Caller
    ) -> client_datanode_pb2.ListReconfigurablePropertiesResponseProto:
        self._check(caller, "listNamenodeReconfigurableProperties")
        return client_datanode_pb2.ListReconfigurablePropertiesResponseProto(name=RECONFIGURABLE)

    def _check(self, caller: Caller, what: str) -> None:
        self._namesystem.permissions.check_superuser(
            self._namesystem.identities.of(caller.user), what
        )

    def _changed(self, fresh: Values | errors.HowdahError) -> None:
        if isinstance(fresh, errors.HowdahError):
            log.error("the configuration cannot be read anew: %s", fresh)
            self._changes.append(_Change("", "", "", str(fresh)))
        else:
            for name, apply in RECONFIGURABLE.items():
                old, new = self._in_effect[name], fresh[name]
                if old != new:
                    self._changes.append(_Change(name, old, new, self._apply(name, new, apply)))
        self._ended_ms = self._namesystem.clock.wall_ms()

    def _apply(self, name: str, new: str, apply: Callable[[Namesystem, Settings], None]) -> str:
        """Why the setting cannot be changed; empty if it is."""
        values = {**self._in_effect, name: new}
        try:
            apply(self._namesystem, self._settings_with(values))
        except errors.HowdahError as error:
            log.error("%s cannot be changed to %s: %s", name, new, error)
            return str(error)
        log.info("%s is changed from %s to %s", name, self._in_effect[name], new)
        self._in_effect = values
        return ""


def refresh_services(
    namesystem: Namesystem,
    once_known: OnceKnown,
    read_proxy_users: Callable[[Done], None],
    read_policy: Callable[[Done], None],
) -> list[Service]:
    """All four protocols, as a server offers them."""
    refreshing = Refreshing(namesystem, read_proxy_users, read_policy)
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
            GROUPS,
            1,
            services["GetUserMappingsProtocolService"],
            UserMappings(namesystem, once_known),
        ),
    ]
