"""Which nameservices are near a caller (pure). Hadoop: the map of LocalResolver.

Near is a namenode on the caller's machine, and next to that a datanode. Callers are known by
their IP address, so namenodes are kept by the addresses of their hosts. A caller on the
router's own machine may come from the loopback address, which is no server's: for it those
servers count that are on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hosts:
    """Holds nameservices by the address of their servers, and those with servers on this
    machine."""

    namenodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    datanodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    namenodes_here: frozenset[str] = _NONE
    datanodes_here: frozenset[str] = _NONE

    @classmethod
    def of(
        cls,
        namenodes: Mapping[str, Iterable[str]],
        datanodes: Mapping[str, Iterable[str]],
        here: frozenset[str],
    ) -> Hosts:
        """Of the addresses of each nameservice's servers; `here` are this machine's."""
        by_namenode, by_datanode = _turned(namenodes), _turned(datanodes)
        return cls(by_namenode, by_datanode, _at(by_namenode, here), _at(by_datanode, here))

    def near(self, address: str) -> tuple[frozenset[str], ...]:
        """Return the nameservices near a caller, the nearest group first."""
        groups = (self.namenodes.get(address, _NONE), self.datanodes.get(address, _NONE))
        if is_loopback(address):
            return (*groups, self.namenodes_here, self.datanodes_here)
        return groups


def is_loopback(address: str) -> bool:
    """Whether only this machine has the address."""
    return address == "::1" or address.startswith("127.")


def _turned(addresses: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    by_address: dict[str, set[str]] = {}
    for name, own_addresses in addresses.items():
        for address in own_addresses:
            by_address.setdefault(address, set()).add(name)
    return {address: frozenset(names) for address, names in by_address.items()}


def _at(servers: Mapping[str, frozenset[str]], addresses: frozenset[str]) -> frozenset[str]:
    return _NONE.union(*(servers[address] for address in servers.keys() & addresses))
