"""Which protections a server offers to a connection (pure): SaslPropertiesResolver in Hadoop, and
the two classes of Hadoop's that derive from it.

The client's address or the server's port decides. A client chooses among what it is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from howdah.protocol.sasl.protection import Protection

Protections = tuple[Protection, ...]


class OfferedProtections(Protocol):
    """The rule of one server."""

    def offered(self, address: str, port: int) -> Protections:
        """Return the protections, by the server's preference, for a client at an IP address that
        connects to a port of the server."""


@dataclass(frozen=True, slots=True)
class SameForAll:
    """SaslPropertiesResolver."""

    protections: Protections

    def offered(self, address: str, port: int) -> Protections:
        return self.protections


@dataclass(frozen=True, slots=True)
class ByPort:
    """IngressPortBasedResolver. Ports that are not in `ports` offer `otherwise`."""

    otherwise: Protections
    ports: Mapping[int, Protections] = field(default_factory=dict)

    def offered(self, address: str, port: int) -> Protections:
        return self.ports.get(port, self.otherwise)


@dataclass(frozen=True, slots=True)
class ByAddress:
    """WhitelistBasedResolver. `is_trusted` says whether an IP address is on a list."""

    trusted: Protections
    others: Protections
    is_trusted: Callable[[str], bool]

    def offered(self, address: str, port: int) -> Protections:
        return self.trusted if self.is_trusted(address) else self.others
