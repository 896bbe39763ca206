"""A call through a router against the same call at its namenode.

One client with one connection asks for the status of a file, one call after the other, of the
namenode and through each router, in turn. What a machine has to do beside that makes all of
them slower alike, so the figure is the ratio of the medians of a round. Beside it stands the
CPU time that a router and the namenode take for one of those calls.

The peer is Hadoop's router, in front of the same namenode of ours, with the same client.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from harness import CACHE, Options, Results, Skipped, figure, main, progress, scratch

from howdah.config.value_types import parse_address
from howdah.errors import HowdahError
from howdah.fs.registry import connect
from howdah.java import NoJava
from howdah.proto import client_namenode_pb2 as pb
from howdah.router.namenodes.connections import CLIENT_PROTOCOL
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.rpc.client import RpcClient
from howdah.testing.minicluster import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path, hadoop_router_class_path
from tests.support.hadoop.java import hadoop_java
from tests.support.routers import Routers

ROUTED, REAL = "/east/file", "/real/file"
DIRECT, OURS, HADOOPS = "direct", "howdah's router", "Hadoop's router"
ROUTER = "org.apache.hadoop.hdfs.server.federation.router.DFSRouter"


def measure(options: Options) -> Results:
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "router"))
        cluster = stack.enter_context(MiniCluster(datanodes=1, dir=base / "cluster"))
        with cluster.connect() as fs:
            fs.mkdirs("/real")
            fs.create(REAL).close()
        with closing(store_at(base / "store")) as store:
            store.prepare()
            store.add_mount(MountEntry("/east", (Destination("east", "/real"),)))
        routers = stack.enter_context(Routers(base, {"east": cluster}))
        routers.start()
        namenode = cluster.process("namenode")
        assert namenode.pid is not None, "the cluster runs"
        pids = {DIRECT: namenode.pid, OURS: routers.pid()}
        places = {
            DIRECT: (cluster.uri.removeprefix("hdfs://"), REAL),
            OURS: (routers.addresses["router"], ROUTED),
        }
        try:
            progress("Hadoop's router starts")
            pids[HADOOPS], address = hadoops_router(
                stack, base, routers.values, namenode.addresses["http"]
            )
            places[HADOOPS] = (address, ROUTED)
        except (NoHadoop, NoJava) as error:
            yield Skipped(HADOOPS, str(error))
        calls = {name: caller(stack, *place) for name, place in places.items()}
        yield from _figures(options, calls, pids)


def _figures(
    options: Options, calls: dict[str, Callable[[], float]], pids: dict[str, int]
) -> Results:
    count, rounds = (300, 5) if options.quick else (2000, 9)
    medians: dict[str, list[float]] = {name: [] for name in calls}
    for_one: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 2):
        for name, call in calls.items():
            before_s = cpu_s(pids[name])
            took = [call() for _ in range(count)]
            if number > 1:  # two rounds warm a virtual machine up
                medians[name].append(statistics.median(took) * 1e6)
                for_one[name].append((cpu_s(pids[name]) - before_s) / count * 1e6)
    ratios = {
        name: [found / direct for found, direct in zip(medians[name], medians[DIRECT], strict=True)]
        for name in calls
        if name != DIRECT
    }
    others = {HADOOPS: ratios[HADOOPS]} if HADOOPS in calls else {}
    yield figure("getFileInfo through a router, in direct ones", "×", ratios[OURS], others)
    peers = {name: found for name, found in medians.items() if name != OURS}
    yield figure("getFileInfo through a router", "µs", medians[OURS], peers)
    peers = {"the namenode": for_one[DIRECT], HADOOPS: for_one.get(HADOOPS, [])}
    yield figure("CPU of a router for one getFileInfo", "µs", for_one[OURS], peers)


def caller(stack: ExitStack, address: str, path: str) -> Callable[[], float]:
    """Asks once, and says how many seconds that took."""
    rpc = RpcClient(parse_address(address), CLIENT_PROTOCOL)
    stack.callback(rpc.close)
    request = pb.GetFileInfoRequestProto(src=path)

    def call() -> float:
        began_s = time.perf_counter()
        answer = rpc.call("getFileInfo", request, pb.GetFileInfoResponseProto)
        took_s = time.perf_counter() - began_s
        assert answer.HasField("fs"), path
        return took_s

    return call


def cpu_s(pid: int) -> float:
    """CPU seconds of all threads of a process so far, in nanoseconds' steps."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in tasks) / 1e9


def hadoops_router(
    stack: ExitStack, base: Path, values: dict[str, str], pages: str
) -> tuple[int, str]:
    """Hadoop's router over the same state store: its pid, and where it serves. `pages` is where
    it asks the namenode for figures."""
    jars = f"{hadoop_router_class_path(CACHE)}{os.pathsep}{hadoop_class_path(CACHE)}"
    directory = base / "hadoop"
    directory.mkdir()
    ports = []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            ports.append(probe.getsockname()[1])
    settings = {
        **values,
        "fs.defaultFS": f"hdfs://{values['dfs.namenode.rpc-address.east']}",
        "dfs.namenode.http-address.east": pages,
        "dfs.federation.router.store.driver.class": (
            "org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl"
        ),
        "dfs.federation.router.rpc-address": f"127.0.0.1:{ports[0]}",
        "dfs.federation.router.admin-address": f"127.0.0.1:{ports[1]}",
        "dfs.federation.router.monitor.namenode": "east",
        "dfs.federation.router.safemode.enable": "false",
        "dfs.federation.router.http.enable": "false",
        "dfs.federation.router.heartbeat.interval": "500",
        "dfs.federation.router.cache.ttl": "500",
    }
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    )
    (directory / "core-site.xml").write_text("<configuration/>")
    for name in ("hdfs-site.xml", "hdfs-rbf-site.xml"):
        (directory / name).write_text(f"<configuration>{properties}</configuration>")
    (directory / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
    process = subprocess.Popen(
        [*hadoop_java(jars, directory), ROUTER],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=directory,
    )
    stack.callback(process.wait, 30)
    stack.callback(process.kill)
    address = f"127.0.0.1:{ports[0]}"

    def serves() -> bool:
        with suppress(HowdahError, OSError), connect(f"hdfs://{address}") as fs:
            return fs.exists(ROUTED)
        return False

    wait_until(serves, 240, "Hadoop's router serves")
    return process.pid, address


if __name__ == "__main__":
    main(measure)
