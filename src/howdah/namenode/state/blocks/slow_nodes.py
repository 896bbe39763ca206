"""What a datanode claims about itself and others, and which claims are accepted (pure).

Datanodes are not authenticated. So a datanode is where it calls from, and what could not
be true of any is refused.

A datanode whose directories were copied has a twin with the same uuid and the same storage
ids. Hadoop's namenode gives the uuid to whoever registered last, so that the two take it from
each other for ever, and what one of them holds is taken for what the other holds. Here the
one that is alive keeps it (`Rivals`).

Datanodes that measure each other name in their heartbeats those that are much slower than the
rest (Hadoop's `SlowPeerTracker`). Such a claim holds for three of the intervals at which they
are made. They name disks of their own that are much slower than the rest, too
(`SlowDiskTracker`). Slow is who is named by the most others, a few datanodes at most: if many are
slow, none of them is to be avoided.
"""

from __future__ import annotations

import enum
import ipaddress
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.proto import types_pb2

MAX_UUID_CHARACTERS: Final = 256
MAX_HOSTNAME_CHARACTERS: Final = 255
MAX_PORT: Final = 65535

MOST_RIVALS: Final = 16
"""Addresses that are remembered to claim one uuid."""

MAX_SLOW_DISKS: Final = 64
"""Of one datanode that are remembered."""
MAX_PATH_CHARACTERS: Final = 1024

SLOW_FOR_MS: Final = 3 * 30 * 60_000
"""Three times Hadoop's `dfs.datanode.outliers.report.interval`."""


def address_of(peer: str, claimed: str) -> str:
    """Where a datanode is that says so: at the address that it calls from, as for Hadoop's
    namenode. What it claims is believed on one machine alone, among loopback addresses,
    any of which any process there may have; several datanodes have one each."""
    try:
        from_where = ipaddress.ip_address(peer)
    except ValueError:
        raise errors.DisallowedDatanode(f"a datanode calls from {peer!r}, no address") from None
    mapped = getattr(from_where, "ipv4_mapped", None)
    if mapped is not None:
        from_where = mapped
    if from_where.is_loopback:
        try:
            own = ipaddress.ip_address(claimed)
        except ValueError:
            own = from_where
        if own.is_loopback and own.version == from_where.version:
            return str(own)
    return str(from_where)


def check_sound(claimed: types_pb2.DatanodeIDProto, ip: str) -> None:
    """Raises DisallowedDatanode for what no datanode says of itself."""
    if not 0 < len(claimed.datanodeUuid) <= MAX_UUID_CHARACTERS:
        raise errors.DisallowedDatanode(
            f"a datanode at {ip} has a uuid of {len(claimed.datanodeUuid)} characters: 1 to "
            f"{MAX_UUID_CHARACTERS} are allowed"
        )
    if len(claimed.hostName) > MAX_HOSTNAME_CHARACTERS:
        raise errors.DisallowedDatanode(
            f"the datanode {claimed.datanodeUuid} at {ip} has a host name of "
            f"{len(claimed.hostName)} characters: at most {MAX_HOSTNAME_CHARACTERS} are allowed"
        )
    ports = (claimed.xferPort, claimed.infoPort, claimed.ipcPort, claimed.infoSecurePort)
    if not 0 < claimed.xferPort <= MAX_PORT or max(ports) > MAX_PORT:
        raise errors.DisallowedDatanode(
            f"the datanode {claimed.datanodeUuid} at {ip} says that it listens at the ports {ports}"
        )


class Claim(enum.Enum):
    """What becomes of a datanode that claims to be another one, which was heard elsewhere."""

    IT_HAS_MOVED = "nobody has heard the other one for long enough"
    TOO_EARLY = "the other one was heard a moment ago: the next attempt shows whether it lives"
    ANOTHER_LIVES = "the other one was heard since: there are two"


class Rivals:
    """Datanodes that claim the uuid of another one."""

    def __init__(self, patience_ms: Callable[[], int]) -> None:
        """Whoever was not heard for `patience_ms` has moved, and is back elsewhere."""
        self._patience_ms = patience_ms
        # By uuid: when each address first claimed it, the newest claim last.
        self._claims: dict[str, dict[str, int]] = {}

    def judge(self, node: Datanode, address: str, now_ms: int) -> Claim:
        """A datanode at `address` claims to be `node`, which was last heard elsewhere."""
        uuid = node.identity.uuid
        if not node.alive or now_ms - node.last_heartbeat_ms >= self._patience_ms():
            self._claims.pop(uuid, None)
            return Claim.IT_HAS_MOVED
        claims = self._claims.setdefault(uuid, {})
        first_ms = claims.get(address)
        if first_ms is None:
            if len(claims) >= MOST_RIVALS:
                del claims[next(iter(claims))]
            claims[address] = now_ms
            return Claim.TOO_EARLY
        return Claim.ANOTHER_LIVES if node.last_heartbeat_ms > first_ms else Claim.TOO_EARLY


@dataclass(frozen=True, slots=True)
class Latency:
    """How slow a datanode is to another one; in milliseconds a packet."""

    mean_ms: float = 0.0
    median_ms: float = 0.0
    deviation_ms: float = 0.0
    limit_ms: float = 0.0


NO_LATENCY: Final = Latency()


@dataclass(frozen=True, slots=True)
class SlowDisk:
    """A disk that its datanode finds slow: milliseconds an operation, by Hadoop's names of them."""

    node: Datanode
    path: str
    latencies_ms: Mapping[str, float]


class SlowPeers:
    """Knows who was found slow by whom, and disks that are slow."""

    def __init__(self, most: int = 5, holds_ms: int = SLOW_FOR_MS) -> None:
        """At most so many datanodes are slow at a time; a report holds for `holds_ms`."""
        self._most = most
        self._holds_ms = holds_ms
        # Of each datanode that was named: by whose uuid, and when last, and how slow it is.
        self._reports: dict[Datanode, dict[str, tuple[int, Latency]]] = {}
        self._slow: frozenset[Datanode] = frozenset()
        self._holds_until_ms = 0
        self._disks: dict[Datanode, tuple[int, tuple[SlowDisk, ...]]] = {}

    def limit(self, most: int) -> None:
        """So many datanodes are slow at a time, from now on."""
        self._most = most
        self._holds_until_ms = 0

    def reported(
        self,
        reporter: Datanode,
        slow: Iterable[Datanode] | Mapping[Datanode, Latency],
        now_ms: int,
    ) -> None:
        """A datanode finds others slow."""
        latencies = slow if isinstance(slow, Mapping) else {}
        for node in slow:
            if node is not reporter:
                report = now_ms, latencies.get(node, NO_LATENCY)
                self._reports.setdefault(node, {})[reporter.identity.uuid] = report
                self._holds_until_ms = now_ms

    def disks_reported(
        self, node: Datanode, disks: Iterable[tuple[str, Mapping[str, float]]], now_ms: int
    ) -> None:
        """A datanode finds disks of its own slow, by directory."""
        kept = [
            SlowDisk(node, path[:MAX_PATH_CHARACTERS], latencies)
            for path, latencies in itertools.islice(disks, MAX_SLOW_DISKS)
        ]
        self._disks[node] = now_ms, tuple(kept)

    def slow(self, now_ms: int) -> frozenset[Datanode]:
        """Those that are slow now."""
        if self._reports and now_ms >= self._holds_until_ms:
            self._renew(now_ms)
        return self._slow

    def latencies(self, now_ms: int) -> list[tuple[Datanode, dict[str, Latency]]]:
        """Those that are slow now, with what others measured, by their uuids."""
        slow = self.slow(now_ms)
        return [
            (node, {uuid: latency for uuid, (_, latency) in reports.items()})
            for node, reports in self._reports.items()
            if node in slow
        ]

    def disks(self, now_ms: int) -> list[SlowDisk]:
        """Return the slowest disks."""
        for node, (at_ms, _) in list(self._disks.items()):
            if at_ms <= now_ms - self._holds_ms or not node.alive:
                del self._disks[node]
        slow = [disk for _, disks in self._disks.values() for disk in disks]
        slow.sort(key=lambda disk: max(disk.latencies_ms.values(), default=0.0), reverse=True)
        return slow[: self._most]

    def _renew(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._holds_ms
        for node, reports in list(self._reports.items()):
            valid = {uuid: report for uuid, report in reports.items() if report[0] > oldest_ms}
            if valid and node.alive:
                self._reports[node] = valid
            else:
                del self._reports[node]
        named = sorted(self._reports, key=lambda node: len(self._reports[node]), reverse=True)
        self._slow = frozenset(named[: self._most])
        times = [at_ms for reports in self._reports.values() for at_ms, _ in reports.values()]
        self._holds_until_ms = min(times, default=0) + self._holds_ms
