"""Who may act for whom, from which machines (pure): Hadoop's DefaultImpersonationProvider, its
MachineList and AccessControlList.

A service such as Hive connects under its own name, the real user, and acts for somebody else, the
effective user, whose rights count. Three keys say for whom, and from where:

    hadoop.proxyuser.NAME.users     names of users, or *
    hadoop.proxyuser.NAME.groups    names of groups of users, or *
    hadoop.proxyuser.NAME.hosts     addresses, ranges such as 10.0.0.0/8, names of machines, or *

1. The real user has to have rules, and the effective user has to be among `users` or in one of
   `groups`. Nobody acts even for himself without them.
2. Then the connection has to come from one of `hosts`. Rules without `hosts` allow nothing.
3. A `*` means everything where it stands alone, and is a name like others in a list.

What has to be asked of others is a question here: groups (`needs_groups`) and the addresses of
machines (`names_to_look_up`). Neither is asked for a real user without rules, so strangers cause
no look-ups. Ranges may be of IPv6 here, and a name stands for all addresses that it has.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.config.value_types import parse_list
from howdah.runtime.users.names import not_allowed

log = logging.getLogger(__name__)

EVERYTHING: Final = "*"
_USERS, _GROUPS, _HOSTS = ".users", ".groups", ".hosts"

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Machines:
    """Holds the value of a key `hosts`."""

    everywhere: bool = False
    addresses: frozenset[str] = frozenset()
    networks: tuple[_Network, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Machines:
        """Raises ValueError for a range that is none."""
        entries = parse_list(text)
        if set(entries) == {EVERYTHING}:
            return cls(everywhere=True)
        addresses, networks, names = set(), [], []
        for entry in entries:
            if "/" in entry:
                networks.append(ipaddress.ip_network(entry, strict=False))
            elif (known := _address(entry)) is not None:
                addresses.add(str(known))
            else:
                names.append(entry)
        return cls(False, frozenset(addresses), tuple(networks), tuple(dict.fromkeys(names)))

    def include(self, address: str, looked_up: Iterable[str] = ()) -> bool:
        """Return whether `address` is one of these machines; `looked_up` are addresses of
        `names`."""
        if self.everywhere:
            return True
        known = _address(address)
        if known is None:
            return False
        if str(known) in self.addresses or any(known in network for network in self.networks):
            return True
        return any(known == _address(other) for other in looked_up)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address in its one form: without a zone, and of IPv4 where it is that."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if address.version == 6 else None
    return address if mapped is None else mapped


@dataclass(frozen=True, slots=True)
class Rules:
    """Of one real user."""

    everybody: bool = False
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    machines: Machines = field(default_factory=Machines)


class ProxyUsers:
    """The rules of all real users, as they were when the configuration was read."""

    def __init__(self, rules: Mapping[str, Rules] | None = None) -> None:
        self.rules: Final = dict(rules or {})

    @classmethod
    def parse(cls, settings: Iterable[tuple[str, str]], prefix: str) -> ProxyUsers:
        """`settings` are keys and values of which those below `prefix` count.

        Raises InvalidConfiguration for a range of addresses that is none.
        """
        values: dict[str, dict[str, str]] = {}
        for key, value in settings:
            if not key.startswith(prefix):
                continue
            name, point, kind = key.removeprefix(prefix).rpartition(".")
            if name and point + kind in (_USERS, _GROUPS, _HOSTS):
                values.setdefault(name, {})[point + kind] = value
            else:
                log.warning(
                    "%s has no effect: it is none of %sNAME.hosts, .users, .groups", key, prefix
                )
        return cls({name: _rules(f"{prefix}{name}", given) for name, given in values.items()})

    def needs_groups(self, real_user: str, user: str) -> bool:
        """Whether it depends on the groups of `user`. Raises AuthorizationFailed where he may not
        be acted for whatever they are."""
        rules = self.rules.get(real_user)
        if rules is not None and (rules.everybody or user in rules.users):
            return False
        if rules is None or not rules.groups:
            raise not_allowed(real_user, user)
        return True

    def check_groups(self, real_user: str, user: str, groups: Iterable[str]) -> None:
        """Raises AuthorizationFailed unless `user` is in a group that `real_user` may act for."""
        rules = self.rules.get(real_user)
        if rules is None or rules.groups.isdisjoint(groups):
            raise not_allowed(real_user, user)

    def names_to_look_up(self, real_user: str, address: str) -> tuple[str, ...]:
        """Machines whose addresses have to be known; none where `address` is allowed anyhow.
        Raises AuthorizationFailed where it is not, whatever they are."""
        rules = self.rules.get(real_user, _NONE)
        if rules.machines.include(address):
            return ()
        if not rules.machines.names:
            raise _wrong_place(real_user, address)
        return rules.machines.names

    def check_looked_up(self, real_user: str, address: str, looked_up: Iterable[str]) -> None:
        """Raises AuthorizationFailed unless `address` is among those that were looked up."""
        if not self.rules.get(real_user, _NONE).machines.include(address, looked_up):
            raise _wrong_place(real_user, address)


_NONE: Final = Rules()


def _rules(key: str, given: Mapping[str, str]) -> Rules:
    users, groups = given.get(_USERS, ""), given.get(_GROUPS, "")
    hosts = given.get(_HOSTS, "")
    try:
        machines = Machines.parse(hosts)
    except ValueError as error:
        raise errors.InvalidConfiguration(f"{key}{_HOSTS} = {hosts!r}: {error}") from error
    if EVERYTHING in machines.names:
        log.warning("%s%s: a * among others is no machine, and allows nothing", key, _HOSTS)
    return Rules(
        EVERYTHING in (users.strip(), groups.strip()),
        frozenset(parse_list(users)),
        frozenset(parse_list(groups)),
        machines,
    )


def _wrong_place(real_user: str, address: str) -> errors.AuthorizationFailed:
    # Java shows an address with a slash in front, and so do Hadoop's servers here.
    return errors.AuthorizationFailed(
        f"Unauthorized connection for super-user: {real_user} from IP /{address}"
    )
