"""Hadoop's router and ours over one state store, in front of a namenode of ours."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from howdah.cli.router import admin as routeradmin
from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.fs.registry import connect
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from howdah.router.store.factory import store_at, store_place
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import NoHadoop, hadoop_router_class_path
from tests.support.hadoop.java import hadoop_java
from tests.support.zookeeper import zookeeper_server

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(240)]

CACHE = Path(__file__).parents[2] / ".cache"
DRIVERS = "org.apache.hadoop.hdfs.server.federation.store.driver.impl."
LOG4J = """\
log4j.rootLogger=INFO,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%p %c{1}: %m%n
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def hadoops_router(jars: str, directory: Path, values: dict[str, str]) -> Iterator[None]:
    """It runs; its log is shown where the test fails."""
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in values.items()
    )
    (directory / "core-site.xml").write_text("<configuration/>")
    for name in ("hdfs-site.xml", "hdfs-rbf-site.xml"):
        (directory / name).write_text(f"<configuration>{properties}</configuration>")
    (directory / "log4j.properties").write_text(LOG4J)
    main = "org.apache.hadoop.hdfs.server.federation.router.DFSRouter"
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [*hadoop_java(jars, directory), main], stdout=log, stderr=log, cwd=directory
        )
    try:
        yield
    except BaseException:
        print((directory / "log").read_text()[-10_000:])
        raise
    finally:
        process.kill()
        process.wait(20)


@pytest.mark.parametrize(
    "driver",
    [
        "StateStoreZooKeeperImpl",
        pytest.param("StateStoreFileImpl", marks=pytest.mark.torture),
    ],
)
def test_each_reads_what_the_other_writes(
    driver: str,
    howdah_cluster: MiniCluster,
    hadoop_classpath: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("kazoo", reason="a state store in ZooKeeper needs kazoo")
    namenode = howdah_cluster.process("namenode").addresses
    rpc, admin = free_port(), free_port()
    values = {
        "dfs.nameservices": "east",
        "dfs.namenode.rpc-address.east": namenode["rpc"],
        "dfs.namenode.http-address.east": namenode["http"],
        "fs.defaultFS": f"hdfs://{namenode['rpc']}",
        "dfs.federation.router.store.driver.class": f"{DRIVERS}{driver}",
        "dfs.federation.router.store.driver.file.directory": str(tmp_path / "store"),
        "dfs.federation.router.rpc-address": f"127.0.0.1:{rpc}",
        "dfs.federation.router.admin-address": f"127.0.0.1:{admin}",
        "dfs.federation.router.monitor.namenode": "east",
        "dfs.federation.router.heartbeat.interval": "500",
        "dfs.federation.router.cache.ttl": "500",
        "dfs.federation.router.safemode.enable": "false",
        "dfs.federation.router.http.enable": "false",
        "dfs.federation.router.handler.count": "2",
    }
    with contextlib.ExitStack() as stack:
        try:
            jars = f"{hadoop_router_class_path(CACHE)}{os.pathsep}{hadoop_classpath}"
            if driver == "StateStoreZooKeeperImpl":
                host, port = stack.enter_context(zookeeper_server(tmp_path / "zookeeper"))
                values["hadoop.zk.address"] = f"{host}:{port}"
        except (NoHadoop, NoZooKeeper, NoJava) as error:
            pytest.skip(str(error))
        conf = Configuration(values)
        store = stack.enter_context(closing(store_at(store_place(conf))))
        store.prepare()
        # Ours has written the table; Hadoop's serves it.
        root = f"/{tmp_path.name}"
        assert store.add_mount(MountEntry("/mine", (Destination("east", f"{root}/real"),)))
        fs = stack.enter_context(howdah_cluster.connect())
        fs.write_bytes(f"{root}/real/file", b"here")
        stack.enter_context(hadoops_router(jars, tmp_path, values))
        uri = f"hdfs://127.0.0.1:{rpc}"

        def is_served(path: str) -> bool:
            with (
                contextlib.suppress(HowdahError, OSError),
                connect(uri, conf=Configuration({})) as routed,
            ):
                return routed.read_bytes(path) == b"here"
            return False

        wait_until(lambda: is_served("/mine/file"), 90, "Hadoop's router serves our entry")
        # Hadoop's writes, as our command asks it to; ours reads.
        line = f"-add /theirs east {root}/other -order HASH_ALL -readonly -owner eve"
        assert routeradmin.main(line.split(), conf) == 0, capsys.readouterr().err
        found = {entry.source: entry for entry in store.mount_entries()}["/theirs"]
        assert found.destinations == (Destination("east", f"{root}/other"),)
        assert (found.order, found.read_only, found.owner) == (Order.HASH_ALL, True, "eve")
        # Each changes what the other has written.
        moved = MountEntry("/theirs", (Destination("east", f"{root}/real"),))
        assert store.update_mount(moved)
        wait_until(lambda: is_served("/theirs/file"), 60, "Hadoop's router serves the change")
        assert routeradmin.main(["-rm", "/mine"], conf) == 0, capsys.readouterr().err
        assert [entry.source for entry in store.mount_entries()] == ["/theirs"]
        fs.delete(root, recursive=True)
