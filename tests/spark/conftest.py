"""What the tests of bulk work share: a directory for each, and a way to make and see trees."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.java import NoJava, find_java_home
from howdah.spark import Options, Outcome, distcp
from howdah.testing import MiniCluster
from howdah.testing.spark_cluster import SparkCluster
from howdah.testing.trees import Tree, make_tree, read_tree
from tests.support.hadoop.distcp import HadoopDistCp
from tests.support.hadoop.jars import NoHadoop
from tests.support.spark_archive import TRUSTING

_CACHE = Path(__file__).parents[2] / ".cache"
_PROGRAM = Path(__file__).with_name("RunDistCp.java")


@dataclass
class Bench:
    """A cluster with a directory of the test's own, and a Spark."""

    spark: Any
    cluster: MiniCluster
    fs: HdfsFileSystem
    root: str

    def uri(self, name: str) -> str:
        return f"{self.cluster.uri}{self.root}/{name}"

    def path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def make(self, name: str, tree: Tree) -> None:
        make_tree(self.fs, self.path(name), tree)

    def make_on(self, name: str, nodes: list[str], count: int) -> None:
        """A directory of files, each with its one replica on one of the nodes in turn."""
        for number in range(count):
            node = nodes[number % len(nodes)]
            path = f"{self.path(name)}/{number:03}"
            with self.fs.create(path, replication=1, favored_nodes=[node]) as out:
                out.write(b"%d" % number * 1000)

    @property
    def nodes(self) -> list[str]:
        """The datanodes, by the addresses of their data."""
        processes = self.cluster.processes
        return [each.addresses["data"] for each in processes if "data" in each.addresses]

    def tree(self, name: str) -> Tree:
        return read_tree(self.fs, self.path(name))

    def copy(self, sources: str | list[str], target: str, **options: Any) -> Outcome:
        """`distcp` between names of the test's directory, unless they are URIs."""
        given = [sources] if isinstance(sources, str) else sources
        return distcp(
            self.spark,
            [self._located(each) for each in given],
            self._located(target),
            options=Options(**options),
            conf=self.cluster.conf,
        )

    def _located(self, name: str) -> str:
        return name if "://" in name else self.uri(name)


@pytest.fixture
def bench(
    spark: Any, howdah_cluster: MiniCluster, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    yield from _benches(spark, howdah_cluster, request)


@pytest.fixture
def ground(howdah_cluster: MiniCluster, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench without a Spark, for jobs in processes of their own."""
    yield from _benches(None, howdah_cluster, request)


def _benches(spark: Any, cluster: MiniCluster, request: pytest.FixtureRequest) -> Iterator[Bench]:
    name = re.sub(r"\W", "_", request.node.name)
    with cluster.connect() as fs:
        root = f"/distcp/{name}"
        fs.mkdirs(root)
        # The trash would make it for nobody but the one who deletes first.
        fs.mkdirs("/user")
        yield Bench(spark, cluster, fs, root)


@pytest.fixture
def run_cli(howdah_cluster: MiniCluster, spark: Any) -> Callable[..., int]:
    """`howdah distcp …` in this process, with the Spark that is there."""
    from howdah.cli import distcp as command

    def run(*words: str) -> int:
        return command.main(list(words), howdah_cluster.conf)

    return run


@pytest.fixture(scope="session")
def java(
    howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HadoopDistCp]:
    """Hadoop's DistCp in one process for all; its default filesystem is our cluster."""
    scratch = tmp_path_factory.mktemp("hadoop")
    try:
        process = HadoopDistCp(
            _PROGRAM, howdah_cluster.conf_dir, _CACHE, scratch, memory="512m", quick_start=True
        )
    except (NoHadoop, NoJava) as error:
        pytest.skip(error.message)
    with process:
        yield process


@pytest.fixture(scope="session")
def spark_cluster(
    howdah_cluster: MiniCluster, spark_archive: Path | None
) -> Iterator[SparkCluster]:
    """A standalone Spark of two workers, on the hosts of the first two datanodes.

    Jobs on it are processes of their own (`submit`), which need their time to start:
    a test has one or two of them.
    """
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        find_java_home()
    except NoJava as error:
        pytest.skip(str(error))
    nodes = [howdah_cluster.process(f"datanode{number}") for number in range(2)]
    hosts = [node.addresses["data"].partition(":")[0] for node in nodes]
    options = TRUSTING.split()
    if spark_archive:
        options.append(f"-XX:SharedArchiveFile={spark_archive}")
    # Each executor forks its Python workers from one process that has imported what they need.
    settings = {"spark.sql.shuffle.partitions": "2"}
    if _is_howdah_installed():
        settings["spark.python.daemon.module"] = "tests.support.spark_daemon"
        settings["spark.executorEnv.PYTHONPATH"] = str(Path(__file__).parents[2])
    with SparkCluster(hosts, settings=settings, java_options=options) as cluster:
        yield cluster


def _is_howdah_installed() -> bool:
    """Whether an executor, which gets no PYTHONPATH of ours, finds howdah before it is sent."""
    ask = [sys.executable, "-P", "-c", "import howdah"]
    return subprocess.run(ask, capture_output=True, env={}, check=False).returncode == 0
