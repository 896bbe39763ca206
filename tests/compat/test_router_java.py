"""Strangers at a router: Hadoop's client, Spark, hdfs-native, and Hadoop's `dfsrouteradmin`."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.cli.router import admin as routeradmin
from howdah.fs.api import FileSystem
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from howdah.router.state.table.ordering import hashed
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from tests.support.hadoop.jars import NoHadoop, hadoop_router_class_path
from tests.support.hadoop.programs import hadoop_program
from tests.support.routers import Routers

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(400)]

_CACHE = Path(__file__).parents[2] / ".cache"
_RUN_TIMEOUT_S = 100


@pytest.fixture(scope="module")
def routers(
    howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Routers]:
    """Two nameservices that are one cluster: a client cannot tell."""
    directory = tmp_path_factory.mktemp("routers")
    root = f"/strangers-{uuid.uuid4().hex[:8]}"
    east, west = Destination("east", f"{root}/e"), Destination("west", f"{root}/w")
    store = store_at(directory / "store")
    store.prepare()
    store.add_mount(MountEntry("/east", (east,)))
    store.add_mount(MountEntry("/west", (west,)))
    both = Destination("east", f"{root}/b1"), Destination("west", f"{root}/b2")
    store.add_mount(MountEntry("/both", both, Order.HASH_ALL))
    clusters = {"east": howdah_cluster, "west": howdah_cluster}
    conf = {"dfs.federation.router.quota.enable": "true"}
    with Routers(directory, clusters, conf) as found, howdah_cluster.connect() as direct:
        for place in (east, west, *both):
            direct.mkdirs(place.path)
        found.start()
        yield found
        direct.delete(root, recursive=True)


@pytest.fixture(scope="module")
def fs(routers: Routers) -> Iterator[FileSystem]:
    with routers.connect() as found:
        yield found


@pytest.fixture(scope="module")
def shell(spark: Any, routers: Routers) -> Callable[..., int]:
    """Hadoop's FsShell in Spark's JVM, with the router as its default filesystem."""
    jvm = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    conf.set("fs.defaultFS", routers.uri())

    def run(*words: str) -> int:
        arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.String, len(words))
        for number, word in enumerate(words):
            arguments[number] = word
        return int(jvm.org.apache.hadoop.fs.FsShell(conf).run(arguments))

    return run


@pytest.mark.parametrize("mount", ["/east", "/both"])
def test_javas_shell_works_through_a_router(
    shell: Callable[..., int], fs: FileSystem, tmp_path: Path, mount: str
) -> None:
    local = tmp_path / "local"
    local.write_bytes(os.urandom(300_000))
    base = f"{mount}/java"
    assert shell("-mkdir", "-p", f"{base}/sub") == 0
    assert shell("-put", str(local), f"{base}/one") == 0
    assert fs.read_bytes(f"{base}/one") == local.read_bytes()
    assert shell("-appendToFile", str(local), f"{base}/one") == 0
    assert fs.read_bytes(f"{base}/one") == local.read_bytes() * 2
    assert shell("-cp", f"{base}/one", f"{base}/sub/two") == 0
    assert shell("-mv", f"{base}/sub/two", f"{base}/three") == 0
    assert shell("-chmod", "640", f"{base}/three") == 0
    assert fs.get_file_status(f"{base}/three").permission == 0o640
    assert shell("-setrep", "1", f"{base}/three") == 0
    assert shell("-touchz", f"{base}/empty") == 0
    assert shell("-get", f"{base}/three", str(tmp_path / "back")) == 0
    assert (tmp_path / "back").read_bytes() == local.read_bytes() * 2
    for words in (["-ls", "-R", "/"], ["-du", "-s", base], ["-count", "-q", base], ["-df", "/"]):
        assert shell(*words) == 0, words
    assert shell("-checksum", f"{base}/one") == 0
    assert shell("-test", "-d", "/") == 0
    assert shell("-rm", "-r", "-skipTrash", base) == 0
    assert not fs.exists(base)


def test_java_is_refused_what_a_router_refuses(shell: Callable[..., int], fs: FileSystem) -> None:
    fs.write_bytes("/east/stays", b"s")
    assert shell("-mv", "/east/stays", "/west/stays") == 1
    assert shell("-rm", "-r", "-skipTrash", "/west") == 1
    assert shell("-ls", "/nowhere") == 1
    assert fs.exists("/east/stays")
    assert fs.exists("/west")


def test_spark_writes_and_reads_through_a_router(
    spark: Any, routers: Routers, fs: FileSystem
) -> None:
    path = f"{routers.uri()}/both/table"
    frame = spark.range(1000).selectExpr("id", "id % 4 as part").repartition(4)
    frame.write.partitionBy("part").parquet(path)
    assert fs.exists("/both/table/_SUCCESS")
    assert spark.read.parquet(path).where("part = 3").count() == 250
    frame.write.mode("overwrite").parquet(path)
    assert spark.read.parquet(path).count() == 1000
    frame.write.mode("append").parquet(path)
    assert spark.read.parquet(path).count() == 2000
    assert fs.delete("/both/table", recursive=True)


@pytest.mark.req("FS-241")
def test_java_manages_caches_through_a_router(spark: Any, routers: Routers) -> None:
    java = spark._jvm.org.apache.hadoop
    conf = java.conf.Configuration(spark._jsc.hadoopConfiguration())
    path = java.fs.Path(f"{routers.uri()}/")
    with_router = java.fs.FileSystem.newInstance(path.toUri(), conf)
    protocol = java.hdfs.protocol

    def wanted(name: str) -> Any:
        return protocol.CacheDirectiveInfo.Builder().setPath(java.fs.Path(name)).setPool("strange")

    with_router.addCachePool(protocol.CachePoolInfo("strange").setLimit(12345))
    made = [with_router.addCacheDirective(wanted(name).build()) for name in ("/east/c", "/west/c")]
    with_router.modifyCacheDirective(
        protocol.CacheDirectiveInfo.Builder().setId(made[0]).setReplication(2).build()
    )

    def listed() -> list[tuple[int, str, int]]:
        entries = with_router.listCacheDirectives(None)
        found = []
        while entries.hasNext():
            info = entries.next().getInfo()
            where = str(info.getPath().toUri().getPath())
            found.append((int(info.getId()), where, int(info.getReplication())))
        return sorted(found, key=lambda each: each[1])

    assert listed() == [(made[0], "/east/c", 2), (made[1], "/west/c", 1)]
    with_router.removeCacheDirective(made[0])
    assert listed() == [(made[1], "/west/c", 1)]
    with_router.removeCachePool("strange")
    pools = with_router.listCachePools()
    left = []
    while pools.hasNext():
        left.append(str(pools.next().getInfo().getPoolName()))
    assert "strange" not in left
    with_router.close()


def test_the_rust_client_works_through_a_router(routers: Routers, fs: FileSystem) -> None:
    hdfs_native = pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    client = hdfs_native.Client(routers.uri(), {"dfs.replication": "1"})
    data = os.urandom(300_000)
    client.mkdirs("/both/rust", 0o755, True)
    with client.create("/both/rust/file") as file:
        file.write(data)
    assert fs.read_bytes("/both/rust/file") == data
    with client.read("/both/rust/file") as file:
        assert file.read() == data
    assert [each.path for each in client.list_status("/both/rust")] == ["/both/rust/file"]
    client.rename("/both/rust/file", "/both/rust/moved", False)
    assert client.delete("/both/rust", True)


# -- dfsrouteradmin ------------------------------------------------------------------------

LINES = (
    "-ls /given",
    "-add /given/one east /g/1",
    "-add /given/two east,west /g/2 -order RANDOM -readonly -owner eve -group dev -mode 750",
    "-add /given/two east /g/3",
    "-ls /given",
    "-ls -d /given",
    "-update /given/one -readonly true",
    "-update /given/one west /g/9 -readonly false -order HASH_ALL",
    "-update /absent -readonly true",
    "-getDestination /given/one",
    "-setQuota /given/one -nsQuota 100 -ssQuota 1g",
    "-ls /given/one",
    "-clrQuota /given/one",
    "-setQuota /given/one -nsQuota -5",
    "-setStorageTypeQuota /given/one -storageType SSD 1073741824",
    "-setStorageTypeQuota /given/one -storageType SSD",
    "-setStorageTypeQuota /absent -storageType SSD 1073741824",
    "-ls /given/one",
    "-clrStorageTypeQuota /given/one",
    "-safemode get",
    "-safemode enter",
    "-safemode get",
    "-safemode leave",
    "-safemode maybe",
    "-nameservice disable west",
    "-getDisabledNameservices",
    "-nameservice enable west",
    "-nameservice enable west",
    "-nameservice disable north",
    "-refresh",
    "-addAll /given/all east /g/a -readonly , /given/any east,west /g/b -order RANDOM -owner eve",
    "-addAll /given/all east /g/a , /given/new west /g/c -mode 700",
    "-addAll /given/all east /g/a , /given/all west /g/b",
    "-ls -d /given",
    "-refreshSuperUserGroupsConfiguration",
    "-rm /given/all /given/any /given/new",
    "-rm /given/one /given/two",
    "-rm /given/one",
    "-ls /given",
    "-add /x",
)


@pytest.fixture(scope="module")
def router_jars(hadoop_classpath: str) -> str:
    try:
        return f"{hadoop_router_class_path(_CACHE)}{os.pathsep}{hadoop_classpath}"
    except NoHadoop as error:
        pytest.skip(error.message)


def _java(jars: str, directory: Path, program: str, *arguments: str) -> str:
    done = subprocess.run(
        [*hadoop_program(Path(__file__).with_name(program), jars, directory), *arguments],
        capture_output=True,
        text=True,
        timeout=_RUN_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hadoops_dfsrouteradmin_and_ours_say_the_same(
    routers: Routers, router_jars: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = routers.admin_conf()
    settings = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in conf.items()
    )
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{settings}</configuration>")
    lines = [f"dfsrouteradmin\t{line}".replace(" ", "\t") for line in LINES]
    answered = _java(router_jars, tmp_path, "AdminCommands.java", *lines)
    theirs = [part.split("\2") for part in answered.split("\1")[1:]]
    assert len(theirs) == len(LINES)
    differ = []
    for line, (code, said, complained) in zip(LINES, theirs, strict=True):
        capsys.readouterr()
        own_code = routeradmin.main(line.split(), conf)
        own = capsys.readouterr()
        told = [each for each in complained.splitlines() if not each.startswith("log4j:")]
        ours = own_code & 255, own.out.splitlines(), own.err.splitlines()[:1]
        said = said.replace("Usage: hdfs dfsrouteradmin ", "Usage: howdah routeradmin ")
        hadoops = int(code), said.splitlines(), told[:1]
        differ += [(line, ours, hadoops)] * (ours != hadoops)
    assert not differ


def test_the_hash_is_that_of_hadoops_router(router_jars: str, tmp_path: Path) -> None:
    paths = [f"/data/{number}/file{number}" for number in range(200)]
    answered = _java(router_jars, tmp_path, "ConsistentHash.java", *paths)
    assert answered.split() == [hashed(path, ("east", "west", "north")) for path in paths]
