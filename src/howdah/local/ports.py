"""Free ports and loopback addresses for the servers of a local cluster."""

from __future__ import annotations

import random
import socket

from howdah.errors import InvalidConfiguration
from howdah.kinds import parse_address

LOOPBACK = "127.0.0.1"
FIRST_DATANODE_HOST = 11
LAST_DATANODE_HOST = 254
# Below what systems hand out to connecting sockets: a port that is free while a
# server is down shall be free when it comes up again.
PORTS = range(15000, 32000)
MAX_PORT_ATTEMPTS = 200


def datanode_hosts(count: int) -> list[str]:
    """An address for each datanode; the same for all where the system has one only."""
    if count > LAST_DATANODE_HOST - FIRST_DATANODE_HOST + 1:
        raise InvalidConfiguration(f"{count} datanodes are too many for one machine")
    hosts = [f"127.0.0.{FIRST_DATANODE_HOST + number}" for number in range(count)]
    return hosts if _can_bind(hosts[0], 0) else [LOOPBACK] * count


def _can_bind(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


class Ports:
    """Free ports, none given out twice; drawn at random, as other clusters draw too."""

    def __init__(self) -> None:
        self._given: set[tuple[str, int]] = set()
        self._random = random.SystemRandom()

    def free(self, host: str) -> int:
        for _ in range(MAX_PORT_ATTEMPTS):
            port = self._random.choice(PORTS)
            if (host, port) not in self._given and _can_bind(host, port):
                self._given.add((host, port))
                return port
        raise InvalidConfiguration(f"no free port found on {host} in {PORTS}")

    def address(self, wanted: str | None = None, default_port: int = 0) -> str:
        """`wanted` with its port 0 replaced by a free one; nothing wanted is loopback."""
        try:
            host, port = parse_address(wanted or f"{LOOPBACK}:0", default_port)
        except ValueError as error:
            raise InvalidConfiguration(f"{wanted!r}: {error}") from error
        return f"{host}:{port or self.free(host)}"
