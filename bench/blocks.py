"""The block manager by itself, in process: what an event costs it, and a full report.

Blocks with three replicas each, on datanodes of one disk in racks of twenty. An event is what
a datanode reports of one replica, with the sorting of its block that follows. A repair is the
choice of a source and of a target for a block that has lost a replica, with the order. All of
it should cost the same whether there are few or many blocks and datanodes. Times are of CPU,
so that others on the machine disturb less.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable

from harness import Options, Results, figure, main, progress

from howdah.namenode.service.protocols.datanodes.report_decoder import reported_replica
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import (
    DatanodeIdentity,
    DatanodeRegistry,
    Storage,
    StorageReport,
)
from howdah.namenode.state.blocks.network import Network
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.namenode.state.blocks.placement import TWICE_THE_MEAN, Placement
from howdah.namenode.state.blocks.reconstruction import Reconstruction, Streams
from howdah.namenode.state.inodes.block_table import BlockState, BlockTable
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.block_lists import ListedReplica, ReplicaList

REPLICAS = 3
LENGTH = 128 << 20
STAMP = 1001
FIRST_ID = 1 << 30
ON_A_RACK = 20
EVENTS = 20_000
REPAIRS = 2_000
SHAPES = ((100_000, 10), (1_000_000, 10), (1_000_000, 1000), (10_000_000, 1000))
QUICK_SHAPES = ((20_000, 10), (20_000, 200))


class Cluster:
    """A block manager that knows where all replicas are."""

    def __init__(self, blocks: int, nodes: int) -> None:
        self.dice = random.Random(0)
        self.network = Network()
        self.registry = DatanodeRegistry(self.network, expiry_ms=1 << 40, stale_ms=1 << 40)
        self.storages = [self._join(number, max(nodes // ON_A_RACK, 2)) for number in range(nodes)]
        self.table = BlockTable()
        self.ids = range(FIRST_ID, FIRST_ID + blocks)
        placement = Placement(self.network, self.dice, load=TWICE_THE_MEAN)
        self.map = BlockMap(
            self.table,
            1,
            lambda block: REPLICAS,
            lambda *_: False,
            lambda: STAMP,
            placement=placement,
        )
        # So that a round orders all that is lacking.
        self.repairs = Reconstruction(
            self.map,
            self.registry,
            placement,
            max_blocks_per_round=REPAIRS,
            blocks_per_node=REPAIRS,
            streams=Streams(REPAIRS, REPAIRS),
        )
        count = len(self.storages)
        for block_id in self.ids:
            self.table.new(block_id, LENGTH, STAMP, 1, BlockState.COMPLETE)
            first = self.dice.randrange(count)
            for step in range(REPLICAS):  # On two racks at least: neighbours are on different ones.
                self._hold(self.storages[(first + step) % count], block_id)
        for _ in self.repairs.work(0):
            continue

    def _join(self, number: int, racks: int) -> Storage:
        name = f"n{number}"
        identity = DatanodeIdentity(name, f"10.0.{number // 250}.{number % 250}", name, 1, 2, 3)
        node, _ = self.registry.register(identity, f"/r{number % racks}", 0)
        report = StorageReport(f"DS-{number}", 1, False, 1 << 50, 0, 1 << 50, 0, 0)
        self.registry.heartbeat(node, [report], 1, 0)
        storage = node.storages[report.storage_id]
        storage.reported = True
        return storage

    def _hold(self, storage: Storage, block_id: int) -> None:
        self.table.take_replica(block_id, LENGTH, STAMP, storage)
        storage.block_ids.add(block_id)

    def events(self) -> float:
        """Microseconds of an event: replicas are lost, and come back."""
        chosen = self.dice.sample(self.ids, EVENTS // 2)
        holders = [self.table[block_id].replicas[0] for block_id in chosen]

        def run() -> None:
            for block_id, storage in zip(chosen, holders, strict=True):
                self.map.deleted(storage, block_id)
            self._sort()
            for block_id, storage in zip(chosen, holders, strict=True):
                self.map.reported(storage, _replica(block_id))
            self._sort()

        return 1e6 * _cpu_s(run) / EVENTS

    def repair(self) -> float:
        """Microseconds of a repair: blocks that lack a replica are copied."""
        chosen = self.dice.sample(self.ids, REPAIRS)
        holders = [self.table[block_id].replicas[0] for block_id in chosen]
        for block_id, storage in zip(chosen, holders, strict=True):
            self.map.deleted(storage, block_id)
        self._sort()

        def run() -> None:
            for _ in self.repairs.work(0):
                continue

        found = 1e6 * _cpu_s(run) / REPAIRS
        assert self.repairs.pending_count == REPAIRS
        for storage in self.storages:
            storage.node.to_transfer.clear()
        for block_id, storage in zip(chosen, holders, strict=True):
            self.map.reported(storage, _replica(block_id))
        self._sort()
        return found

    def _sort(self) -> None:
        for _ in self.repairs.sort():
            continue


def _replica(block_id: int) -> ReportedReplica:
    return ReportedReplica(block_id, LENGTH, STAMP, ReplicaState.FINALIZED)


def _cpu_s(run: Callable[[], None]) -> float:
    begun = time.thread_time()
    run()
    return time.thread_time() - begun


def report(replicas: int, *, again: bool) -> tuple[float, float]:
    """Seconds that a full report takes, and milliseconds of its longest slice, CPU time; the
    first one, or one that says nothing new. It is there as bytes, as it comes from the wire."""
    cluster = Cluster(0, 10)
    table, storage = cluster.table, cluster.storages[0]
    for block_id in range(FIRST_ID, FIRST_ID + replicas):
        table.new(block_id, LENGTH, STAMP, 1, BlockState.COMPLETE)
    count, buffers = block_lists.encode(
        ListedReplica(block_id, LENGTH, STAMP, ReplicaState.FINALIZED)
        for block_id in range(FIRST_ID, FIRST_ID + replicas)
    )

    def listed() -> ReplicaList[ReportedReplica]:
        return block_lists.decode(count, buffers, reported_replica)

    if again:
        for _ in cluster.map.full_report(storage, listed()):
            continue
    gc.freeze()
    longest = 0.0
    begun = before = time.thread_time()
    for _ in cluster.map.full_report(storage, listed()):
        now = time.thread_time()
        longest = max(longest, now - before)
        before = now
    end = time.thread_time()
    assert storage.reported
    assert len(storage.block_ids) == replicas
    return end - begun, 1000 * max(longest, end - before)


def measure(options: Options) -> Results:
    repeats = options.repeats(5, 1)
    for blocks, nodes in QUICK_SHAPES if options.quick else SHAPES:
        progress(f"{blocks:,} blocks on {nodes:,} datanodes")
        cluster = Cluster(blocks, nodes)
        gc.freeze()
        what = f"{blocks:,} blocks, {nodes:,} datanodes"
        costs = [cluster.events() for _ in range(repeats)]
        yield figure(f"events, {what}", "/s", [1e6 / cost for cost in costs])
        yield figure(f"an event, {what}", "µs", costs)
        yield figure(f"a repair, {what}", "µs", [cluster.repair() for _ in range(repeats)])
        del cluster
        gc.unfreeze()
        gc.collect()
    replicas = 20_000 if options.quick else 1_000_000
    for again, name in ((False, "the first one"), (True, "nothing new")):
        progress(f"a report of {replicas:,} replicas: {name}")
        found = [report(replicas, again=again) for _ in range(options.repeats(3, 1))]
        yield figure(f"report of {replicas:,} replicas, {name}", "s", [s for s, _ in found])
        yield figure(f"its longest slice, {name}", "ms", [ms for _, ms in found])


if __name__ == "__main__":
    main(measure)
