"""Which datanodes belong to the cluster: `dfs.hosts` and `dfs.hosts.exclude` (pure).

Hadoop's `HostFileManager` and `HostSet`. The files have words between blanks and line
ends: each is a host name or an address, with a port if only the datanode at that port is
meant; `#` starts a comment. An empty include list allows every datanode. A name stands
for the addresses that it had when the files were read. A name without an address matches
no datanode, whatever a datanode calls itself.

A datanode that is excluded and not included is refused. One that is in both lists Hadoop
would decommission: copy all its replicas, then use it no more. That is not supported
here; such a datanode is used as before, and `Hosts.to_decommission` names it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from howdah import errors
from howdah.namenode.blocks.datanodes import DatanodeIdentity

AddressesOf = Callable[[str], Iterable[str]]
"""The addresses of a host name; none for an unknown name."""


Place = tuple[str, int]
"""An address, and a port; port 0 stands for every port."""


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One word of a host file. Port 0 stands for every port."""

    name: str
    addresses: frozenset[str]
    port: int = 0

    @property
    def places(self) -> set[Place]:
        return {(address, self.port) for address in self.addresses}

    def __str__(self) -> str:
        return f"{self.name}:{self.port}" if self.port else self.name


class Hosts:
    """Both lists, as they were read last. Asked with every heartbeat, so neither is searched."""

    __slots__ = ("_excluded", "_included", "excluded", "included")

    def __init__(
        self, included: tuple[HostEntry, ...] = (), excluded: tuple[HostEntry, ...] = ()
    ) -> None:
        self.included = included
        self.excluded = excluded
        self._included = frozenset[Place]().union(*(entry.places for entry in included))
        self._excluded = frozenset[Place]().union(*(entry.places for entry in excluded))

    def allows(self, identity: DatanodeIdentity) -> bool:
        """True if the datanode may take part."""
        return not self.included or not self._included.isdisjoint(_places_of(identity))

    def to_decommission(self, identity: DatanodeIdentity) -> bool:
        """True if it is to leave, once its replicas are elsewhere."""
        excluded = not self._excluded.isdisjoint(_places_of(identity))
        return excluded and self.allows(identity)

    def missing(self, known: Iterable[DatanodeIdentity]) -> list[HostEntry]:
        """Entries of the include list that none of the known datanodes is meant by."""
        there = {place for identity in known for place in _places_of(identity)}
        return [entry for entry in self.included if there.isdisjoint(entry.places)]


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
    try:
        addresses = frozenset((str(ipaddress.ip_address(name)),))
    except ValueError:
        addresses = frozenset(addresses_of(name))
    return HostEntry(name, addresses, int(port or 0))
