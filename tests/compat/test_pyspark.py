"""Stock Spark on `hdfs://`: its unmodified Java client, its committers, its streams.

Spark is the judge here. What it wrote is also looked at from our side, through our
own client, since that is what notebooks do with it.
"""

from __future__ import annotations

import datetime
import decimal
import io
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

ROWS = [
    (number, f"name {number} ü", number / 7, None if number % 3 else decimal.Decimal(number) / 8)
    for number in range(1000)
]
SCHEMA = "id long, name string, ratio double, amount decimal(20,3)"


@pytest.fixture(scope="module")
def fs(howdah_cluster: MiniCluster) -> Iterator[FileSystem]:
    with howdah_cluster.connect() as fs:
        yield fs


@pytest.fixture
def path(howdah_cluster: MiniCluster, request: pytest.FixtureRequest) -> str:
    # Brackets of a parametrized name would be a pattern to Spark.
    name = re.sub(r"\W", "_", request.node.name)
    return f"{howdah_cluster.uri}/pyspark/{name}"


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(ROWS, SCHEMA).repartition(3, "id")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: row[0])


def names(fs: FileSystem, path: str) -> list[str]:
    """Of what is visible in a directory: neither hidden files nor `_SUCCESS`."""
    return [s.name for s in fs.list_status(path) if s.name[0] not in "._"]


# -- formats ------------------------------------------------------------------------------


@pytest.mark.req("FS-004")
@pytest.mark.parametrize("form", ["parquet", "orc", "json", "csv"])
def test_format_is_written_and_read_back(
    spark: Any, fs: FileSystem, frame: Any, path: str, form: str
) -> None:
    frame.write.format(form).save(path)
    assert rows(spark.read.schema(SCHEMA).format(form).load(path)) == ROWS
    assert fs.exists(f"{path}/_SUCCESS")
    assert len(names(fs, path)) == 3


@pytest.mark.parametrize("codec", ["gzip", "zstd", "snappy", "lz4"])
def test_compressed_parquet_is_written_and_read_back(
    spark: Any, frame: Any, path: str, codec: str
) -> None:
    frame.write.option("compression", codec).parquet(path)
    assert rows(spark.read.parquet(path)) == ROWS


def test_text_is_written_and_read_back(spark: Any, fs: FileSystem, path: str) -> None:
    lines = [f"line {number} — ü" for number in range(500)]
    spark.createDataFrame([(line,) for line in lines], "value string").coalesce(1).write.text(path)
    assert [row.value for row in spark.read.text(path).collect()] == lines
    (part,) = names(fs, path)
    with fs.open(f"{path}/{part}") as stream:
        assert stream.read().decode() == "".join(f"{line}\n" for line in lines)


def test_binary_files_are_read_with_their_attributes(spark: Any, fs: FileSystem, path: str) -> None:
    with fs.create(f"{path}/a.bin") as out:
        out.write(bytes(range(256)))
    (row,) = spark.read.format("binaryFile").load(path).collect()
    status = fs.get_file_status(f"{path}/a.bin")
    assert bytes(row.content) == bytes(range(256))
    assert (row.length, row.path) == (256, fs.qualify(status.path))
    modified = row.modificationTime.replace(tzinfo=datetime.UTC)
    assert modified.timestamp() * 1000 == pytest.approx(status.modification_time_ms)


def test_rdd_of_text_is_saved_and_read_back(spark: Any, path: str) -> None:
    context = spark.sparkContext
    context.parallelize([f"{n}" for n in range(100)], 4).saveAsTextFile(path)
    assert sorted(map(int, context.textFile(path).collect())) == list(range(100))


def test_file_of_many_blocks_is_split_and_every_line_read_once(
    spark: Any, fs: FileSystem, path: str
) -> None:
    """Lines run over the ends of blocks, and a reader of one block asks for the next."""
    lines = 200_000
    with fs.create(path, block_size=1 << 20) as out:
        for start in range(0, lines, 1000):
            out.write(
                b"".join(b"%08d,%s\n" % (n, b"x" * (n % 30)) for n in range(start, start + 1000))
            )
    frame = spark.read.csv(path, schema="id int, padding string")
    assert frame.selectExpr("count(*)", "sum(id)", "max(id)").first() == (
        lines,
        lines * (lines - 1) // 2,
        lines - 1,
    )


# -- ways of writing ------------------------------------------------------------------------


def test_overwrite_replaces_what_was_there(spark: Any, fs: FileSystem, path: str) -> None:
    spark.range(100).repartition(4).write.parquet(path)
    spark.range(5).coalesce(1).write.mode("overwrite").parquet(path)
    assert spark.read.parquet(path).count() == 5
    assert len(names(fs, path)) == 1


def test_append_adds_to_what_was_there(spark: Any, path: str) -> None:
    spark.range(10).write.parquet(path)
    spark.range(10, 30).write.mode("append").parquet(path)
    assert sorted(row.id for row in spark.read.parquet(path).collect()) == list(range(30))


def test_existing_path_is_an_error_without_a_mode(spark: Any, path: str) -> None:
    from pyspark.errors import AnalysisException

    spark.range(1).write.parquet(path)
    with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
        spark.range(1).write.parquet(path)


def test_missing_path_is_an_error(spark: Any, path: str) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
        spark.read.parquet(path)


def test_partitions_are_directories_with_odd_names_and_are_pruned(
    spark: Any, fs: FileSystem, path: str
) -> None:
    values = ["plain", "with space", "per%cent", "sl/ash", "ü", "a=b", "co:lon", "#?*"]
    data = spark.createDataFrame([(v, n) for n, v in enumerate(values)], "part string, n int")
    data.write.partitionBy("part").parquet(path)
    assert len(names(fs, path)) == len(values)
    back = spark.read.parquet(path)
    assert {(row.part, row.n) for row in back.collect()} == {(v, n) for n, v in enumerate(values)}
    for number, value in enumerate(values):
        assert [row.n for row in back.where(back.part == value).collect()] == [number]


def test_dynamic_overwrite_replaces_only_the_partitions_that_are_written(
    spark: Any, fs: FileSystem, path: str
) -> None:
    first = spark.createDataFrame([("a", 1), ("b", 2), ("c", 3)], "part string, n int")
    first.write.partitionBy("part").parquet(path)
    second = spark.createDataFrame([("b", 20), ("d", 40)], "part string, n int")
    (
        second.write.partitionBy("part")
        .mode("overwrite")
        .option("partitionOverwriteMode", "dynamic")
        .parquet(path)
    )
    found = {(row.part, row.n) for row in spark.read.parquet(path).collect()}
    assert found == {("a", 1), ("b", 20), ("c", 3), ("d", 40)}
    # The staging directory is gone.
    assert {s.name for s in fs.list_status(path)} == {
        "_SUCCESS", "part=a", "part=b", "part=c", "part=d"
    }  # fmt: skip


def test_second_committer_algorithm_works_too(spark: Any, frame: Any, path: str) -> None:
    frame.write.option("mapreduce.fileoutputcommitter.algorithm.version", "2").parquet(path)
    assert rows(spark.read.parquet(path)) == ROWS


def test_failed_job_leaves_no_half_written_output(spark: Any, fs: FileSystem, path: str) -> None:
    from pyspark.errors import PySparkException

    failing = spark.range(10).selectExpr("raise_error('on purpose') as a", "id")
    with pytest.raises(PySparkException, match="on purpose"):
        failing.write.parquet(path)
    assert not fs.exists(path) or names(fs, path) == []


def test_table_is_kept_in_the_warehouse(
    spark: Any, fs: FileSystem, request: pytest.FixtureRequest
) -> None:
    spark.range(20).selectExpr("id", "id % 2 as part").write.partitionBy("part").saveAsTable("kept")
    request.addfinalizer(lambda: spark.sql("drop table kept"))
    spark.sql("insert into kept values (100, 0)")
    assert spark.sql("select count(*) from kept where part = 0").first()[0] == 11
    assert set(names(fs, "/warehouse/kept")) == {"part=0", "part=1"}


def test_bucketed_and_sorted_table_is_joined(spark: Any, request: pytest.FixtureRequest) -> None:
    for table in ("left_side", "right_side"):
        (
            spark.range(100)
            .withColumnRenamed("id", "key")
            .write.bucketBy(2, "key")
            .sortBy("key")
            .saveAsTable(table)
        )
        request.addfinalizer(partial(spark.sql, f"drop table {table}"))
    assert spark.table("left_side").join(spark.table("right_side"), "key").count() == 100


def test_rdd_checkpoint_is_kept_on_the_cluster(spark: Any, fs: FileSystem, path: str) -> None:
    spark.sparkContext.setCheckpointDir(path)
    checkpointed = spark.range(50).checkpoint()
    assert checkpointed.count() == 50
    assert list(fs.list_status(path))


# -- streams --------------------------------------------------------------------------------


def run_stream(spark: Any, path: str) -> list[Any]:
    """Run the query over all that is there, to its end; what its batches report."""
    query = (
        spark.readStream.schema("n int")
        .option("maxFilesPerTrigger", 1)
        .json(f"{path}/in")
        .selectExpr("n", "n * 2 as twice")
        .writeStream.format("parquet")
        .option("checkpointLocation", f"{path}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{path}/out")
    )
    try:
        assert query.awaitTermination(120), "the query did not end"
        return list(query.recentProgress)
    finally:
        query.stop()


def put_json(fs: FileSystem, path: str, numbers: range) -> None:
    # A file source takes a file as soon as it sees it: it must come into being whole.
    with fs.create(f"{path}.incoming") as out:
        out.write(b"".join(b'{"n": %d}\n' % n for n in numbers))
    target = f"{path}/in/{numbers.start}.json"
    fs.mkdirs(f"{path}/in")
    fs.rename(f"{path}.incoming", target)


def test_stream_goes_on_from_its_checkpoint_and_takes_each_file_once(
    spark: Any, fs: FileSystem, path: str
) -> None:
    def found() -> list[int]:
        return sorted(row.n for row in spark.read.parquet(f"{path}/out").collect())

    put_json(fs, path, range(10))
    put_json(fs, path, range(10, 20))
    run_stream(spark, path)
    assert found() == list(range(20))
    # Nothing new: nothing is done. Then one more file: that one alone is read.
    assert run_stream(spark, path)[-1]["numInputRows"] == 0
    put_json(fs, path, range(20, 30))
    assert sum(batch["numInputRows"] for batch in run_stream(spark, path)) == 10
    assert found() == list(range(30))
    assert {s.name for s in fs.list_status(f"{path}/checkpoint")} >= {
        "commits", "metadata", "offsets", "sources"
    }  # fmt: skip


def test_stream_with_state_goes_on_from_its_checkpoint(
    spark: Any, fs: FileSystem, path: str
) -> None:
    def run() -> dict[int, int]:
        query = (
            spark.readStream.schema("n int")
            .json(f"{path}/in")
            .selectExpr("n % 3 as remainder")
            .groupBy("remainder")
            .count()
            .writeStream.outputMode("complete")
            .option("checkpointLocation", f"{path}/checkpoint")
            .trigger(availableNow=True)
            .foreachBatch(lambda batch, number: batch.write.mode("overwrite").json(f"{path}/out"))
            .start()
        )
        try:
            assert query.awaitTermination(120), "the query did not end"
        finally:
            query.stop()
        return {row.remainder: row["count"] for row in spark.read.json(f"{path}/out").collect()}

    put_json(fs, path, range(9))
    assert run() == {0: 3, 1: 3, 2: 3}
    put_json(fs, path, range(9, 12))
    assert run() == {0: 4, 1: 4, 2: 4}
    assert list(fs.list_status(f"{path}/checkpoint/state"))


# -- where the data is ------------------------------------------------------------------------


def preferred_locations(spark: Any, rdd: Any) -> list[set[str]]:
    """The hosts that Spark's scheduler would run each partition's task on."""
    context = spark.sparkContext._jsc.sc()
    found = []
    for index in range(len(rdd.partitions())):
        places = context.getPreferredLocs(rdd, index)
        found.append({places.apply(number).host() for number in range(places.size())})
    return found


@pytest.mark.req("FS-088", "FS-101")
def test_tasks_are_told_the_datanodes_of_their_blocks(
    spark: Any, fs: FileSystem, path: str
) -> None:
    spark.range(1000).coalesce(1).write.parquet(path)
    (part,) = names(fs, path)
    # A file is complete with one replica of each block; the others are told of soon.
    wait_until(lambda: len(fs.block_locations(f"{path}/{part}")[0].hosts) == 3)
    (block,) = fs.block_locations(f"{path}/{part}")
    scan = spark.read.parquet(path)._jdf.queryExecution().toRdd()
    (hosts,) = preferred_locations(spark, scan)
    assert hosts == set(block.hosts)
    assert len(hosts) == 3


@pytest.mark.req("FS-018", "FS-088")
def test_every_block_of_a_file_is_a_split_where_the_block_is(
    spark: Any, fs: FileSystem, path: str
) -> None:
    with fs.create(path, replication=1, block_size=1 << 20) as out:
        out.write(b"0123456789abcdef" * (4 << 16))
    found = preferred_locations(spark, spark.sparkContext.textFile(path, 1)._jrdd.rdd())
    assert found == [set(block.hosts) for block in fs.block_locations(path)]
    assert len(found) == 4


def scans(spark: Any, frame: Any) -> list[list[set[str]]]:
    """Of each scan in the plan of a frame, and of each partition in it: where Spark's scheduler
    would run its task, as Spark writes such places."""
    leaves = frame._jdf.queryExecution().sparkPlan().collectLeaves()
    context = spark.sparkContext._jsc.sc()
    found = []
    for number in range(leaves.size()):
        rdd = leaves.apply(number).execute()
        partitions = []
        for index in range(len(rdd.partitions())):
            places = context.getPreferredLocs(rdd, index)
            partitions.append({places.apply(each).toString() for each in range(places.size())})
        found.append(partitions)
    return found


@pytest.mark.req("FS-039", "FS-040")
def test_the_scan_of_a_lookup_table_in_a_join_is_told_the_datanode_that_has_it_in_memory(
    spark: Any,
) -> None:
    """A frame over lines of a file, as over Hive's tables, is told which datanode has a block
    cached. Spark's own file sources (Parquet and others) look at the datanodes alone, of which
    this is one."""
    conf: dict[str, str | int | float | bool] = {
        "dfs.datanode.max.locked.memory": 1 << 20,
        "dfs.heartbeat.interval": "200ms",
    }
    # With racks the datanodes have names that Spark looks at.
    with MiniCluster(datanodes=2, racks=["/a", "/b"], conf=conf) as cluster:
        lines = f"{cluster.uri}/table.csv"
        columns = f"{cluster.uri}/table.parquet"
        spark.range(1000).selectExpr("id", "id % 3 + 1 as kind").coalesce(1).write.parquet(
            f"{cluster.uri}/facts"
        )
        with cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            with fs.create("/table.csv", replication=2) as out:
                out.write(b"1,one\n2,two\n3,three\n")
            spark.read.csv(lines, "kind long, name string").coalesce(1).write.parquet(columns)
            (part,) = names(fs, columns)
            files = ["/table.csv", f"/table.parquet/{part}"]
            fs.add_cache_pool("tables", group="g")
            for path in files:
                fs.add_cache_directive(path, "tables")

            def is_set() -> bool:
                found = [fs.block_locations(path)[0] for path in files]
                return all((len(b.hosts), len(b.cached_hosts)) == (2, 1) for b in found)

            wait_until(is_set, 60)
            of_lines, of_columns = (fs.block_locations(path)[0] for path in files)
        (cached,) = of_lines.cached_hosts
        facts = spark.read.parquet(f"{cluster.uri}/facts")
        table = spark.read.csv(spark.sparkContext.textFile(lines, 1), "kind long, name string")
        joined = facts.join(table, "kind").groupBy("name").count()
        (_, (told,)) = scans(spark, joined)
        assert told == {f"hdfs_cache_{cached}", *set(of_lines.hosts) - {cached}}
        counted = {row["name"]: row["count"] for row in joined.collect()}
        assert counted == {"one": 334, "two": 333, "three": 333}

        table = spark.read.parquet(columns)
        joined = facts.join(table, "kind").groupBy("name").count()
        (_, (told,)) = scans(spark, joined)
        assert set(of_columns.cached_hosts) < told == set(of_columns.hosts)
        assert {row["name"]: row["count"] for row in joined.collect()} == counted


# -- Python workers -----------------------------------------------------------------------------


def test_python_workers_of_spark_read_and_write_with_our_client(
    spark: Any, howdah_cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    """Spark forks its Python workers, which is what breaks clients with threads of their own."""
    uri = howdah_cluster.uri
    with fs.create(f"{path}/in") as out:
        out.write(b"from the driver")

    def work(numbers: Iterator[Any]) -> Iterator[tuple[str, int]]:
        import os

        import howdah

        every = list(numbers)
        with howdah.connect(uri) as mine:
            with mine.open(f"{path}/in") as stream:
                said = stream.read().decode()
            for row in every:
                with mine.create(f"{path}/out/{row.id}") as out:
                    out.write(b"%d" % row.id * 100_000)
        yield said, os.getpid()

    told = spark.range(0, 8, numPartitions=8).rdd.mapPartitions(work).collect()
    assert {said for said, _ in told} == {"from the driver"}
    for number in range(8):
        with fs.open(f"{path}/out/{number}") as stream:
            assert stream.read() == b"%d" % number * 100_000


def test_client_of_the_driver_is_used_in_a_pandas_function(
    spark: Any, howdah_cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    pytest.importorskip("pandas")
    uri = howdah_cluster.uri
    for number in range(4):
        with fs.create(f"{path}/{number}") as out:
            out.write(b"x" * number * 1000)

    def lengths(frames: Iterator[Any]) -> Iterator[Any]:
        import howdah

        with howdah.connect(uri) as mine:
            for frame in frames:
                frame["length"] = [len(mine.open(f"{path}/{n}").read()) for n in frame["id"]]
                yield frame

    found = spark.range(0, 4, numPartitions=2).mapInPandas(lengths, "id long, length long")
    assert rows(found) == [(number, number * 1000) for number in range(4)]


# -- both sides ---------------------------------------------------------------------------------


def test_parquet_of_spark_is_read_by_pyarrow_over_our_client(
    spark: Any, fs: FileSystem, frame: Any, path: str
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    frame.coalesce(1).write.parquet(path)
    (part,) = names(fs, path)
    with fs.open(f"{path}/{part}") as stream:
        table = parquet.read_table(stream)
    found = sorted(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    assert [row[:3] for row in found] == [row[:3] for row in ROWS]


def test_parquet_of_pyarrow_over_our_client_is_read_by_spark(
    spark: Any, fs: FileSystem, path: str
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"id": list(range(100)), "name": [str(n) for n in range(100)]})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    with fs.create(f"{path}/a.parquet") as out:
        out.write(buffer.getbuffer())
    assert rows(spark.read.parquet(path)) == [(n, str(n)) for n in range(100)]
