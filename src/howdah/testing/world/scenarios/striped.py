"""Erasure-coded files: what is lost with two datanodes is made again before two others go, and what
was closed is there whatever servers were killed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, NAMENODE, RPC_PORT, Cluster
from howdah.testing.world.faults import CUT, KILL, ONE_WAY, PAUSE, FaultPlan, Supervisor
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import build
from howdah.testing.world.scenarios.namenode import format_namenode
from howdah.testing.world.workload.coding import (
    CELL_BYTES,
    DATA_UNITS,
    PARITY_UNITS,
    internal_blocks,
    use_coding,
)
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_DATANODES: Final = 9
_ROUNDS: Final = 2
_LOST_AT_ONCE: Final = 2
_UNITS: Final = DATA_UNITS + PARITY_UNITS
_REPAIR_S: Final = 180.0
_QUIET_S: Final = 30.0
"""So long a cluster may be in safe mode."""
_WRITERS: Final = 2
_FILES: Final = 12
_FAULTS: Final = 12
_LOSS_ROUNDS: Final = 5
_KILLS: Final = (KILL, KILL, PAUSE, CUT, ONE_WAY)
_SETTINGS: Final = {
    "fs.defaultFS": _URI,
    "dfs.namenode.redundancy.interval.seconds": "1",
}


def striped_files_survive_losses(world: World) -> Mapping[str, object]:
    """Write erasure-coded files, end two datanodes for good, wait until all internal blocks are
    there again, and do so once more; read all bytes each time. Then kill a writer, and see that
    its file ends with a whole stripe."""
    dice = world.dice("scenario")
    cluster = Cluster(world, _SETTINGS)
    clients = world.machine("clients")
    names = ["nn", *(f"dn{number}" for number in range(_DATANODES))]
    for name in names:
        cluster.server(NAMENODE if name == "nn" else DATANODE, name, world.machine(name))
    format_namenode(cluster, world.machines["nn"])
    for name in names:
        cluster.servers[name].start()
    cluster.wait_ready()
    lengths = (1, CELL_BYTES, 3 * CELL_BYTES + 7, dice.randrange(1, 40 * CELL_BYTES))
    left_open = dice.randbytes(7 * CELL_BYTES + 99)
    files = {f"/coded/{number}": dice.randbytes(size) for number, size in enumerate(lengths)}

    def write(process: Process) -> None:
        fs = cluster.connect(process, _URI)
        fs.mkdirs("/coded")
        use_coding(process, fs, "/coded")
        for path, data in files.items():
            with fs.create(path) as output:
                output.write(data)

    def expected(process: Process) -> int:
        """How many internal blocks there have to be."""
        group_bytes = DATA_UNITS * int(cluster.settings["dfs.blocksize"])
        return sum(
            internal_blocks(process, min(group_bytes, len(data) - start))
            for data in files.values()
            for start in range(0, len(data), group_bytes)
        )

    def located(process: Process) -> int:
        """How many internal blocks the namenode knows of."""
        fs = cluster.connect(process, _URI)
        return sum(len(block.hosts) for path in files for block in fs.block_locations(path))

    def check(process: Process) -> None:
        fs = cluster.connect(process, _URI)
        for path, data in files.items():
            with fs.open(path) as stream:
                content = stream.read()
            if content != data:
                raise Unexpected(f"{path}: {len(content)} bytes, which are not the {len(data)}")

    def begin(process: Process) -> None:
        output = cluster.connect(process, _URI).create("/coded/open")
        output.write(left_open)
        while True:
            process.modules.load("time").sleep(1.0)

    def recover(process: Process) -> int:
        fs = cluster.connect(process, _URI)
        while not fs.recover_lease("/coded/open"):
            process.modules.load("time").sleep(1.0)
        with fs.open("/coded/open") as stream:
            content = stream.read()
        if content != left_open[: len(content)] or len(content) % (DATA_UNITS * CELL_BYTES):
            raise Unexpected(f"/coded/open ends with {len(content)} bytes, not in whole stripes")
        return len(content)

    world.call(clients, "writer", write)
    wanted = world.call(clients, "counter", expected)
    dead: list[str] = []
    for _ in range(_ROUNDS):
        _wait(world, clients, located, wanted)
        victims = dice.sample([name for name in names[1:] if name not in dead], _LOST_AT_ONCE)
        for name in victims if len(names) - 1 - len(dead) - _LOST_AT_ONCE >= _UNITS else ():
            cluster.servers[name].kill()
            dead.append(name)
        world.call(clients, "reader", check)
        world.run_for(20.0)  # Longer than a datanode may be silent.
    _wait(world, clients, located, wanted)
    world.call(clients, "reader", check)
    writer = world.process(clients, "dying writer")
    writer.start(begin)
    world.run_for(dice.uniform(1.0, 4.0))
    writer.kill()
    recovered = world.call(clients, "recoverer", recover)
    return {
        "files": len(files),
        "internal_blocks": wanted,
        "datanodes_lost": len(dead),
        "recovered_bytes": recovered,
    }


def closed_files_survive_kills(world: World) -> Mapping[str, object]:
    """Write erasure-coded files while servers are killed, paused and cut off; then heal all, wait
    until what was lost is made again, start the namenode anew, and read every file that was
    closed. Power does not go: nobody promises that bytes are on disks then."""
    clients = world.machine("clients")
    settings = {"dfs.namenode.redundancy.interval.seconds": "1"}
    cluster, watch = build(world, settings, datanodes=_UNITS + 2)
    closed: dict[str, bytes] = {}
    failed: list[str] = []

    def prepare(process: Process) -> None:
        fs = cluster.connect(process, _URI)
        fs.mkdirs("/coded")
        use_coding(process, fs, "/coded")

    def write(number: int, process: Process) -> None:
        dice = world.dice(f"writer {number}")
        errors = process.modules.load("howdah.errors")
        fs = cluster.connect(process, _URI)
        for turn in range(_FILES):
            path, data = f"/coded/{number}-{turn}", dice.randbytes(dice.randrange(20 * CELL_BYTES))
            try:
                with fs.create(path) as output:
                    for start in range(0, len(data), 3 * CELL_BYTES):
                        output.write(data[start : start + 3 * CELL_BYTES])
                        process.modules.load("time").sleep(dice.uniform(0.0, 0.5))
            except (errors.HowdahError, OSError) as error:
                failed.append(f"{path}: {error}")
            else:
                closed[path] = data
        done.add(number)

    check, lacking = _checks(cluster, closed)
    done: set[int] = set()
    world.call(clients, "administrator", prepare)
    for number in range(_WRITERS):
        world.process(clients, f"writer{number}").start(partial(write, number))
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan.draw(world.dice("faults"), cluster, _FAULTS, _KILLS))
    world.run(lambda: len(done) == _WRITERS, timeout_s=3600.0)
    supervisor.heal()
    _wait(world, clients, lacking, 0)
    world.call(clients, "reader", check)
    watch.restart_all()
    world.run_for(_QUIET_S)
    _wait(world, clients, lacking, 0)
    world.call(clients, "reader", check)
    return {
        "closed": len(closed),
        "failed": len(failed),
        "bytes": sum(map(len, closed.values())),
        "faults": supervisor.count,
    }


def any_losses_between_steps(world: World) -> Mapping[str, object]:
    """Write erasure-coded files while as many datanodes as a group has parity units lose all that
    they have, at any moment between two steps of anybody; once all is made again, others do. What
    was closed is there, before it is made again and afterwards."""
    clients = world.machine("clients")
    dice = world.dice("losses")
    cluster, watch = build(world, _SETTINGS, datanodes=_UNITS + 3)
    closed: dict[str, bytes] = {}
    failed: list[str] = []
    is_over: list[bool] = []
    done: set[int] = set()

    def prepare(process: Process) -> None:
        fs = cluster.connect(process, _URI)
        fs.mkdirs("/coded")
        use_coding(process, fs, "/coded")

    def write(number: int, process: Process) -> None:
        own = world.dice(f"writer {number}")
        errors = process.modules.load("howdah.errors")
        fs = cluster.connect(process, _URI)
        count = 0
        while not is_over:
            count += 1
            path, data = f"/coded/{number}-{count}", own.randbytes(own.randrange(12 * CELL_BYTES))
            try:
                with fs.create(path) as output:
                    for start in range(0, len(data), CELL_BYTES):
                        output.write(data[start : start + CELL_BYTES])
                        process.modules.load("time").sleep(own.uniform(0.0, 0.2))
            except (errors.HowdahError, OSError) as error:
                failed.append(f"{path}: {error}")
            else:
                closed[path] = data
            process.modules.load("time").sleep(own.uniform(0.0, 3.0))
        done.add(number)

    world.call(clients, "administrator", prepare)
    for number in range(_WRITERS):
        world.process(clients, f"writer{number}").start(partial(write, number))
    check, lacking = _checks(cluster, closed)
    losses = 0
    for _ in range(_LOSS_ROUNDS):
        count = len(closed)
        world.run(lambda count=count: len(closed) > count, timeout_s=600.0)  # type: ignore[misc]
        names = [name for name in cluster.servers if name != "nn"]
        victims = dice.sample(names, PARITY_UNITS)
        for name in victims:
            for _ in range(dice.choice((1, 10, 300, 3000, 20_000))):
                world.scheduler.step()
            world.check()
            world.story.record(name, "loses all that it has")
            cluster.servers[name].kill()
            world.machines[name].empty_directory("/data")
            losses += 1
        if dice.random() < 0.4:
            cluster.servers["nn"].kill()
            world.run_for(dice.random())
            cluster.servers["nn"].start()
        if dice.random() < 0.7:
            world.run_for(dice.uniform(0.0, 15.0))
            world.call(clients, "reader", check)
        world.run_for(dice.uniform(0.0, 15.0))
        for name in victims:
            cluster.servers[name].start()
        _wait(world, clients, lacking, 0)
        world.call(clients, "reader", check)
    is_over.append(True)
    world.run(lambda: len(done) == _WRITERS, timeout_s=600.0)
    _wait(world, clients, lacking, 0)
    watch.restart_all()
    world.run_for(_QUIET_S)
    world.call(clients, "reader", check)
    return {"closed": len(closed), "failed": len(failed), "losses": losses}


def _checks(
    cluster: Cluster, closed: Mapping[str, bytes]
) -> tuple[Callable[[Process], None], Callable[[Process], int]]:
    """Return what reads all files that were closed, and what counts internal blocks of theirs that
    the namenode does not know of."""

    def check(process: Process) -> None:
        fs = cluster.connect(process, _URI)
        for path, data in dict(closed).items():
            with fs.open(path) as stream:
                content = stream.read()
            if content != data:
                raise Unexpected(f"{path}: {len(content)} bytes, which are not the {len(data)}")

    def lacking(process: Process) -> int:
        fs = cluster.connect(process, _URI)
        try:
            return sum(
                max(
                    0,
                    internal_blocks(process, min(block.length, len(data))) - len(set(block.hosts)),
                )
                for path, data in dict(closed).items()
                for block in fs.block_locations(path)
            )
        except process.modules.load("howdah.errors").SafeMode:
            return len(closed)  # The namenode has just been started: it knows of none.

    return check, lacking


def _wait(world: World, clients: Any, located: Any, wanted: int) -> None:
    until_s = world.now_s + _REPAIR_S
    while (found := world.call(clients, "counter", located)) != wanted:
        if world.now_s > until_s:
            raise Unexpected(f"{found} of {wanted} internal blocks are there")
        world.run_for(2.0)
