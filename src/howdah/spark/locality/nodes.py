"""Which node a file is best read at, and how many tasks each node gets (pure).

1. A file is best read at the node that holds most of its bytes. Often several nodes do: those
   of its replicas.
2. A hash chooses one of them, so that nobody has to know all files. Nodes that hold many files
   are chosen less often, in proportion: a node with a replica of every file, as the node of a
   single writer is, gets no more work than the others.
3. Nodes get tasks in proportion to their work, each at least one. If there are more nodes than
   tasks, the nodes with the least work get none.
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
    """The nodes that hold the most bytes of `blocks`, which are (bytes, nodes).

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
    """Choose the node for `key`: always the same one, and each node with a frequency in inverse
    proportion to its `load`. Ignore nodes without a load; return None if none is left."""
    best: tuple[float, str] | None = None
    for node in nodes:
        expected = load.get(node)
        if expected is not None:
            candidate = (-math.log(_between_0_and_1(key, node)) * expected, node)
            best = candidate if best is None else min(best, candidate)
    return None if best is None else best[1]


def _between_0_and_1(key: bytes, node: str) -> float:
    digest = hashlib.blake2b(key + b"\0" + node.encode(), digest_size=8).digest()
    return (int.from_bytes(digest) + 1) / (_HASHES + 2)


def busiest(load: Mapping[str, float], most: int) -> dict[str, float]:
    """The nodes with the largest loads, `most` at the most."""
    ordered = sorted(load, key=lambda node: (-load[node], node))
    return {node: load[node] for node in ordered[:most]}


def shares(work: Mapping[str, float], parts: int) -> list[Share]:
    """Share `parts` among the nodes in proportion to their work; there are at least as many
    parts as nodes."""
    assert parts >= len(work), f"{len(work)} nodes cannot share {parts} parts"
    counts = dict.fromkeys(sorted(work), 1)
    heap = [(-work[node], node) for node in counts]
    heapq.heapify(heap)
    for _ in range(parts - len(counts) if counts else 0):
        _, node = heapq.heappop(heap)
        counts[node] += 1
        heapq.heappush(heap, (-work[node] / counts[node], node))
    first = 0
    allotted = []
    for node, count in counts.items():
        allotted.append(Share(node, first, count))
        first += count
    return allotted


def hosts(nodes: Iterable[str]) -> set[str]:
    """The hosts of nodes, which are named `address:port`."""
    return {node.rpartition(":")[0] for node in nodes}
