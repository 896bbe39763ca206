"""What may befall a network, at random, while a cluster works on it."""

from __future__ import annotations

import random
import threading
from collections.abc import Collection, Sequence
from typing import Protocol

from howdah.testing.minicluster import MiniCluster
from tests.support.failover import server_faults
from tests.support.failover.links import CLIENTS, Silenced

JOURNAL_NODES = [f"journalnode{number}" for number in range(3)]
DATANODES = [f"datanode{number}" for number in range(3)]


class Cuts(Protocol):
    """A network between places that can lose what they say: `Network`, or `Hosts`."""

    @property
    def places(self) -> frozenset[str]: ...

    def cut(
        self, one: Collection[str], other: Collection[str], silenced: Silenced = Silenced.BOTH
    ) -> None: ...

    def isolate(self, place: str, silenced: Silenced = Silenced.BOTH) -> None: ...

    def heal(self) -> None: ...


class CutCluster(MiniCluster):
    """A cluster with a network of that kind."""

    network: Cuts


class Weather:
    """What may befall a network, at random."""

    LONGEST_S = 5.0

    def __init__(self, cluster: CutCluster, seed: int) -> None:
        self._cluster = cluster
        self._dice = random.Random(seed)
        self._pause = threading.Event()

    def storm(self) -> None:
        """Some cuts at once, for a while; then all is whole, and served again."""
        network = self._cluster.network
        for one, other in [self._sides() for _ in range(self._dice.choice((1, 1, 2)))]:
            silenced = self._dice.choice([*Silenced])
            print(f"cut {one} from {other}, silenced: {silenced}", flush=True)
            network.cut(one, other, silenced)
        self._pause.wait(self._dice.uniform(0, self.LONGEST_S))
        network.heal()
        server_faults.mend(self._cluster)

    def _sides(self) -> tuple[Sequence[str], Sequence[str]]:
        dice = self._dice
        namenodes = sorted(self._cluster.ha_states())
        places = sorted(self._cluster.network.places)
        active = self._cluster.active(timeout_s=server_faults.TIMEOUT_S)
        some_nodes = dice.sample(JOURNAL_NODES, dice.randint(1, 3))
        return dice.choice(
            [
                ([active], [place for place in places if place != active]),
                ([active], some_nodes),
                ([active], [CLIENTS, *DATANODES]),
                ([active], [name for name in namenodes if name != active]),
                (namenodes, some_nodes),
                (namenodes, [dice.choice(DATANODES)]),
                (dice.sample(places, 2), places),
            ]
        )
