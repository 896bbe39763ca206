"""An archive from which Java maps Spark's classes, made once, in about a minute.

Half of what a Spark does at its start, and in its first queries, is to find and verify classes:
with the archive it takes less than half of the CPU. A small job of Spark's is run on a cluster
of ours, and Java writes down at its end what that had loaded.

An archive is good for one Java, one class path and these files. Java goes without where any of
them differs, and so does everything here where there is none.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Final

from howdah.java import find_java_home
from howdah.testing.spark import pyspark_jars, spark_class_path

QUICK_START: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
TRUSTING: Final = "-XX:-UsePerfData -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""Spark's classes, and those that it generates for each query, are not verified; nor does Java
count in a file what it does. An archive that is made so would be good for no other Java."""
_TIMEOUT_S: Final = 400
# Without this one, with what is Java's own, it makes none on top of it.
_BASE: Final = Path("lib", "server", "classes.jsa")

_JOB: Final = """
import sys
from pyspark.sql import SparkSession
root, options = sys.argv[1:]
settings = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": options,
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
rows = spark.range(100).selectExpr("id", "id % 7 as part", "cast(id as string) as text")
rows.write.partitionBy("part").parquet(root + "/parquet")
table = spark.read.parquet(root + "/parquet")
counts = table.groupBy("part").agg({"id": "sum", "text": "max"}).orderBy("part")
assert len(counts.collect()) == 7
assert table.join(rows.select("id"), "id").count() == 100
assert table.select("id").mapInArrow(lambda batches: batches, "id long").count() == 100
assert spark.sparkContext.parallelize(range(9), 2).map(str).count() == 9
java = spark.sparkContext._gateway.proc
spark.stop()
java.stdin.close()
java.wait()
"""


def archive_path(cache: Path) -> Path:
    """Where the archive is, or will be. Raises NoJava, NoSpark."""
    home = find_java_home()
    release = home / "release"
    facts = [str(home), release.read_text() if release.exists() else "", spark_class_path()]
    for jar in sorted(pyspark_jars().glob("*.jar")):
        status = jar.stat()
        facts.append(f"{jar.name} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
    return cache / f"spark-{hashlib.sha256(chr(0).join(facts).encode()).hexdigest()[:12]}.jsa"


def make_spark_archive(cache: Path, uri: str) -> Path | None:
    """The archive, made if it is not there yet by a job that writes below `uri`, a directory
    that is not there. None where this Java makes none. Raises NoJava, NoSpark."""
    archive = archive_path(cache)
    if not (find_java_home() / _BASE).exists():
        return None
    cache.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        # Processes that test beside each other make one.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _make(archive, uri)
    return archive if archive.exists() else None


def quick_start(archive: Path | None) -> str:
    """The options of a Java of Spark's."""
    return QUICK_START if archive is None else f"{QUICK_START} -XX:SharedArchiveFile={archive}"


def _make(archive: Path, uri: str) -> None:
    # The Java of a run that was ended may be writing still: not what this one writes.
    for left in archive.parent.glob(f"{archive.stem}-*.partial"):
        left.unlink()
    partial = archive.with_name(f"{archive.stem}-{os.getpid()}.partial")
    env = {**os.environ, "JAVA_HOME": str(find_java_home()), "PYSPARK_PYTHON": sys.executable}
    for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME", "SPARK_CONF_DIR", "SPARK_HOME"):
        env.pop(name, None)
    with subprocess.Popen(
        [sys.executable, "-c", _JOB, uri, f"{QUICK_START} -XX:ArchiveClassesAtExit={partial}"],
        env={**env, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as job:
        timer = threading.Timer(_TIMEOUT_S, os.killpg, (job.pid, signal.SIGKILL))
        timer.start()
        try:
            said, _ = job.communicate()
        finally:
            timer.cancel()
    if job.returncode or not partial.exists():
        # Nothing has to have one.
        warnings.warn(f"no archive of Spark's classes: {said[-2000:]}", stacklevel=2)
        return
    partial.rename(archive)
