"""Two namespaces on the same datanodes behind two routers, under faults."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, NAMENODE, ROUTER, RPC_PORT, Cluster, Server
from howdah.testing.world.faults import FaultPlan
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import write_and_check
from howdah.testing.world.watching import Watch
from howdah.testing.world.workload.console import Console
from howdah.testing.world.world import Unexpected, World

_URI: Final = "hdfs://routers"
_NAMESPACES: Final = ("one", "two")
_ROUTERS: Final = ("ra", "rb")
_DATANODES: Final = ("dn0", "dn1", "dn2")
_FAULTS: Final = 10
_CLASSES: Final = "org.apache.hadoop.hdfs.server.namenode.ha"
_FAILOVER: Final = f"{_CLASSES}.ConfiguredFailoverProxyProvider"
_ROUTER_READS: Final = f"{_CLASSES}.RouterObserverReadConfiguredFailoverProxyProvider"
_PROVIDER: Final = "dfs.client.failover.proxy.provider.routers"
_SETTINGS: Final = {
    "fs.defaultFS": _URI,
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
    _PROVIDER: _FAILOVER,
    "dfs.federation.router.cache.ttl": "1s",
    "dfs.federation.router.heartbeat.interval": "1s",
    "dfs.federation.router.http-address": "0.0.0.0:50071",
    "dfs.federation.router.quota.enable": "true",
    "dfs.federation.router.rpc-address": "0.0.0.0:8888",
    "dfs.federation.router.store.driver.class": (
        "org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl"
    ),
    "dfs.federation.router.store.driver.file.directory": "/store",
    "dfs.ha.namenodes.routers": ",".join(_ROUTERS),
    "dfs.nameservices": "one,two",
    **{f"dfs.namenode.rpc-address.{name}": f"nn-{name}:{RPC_PORT}" for name in _NAMESPACES},
    **{f"dfs.namenode.http-address.{name}": f"nn-{name}:9870" for name in _NAMESPACES},
    **{f"dfs.namenode.rpc-address.routers.{name}": f"{name}:8888" for name in _ROUTERS},
}


def build(world: World, *, shares_store: bool = False) -> tuple[Cluster, Watch]:
    """Make the machines and servers, format both namespaces, and start everything. Routers have a
    store each, or one that both see."""
    dice = world.dice("scenario")
    cluster = Cluster(world, _SETTINGS)
    for name in _NAMESPACES:
        server = cluster.server(NAMENODE, f"nn-{name}", world.machine(f"nn-{name}"))
        server.settings["dfs.nameservice.id"] = name
    for name in _DATANODES:
        cluster.server(DATANODE, name, world.machine(name))
    is_strict = dice.random() < 0.4
    for machine in world.machines.values():
        machine.disk.is_strict = is_strict
    for name in _ROUTERS:
        server = cluster.server(ROUTER, name, world.machine(name))
        server.settings["dfs.federation.router.admin-address"] = f"{name}:8111"
    if shares_store:
        disk = world.machines[_ROUTERS[0]].new_disk()
        for name in _ROUTERS:
            world.machines[name].mounts.mount("/store", disk)
    watch = Watch(cluster)
    for name in _NAMESPACES:
        server = cluster.servers[f"nn-{name}"]

        def format_one(process: Process, server: Any = server) -> None:
            process.modules.load("howdah.namenode.server.process.format").format_namenode(
                cluster.configuration(process, server), cluster_id="CID-world"
            )

        world.call(server.machine, "format", format_one)
    for each in cluster.servers.values():
        each.start()
    cluster.wait_ready()
    cluster.client_settings["dfs.nameservices"] = "one,two,routers"
    cluster.client_settings[_PROVIDER] = dice.choice((_FAILOVER, _ROUTER_READS))
    return cluster, watch


def writes_through_routers(world: World) -> Mapping[str, object]:
    """Write files in two namespaces through routers while everything breaks that may; then heal
    all, and read everything that was promised."""
    clients = world.machine("clients")
    cluster, watch = build(world)
    for name in _ROUTERS:
        router = cluster.servers[name]
        world.call(router.machine, "administrator", partial(_mount, cluster, router))
    for name in _NAMESPACES:
        world.call(clients, "maker", partial(_make_directory, cluster, name))
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS)
    return write_and_check(
        cluster,
        clients,
        _URI,
        plan,
        watch,
        above=[f"/{name}" for name in _NAMESPACES],
        administered=[f"hdfs://nn-{name}:{RPC_PORT}" for name in _NAMESPACES],
    )


def _make_directory(cluster: Cluster, namespace: str, process: Process) -> None:
    fs = cluster.connect(process, f"hdfs://nn-{namespace}:{RPC_PORT}")
    fs.mkdirs(f"/of-{namespace}", 0o777)


def _mount(cluster: Cluster, router: Server, process: Process) -> None:
    """Write the mount table of a router."""
    table = process.modules.load("howdah.router.state.table.mount_table")
    administration = process.modules.load("howdah.router.administration").Administration(
        cluster.configuration(process, router)
    )
    for name in _NAMESPACES:
        destination = table.Destination(name, f"/of-{name}")
        administration.add(
            table.MountEntry(f"/{name}", (destination,), owner="hdfs", group="hadoop")
        )
    administration.close()


def routed(world: World) -> Mapping[str, object]:
    """Use mount points of all kinds: what is made through routers is in the namespaces behind them,
    in one or in all, and routers show all that is there."""
    clients = world.machine("clients")
    cluster, watch = build(world, shares_store=True)
    dice = world.dice("routed")
    for name in _NAMESPACES:
        world.call(clients, "maker", partial(_make_directory, cluster, name))
    files: dict[str, bytes] = {}
    world.call(clients, "operator", partial(_make_mounts, cluster), timeout_s=600.0)
    steps = [
        _use_files,
        _use_attributes,
        _use_snapshots,
        _use_caches,
        _use_quotas,
        _look_at_routers,
    ]
    dice.shuffle(steps)
    for step in [*steps, _disable, _use_files]:

        def run(process: Process, step: Any = step) -> None:
            console = Console(cluster, process, {"dfs.federation.router.admin-address": "ra:8111"})
            fs = cluster.connect(process, _URI)
            step(cluster, console, fs, dice, files)
            for path, data in files.items():
                console.check(fs.read_bytes(path) == data, f"{path} has other bytes")
            console.settle()

        world.call(clients, "operator", run, timeout_s=900.0)
        world.check()
    world.call(clients, "reader", partial(_compare_sides, cluster, files))
    cluster.servers["ra"].kill()
    world.call(clients, "reader", partial(_compare_sides, cluster, files))
    watch.check_at_rest()
    return {"files": len(files), "compared": watch.compared}


_MOUNTS: Final = {
    "/one": ("one", ()),
    "/two": ("two", ()),
    "/one/inner": ("two", ()),
    "/hashed": ("one,two", ("-order", "HASH")),
    "/all": ("one,two", ("-order", "HASH_ALL")),
    "/tolerant": ("one,two", ("-order", "HASH_ALL", "-faulttolerant")),
    "/random": ("one,two", ("-order", "RANDOM")),
    "/space": ("one,two", ("-order", "SPACE")),
    "/local": ("one,two", ("-order", "LOCAL")),
    "/fixed": ("one", ("-readonly",)),
}
"""By their paths: the namespaces, and the options."""
_WRITABLE: Final = tuple(path for path in _MOUNTS if path != "/fixed")
_SEVERAL: Final = tuple(path for path, (names, _) in _MOUNTS.items() if "," in names)


def _direct(cluster: Cluster, process: Process) -> dict[str, Any]:
    return {name: cluster.connect(process, f"hdfs://nn-{name}:{RPC_PORT}") for name in _NAMESPACES}


def _make_mounts(cluster: Cluster, process: Process) -> None:
    console = Console(cluster, process, {"dfs.federation.router.admin-address": "ra:8111"})
    for fs in _direct(cluster, process).values():
        for path in _MOUNTS:
            fs.mkdirs(f"/behind{path}", 0o777)
    for path, (names, options) in _MOUNTS.items():
        console.run("routeradmin", "-add", path, names, f"/behind{path}", *options, shows="uccess")
    console.run("routeradmin", "-add", "/gone", "one", "/behind/gone", shows="uccess")
    console.run("routeradmin", "-update", "/gone", "two", "/behind/gone", shows="uccess")
    console.run("routeradmin", "-rm", "/gone", shows="uccess")
    console.run("routeradmin", "-rm", "/gone", shows="Cannot remove")
    console.run("routeradmin", "-refresh", shows="uccess")
    console.run("routeradmin", "-ls", "-d", "/", shows="/tolerant")
    console.run("routeradmin", "-getDestination", "/one", shows="one")
    fs = cluster.connect(process, _URI)
    console.wait(
        "both routers know the mount points",
        lambda: {f"/{name.split('/')[1]}" for name in _MOUNTS} <= set(fs.ls("/")),
    )
    console.sleep(3.0)
    console.settle()


def _use_files(
    cluster: Cluster, console: Console, fs: Any, dice: random.Random, files: dict[str, bytes]
) -> None:
    for mount in _WRITABLE:
        fs.mkdirs(f"{mount}/directory")
        path = f"{mount}/directory/{len(files)}"
        data = dice.randbytes(dice.randrange(100_000))
        with fs.create(path, overwrite=True) as stream:
            stream.write(data[: len(data) // 2])
            stream.hsync()
            console.check(path in [each.path for each in fs.list_open_files(mount)], path)
        with fs.append(path) as stream:
            stream.write(data[len(data) // 2 :])
        files[path] = data
        console.check(fs.get_file_status(path).length == len(data), path)
        console.check(fs.get_file_checksum(path), path)
        moved = f"{path}-moved"
        fs.rename(path, moved)
        files[moved] = files.pop(path)
        shown = {status.path for status in fs.list_status(f"{mount}/directory")}
        ours = {each for each in files if each.startswith(f"{mount}/directory/")}
        console.check(shown == ours, f"{shown} is shown, not {ours}")
        if data and not fs.truncate(moved, len(data) // 2):
            console.wait("it is closed", partial(fs.is_file_closed, moved))
        files[moved] = data[: len(data) // 2]
        console.check(
            sum(block.length for block in fs.block_locations(moved)) == len(data) // 2, moved
        )
    path = next(iter(files))
    console.fails(lambda: fs.mkdirs("/fixed/refused"), "AccessDenied")
    console.fails(lambda: fs.open("/one/absent"), "FileNotFoundError")
    console.fails(lambda: fs.get_file_status("/nowhere"), "NoLocation", "FileNotFoundError")
    console.fails(lambda: fs.rename(path, "/fixed/refused"), "HowdahError")
    console.check("inner" in [each.name for each in fs.list_status("/one")], "no inner mount point")
    victim = f"/all/victim-{len(files)}"
    fs.write_bytes(victim, b"victim")
    console.check(fs.delete(victim) and not fs.exists(victim), victim)
    for number in range(2):
        fs.write_bytes(f"/two/part{number}", b"part")
    fs.concat("/two/part0", ["/two/part1"])
    console.check(fs.read_bytes("/two/part0") == b"partpart", "/two/part0")
    fs.delete("/two/part0")


def _use_attributes(
    cluster: Cluster, console: Console, fs: Any, dice: random.Random, files: dict[str, bytes]
) -> None:
    entry = console.load("howdah.fs.acl").AclEntry
    for mount in _WRITABLE:
        path = f"{mount}/attributes-{len(files)}"
        fs.mkdirs(path)
        fs.set_permission(path, 0o750)
        fs.set_owner(path, group="hadoop")
        fs.set_times(path, mtime_ms=86_400_000)
        fs.set_xattr(path, "user.colour", b"red")
        fs.modify_acl_entries(path, [entry("user", "anna", 6)])
        fs.set_storage_policy(path, "COLD")
        status = fs.get_file_status(path)
        console.check((status.permission & 0o700, status.group) == (0o700, "hadoop"), status)
        console.check(fs.get_xattrs(path) == {"user.colour": b"red"}, path)
        console.check(fs.get_storage_policy(path).name == "COLD", path)
        console.check(any(each.name == "anna" for each in fs.get_acl_status(path).entries), path)
        fs.unset_storage_policy(path)
        fs.remove_acl(path)
        fs.remove_xattr(path, "user.colour")
        console.check(fs.list_xattrs(path) == [], path)
        fs.delete(path, recursive=True)
    console.check(fs.get_storage_policies(), "there are no policies")
    console.check(fs.get_erasure_coding_policies(), "there are no policies of erasure coding")
    console.check(len(fs.datanode_report("live")) == len(_DATANODES), fs.datanode_report("live"))
    console.check(fs.get_status().capacity > 0, fs.get_status())
    console.check(fs.server_defaults().replication == 3, fs.server_defaults())
    console.check(not fs.set_safe_mode("get"), "safe mode")
    console.run("fsck", "/one", status=255, shows="")


def _use_snapshots(
    cluster: Cluster, console: Console, fs: Any, dice: random.Random, files: dict[str, bytes]
) -> None:
    for mount in ("/one", "/two", "/all", "/tolerant"):
        top = f"{mount}/snapshots-{len(files)}"
        fs.mkdirs(top)
        fs.allow_snapshot(top)
        fs.write_bytes(f"{top}/a", b"first")
        made = fs.create_snapshot(top, "s1")
        fs.write_bytes(f"{top}/a", b"second")
        fs.rename(f"{top}/a", f"{top}/b")
        console.check(fs.read_bytes(f"{made}/a") == b"first", made)
        fs.rename_snapshot(top, "s1", "s2")
        fs.create_snapshot(top, "s3")
        console.check(len(fs.list_snapshots(top)) == 2, top)
        console.check(fs.snapshot_diff(top, "s2", "s3").entries, top)
        console.check(top in [each.path for each in fs.list_snapshottable_directories()], top)
        fs.delete_snapshot(top, "s2")
        fs.delete_snapshot(top, "s3")
        fs.disallow_snapshot(top)
        fs.delete(top, recursive=True)


def _use_caches(
    cluster: Cluster, console: Console, fs: Any, dice: random.Random, files: dict[str, bytes]
) -> None:
    pool = f"pool{len(files)}"
    fs.add_cache_pool(pool, limit_bytes=1 << 20)
    fs.modify_cache_pool(pool, default_replication=2)
    for mount in ("/one", "/two"):
        fs.write_bytes(f"{mount}/cached", b"cached")
        number = fs.add_cache_directive(f"{mount}/cached", pool)
        fs.modify_cache_directive(number, replication=3)
        (found,) = fs.list_cache_directives(directive_id=number)
        console.check((found.path, found.replication) == (f"{mount}/cached", 3), found)
        fs.remove_cache_directive(number)
        fs.delete(f"{mount}/cached")
    console.check(pool in [each.name for each in fs.list_cache_pools()], pool)
    fs.remove_cache_pool(pool)
    console.check(pool not in [each.name for each in fs.list_cache_pools()], pool)


def _use_quotas(
    cluster: Cluster, console: Console, fs: Any, dice: random.Random, files: dict[str, bytes]
) -> None:
    console.run("routeradmin", "-setQuota", "/random", "-nsQuota", "200", "-ssQuota", "1g")
    console.run(
        "routeradmin", "-setStorageTypeQuota", "/random", "-storageType", "SSD", "1g", shows=""
    )
    console.wait(
        "the quota is known", lambda: "200" in console.run("routeradmin", "-ls", "/random")
    )
    usage = fs.quota_usage("/random")
    console.check(usage.quota == 200, usage)
    summary = fs.content_summary("/all")
    ours = [path for path in files if path.startswith("/all/")]
    console.check(summary.file_count == len(ours), f"{summary}, and not {ours}")
    console.check(summary.length == sum(len(files[path]) for path in ours), summary)
    console.run("routeradmin", "-clrQuota", "/random", shows="uccess")
    console.run("routeradmin", "-clrStorageTypeQuota", "/random", shows="uccess")


def _look_at_routers(
    cluster: Cluster, console: Console, fs: Any, dice: random.Random, files: dict[str, bytes]
) -> None:
    for name in _ROUTERS:
        place = f"{name}:50071"
        for path in (
            "/",
            "/jmx",
            "/metrics",
            "/health",
            "/ready",
            "/conf",
            "/cluster",
            "/isActive",
        ):
            status, body = console.answer(place, "GET", path)
            console.check(status == 200, f"{name}{path} answers {status}: {body[:300]!r}")
        console.check(console.answer(place, "POST", "/")[0] == 405, "a page takes a POST")
        console.check(console.answer(place, "GET", "/nothing")[0] == 404, "there is a page nothing")
    (state,) = console.beans("ra:50071", "Hadoop:service=Router,name=FederationState")
    console.check(state["NumLiveNodes"] >= len(_DATANODES), state)
    console.run("routeradmin", "-safemode", "enter", shows="uccess")
    console.run("routeradmin", "-safemode", "get", shows="true")
    console.run("routeradmin", "-safemode", "leave", shows="uccess")
    console.run("routeradmin", "-refreshCallQueue", status=255, shows="no call queue")
    console.run("routeradmin", "-refreshSuperUserGroupsConfiguration", shows="uccess")
    console.run("routeradmin", "-nothing", status=255, shows="Unknown Command")
    administration = fs.administration
    console.check(administration.roll_edits() is not None, "edits are not rolled")
    administration.refresh_nodes()
    administration.set_balancer_bandwidth(1 << 20)
    console.check(administration.storage_reports(), "there are no reports of storages")
    console.check(administration.safe_mode("get") is False, "safe mode")


def _disable(
    cluster: Cluster, console: Console, fs: Any, dice: random.Random, files: dict[str, bytes]
) -> None:
    """Without a namespace the other one is used, where a mount point lets that."""
    console.run("routeradmin", "-nameservice", "disable", "two", shows="uccess")
    console.run("routeradmin", "-getDisabledNameservices", shows="two")
    console.sleep(5.0)
    path = f"/tolerant/directory/{len(files)}-without"
    console.wait("a file is made", lambda: fs.write_bytes(path, b"one only") is not None)
    files[path] = b"one only"
    console.run("routeradmin", "-nameservice", "enable", "two", shows="uccess")
    console.wait("it is back", lambda: fs.list_status("/two") is not None)
    console.sleep(5.0)


def _compare_sides(cluster: Cluster, files: Mapping[str, bytes], process: Process) -> None:
    """Each file is in one of its namespaces, with all its bytes, and routers show it."""
    console = Console(cluster, process)
    routed_fs = cluster.connect(process, _URI)
    sides = _direct(cluster, process)
    for path, data in files.items():
        mount = max((each for each in _MOUNTS if path.startswith(f"{each}/")), key=len)
        names = _MOUNTS[mount][0].split(",")
        behind = f"/behind{path}"
        found = [name for name in names if sides[name].exists(behind)]
        if len(found) != 1:
            raise Unexpected(f"{path} is in {found}")
        console.check(sides[found[0]].read_bytes(behind) == data, f"{behind} has other bytes")
        console.check(routed_fs.read_bytes(path) == data, f"{path} has other bytes")
    console.settle()
