"""A highly available cluster whose servers can be cut off from each other.

`PartitionedCluster` is a `MiniCluster` in which servers and clients reach namenodes and journal
nodes through a program in between (`links`). A place is a machine in real life: a namenode with
its failover controller, a journal node, a datanode, all clients.

These go past that program: what the test itself asks servers (`ha_states`, `active`), blocks,
what controllers ask each other, and the segments of the log that journal nodes give out by
HTTP: who does not reach a journal node's RPC does not learn that address.

    with PartitionedCluster(namenodes=3) as cluster:
        cluster.network.isolate(cluster.active())
        ...
        cluster.network.heal()
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from howdah.config import Configuration
from howdah.local.layout import Layout
from howdah.local.nameservice import Nameservice
from howdah.local.ports import LOOPBACK
from howdah.local.servers import environment
from tests.support.failover.links import CLIENTS, Silenced, place_of
from tests.support.failover.network_faults import CutCluster


class Network:
    """What is between places. `logs` has a log a server. Thread-safe."""

    def __init__(self, places: Collection[str], logs: Path) -> None:
        self.places = frozenset(places)
        self._lock = threading.Lock()
        self._program = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.support.failover.links", str(logs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
        )

    def link(self, target: str, address: str) -> str:
        """Where all others reach `address` of `target`."""
        return f"{LOOPBACK}:{self._ask(do='link', target=target, address=address)['port']}"

    def cut(
        self,
        one: Collection[str],
        other: Collection[str],
        silenced: Silenced = Silenced.BOTH,
    ) -> None:
        """Lose what places of `one` and places of `other` say to each other; or what one of
        these sides says (`silenced`)."""
        assert self.places.issuperset([*one, *other]), f"{one} and {other} are not all places"
        self._ask(do="cut", one=list(one), other=list(other), silenced=silenced)

    def isolate(self, place: str, silenced: Silenced = Silenced.BOTH) -> None:
        """Cut a place off from all others; or lose what it (`ONE`), or they, say."""
        self.cut([place], self.places - {place}, silenced)

    def heal(self) -> None:
        """Everybody hears everybody."""
        self._ask(do="heal")

    def close(self) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait()
        self._program.stdout.close()

    def _ask(self, **request: object) -> dict[str, int]:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        with self._lock:
            self._program.stdin.write(json.dumps(request) + "\n")
            self._program.stdin.flush()
            answer: dict[str, int] = json.loads(self._program.stdout.readline())
        return answer


def linked_addresses(nameservice: Nameservice, network: Network) -> dict[str, dict[str, str]]:
    """For each server the addresses at which it listens, and where others reach these."""
    listening = {node.name: (node.rpc, node.http) for node in nameservice.namenodes} | {
        node.name: (node.rpc,) for node in nameservice.journalnodes
    }
    return {
        name: {address: network.link(place_of(name), address) for address in addresses}
        for name, addresses in listening.items()
    }


@dataclass(frozen=True)
class LinkedLayout(Layout):
    """A layout in whose configurations servers have the addresses at which others reach them.

    What a server listens at it has from its own configuration, and nobody else has it.
    """

    linked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def client_conf(self) -> Configuration:
        return self._replaced(self._plain.client_conf(), but="")

    def server_conf(self, name: str) -> Configuration:
        return self._replaced(self._plain.server_conf(name), but=name)

    @property
    def _plain(self) -> Layout:
        return Layout(self.dir, self.served_by, self.datanodes, self.values)

    def _replaced(self, conf: Configuration, *, but: str) -> Configuration:
        pairs = list(self._pairs(but))

        def replaced(value: str) -> str:
            for address, linked in pairs:
                value = value.replace(address, linked)
            return value

        return Configuration({name: replaced(value) for name, value in conf.items()})

    def _pairs(self, but: str) -> Iterator[tuple[str, str]]:
        for name, addresses in self.linked.items():
            if name != but:
                yield from addresses.items()


class PartitionedCluster(CutCluster):
    """Several namenodes, and a `network` between them, journal nodes, datanodes and clients."""

    network: Network

    def __init__(
        self,
        *,
        namenodes: int = 3,
        datanodes: int = 3,
        conf: Mapping[str, str | int | float | bool] | None = None,
    ) -> None:
        super().__init__(datanodes=datanodes, namenodes=namenodes, conf=conf)

    def _prepare(self, layout: Layout) -> Layout:
        assert layout.nameservice is not None
        places = {CLIENTS, *(place_of(name) for name in layout.names)}
        self.network = Network(places, layout.dir / "logs")
        linked = linked_addresses(layout.nameservice, self.network)
        return LinkedLayout(
            layout.dir, layout.served_by, layout.datanodes, layout.values, linked=linked
        )

    def close(self) -> None:
        """Stop everything, the network last."""
        super().close()
        self.network.close()
