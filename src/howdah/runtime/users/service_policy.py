"""Who may speak which protocol, from which machines (pure).

ServiceAuthorizationManager and HDFSPolicyProvider in Hadoop.

With `hadoop.security.authorization` a server reads `hadoop-policy.xml`. A protocol has four lists
there; for the protocol of clients these are

    security.client.protocol.acl            who may: `user1,user2 group1,group2`, or *
    security.client.protocol.acl.blocked    who may not, although listed
    security.client.protocol.hosts          from where: addresses, ranges, names of machines, or *
    security.client.protocol.hosts.blocked  from where not

A list that is not set is that of `security.service.authorization.default`, and without that
everybody may, from everywhere. A list that is set and empty names nobody. The rules:

1. A protocol without lists is spoken by nobody.
2. The user of the connection has to be in the first list and not in the second. Of one who is acted
   for the real user does not count.
3. Then the address has to be in the third list and not in the fourth.

A judgement asks for what it depends on: the groups of a user, where no list names him, and the
addresses of machines that are listed by name. It is a generator of questions, which is sent the
answers. A machine that cannot be looked up now lets nobody in, and nobody past a list of blocked
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config.keys.names.policy_names import DEFAULT_LISTS
from howdah.runtime.users.access_list import ListedUsers
from howdah.runtime.users.proxy_users import Machines

FILE: Final = "hadoop-policy.xml"
_ACL, _HOSTS, _BLOCKED = ".acl", ".hosts", ".blocked"
_HADOOP: Final = "org.apache.hadoop."

SERVICES: Final[Mapping[str, str]] = {
    f"{_HADOOP}hdfs.protocol.ClientProtocol": "security.client.protocol",
    f"{_HADOOP}hdfs.protocol.ClientDatanodeProtocol": "security.client.datanode.protocol",
    f"{_HADOOP}hdfs.server.protocol.DatanodeProtocol": "security.datanode.protocol",
    f"{_HADOOP}hdfs.server.protocol.InterDatanodeProtocol": "security.inter.datanode.protocol",
    f"{_HADOOP}hdfs.server.protocol.NamenodeProtocol": "security.namenode.protocol",
    f"{_HADOOP}hdfs.qjournal.protocol.QJournalProtocol": "security.qjournal.service.protocol",
    f"{_HADOOP}hdfs.qjournal.protocol.InterQJournalProtocol": (
        "security.interqjournal.service.protocol"
    ),
    f"{_HADOOP}ha.HAServiceProtocol": "security.ha.service.protocol",
    f"{_HADOOP}ha.ZKFCProtocol": "security.zkfc.protocol",
    f"{_HADOOP}security.authorize.RefreshAuthorizationPolicyProtocol": (
        "security.refresh.policy.protocol"
    ),
    f"{_HADOOP}security.RefreshUserMappingsProtocol": "security.refresh.user.mappings.protocol",
    f"{_HADOOP}tools.GetUserMappingsProtocol": "security.get.user.mappings.protocol",
    f"{_HADOOP}ipc.RefreshCallQueueProtocol": "security.refresh.callqueue.protocol",
    f"{_HADOOP}ipc.GenericRefreshProtocol": "security.refresh.generic.protocol",
    f"{_HADOOP}hdfs.server.protocol.DatanodeLifelineProtocol": (
        "security.datanode.lifeline.protocol"
    ),
    f"{_HADOOP}hdfs.protocol.ReconfigurationProtocol": "security.reconfiguration.protocol",
    f"{_HADOOP}hdfs.protocolPB.RouterAdminProtocol": "security.router.admin.protocol",
    # Controllers elect at journal nodes by this one, which Hadoop does not have.
    "org.howdah.journalnode.ElectionProtocol": "security.qjournal.service.protocol",
}
"""By the Java names of protocols: what the keys of their lists begin with."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A connection that wants to speak a protocol."""

    protocol: str
    """By its Java name."""
    user: str
    """Whose rights count, by the short name."""
    shown: str
    """The user as Hadoop's UserGroupInformation shows him."""
    address: str
    principal: str | None = None
    """Who alone speaks the protocol, where only one may."""


@dataclass(frozen=True, slots=True)
class GroupsOf:
    """Asks for the groups of a user."""

    user: str


@dataclass(frozen=True, slots=True)
class AddressesOf:
    """Asks for the addresses of a machine."""

    machine: str


Question = GroupsOf | AddressesOf
Judgement = Generator[Question, Sequence[str] | None, None]
"""Is sent what it asked for, or has the reason thrown why there is no answer. It ends where the
connection may speak, and raises AuthorizationFailed where not."""


@dataclass(frozen=True, slots=True)
class ServiceLists:
    """Of one protocol."""

    users: ListedUsers
    blocked_users: ListedUsers
    machines: Machines
    blocked_machines: Machines

    def judge(self, speaker: Speaker) -> Judgement:
        user, address = speaker.user, speaker.address
        may = (yield from _is_listed(self.users, user)) and not (
            yield from _is_listed(self.blocked_users, user)
        )
        if not may:
            cause = "denied by configured ACL"
            if speaker.principal is not None:
                cause = f"this service is only accessible by {speaker.principal}"
            raise errors.AuthorizationFailed(
                f"User {speaker.shown} is not authorized for protocol interface "
                f"{speaker.protocol}: {cause}"
            )
        may = (yield from _is_among(self.machines, address, is_lenient=True)) and not (
            yield from _is_among(self.blocked_machines, address, is_lenient=False)
        )
        if not may:
            raise errors.AuthorizationFailed(
                f"Host {address} is not authorized for protocol interface {speaker.protocol}"
            )


def _is_listed(listed: ListedUsers, user: str) -> Generator[Question, Sequence[str] | None, bool]:
    if listed.everybody or user in listed.users:
        return True
    if not listed.groups:
        return False
    return not listed.groups.isdisjoint((yield GroupsOf(user)) or ())


def _is_among(
    machines: Machines, address: str, *, is_lenient: bool
) -> Generator[Question, Sequence[str] | None, bool]:
    """Whether an address is of one of the machines. Where `is_lenient`, those that cannot be
    looked up are none."""
    if machines.include(address):
        return True
    for name in machines.names:
        try:
            looked_up = yield AddressesOf(name)
        except errors.HowdahError:
            if not is_lenient:
                raise
            continue
        if machines.include(address, looked_up or ()):
            return True
    return False


class ServicePolicy:
    """The lists of all protocols, as they were when the configuration was read."""

    def __init__(self, lists: Mapping[str, ServiceLists]) -> None:
        self.lists: Final = lists

    @classmethod
    def parse(cls, value_of: Callable[[str], str | None]) -> ServicePolicy:
        """`value_of` gives the text of a key, None where it is not set.

        Raises InvalidConfiguration for a range of addresses that is none.
        """

        def text_of(prefix: str, kind: str, default: str) -> tuple[str, str]:
            for key in (prefix + kind, DEFAULT_LISTS + kind):
                value = value_of(key)
                if value is not None:
                    return key, value
            return prefix + kind, default

        def users_of(prefix: str, kind: str, default: str) -> ListedUsers:
            return ListedUsers.parse(text_of(prefix, kind, default)[1])

        def machines_of(prefix: str, kind: str, default: str) -> Machines:
            key, text = text_of(prefix, kind, default)
            try:
                return Machines.parse(text)
            except ValueError as error:
                raise errors.InvalidConfiguration(f"{key} = {text!r}: {error}") from error

        return cls(
            {
                protocol: ServiceLists(
                    users_of(prefix, _ACL, "*"),
                    users_of(prefix, _ACL + _BLOCKED, ""),
                    machines_of(prefix, _HOSTS, "*"),
                    machines_of(prefix, _HOSTS + _BLOCKED, ""),
                )
                for protocol, prefix in SERVICES.items()
            }
        )

    def judge(self, speaker: Speaker) -> Judgement:
        """Find out whether a connection may speak a protocol."""
        lists = self.lists.get(speaker.protocol)
        if lists is None:
            raise errors.AuthorizationFailed(f"Protocol interface {speaker.protocol} is not known.")
        yield from lists.judge(speaker)
