"""Writers who take one file over from each other, again and again, while they and servers die: what
one was promised, the next one finds, and readers see nothing else.

Meanwhile wires and disks may fail, datanodes announce that they restart, namenodes are stopped, and
somebody changes how many replicas the file is to have. What was promised is looked for on the disks
all the time (`promises`).
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, NAMENODE, RPC_PORT, Cluster, Server
from howdah.testing.world.faults import (
    CUT,
    FAILING_DISK,
    HANGING_DISK,
    ISOLATE,
    ONE_WAY,
    PAUSE,
    RESET,
    SLOW_DISK,
    SPLIT,
    FaultPlan,
    Supervisor,
)
from howdah.testing.world.network import Stream
from howdah.testing.world.processes import Process
from howdah.testing.world.promises import PromiseWatch
from howdah.testing.world.scenarios import datanodes, highly_available
from howdah.testing.world.workload.checking import check_all_replicated
from howdah.testing.world.world import Unexpected, World

_PATH: Final = "/taken/over"
_DATANODES: Final = 4
_WRITERS: Final = 14
_MOST_WRITERS: Final = 3
_ACTIONS: Final = 14
_SOFT_LIMIT_MS: Final = 15_000
_HARD_LIMIT_S: Final = 40
_QUIET_S: Final = 45.0
_TRIES: Final = 60
_FAULTS: Final = 6
_KINDS: Final = (
    *(CUT, CUT, ONE_WAY, ISOLATE, RESET, RESET, PAUSE, SPLIT),
    *(SLOW_DISK, HANGING_DISK, FAILING_DISK),
)
_TROUBLES: Final = ("announce", "stop", "replication", "replication", "mirror", "mirror", "mirror")
_TURNS_TO_A_PACKET: Final = 3000
_TURNS_OF_A_PACKET: Final = 40
_SLOW_NS: Final = (10_000_000, 100_000_000)
_IPC_PORT: Final = 9867
_SETTINGS: Final = {
    "dfs.blocksize": "4096",
    "dfs.bytes-per-checksum": "512",
    "dfs.client-write-packet-size": "1024",
    "dfs.client.block.write.replace-datanode-on-failure.policy": "DEFAULT",
    "dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
    "dfs.namenode.lease-hard-limit-sec": str(_HARD_LIMIT_S),
    "dfs.namenode.redundancy.interval.seconds": "1",
    "howdah.namenode.lease-soft-limit": str(_SOFT_LIMIT_MS),
}


@dataclass
class _Text:
    """Is what one writer makes of the file: what it found, and its own bytes behind that."""

    name: str
    base: bytes
    data: bytes
    """What the file may hold, what was found included."""
    flushed: int
    """How many bytes are promised as long as no machine loses its power."""
    synced: int
    """How many are promised in any case."""
    power_losses: int = 0
    """How many there had been when bytes were flushed last."""


@dataclass
class _History:
    """Knows all writers of the file, in the order in which they opened it."""

    texts: list[_Text] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    power_losses: int = 0
    stream: tuple[Process, Any] | None = None
    """That of who has opened it last, until it is closed."""

    @property
    def written(self) -> bytes:
        """All that the file may hold."""
        return self.texts[-1].data if self.texts else b""

    @property
    def writer(self) -> Any:
        """The stream of who writes it, or None."""
        if self.stream is None or self.stream[0].is_dead:
            return None
        return self.stream[1]

    def promised(self) -> int:
        """How many bytes of the file as it is now nobody may lose."""
        if not self.texts:
            return 0
        last = self.texts[-1]
        return last.flushed if last.power_losses == self.power_losses else last.synced

    def opened(self, name: str, length: int) -> _Text:
        """Somebody has opened the file, and it has so many bytes."""
        promised, before = self.promised(), self.texts[-1] if self.texts else None
        if length < promised:
            self.problems.append(f"{name} finds {length} bytes, and {promised} were promised")
        data = before.data if before is not None else b""
        if length > len(data):
            self.problems.append(f"{name} finds {length} bytes, and {len(data)} were written")
        base = data[:length]
        synced = min(length, before.synced if before is not None else 0)
        text = _Text(name, base, base, length, synced, self.power_losses)
        self.texts.append(text)
        return text

    def check_read(self, name: str, found: bytes, opening: int, promised: int) -> None:
        """`found` was read by somebody who came when there had been so many openings."""
        possible = self.texts[max(opening - 1, 0) :]
        if found and not any(text.data.startswith(found) for text in possible):
            self.problems.append(f"{name} reads {len(found)} bytes, which nobody has written")
        elif len(found) < promised:
            self.problems.append(f"{name} reads {len(found)} bytes, and {promised} were promised")
        self.counts["read"] += 1


def take_over(world: World) -> Mapping[str, object]:
    """Let up to three writers at a time, and readers, have one file, with one namenode or two."""
    clients = world.machine("clients")
    dice = world.dice("takeovers")
    history = _History()
    promise_watches: list[PromiseWatch] = []

    def prepare(cluster: Cluster) -> None:
        promise_watches.append(PromiseWatch(cluster, _PATH, history))

    if dice.random() < 0.3:
        uri = "hdfs://ns"
        settings = {**highly_available.SETTINGS, **_SETTINGS}
        cluster, watch = highly_available.build(
            world, settings, datanodes=_DATANODES, prepare=prepare
        )
    else:
        uri = f"hdfs://nn:{RPC_PORT}"
        cluster, watch = datanodes.build(world, _SETTINGS, datanodes=_DATANODES, prepare=prepare)
    (promises,) = promise_watches
    promises.begin(watch)
    supervisor = Supervisor(cluster)

    def connect(process: Process) -> Any:
        return cluster.connect(process, uri)

    def make_directory(process: Process) -> None:
        connect(process).mkdirs("/taken")

    world.call(clients, "maker", make_directory)
    troubles = _Troubles(cluster, uri, history, promises, dice)
    if dice.random() < 0.5:
        supervisor.follow(FaultPlan.draw(world.dice("faults"), cluster, _FAULTS, _KINDS))
    living: list[tuple[Process, list[bool]]] = []
    for number in range(_WRITERS):
        count = dice.randrange(1, _MOST_WRITERS + 1)
        while len(living) >= count:
            world.run_for(dice.uniform(0.1, 3.0))
            living = [(each, ended) for each, ended in living if not ended and not each.is_dead]
            if dice.random() < 0.25:
                troubles.let_die(living)
            if dice.random() < 0.25:
                troubles.begin_one()
        ended: list[bool] = []
        process = world.process(clients, f"writer{number}")
        name = f"writer{number}"
        process.start(_Writer(world, cluster, uri, name, history, ended, promises.look))
        living.append((process, ended))
        if dice.random() < 0.6:
            reader = world.process(clients, f"reader{number}")
            reader.start(_Reader(cluster, uri, f"reader{number}", history))
    world.run(lambda: all(ended or each.is_dead for each, ended in living), timeout_s=3600.0)
    supervisor.heal()
    world.run_for(_QUIET_S)

    def read(process: Process) -> bytes | str:
        fs = connect(process)
        errors = process.modules.load("howdah.errors")
        why = ""
        for _ in range(_TRIES):
            try:
                if fs.is_file_closed(_PATH) or fs.recover_lease(_PATH):
                    return bytes(fs.read_bytes(_PATH))
                why = "its lease is not recovered"
            except (errors.HowdahError, OSError) as error:
                why = f"{type(error).__name__}: {error}"
            process.modules.load("time").sleep(2.0)
        return why

    promised = history.promised()
    found = world.call(clients, "last reader", read)
    if isinstance(found, str):
        # Power cuts may have taken what was not synced from all who had it. A block that has lost
        # its end is not read any more, though what was synced of it is on the disks.
        if promised and (not history.power_losses or promised == len(history.texts[-1].data)):
            history.problems.append(f"{promised} bytes are promised, and not there: {found}")
    else:
        history.check_read("the last reader", found, len(history.texts), promised)
    if history.problems:
        raise Unexpected("\n".join(history.problems))
    world.run_for(_QUIET_S)
    if not history.power_losses:
        check_all_replicated(world, clients, connect, _DATANODES)
    watch.check_at_rest()
    promises.look()
    world.check()
    return {
        "counts": dict(sorted(history.counts.items())),
        "faults": supervisor.count,
        "looks": promises.looks,
        "pipelines": promises.pipelines,
        "openings": len(history.texts),
        "bytes": len(found),
        "promised": promised,
        "power_losses": history.power_losses,
    }


class _Troubles:
    """Is what happens to the servers of a cluster, and to writers."""

    def __init__(
        self,
        cluster: Cluster,
        uri: str,
        history: _History,
        promises: PromiseWatch,
        dice: random.Random,
    ) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._uri = uri
        self._history = history
        self._promises = promises
        self._dice = dice
        self._loses_power = dice.random() < 0.5

    def let_die(self, living: list[tuple[Process, list[bool]]]) -> None:
        """Writers die, and in the same moment datanodes do, or their machines lose their power, or
        stand still; maybe a namenode dies, too. What died comes back soon."""
        world, dice = self._world, self._dice
        self._history.counts["disasters"] += 1
        for _ in range(dice.choice((0, 1, 30, 1000))):
            world.scheduler.step()
        world.check()
        if dice.random() < 0.6:
            for process, _ in living:
                if not process.is_dead:
                    world.story.record(process.name, "dies")
                    process.kill()
        for server in self._cluster.servers.values():
            chance = 0.5 if server.role is DATANODE else 0.1
            if dice.random() > chance or not server.is_up or not server.machine.has_power:
                continue
            kinds = ("kill", "kill", "power", "pause") if self._loses_power else ("kill", "pause")
            self._break(server, dice.choice(kinds))
        self._promises.look()

    def _break(self, server: Server, kind: str) -> None:
        world, dice = self._world, self._dice
        if kind == "power":
            self._history.power_losses += 1
            self._promises.power_is_lost(server.machine)
            self._cluster.power_off(server.machine)
            for each in self._cluster.servers.values():
                if each.machine is server.machine:
                    world.scheduler.after(dice.uniform(0.1, 8.0), partial(_start, each))
        elif kind == "kill":
            server.kill()
            world.scheduler.after(dice.uniform(0.0, 8.0), partial(_start, server))
        else:
            assert server.process is not None
            server.process.stop()
            world.scheduler.after(dice.uniform(0.5, 20.0), server.process.go_on)

    def begin_one(self) -> None:
        """A datanode is told to restart and announces it, a namenode is stopped in order, somebody
        wants another number of replicas, or a pipeline breaks behind its first datanode."""
        kind = self._dice.choice(_TROUBLES)
        self._history.counts[kind] += 1
        if kind == "mirror":
            self._break_mirror()
            return
        if kind == "stop":
            server = self._dice.choice(
                [s for s in self._cluster.servers.values() if s.role is NAMENODE]
            )
            if server.process is not None and server.is_up and not server.process.is_stopped:
                self._world.story.record(server.name, "is stopped in order")
                server.process.receive_signal(signal.SIGTERM)
            return
        process = self._world.process(self._world.machines["clients"], f"operator: {kind}")
        if kind == "announce":
            datanodes = [s for s in self._cluster.servers.values() if s.role is DATANODE]
            name = self._dice.choice(datanodes).machine.name
            words = ("-shutdownDatanode", f"{name}:{_IPC_PORT}", "upgrade")
            process.start(partial(self._run_command, words=words))
        else:
            replication = self._dice.randrange(1, _DATANODES + 1)
            process.start(partial(self._replicate, replication=replication))

    def _break_mirror(self) -> None:
        """Slow down a datanode that takes packets from another one, and when some are under way
        have it killed, or lose its connections."""
        world, dice = self._world, self._dice
        pipeline = self._run_until_pipeline(lambda pipeline: pipeline.is_streaming)
        if pipeline is None:
            return
        mirrors = [node.ip for node in pipeline.block.nodes[1:]]
        servers = [
            server
            for server in self._cluster.servers.values()
            if server.machine.address in mirrors and server.role is DATANODE and server.is_up
        ]
        if not servers:
            return
        server = dice.choice(servers)
        address = server.machine.address
        world.network.slow[address] = _SLOW_NS
        self._run_until_pipeline(lambda now: now is pipeline and len(now.queues))
        for _ in range(dice.randrange(_TURNS_OF_A_PACKET)):
            world.scheduler.step()
        world.network.slow.pop(address, None)
        if dice.random() < 0.5:
            self._break(server, "kill")
            return
        world.story.record("fault", f"{server.machine.name} loses its connections")
        for process in list(server.machine.processes.values()):
            for end in process.descriptors.descriptions():
                if isinstance(end, Stream) and not end.is_local and end.is_connected:
                    end.break_off()

    def _run_until_pipeline(self, holds: Callable[[Any], object]) -> Any:
        """Go on until something holds of the pipeline of who writes, which is returned."""
        for _ in range(_TURNS_TO_A_PACKET):
            stream = self._history.writer
            pipeline = None if stream is None else stream._inner._streamer._pipeline
            if pipeline is not None and holds(pipeline):
                return pipeline
            self._world.scheduler.step()
        return None

    def _run_command(self, process: Process, words: tuple[str, ...]) -> None:
        self._cluster.run_command(process, "dfsadmin", *words)
        process.exit(0)

    def _replicate(self, process: Process, replication: int) -> None:
        errors = process.modules.load("howdah.errors")
        try:
            self._cluster.connect(process, self._uri).set_replication(_PATH, replication)
            self._world.story.record(process.name, f"wants {replication} replicas")
        except (errors.HowdahError, OSError) as error:
            self._world.story.record(process.name, f"{type(error).__name__}: {error}")
        process.exit(0)


def _start(server: Server) -> None:
    if not server.is_up:
        server.start()


class _Writer:
    """Opens the file, whoever has it, writes for a while, and closes it, or fails."""

    def __init__(
        self,
        world: World,
        cluster: Cluster,
        uri: str,
        name: str,
        history: _History,
        ended: list[bool],
        look: Callable[[], None],
    ) -> None:
        """`look` is called when something has been promised."""
        self._world = world
        self._cluster = cluster
        self._uri = uri
        self._name = name
        self._history = history
        self._ended = ended
        self._look = look
        self._dice = world.dice(name)

    def __call__(self, process: Process) -> None:
        errors = process.modules.load("howdah.errors")
        self._sleep = process.modules.load("time").sleep
        fs = self._cluster.connect(process, self._uri)
        try:
            self._write(process, fs, errors)
        except (errors.HowdahError, OSError, ValueError) as error:
            self._history.counts[f"writer: {type(error).__name__}"] += 1
            self._world.story.record(self._name, f"gives up: {type(error).__name__}: {error}")
        self._ended.append(True)
        process.exit(0)

    def _open(self, fs: Any, errors: Any) -> Any:
        for _ in range(12):
            try:
                if not self._history.texts and not fs.exists(_PATH):
                    return fs.create(_PATH, overwrite=False)
                return fs.append(_PATH, new_block=self._dice.random() < 0.2)
            except (errors.AlreadyBeingCreated, errors.RecoveryInProgress, errors.PathExists):
                if self._dice.random() < 0.5:
                    fs.recover_lease(_PATH)
                self._sleep(self._dice.uniform(1.0, 8.0))
        return fs.append(_PATH)

    def _write(self, process: Process, fs: Any, errors: Any) -> None:
        history, dice = self._history, self._dice
        stream = self._open(fs, errors)
        text = history.opened(self._name, stream.get_pos())
        history.stream = process, stream
        self._world.story.record(self._name, f"has opened it: {len(text.base)} bytes")

        def is_ours() -> bool:
            return history.texts[-1] is text

        for _ in range(dice.randrange(1, _ACTIONS)):
            kind = dice.choice(("write", "write", "write", "hflush", "hsync", "sleep"))
            if kind == "write":
                data = dice.randbytes(dice.randrange(1, 2500))
                text.data += data
                stream.write(data)
            elif kind == "sleep":
                self._sleep(dice.uniform(0.1, 4.0))
            else:
                losses = history.power_losses
                getattr(stream, kind)()
                self._promise(text, kind == "hsync", losses, is_ours=is_ours())
            history.counts[kind] += 1
        losses = history.power_losses
        if is_ours():
            history.stream = None
        stream.close()
        self._promise(text, True, losses, is_ours=is_ours())
        history.counts["close"] += 1

    def _promise(self, text: _Text, is_synced: bool, losses: int, *, is_ours: bool) -> None:
        """The stream has answered."""
        self._world.story.record(self._name, f"is promised {len(text.data)} bytes")
        if not is_ours:
            later = self._history.texts[self._history.texts.index(text) + 1]
            if len(text.data) > len(later.base):
                self._history.problems.append(
                    f"{self._name} is promised {len(text.data)} bytes, and {later.name} has found "
                    f"{len(later.base)}"
                )
            return
        text.flushed, text.power_losses = len(text.data), losses
        if is_synced:
            text.synced = len(text.data)
        self._look()


class _Reader:
    """Reads the file once."""

    def __init__(self, cluster: Cluster, uri: str, name: str, history: _History) -> None:
        self._cluster = cluster
        self._uri = uri
        self._name = name
        self._history = history

    def __call__(self, process: Process) -> None:
        errors = process.modules.load("howdah.errors")
        fs = self._cluster.connect(process, self._uri)
        history = self._history
        opening, promised = len(history.texts), history.promised()
        losses = history.power_losses
        try:
            found = fs.read_bytes(_PATH)
        except FileNotFoundError:
            if promised:
                history.problems.append(
                    f"{self._name} finds no file, {promised} bytes are promised"
                )
        except (errors.HowdahError, OSError) as error:
            history.counts[f"reader: {type(error).__name__}"] += 1
        else:
            if losses != history.power_losses:
                promised = 0
            history.check_read(self._name, found, opening, promised)
        process.exit(0)
