"""What operators do to a cluster: they look at it, hand it over, take parts of it away and put them
back; and what clients wrote is there afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import Cluster
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.scenarios.highly_available import build
from howdah.testing.world.watching import Watch
from howdah.testing.world.workload.console import Console
from howdah.testing.world.world import Unexpected, World

_URI: Final = "hdfs://ns"
_FILES: Final = 6
_LONGEST_BYTES: Final = 300_000
_HTTP: Final = {
    **{f"nn{letter}": f"nn{letter}:9870" for letter in "ab"},
    **{f"jn{number}": f"jn{number}:8480" for number in range(3)},
    **{f"dn{number}": f"dn{number}:9864" for number in range(3)},
    **{f"fc{letter}": f"nn{letter}:8081" for letter in "ab"},
}
_PAGES_OF_ALL: Final = ("/", "/jmx", "/conf", "/metrics", "/prom", "/health", "/logs/", "/stacks")
_PAGES_OF_NAMENODES: Final = (
    *("/dfshealth.html", "/explorer.html", "/nodes", "/racks", "/snapshots", "/startupProgress"),
    *("/encryption", "/topology", "/cluster", "/isActive", "/fsck?ugi=hdfs&path=%2F"),
)
_MORE: Final = {
    "dfs.namenode.checkpoint.txns": "50",
    "dfs.namenode.checkpoint.check.period": "1",
    "dfs.namenode.lifeline.rpc-address": "0.0.0.0:8050",
    "dfs.namenode.lifeline.rpc-address.ns.a": "nna:8050",
    "dfs.namenode.lifeline.rpc-address.ns.b": "nnb:8050",
    "dfs.namenode.servicerpc-address.ns.a": "nna:8022",
    "dfs.namenode.servicerpc-address.ns.b": "nnb:8022",
    "dfs.namenode.audit.log.debug.cmdlist": "open",
    "howdah.namenode.audit.log.backups": "2",
    "howdah.namenode.audit.log.file": "/audit.log",
    "howdah.namenode.audit.log.max-size": "65536",
    "dfs.journalnode.enable.sync": "true",
    "dfs.journalnode.enable.sync.format": "true",
    "dfs.journalnode.sync.interval": "2000",
}


class _Cast:
    """Has files with known bytes in a cluster, and steps that change other things."""

    def __init__(self, world: World, cluster: Cluster, watch: Watch, clients: Machine) -> None:
        self.world = world
        self.cluster = cluster
        self.watch = watch
        self.clients = clients
        self.dice = world.dice("operating")
        self.files: dict[str, bytes] = {}
        self.commands = 0

    def connect(self, process: Process) -> Any:
        return self.cluster.connect(process, _URI)

    def write(self, process: Process, count: int = 2) -> None:
        """Write some files more."""
        fs = self.connect(process)
        for _ in range(count):
            path = f"/files/{len(self.files)}"
            data = self.dice.randbytes(self.dice.randrange(_LONGEST_BYTES))
            fs.write_bytes(path, data)
            self.files[path] = data

    def check(self, process: Process) -> None:
        """Read all of them."""
        fs = self.connect(process)
        for path, data in self.files.items():
            found = fs.read_bytes(path)
            if found != data:
                raise Unexpected(f"{path} has {len(found)} bytes, or other ones, not {len(data)}")

    def step(self, act: Callable[[Console, Any], None], name: str = "operator") -> None:
        """Do something, and see that clients can still read and write."""

        def run(process: Process) -> None:
            console = Console(self.cluster, process)
            act(console, self.connect(process))
            console.settle()
            self.commands += console.commands

        self.world.call(self.clients, name, run, timeout_s=1200.0)
        self.world.call(self.clients, "writer", self.write)
        self.world.call(self.clients, "reader", self.check)
        self.watch.look()
        self.world.check()


def operated(world: World) -> Mapping[str, object]:
    """Do to a highly available cluster what operators do, one thing after the other."""
    clients = world.machine("clients")
    cluster, watch = build(world, _MORE)
    cast = _Cast(world, cluster, watch, clients)
    world.call(clients, "writer", partial(cast.write, count=_FILES))
    steps = [_look_at_states, _fail_over, _report, _look_at_pages, _refresh, _check_blocks]
    cast.dice.shuffle(steps)
    for step in (*steps, _order_datanodes, _save_images):
        cast.step(partial(step, cast))
    _replace_standby(cast)
    _replace_journal_node(cast)
    cast.step(partial(_fail_over, cast))
    watch.check_at_rest()
    watch.restart_all()
    world.call(clients, "reader", cast.check)
    audited = b"".join(
        bytes(node.data)
        for letter in "ab"
        for _, node in world.machines[f"nn{letter}"].disk.files("audit.log")
    )
    if b"cmd=rename" not in audited and b"cmd=create" not in audited:
        raise Unexpected(f"the audit logs name no call that made a file: {audited[-500:]!r}")
    return {"files": len(cast.files), "commands": cast.commands, "compared": watch.compared}


def _states(console: Console) -> dict[str, str]:
    text = console.run("haadmin", "-getAllServiceState")
    return {words[0].partition(":")[0]: words[1] for words in map(str.split, text.splitlines())}


def _active(console: Console) -> str:
    """The letter of the namenode that is active, once one is."""
    found: list[str] = []

    def is_there() -> bool:
        found[:] = [host[-1] for host, state in _states(console).items() if state == "active"]
        return len(found) == 1

    console.wait("one namenode is active", is_there)
    return found[0]


def _other(letter: str) -> str:
    return "b" if letter == "a" else "a"


def _look_at_states(cast: _Cast, console: Console, fs: Any) -> None:
    active = _active(console)
    console.check(sorted(_states(console).values()) == ["active", "standby"], _states(console))
    console.run("haadmin", "-getServiceState", active, shows="active")
    for letter in "ab":
        console.run("haadmin", "-checkHealth", letter)
    console.run("haadmin", "-getServiceState", "c", status=255, shows="c")
    console.run("haadmin", "-transitionToStandby", active, status=255, shows="Automatic failover")
    console.run("haadmin", "-ns", "ns", "-help", "-failover", shows="Failover")
    console.run("getconf", "-namenodes", shows="nn")


def _fail_over(cast: _Cast, console: Console, fs: Any) -> None:
    active = _active(console)
    console.run("haadmin", "-failover", active, _other(active), shows="successful")
    console.check(_active(console) == _other(active), _states(console))
    console.run("haadmin", "-failover", "--forcefence", "a", "b", status=255, shows="not")
    fs.mkdirs("/failed-over")


def _report(cast: _Cast, console: Console, fs: Any) -> None:
    # What datanodes have used comes with their next heartbeats.
    console.wait(
        "all datanodes are live",
        lambda: "Live datanodes (3)" in console.run("dfsadmin", "-report"),
    )
    console.run("dfsadmin", "-report", "-dead", "-decommissioning", "-slownodes", shows="DFS")
    console.run("dfsadmin", "-printTopology", shows="Rack: /default-rack")
    with fs.create("/open") as stream:
        stream.write(b"open")
        stream.hflush()
        console.run("dfsadmin", "-listOpenFiles", "-path", "/", shows="/open")
        console.run("fsck", "/", "-openforwrite", shows="/open.*OPENFORWRITE")
    console.run("dfsadmin", "-metasave", "metasave.txt", shows="metasave.txt")
    found = [
        node
        for machine in ("nna", "nnb")
        for node in cast.world.machines[machine].disk.walk()
        if b"files and directories" in node.data
    ]
    console.check(found, "no namenode has written what -metasave asks for")
    console.run("dfsadmin", "-safemode", "get", shows="Safe mode is OFF")
    console.run("dfs", "-df", "/", shows="Filesystem")
    console.run("groups", "hdfs", shows="hdfs : ")


def _look_at_pages(cast: _Cast, console: Console, fs: Any) -> None:
    for name, place in _HTTP.items():
        for path in _PAGES_OF_ALL:
            status, body = console.answer(place, "GET", path)
            console.check(status in (200, 404), f"{name}{path} answers {status}: {body[:300]!r}")
        console.check(console.beans(place), f"{name} tells monitoring nothing")
        console.get(place, "/nothing-here", 404)
        console.check(
            console.answer(place, "POST", "/jmx")[0] in (403, 405), f"{name} takes a POST"
        )
    active = _active(console)
    for letter in "ab":
        for path in _PAGES_OF_NAMENODES:
            status, body = console.answer(_HTTP[f"nn{letter}"], "GET", path)
            console.check(status < 500 or letter != active, f"nn{letter}{path}: {body[:300]!r}")
    query = "Hadoop:service=NameNode,name=FSNamesystemState"
    (state,) = console.beans(_HTTP[f"nn{active}"], query)
    console.check(state["NumLiveDataNodes"] == 3, state)
    journal = console.beans(_HTTP["jn0"])
    console.check(any("Journal" in bean["name"] for bean in journal), journal)


def _refresh(cast: _Cast, console: Console, fs: Any) -> None:
    for command in (
        *("-refreshNodes", "-refreshUserToGroupsMappings"),
        "-refreshSuperUserGroupsConfiguration",
    ):
        console.run("dfsadmin", command, shows="uccess")
    console.run("dfsadmin", "-refreshServiceAcl", status=255, shows="not enabled")
    console.run("dfsadmin", "-refreshCallQueue", status=255, shows="no call queue")
    console.run("dfsadmin", "-setBalancerBandwidth", "1000000", shows="1000000")
    console.run("dfsadmin", "-restoreFailedStorage", "check", shows="restoreFailedStorage")
    console.run("dfsadmin", "-reconfig", "namenode", "nna:8020", "properties", shows="heartbeat")
    console.run("dfsadmin", "-reconfig", "namenode", "nna:8020", "start", shows="Started")
    console.wait(
        "the namenode has looked at its configuration",
        lambda: (
            "finished" in console.run("dfsadmin", "-reconfig", "namenode", "nna:8020", "status")
        ),
    )
    console.check(console.try_to("dfsadmin", "-nothing")[0] != 0, "an unknown command succeeds")


def _check_blocks(cast: _Cast, console: Console, fs: Any) -> None:
    console.run("fsck", "/", "-files", "-blocks", "-locations", shows="is HEALTHY")
    console.run("fsck", "/", "-files", "-blocks", "-racks", shows="default-rack")
    console.run("fsck", "/", "-files", "-blocks", "-replicaDetails", shows="LIVE|STALE")
    console.run(
        "fsck", "/", "-storagepolicies", "-includeSnapshots", "-maintenance", shows="HEALTHY"
    )
    console.run("fsck", "/", "-list-corruptfileblocks", shows="0 CORRUPT")
    console.run("fsck", "/nothing", shows="File does not exist")
    path = next(path for path, data in cast.files.items() if data)
    found = re.search(r"blk_\d+", console.run("fsck", path, "-files", "-blocks", shows="blk_"))
    if found is not None:
        console.run("fsck", "-blockId", found[0], shows=path)
    text = console.run("fsck", "/", "--json", shows='"status": "HEALTHY"')
    console.check(json.loads(text.splitlines()[-1]), text)
    console.run("dfs", "-checksum", path, shows="MD5-of")


def _order_datanodes(cast: _Cast, console: Console, fs: Any) -> None:
    places = {f"dn{number}": f"dn{number}:9867" for number in range(3)}
    for place in places.values():
        console.run("dfsadmin", "-getDatanodeInfo", place, shows="Uptime")
        console.run("dfsadmin", "-getVolumeReport", place, shows="/data")
        console.run("dfsadmin", "-triggerBlockReport", place, shows="riggering")
        console.run("dfsadmin", "-triggerBlockReport", "-incremental", place, shows="riggering")
        console.run("dfsadmin", "-getBalancerBandwidth", place, shows="bandwidth")
        console.run("dfsadmin", "-refreshNamenodes", place)
        console.run("dfsadmin", "-evictWriters", place, shows="evict")
    pool = console.beans(_HTTP["dn0"], "Hadoop:service=DataNode,name=DataNodeInfo")
    pool_id = json.loads(pool[0]["BPServiceActorInfo"])[0]["BlockPoolID"]
    console.run("dfsadmin", "-deleteBlockPool", places["dn0"], pool_id, status=255, shows="")
    stopped = cast.cluster.servers["dn1"]
    console.run("dfsadmin", "-shutdownDatanode", places["dn1"], "upgrade", shows="Submitted")
    console.wait("the datanode ends", lambda: stopped.is_gone)
    stopped.start()
    console.wait("the datanode is back", lambda: stopped.is_ready)
    console.wait(
        "all datanodes are live",
        lambda: "Live datanodes (3)" in console.run("dfsadmin", "-report"),
    )


def _save_images(cast: _Cast, console: Console, fs: Any) -> None:
    console.run("dfsadmin", "-saveNamespace", status=255, shows="[Ss]afe mode")
    console.run("dfsadmin", "-safemode", "enter", shows="ON")
    console.run("dfs", "-mkdir", "/refused", status=1, shows="safe mode")
    console.run("dfsadmin", "-saveNamespace", shows="Save namespace successful")
    console.run("dfsadmin", "-saveNamespace", "-beforeShutdown", shows="")
    console.run("dfsadmin", "-safemode", "leave", shows="OFF")
    console.run("dfsadmin", "-rollEdits", shows="New segment starts at txid")
    console.run("dfsadmin", "-fetchImage", "/tmp-image", shows="")
    console.run("dfsadmin", "-rollingUpgrade", "query", shows="no rolling upgrade")
    console.run("dfsadmin", "-rollingUpgrade", "prepare", shows="REPARE")
    console.wait(
        "there is an image to go back to",
        lambda: "Proceed" in console.run("dfsadmin", "-rollingUpgrade", "query"),
    )
    console.run("dfsadmin", "-rollingUpgrade", "finalize", shows="finalized")
    console.run("dfsadmin", "-finalizeUpgrade", shows="successful")
    console.run("dfsadmin", "-upgrade", "query", shows="finalized")


def _replace_standby(cast: _Cast) -> None:
    """The standby loses its directory, and gets a copy of the other's."""
    cluster, world = cast.cluster, cast.world
    letters: list[str] = []
    cast.step(lambda console, fs: letters.append(_other(_active(console))))
    (letter,) = letters
    for name in (f"fc{letter}", f"nn{letter}"):
        cluster.servers[name].kill()
    machine = world.machines[f"nn{letter}"]
    machine.empty_directory("/name")
    server = cluster.servers[f"nn{letter}"]

    def bootstrap(process: Process) -> None:
        console = Console(cluster, process)
        module = process.modules.load("howdah.namenode.server.process.bootstrap")
        module.bootstrap_standby(cluster.configuration(process, server))
        console.fails(
            lambda: module.bootstrap_standby(cluster.configuration(process, server)),
            "BootstrapFailed",
        )
        console.settle()
        module.bootstrap_standby(cluster.configuration(process, server), force=True)

    world.call(machine, "bootstrap", bootstrap)
    for name in (f"nn{letter}", f"fc{letter}"):
        cluster.servers[name].start()
    cluster.wait_ready(f"nn{letter}", f"fc{letter}")
    cast.step(partial(_look_at_states, cast))


def _replace_journal_node(cast: _Cast) -> None:
    """A journal node loses its disk, and gets from the others what it lacks."""
    server = cast.cluster.servers[f"jn{cast.dice.randrange(3)}"]
    server.kill()
    server.machine.empty_directory("/journal")
    cast.step(lambda console, fs: fs.mkdirs("/without-it"))
    server.start()
    cast.cluster.wait_ready(server.name)

    def wait(console: Console, fs: Any) -> None:
        def has_all() -> bool:
            console.run("dfsadmin", "-rollEdits")
            return len(_segments(server.machine)) >= most - 1

        most = max(len(_segments(cast.world.machines[f"jn{number}"])) for number in range(3))
        console.wait(f"{server.name} has all segments", has_all, 300.0)

    cast.step(wait)


def _segments(machine: Machine) -> list[str]:
    return [name for name, _ in machine.disk.files("edits_")]


def operated_by_hand(world: World) -> Mapping[str, object]:
    """Do the same to namenodes without controllers: an operator makes one active, an observer of
    another, and hands over while one of them is dead; and another one shares the log anew."""
    clients = world.machine("clients")
    settings = {**_BY_HAND, "dfs.ha.automatic-failover.enabled": "false"}
    shared = _SHARED if world.seed % 2 else ""
    cluster, watch = build(world, settings, controllers=False, shared=shared)
    cast = _Cast(world, cluster, watch, clients)

    def by_hand(console: Console, fs: Any) -> None:
        console.check(sorted(_states(console).values()) == ["standby", "standby"], _states(console))
        console.run("haadmin", "-transitionToActive", "a")
        console.check(_active(console) == "a", _states(console))
        console.run("haadmin", "-transitionToActive", "b", status=255, shows="active")
        fs.mkdirs("/files")

    def hand_over(console: Console, fs: Any) -> None:
        active = _active(console)
        console.run("haadmin", "-failover", active, _other(active), shows="successful")
        console.check(_active(console) == _other(active), _states(console))
        console.run("haadmin", "-transitionToStandby", _other(active))
        console.run("haadmin", "-transitionToActive", active)
        console.check(_active(console) == active, _states(console))

    def observe(console: Console, fs: Any) -> None:
        other = _other(_active(console))
        console.run("haadmin", "-transitionToObserver", other)
        console.run("haadmin", "-getServiceState", other, shows="observer")
        console.run("haadmin", "-transitionToStandby", other)
        console.run("haadmin", "-getServiceState", other, shows="standby")

    def fence(console: Console, fs: Any) -> None:
        active = _active(console)
        cluster.servers[f"nn{active}"].kill()
        console.run("haadmin", "-failover", active, _other(active), shows="successful")
        console.check(_active(console) == _other(active), _states(console))
        cluster.servers[f"nn{active}"].start()
        console.wait("it is back", lambda: cluster.servers[f"nn{active}"].is_ready)
        console.run("haadmin", "-failover", "--forcefence", _other(active), active)
        cluster.servers[f"nn{_other(active)}"].kill()
        cluster.servers[f"nn{_other(active)}"].start()
        console.wait("it is back", lambda: cluster.servers[f"nn{_other(active)}"].is_ready)

    for step in (by_hand, hand_over, observe, fence, hand_over):
        cast.step(step)
    _share_anew(cast)
    cast.step(hand_over)
    watch.check_at_rest()
    return {"files": len(cast.files), "commands": cast.commands, "compared": watch.compared}


_SHARED: Final = "/shared"
_BY_HAND: Final = {
    "dfs.ha.fencing.methods": "sshfence(hdfs:22)\nshell(/bin/true)",
    "dfs.ha.fencing.ssh.private-key-files": "/home/key",
    "dfs.client.failover.max.attempts": "30",
}


def _share_anew(cast: _Cast) -> None:
    """One namenode has a log of its own for a while, and shares it again."""
    cluster, world = cast.cluster, cast.world
    letters: list[str] = []

    def save(console: Console, fs: Any) -> None:
        # What it reads then it has itself: an image, and no log before it.
        letters.append(_active(console))
        console.run("dfsadmin", "-safemode", "enter")
        console.run("dfsadmin", "-saveNamespace")
        console.run("dfsadmin", "-safemode", "leave")

    cast.step(save)
    (letter,) = letters
    server = cluster.servers[f"nn{letter}"]
    for each in "ab":
        cluster.servers[f"nn{each}"].kill()

    def share(process: Process) -> None:
        module = process.modules.load("howdah.namenode.server.process.shared_edits")
        module.initialize_shared_edits(cluster.configuration(process, server), force=True)

    world.call(server.machine, "share", share)
    cast.watch.forget()
    server.start()
    cluster.wait_ready(server.name)
    other = cluster.servers[f"nn{_other(letter)}"]

    def bootstrap(process: Process) -> None:
        module = process.modules.load("howdah.namenode.server.process.bootstrap")
        module.bootstrap_standby(cluster.configuration(process, other), force=True)

    def activate(console: Console, fs: Any) -> None:
        console.run("haadmin", "-transitionToActive", "--forceactive", letter)

    def run(process: Process) -> None:
        console = Console(cluster, process)
        activate(console, None)
        console.settle()

    world.call(cast.clients, "operator", run)
    world.call(other.machine, "bootstrap", bootstrap)
    other.start()
    cluster.wait_ready(other.name)
