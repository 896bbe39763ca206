"""What is in files, and what is said of them, is the same after they were compacted."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.fs.acl import parse_acl
from howdah.spark import Compaction, compact
from howdah.spark.compaction.directory_state import reason_to_skip, reason_to_stay, state_of
from howdah.spark.compaction.directory_swap import ChangedMeanwhile, Exchange
from howdah.spark.compaction.reading_footers import FEW_FILES
from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(240)

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow has no Parquet")

ROWS = 50


def put(bench: Any, path: str, data: bytes) -> None:
    with bench.fs.create(bench.path(path)) as out:
        out.write(data)


def put_parquet(bench: Any, path: str, table: Any, **how: Any) -> None:
    made = io.BytesIO()
    pq.write_table(table, made, **how)
    put(bench, path, made.getvalue())


def compacted(bench: Any, path: str, **how: Any) -> Compaction:
    return compact(bench.spark, bench.uri(path), conf=bench.cluster.conf, **how)


def the_file(bench: Any, path: str) -> Any:
    """The only data file of a directory, as pyarrow sees it."""
    (new,) = [s for s in bench.fs.list_status(bench.path(path)) if not s.name.startswith("_")]
    with bench.fs.open(new.path) as stream:
        return pq.ParquetFile(io.BytesIO(stream.read()))


def everything(number: int) -> Any:
    """A table with a column of most kinds, whose rows are its own."""
    ids = list(range(number * ROWS, (number + 1) * ROWS))
    time = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    times = [time + dt.timedelta(microseconds=each) for each in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "small": pa.array([each % 100 for each in ids], pa.int8()),
            "name": pa.array([None if each % 5 == 0 else f"name {each}" for each in ids]),
            "amount": pa.array([Decimal(each) / 100 for each in ids], pa.decimal128(20, 2)),
            "day": pa.array([dt.date(1500, 1, 1) + dt.timedelta(days=each) for each in ids]),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "local": pa.array([each.replace(tzinfo=None) for each in times], pa.timestamp("us")),
            "nested": pa.array([[{"x": each, "y": ["q"]}] for each in ids]),
            "pairs": pa.array(
                [[(str(each), each)] for each in ids], pa.map_(pa.string(), pa.int64())
            ),
        }
    )


@pytest.mark.req("LM-003")
def test_columns_keep_their_types_and_have_statistics(bench: Any) -> None:
    for number in range(4):
        how = {"compression": "zstd", "bloom_filter_options": {"name": True}}
        # In another order than that of their numbers, as names may be.
        put_parquet(bench, f"t/{9 - number}.parquet", everything(number), **how)
    before = bench.spark.read.parquet(bench.uri("t"))
    schema, rows = before.schema, sorted(before.collect())
    timestamps = bench.spark.conf.get("spark.sql.parquet.outputTimestampType")
    assert len(compacted(bench, "t").changed) == 1
    after = bench.spark.read.parquet(bench.uri("t"))
    assert after.schema == schema
    assert sorted(after.collect()) == rows
    assert bench.spark.conf.get("spark.sql.parquet.outputTimestampType") == timestamps

    new = the_file(bench, "t")
    group = new.metadata.row_group(0)
    found = {c.path_in_schema: c for c in map(group.column, range(group.num_columns))}
    assert {column.compression for column in found.values()} == {"ZSTD"}
    for name in ("id", "small", "name", "amount", "day", "time", "local"):
        statistics = found[name].statistics
        assert statistics.has_min_max, name
        assert statistics.null_count == (40 if name == "name" else 0)
    assert (found["id"].statistics.min, found["id"].statistics.max) == (0, 4 * ROWS - 1)
    assert found["name"].bloom_filter_offset is not None
    assert found["id"].bloom_filter_offset is None
    # The rows of a file are still one after the other.
    ids = new.read(["id"]).column("id").to_pylist()
    starts = ids[::ROWS]
    assert ids == [start + each for start in starts for each in range(ROWS)]


@pytest.mark.torture
def test_columns_that_came_later_are_empty_before(bench: Any) -> None:
    put_parquet(bench, "t/a.parquet", pa.table({"x": [1, 2], "y": ["a", "b"]}))
    put_parquet(bench, "t/b.parquet", pa.table({"y": ["c"], "x": [3], "z": [1.5]}))
    assert len(compacted(bench, "t").changed) == 1
    rows = bench.spark.read.parquet(bench.uri("t")).select("x", "y", "z").collect()
    assert sorted(map(tuple, rows)) == [(1, "a", None), (2, "b", None), (3, "c", 1.5)]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (lambda: pa.array([1, 2], pa.uint32()), "the column x is of unsigned integer"),
        pytest.param(
            lambda: pa.array([b"ab", b"cd"], pa.binary(2)),
            "the column x is of bytes of a fixed",
            marks=pytest.mark.torture,
        ),
        pytest.param(
            lambda: pa.array([1, 2], pa.timestamp("ns", "UTC")),
            "TIMESTAMP(NANOS",
            marks=pytest.mark.torture,
        ),
    ],
)
def test_what_spark_would_make_something_else_of_is_left_alone(
    bench: Any, column: Any, why: str
) -> None:
    # Not in the first file: every footer counts.
    put_parquet(bench, "t/a.parquet", pa.table({"y": pa.array([1, 2])}))
    put_parquet(bench, "t/b.parquet", pa.table({"x": column()}))
    before = bench.tree("t")
    (failed,) = compacted(bench, "t").failed
    assert why in failed.reason
    assert bench.tree("t") == before


@pytest.mark.parametrize("files", [2, FEW_FILES + 1])
def test_metadata_that_spark_would_not_write_is_told(bench: Any, files: int) -> None:
    for number in range(files):
        table = pa.table({"x": [number]})
        if number == files - 1:
            table = table.replace_schema_metadata({"geo": "{}", "pandas": "{}"})
        put_parquet(bench, f"t/{number:02}.parquet", table)
    before = bench.tree("t")
    (failed,) = compacted(bench, "t").failed
    assert "metadata that the new ones would not have: geo, pandas" in failed.reason
    assert bench.tree("t") == before
    if files > 2:
        assert len(compacted(bench, "t", drops_metadata=True).changed) == 1
        assert the_file(bench, "t").metadata.num_rows == files


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda fs, path: fs.set_permission(path, 0o600), "different modes: 0600, 0644"),
        (lambda fs, path: fs.set_owner(path, "anna"), "different owners: anna, "),
        (
            lambda fs, path: fs.set_acl(
                path, parse_acl("user::rw-,user:otto:r--,group::r--,other::r--")
            ),
            "different ACLs",
        ),
    ],
)
def test_files_that_are_not_for_the_same_eyes_are_not_put_together(
    bench: Any, change: Any, why: str
) -> None:
    for name in "ab":
        put(bench, f"t/{name}.txt", b"x\n")
    change(bench.fs, bench.path("t/b.txt"))
    before = bench.tree("t")
    found = reason_to_skip(bench.fs, state_of(bench.fs, bench.path("t")))
    assert why in found
    assert bench.tree("t") == before


def test_footer_that_cannot_be_read_is_told(bench: Any) -> None:
    for name in "ab":
        put(bench, f"t/{name}.parquet", b"PARE" + b"?" * 20 + b"PARE")
    (failed,) = compacted(bench, "t").failed
    assert "a.parquet can't be read" in failed.reason


@pytest.mark.torture
def test_corrupt_file_fails_the_compaction_whatever_the_session_says(bench: Any) -> None:
    put_parquet(bench, "t/a.parquet", pa.table({"x": [1]}))
    put(bench, "t/b.parquet", b"this is no Parquet")
    name = "spark.sql.files.ignoreCorruptFiles"
    bench.spark.conf.set(name, "true")
    try:
        (failed,) = compacted(bench, "t").failed
    finally:
        bench.spark.conf.unset(name)
    assert failed.reason
    assert set(bench.tree("t")) == {"a.parquet", "b.parquet"}


def test_table_with_buckets_is_left_alone(bench: Any) -> None:
    frame = bench.spark.range(100).repartition(3)
    writer = frame.write.bucketBy(2, "id").option("path", bench.uri("t"))
    writer.saveAsTable("bucketed")
    try:
        before = bench.tree("t")
        (told,) = compacted(bench, "t").directories
        assert "a table with buckets" in told.reason
        assert bench.tree("t") == before
    finally:
        bench.spark.sql("DROP TABLE bucketed")


def test_orc_has_the_same_rows_and_codec(bench: Any) -> None:
    orc = pytest.importorskip("pyarrow.orc", reason="pyarrow has no ORC")
    for number in range(3):
        made = io.BytesIO()
        orc.write_table(everything(number).select(["id", "name"]), made, compression="zstd")
        put(bench, f"t/{number}.orc", made.getvalue())
    rows = sorted(bench.spark.read.orc(bench.uri("t")).collect())
    assert len(compacted(bench, "t").changed) == 1
    assert sorted(bench.spark.read.orc(bench.uri("t")).collect()) == rows
    (content,) = bench.tree("t").values()
    assert orc.ORCFile(io.BytesIO(content)).compression == "ZSTD"


@pytest.mark.parametrize("codec", ["deflate", pytest.param("snappy", marks=pytest.mark.torture)])
def test_avros_own_library_reads_what_was_joined(bench: Any, tmp_path: Path, codec: str) -> None:
    # The library is in the Java that Spark's tests have: not so over Spark Connect.
    avro = bench.spark._jvm.org.apache.avro
    fields = '[{"name": "x", "type": "long"}, {"name": "y", "type": ["null", "string"]}]'
    schema = avro.Schema.Parser().parse(
        f'{{"type": "record", "name": "R", "namespace": "n", "fields": {fields}}}'
    )
    for number in range(3):
        local = tmp_path / f"{number}.avro"
        writer = avro.file.DataFileWriter(avro.generic.GenericDatumWriter(schema))
        writer.setCodec(avro.file.CodecFactory.fromString(codec))
        writer.create(schema, bench.spark._jvm.java.io.File(str(local)))
        for each in range(number * 10, number * 10 + 10):
            record = avro.generic.GenericData.Record(schema)
            record.put("x", bench.spark._jvm.java.lang.Long(each))
            record.put("y", f"name {each}" if each % 2 else None)
            writer.append(record)
            if each % 4 == 0:
                writer.sync()
        writer.close()
        put(bench, f"t/{number}.avro", local.read_bytes())
    assert len(compacted(bench, "t").changed) == 1
    (content,) = bench.tree("t").values()
    joined = tmp_path / "joined.avro"
    joined.write_bytes(content)
    file = bench.spark._jvm.java.io.File(str(joined))
    reader = avro.file.DataFileReader(file, avro.generic.GenericDatumReader())
    found = []
    while reader.hasNext():
        record = reader.next()
        found.append((record.get("x"), str(record.get("y"))))
    assert found == [(x, f"name {x}" if x % 2 else "None") for x in range(30)]
    assert reader.getSchema().equals(schema)
    assert reader.getMetaString("avro.codec") == codec
    reader.close()


def test_csv_reads_the_same_through_spark(bench: Any) -> None:
    files = {
        "t/a.csv": b'x,y\r\n1,"two\r\nlines"\r\n2,b',
        "t/b.csv": b'x,y\r\n3,"a ""word"""\r\n',
        "t/c.csv": b"x,y\r\n",
    }
    for path, data in files.items():
        put(bench, path, data)
    reader = bench.spark.read.option("header", True).option("multiLine", True).option("escape", '"')
    rows = sorted(reader.csv(bench.uri("t")).collect())
    (failed,) = compacted(bench, "t").failed
    assert "--header" in failed.reason
    assert len(compacted(bench, "t", has_headers=True).changed) == 1
    assert sorted(reader.csv(bench.uri("t")).collect()) == rows


def test_directory_keeps_what_was_said_of_it(bench: Any) -> None:
    fs, directory = bench.fs, bench.path("d")
    for name, time_ms in (("a", 5000), ("b", 9000)):
        put(bench, f"d/{name}", b"x")
        fs.set_times(f"{directory}/{name}", time_ms, time_ms + 1)
    fs.set_owner(directory, "anna", "staff")
    fs.set_acl(directory, parse_acl(",".join(ENTRIES)))
    fs.set_xattr(directory, "user.note", b"keep me")
    fs.set_quota(directory, names=100, space_bytes=1 << 30)
    fs.set_storage_policy(directory, "ONE_SSD")
    fs.set_times(directory, 7000)
    exchange = Exchange(fs, directory)
    exchange.begin()
    assert fs.get_storage_policy(exchange.building).name == "ONE_SSD"
    with fs.create(f"{exchange.building}/new") as out:
        out.write(b"xx")
    exchange.finish()
    status, file = fs.get_file_status(directory), fs.get_file_status(f"{directory}/new")
    assert (status.owner, status.group) == ("anna", "staff")
    assert sorted(map(str, fs.get_acl_status(directory).all_entries())) == sorted(ENTRIES)
    assert fs.get_xattrs(directory) == {"user.note": b"keep me"}
    summary = fs.content_summary(directory)
    assert (summary.quota, summary.space_quota) == (100, 1 << 30)
    assert fs.get_storage_policy(directory).name == "ONE_SSD"
    assert status.modification_time_ms == 7000
    assert (file.modification_time_ms, file.access_time_ms) == (9000, 9001)


def test_directory_of_which_snapshots_are_allowed_stays_so(ground: Any) -> None:
    fs, directory = ground.fs, ground.path("d")
    put(ground, "d/a", b"x")
    fs.allow_snapshot(directory)
    exchange = Exchange(fs, directory)
    exchange.begin()
    fs.write_bytes(f"{exchange.building}/new", b"x")
    kept_at = exchange.finish()
    assert fs.get_file_status(directory).is_snapshot_enabled
    fs.create_snapshot(directory, "s")
    assert fs.read_bytes(f"{directory}/.snapshot/s/new") == b"x"
    fs.delete_snapshot(directory, "s")
    fs.delete(kept_at, recursive=True)


def test_directory_with_snapshots_is_left_alone_before_any_work(ground: Any) -> None:
    fs, directory = ground.fs, ground.path("d")
    put(ground, "d/a", b"x")
    fs.allow_snapshot(directory)
    assert not reason_to_stay(fs, fs.get_file_status(directory))
    fs.create_snapshot(directory, "s")
    assert reason_to_stay(fs, fs.get_file_status(directory)) == "it has snapshots"
    fs.delete_snapshot(directory, "s")


def test_ordinary_user_hears_before_the_work_that_snapshots_would_not_be_allowed(
    howdah_cluster: MiniCluster, ground: Any
) -> None:
    ground.fs.mkdirs(ground.path("t"))
    ground.fs.set_owner(ground.path("t"), "anna")
    with howdah_cluster.connect(user="anna") as fs:
        fs.write_bytes(ground.path("t/d/a"), b"x")
        ground.fs.allow_snapshot(ground.path("t/d"))
        exchange = Exchange(fs, ground.path("t/d"))
        with pytest.raises(errors.AccessDenied, match="allow snapshot"):
            exchange.begin()
        exchange.drop()
        assert [status.name for status in fs.list_status(ground.path("t"))] == ["d"]


def test_rights_that_change_during_the_work_are_not_undone(ground: Any) -> None:
    fs, directory = ground.fs, ground.path("d")
    put(ground, "d/a", b"x")
    exchange = Exchange(fs, directory)
    exchange.begin()
    fs.write_bytes(f"{exchange.building}/new", b"x")
    fs.set_permission(directory, 0o700)
    with pytest.raises(ChangedMeanwhile):
        exchange.finish()
    assert fs.get_file_status(directory).permission == 0o700
    assert [status.name for status in fs.list_status(directory)] == ["a"]
    assert [status.name for status in fs.list_status(ground.root)] == ["d"]


@pytest.mark.parametrize("directory_policy", ["", "ONE_SSD"])
def test_files_keep_what_was_said_of_them(bench: Any, directory_policy: str) -> None:
    fs, directory = bench.fs, bench.path("d")
    for name in "ab":
        put(bench, f"d/{name}", b"x")
        fs.set_xattr(f"{directory}/{name}", "user.note", b"keep me")
        fs.set_storage_policy(f"{directory}/{name}", "COLD")
        fs.set_acl(f"{directory}/{name}", parse_acl("user::rw-,user:ute:r--,group::---,other::---"))
    if directory_policy:
        fs.set_storage_policy(directory, directory_policy)
    before = fs.get_file_status(directory)
    exchange = Exchange(fs, directory)
    assert not reason_to_skip(fs, exchange.before)
    exchange.begin()
    with fs.create(f"{exchange.building}/new") as out:
        out.write(b"xx")
    exchange.finish()
    assert fs.get_file_status(directory).storage_policy == before.storage_policy
    assert fs.get_storage_policy(f"{directory}/new").name == "COLD"
    assert fs.get_xattrs(f"{directory}/new") == {"user.note": b"keep me"}
    assert "user:ute:r--" in map(str, fs.get_acl_status(f"{directory}/new").all_entries())


def test_files_with_different_extended_attributes_are_left_alone(bench: Any) -> None:
    for name in "ab":
        put(bench, f"d/{name}", b"x")
        bench.fs.set_xattr(bench.path(f"d/{name}"), "user.note", name.encode())
    found = state_of(bench.fs, bench.path("d"))
    assert reason_to_skip(bench.fs, found) == "its files have different extended attributes"


def test_joined_file_has_the_largest_block_size_of_the_old_ones(bench: Any) -> None:
    fs = bench.fs
    for name, mebibytes in (("a.csv", 2), ("b.csv", 3)):
        with fs.create(bench.path(f"d/{name}"), block_size=mebibytes << 20) as out:
            out.write(f"{name}\n".encode())
    (changed,) = compact(bench.spark, bench.uri("d")).changed
    (file,) = fs.list_status(changed.path)
    assert file.block_size == 3 << 20


def test_files_that_may_not_be_written_are_compacted_by_their_owner(
    howdah_cluster: MiniCluster, bench: Any
) -> None:
    for directory in (bench.path("t"), "/user/anna"):
        bench.fs.mkdirs(directory)
        bench.fs.set_owner(directory, "anna")
    with howdah_cluster.connect(user="anna") as fs:
        for name in "ab":
            fs.write_bytes(bench.path(f"t/d/{name}"), b"x")
            fs.set_xattr(bench.path(f"t/d/{name}"), "user.note", b"")
            fs.set_permission(bench.path(f"t/d/{name}"), 0o444)
        fs.set_permission(bench.path("t/d"), 0o711)
        exchange = Exchange(fs, bench.path("t/d"))
        exchange.begin()
        fs.write_bytes(f"{exchange.building}/new", b"xx")
        exchange.finish()
        assert fs.get_file_status(bench.path("t/d")).permission == 0o711
        assert fs.get_file_status(bench.path("t/d/new")).permission == 0o444


def test_directory_that_its_owner_may_not_delete_is_not_replaced(
    howdah_cluster: MiniCluster, bench: Any
) -> None:
    """The old directory goes to the trash, which takes the permissions of a recursive delete."""
    for directory in (bench.path("t"), "/user/anna"):
        bench.fs.mkdirs(directory)
        bench.fs.set_owner(directory, "anna")
    with howdah_cluster.connect(user="anna") as fs:
        fs.write_bytes(bench.path("t/d/a"), b"x")
        fs.set_permission(bench.path("t/d"), 0o555)
        exchange = Exchange(fs, bench.path("t/d"))
        exchange.begin()
        fs.write_bytes(f"{exchange.building}/new", b"xx")
        with pytest.raises(errors.AccessDenied):
            exchange.finish()
        assert [status.path for status in fs.list_status(bench.path("t/d"))] == [
            bench.path("t/d/a")
        ]


ENTRIES = [
    "user::rwx",
    "user:otto:r-x",
    "group::r-x",
    "mask::r-x",
    "other::---",
    "default:user::rwx",
    "default:group::r-x",
    "default:other::---",
]
