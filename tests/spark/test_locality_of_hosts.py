"""Tasks of jobs on a Spark of several hosts run where replicas are: of any job that reads, of
copies and of `verify`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from howdah.testing.spark_cluster import SparkCluster
from howdah.testing.trees import read_tree

pytestmark = pytest.mark.timeout(240)

FILES = 16
"""More than one task's on each host, with one replica each."""

DRIVER = """
import sys
from pyspark.sql import functions as F
from howdah.cli.spark_options import session_of
from howdah.config import Configuration
from howdah.spark import distcp, verify
from howdah.spark.copy_job import partitions
from howdah.spark.verification import job as verifying

root, conf = sys.argv[1], Configuration.load()
verifying.FILES_A_PART = partitions.FILES_A_PART = 4
with session_of(sys.argv[2], None) as spark:
    say = spark.sparkContext.setJobDescription
    say("stock")
    spark.conf.set("spark.sql.files.openCostInBytes", 1 << 40)
    assert spark.read.text(root + "/src").agg(F.sum(F.length("value"))).head()[0] > 0
    spark.conf.unset("spark.sql.files.openCostInBytes")
    say("distcp")
    outcome = distcp(spark, root + "/src", root + "/dst", conf=conf)
    assert not outcome.notes, outcome.notes
    say("verify")
    with verify(spark, root + "/src", conf=conf) as found:
        assert not found.sums.notes, found.sums.notes
        assert found.sums.replicas == {"sound": int(sys.argv[3])}, found.sums
"""


@dataclass(frozen=True)
class Ran:
    """One task that read files: for which job, on which host, and how near."""

    job: str
    host: str
    locality: str


def tasks_of(log: Path) -> list[Ran]:
    """What Spark's event log says of the tasks that read files."""
    jobs: dict[int, str] = {}
    found = []
    for line in log.read_text().splitlines():
        event = json.loads(line)
        match event["Event"]:
            case "SparkListenerStageSubmitted":
                names = {rdd["Name"] for rdd in event["Stage Info"]["RDD Info"]}
                if "FileScanRDD" in names:
                    said = event["Properties"]["spark.job.description"]
                    jobs[event["Stage Info"]["Stage ID"]] = said
            case "SparkListenerTaskEnd" if event["Stage ID"] in jobs:
                info = event["Task Info"]
                found.append(Ran(jobs[event["Stage ID"]], info["Host"], info["Locality"]))
    return found


@pytest.mark.req("FS-158")
def test_tasks_run_on_the_nodes_with_the_replicas(
    ground: Any, spark_cluster: SparkCluster, tmp_path: Path
) -> None:
    near = [node for node in ground.nodes if node.partition(":")[0] in spark_cluster.hosts]
    ground.make_on("src", near, FILES)
    # Long enough for a loaded machine: jobs wait for both executors, tasks for their node.
    settings = {
        "spark.cores.max": "4",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": tmp_path.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.locality.wait": "120s",
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    driver = subprocess.run(
        [sys.executable, "-c", DRIVER, ground.uri(""), spark_cluster.master, str(FILES)],
        env={
            **spark_cluster.environment,
            "HADOOP_CONF_DIR": str(ground.cluster.conf_dir),
            "PYSPARK_SUBMIT_ARGS": " ".join([*words, "pyspark-shell"]),
        },
        capture_output=True,
        text=True,
    )
    assert driver.returncode == 0, driver.stderr[-4000:]
    assert read_tree(ground.fs, ground.path("dst")) == ground.tree("src")
    (log,) = tmp_path.iterdir()
    tasks = tasks_of(log)
    for job in ("stock", "distcp", "verify"):
        of_job = [task for task in tasks if task.job == job]
        assert {task.host for task in of_job} == set(spark_cluster.hosts)
        assert {task.locality for task in of_job} == {"NODE_LOCAL"}, of_job
