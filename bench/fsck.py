"""fsck of a million files, in process: how long it takes, and how long the loop waits.

The tree of `scale`: a million files of one block in ten thousand directories, here with three
replicas each, on nine datanodes in three racks. A run is made slice by slice, as the
namenode's loop makes it. The longest slice is what a call waits for that comes meanwhile; its
CPU time is what it takes of a machine that has nothing else to do.
"""

from __future__ import annotations

import gc
import random
import time
from dataclasses import dataclass

from harness import Options, Results, figure, main, progress
from scale import tree

from howdah.namenode.service.fsck.options import Options as Asked
from howdah.namenode.service.fsck.report import Fsck
from howdah.testing.in_memory import InMemoryNamenode

NODES = 9
REPLICAS = 3
RUNS = {
    "fsck": Asked(),
    "fsck -files -blocks -locations": Asked(files=True, blocks=True, locations=True),
}


def cluster(files: int) -> InMemoryNamenode:
    """A namenode that knows where all replicas are."""
    namenode = InMemoryNamenode(namespace=tree(files))
    nodes = [namenode.join(f"dn{n}", rack=f"/rack{n % 3}") for n in range(NODES)]
    storages = [storage for node in nodes for storage in node.known.storages.values()]
    blocks = namenode.namesystem.namespace.blocks
    dice = random.Random(0)
    for block_id in list(blocks):
        block = blocks[block_id]
        for storage in dice.sample(storages, REPLICAS):
            blocks.take_replica(block_id, block.length_bytes, block.generation_stamp, storage)
            storage.block_ids.add(block_id)
    return namenode


@dataclass(slots=True)
class Run:
    """Seconds of one run, and of its longest slices."""

    total_s: float = 0.0
    slice_s: float = 0.0
    slice_cpu_s: float = 0.0


def run(namenode: InMemoryNamenode, asked: Asked) -> Run:
    found = Run()
    last = ""
    begun = before = time.perf_counter()
    before_cpu = time.thread_time()
    for text in Fsck(namenode.namesystem).run("root", "10.9.9.9", asked):
        text.encode()
        last = text or last
        now, now_cpu = time.perf_counter(), time.thread_time()
        found.slice_s = max(found.slice_s, now - before)
        found.slice_cpu_s = max(found.slice_cpu_s, now_cpu - before_cpu)
        before, before_cpu = now, now_cpu
    found.total_s = time.perf_counter() - begun
    assert last.endswith("is HEALTHY")
    return found


def measure(options: Options) -> Results:
    files = 50_000 if options.quick else 1_000_000
    progress(f"{files:,} files with {REPLICAS} replicas")
    namenode = cluster(files)
    gc.freeze()
    for name, asked in RUNS.items():
        found = [run(namenode, asked) for _ in range(options.repeats(3, 1))]
        yield figure(f"{name}, {files:,} files", "s", [each.total_s for each in found])
        yield figure(f"{name}, longest slice", "ms", [1000 * each.slice_s for each in found])
        cpu = [1000 * each.slice_cpu_s for each in found]
        yield figure(f"{name}, longest slice, CPU time", "ms", cpu)


if __name__ == "__main__":
    main(measure)
