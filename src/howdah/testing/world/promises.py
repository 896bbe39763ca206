"""What was promised of one file lies on disks: looked at while a world runs, not only by readers.

A reader that finds everything may have had luck: the last replica may have been the only one. So
these look at the disks of all datanodes, at the objects of the active, of the datanodes and of
the writer. At every moment

- what `hflush`, `hsync` or `close` have promised is on a disk, in a replica that is not older than
  its block, and finalized if the block has ended; what was synced is there after power cuts, too;
- what a pipeline has acknowledged is at each datanode of it, and what a datanode shows to readers
  is at each one behind it;
- no datanode shows more of a replica than it has;
- the replicas that an active counts for a block that has ended are there, and have its bytes;
- the stamp of a replica does not go back, nor does that of a block.

What a power cut may have taken from a machine is not asked of it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from howdah.testing.world.cluster import DATANODE, Cluster
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.replicas import DiskReplica, on_disks
from howdah.testing.world.watching import Watch

_STORE: Final = "howdah.datanode.replicas.store"
_EACH_S: Final = 0.2


class Promises(Protocol):
    """Knows what the file may have, and what of it nobody may lose."""

    power_losses: int

    @property
    def written(self) -> bytes:
        """All that the file may hold."""

    @property
    def writer(self) -> Any:
        """The stream of who writes it, or None."""

    def promised(self) -> int: ...


class PromiseWatch:
    """Watches the file `path` of a cluster."""

    def __init__(self, cluster: Cluster, path: str, promises: Promises) -> None:
        """The servers are made, and none runs yet."""
        self._world = cluster.world
        self._watch: Watch | None = None
        self._path = path
        self._promises = promises
        self._datanodes = [s for s in cluster.servers.values() if s.role is DATANODE]
        self._machines = {s.machine.address: s.machine for s in self._datanodes}
        self._stores: dict[str, tuple[Process, Any]] = {}
        """By machine: its data process, and the store of that."""
        self._damaged: dict[str, set[int]] = {}
        """By address: blocks of which a power cut may have taken something."""
        self._stamps: dict[tuple[str, int], int] = {}
        self._block_stamps: dict[tuple[int, int], int] = {}
        self._most_durable = 0
        self.looks = 0
        """How often an active was asked."""
        self.pipelines = 0
        """How often a pipeline was."""
        for server in self._datanodes:
            before = server.adjust

            def adjust(process: Process, before: Callable[[Process], None] = before) -> None:
                before(process)
                process.on_fork = self._note_store

            server.adjust = adjust

    def begin(self, watch: Watch) -> None:
        """Look from now on; `watch` knows the namenodes."""
        self._watch = watch
        self._look_later()

    def power_is_lost(self, machine: Machine) -> None:
        """Say that its power is cut in this moment: what is on its disks may change."""
        blocks = self._damaged.setdefault(machine.address, set())
        blocks.update(on_disks(machine))
        for key in [key for key in self._stamps if key[0] == machine.address]:
            del self._stamps[key]

    def _look_later(self) -> None:
        def look() -> None:
            self.look()
            self._look_later()

        self._world.scheduler.after(_EACH_S, look)

    def _note_store(self, process: Process) -> None:
        made = process.modules.load(_STORE).BlockStore
        initialize = made.__init__

        def __init__(store: Any, *arguments: Any, **named: Any) -> None:
            initialize(store, *arguments, **named)
            self._stores[process.machine.address] = process, store

        made.__init__ = __init__

    # -- looking

    def look(self) -> None:
        """Hold everything against the disks, as they are in this moment."""
        there = {address: on_disks(machine) for address, machine in self._machines.items()}
        for problem in self._problems(there):
            self._world.fail(f"{self._path}: {problem}")

    def _problems(self, there: dict[str, dict[int, DiskReplica]]) -> Iterator[str]:
        yield from self._problems_of_stamps(there)
        yield from self._problems_of_stores(there)
        yield from self._problems_of_pipeline(there)
        namenode = self._active()
        if namenode is None:
            return
        self.looks += 1
        file = namenode.namesystem.namespace.find(self._path)
        if file is None or not hasattr(file, "blocks"):
            if self._promises.promised():
                yield f"{self._promises.promised()} bytes are promised, and it is not there"
            return
        yield from self._problems_of_blocks(namenode, file, there)

    def _active(self) -> Any:
        """Return the namenode that knows most, if it is the only active one."""
        assert self._watch is not None, "it has not begun"
        actives = [
            namenode
            for process, namenode in self._watch.namenodes()
            if not process.is_dead and namenode.context.is_active
        ]
        if len(actives) != 1:
            return None
        writer = actives[0].log_writer
        durable = writer.durable_txid if writer.is_open else 0
        if durable < self._most_durable:
            return None  # One that was replaced, and does not know.
        self._most_durable = durable
        return actives[0]

    def _problems_of_stamps(self, there: dict[str, dict[int, DiskReplica]]) -> Iterator[str]:
        for address, replicas in there.items():
            for block_id, replica in replicas.items():
                key = address, block_id
                if replica.stamp and replica.stamp < self._stamps.get(key, 0):
                    yield (
                        f"the stamp of blk_{block_id} at {self._name(address)} goes back from "
                        f"{self._stamps[key]} to {replica.stamp}"
                    )
                self._stamps[key] = max(replica.stamp, self._stamps.get(key, 0))

    def _problems_of_stores(self, there: dict[str, dict[int, DiskReplica]]) -> Iterator[str]:
        for address, (process, store) in self._stores.items():
            if process.is_dead:
                continue
            for pool_id in store._replicas.pools():
                for replica in store._replicas.of_pool(pool_id):
                    found = there[address].get(replica.block_id)
                    if replica.state.name == "TEMPORARY" or found is None:
                        continue
                    has = max((len(node.data) for _, node in found.files), default=0)
                    if not replica.visible_bytes <= replica.length_bytes <= has:
                        yield (
                            f"{self._name(address)} shows {replica.visible_bytes} bytes of "
                            f"{replica!r}, and has {has}"
                        )

    def _problems_of_pipeline(self, there: dict[str, dict[int, DiskReplica]]) -> Iterator[str]:
        stream = self._promises.writer
        pipeline = None if stream is None else stream._inner._streamer._pipeline
        if pipeline is None or not pipeline.is_streaming:
            return
        located, last = pipeline.block, pipeline.last_block
        start = self._start_of(last.block_id)
        if start is None:
            return
        self.pipelines += 1
        expected = self._promises.written[start:]
        acked = expected[: last.length_bytes]
        behind: int | None = len(expected)
        if pipeline.counts.recoveries:
            behind = None  # In another pipeline each shows what the first has acknowledged.
        for node in reversed(located.nodes):
            found = there.get(node.ip, {}).get(last.block_id)
            if found is None or last.block_id in self._damaged.get(node.ip, ()):
                behind = None
                continue
            if found.longest(acked, is_ended=False) < len(acked):
                yield (
                    f"{len(acked)} bytes of blk_{last.block_id} are acknowledged, and "
                    f"{self._name(node.ip)} has {found}"
                )
            replica = self._replica_at(node.ip, last)
            if replica is None:
                behind = None
            elif behind is not None:
                if replica.visible_bytes > behind:
                    yield (
                        f"{self._name(node.ip)} shows {replica.visible_bytes} bytes of "
                        f"{replica!r}, and one behind it has {behind}"
                    )
                behind = min(behind, replica.length_bytes)

    def _replica_at(self, address: str, block: Any) -> Any:
        """Return a datanode's replica of a block that is written there, or None."""
        process, store = self._stores.get(address, (None, None))
        if process is None or process.is_dead or store is None:
            return None
        replica = store._replicas.find(block.pool_id, block.block_id)
        return replica if replica is not None and replica.stored_as.name == "RBW" else None

    def _start_of(self, block_id: int) -> int | None:
        """Return where the last block begins, if an active knows that it is the last one."""
        namenode = self._active()
        file = None if namenode is None else namenode.namesystem.namespace.find(self._path)
        blocks = getattr(file, "blocks", ())
        if not blocks or blocks[-1].block_id != block_id:
            return None
        start: int = sum(block.length_bytes for block in blocks[:-1])
        return start

    def _problems_of_blocks(
        self, namenode: Any, file: Any, there: dict[str, dict[int, DiskReplica]]
    ) -> Iterator[str]:
        promised, text = self._promises.promised(), self._promises.written
        has_lost = bool(self._promises.power_losses)
        start = 0
        for block in file.blocks:
            is_ended = block.state.name == "COMPLETE"
            is_open = block.state.name == "UNDER_CONSTRUCTION"
            length = len(text) - start if is_open else block.length_bytes
            expected = text[start : start + max(length, 0)]
            key = id(namenode), block.block_id
            if block.generation_stamp < self._block_stamps.get(key, 0):
                yield f"the stamp of {block} goes back from {self._block_stamps[key]}"
            self._block_stamps[key] = block.generation_stamp
            wanted = min(promised - start, len(expected))
            best = max(
                (
                    found.longest(expected, is_ended=is_ended and not has_lost)
                    for found in (replicas.get(block.block_id) for replicas in there.values())
                    if found is not None
                    and (found.stamp >= block.generation_stamp or not found.stamp)
                ),
                default=0,
            )
            if wanted > best:
                yield (
                    f"{wanted} bytes of {block} are promised, and no disk has more than {best}: "
                    f"{self._describe(block.block_id, there)}"
                )
            if is_ended:
                yield from self._problems_of_counted(block, expected, there)
            start += len(expected)
        if promised > start:
            yield f"{promised} bytes are promised, and it has blocks for {start}"

    def _problems_of_counted(
        self, block: Any, expected: bytes, there: dict[str, dict[int, DiskReplica]]
    ) -> Iterator[str]:
        judged = {storage.node.identity.ip for storage in block.corrupt}
        for storage in block.replicas:
            address = storage.node.identity.ip
            if not storage.reported or not storage.node.alive or address in judged:
                continue  # One before may have had it deleted.
            if block.block_id in self._damaged.get(address, ()):
                continue
            found = there[address].get(block.block_id, DiskReplica())
            is_whole = found.longest(expected, is_ended=True) == len(expected)
            if not is_whole or found.stamp not in (0, block.generation_stamp):
                yield (
                    f"{self._name(address)} is counted for {block}, and of its "
                    f"{len(expected)} bytes there is {self._describe(block.block_id, there)}"
                )

    def _name(self, address: str) -> str:
        return self._machines[address].name

    def _describe(self, block_id: int, there: dict[str, dict[int, DiskReplica]]) -> str:
        said = [
            f"{replicas[block_id]} at {self._name(address)}"
            for address, replicas in there.items()
            if block_id in replicas
        ]
        return "; ".join(said) or "nothing"
