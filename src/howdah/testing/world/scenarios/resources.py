"""Servers that hold, behind rounds of work and trouble, what they held before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Final

from howdah.testing.world.cluster import RPC_PORT, Cluster
from howdah.testing.world.processes import Process
from howdah.testing.world.resources import Held, held
from howdah.testing.world.scenarios import datanodes, highly_available
from howdah.testing.world.world import Unexpected, World

_WARM_ROUNDS: Final = 2
_ROUNDS: Final = 3
_WORKERS: Final = 6
_QUIET_S: Final = 700.0
"""Longer than connections, readers and lists of what was lost are kept."""
_LONGEST_BYTES: Final = 300_000
_SETTINGS: Final = {
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
    "dfs.namenode.checkpoint.txns": "100",
    "dfs.namenode.checkpoint.check.period": "5",
    # What is kept for namenodes that are behind grows up to bounds, which are to be met here.
    "dfs.namenode.num.extra.edits.retained": "0",
    "dfs.journalnode.edit-cache-size.bytes": "4096",
    "howdah.namenode.lease-soft-limit": "10000",
    "dfs.namenode.lease-hard-limit-sec": "60",
}


def returns_what_it_held(world: World) -> Mapping[str, object]:
    """Let clients work, die in the middle of it and be cut off, in rounds that leave nothing; a
    server of a highly available cluster, or of one with one namenode, holds as much after each."""
    dice = world.dice("resources")
    clients = world.machine("clients")
    if world.seed % 2:
        cluster, _ = highly_available.build(world, _SETTINGS)
        uri = "hdfs://ns"
    else:
        cluster, _ = datanodes.build(world, _SETTINGS)
        uri = f"hdfs://nn:{RPC_PORT}"
    looks: list[dict[str, Held]] = []
    counts: Counter[str] = Counter()
    for number in range(_WARM_ROUNDS + _ROUNDS):
        _work(world, cluster, uri, counts, f"{number}", dice.random())
        world.run_for(_QUIET_S)
        world.call(clients, "cleaner", partial(_clean, cluster, uri))
        world.run_for(_QUIET_S)
        looks.append(_look(world))
    problems = _grown(looks[_WARM_ROUNDS - 1 :])
    if problems:
        raise Unexpected("\n".join(problems))
    return {
        "counts": dict(counts),
        "descriptors": {name: each.descriptors for name, each in looks[-1].items()},
        "threads": {name: each.threads for name, each in looks[-1].items()},
        "objects": {name: sum(each.objects.values()) for name, each in looks[-1].items()},
    }


def _look(world: World) -> dict[str, Held]:
    """At all processes of servers, by name and number."""
    return {
        f"{process.name} ({process.pid})": held(process)
        for machine in world.machines.values()
        for process in machine.processes.values()
        if machine.name != "clients" and not process.is_dead
    }


def _grown(looks: list[dict[str, Held]]) -> list[str]:
    """What has become more in each round."""
    problems = []
    for name in looks[0]:
        if any(name not in look for look in looks):
            continue
        steps = [after[name].growth(before[name]) for before, after in pairwise(looks)]
        always = set.intersection(*(set(step) for step in steps))
        found = {each: [step[each] for step in steps] for each in sorted(always)}
        if found:
            problems.append(f"{name} holds more after each round: {found}")
    return problems


def _work(
    world: World, cluster: Cluster, uri: str, counts: Counter[str], name: str, chance: float
) -> None:
    """Some clients at once: a third is killed, a third is cut off for a while."""
    done: set[int] = set()
    processes = []
    for number in range(_WORKERS):
        process = world.process(world.machines["clients"], f"worker{name}-{number}")

        def run(own: Process, number: int = number) -> None:
            _use(world, own, cluster.connect(own, uri), f"/{name}-{number}", counts)
            done.add(number)
            own.exit(0)  # at once: closing what has failed before would fail again

        process.start(run)
        processes.append(process)
    victim = world.machines[world.dice(f"victim {name}").choice(["dn0", "dn1", "dn2"])]
    world.run_for(1.0 + 3 * chance)
    for process in processes[: _WORKERS // 3]:
        process.kill()
    world.cut(world.machines["clients"], victim)
    world.run_for(20.0)
    world.heal(world.machines["clients"], victim)
    world.run(
        lambda: len(done | set(range(_WORKERS // 3))) == _WORKERS,
        timeout_s=1200.0,
    )


def _use(world: World, process: Process, fs: Any, top: str, counts: Counter[str]) -> None:
    dice = world.dice(top)
    errors = process.modules.load("howdah.errors")
    sleep = process.modules.load("time").sleep
    acts: list[Callable[[str], Any]] = [
        lambda path: fs.write_bytes(path, dice.randbytes(dice.randrange(_LONGEST_BYTES))),
        lambda path: fs.read_bytes(path),
        lambda path: fs.open(path).read(100),
        lambda path: fs.append(path).write(b"left open"),
        lambda path: fs.truncate(path, 10),
        lambda path: fs.rename(path, f"{path}x"),
        lambda path: fs.recover_lease(path),
        lambda path: fs.get_file_checksum(path),
        lambda path: fs.delete(path),
        lambda path: fs.create(path, overwrite=True).write(bytes(200_000)),
    ]
    fs.mkdirs(top)
    for _ in range(40):
        act = dice.choice(acts)
        try:
            act(f"{top}/{dice.randrange(6)}")
        except (errors.HowdahError, OSError, ValueError) as error:
            counts[type(error).__name__] += 1
        else:
            counts["done"] += 1
        sleep(dice.random() / 2)


def _clean(cluster: Cluster, uri: str, process: Process) -> None:
    fs = cluster.connect(process, uri)
    for status in fs.list_status("/"):
        fs.delete(status.path, recursive=True)
