"""Free ports and loopback addresses for the servers of a local cluster.

A port that is planned for a server is free until the server starts, and again while it is down.
So that no other process plans it meanwhile, each takes a share of all ports for itself, for as
long as it lives; within its share the ports take turns. When there are more processes than
shares, the others draw from all ports.

On Linux the name of a share is that of an abstract socket: such names are where ports are, in a
network's namespace, and so are the same for all users, for whatever directory a process keeps its
temporary files in, and for all containers that share a network. Elsewhere it is that of a file.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import sys
import tempfile
import threading
from pathlib import Path

from howdah.config.value_types import parse_address
from howdah.errors import InvalidConfiguration

LOOPBACK = "127.0.0.1"
FIRST_DATANODE_HOST = 11
LAST_DATANODE_HOST = 254
# Below what systems hand out to connecting sockets: a port that is free while a
# server is down shall be free when it comes up again.
PORTS = range(15000, 32000)
SHARE_PORTS = 500
MAX_PORT_ATTEMPTS = 200
ABSTRACT = sys.platform == "linux"
"""Whether shares are claimed by names of sockets, and not by locks of files."""


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


class Share:
    """The ports that this process plans with. `lock` is held by it, None where all were taken."""

    def __init__(self, ports: range, lock: int | None) -> None:
        self.pid = os.getpid()
        self.ports = ports
        self._lock = lock
        self._next = random.SystemRandom().randrange(len(ports))
        self._mutex = threading.Lock()

    @classmethod
    def acquire(cls, ports: range, directory: Path) -> Share:
        starts = list(range(ports.start, ports.stop, SHARE_PORTS))
        random.SystemRandom().shuffle(starts)
        for start in starts:
            lock = (
                _claimed(start)
                if ABSTRACT
                else _locked(directory / f"howdah-ports-{os.getuid()}-{start}.lock")
            )
            if lock is not None:
                return cls(range(start, min(start + SHARE_PORTS, ports.stop)), lock)
        return cls(ports, None)

    def next(self) -> int:
        """The port that has not been planned for longest."""
        with self._mutex:
            number, self._next = self._next, (self._next + 1) % len(self.ports)
        return self.ports[number]

    def release(self) -> None:
        """Others may have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _claimed(start: int) -> int | None:
    """A descriptor that has the name of a share; None if another process has it."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0howdah-ports-{start}")
    except OSError:
        claim.close()
        return None
    return claim.detach()


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of that file; None if another process does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None  # Somebody else's, by whatever means: it is none of ours.
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


_held: Share | None = None
_taking = threading.Lock()


def share_of_this_process() -> Share:
    """That of this process; a forked child takes its own."""
    global _held
    with _taking:
        if _held is None or _held.pid != os.getpid():
            _held = Share.acquire(PORTS, Path(tempfile.gettempdir()))
        return _held


class Ports:
    """Free ports, none given out twice."""

    def __init__(self, share: Share | None = None) -> None:
        self._given: set[tuple[str, int]] = set()
        self._share = share or share_of_this_process()

    def free(self, host: str) -> int:
        for _ in range(MAX_PORT_ATTEMPTS):
            port = self._share.next()
            if (host, port) not in self._given and _can_bind(host, port):
                self._given.add((host, port))
                return port
        raise InvalidConfiguration(f"no free port found on {host} in {self._share.ports}")

    def address(self, wanted: str | None = None, default_port: int = 0) -> str:
        """`wanted` with its port 0 replaced by a free one; nothing wanted is loopback."""
        try:
            host, port = parse_address(wanted or f"{LOOPBACK}:0", default_port)
        except ValueError as error:
            raise InvalidConfiguration(f"{wanted!r}: {error}") from error
        return f"{host}:{port or self.free(host)}"
