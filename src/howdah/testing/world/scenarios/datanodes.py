"""A namenode and datanodes under faults: what writers were promised is there afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from howdah.testing.world.cluster import (
    DATANODE,
    NAMENODE,
    RPC_PORT,
    Cluster,
    draw_settings,
)
from howdah.testing.world.faults import ALL, ORDINARY, FaultPlan, Supervisor
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.scenarios.namenode import format_namenode
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_DATANODES: Final = 3
_WRITERS: Final = 2
_FILES: Final = 8
_FAULTS: Final = 5
_FILE_BYTES: Final = 400_000
_WRITE_BYTES: Final = 150_000
_QUIET_S: Final = 30.0
"""How long a cluster may take to be itself again when all faults are over."""
_REPLICATION_S: Final = 120.0
_READ_TRIES: Final = 12
_PAUSE_S: Final = 2.0
"""How long a writer waits between two files at most."""
_RETRY_S: Final = 5.0
_SETTINGS: Final = {
    "fs.defaultFS": _URI,
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
}


@dataclass
class Promises:
    """Keeps what writers were told: for each path the bytes that have to be there."""

    files: dict[str, bytes] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    """Of which nobody knows whether they were closed."""
    either: dict[str, str] = field(default_factory=dict)
    """Renames that nobody answered: the other name."""
    refused: list[str] = field(default_factory=list)
    """Operations that failed, as writers saw it."""


class Writer:
    """Writes files in pieces, syncs now and then, closes them and gives them their names; appends
    to some and cuts others."""

    def __init__(
        self, world: World, name: str, promises: Promises, connect: Callable[[Process], Any]
    ) -> None:
        self._world = world
        self._dice: random.Random = world.dice(name)
        self._name = name
        self._promises = promises
        self._connect = connect
        self.is_done = False

    def __call__(self, process: Process) -> None:
        fs = self._connect(process)
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        for number in range(_FILES):
            path = f"/{self._name}/{number}"
            try:
                self._write(fs, path, self._dice.randbytes(self._dice.randrange(1, _FILE_BYTES)))
                if self._dice.random() < 0.4:
                    self._change(fs)
            except (errors.HowdahError, OSError, ValueError) as error:
                why = f"{path}: {type(error).__name__}: {error}"
                self._promises.refused.append(why)
                self._world.story.record(self._name, why)
            sleep(self._dice.random() * _PAUSE_S)
        self.is_done = True

    def _change(self, fs: Any) -> None:
        """Append to a file of its own, or cut it."""
        promises = self._promises
        mine = [
            path
            for path in promises.files
            if path.startswith(f"/{self._name}/")
            and path not in promises.open
            and path not in promises.either
            and not path.endswith(".tmp")
        ]
        if not mine:
            return
        path = self._dice.choice(mine)
        data = promises.files[path]
        if self._dice.random() < 0.3:
            length = self._dice.randrange(len(data) + 1)
            promises.files[path] = data[:length]
            promises.open.add(path)  # its last block may have to be recovered
            fs.truncate(path, length)
            self._world.story.record(self._name, f"cuts {path} to {length} bytes")
            return
        more = self._dice.randbytes(self._dice.randrange(1, _WRITE_BYTES))
        promises.open.add(path)
        output = fs.append(path)
        output.write(more)
        if self._dice.random() < 0.5:
            output.hsync()
            promises.files[path] = data + more
        output.close()
        promises.files[path] = data + more
        promises.open.discard(path)
        self._world.story.record(self._name, f"has appended {len(more)} bytes to {path}")

    def _write(self, fs: Any, path: str, data: bytes) -> None:
        promises, temporary = self._promises, f"{path}.tmp"
        output = fs.create(temporary, overwrite=True)
        written = 0
        while written < len(data):
            piece = data[written : written + self._dice.randrange(1, _WRITE_BYTES)]
            output.write(piece)
            written += len(piece)
            if self._dice.random() < 0.3:
                output.hsync()
                promises.files[temporary] = data[:written]
                promises.open.add(temporary)
        output.close()
        promises.files[temporary] = data
        promises.open.discard(temporary)
        promises.either[path] = temporary
        promises.files[path] = promises.files.pop(temporary)
        fs.rename(temporary, path)
        del promises.either[path]
        self._world.story.record(self._name, f"has {path}, {len(data)} bytes")


def check_promises(
    world: World, machine: Machine, promises: Promises, connect: Callable[[Process], Any]
) -> None:
    """Read all that was promised. Raises Unexpected for bytes that are lost."""

    def read(process: Process) -> list[str]:
        fs = connect(process)
        reader = _Reader(fs, process)
        problems = []
        for path, data in promises.files.items():
            names = [path, promises.either[path]] if path in promises.either else [path]
            why = reader.why_not(names, data, is_open=path in promises.open)
            if why:
                problems.append(f"{path}: {why}")
        return problems

    problems = world.call(machine, "reader", read, timeout_s=3600.0)
    if problems:
        raise Unexpected("what was promised is lost:\n" + "\n".join(problems))


def check_replicated(
    world: World, machine: Machine, promises: Promises, connect: Callable[[Process], Any]
) -> None:
    """Wait until every block of the files that were closed has all its replicas again. Raises
    Unexpected if that takes too long: nothing hinders it any more."""
    closed = [
        path for path in promises.files if path not in promises.open and path not in promises.either
    ]

    def look(process: Process) -> list[str]:
        fs, clock = connect(process), process.modules.load("time")
        deadline_s = clock.monotonic() + _REPLICATION_S
        while True:
            lacking = [
                path
                for path in closed
                if any(len(block.hosts) < _DATANODES for block in fs.block_locations(path))
            ]
            if not lacking or clock.monotonic() > deadline_s:
                return lacking
            clock.sleep(_RETRY_S)

    lacking = world.call(machine, "looker", look, timeout_s=3600.0)
    if lacking:
        raise Unexpected(f"after {_REPLICATION_S:g} s of peace these lack replicas: {lacking}")


class _Reader:
    def __init__(self, fs: Any, process: Process) -> None:
        self._fs = fs
        self._errors = process.modules.load("howdah.errors")
        self._sleep = process.modules.load("time").sleep

    def why_not(self, names: list[str], data: bytes, *, is_open: bool) -> str:
        """Return why a file does not have these bytes at its beginning; empty if it has."""
        why = ""
        for _ in range(_READ_TRIES):
            for name in names:
                why = self._try(name, data, is_open=is_open)
                if not why:
                    return ""
            self._sleep(_RETRY_S)
        return why

    def _try(self, name: str, data: bytes, *, is_open: bool) -> str:
        try:
            if is_open and not self._fs.recover_lease(name):
                return "its lease is not recovered"
            with self._fs.open(name) as file:
                content = bytearray()
                while len(content) < len(data) and (piece := file.read(len(data) - len(content))):
                    content += piece
        except (self._errors.HowdahError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        if content == data:
            return ""
        common = next(
            (i for i, (a, b) in enumerate(zip(content, data, strict=False)) if a != b), -1
        )
        return f"{len(content)} of {len(data)} bytes, the first other one at {common}"


def writes_under_all_faults(world: World) -> Mapping[str, object]:
    """Do the same with settings that the seed draws, disks that fill up, wall clocks that jump,
    and servers that get no threads or descriptors."""
    return writes_under_faults(world, kinds=ALL, settings=draw_settings(world.dice("settings")))


def writes_under_faults(
    world: World,
    *,
    kinds: Sequence[str] = ORDINARY,
    settings: Mapping[str, str] | None = None,
) -> Mapping[str, object]:
    """Write files while servers die, machines lose their power and wires are cut; then heal all,
    and read everything that was promised."""
    dice = world.dice("scenario")
    cluster = Cluster(world, {**_SETTINGS, **(settings or {})})
    clients = world.machine("clients")
    names = ["nn", *(f"dn{number}" for number in range(_DATANODES))]
    for name in names:
        machine = world.machine(name)
        machine.disk.is_strict = dice.random() < 0.3
        cluster.server(NAMENODE if name == "nn" else DATANODE, name, machine)
    nn = world.machines["nn"]
    world.call(nn, "format", lambda process: format_namenode(cluster, process))
    for name in names:
        cluster.servers[name].start()
    cluster.wait_ready()

    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS, kinds)
    return write_and_check(cluster, clients, _URI, plan)


def write_and_check(
    cluster: Cluster, clients: Machine, uri: str, plan: FaultPlan
) -> Mapping[str, object]:
    """Let writers write while the faults of the plan happen; then heal all, and read everything
    that was promised."""
    world, promises = cluster.world, Promises()

    def connect(process: Process) -> Any:
        return cluster.connect(process, uri)

    writers = [Writer(world, f"writer{number}", promises, connect) for number in range(_WRITERS)]
    for number, writer in enumerate(writers):
        world.process(clients, f"writer{number}").start(writer)
    supervisor = Supervisor(cluster)
    supervisor.follow(plan)
    world.run(lambda: all(writer.is_done for writer in writers))
    supervisor.heal()
    world.run_for(_QUIET_S)
    check_promises(world, clients, promises, connect)
    check_replicated(world, clients, promises, connect)
    return {
        "files": len(promises.files),
        "faults": supervisor.count,
        "refused": len(promises.refused),
        "ended": supervisor.ended,
        "segments": world.network.segment_count,
    }
