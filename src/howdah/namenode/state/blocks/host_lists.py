"""Which datanodes belong to the cluster: `dfs.hosts` and `dfs.hosts.exclude` (pure).

Hadoop's `HostFileManager` and `HostSet`. The files have words between blanks and line
ends: each is a host name or an address, with a port if only the datanode at that port is
meant; `#` starts a comment. An empty include list allows every datanode. A name stands
for the addresses that it had when the files were read. A name without an address matches
no datanode, whatever a datanode calls itself.

A datanode that is excluded and not included is refused. One that is excluded, and included
if there is an include list, is decommissioned.

Hadoop's `CombinedHostFileManager` has one JSON file instead, in `dfs.hosts`: objects, in an
array or one after another, each with a `hostName`, and perhaps a `port`, an `adminState`
(NORMAL, DECOMMISSIONED or IN_MAINTENANCE), a `maintenanceExpireTimeInMS` since 1970 (without
it the maintenance has no end) and an `upgradeDomain`. Where one of them is NORMAL, the file
is an include list of all that it names. Otherwise every datanode is allowed.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from howdah import errors
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import DatanodeIdentity

AddressesOf = Callable[[str], Iterable[str]]
"""The addresses of a host name; none for an unknown name."""


FOR_EVER_MS: Final = (1 << 63) - 1

Place = tuple[str, int]
"""An address, and a port; port 0 stands for every port."""


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One word of a host file. Port 0 stands for every port."""

    name: str
    addresses: frozenset[str]
    port: int = 0

    @property
    def endpoints(self) -> set[Place]:
        return {(address, self.port) for address in self.addresses}

    def __str__(self) -> str:
        return f"{self.name}:{self.port}" if self.port else self.name


@dataclass(frozen=True, slots=True)
class HostOrder:
    """What the JSON file says of one entry."""

    entry: HostEntry
    state: AdminState = AdminState.NORMAL
    maintenance_until_ms: int = FOR_EVER_MS
    upgrade_domain: str = ""


class Hosts:
    """Holds what the files say, as they were read last. Asked with every heartbeat, so nothing
    is searched."""

    __slots__ = (
        "_domains",
        "_excluded",
        "_included",
        "_is_open",
        "_maintenance",
        "excluded",
        "named",
    )

    def __init__(
        self,
        included: tuple[HostEntry, ...] = (),
        excluded: tuple[HostEntry, ...] = (),
        *,
        maintenance: Mapping[Place, int] | None = None,
        domains: Mapping[Place, str] | None = None,
        named: tuple[HostEntry, ...] | None = None,
    ) -> None:
        """`maintenance` says until when, `named` are those that are shown where they never
        came; else the included ones."""
        self.named = included if named is None else named
        self.excluded = excluded
        self._is_open = not included
        self._included = frozenset[Place]().union(*(entry.endpoints for entry in included))
        self._excluded = frozenset[Place]().union(*(entry.endpoints for entry in excluded))
        self._maintenance = dict(maintenance or {})
        self._domains = dict(domains or {})

    @classmethod
    def ordered(cls, orders: Sequence[HostOrder]) -> Hosts:
        """As the JSON file has them."""
        entries = tuple(order.entry for order in orders)
        maintenance: dict[Place, int] = {}
        domains: dict[Place, str] = {}
        for order in orders:
            for place in order.entry.endpoints:
                if order.state is AdminState.IN_MAINTENANCE:
                    maintenance[place] = order.maintenance_until_ms
                if order.upgrade_domain:
                    domains[place] = order.upgrade_domain
        return cls(
            entries if any(order.state is AdminState.NORMAL for order in orders) else (),
            tuple(o.entry for o in orders if o.state is AdminState.DECOMMISSIONED),
            maintenance=maintenance,
            domains=domains,
            named=entries,
        )

    def allows(self, identity: DatanodeIdentity) -> bool:
        """True if the datanode may take part."""
        return self._is_open or not self._included.isdisjoint(_places_of(identity))

    def to_decommission(self, identity: DatanodeIdentity) -> bool:
        """True if it is to leave, once its replicas are elsewhere."""
        excluded = not self._excluded.isdisjoint(_places_of(identity))
        return excluded and self.allows(identity)

    def maintenance_until_ms(self, identity: DatanodeIdentity) -> int:
        """When its maintenance ends, by the wall clock; 0 if none is ordered."""
        places = _places_of(identity)
        return max((self._maintenance.get(place, 0) for place in places), default=0)

    def upgrade_domain(self, identity: DatanodeIdentity) -> str:
        """Return the upgrade domain of a datanode; empty if it has none."""
        domains = [self._domains[place] for place in _places_of(identity) if place in self._domains]
        return domains[-1] if domains else ""

    def missing(self, known: Iterable[DatanodeIdentity]) -> list[HostEntry]:
        """Entries of the include list that none of the known datanodes is meant by."""
        there = {place for identity in known for place in _places_of(identity)}
        return [entry for entry in self.named if there.isdisjoint(entry.endpoints)]

    def excludes(self, entry: HostEntry) -> bool:
        """Whether the entry is to be decommissioned."""
        places = entry.endpoints | {(address, 0) for address in entry.addresses}
        return not self._excluded.isdisjoint(places)


def _places_of(identity: DatanodeIdentity) -> tuple[Place, ...]:
    """By its address, which is known; its name is what it says of itself."""
    return (identity.ip, 0), (identity.ip, identity.transfer_port)


def parse_hosts(text: str, source: str, addresses_of: AddressesOf) -> tuple[HostEntry, ...]:
    """The entries of one file. Raises InvalidConfiguration for a port that is none."""
    entries = []
    for line in text.splitlines():
        for word in line.split("#", 1)[0].split():
            entries.append(_entry(word, source, addresses_of))
    return tuple(dict.fromkeys(entries))


def parse_combined(text: str, source: str, addresses_of: AddressesOf) -> tuple[HostOrder, ...]:
    """Parse the entries of the JSON file. Raises InvalidConfiguration for what is none."""
    decoder = json.JSONDecoder()
    entries: list[object] = []
    rest = text.lstrip()
    while rest:
        try:
            value, position = decoder.raw_decode(rest)
        except (ValueError, RecursionError) as error:
            raise errors.InvalidConfiguration(f"{source} is no JSON: {error}") from None
        entries += value if isinstance(value, list) else [value]
        rest = rest[position:].lstrip().removeprefix(",").lstrip()
    return tuple(_order(entry, source, addresses_of) for entry in entries)


_ORDERED: Final = (AdminState.NORMAL, AdminState.DECOMMISSIONED, AdminState.IN_MAINTENANCE)
_FIELDS: Final = {
    "hostName": str,
    "port": int,
    "adminState": str,
    "maintenanceExpireTimeInMS": int,
    "upgradeDomain": str,
}


def _order(item: object, source: str, addresses_of: AddressesOf) -> HostOrder:
    def refused(why: str) -> errors.InvalidConfiguration:
        return errors.InvalidConfiguration(f"{source}: {json.dumps(item)} {why}")

    if not isinstance(item, dict):
        raise refused("is no object")
    fields: dict[str, Any] = {name: value for name, value in item.items() if value is not None}
    for name, value in fields.items():
        kind = _FIELDS.get(name)
        if kind is None:
            raise refused(f"has {name!r}: known are {', '.join(_FIELDS)}")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise refused(f"has a {name} that is no {'text' if kind is str else 'number'}")
    name, port = fields.get("hostName", ""), fields.get("port", 0)
    if not name:
        raise refused("has no hostName")
    if not 0 <= port < 65536:
        raise refused("has a port beyond 65535")
    ordered = {state.name: state for state in _ORDERED}
    state = ordered.get(fields.get("adminState", AdminState.NORMAL.name))
    if state is None:
        raise refused(f"has an adminState that cannot be ordered: {', '.join(ordered)} can")
    until_ms = fields.get("maintenanceExpireTimeInMS", FOR_EVER_MS)
    entry = HostEntry(name, _addresses(name, addresses_of), port)
    return HostOrder(entry, state, min(until_ms, FOR_EVER_MS), fields.get("upgradeDomain", ""))


def _addresses(name: str, addresses_of: AddressesOf) -> frozenset[str]:
    try:
        return frozenset((str(ipaddress.ip_address(name)),))
    except ValueError:
        return frozenset(addresses_of(name))


def _entry(word: str, source: str, addresses_of: AddressesOf) -> HostEntry:
    name, port = word, ""
    # An IPv6 address has colons of its own: with a port it stands in brackets.
    if word.startswith("["):
        name, _, port = word[1:].partition("]")
        port = port.removeprefix(":")
    elif word.count(":") == 1:
        name, _, port = word.partition(":")
    if port and not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise errors.InvalidConfiguration(f"{source}: {word!r} has no port after its colon")
    return HostEntry(name, _addresses(name, addresses_of), int(port or 0))
