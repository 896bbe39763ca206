"""Replicas that are moved: to storages that their policies name, between datanodes and volumes that
are unevenly full, into memory and out of it, and away from datanodes that go. All bytes stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, RPC_PORT, Cluster, Server
from howdah.testing.world.faults import KILL, PAUSE, FaultPlan, Supervisor
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import build
from howdah.testing.world.workload.console import Console
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_DATANODES: Final = 4
_BLOCK_BYTES: Final = 65_536
_DISK_BYTES: Final = 6 << 20
_FILES: Final = 12
_LONGEST_BYTES: Final = 4 * _BLOCK_BYTES
_THRESHOLD: Final = 5
_FAULTS: Final = 4
_PATIENCE_S: Final = 300.0
_HOSTS: Final = "/hosts"
_COMBINED: Final = "org.apache.hadoop.hdfs.server.blockmanagement.CombinedHostFileManager"
_SETTINGS: Final = {
    "dfs.blocksize": str(_BLOCK_BYTES),
    "dfs.replication": "2",
    "dfs.balancer.getBlocks.min-block-size": "1",
    "dfs.balancer.movedWinWidth": "1",
    "dfs.block.scanner.volume.bytes.per.second": "4194304",
    "dfs.cachereport.intervalMsec": "300",
    "dfs.client.read.shortcircuit": "true",
    "dfs.datanode.cache.revocation.polling.ms": "50",
    "dfs.datanode.cache.revocation.timeout.ms": "2000",
    "dfs.datanode.data.dir": "/data,/volume1,[SSD]/volume2,[RAM_DISK]/volume3",
    "dfs.datanode.directoryscan.interval": "20",
    "dfs.datanode.failed.volumes.tolerated": "2",
    "dfs.datanode.fileio.profiling.sampling.percentage": "50",
    "dfs.datanode.lazywriter.interval.sec": "1",
    "dfs.datanode.max.locked.memory": str(32 * _BLOCK_BYTES),
    "dfs.datanode.outliers.report.interval": "5",
    "dfs.datanode.peer.stats.enabled": "true",
    "dfs.disk.balancer.enabled": "true",
    "dfs.domain.socket.path": "/var/datanode",
    "dfs.hosts": _HOSTS,
    "dfs.mover.retry.max.attempts": "10",
    "dfs.namenode.decommission.interval": "1",
    "dfs.namenode.hosts.provider.classname": _COMBINED,
    "dfs.namenode.maintenance.replication.min": "1",
    "dfs.namenode.path.based.cache.refresh.interval.ms": "300",
    "dfs.namenode.path.based.cache.retry.interval.ms": "300",
    "dfs.namenode.redundancy.interval.seconds": "1",
    "dfs.storage.policy.satisfier.mode": "external",
}


class _Cast:
    """Has files with known bytes, and steps that move their replicas."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self.world = world
        self.cluster = cluster
        self.dice = world.dice("placing")
        self.clients = world.machines["clients"]
        self.files: dict[str, bytes] = {}
        self.counts: dict[str, int] = {}
        self.datanodes = [s for s in cluster.servers.values() if s.role is DATANODE]

    def step(self, act: Callable[[_Cast, Console, Any], None], machine: str = "clients") -> None:
        """Do something in a process of its own; then all bytes are there."""

        def run(process: Process) -> None:
            console = Console(self.cluster, process)
            fs = self.cluster.connect(process, _URI)
            act(self, console, fs)
            self.check(fs)
            console.settle()

        name = act.__name__.strip("_")
        self.world.story.record("operator", name)
        self.world.call(self.world.machines[machine], name, run, timeout_s=1800.0)
        self.counts[name] = self.counts.get(name, 0) + 1
        self.world.check()

    def write(self, fs: Any, directory: str, count: int = _FILES, **options: Any) -> list[str]:
        """Write some files."""
        fs.mkdirs(directory)
        made = []
        for _ in range(count):
            path = f"{directory}/{len(self.files)}"
            data = self.dice.randbytes(self.dice.randrange(1, _LONGEST_BYTES))
            with fs.create(path, **options) as stream:
                stream.write(data)
            self.files[path] = data
            made.append(path)
        return made

    def check(self, fs: Any) -> None:
        for path, data in self.files.items():
            found = fs.read_bytes(path)
            if found != data:
                raise Unexpected(f"{path} has {len(found)} bytes, or other ones, not {len(data)}")

    def set_hosts(self, **states: str) -> None:
        """Write the file of the datanodes that may take part, and the states of some."""
        hosts = [
            {"hostName": server.name, **({"adminState": state} if state else {})}
            for server in self.datanodes
            for state in (states.get(server.name, ""),)
        ]
        text = "\n".join(map(json.dumps, hosts))
        self.world.machines["nn"].write_file(_HOSTS, text.encode())


def places_replicas(world: World) -> Mapping[str, object]:
    """Do all that moves replicas, one thing after the other, some of it while datanodes are killed
    or stand still."""
    world.machine("clients")
    cluster, watch = build(world, _SETTINGS, datanodes=_DATANODES, prepare=_prepare)
    cast = _Cast(world, cluster)
    supervisor = Supervisor(cluster)
    for server in cast.datanodes:
        for disk in server.machine.mounts.disks():
            disk.capacity_bytes = _DISK_BYTES
    steps = [_use_policies, _use_satisfier, _use_memory, _cache, _balance, _use_quotas]
    cast.dice.shuffle(steps)
    for act in steps:
        cast.step(act, "dn0" if act in (_cache, _use_memory) else "clients")
    cast.step(_change_volumes)
    cast.step(_balance_disks)
    cast.step(_damage)
    cast.step(_maintain)
    cast.step(_decommission)
    supervisor.follow(FaultPlan.draw(world.dice("faults"), cluster, _FAULTS, (KILL, PAUSE)))
    cast.step(_move_under_faults)
    supervisor.heal()
    world.run_for(60.0)
    cast.step(_look)
    watch.check_at_rest()
    return {"files": len(cast.files), "faults": supervisor.count, "steps": len(cast.counts)}


def _prepare(cluster: Cluster) -> None:
    world = cluster.world
    names = [server.name for server in cluster.servers.values() if server.role is DATANODE]
    text = "\n".join(json.dumps({"hostName": name}) for name in names)
    world.machines["nn"].write_file(_HOSTS, text.encode())
    for server in cluster.servers.values():
        server.reads_files = True


def _kinds(fs: Any, path: str) -> set[str]:
    return {kind for block in fs.block_locations(path) for kind in block.storage_types}


def _use_policies(cast: _Cast, console: Console, fs: Any) -> None:
    """Files are on disks; their policies want them elsewhere; the mover brings them there."""
    paths = cast.write(fs, "/moved")
    console.check(all(_kinds(fs, path) == {"DISK"} for path in paths), "files are not on disks")
    fs.set_storage_policy("/moved", "ALL_SSD")
    console.run("storagepolicies", "-getStoragePolicy", "-path", "/moved", shows="ALL_SSD")
    console.run("mover", "-p", "/moved", shows="")
    console.wait(
        "all is on SSDs", lambda: all(_kinds(fs, path) == {"SSD"} for path in paths), _PATIENCE_S
    )
    fs.set_storage_policy("/moved", "ONE_SSD")
    console.run("mover", "-p", "/moved", "--json", shows="SUCCESS")
    for path in paths:
        for block in fs.block_locations(path):
            console.check("SSD" in block.storage_types, block)


def _use_satisfier(cast: _Cast, console: Console, fs: Any) -> None:
    """The same by the server that satisfies policies."""
    paths = cast.write(fs, "/satisfied", 4)
    fs.set_storage_policy("/satisfied", "ALL_SSD")
    sps = cast.world.process(cast.clients, "sps")

    def serve(process: Process) -> None:
        cast.cluster.run_command(process, "sps")

    sps.start(serve)
    fs.satisfy_storage_policy("/satisfied")
    console.wait(
        "all is on SSDs", lambda: all(_kinds(fs, path) == {"SSD"} for path in paths), _PATIENCE_S
    )
    sps.kill()
    # One that was killed counts as running until the lease of its mark is over.
    console.wait(
        "a mover may run", lambda: console.try_to("mover", "-p", "/satisfied")[0] == 0, _PATIENCE_S
    )


def _use_memory(cast: _Cast, console: Console, fs: Any) -> None:
    """Replicas are in memory first, and on a disk when their datanode is started anew."""
    options = console.load("howdah.options")
    paths = cast.write(fs, "/lazy", 5, replication=1, flags=options.CreateFlag.LAZY_PERSIST)
    kinds = set().union(*(_kinds(fs, path) for path in paths))
    console.check("RAM_DISK" in kinds, f"nothing is in memory, but on {kinds}")
    node = cast.cluster.servers["dn0"]

    def is_saved() -> bool:
        (bean,) = console.beans("dn0:9864", "Hadoop:service=DataNode,name=DataNodeActivity-*")
        return bool(bean["RamDiskBlocksLazyPersisted"] >= bean["RamDiskBlocksWrite"] > 0)

    console.wait("replicas are saved", is_saved)
    console.fails(lambda: fs.append(paths[0]), "UnsupportedOperation")
    console.sleep(5.0)
    node.kill()
    node.start()
    console.wait("the datanode is back", lambda: node.is_ready)
    console.wait("all can be read", lambda: [fs.read_bytes(path) for path in paths], _PATIENCE_S)
    for path in paths:  # Replicas are damaged later, of which there have to be others.
        fs.set_replication(path, 2)
    console.wait("replicas are on two datanodes", partial(_are_replicated, cast, fs), _PATIENCE_S)


def _cache(cast: _Cast, console: Console, fs: Any) -> None:
    """Blocks are locked in memory while a directive wants that, and are read from there."""
    paths = cast.write(fs, "/cached", 4, replication=3)
    console.run("cacheadmin", "-addPool", "pool", "-limit", "10000000", shows="uccessful")
    console.run(
        *("cacheadmin", "-addDirective", "-path", "/cached", "-pool", "pool"),
        *("-replication", "2", "-force"),
        shows="Added cache directive",
    )

    def copies(path: str) -> list[int]:
        return [len(block.cached_hosts) for block in fs.block_locations(path)]

    def are_cached() -> bool:
        return all(set(copies(path)) == {2} for path in paths)

    console.wait("all blocks are cached twice", are_cached, _PATIENCE_S)
    cast.check(fs)
    console.run("cacheadmin", "-listDirectives", "-stats", shows="/cached")
    console.run("cacheadmin", "-listPools", "-stats", shows="pool")
    with fs.append(paths[0]) as stream:
        stream.write(b"more")
    cast.files[paths[0]] += b"more"
    with fs.open(paths[1]) as stream:
        view = stream.pread_view(0, 10)
        console.check(bytes(view) == cast.files[paths[1]][:10], "the view has other bytes")
    console.wait("what has grown is cached anew", are_cached, _PATIENCE_S)
    console.run("cacheadmin", "-removePool", "pool", shows="uccessful")
    console.wait(
        "nothing is cached any more",
        lambda: not any(any(copies(path)) for path in paths),
        _PATIENCE_S,
    )


def _used(fs: Any) -> dict[str, float]:
    """How full datanodes are, in percent."""
    return {
        node.id.hostName: 100.0 * node.dfsUsed / node.capacity
        for node in fs.administration.datanodes("LIVE")
    }


def _balance(cast: _Cast, console: Console, fs: Any) -> None:
    """One datanode was away while others filled; the balancer moves replicas there."""
    absent = cast.cluster.servers[f"dn{_DATANODES - 1}"]
    absent.kill()
    cast.write(fs, "/balanced", 3 * _FILES)
    absent.start()
    console.wait("the datanode is back", lambda: absent.is_ready)
    console.sleep(5.0)
    before = _used(fs)
    console.run("balancer", "-threshold", str(_THRESHOLD), shows="Balancing took|balanced")
    console.sleep(5.0)
    after = _used(fs)
    spread = max(after.values()) - min(after.values())
    least = max(before.values()) - min(before.values())
    console.check(spread <= max(2 * _THRESHOLD + 1, least), f"{before} has become {after}")
    console.run("balancer", "-threshold", "0", status=251, shows="Usage")
    console.run("fsck", "/balanced", shows="HEALTHY")


def _use_quotas(cast: _Cast, console: Console, fs: Any) -> None:
    """No more bytes are taken than quotas of room and of a type of storage let."""
    fs.mkdirs("/quota")
    console.run("dfsadmin", "-setSpaceQuota", str(3 * _BLOCK_BYTES), "/quota")
    console.fails(lambda: fs.write_bytes("/quota/large", bytes(2 * _BLOCK_BYTES)), "QuotaExceeded")
    fs.delete("/quota/large")
    fs.write_bytes("/quota/small", b"small")
    console.run("dfsadmin", "-clrSpaceQuota", "/quota")
    fs.set_storage_policy("/quota", "ALL_SSD")
    console.run("dfsadmin", "-setSpaceQuota", str(_BLOCK_BYTES), "-storageType", "SSD", "/quota")
    console.fails(lambda: fs.write_bytes("/quota/large", bytes(_BLOCK_BYTES)), "QuotaExceeded")
    fs.delete("/quota/large")
    console.run("dfsadmin", "-clrSpaceQuota", "-storageType", "SSD", "/quota")
    console.run("dfsadmin", "-setQuota", "2", "/quota")
    console.fails(lambda: fs.mkdirs("/quota/more"), "NamespaceQuotaExceeded")
    console.run("dfs", "-count", "-q", "/quota", shows="/quota")
    console.run("dfsadmin", "-clrQuota", "/quota")
    console.check(fs.quota_usage("/quota").quota == -1, fs.quota_usage("/quota"))


def _change_volumes(cast: _Cast, console: Console, fs: Any) -> None:
    """A datanode gets a volume and loses another while it serves."""
    server = cast.cluster.servers["dn1"]
    server.mount("/volume4")
    server.machine.mounts.disk_of("/volume4").capacity_bytes = _DISK_BYTES
    server.settings["dfs.datanode.data.dir"] = "/volume4,/volume1,[SSD]/volume2,[RAM_DISK]/volume3"
    server.settings["dfs.datanode.balance.bandwidthPerSec"] = "20000000"
    server.write_settings()
    place = "dn1:9867"
    console.run("dfsadmin", "-reconfig", "datanode", place, "properties", shows="data.dir")
    console.run("dfsadmin", "-reconfig", "datanode", place, "start", shows="Started")
    console.wait(
        "the datanode has taken its new settings",
        lambda: "finished at" in console.run("dfsadmin", "-reconfig", "datanode", place, "status"),
    )
    console.run("dfsadmin", "-reconfig", "datanode", place, "status", shows="SUCCESS")
    report = console.run("dfsadmin", "-getVolumeReport", place, shows="/volume4")
    console.check("/data\n" not in report, report)
    server.machine.empty_directory("/data")  # That disk is taken away.
    console.wait("replicas are made anew", partial(_are_replicated, cast, fs), _PATIENCE_S)
    cast.write(fs, "/volumes", 4)


def _are_replicated(cast: _Cast, fs: Any) -> bool:
    return all(
        len(block.hosts) >= fs.get_file_status(path).replication
        for path in cast.files
        for block in fs.block_locations(path)
    )


def _balance_disks(cast: _Cast, console: Console, fs: Any) -> None:
    """Volumes of one datanode that are unevenly full get even."""
    cast.write(fs, "/disks", _FILES)
    console.sleep(5.0)
    for server in cast.datanodes[:2]:
        text = console.run(
            "diskbalancer", "-plan", server.name, "-out", f"/plans-{server.name}", "--json"
        )
        made = json.loads(text) if text.strip().startswith("{") else {}
        if not made.get("plan_file"):
            continue
        console.run("diskbalancer", "-execute", made["plan_file"])

        def is_done(server: Server = server) -> bool:
            return "PLAN_DONE" in console.run("diskbalancer", "-query", f"{server.name}:9867")

        console.wait("the plan is done", is_done, _PATIENCE_S)
        console.run("diskbalancer", "-report", "-node", server.name, shows="")
        console.run("diskbalancer", "-cancel", made["plan_file"])


def _damage(cast: _Cast, console: Console, fs: Any) -> None:
    """Files of replicas go and change behind the back of a datanode, which finds that, and others
    make them anew."""
    disk = cast.cluster.servers["dn0"].machine.mounts.disk_of("/volume1")
    todo, found = [disk.root], list[tuple[Any, str]]()
    while todo:
        directory = todo.pop()
        for name, node in sorted(directory.entries.items()):
            if node.is_directory:
                todo.append(node)
            elif name.startswith("blk_"):
                found.append((directory, name))
    blocks = [each for each in found if not each[1].endswith(".meta")]
    sums = [each for each in found if each[1].endswith(".meta")]
    for directory, name in blocks[:2] + sums[2:4]:
        disk.change_names((directory, name, None))
    for directory, name in blocks[4:6]:
        directory.entries[name].resize(len(directory.entries[name].data) // 2)
    console.sleep(60.0)  # Longer than between two scans.
    console.wait("all can be read", lambda: [*map(fs.read_bytes, cast.files)], _PATIENCE_S)
    console.wait("replicas are made anew", partial(_are_replicated, cast, fs), _PATIENCE_S)


def _maintain(cast: _Cast, console: Console, fs: Any) -> None:
    """A datanode is away for a while, and nobody makes its replicas anew."""
    cast.set_hosts(dn2="IN_MAINTENANCE")
    console.run("dfsadmin", "-refreshNodes", shows="uccessful")
    console.wait(
        "it is in maintenance",
        lambda: "dn2" in console.run("dfsadmin", "-report", "-inmaintenance"),
        _PATIENCE_S,
    )
    server = cast.cluster.servers["dn2"]
    server.kill()
    console.sleep(20.0)
    cast.check(fs)
    server.start()
    console.wait("it is back", lambda: server.is_ready)
    cast.set_hosts()
    console.run("dfsadmin", "-refreshNodes", shows="uccessful")


def _decommission(cast: _Cast, console: Console, fs: Any) -> None:
    """A datanode goes: it is decommissioned when others have what it has."""
    cast.set_hosts(dn2="DECOMMISSIONED")
    console.run("dfsadmin", "-refreshNodes", shows="uccessful")

    def is_out() -> bool:
        text = console.run("dfsadmin", "-report")
        return "Decommission Status : Decommissioned" in text

    console.wait("it is decommissioned", is_out, _PATIENCE_S)
    server = cast.cluster.servers["dn2"]
    server.kill()
    console.sleep(20.0)
    cast.check(fs)
    server.start()
    cast.set_hosts()
    console.run("dfsadmin", "-refreshNodes", shows="uccessful")
    console.wait("it is back", lambda: server.is_ready)


def _move_under_faults(cast: _Cast, console: Console, fs: Any) -> None:
    """What moves replicas may fail where datanodes do; bytes stay."""
    fs.set_storage_policy("/moved", "HOT")
    for name, *words in (("mover", "-p", "/moved"), ("balancer", "-threshold", "1")):
        console.try_to(name, *words)
    console.wait("all can be read", lambda: [*map(fs.read_bytes, cast.files)], _PATIENCE_S)


def _look(cast: _Cast, console: Console, fs: Any) -> None:
    console.wait("all blocks have their replicas", partial(_are_replicated, cast, fs), _PATIENCE_S)
    console.wait("it is healthy", lambda: "HEALTHY" in console.run("fsck", "/"), _PATIENCE_S)
    for server in cast.datanodes:
        console.check(console.beans(f"{server.name}:9864"), f"{server.name} has no beans")
        console.get(f"{server.name}:9864", "/")
