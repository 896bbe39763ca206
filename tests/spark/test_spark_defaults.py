"""examples/spark-defaults.conf: each of its settings does on a cluster what the page says.

The JVM of the tests runs already, and most settings are read when one starts. So these
are given to the classes that read them: what writes event logs, what the history server
reads them with. A Spark that starts with the file is a torture test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

DEFAULTS: Final = Path(__file__).parents[2] / "examples" / "spark-defaults.conf"
LINE: Final = re.compile(r"^(spark\.[\w.]+)\s+(\S+)$", re.MULTILINE)
VERSION: Final = "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version"
MADE: Final = ("/spark", "/checkpoints")

EVENT_LOG: Final = (
    "spark.eventLog.dir",
    "spark.eventLog.enabled",
    "spark.eventLog.rolling.enabled",
    "spark.eventLog.rolling.maxFileSize",
    "spark.eventLog.compress",
)

Settings = dict[str, str]


def settings_of(uri: str) -> Settings:
    text = DEFAULTS.read_text("utf-8").replace("hdfs://namenode:8020", uri)
    return dict(LINE.findall(text))


@pytest.fixture
def settings(howdah_cluster: MiniCluster) -> Iterator[Settings]:
    yield settings_of(howdah_cluster.uri)
    with howdah_cluster.connect() as fs:
        for path in MADE:
            fs.delete(path, recursive=True)


def path_of(located: str) -> str:
    return "/" + located.split("/", 3)[3]


def option(jvm: Any, value: object) -> Any:
    return jvm.scala.Option.apply(value)


def test_event_log_is_complete_and_the_history_server_reads_it(
    spark: Any, bench: Any, settings: Settings
) -> None:
    jvm, context = spark._jvm, spark._jsc.sc()
    scheduler = jvm.org.apache.spark.scheduler
    none = jvm.scala.Option.empty()
    directory = settings["spark.eventLog.dir"]
    bench.fs.mkdirs(path_of(directory))
    conf = context.getConf().clone()
    for name in EVENT_LOG:
        conf.set(name, settings[name])
    assert settings["spark.eventLog.enabled"] == "true"
    where = jvm.java.net.URI(directory)
    log = scheduler.EventLoggingListener(
        "app-1", none, where, conf, spark._jsc.hadoopConfiguration()
    )
    log.start()
    begin = scheduler.SparkListenerApplicationStart(
        "recipe", option(jvm, "app-1"), 1_700_000_000_000, "anna", none, none, none
    )
    log.onApplicationStart(begin)
    context.addSparkListener(log)
    assert spark.range(1000).repartition(3).count() == 1000
    of_server = jvm.org.apache.spark.SparkConf(False)
    of_server.set("spark.history.fs.logDirectory", settings["spark.history.fs.logDirectory"])
    history = jvm.org.apache.spark.deploy.history.FsHistoryProvider(of_server)

    def listed() -> list[tuple[str, bool]]:
        history.checkForLogs()
        listing = history.getListing()
        found = []
        while listing.hasNext():
            application = listing.next()
            found.append((application.name(), application.attempts().head().completed()))
        return found

    try:
        # Flushed and not closed.
        wait_until(lambda: listed() == [("recipe", False)], 60)
        context.removeSparkListener(log)
        log.onApplicationEnd(scheduler.SparkListenerApplicationEnd(1_700_000_060_000, none))
        log.stop()
        wait_until(lambda: listed() == [("recipe", True)], 60)
    finally:
        history.stop()
    files = path_of(directory) + "/eventlog_v2_app-1"
    names = [status.name for status in bench.fs.list_status(files)]
    assert names == ["appstatus_app-1", "events_1_app-1.zstd"]
    told = log_events(spark, settings, files)
    assert told["SparkListenerApplicationStart"] == told["SparkListenerApplicationEnd"] == 1
    assert told["SparkListenerTaskStart"] == told["SparkListenerTaskEnd"] >= 4


def log_events(spark: Any, settings: Settings, path: str) -> dict[str, int]:
    """How many events of each kind Spark finds in a log."""
    uri = settings["spark.hadoop.fs.defaultFS"]
    rows = spark.read.json(f"{uri}{path}/events_*").groupBy("Event").count()
    return {row["Event"]: row["count"] for row in rows.collect()}


def test_stream_that_names_no_checkpoint_has_one_where_they_belong(
    spark: Any, bench: Any, settings: Settings
) -> None:
    name = "spark.sql.streaming.checkpointLocation"
    spark.conf.set(name, settings[name])
    try:
        bench.make("in", {"a.txt": b"1\n2\n"})
        arriving = spark.readStream.text(bench.uri("in"))
        writer = arriving.writeStream.format("noop").queryName("recipe")
        writer.trigger(availableNow=True).start().awaitTermination()
    finally:
        spark.conf.unset(name)
    checkpoint = path_of(settings[name]) + "/recipe"
    assert [status.name for status in bench.fs.list_status(f"{checkpoint}/commits")] == ["0"]

    jvm = spark._jvm
    manager = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
    path = jvm.org.apache.hadoop.fs.Path(settings[name])
    # The one that renames in one step, without looking first whether the name is taken.
    chosen = manager.create(path, spark._jsc.hadoopConfiguration()).getClass().getSimpleName()
    assert chosen == "FileContextBasedCheckpointFileManager"


def test_table_without_a_place_lies_in_the_warehouse(spark: Any, settings: Settings) -> None:
    # What the tests' Spark was started with.
    assert spark.conf.get("spark.sql.warehouse.dir") == settings["spark.sql.warehouse.dir"]
    spark.sql("CREATE TABLE recipe_of_the_page USING parquet AS SELECT 7 AS x")
    try:
        rows = spark.sql("DESCRIBE EXTENDED recipe_of_the_page").where("col_name = 'Location'")
        assert (
            rows.first()["data_type"] == f"{settings['spark.sql.warehouse.dir']}/recipe_of_the_page"
        )
    finally:
        spark.sql("DROP TABLE recipe_of_the_page")


def test_job_that_fails_leaves_nothing_behind(spark: Any, bench: Any, settings: Settings) -> None:
    many = spark.range(0, 1_000_000, 1, 1).selectExpr(
        "if(id = 999999, raise_error('the last row'), 1L) AS id"
    )
    writer = spark.range(0, 1, 1, 1).union(many).write
    version = VERSION.removeprefix("spark.hadoop.")
    with pytest.raises(Exception, match="the last row"):
        writer.option(version, settings[VERSION]).parquet(bench.uri("table"))
    assert bench.tree("table") == {}


def test_files_have_the_block_size_that_is_set(spark: Any, bench: Any, settings: Settings) -> None:
    name = "spark.hadoop.dfs.blocksize"
    hadoop = spark._jvm.org.apache.hadoop
    conf = hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    conf.set(name.removeprefix("spark.hadoop."), settings[name])
    path = hadoop.fs.Path(bench.uri("file"))
    # Another than the one that this JVM made with what it was started with.
    fs = hadoop.fs.FileSystem.newInstance(path.toUri(), conf)
    fs.create(path).close()
    fs.close()
    assert bench.fs.get_file_status(bench.path("file")).block_size == 256 << 20


def test_file_for_executors_is_sent_up(
    spark: Any, bench: Any, settings: Settings, tmp_path: Path
) -> None:
    name = "spark.kubernetes.file.upload.path"
    program = tmp_path / "job.py"
    program.write_text("print(1)")
    jvm = spark._jvm
    conf = jvm.org.apache.spark.SparkConf(False)
    conf.set(name, settings[name])
    conf.set("spark.hadoop.fs.defaultFS", settings["spark.hadoop.fs.defaultFS"])
    kubernetes = jvm.org.apache.spark.deploy.k8s.KubernetesUtils
    located = kubernetes.uploadFileUri(program.as_uri(), option(jvm, conf))
    assert located.startswith(settings[name])
    with bench.fs.open(path_of(located)) as stream:
        assert stream.read() == b"print(1)"


def test_every_setting_is_exercised_here() -> None:
    source = Path(__file__).read_text("utf-8")
    assert [name for name in settings_of("") if f'"{name}"' not in source] == []


APPLICATION: Final = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").appName("whole").getOrCreate()
spark.range(100).write.mode("overwrite").saveAsTable("whole")
print(spark.table("whole").count(), spark.sparkContext.applicationId)
spark.stop()
"""


@pytest.mark.torture
def test_spark_that_starts_with_the_file_leaves_a_whole_log(
    spark: Any, bench: Any, tmp_path: Path, settings: Settings
) -> None:
    bench.fs.mkdirs(path_of(settings["spark.eventLog.dir"]))
    quiet = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    lines = [f"{name} {settings[name]}" for name in settings]
    lines += [f"{name} {value}" for name, value in quiet.items()]
    lines.append("spark.sql.catalogImplementation in-memory")
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
    environment = os.environ | {"SPARK_CONF_DIR": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", APPLICATION],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    count, application = done.stdout.split()[-2:]
    assert count == "100"
    files = f"{path_of(settings['spark.eventLog.dir'])}/eventlog_v2_{application}"
    told = log_events(spark, settings, files)
    assert told["SparkListenerApplicationEnd"] == 1
    assert told["SparkListenerTaskStart"] == told["SparkListenerTaskEnd"]
    bench.fs.delete("/warehouse/whole", recursive=True)
