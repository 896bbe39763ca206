"""A highly available cluster on hosts of its own, which a network connects: Linux, and root.

A host is a network namespace with an address; a namenode and its failover controller share one,
each journal node and each datanode has one. The hosts hang on a bridge, and so does this system,
where clients run. A host that shall not be heard by another gets a wrong hardware address for
it: its packets leave, and arrive nowhere. So TCP does what it does on a network: connections hang
until it gives up, and what is said meanwhile comes late, or never.

`links` does without root and without Linux, and is what most tests take; this proves that the
difference does not matter.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from howdah.local.layout import Layout
from howdah.local.nameservice import Nameservice
from howdah.local.servers import Detached, Spawner
from tests.support.failover.links import CLIENTS, Silenced, place_of
from tests.support.failover.network_faults import CutCluster

_NOBODY = "02:00:00:00:00:01"
"""A hardware address that no host has."""
_DEVICE = "eth0"


class NoHosts(Exception):
    """This system does not let this user make network namespaces."""


def _ip(*arguments: str) -> str:
    command = shutil.which("ip")
    if sys.platform != "linux" or command is None:
        raise NoHosts("ip (iproute2) is not installed")
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoHosts(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


class Hosts:
    """Places on a bridge, each with an address, and what is between them."""

    def __init__(self, places: Collection[str]) -> None:
        """Raises NoHosts."""
        self.places = frozenset(places)
        self._tag = f"hw{os.getpid() % 0x10000:x}{random.SystemRandom().randrange(0x1000):x}"
        self._bridge = f"{self._tag}b"
        subnet = self._free_subnet()
        numbers = {place: number for number, place in enumerate(sorted(places), 2)}
        numbers[CLIENTS] = 1
        self.addresses = {place: f"{subnet}.{number}" for place, number in numbers.items()}
        self._made: list[str] = []
        try:
            _ip("link", "add", self._bridge, "type", "bridge")
            _ip("addr", "add", f"{subnet}.1/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            for place, number in numbers.items():
                if place != CLIENTS:
                    self._make(place, number)
        except NoHosts:
            self.close()
            raise

    def namespace(self, place: str) -> str:
        """The name by which the system knows a host."""
        return f"{self._tag}-{place}"

    def cut(
        self,
        one: Collection[str],
        other: Collection[str],
        silenced: Silenced = Silenced.BOTH,
    ) -> None:
        """Lose what places of `one` and places of `other` say to each other; or what one of
        these sides says (`silenced`)."""
        assert self.places.issuperset([*one, *other]), f"{one} and {other} are not all places"
        for left in one:
            for right in other:
                if left == right:
                    continue
                if silenced is not Silenced.OTHER:
                    self._silence(left, right)
                if silenced is not Silenced.ONE:
                    self._silence(right, left)

    def isolate(self, place: str, silenced: Silenced = Silenced.BOTH) -> None:
        """Cut a place off from all others; or lose what it (`ONE`), or they, say."""
        self.cut([place], self.places - {place}, silenced)

    def heal(self) -> None:
        """Everybody hears everybody."""
        for place in self.places:
            self._at(place, "neigh", "flush", "nud", "permanent", "dev", self._device(place))

    def close(self) -> None:
        """Remove all hosts; no server may run there any more."""
        while self._made:
            _ip("netns", "delete", self._made.pop())
        _ip("link", "delete", self._bridge)

    def _make(self, place: str, number: int) -> None:
        namespace, outside = self.namespace(place), f"{self._tag}{number}"
        _ip("netns", "add", namespace)
        self._made.append(namespace)
        _ip("link", "add", outside, "type", "veth", "peer", "name", _DEVICE, "netns", namespace)
        _ip("link", "set", outside, "master", self._bridge, "up")
        self._at(place, "link", "set", "lo", "up")
        self._at(place, "addr", "add", f"{self.addresses[place]}/24", "dev", _DEVICE)
        self._at(place, "link", "set", _DEVICE, "up")

    def _silence(self, speaker: str, hearer: str) -> None:
        address, device = self.addresses[hearer], self._device(speaker)
        wrong = ("lladdr", _NOBODY, "nud", "permanent", "dev", device)
        self._at(speaker, "neigh", "replace", address, *wrong)

    def _device(self, place: str) -> str:
        return self._bridge if place == CLIENTS else _DEVICE

    def _at(self, place: str, *arguments: str) -> None:
        where = () if place == CLIENTS else ("-netns", self.namespace(place))
        _ip(*where, *arguments)

    @staticmethod
    def _free_subnet() -> str:
        used = _ip("-oneline", "addr")
        while True:
            dice = random.SystemRandom()
            subnet = f"10.{dice.randrange(200, 250)}.{dice.randrange(1, 250)}"
            if f"{subnet}." not in used:
                return subnet


class OnHosts(Detached):
    """Starts each server on its host."""

    def __init__(self, hosts: Hosts) -> None:
        super().__init__()
        self._hosts = hosts

    def _command(self, name: str, arguments: Sequence[str]) -> list[str]:
        command = super()._command(name, arguments)
        return ["ip", "netns", "exec", self._hosts.namespace(place_of(name)), *command]


class HostsCluster(CutCluster):
    """Several namenodes, and a `network` between them, journal nodes, datanodes and clients.

    The test is a client: what it asks a host from which clients are cut off gets no answer.
    """

    network: Hosts

    def __init__(
        self,
        *,
        namenodes: int = 3,
        datanodes: int = 3,
        conf: Mapping[str, str | int | float | bool] | None = None,
        dir: Path | None = None,
    ) -> None:
        """Raises NoHosts."""
        super().__init__(datanodes=datanodes, namenodes=namenodes, conf=conf, dir=dir)

    def _prepare(self, layout: Layout) -> Layout:
        assert layout.nameservice is not None
        self.network = Hosts({CLIENTS, *(place_of(name) for name in layout.names)})
        return on_hosts(layout, layout.nameservice, self.network.addresses)

    def _spawner(self, layout: Layout) -> Spawner:
        return OnHosts(self.network)

    def close(self) -> None:
        """Stop everything, the network last."""
        super().close()
        self.network.close()


def on_hosts(layout: Layout, nameservice: Nameservice, hosts: Mapping[str, str]) -> Layout:
    """The same ports at the addresses of `hosts`, by place."""

    def at(name: str, address: str) -> str:
        return f"{hosts[name]}:{address.rpartition(':')[2]}"

    return replace(
        layout,
        served_by=replace(
            nameservice,
            namenodes=tuple(
                replace(node, rpc=at(node.name, node.rpc), http=at(node.name, node.http))
                for node in nameservice.namenodes
            ),
            journalnodes=tuple(
                replace(node, rpc=at(node.name, node.rpc), http=at(node.name, node.http))
                for node in nameservice.journalnodes
            ),
        ),
        datanodes=tuple(replace(node, host=hosts[node.name]) for node in layout.datanodes),
    )
