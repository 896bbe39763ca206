"""Hadoop's own client of S3, and Spark on it, through `howdah s3`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.fs.api import FileSystem
from howdah.java import NoJava, find_java_home
from howdah.testing import MiniCluster
from tests.support.hadoop.jars import NoHadoop, hadoop_s3a_class_path
from tests.support.s3_gateway import Door, before
from tests.support.s3a_job import PARTS, ROWS

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
BUCKET = "s3a"
DATA = os.urandom(12 << 20)


@pytest.fixture(scope="module")
def jars() -> str:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        find_java_home()
        return hadoop_s3a_class_path(ROOT / ".cache")
    except (NoJava, NoHadoop) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1) as found:
        yield found


@pytest.fixture(scope="module")
def files(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as found:
        found.mkdirs("/s3")
        found.set_permission("/s3", 0o1777)
        yield found


@pytest.fixture(scope="module")
def door(cluster: MiniCluster, files: FileSystem) -> Iterator[Door]:
    with before(cluster, "ann") as found:
        found.client().create_bucket(Bucket=BUCKET)
        yield found


def test_spark_and_the_shell_of_hadoop(jars: str, door: Door, files: FileSystem) -> None:
    files.write_bytes(f"/s3/{BUCKET}/shell-source/large", DATA)
    job = [sys.executable, "-m", "tests.support.s3a_job", jars, door.url]
    done = subprocess.run(
        [*job, door.access_key, door.secret_key, BUCKET],
        env={**os.environ, "JAVA_HOME": str(find_java_home()), "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["tables"] == {"rows": 2 * ROWS, "rows of one": 2 * len(range(1, ROWS, PARTS))}
    assert found["committed"] == ROWS
    assert found["shell"] == [0, 0, 0, 0, 1, 0, 0, 0]
    # HDFS has the same, and nothing of what was under way.
    place = f"/s3/{BUCKET}"
    names = {status.name for status in files.list_status(f"{place}/spark/t")}
    assert names == {"_SUCCESS", *(f"k={number}" for number in range(PARTS))}
    parts = [status for status in files.list_status(f"{place}/magic") if status.name != "_SUCCESS"]
    assert sum(files.read_bytes(part.path).count(b"\n") for part in parts) == ROWS
    assert files.read_bytes(f"{place}/shell/moved/large") == DATA
    assert {status.name for status in files.list_status(f"{place}/shell/moved")} == {
        "empty",
        "large",
    }
    for name in ("objects", "uploads"):
        staging = f"{place}/.howdah-s3/ann/{name}"
        assert not files.exists(staging) or files.list_status(staging) == []
