"""`distcp` on a cluster of Spark, when processes die in the middle of a copy."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from howdah.spark.staging import is_staging
from howdah.testing.spark_cluster import SparkCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

MEBIBYTE = 1 << 20
LONG_S = 90.0


def has_begun_to_copy(ground: Any, name: str) -> bool:
    """Whether a file is being written in the staging directory of a target."""
    path = ground.path(name)
    if not ground.fs.exists(path):
        return False
    staging = [each.path for each in ground.fs.list_status(path) if is_staging(each.name)]
    return any(files for top in staging for _, _, files in ground.fs.walk(top))


@pytest.mark.req("OS-065")
def test_copy_outlives_an_executor_that_is_killed(ground: Any, spark_cluster: SparkCluster) -> None:
    tree = {str(number): os.urandom(MEBIBYTE) for number in range(8)}
    ground.make("src", tree)
    driver = spark_cluster.submit(
        *("distcp", "--master", spark_cluster.master, "--json"),
        *("-m", "4", "-bandwidth", "1", ground.uri("src"), ground.uri("dst")),
    )
    wait_until(lambda: has_begun_to_copy(ground, "dst"), LONG_S)
    victim = spark_cluster.kill_executor()
    assert driver.wait() == 0, spark_cluster.driver_log(driver)
    assert victim.host in spark_cluster.hosts
    assert ground.tree("dst") == tree
    counted = json.loads(spark_cluster.driver_log(driver).splitlines()[-1])["counters"]
    # What the dead one had finished is not copied, nor counted, again.
    assert counted["files_copied"] + counted["files_skipped"] == len(tree)
