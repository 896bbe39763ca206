"""What the tests against strangers share: Hadoop's own jars, and one Spark.

Where they cannot be had (see `howdah.testing.hadoop`), or there is no Java, the
tests that need them are skipped and say why.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.testing import MiniCluster
from howdah.testing.hadoop import NoHadoop, hadoop_class_path
from howdah.testing.java import NoJava, find_java_home

_CACHE = Path(__file__).parents[2] / ".cache"
_RUN_TIMEOUT_S = 100


@pytest.fixture(scope="session")
def hadoop_classpath() -> str:
    """The class path of Hadoop's servers and tools, as `java -cp` takes it."""
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    try:
        return hadoop_class_path(_CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def hadoop_run(hadoop_classpath: str) -> Callable[..., str]:
    """Runs a main class, or a program from its source, with Hadoop's jars; checks
    that it succeeds, and gives back what it printed."""

    def run(main: str | Path, *arguments: str | Path, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["java", "-Xmx256m", "-cp", hadoop_classpath, *map(str, (main, *arguments))],
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            cwd=cwd,
            check=False,
        )
        assert done.returncode == 0, f"{main} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def spark(howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark, and with it one JVM, for all tests; its default filesystem is the cluster's.

    Hadoop's client in it is the one that PySpark ships, configured by nothing but
    what a user would set.
    """
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from pyspark.sql import SparkSession

    try:
        java_home = find_java_home()
    except NoJava as error:
        pytest.skip(str(error))
    scratch = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.local.dir": str(scratch),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{howdah_cluster.uri}/warehouse",
        "spark.sql.session.timeZone": "UTC",
        # Leave no Derby behind in the working directory.
        "spark.sql.catalogImplementation": "in-memory",
        **{f"spark.hadoop.{name}": value for name, value in howdah_cluster.conf.items()},
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_HOME", str(java_home))
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME", "SPARK_HOME"):
            environment.delenv(name, raising=False)
        builder = SparkSession.builder.master("local[2]").appName("howdah")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
