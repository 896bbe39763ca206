"""The datanodes that may get replicas, by rack, to draw from at random (pure; FS-136).

Hadoop's `NetworkTopology` and `DFSNetworkTopology`, as far as placement asks them. A rack is a
whole location, however deep: `/rack`, `/data-centre/rack`. Here are datanodes that are alive
and in service, once in the pool of all and once in the pool of each type of storage that
they have.

A draw gives the nodes of a scope in random order, each once. It costs what is taken of it:
neither the nodes nor the racks are gone through, so a draw from a thousand nodes costs what
one from ten does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, MutableSequence
from itertools import accumulate
from typing import Any, Final, NamedTuple, Protocol

from howdah.namenode.state.blocks.datanodes import Datanode


class Dice(Protocol):
    """The random source: `random.Random` fits."""

    def shuffle(self, x: MutableSequence[Any], /) -> None: ...

    def randrange(self, stop: int, /) -> int: ...

    def getrandbits(self, k: int, /) -> int: ...


class Pool:
    """Datanodes by rack."""

    __slots__ = ("_by_rack", "_numbers", "_places", "_racks", "_starts", "load")

    def __init__(self) -> None:
        self._by_rack: dict[str, list[Datanode]] = {}
        # Of each node its rack, and its position there.
        self._places: dict[Datanode, tuple[str, int]] = {}
        # The racks in order, and how many nodes are on those before each; None after a change.
        self._starts: list[int] | None = None
        self._racks: list[str] = []
        self._numbers: dict[str, int] = {}
        self.load = 0
        """The connections of all nodes."""

    def __len__(self) -> int:
        return len(self._places)

    @property
    def racks(self) -> Collection[str]:
        return self._by_rack.keys()

    @property
    def mean_load(self) -> float:
        return self.load / len(self._places) if self._places else 0.0

    def add(self, node: Datanode, rack: str, load: int) -> None:
        on_rack = self._by_rack.setdefault(rack, [])
        self._places[node] = rack, len(on_rack)
        on_rack.append(node)
        self.load += load
        self._starts = None

    def remove(self, node: Datanode, load: int) -> None:
        rack, position = self._places.pop(node)
        on_rack = self._by_rack[rack]
        last = on_rack.pop()
        if last is not node:
            on_rack[position] = last
            self._places[last] = rack, position
        if not on_rack:
            del self._by_rack[rack]
        self.load -= load
        self._starts = None

    def draw(
        self, dice: Dice, *, rack: str | None = None, outside: Collection[str] = ()
    ) -> Iterator[Datanode]:
        """The nodes of one rack, or of all racks but those `outside` of which the scope is."""
        if rack is None and not outside and len(self._by_rack) == 1:
            (rack,) = self._by_rack
        if rack is not None:
            on_rack = self._by_rack.get(rack, ())
            for position in _in_random_order(len(on_rack), dice):
                yield on_rack[position]
            return
        starts = self._starts
        if starts is None:
            self._racks = list(self._by_rack)
            self._numbers = {name: number for number, name in enumerate(self._racks)}
            starts = [0, *accumulate(len(nodes) for nodes in self._by_rack.values())]
            self._starts = starts
        holes = sorted(
            (starts[number], len(self._by_rack[name]))
            for name in outside
            if (number := self._numbers.get(name)) is not None
        )
        count = len(self._places) - sum(size for _, size in holes)
        for drawn in _in_random_order(count, dice):
            position = drawn
            for start, size in holes:
                if position >= start:
                    position += size
            number = bisect_right(starts, position) - 1
            yield self._by_rack[self._racks[number]][position - starts[number]]


def _in_random_order(count: int, dice: Dice) -> Iterator[int]:
    """The numbers below `count`, each once. Nothing is made of those that nobody takes.

    It throws as `randrange` does, which takes three times as long to come to that.
    """
    getrandbits = dice.getrandbits
    swapped: dict[int, int] = {}
    for taken in range(count):
        left = count - taken
        bits = left.bit_length()
        thrown = getrandbits(bits)
        while thrown >= left:
            thrown = getrandbits(bits)
        chosen = taken + thrown
        yield swapped.get(chosen, chosen)
        swapped[chosen] = swapped.pop(taken, taken)


class _Known(NamedTuple):
    """As what a node is in the pools."""

    location: str
    domain: str
    kinds: frozenset[int]
    load: int


class Network:
    """The datanodes that may get replicas."""

    def __init__(self) -> None:
        self.all: Final = Pool()
        self.version = 0
        """Another number after each change of which racks or upgrade domains there are, or of
        where a node is: blocks that were well placed may be badly placed since."""
        self._of_kind: Final[dict[int, Pool]] = {}
        self._known: Final[dict[Datanode, _Known]] = {}
        self._domains: Final[Counter[str]] = Counter()
        # Where each node was last, also of those that cannot get replicas now.
        self._last_places: Final[dict[Datanode, tuple[str, str]]] = {}

    @property
    def rack_count(self) -> int:
        return len(self.all.racks)

    @property
    def domain_count(self) -> int:
        """A node without an upgrade domain is one of its own."""
        alone = self._domains[""]
        return len(self._domains) - bool(alone) + alone

    def pool(self, kind: int | None) -> Pool:
        """The nodes with a volume of that type, by its number on the wire; all for None."""
        return self.all if kind is None else self._of_kind.get(kind, _EMPTY)

    def note(self, node: Datanode) -> None:
        """The node has come, gone or changed: whether it is alive and in service, where it is,
        which volumes it has, or how busy it is."""
        before = self._known.get(node)
        if not (node.alive and node.in_service):
            if before is not None:
                self._take_out(node, before)
            return
        kinds = frozenset([s.storage_type for s in node.storages.values() if not s.failed])
        now = _Known(node.location, node.upgrade_domain, kinds, node.xceivers)
        if now == before:
            return
        if before is not None and before[:2] == now[:2]:
            self._update(node, before, now)
            return
        if before is not None:
            self._take_out(node, before)
        self._put_in(node, now)

    def forget(self, node: Datanode) -> None:
        """The node belongs to the cluster no more."""
        before = self._known.get(node)
        if before is not None:
            self._take_out(node, before)
        self._last_places.pop(node, None)

    def _pools(self, kinds: Iterable[int]) -> list[Pool]:
        return [self._of_kind.setdefault(kind, Pool()) for kind in kinds]

    def _update(self, node: Datanode, before: _Known, now: _Known) -> None:
        """It has other volumes, or is more or less busy."""
        self._known[node] = now
        for pool in self._pools(before.kinds - now.kinds):
            pool.remove(node, before.load)
        for pool in self._pools(now.kinds - before.kinds):
            pool.add(node, now.location, now.load)
        for pool in (self.all, *self._pools(before.kinds & now.kinds)):
            pool.load += now.load - before.load

    def _put_in(self, node: Datanode, now: _Known) -> None:
        place = now.location, now.domain
        is_new = now.location not in self.all.racks or now.domain not in self._domains
        if is_new or self._last_places.get(node, place) != place:
            self.version += 1
        self._last_places[node] = place
        self._known[node] = now
        self._domains[now.domain] += 1
        for pool in (self.all, *self._pools(now.kinds)):
            pool.add(node, now.location, now.load)

    def _take_out(self, node: Datanode, before: _Known) -> None:
        del self._known[node]
        self._domains[before.domain] -= 1
        for pool in (self.all, *self._pools(before.kinds)):
            pool.remove(node, before.load)
        if not self._domains[before.domain]:
            del self._domains[before.domain]
            self.version += 1
        elif before.location not in self.all.racks:
            self.version += 1


_EMPTY: Final = Pool()
