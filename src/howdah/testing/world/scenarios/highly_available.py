"""Two namenodes, three journal nodes, two failover controllers and three datanodes under faults."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import (
    CONTROLLER,
    DATANODE,
    JOURNALNODE,
    NAMENODE,
    Cluster,
    draw_settings,
)
from howdah.testing.world.faults import (
    ALL,
    BLACKOUT,
    CUT,
    ISOLATE,
    KILL,
    LOSE,
    ONE_WAY,
    ORDINARY,
    PAUSE,
    POWER,
    RESET,
    RIVAL,
    SLOW_DISK,
    SPLIT,
    Fault,
    FaultPlan,
    Supervisor,
)
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import write_and_check
from howdah.testing.world.scenarios.namenode import Callers, format_namenode
from howdah.testing.world.watching import Watch
from howdah.testing.world.world import World

_URI: Final = "hdfs://ns"
_DATANODES: Final = 3
_FAULTS: Final = 12
_BOOTSTRAP: Final = "howdah.namenode.server.process.bootstrap"
_LEASES_MS: Final = ("300", "1000", "8000")
"""How long an active may serve that hears no journal node: an election takes a second."""
_CALLERS: Final = 2
_PACES_S: Final = (0.02, 0.1, 0.3)
_KINDS: Final = ("mkdir", "mkdir", "rename", "rename", "delete")
_FAULTS_S: Final = 22.0
_QUIET_S: Final = 5.0
_OF_NAMENODES: Final = (
    *(SPLIT, SPLIT, SPLIT, SPLIT, SPLIT, SPLIT, RESET, RESET, RESET, KILL, POWER, BLACKOUT),
    *(PAUSE, CUT, ONE_WAY, ISOLATE, SLOW_DISK),
)
_RIVALS: Final = 3
_RIVAL_S: Final = (9.0, 17.0)
"""How long two may be active: a controller gives up asking the other namenode after 5 s."""
_RIVAL_EACH_S: Final = 19.0
_LATE: Final = 4
_LATE_EACH_S: Final = 8.0
_LOSES_S: Final = (0.5, 3.0)
_AWAY_CHANCE: Final = 0.7
_UNHEARD_CHANCE: Final = 0.6
_UNHEARD_FROM_S: Final = (0.0, 4.0)
_UNHEARD_FOR_S: Final = (2.0, 10.0)
"""Less than it takes a namenode to give a datanode up."""
_CHECKPOINTED: Final = {
    "dfs.namenode.checkpoint.txns": "50",
    "dfs.namenode.checkpoint.check.period": "1",
}
_OBSERVER_EACH_S: Final = 3.0
_CLASSES: Final = "org.apache.hadoop.hdfs.server.namenode.ha"
_FAILOVER: Final = f"{_CLASSES}.ConfiguredFailoverProxyProvider"
_PROVIDERS: Final = (_FAILOVER, _FAILOVER, f"{_CLASSES}.RequestHedgingProxyProvider")
_PROVIDER: Final = "dfs.client.failover.proxy.provider.ns"
SETTINGS: Final = {
    "fs.defaultFS": _URI,
    "dfs.nameservices": "ns",
    "dfs.ha.namenodes.ns": "a,b",
    "dfs.namenode.rpc-address.ns.a": "nna:8020",
    "dfs.namenode.rpc-address.ns.b": "nnb:8020",
    "dfs.namenode.http-address.ns.a": "nna:9870",
    "dfs.namenode.http-address.ns.b": "nnb:9870",
    "dfs.namenode.shared.edits.dir": "qjournal://jn0:8485;jn1:8485;jn2:8485/ns",
    "dfs.journalnode.rpc-address": "0.0.0.0:8485",
    "dfs.journalnode.http-address": "0.0.0.0:8480",
    "dfs.ha.automatic-failover.enabled": "true",
    "dfs.ha.fencing.methods": "shell(/bin/true)",
    "dfs.ha.tail-edits.in-progress": "true",
    "dfs.ha.tail-edits.period": "1",
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
    _PROVIDER: _FAILOVER,
    "howdah.ha.election.lease.ms": "1000",
    "howdah.failover-controller.http-address": "0.0.0.0:8081",
}
_OBSERVERS: Final = f"{_CLASSES}.ObserverReadProxyProvider"
_OBSERVED: Final = {
    "dfs.ha.namenodes.ns": "a,b,c",
    "dfs.namenode.rpc-address.ns.c": "nnc:8020",
    "dfs.namenode.http-address.ns.c": "nnc:9870",
    "dfs.namenode.state.context.enabled": "true",
    "dfs.ha.tail-edits.period": "200ms",
}


def build(
    world: World,
    settings: Mapping[str, str] | None = None,
    *,
    datanodes: int = _DATANODES,
    observer: bool = False,
    controllers: bool = True,
    shared: str = "",
    prepare: Callable[[Cluster], None] = lambda cluster: None,
) -> tuple[Cluster, Watch]:
    """Make the machines and servers, format the namespace, and start everything. An observer is a
    third namenode, which no controller looks after; without controllers none is looked after.
    `shared` is a directory that all namenodes see, in place of journal nodes. The cluster is
    prepared before anything starts."""
    dice = world.dice("scenario")
    lease = {"howdah.ha.lease.ms": dice.choice(_LEASES_MS)}
    cluster = Cluster(world, {**SETTINGS, **lease, **(settings or {})})
    journal_nodes = () if shared else ("jn0", "jn1", "jn2")
    for name in journal_nodes:
        cluster.server(JOURNALNODE, name, world.machine(name))
    for letter in "ab":
        machine = world.machine(f"nn{letter}")
        for role, name in (NAMENODE, f"nn{letter}"), (CONTROLLER, f"fc{letter}"):
            if role is CONTROLLER and not controllers:
                continue
            server = cluster.server(role, name, machine)
            server.settings["dfs.ha.namenode.id"] = letter
    if observer:
        server = cluster.server(NAMENODE, "nnc", world.machine("nnc"))
        server.settings["dfs.ha.namenode.id"] = "c"
    for name in [f"dn{number}" for number in range(datanodes)]:
        cluster.server(DATANODE, name, world.machine(name))
    is_strict = dice.random() < 0.4
    for machine in world.machines.values():
        machine.disk.is_strict = is_strict
    watch = Watch(cluster)
    prepare(cluster)
    if shared:
        cluster.settings["dfs.namenode.shared.edits.dir"] = f"file://{shared}"
        disk = world.machines["nna"].new_disk()
        for letter in "ab":
            world.machines[f"nn{letter}"].mounts.mount(shared, disk)
    for name in journal_nodes:
        cluster.servers[name].start()
    if journal_nodes:
        cluster.wait_ready(*journal_nodes)
    first = world.machines["nna"]
    cluster.settings["dfs.ha.namenode.id"] = "a"
    format_namenode(cluster, first)
    cluster.servers["nna"].start()
    cluster.wait_ready("nna")

    def bootstrap(process: Process) -> Any:
        module = process.modules.load(_BOOTSTRAP)
        return module.bootstrap_standby(cluster.configuration(process))

    for letter in "bc" if observer else "b":
        cluster.settings["dfs.ha.namenode.id"] = letter
        world.call(world.machines[f"nn{letter}"], "bootstrap", bootstrap, kind=_BOOTSTRAP)
    del cluster.settings["dfs.ha.namenode.id"]
    for server in cluster.servers.values():
        if not server.is_up:
            server.start()
    cluster.wait_ready()
    return cluster, watch


def reads_from_observers(world: World) -> Mapping[str, object]:
    """Do the same with a third namenode that is an observer, from which clients read: each has
    to see what it has done itself."""
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    clients = world.machine("clients")
    cluster, watch = build(world, _OBSERVED, observer=True)
    cluster.client_settings[_PROVIDER] = _OBSERVERS
    world.process(clients, "operator").start(partial(_keep_observer, cluster))
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS)
    return write_and_check(cluster, clients, _URI, plan, watch)


def failovers(world: World) -> Mapping[str, object]:
    """Let clients make, rename, delete and list directories, without a datanode, while namenodes
    and journal nodes break, or two namenodes believe that they are active; whoever looks sees what
    was answered before."""
    if world.dice("rivals").random() < 0.5:
        return _fail_over(world, lambda dice, _: _rivals(dice), length_s=_RIVALS * _RIVAL_EACH_S)
    return _fail_over(
        world,
        lambda dice, cluster: FaultPlan.draw(dice, cluster, _FAULTS, _OF_NAMENODES),
        length_s=_FAULTS_S,
    )


def failovers_without_a_journal_node(world: World) -> Mapping[str, object]:
    """Do the same while namenodes are killed whose last edits one of the journal nodes has missed,
    and their successors do not reach another one."""
    return _fail_over(world, lambda dice, _: _late(dice), length_s=_LATE * _LATE_EACH_S)


def _fail_over(
    world: World, plan: Callable[[random.Random, Cluster], FaultPlan], *, length_s: float
) -> Mapping[str, object]:
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    clients, lookers = world.machine("clients"), world.machine("lookers")
    # An active that nobody hears of serves on for longer than its successor needs.
    lease = {"howdah.ha.lease.ms": world.dice("lease").choice(("300", "8000", "8000"))}
    cluster, watch = build(world, {**_CHECKPOINTED, **lease}, datanodes=0)
    callers = Callers(world, cluster, _URI, paces_s=_PACES_S, kinds=_KINDS)
    callers.start(clients, _CALLERS, looks_from=lookers)
    supervisor = Supervisor(cluster)
    supervisor.follow(plan(world.dice("faults"), cluster))
    world.run_for(length_s)
    supervisor.heal()
    world.run_for(_QUIET_S)
    callers.is_over = True
    world.run(lambda: callers.all_done)
    world.call(clients, "reader", callers.check)
    watch.check_at_rest()
    watch.restart_all()
    world.call(clients, "reader", callers.check)
    return {
        "calls": callers.calls,
        "looks": callers.looks,
        "unknown": len(callers.unknown),
        "faults": supervisor.count,
        "ended": supervisor.ended,
        "compared": watch.compared,
        "answers": watch.answers,
    }


def _rivals(dice: random.Random) -> FaultPlan:
    """Let actives have successors of which they do not know. Perhaps clients that change something
    do not reach them, or journal nodes neither: then nobody tells them."""
    return FaultPlan(
        [
            Fault(
                RIVAL,
                number * _RIVAL_EACH_S + dice.random(),
                dice.uniform(*_RIVAL_S),
                dice.choice(("fca", "fcb")),
                dice.choice(("", "clients", "clients,jn0,jn1,jn2")),
            )
            for number in range(_RIVALS)
        ]
    )


def _late(dice: random.Random) -> FaultPlan:
    """Let a journal node miss edits, which it lacks until the segment ends. Then kill a namenode,
    perhaps the active, with a journal node cut off that has them."""
    faults = []
    for number in range(_LATE):
        at_s = number * _LATE_EACH_S + dice.random()
        late, away = dice.sample(("jn0", "jn1", "jn2"), 2)
        faults.append(Fault(LOSE, at_s, dice.uniform(*_LOSES_S), late, amount=dice.random()))
        killed_s = at_s + dice.uniform(*_LOSES_S)
        namenodes = ["nna", "nnb"]
        dice.shuffle(namenodes)
        faults.append(Fault(KILL, killed_s, dice.uniform(1.0, _LATE_EACH_S / 2), namenodes[0]))
        if dice.random() < _AWAY_CHANCE:
            cut_s = killed_s - dice.choice((0.0, 0.1))
            faults.append(Fault(CUT, cut_s, dice.uniform(1.0, 4.0), namenodes[1], away))
    return FaultPlan(faults)


def writes_beside_rivals(world: World) -> Mapping[str, object]:
    """Write files while actives have successors of which they do not know, and which datanodes do
    not hear of at once: a datanode still obeys the first one, and has blocks of the second one."""
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    clients = world.machine("clients")
    lease = {"howdah.ha.lease.ms": world.dice("lease").choice(("300", "8000", "8000"))}
    cluster, watch = build(world, lease)
    dice = world.dice("faults")
    faults = list(_rivals(dice).faults)
    for rival in tuple(faults):
        successor = "nnb" if rival.target == "fca" else "nna"
        for number in range(_DATANODES):
            if dice.random() < _UNHEARD_CHANCE:
                at_s = rival.at_s + dice.uniform(*_UNHEARD_FROM_S)
                length_s = dice.uniform(*_UNHEARD_FOR_S)
                faults.append(Fault(CUT, at_s, length_s, successor, f"dn{number}"))
    return write_and_check(cluster, clients, _URI, FaultPlan(faults), watch)


def _keep_observer(cluster: Cluster, process: Process) -> None:
    """Make the third namenode an observer, as often as it was started."""
    conf = cluster.configuration(process)
    settings = process.modules.load("howdah.failover.settings")
    namenodes = process.modules.load("howdah.failover.namenodes")
    forced = process.modules.load("howdah.failover.state.service").RequestSource.USER_FORCED
    errors = process.modules.load("howdah.errors")
    sleep = process.modules.load("time").sleep
    target = settings.targets(conf, "ns")["c"]
    while True:
        try:
            namenodes.Namenode(target, 5.0).make_observer(forced)
        except (errors.HowdahError, OSError) as error:
            cluster.world.story.record("operator", f"{type(error).__name__}: {error}")
        sleep(_OBSERVER_EACH_S)


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
    """Write files while everything breaks that may; then heal all, and read everything that
    was promised."""
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    clients = world.machine("clients")
    cluster, watch = build(world, settings)
    cluster.client_settings[_PROVIDER] = world.dice("provider").choice(_PROVIDERS)
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS, kinds)
    return write_and_check(cluster, clients, _URI, plan, watch)
