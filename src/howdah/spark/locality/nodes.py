"""Which node a file is best read at, and how many tasks each node gets (pure).

1. A file is read best where most of its bytes are. Often that is true of several nodes:
   its replicas.
2. Of those one is chosen by a hash, so that nobody has to know all files. Nodes that are
   named often are chosen less often, in proportion: where one node has a replica of
   everything, as the node of a single writer has, it doesn't get more work than the others.
3. Tasks are given to the nodes by what there is to do, at least one to each. Where there
   are more nodes than tasks may be, those with little to do go without.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_HASHES: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class Share:
    """A node's tasks: `count` parts from `first` on."""

    node: str
    first: int
    count: int


def holders(blocks: Iterable[tuple[int, Sequence[str]]]) -> tuple[str, ...]:
    """The nodes that have most of the bytes, where blocks are (bytes, nodes).

    >>> holders([(5, ["a", "b"]), (3, ["b", "c"])])
    ('b',)
    """
    held: Counter[str] = Counter()
    for length_bytes, nodes in blocks:
        for node in dict.fromkeys(nodes):
            held[node] += length_bytes
    most = max(held.values(), default=0)
    return tuple(sorted(node for node, length in held.items() if length == most and most))


def choose(key: bytes, nodes: Sequence[str], load: Mapping[str, float]) -> str | None:
    """The one of `nodes` that `key` goes to: always the same, each about as often as its
    `load` is small. Nodes without a load are none; None if no node is left."""
    best: tuple[float, str] | None = None
    for node in nodes:
        expected = load.get(node)
        if expected is not None:
            found = (-math.log(_between_0_and_1(key, node)) * expected, node)
            best = found if best is None else min(best, found)
    return None if best is None else best[1]


def _between_0_and_1(key: bytes, node: str) -> float:
    digest = hashlib.blake2b(key + b"\0" + node.encode(), digest_size=8).digest()
    return (int.from_bytes(digest) + 1) / (_HASHES + 2)


def busiest(load: Mapping[str, float], most: int) -> dict[str, float]:
    """So many nodes at most: those with the largest load."""
    ordered = sorted(load, key=lambda node: (-load[node], node))
    return {node: load[node] for node in ordered[:most]}


def shares(work: Mapping[str, float], parts: int) -> list[Share]:
    """The parts of each node, by its work; of `parts`, which are no fewer than nodes."""
    assert parts >= len(work), f"{len(work)} nodes cannot share {parts} parts"
    counts = dict.fromkeys(sorted(work), 1)
    heap = [(-work[node], node) for node in counts]
    heapq.heapify(heap)
    for _ in range(parts - len(counts) if counts else 0):
        _, node = heapq.heappop(heap)
        counts[node] += 1
        heapq.heappush(heap, (-work[node] / counts[node], node))
    first = 0
    found = []
    for node, count in counts.items():
        found.append(Share(node, first, count))
        first += count
    return found


def hosts(nodes: Iterable[str]) -> set[str]:
    """The machines of nodes, which are named `address:port`."""
    return {node.rpartition(":")[0] for node in nodes}
