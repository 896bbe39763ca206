"""Spark's event logs and write-ahead logs in a directory with an erasure coding policy.

Spark's writers sync what they write, and an erasure-coded stream has no syncs. Java's says so and
does nothing, and Spark asks for a replicated file where it needs one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.torture]

POLICY = "XOR-2-1-1024k"
PROGRAM = """
import sys
from pyspark.sql import SparkSession

root, is_coded = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.eventLog.enabled", "true")
    .config("spark.eventLog.dir", f"{root}/events")
    .config("spark.eventLog.erasureCoding.enabled", is_coded)
    .getOrCreate()
)
spark.range(1000).repartition(3).write.parquet(f"{root}/in-{is_coded}")
stream = (
    spark.readStream.schema("id long").parquet(f"{root}/in-{is_coded}")
    .writeStream.format("parquet")
    .option("checkpointLocation", f"{root}/checkpoint-{is_coded}")
    .trigger(availableNow=True)
    .start(f"{root}/out-{is_coded}")
)
stream.awaitTermination()
assert spark.read.parquet(f"{root}/out-{is_coded}").count() == 1000
spark.stop()
"""


@pytest.fixture
def root(howdah_cluster: MiniCluster) -> Iterator[str]:
    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.client.namenode.enable_erasure_coding_policy(POLICY)
        fs.mkdirs("/coded-logs/events")
        fs.set_erasure_coding_policy("/coded-logs", POLICY)
        yield "/coded-logs"
        fs.delete("/coded-logs", recursive=True)
        fs.client.namenode.disable_erasure_coding_policy(POLICY)


def test_spark_keeps_its_logs_in_a_coded_directory(howdah_cluster: MiniCluster, root: str) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    for is_coded in ("false", "true"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, f"{howdah_cluster.uri}{root}", is_coded],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=os.environ | {"HADOOP_CONF_DIR": str(howdah_cluster.conf_dir)},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        with howdah_cluster.connect() as fs:
            logs = fs.list_status(f"{root}/events")
            (log,) = [each for each in logs if each.is_erasure_coded is (is_coded == "true")]
            with fs.open(log.path) as stream:
                content = stream.read()
            assert content.count(b"SparkListenerApplicationEnd") == 1
            batches = fs.list_status(f"{root}/checkpoint-{is_coded}/commits")
            assert {status.name for status in batches} == {"0"}
            assert all(
                status.is_erasure_coded
                for status in fs.list_status(f"{root}/out-{is_coded}")
                if status.is_file
            )
