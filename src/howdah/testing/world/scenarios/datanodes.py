"""A namenode and datanodes under faults: what writers were promised is there afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
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
from howdah.testing.world.watching import Watch
from howdah.testing.world.workload import administration
from howdah.testing.world.workload.checking import check_all_replicated, check_expectations
from howdah.testing.world.workload.clients import Client, Expectations
from howdah.testing.world.workload.contention import Contention
from howdah.testing.world.world import World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_DATANODES: Final = 3
_CLIENTS: Final = 3
_OPERATIONS: Final = 200
_FAULTS: Final = 8
_MANY_DATANODES: Final = 5
_IMAGE_CHANCE: Final = 0.5
_WORK_S: Final = 900.0
"""How long clients may take for their operations, with all faults on the way."""
_QUIET_S: Final = 30.0
"""How long a cluster may take to be itself again when all faults are over."""
_SETTINGS: Final = {
    "fs.defaultFS": _URI,
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
}


def save_image(process: Process, cluster: Cluster, uri: str) -> None:
    """Have the active write an image: the next start reads it, and no log."""
    active = cluster.connect(process, uri).administration
    active.safe_mode("enter")
    active.save_namespace()
    active.safe_mode("leave")


def build(
    world: World, settings: Mapping[str, str] | None = None, *, datanodes: int = _DATANODES
) -> tuple[Cluster, Watch]:
    """Make the machines and servers, format the namespace, and start everything."""
    dice = world.dice("scenario")
    cluster = Cluster(world, {**_SETTINGS, **(settings or {})})
    names = ["nn", *(f"dn{number}" for number in range(datanodes))]
    is_strict = dice.random() < 0.4
    for name in names:
        machine = world.machine(name)
        machine.disk.is_strict = is_strict
        cluster.server(NAMENODE if name == "nn" else DATANODE, name, machine)
    watch = Watch(cluster)
    format_namenode(cluster, world.machines["nn"])
    for name in names:
        cluster.servers[name].start()
    cluster.wait_ready()
    return cluster, watch


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
    clients = world.machine("clients")
    cluster, watch = build(world, settings)
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS, kinds)
    return write_and_check(cluster, clients, _URI, plan, watch)


def writes_administered(world: World) -> Mapping[str, object]:
    """Do the same with five datanodes and an administrator, who takes some of them out, saves
    images and upgrades."""
    clients = world.machine("clients")
    cluster, watch = build(world, administration.SETTINGS, datanodes=_MANY_DATANODES)
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS)
    return write_and_check(
        cluster,
        clients,
        _URI,
        plan,
        watch,
        datanodes=_MANY_DATANODES,
        administrates=world.machines["nn"],
    )


def write_and_check(
    cluster: Cluster,
    clients: Machine,
    uri: str,
    plan: FaultPlan,
    watch: Watch,
    *,
    above: Sequence[str] = ("",),
    administered: Sequence[str] = (),
    datanodes: int = _DATANODES,
    administrates: Machine | None = None,
) -> Mapping[str, object]:
    """Let writers write while the faults of the plan happen; then heal all, and read everything
    that was promised. Clients work in turn in the directories of `above`;
    `administered` are the namespaces behind `uri`, where it is not one itself. An administrator
    works on the namenode of the machine `administrates`."""
    world, expectations = cluster.world, Expectations()

    def connect(process: Process) -> Any:
        return cluster.connect(process, uri)

    workers = [
        Client(
            world,
            f"client{number}",
            expectations,
            connect,
            operations=_OPERATIONS,
            above=above[number % len(above)],
        )
        for number in range(_CLIENTS)
    ]
    for number, worker in enumerate(workers):
        world.process(clients, f"client{number}").start(worker)

    def all_done() -> bool:
        return all(worker.is_done for worker in workers)

    contention = Contention(world, "contention", expectations, connect, all_done, above=above[-1])
    world.process(clients, "contention").start(contention)
    administrator = None
    if administrates is not None:
        administrator = administration.Administrator(cluster, administrates, uri, all_done)
        world.process(clients, "administrator").start(administrator)
    supervisor = Supervisor(cluster)
    supervisor.follow(plan)
    world.run(
        lambda: all_done() and contention.is_done and (not administrator or administrator.is_done),
        timeout_s=_WORK_S,
    )
    supervisor.heal()
    world.run_for(_QUIET_S)
    if administrator is not None:
        world.call(clients, "administrator", administrator.settle)
        expectations.counts += administrator.counts
    check_expectations(world, clients, expectations, connect)
    check_all_replicated(world, clients, connect, datanodes)
    watch.check_at_rest()
    if world.dice("restart").random() < _IMAGE_CHANCE:
        for each in administered or (uri,):
            world.call(clients, "administrator", partial(save_image, cluster=cluster, uri=each))
    watch.restart_all()
    check_all_replicated(world, clients, connect, datanodes)
    return {
        "operations": dict(sorted(expectations.counts.items())),
        "errors": dict(expectations.errors),
        "faults": supervisor.count,
        "ended": supervisor.ended,
        "compared": watch.compared,
        "answers": watch.answers,
        "segments": world.network.segment_count,
    }
