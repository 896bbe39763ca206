"""An image as a DataFrame: the table `howdah.namespace` beside a viewer and Spark's CSV reader.

The image is that of `scale`, files of one block in directories of a hundred. Both sides end with
the twelve columns of Delimited in a Spark of `local[2]`, which throws them away (the sink `noop`):

- the table, of the columns with the same content;
- `oiv -p Delimited`, Hadoop's and ours, and then `spark.read.csv` with a schema, which spares it a
  pass over the file.

A figure is processor time, user and system, of all processes, with Java and Spark's workers. Spark
takes seconds to start, on both sides: a Spark that does nothing is measured as well, and `rows
alone` is without it.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import apache
from apache import NoPeer
from harness import CACHE, ROOT, Options, Results, Skipped, figure, in_turn, main, progress, scratch
from scale import image_of

from howdah.java import NoJava, find_java_home
from howdah.storage.image_files import image_name
from tests.support.hadoop.jars import hadoop_class_path

OURS = "howdah.namespace"
NOTHING = "a Spark that does nothing"
_VIEWER = "org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB"
_COLUMNS = (
    "path,replication,modification_time,access_time,block_size,blocks,length,"
    "quota_names,quota_space,permission,owner,group"
)
_SCHEMA = (
    "path string, replication int, modification_time string, access_time string, "
    "block_size long, blocks long, length long, quota_names long, quota_space long, "
    "permission string, owner string, `group` string"
)
_JOB = f"""
import sys
from pyspark.sql import SparkSession
what, name = sys.argv[1:]
settings = {{
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
}}
builder = SparkSession.builder.master("local[2]")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
spark.range(10).write.format("noop").mode("overwrite").save()
rows = None
if what == "table":
    from howdah.spark import register
    register(spark)
    reader = spark.read.format("howdah.namespace").option("columns", "{_COLUMNS}")
    rows = reader.load(name)
elif what == "csv":
    rows = spark.read.csv(name, schema="{_SCHEMA}", sep="\\t", header=True)
if rows is not None:
    rows.write.format("noop").mode("overwrite").save()
java = spark.sparkContext._gateway.proc
spark.stop()
java.stdin.close()
java.wait()
"""


def took(command: list[str]) -> float:
    """Seconds of processor time of a process and of all that it started."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "SPARK_LOCAL_IP": "127.0.0.1"}
    with subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None, "it is a pipe"
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[-4:]} failed: {said.decode(errors='replace')[-2000:]}")
    return used.ru_utime + used.ru_stime


def spark(what: str, name: str) -> float:
    return took([sys.executable, "-c", _JOB, what, name])


def viewers() -> Iterator[tuple[str, list[str]]]:
    yield "howdah oiv, Spark's CSV reader", [sys.executable, "-m", "howdah", "oiv"]
    try:
        apache.require()
    except NoPeer as error:
        progress(f"Hadoop's viewer: {error}")
        return
    java = str(find_java_home() / "bin" / "java")
    yield (
        "Hadoop's viewer, Spark's CSV reader",
        [java, "-Xmx4g", "-cp", hadoop_class_path(CACHE), _VIEWER],
    )


def measure(options: Options) -> Results:
    try:
        os.environ["JAVA_HOME"] = str(find_java_home())
    except NoJava as error:
        yield Skipped("tables", str(error))
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    files = 50_000 if options.quick else 1_000_000
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "tables"))
        progress(f"tables: a tree of {files:,} files")
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            image = pool.apply(image_of, (base / "tree", files)) / "current" / image_name(0)

        def by_viewer(command: list[str]) -> Callable[[], float]:
            def run() -> float:
                out = base / "listed.tsv"
                listed_s = took([*command, "-p", "Delimited", "-i", str(image), "-o", str(out)])
                return listed_s + spark("csv", out.as_uri())

            return run

        runs: dict[str, Callable[[], float]] = {
            NOTHING: lambda: spark("nothing", ""),
            OURS: lambda: spark("table", Path(image).as_uri()),
        }
        runs |= {name: by_viewer(command) for name, command in viewers()}
        seconds = in_turn(runs, options.repeats(3, 1), warm_up=0)
        for name, values in seconds.items():
            progress(f"    {name}: {', '.join(f'{value:.1f}' for value in values)} s")
        idle = sorted(seconds.pop(NOTHING))[len(values) // 2]
        ours = seconds.pop(OURS)
        yield figure(f"{files:,} files as a DataFrame: CPU", "s", ours, seconds)
        alone = {name: [value - idle for value in values] for name, values in seconds.items()}
        yield figure(
            f"{files:,} files as a DataFrame: CPU, rows alone",
            "s",
            [value - idle for value in ours],
            alone,
            target="≤ 1/3 ×",
        )


if __name__ == "__main__":
    main(measure)
