"""The stream of changes into a sink, through a failover, and restarts of query and namenode."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import register, table
from howdah.testing import MiniCluster
from tests.support.tables.changing import change, live
from tests.support.tables.following import Followed

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, namenodes=2) as cluster:
        yield cluster


class Stream:
    """A query that writes the changes as files, and goes on where it ended."""

    def __init__(self, spark: Any, scratch: Path, **options: object) -> None:
        self.spark = spark
        self.sink = scratch / "sink"
        self.checkpoint = scratch / "checkpoint"
        self.options = options

    def start(self, **trigger: Any) -> Any:
        changes = self.spark.readStream.format("howdah.changes").options(**self.options).load("/")
        writer = changes.writeStream.format("parquet").option("path", str(self.sink))
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(**trigger).start()

    def run(self) -> None:
        """Up to what is there now."""
        self.start(availableNow=True).awaitTermination()

    def rows(self) -> list[dict[str, Any]]:
        return [
            row.asDict(recursive=True) for row in self.spark.read.parquet(str(self.sink)).collect()
        ]

    def followed(self) -> Followed:
        """What all changes lead to. Raises AssertionError if one is there twice."""
        model = Followed()
        model.apply_all(self.rows())
        model.entries.pop("/", None)
        return model


@pytest.mark.parametrize("starting", ["earliest", "listing"])
def test_changes_lead_to_the_live_namespace_through_a_failover(
    cluster: MiniCluster, spark: Any, tmp_path: Path, starting: str
) -> None:
    register(spark, conf=cluster.conf)
    chance = random.Random(starting)
    stream = Stream(
        spark, tmp_path, starting=starting, maxTransactionsPerBatch=40, transactionsPerPartition=15
    )
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        change(fs, chance, 60)
        stream.run()
        assert stream.followed().differences(live(fs)) == []
        query = stream.start(processingTime="200 milliseconds")
        change(fs, chance, 40)
        old = cluster.active()
        cluster.kill(old)
        change(fs, chance, 40)
        cluster.active(but=old)
        cluster.restart(old)
        change(fs, chance, 40)
        # In the middle of whatever batch there is.
        query.stop()
        fs.administration.roll_edits()
        change(fs, chance, 40)
        stream.run()
        model = stream.followed()
        assert model.differences(live(fs)) == []
        assert model.resets == (1 if starting == "listing" else 0)
        events = {
            (row["txid"], row["sequence"]) for row in stream.rows() if row["event"] != "listed"
        }
        assert len(events) == sum(row["event"] != "listed" for row in stream.rows())


class Sink:
    """Keeps the rows of each attempt at a batch, and fails the first attempt at one of them."""

    def __init__(self, fails_at: int) -> None:
        self.attempts: dict[int, list[list[tuple[int, int, str]]]] = {}
        self._fails_at = fails_at

    def __call__(self, frame: Any, batch: int) -> None:
        rows = [(row["txid"], row["sequence"], row["path"]) for row in frame.collect()]
        attempts = self.attempts.setdefault(batch, [])
        attempts.append(sorted(rows))
        if batch == self._fails_at and len(attempts) == 1:
            raise RuntimeError("the sink is full")


def test_a_batch_that_is_done_again_has_the_same_rows(
    cluster: MiniCluster, spark: Any, tmp_path: Path
) -> None:
    """Though the log has gone on, and another namenode is active."""
    register(spark, conf=cluster.conf)
    sink = Sink(fails_at=1)
    reader = spark.readStream.format("howdah.changes").option("starting", "earliest")
    changes = reader.option("maxTransactionsPerBatch", 30).load("/")
    writer = changes.writeStream.foreachBatch(sink).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    chance = random.Random(5)
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        change(fs, chance, 60)
        with pytest.raises(Exception, match="the sink is full"):
            writer.start().awaitTermination()
        change(fs, chance, 20)
        old = cluster.active()
        cluster.kill(old)
        change(fs, chance, 20)
        cluster.restart(old)
        writer.start().awaitTermination()
        model = Followed()
        everything = table(spark, "changes", "/", conf=cluster.conf, starting="earliest")
        model.apply_all(row.asDict(recursive=True) for row in everything.collect())
        model.entries.pop("/", None)
        assert model.differences(live(fs)) == []
    assert set(sink.attempts) > {0, 1}
    first, again = sink.attempts.pop(1)
    assert first == again
    assert len(first) > 0
    rows = [row for attempts in (*sink.attempts.values(), [again]) for row in attempts[-1]]
    assert len(rows) == len(set(rows))
    events = {(row["txid"], row["sequence"]) for row in everything.collect()}
    assert {row[:2] for row in rows} <= events


def test_a_stream_goes_on_while_its_only_namenode_restarts(
    spark: Any, howdah_cluster: MiniCluster, tmp_path: Path
) -> None:
    with MiniCluster(datanodes=1) as cluster:
        register(spark, conf=cluster.conf)
        stream = Stream(spark, tmp_path, starting="earliest")
        with cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            chance = random.Random(3)
            change(fs, chance, 30)
            query = stream.start(processingTime="100 milliseconds")
            for _ in range(2):
                cluster.restart("namenode")
                change(fs, chance, 15)
            assert query.exception() is None
            query.stop()
            stream.run()
            assert stream.followed().differences(live(fs)) == []


def test_one_who_may_not_watch_is_told(cluster: MiniCluster, spark: Any, tmp_path: Path) -> None:
    register(spark, conf=cluster.conf, user="eve")
    with pytest.raises(Exception, match="AccessDenied"):
        Stream(spark, tmp_path).run()
