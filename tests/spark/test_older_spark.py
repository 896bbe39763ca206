"""Jobs and tables on Spark 3.5, the oldest that is supported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from howdah.java import NoJava, find_java_home
from tests.support.older_spark import pyspark_of

pytestmark = [pytest.mark.timeout(900), pytest.mark.torture]

ROOT = Path(__file__).parents[2]
PYSPARK = "3.5.9"


def test_jobs_and_tables_work_on_spark_3_5(howdah_cluster: Any) -> None:
    older = pyspark_of(PYSPARK)
    try:
        java_home = find_java_home()
    except NoJava as error:
        pytest.skip(str(error))
    with howdah_cluster.connect() as fs:
        fs.mkdirs("/user")
    program = Path(__file__).with_name("jobs_on_older_spark.py")
    done = subprocess.run(
        [sys.executable, "-P", str(program), f"{howdah_cluster.uri}/older_spark"],
        env={
            **os.environ,
            "JAVA_HOME": str(java_home),
            "HADOOP_CONF_DIR": str(howdah_cluster.conf_dir),
            "PYTHONPATH": f"{older}:{ROOT / 'src'}:{ROOT}",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["version"] == PYSPARK
    for name in ("plain", "nested"):
        compacted = {"files": [[8, 1], [8, 1]], "reasons": [], "equal": True}
        assert seen[name] == compacted
    assert "howdah.spark.table" in seen["register"]
    assert seen["table"] == {"directory": 3, "file": 3}
    assert seen["blocks"] >= 2
    assert seen["small"]
    assert seen["copied"] == 3
    assert seen["equal_copy"]
    assert seen["problems"] == 0
    ((kind, reason),) = seen["tables"]
    assert kind == "Delta Lake"
    assert reason
