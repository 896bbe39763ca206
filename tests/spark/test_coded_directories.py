"""Spark with its own files in directories whose files are erasure coded.

An erasure-coded stream shows nothing before it is closed. So Spark asks for replicated files where
it flushes: for event logs, unless `spark.eventLog.erasureCoding.enabled` says otherwise, and for
the write-ahead logs of receivers. Checkpoints and tables are closed before anybody reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.support.coded_files import forget

pytestmark = pytest.mark.timeout(240)

POLICY = "XOR-2-1-1024k"
CODED_LOGS = "spark.eventLog.erasureCoding.enabled"


@pytest.fixture
def coded(bench: Any) -> Iterator[Any]:
    """A bench whose directory has the policy."""
    fs: HdfsFileSystem = bench.fs
    fs.client.namenode.enable_erasure_coding_policy(POLICY)
    fs.set_erasure_coding_policy(bench.path(""), POLICY)
    yield bench
    forget(fs, bench.cluster.conf, POLICY, bench.path(""))


def policies_below(bench: Any, name: str) -> dict[str, str | None]:
    """The policy of each file, by its name."""
    return {
        status.name: status.erasure_coding_policy
        for _, _, files in bench.fs.walk(bench.path(name))
        for status in files
    }


def event_log(spark: Any, bench: Any, settings: dict[str, str]) -> Any:
    """What writes Spark's events to the directory `logs`; it is started."""
    jvm, context = spark._jvm, spark._jsc.sc()
    conf = context.getConf().clone()
    for name, value in {"spark.eventLog.compress": "false", **settings}.items():
        conf.set(name, value)
    bench.fs.mkdirs(bench.path("logs"))
    log = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "app-1",
        jvm.scala.Option.empty(),
        jvm.java.net.URI(bench.uri("logs")),
        conf,
        spark._jsc.hadoopConfiguration(),
    )
    log.start()
    return log


def begin(spark: Any, log: Any) -> None:
    """Spark flushes this event."""
    jvm = spark._jvm
    none = jvm.scala.Option.empty()
    log.onApplicationStart(
        jvm.org.apache.spark.scheduler.SparkListenerApplicationStart(
            "coded", jvm.scala.Option.apply("app-1"), 1_700_000_000_000, "anna", none, none, none
        )
    )


def events(bench: Any) -> bytes:
    """What readers see of the log, which may be open."""
    (path,) = (
        status.path
        for _, _, files in bench.fs.walk(bench.path("logs"))
        for status in files
        if status.name.startswith("events_")
    )
    with bench.fs.open(path) as stream:
        return bytes(stream.read())


@pytest.mark.req("OS-005", "OS-105")
def test_event_logs_are_replicated_and_seen_while_they_are_written(spark: Any, coded: Any) -> None:
    log = event_log(spark, coded, {})
    try:
        begin(spark, log)
        wait_until(lambda: b'"App Name":"coded"' in events(coded))
        files = policies_below(coded, "logs")
        assert {name: files[name] for name in files if name.startswith("events_")} == {
            "events_1_app-1": None
        }
    finally:
        log.stop()
    assert b'"App Name":"coded"' in events(coded)


@pytest.mark.req("OS-005", "OS-105")
def test_event_logs_that_are_to_be_coded_are_seen_when_they_are_closed(
    spark: Any, coded: Any
) -> None:
    log = event_log(spark, coded, {CODED_LOGS: "true"})
    try:
        begin(spark, log)
        assert policies_below(coded, "logs")["events_1_app-1"] == POLICY
        assert events(coded) == b""
    finally:
        log.stop()
    assert b'"App Name":"coded"' in events(coded)


@pytest.mark.req("OS-005", "OS-105")
def test_write_ahead_logs_of_receivers_are_replicated_and_read_while_they_are_open(
    spark: Any, coded: Any
) -> None:
    jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()
    coded.fs.mkdirs(coded.path("wal"))
    util = jvm.org.apache.spark.streaming.util
    path = coded.uri("wal/log-0-60000")
    writer = util.FileBasedWriteAheadLogWriter(path, conf)
    try:
        segment = writer.write(jvm.java.nio.ByteBuffer.wrap(b"a record"))
        assert policies_below(coded, "wal") == {"log-0-60000": None}
        reader = util.FileBasedWriteAheadLogRandomReader(path, conf)
        assert bytes(reader.read(segment).array()) == b"a record"
        reader.close()
    finally:
        writer.close()


@pytest.mark.req("OS-105")
def test_a_stream_goes_on_from_a_checkpoint_in_a_coded_directory(spark: Any, coded: Any) -> None:
    def run() -> None:
        arriving = spark.readStream.text(coded.uri("in"))
        writer = arriving.writeStream.format("parquet").trigger(availableNow=True)
        for name, place in (("path", "out"), ("checkpointLocation", "checkpoint")):
            writer = writer.option(name, coded.uri(place))
        writer.start().awaitTermination()

    for name, text in (("a", b"1\n2\n"), ("b", b"3\n")):
        with coded.fs.create(coded.path(f"in/{name}")) as out:
            out.write(text)
        run()
    rows = spark.read.parquet(coded.uri("out")).collect()
    assert sorted(row["value"] for row in rows) == ["1", "2", "3"]
    for name in ("out", "checkpoint"):
        assert set(policies_below(coded, name).values()) == {POLICY}
    assert coded.fs.exists(coded.path("checkpoint/commits/1"))
