"""Files whose writers die while datanodes restart: their recovery keeps what was promised.

In each round writers leave files open at one moment, and at the same moment datanodes are killed or
lose their power. They come back, all of them or all but one, and somebody has the files closed. A
file has then

- what was synced: a sync is for ever;
- what was flushed, if a datanode of its pipeline kept its power, and all have come back before,
  or none that has come back knows the block: a datanode that was killed alone has lost nothing
  that it had acknowledged;
- nothing that was not written.

Among the moments are those at which some datanodes have ended a block and others have not, and
those behind the end of a connection between two datanodes of a pipeline.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, NAMENODE, RPC_PORT, Cluster, Server
from howdah.testing.world.network import Stream
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.replicas import where_in
from howdah.testing.world.scenarios.datanodes import build
from howdah.testing.world.workload.checking import check_all_replicated
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_ROUNDS: Final = 4
_WRITERS: Final = 3
_DATANODES: Final = 3
_BLOCK_BYTES: Final = ("16384", "65536")
_LARGEST_WRITES_BYTES: Final = (20_000, 3_000)
_STEPS: Final = ("write", "hflush", "hsync", "close")
_HABITS: Final = ((10, 6, 4, 0.7), (5, 10, 1, 0.3))
"""How often a writer does what: some sync seldom, and flush much that is on no disk."""
_PACES_S: Final = (0.002, 0.02, 0.2)
_MOST_TURNS: Final = 60
"""So many turns of threads pass between what a writer does and its death."""
_TURNS_OF_AN_END: Final = 600
"""So many turns are enough for the end of a block at all its datanodes."""
_LATE_S: Final = 15.0
_RECOVERY_S: Final = 300.0
_KILLED_WITHIN_S: Final = 2.0
_MOMENT_S: Final = 0.1
_PATIENCE_S: Final = 60.0
_PIECE_BYTES: Final = 4096
_QUIET_S: Final = 10.0


@dataclass
class _File:
    """What a writer knows of its file."""

    path: str
    written: bytearray = field(default_factory=bytearray)
    flushed: int = 0
    pipeline: frozenset[str] = frozenset()
    """The addresses of those that have acknowledged what was flushed."""
    block_id: int = 0
    """The block in which that ends."""
    synced: int = 0
    steps: int = 0
    is_closing: bool = False
    is_closed: bool = False


def recovered_files_keep_what_was_promised(world: World) -> Mapping[str, object]:
    """Let writers die while datanodes restart, have their files recovered, and read them; then
    take the power from all machines, and read them again."""
    dice = world.dice("scenario")
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    clients = world.machine("clients")
    syncs_on_close = dice.random() < 0.5
    cluster, watch = build(
        world,
        {
            "dfs.blocksize": dice.choice(_BLOCK_BYTES),
            "dfs.client-write-packet-size": "4096",
            "dfs.datanode.synconclose": str(syncs_on_close).lower(),
        },
    )
    rounds = _Rounds(cluster, dice, syncs_on_close=syncs_on_close)
    for number in range(_ROUNDS):
        rounds.play(number)
    world.run_for(_QUIET_S)
    check_all_replicated(world, clients, rounds.connect, _DATANODES)
    watch.check_at_rest()
    return {
        "files": rounds.count,
        "recovered_bytes": rounds.recovered_bytes,
        "flushes_held": rounds.flushes_held,
        "syncs_held": rounds.syncs_held,
        "compared": watch.compared,
    }


class _Rounds:
    """Plays rounds in one cluster."""

    def __init__(self, cluster: Cluster, dice: random.Random, *, syncs_on_close: bool) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._clients = self._world.machines["clients"]
        self._dice = dice
        self._syncs_on_close = syncs_on_close
        self._datanodes = [s for s in cluster.servers.values() if s.role is DATANODE]
        self._namenode = next(s for s in cluster.servers.values() if s.role is NAMENODE)
        self._quiet_from_s = 0.0
        """From when on nobody is killed any more that a round has chosen."""
        self._is_rebuilt = False
        """Whether a pipeline of this round may have gone on without one of its datanodes."""
        self._broken_off: Server | None = None
        """The datanode of this round that has lost its connections to others."""
        self.count = 0
        self.recovered_bytes = 0
        self.flushes_held = 0
        """Files of which all that was flushed had to be there."""
        self.syncs_held = 0

    def connect(self, process: Process) -> Any:
        return self._cluster.connect(process, _URI)

    def play(self, number: int) -> None:
        world, dice = self._world, self._dice
        files = [_File(f"/{number}-{writer}") for writer in range(_WRITERS)]
        writers = [world.process(self._clients, f"writer{file.path}") for file in files]
        for writer, file in zip(writers, files, strict=True):
            writer.start(partial(self._write, file=file, dice=world.dice(file.path)))
        world.run_for(dice.uniform(0.05, 1.0))
        self._broken_off = None
        self._is_rebuilt = is_disturbed = dice.random() < 0.35
        if is_disturbed:
            self._disturb()
        self._wait_for_a_moment(files)
        half_ended = self._half_ended()
        for writer in writers:
            writer.kill()
        without_power = self._break(half_ended)
        late = self._bring_back(without_power)
        known = self._known_blocks(late)
        found = world.call(
            self._clients, "recoverer", partial(self._recover, files=files), timeout_s=_RECOVERY_S
        )
        # A recovery may be over before a datanode is killed that was to lead it.
        world.run_for(max(0.0, self._quiet_from_s - world.now_s))
        for server in (*self._datanodes, self._namenode):
            _start(server)
        self._cluster.wait_ready()
        for file in files:
            survives = bool(file.pipeline - without_power)
            is_told = late is None or file.block_id not in known
            self._check(
                file, found[file.path], flushes_hold=survives and is_told and not is_disturbed
            )
        if dice.random() < 0.5:
            self._black_out()
            again = world.call(self._clients, "reader", partial(self._read_all, files=files))
            for file in files:
                if self._is_safe(file) and again[file.path] != found[file.path]:
                    raise Unexpected(
                        f"{file.path} was closed with {len(found[file.path])} bytes, and has "
                        f"{len(again[file.path])} after a power cut"
                    )
            found = again
        # The next power cut may damage them.
        unsafe = [file.path for file in files if not self._is_safe(file)]
        world.call(self._clients, "reader", partial(self._delete, paths=unsafe))
        self.count += len(files)
        self.recovered_bytes += sum(map(len, found.values()))

    def _is_safe(self, file: _File) -> bool:
        """Tell whether all of the file is on disks when it is recovered: blocks that ended before
        the first sync are not, nor is the last one if the writer closed it."""
        return self._syncs_on_close or (file.synced > 0 and not file.is_closing)

    # -- writers

    def _write(self, process: Process, file: _File, dice: random.Random) -> None:
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        fs = self.connect(process)
        pace_s, habit = dice.choice(_PACES_S), dice.choice(_HABITS)
        most_bytes = dice.choice(_LARGEST_WRITES_BYTES)
        try:
            output = fs.create(file.path, replication=_DATANODES)
            while not file.is_closed:
                kind = dice.choices(_STEPS, habit)[0]
                if kind == "write":
                    data = dice.randbytes(dice.randrange(1, most_bytes))
                    file.written += data
                    output.write(data)
                else:
                    self._promise(file, output, kind)
                file.steps += 1
                sleep(dice.random() * pace_s)
        except (errors.HowdahError, OSError) as error:
            self._world.story.record(process.name, f"stops: {type(error).__name__}: {error}")
        while True:
            sleep(60.0)  # It is killed.

    def _promise(self, file: _File, output: Any, kind: str) -> None:
        length = len(file.written)
        if kind == "close":
            file.is_closing = True
            pipeline, block_id = _pipeline(output), _block_id(output)
            output.close()
            file.is_closed = True
            if self._syncs_on_close:
                file.synced = length
        else:
            (output.hsync if kind == "hsync" else output.hflush)()
            pipeline, block_id = _pipeline(output), _block_id(output)
            if kind == "hsync":
                file.synced = length
        file.flushed, file.pipeline, file.block_id = length, pipeline, block_id
        self._world.story.record(file.path, f"{kind} of {length} bytes at {sorted(pipeline)}")

    # -- what goes wrong

    def _disturb(self) -> None:
        """Have a datanode fail, without which writers go on."""
        server = self._dice.choice(self._datanodes)
        if self._dice.random() < 0.5:
            server.kill()
        else:
            self._cluster.power_off(server.machine)
        self._world.run_for(self._dice.uniform(0.5, 4.0))
        if not server.is_up:
            server.start()

    def _wait_for_a_moment(self, files: list[_File]) -> None:
        """Go on until just behind a step of a writer, or to its end of the file."""
        world, dice = self._world, self._dice
        until_s = world.now_s + 20.0
        if dice.random() < 0.4:
            world.run(lambda: any(f.is_closing for f in files) or world.now_s > until_s)
            if dice.random() < 0.5:
                self._run_on(_TURNS_OF_AN_END, self._half_ended)
                return
        else:
            file = dice.choice(files)
            steps = file.steps + dice.randrange(1, 8)
            world.run(lambda: file.steps >= steps or world.now_s > until_s)
            if dice.random() < 0.5:
                self._run_on(dice.randrange(_MOST_TURNS))
                self._is_rebuilt = True
                self._broken_off = dice.choice(self._datanodes)
                self._break_off(self._broken_off.machine)
                world.run(lambda: file.steps > steps or world.now_s > until_s)
        self._run_on(dice.randrange(_MOST_TURNS))

    def _run_on(self, turns: int, until: Callable[[], object] = lambda: False) -> None:
        for _ in range(turns):
            if until():
                return
            self._world.scheduler.step()

    def _half_ended(self) -> frozenset[str]:
        """Return the addresses of those that have ended a block that others still write."""
        blocks = {s.machine.address: where_in(s.machine) for s in self._datanodes}
        ended = {(block, at) for at, of in blocks.items() for block, ends in of.items() if ends}
        return frozenset(
            at
            for block, at in ended
            if any(block in of and not of[block] for of in blocks.values())
        )

    def _break_off(self, machine: Machine) -> None:
        """End a machine's connections to datanodes: the client's and the namenode's stay."""
        datanodes = {server.machine.address for server in self._datanodes}
        self._world.story.record("fault", f"{machine.name} loses its connections to datanodes")
        for process in list(machine.processes.values()):
            for stream in process.descriptors.descriptions():
                if (
                    isinstance(stream, Stream)
                    and not stream.is_local
                    and stream.is_connected
                    and stream.there in datanodes
                ):
                    stream.break_off()

    def _break(self, half_ended: frozenset[str]) -> frozenset[str]:
        """Kill datanodes or take their power; the addresses of those without power. It may hit
        those worst that have ended a block, or all but one, which may lack what others have."""
        dice, without_power = self._dice, set[str]()
        chance = dice.choice([0.5, 1.0, 1.0, 1.0])
        power_chance = dice.choice([0.0, 0.3, 0.6, 1.0, 1.0])
        worst = frozenset[str]()
        if half_ended and dice.random() < 0.7:
            chance, worst = 1.0, half_ended
        elif dice.random() < (0.5 if self._broken_off else 0.2):
            chance = 1.0
            spared = self._broken_off or dice.choice(self._datanodes)
            worst = frozenset(s.machine.address for s in self._datanodes if s is not spared)
        for server in self._datanodes:
            if dice.random() >= chance:
                continue
            address = server.machine.address
            if address in worst if worst else dice.random() < power_chance:
                self._cluster.power_off(server.machine)
                without_power.add(address)
            else:
                server.kill()
        # Of a pipeline that was rebuilt the log has a length. A namenode that has read that, and
        # knows of no replica, waits for datanodes that may never have been there.
        if dice.random() < 0.2 and not (self._is_rebuilt and without_power):
            if dice.random() < 0.5:
                self._cluster.power_off(self._namenode.machine)
            else:
                self._namenode.kill()
        return frozenset(without_power)

    def _bring_back(self, without_power: frozenset[str]) -> Server | None:
        """Start servers again, in any order, or those first that kept their power; perhaps a
        datanode comes late, and is returned."""
        world, dice = self._world, self._dice
        down = [s for s in (*self._datanodes, self._namenode) if not s.is_up]
        dice.shuffle(down)
        if dice.random() < 0.5:
            down.sort(key=lambda server: server.machine.address in without_power)
        late = next((s for s in down if s.role is DATANODE), None)
        if late is not None and dice.random() < 0.3:
            down.remove(late)
            world.scheduler.after(_LATE_S, partial(_start, late))
        else:
            late = None
        for server in down:
            world.run_for(dice.random() * dice.choice([0.1, 2.0]))
            _start(server)
        self._cluster.wait_ready(*(s.name for s in self._cluster.servers.values() if s is not late))
        world.run_for(dice.uniform(0.5, 3.0))
        if dice.random() < 0.4:
            # The datanode that leads a recovery may be this one.
            victim = dice.choice(self._datanodes)
            delay_s = dice.uniform(0.0, _KILLED_WITHIN_S)
            self._quiet_from_s = world.now_s + delay_s + _MOMENT_S
            world.scheduler.after(delay_s, partial(_restart, victim))
        return late

    def _known_blocks(self, late: Server | None) -> set[int]:
        """Return the blocks of which others than the one that comes late have something."""
        return {
            block
            for server in self._datanodes
            if server is not late
            for block in where_in(server.machine)
        }

    def _black_out(self) -> None:
        for server in (*self._datanodes, self._namenode):
            self._cluster.power_off(server.machine)
        self._world.run_for(self._dice.random())
        for server in (*self._datanodes, self._namenode):
            _start(server)
        self._cluster.wait_ready()

    # -- looking

    def _recover(self, process: Process, files: list[_File]) -> dict[str, bytes]:
        fs = self.connect(process)
        for file in files:
            self._patiently(process, partial(_close_for_its_writer, fs, file.path))
        return self._read_all(process, files)

    def _read_all(self, process: Process, files: list[_File]) -> dict[str, bytes]:
        fs = self.connect(process)
        return {file.path: self._read(process, fs, file.path) for file in files}

    def _read(self, process: Process, fs: Any, path: str) -> bytes:
        """Return what a file has, up to what cannot be read."""
        data = bytearray()

        def read_on() -> bool:
            with fs.open(path) as stream:
                stream.seek(len(data))
                while piece := stream.read(_PIECE_BYTES):
                    data.extend(piece)
            return True

        self._patiently(process, read_on)
        return bytes(data)

    def _delete(self, process: Process, paths: list[str]) -> None:
        """Delete what may be lost, as an operator does: the namenode is in safe mode for that."""
        fs = self.connect(process)

        def delete(path: str) -> bool:
            fs.set_safe_mode("leave")
            fs.delete(path)
            return True

        for path in paths:
            self._patiently(process, partial(delete, path))

    def _patiently(self, process: Process, act: Callable[[], bool]) -> None:
        """Do it until it is done, or patience ends. What was never made needs nothing."""
        errors = process.modules.load("howdah.errors")
        until_s = self._world.now_s + _PATIENCE_S
        while self._world.now_s < until_s:
            try:
                if act():
                    return
            except FileNotFoundError:
                return
            except (errors.HowdahError, OSError) as error:
                self._world.story.record(process.name, f"{type(error).__name__}: {error}")
            process.modules.load("time").sleep(0.5)

    def _check(self, file: _File, found: bytes, *, flushes_hold: bool) -> None:
        where = f"{file.path} is recovered with {len(found)} bytes"
        if not bytes(file.written).startswith(found):
            raise Unexpected(f"{where}, which are not those that were written")
        if len(found) < file.synced:
            raise Unexpected(f"{where}, and {file.synced} were synced")
        self.syncs_held += bool(file.synced)
        if flushes_hold:
            self.flushes_held += 1
            if len(found) < file.flushed:
                raise Unexpected(
                    f"{where}, and {file.flushed} were flushed to {sorted(file.pipeline)}, one of "
                    "which has lost nothing"
                )


def _close_for_its_writer(fs: Any, path: str) -> bool:
    return bool(fs.recover_lease(path))


def _pipeline(output: Any) -> frozenset[str]:
    return frozenset(node.ip for node in output._inner.pipeline)


def _block_id(output: Any) -> int:
    block = output._inner._streamer._pipeline.last_block
    return block.block_id if block else 0


def _start(server: Server) -> None:
    if not server.is_up:
        server.start()


def _restart(server: Server) -> None:
    if server.is_up:
        server.kill()
        server.cluster.world.scheduler.after(1.0, partial(_start, server))
