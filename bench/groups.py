"""Memory of block groups of erasure-coded files: what one takes in a namenode.

A group of RS-6-3 is one row of a table, and nine datanodes have an internal block of it, which is
one of their storage's ids. The more datanodes there are, the farther apart lie the ids of each.
Every measurement is a process of its own, and says by how much its resident memory has grown. The
peers are as many replicated blocks, with three replicas each: a group has the data of up to six.
"""

from __future__ import annotations

import gc
import multiprocessing
import random
from collections.abc import Callable
from pathlib import Path

from harness import Options, Results, figure, main, progress

from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.inodes.block_table import BlockState, BlockTable
from howdah.protocol.striping.layout import FIRST_GROUP_ID, INDEX_BITS
from howdah.protocol.striping.policies import SYSTEM_POLICIES
from howdah.testing.in_memory import InMemoryNamenode

RS_6_3 = 1
REPLICAS = 3
DATANODES = (9, 50, 250)
FIRST_BLOCK_ID = 1 << 30
LENGTH = 6 * (128 << 20)
TARGET = "≤ 120"
PAGE_BYTES = 4096

Filling = Callable[[BlockTable, list[Storage], int], None]


def groups(blocks: BlockTable, storages: list[Storage], count: int) -> None:
    dice, units = random.Random(0), SYSTEM_POLICIES[RS_6_3].schema.units
    for number in range(count):
        group = blocks.groups.new(
            FIRST_GROUP_ID + (number << INDEX_BITS),
            LENGTH,
            1001 + number,
            16386 + number,
            BlockState.COMPLETE,
            RS_6_3,
        )
        for part, storage in zip(group.parts, dice.sample(storages, units), strict=True):
            part.add_replica(storage)
            storage.block_ids.add(part.block_id)


def replicated(blocks: BlockTable, storages: list[Storage], count: int) -> None:
    dice = random.Random(0)
    for number in range(count):
        block_id = FIRST_BLOCK_ID + number
        block = blocks.new(block_id, LENGTH, 1001 + number, 16386 + number, BlockState.COMPLETE)
        for storage in dice.sample(storages, REPLICAS):
            block.add_replica(storage)
            storage.block_ids.add(block_id)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def growth(fill: Filling, nodes: int, count: int) -> float:
    namenode = InMemoryNamenode()
    joined = [namenode.join(f"dn{number}") for number in range(nodes)]
    storages = [storage for node in joined for storage in node.known.storages.values()]
    gc.collect()
    before = resident_bytes()
    fill(namenode.namesystem.namespace.blocks, storages, count)
    gc.collect()
    return (resident_bytes() - before) / count


def measure(options: Options) -> Results:
    count = 50_000 if options.quick else 300_000
    for nodes in DATANODES:
        progress(f"{count:,} groups on {nodes} datanodes")
        found: dict[Filling, float] = {}
        for fill in (groups, replicated):
            with multiprocessing.get_context("spawn").Pool(1) as alone:
                found[fill] = alone.apply(growth, (fill, nodes, count))
        yield figure(
            f"memory of a group of RS-6-3, {nodes} datanodes",
            "bytes",
            [found[groups]],
            {"a replicated block": [found[replicated]]},
            target=TARGET,
        )


if __name__ == "__main__":
    main(measure)
