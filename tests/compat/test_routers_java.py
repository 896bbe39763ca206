"""Strangers who know several routers as the namenodes of one nameservice, `hdfs://fed`.

The configuration is the one under which hdfs-native tests itself: two nameservices with a router
each, the root of the mount table in the first one, and the second one below a directory.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.registry import connect
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from howdah.testing.spark import java_fs_shell
from tests.support.failover.java_client import JavaClient
from tests.support.hadoop.mixed import MixedCluster
from tests.support.routers import Routers
from tests.support.routing.sources import calls_from

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(300)]

PROGRAM = Path(__file__).with_name("FailoverClient.java")
HA = "org.apache.hadoop.hdfs.server.namenode.ha"
PROVIDER = f"{HA}.ConfiguredFailoverProxyProvider"
OBSERVER_PROVIDER = f"{HA}.RouterObserverReadConfiguredFailoverProxyProvider"
NAMES = ("r0", "r1")


@dataclass
class Federation:
    """Both routers, and what their clients are configured with; a `Cluster` of testing.spark."""

    routers: Routers
    dir: Path
    uri: str = "hdfs://fed"

    def values(self, provider: str = PROVIDER) -> dict[str, str]:
        places = {
            f"dfs.namenode.rpc-address.fed.{name}": self.routers.addresses[name] for name in NAMES
        }
        return {
            "fs.defaultFS": self.uri,
            "dfs.nameservices": "ns0,ns1,fed",
            "dfs.ha.namenodes.fed": ",".join(NAMES),
            **places,
            "dfs.client.failover.proxy.provider.fed": provider,
            "dfs.client.failover.random.order": "true",
            "dfs.client.failover.sleep.base.millis": "50",
            "dfs.client.failover.sleep.max.millis": "500",
            "dfs.replication": "1",
        }

    @property
    def conf(self) -> Configuration:
        return Configuration(self.values())

    @property
    def conf_dir(self) -> Path:
        """As files, for Java."""
        found = self.dir / "client-conf"
        found.mkdir(exist_ok=True)
        (found / "core-site.xml").write_text(self.conf.to_xml())
        (found / "hdfs-site.xml").write_text(Configuration({}).to_xml())
        return found

    def kill_and_restart(self, name: str) -> None:
        """It comes back at the address that clients know."""
        self.routers.kill(name)
        self.routers.values["dfs.federation.router.rpc-address"] = self.routers.addresses[name]
        self.routers.start(name)


@pytest.fixture(scope="module")
def federation(
    howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Federation]:
    directory = tmp_path_factory.mktemp("federation")
    store = store_at(directory / "store")
    store.prepare()
    root = "/routers-java"
    store.add_mount(MountEntry("/", (Destination("ns0", f"{root}/0"),)))
    store.add_mount(MountEntry("/ns1", (Destination("ns1", f"{root}/1"),)))
    with (
        MiniCluster(datanodes=1, conf={"dfs.replication": 1}) as second,
        Routers(directory, {"ns0": howdah_cluster, "ns1": second}) as routers,
        howdah_cluster.connect() as one,
        second.connect() as two,
    ):
        one.mkdirs(f"{root}/0")
        two.mkdirs(f"{root}/1")
        for name in NAMES:
            routers.start(name)
        yield Federation(routers, directory)
        one.delete(root, recursive=True)


@pytest.mark.parametrize("user", [None, "alice"], ids=["the router's user", "another user"])
def test_hadoops_namenode_is_told_where_a_routers_clients_are(
    hadoop_classpath: str, tmp_path: Path, user: str | None
) -> None:
    me = getpass.getuser()
    conf = {
        "dfs.namenode.ip-proxy-users": me,
        f"hadoop.proxyuser.{me}.users": "alice",
        f"hadoop.proxyuser.{me}.hosts": "*",
        "dfs.permissions.enabled": "false",
    }
    store = store_at(tmp_path / "store")
    store.prepare()
    store.add_mount(MountEntry("/", (Destination("ns0", "/"),)))
    with (
        MixedCluster(hadoop_classpath, ["namenode"], namenodes=1, conf=conf) as cluster,
        Routers(tmp_path, {"ns0": cluster}, {"dfs.namenode.ip-proxy-users": me}) as routers,
    ):
        routers.start()
        with (
            cluster.connect() as direct,
            calls_from("127.0.0.12"),
            routers.connect(user=user) as fs,
            fs.create("/open", replication=1) as out,
        ):
            out.write(b"from elsewhere")
            out.hflush()
            assert isinstance(direct, HdfsFileSystem)
            (found,) = direct.administration.open_files("/")
            assert (found.path, found.client_machine) == ("/open", "127.0.0.12")
            assert direct.get_file_status("/open").owner == (user or me)


@pytest.fixture
def fs(federation: Federation) -> Iterator[FileSystem]:
    with connect(federation.uri, conf=federation.conf) as found:
        yield found


@pytest.fixture(params=[PROVIDER, OBSERVER_PROVIDER], ids=["failover", "observers"])
def rust(federation: Federation, request: pytest.FixtureRequest) -> Callable[[], Any]:
    """Makes clients."""
    hdfs_native = pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    values = federation.values(request.param)
    return lambda: hdfs_native.Client(federation.uri, values)


@pytest.mark.parametrize("top", ["", "/ns1"])
def test_the_rust_client_has_its_own_configuration_of_routers(
    rust: Callable[[], Any], fs: FileSystem, top: str
) -> None:
    data = os.urandom(3_000_000)
    client = rust()
    client.mkdirs(f"{top}/rust", 0o755, True)
    with client.create(f"{top}/rust/file") as file:
        file.write(data)
    with client.append(f"{top}/rust/file") as file:
        file.write(b"more")
    assert fs.read_bytes(f"{top}/rust/file") == data + b"more"
    with client.read(f"{top}/rust/file") as file:
        assert file.read() == data + b"more"
    client.rename(f"{top}/rust/file", f"{top}/rust/moved", False)
    assert [each.path for each in client.list_status(f"{top}/rust")] == [f"{top}/rust/moved"]
    client.set_permission(f"{top}/rust/moved", 0o640)
    assert client.get_file_info(f"{top}/rust/moved").permission == 0o640
    assert client.get_content_summary(f"{top}/rust").length == len(data) + 4
    assert "ns1" in [each.path.rpartition("/")[2] for each in client.list_status("/")]
    assert client.delete(f"{top}/rust", True)
    assert not fs.exists(f"{top}/rust")


def test_the_rust_client_goes_on_when_a_router_is_killed(
    rust: Callable[[], Any], federation: Federation, fs: FileSystem
) -> None:
    piece = bytes(range(256)) * 1024
    client = rust()
    with client.create("/ns1/over-routers") as file:
        for name in NAMES:
            file.write(piece * 4)
            federation.kill_and_restart(name)
            assert client.get_file_info("/ns1/over-routers").path == "/ns1/over-routers"
        file.write(piece * 4)
    assert fs.read_bytes("/ns1/over-routers") == piece * 12
    assert client.delete("/ns1/over-routers", False)


def test_javas_client_goes_on_when_a_router_is_killed(
    federation: Federation, fs: FileSystem, tmp_path: Path
) -> None:
    client = JavaClient(federation, PROGRAM, f"{federation.uri}/ns1/java", tmp_path / "output")
    try:
        client.wait_for(3)
        for name in NAMES:
            federation.kill_and_restart(name)
            client.wait_for(5)
        client.finish()
    finally:
        client.kill()
    names = {status.name for status in fs.list_status("/ns1/java")}
    assert names == {"log", *(f"file-{number}" for number in range(client.rounds))}
    assert fs.delete("/ns1/java", recursive=True)


def test_javas_shell_takes_the_logical_name_of_routers(
    federation: Federation, fs: FileSystem
) -> None:
    fs.write_bytes("/ns1/shell/file", b"content")
    federation.routers.kill("r0")
    assert java_fs_shell(federation, "-cat", "hdfs://fed/ns1/shell/file").stdout == "content"
    assert java_fs_shell(federation, "-ls", "-C", "/ns1/shell").stdout == "/ns1/shell/file\n"
    federation.routers.values["dfs.federation.router.rpc-address"] = federation.routers.addresses[
        "r0"
    ]
    federation.routers.start("r0")
