"""A job of stock Spark on a logical name, with a failover in its middle."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from howdah.fs.api import FileSystem
from howdah.spark import distcp, namespace, verify
from howdah.testing import MiniCluster
from howdah.testing.trees import Tree, make_tree, read_tree
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults

pytestmark = pytest.mark.timeout(240)

ROWS = 200_000
TASKS = 10


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, namenodes=3) as cluster:
        yield cluster


@pytest.fixture
def knowing(spark: Any, cluster: MiniCluster) -> Iterator[Any]:
    """Spark, told what is behind the logical name."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    values = {name: value for name, value in cluster.conf.items() if name != "fs.defaultFS"}
    before = {name: conf.get(name) for name in values}
    for name, value in values.items():
        conf.set(name, value)
    yield spark
    for name, value in before.items():
        conf.unset(name) if value is None else conf.set(name, value)


def when_there(fs: FileSystem, path: str, cluster: MiniCluster, how: server_faults.Trouble) -> None:
    wait_until(lambda: fs.exists(path), 60)
    how(cluster)


@pytest.mark.req("FS-048", "FS-057")
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(server_faults.kill_active, id="killed"),
        pytest.param(server_faults.fail_over, id="graceful", marks=pytest.mark.torture),
    ],
)
def test_a_job_that_is_writing_goes_on(
    knowing: Any, cluster: MiniCluster, how: server_faults.Trouble
) -> None:
    spark = knowing
    target = f"/job-{how.__name__}"
    with cluster.connect() as fs:
        before = cluster.active()
        meanwhile = threading.Thread(
            target=when_there, args=(fs, f"{target}/_temporary", cluster, how)
        )
        meanwhile.start()
        numbers = spark.range(0, ROWS, 1, TASKS).selectExpr("id", "id % 7 as part", "id * 3 as x")
        numbers.write.partitionBy("part").parquet(f"{cluster.uri}{target}")
        meanwhile.join(60)
        assert cluster.active() != before
        table = spark.read.parquet(f"{cluster.uri}{target}")
        assert table.count() == ROWS
        assert table.agg({"x": "sum"}).first()[0] == 3 * ROWS * (ROWS - 1) // 2
        assert fs.exists(f"{target}/_SUCCESS")
        assert not fs.exists(f"{target}/_temporary")


@contextmanager
def failing_over(spark: Any, cluster: MiniCluster, how: server_faults.Trouble) -> Iterator[None]:
    """The active namenode changes while Spark runs what is done meanwhile."""
    tracker = spark.sparkContext.statusTracker()
    before = cluster.active()
    while_it_runs: list[bool] = []

    def work() -> None:
        wait_until(tracker.getActiveJobsIds, 60, "Spark runs a job")
        how(cluster)
        while_it_runs.append(True)

    meanwhile = threading.Thread(target=work)
    meanwhile.start()
    try:
        yield
    finally:
        meanwhile.join(120)
    assert while_it_runs
    assert cluster.active() != before


@pytest.mark.req("FS-057", "FS-075")
def test_bulk_jobs_of_our_own_go_on(spark: Any, cluster: MiniCluster) -> None:
    """Spark itself is told nothing of the logical name: tasks have the configuration with them."""
    tree: Tree = {f"d{n % 5}/f{n}": bytes([n]) * (n * 5000 + 1) for n in range(60)}
    directories = {f"d{n}" for n in range(5)}
    source, target = f"{cluster.uri}/source", f"{cluster.uri}/copied"
    with cluster.connect() as fs:
        make_tree(fs, "/source", tree)
        with failing_over(spark, cluster, server_faults.kill_active):
            done = distcp(spark, source, target, conf=cluster.conf)
        assert done.counters.files_copied == len(tree)
        assert read_tree(fs, "/copied") == read_tree(fs, "/source")
    with failing_over(spark, cluster, server_faults.kill_active):
        with verify(spark, target, conf=cluster.conf) as found:
            assert found.sums.files == len(tree)
            assert found.sums.is_healthy
    with failing_over(spark, cluster, server_faults.fail_over):
        rows = namespace(spark, target, conf=cluster.conf)
        assert rows.count() == 1 + len(directories) + len(tree)
    rows.unpersist()
