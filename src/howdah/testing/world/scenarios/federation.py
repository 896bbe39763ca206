"""Two namespaces on the same datanodes behind two routers, under faults."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, NAMENODE, ROUTER, RPC_PORT, Cluster, Server
from howdah.testing.world.faults import FaultPlan
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import write_and_check
from howdah.testing.world.watching import Watch
from howdah.testing.world.world import World

_NAMESPACES: Final = ("one", "two")
_ROUTERS: Final = ("ra", "rb")
_DATANODES: Final = ("dn0", "dn1", "dn2")
_FAULTS: Final = 10
_FAILOVER: Final = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
_SETTINGS: Final = {
    "fs.defaultFS": "hdfs://routers",
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
    "dfs.client.failover.proxy.provider.routers": _FAILOVER,
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


def writes_through_routers(world: World) -> Mapping[str, object]:
    """Write files in two namespaces through routers while everything breaks that may; then heal
    all, and read everything that was promised."""
    dice = world.dice("scenario")
    clients = world.machine("clients")
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
    for name in _ROUTERS:
        router = cluster.servers[name]
        world.call(router.machine, "administrator", partial(_mount, cluster, router))
    for name in _NAMESPACES:
        world.call(clients, "maker", partial(_make_directory, cluster, name))
    cluster.client_settings["dfs.nameservices"] = "one,two,routers"
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS)
    return write_and_check(
        cluster,
        clients,
        "hdfs://routers",
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
