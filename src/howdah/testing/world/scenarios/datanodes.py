"""A namenode and datanodes under faults: what writers were promised is there afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import (
    DATANODE,
    NAMENODE,
    RPC_PORT,
    Cluster,
    draw_settings,
)
from howdah.testing.world.faults import (
    ALL,
    CUT,
    HANGING_DISK,
    ISOLATE,
    KILL,
    ONE_WAY,
    ORDINARY,
    PAUSE,
    SLOW_DISK,
    FaultPlan,
    Supervisor,
)
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.scenarios.namenode import format_namenode
from howdah.testing.world.watching import Watch
from howdah.testing.world.workload import administration
from howdah.testing.world.workload.checking import check_all_replicated, check_expectations
from howdah.testing.world.workload.clients import Client, Expectations
from howdah.testing.world.workload.contention import Contention
from howdah.testing.world.workload.over_http import HttpClient
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_HTTP_URI: Final = "webhdfs://nn:9870"
_DATANODES: Final = 3
_CLIENTS: Final = 3
_OPERATIONS: Final = 200
_FAULTS: Final = 8
_MANY_DATANODES: Final = 5
_IMAGE_CHANCE: Final = 0.5
_HARMLESS: Final = (KILL, PAUSE, CUT, ONE_WAY, ISOLATE, SLOW_DISK, HANGING_DISK)
"""What a cluster of several datanodes hides, if it happens to one of them."""
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
    world: World,
    settings: Mapping[str, str] | None = None,
    *,
    datanodes: int = _DATANODES,
    prepare: Callable[[Cluster], None] = lambda cluster: None,
) -> tuple[Cluster, Watch]:
    """Make the machines and servers, prepare them, format the namespace, and start everything."""
    dice = world.dice("scenario")
    cluster = Cluster(world, {**_SETTINGS, **(settings or {})})
    names = ["nn", *(f"dn{number}" for number in range(datanodes))]
    is_strict = dice.random() < 0.4
    for name in names:
        machine = world.machine(name)
        machine.disk.is_strict = is_strict
        cluster.server(NAMENODE if name == "nn" else DATANODE, name, machine)
    watch = Watch(cluster)
    prepare(cluster)
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


class _Safe(Client):
    """Has its bytes on two datanodes at least, so that the loss of one is nothing to it."""

    replications = (2, 2, 3, 3)


def nothing_fails(world: World) -> Mapping[str, object]:
    """Let clients work while nothing breaks, in whatever order things happen, or while one datanode
    does: all their operations are answered."""
    clients = world.machine("clients")
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    policy = {"dfs.client.block.write.replace-datanode-on-failure.policy": "DEFAULT"}
    cluster, watch = build(world, policy, datanodes=_DATANODES + 1)
    plan = FaultPlan.draw(
        world.dice("faults"), cluster, world.seed % 2, _HARMLESS, only=("dn0", "dn1")
    )
    figures = write_and_check(
        cluster,
        clients,
        _URI,
        plan,
        watch,
        datanodes=_DATANODES + 1,
        make_client=_Safe,
        contends=False,
    )
    if figures["errors"]:
        raise Unexpected(f"operations have failed though nothing hindered them: {figures}")
    return figures


def writes_over_http(world: World) -> Mapping[str, object]:
    """Do the same with clients of WebHDFS."""
    clients = world.machine("clients")
    cluster, watch = build(world)
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS)
    return write_and_check(
        cluster, clients, _URI, plan, watch, make_client=HttpClient, clients_uri=_HTTP_URI
    )


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
    make_client: type[Client] = Client,
    clients_uri: str = "",
    contends: bool = True,
) -> Mapping[str, object]:
    """Let writers write while the faults of the plan happen; then heal all, and read everything
    that was promised. Clients work in turn in the directories of `above`;
    `administered` are the namespaces behind `uri`, where it is not one itself. An administrator
    works on the namenode of the machine `administrates`. Clients see the filesystem at
    `clients_uri`, if that is given. Others contend for a few files, if `contends`."""
    world, expectations = cluster.world, Expectations()

    def connect(process: Process) -> Any:
        return cluster.connect(process, uri)

    def connect_client(process: Process) -> Any:
        return cluster.connect(process, clients_uri or uri)

    workers = [
        make_client(
            world,
            f"client{number}",
            expectations,
            connect_client,
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
    if contends:
        world.process(clients, "contention").start(contention)
    administrator = None
    if administrates is not None:
        administrator = administration.Administrator(cluster, administrates, uri, all_done)
        world.process(clients, "administrator").start(administrator)
    supervisor = Supervisor(cluster)
    supervisor.follow(plan)
    world.run(
        lambda: (
            all_done()
            and (contention.is_done or not contends)
            and (not administrator or administrator.is_done)
        ),
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
