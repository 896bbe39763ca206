"""Reports for which a namespace is not enough, or which need a rule: on frames made for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from howdah import errors
from howdah.protocol.striping.layout import FileLayout
from howdah.protocol.striping.policies import policy_named
from howdah.spark import namespace_reports as reports

pytestmark = pytest.mark.timeout(240)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
MIB = 1 << 20
SCHEMA = (
    "path string, type string, owner string, length long, space long, block_size long, "
    "erasure_coding_policy string, modification_time timestamp, access_time timestamp"
)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def file(path: str, length: int = 100, days: float = 0, **more: Any) -> tuple[Any, ...]:
    return (
        path,
        more.get("type", "file"),
        more.get("owner", "ann"),
        length,
        more.get("space", 3 * length),
        more.get("block_size", 128 * MIB),
        more.get("policy"),
        ago(days),
        more.get("read", ago(days)),
    )


def found(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_days_and_owners_have_what_is_left_of_what_they_wrote(spark: Any) -> None:
    rows = spark.createDataFrame(
        [
            file("/a/1", 10),
            file("/a/2", 20, owner="bob"),
            file("/a/3", 5, days=1),
            file("/a", 0, type="directory"),
        ],
        SCHEMA,
    )
    assert [(str(day), *others) for day, *others in found(reports.by_day(rows))] == [
        ("2026-11-30", "bob", 1, 20, 60),
        ("2026-11-30", "ann", 1, 10, 30),
        ("2026-11-29", "ann", 1, 5, 15),
    ]


def test_tables_that_nobody_reads_come_first(spark: Any) -> None:
    rows = spark.createDataFrame(
        [
            file("/w/hot/p=1/f", 10, days=9),
            file("/w/hot/p=2/f", 10, days=8),
            file("/w/cold/f", 10, days=7),
            file("/w/never/f", 10, days=6),
            file("/top", 10),
        ],
        SCHEMA,
    )
    lines = [
        (True, "open", "/w/hot/p=1/f", ago(3)),
        (True, "open", "/w/hot/p=3/gone", ago(1)),
        (True, "open", "/w/cold/f", ago(2)),
        (False, "open", "/w/never/f", ago(1)),
        (True, "delete", "/w/never/g", ago(1)),
        (True, "open", "/elsewhere/f", ago(1)),
        (None, None, None, None),
    ]
    audit = spark.createDataFrame(lines, "allowed boolean, cmd string, src string, time timestamp")
    cold = [
        (row["path"], row["files"], row["reads"]) for row in reports.coldest(rows, audit).collect()
    ]
    assert sorted(cold[:2]) == [("/", 1, 0), ("/w/never", 1, 0)]
    assert cold[2:] == [("/w/cold", 1, 1), ("/w/hot", 2, 2)]
    last = {row["path"]: row["last_read"] for row in reports.coldest(rows, audit).collect()}
    assert last["/w/never"] is None
    assert last["/w/hot"].timestamp() == ago(1).timestamp()


def test_what_killed_jobs_left_is_found(spark: Any) -> None:
    rows = spark.createDataFrame(
        [
            file("/w/t/_temporary/0/task/f", 10, days=5),
            file("/w/t/_temporary/0", 0, type="directory", days=9),
            file("/w/u/_temporary/0/f", 10, days=1),
            file("/w/x/.spark-staging-7/p=1/f", 20, days=5),
            file("/w/y/data.csv._COPYING_", 30, days=5),
            file("/w/z/.distcp.tmp.abc", 0, type="directory", days=5),
            file("/w/z/my_temporary_file", 40, days=5),
            file("/w/line\nbreak/_temporary/f", 1, days=5),
        ],
        SCHEMA,
    )
    assert [row[:3] for row in found(reports.orphans(rows, NOW_MS))] == [
        ("/w/y/data.csv._COPYING_", 1, 30),
        ("/w/x/.spark-staging-7", 1, 20),
        ("/w/t/_temporary", 1, 10),
        ("/w/line\nbreak/_temporary", 1, 1),
        ("/w/z/.distcp.tmp.abc", 0, 0),
    ]


@pytest.mark.parametrize("name", ["RS-6-3-1024k", "RS-3-2-1024k", "XOR-2-1-1024k"])
def test_space_with_a_policy_is_that_of_its_layout(spark: Any, name: str) -> None:
    policy = policy_named(name)
    block_size = 4 * MIB
    group = block_size * policy.schema.data_units
    lengths = {0, 1, MIB - 1, MIB, MIB + 1, 7 * MIB + 3, group - 1, group, group + 1}
    lengths |= {5 * group + step for step in (-1, 0, 1, MIB, 6 * MIB, 6 * MIB + 1)}
    frame = spark.createDataFrame(
        [(length, block_size) for length in sorted(lengths)], "length long, block_size long"
    )
    spaces = frame.select("length", reports.coded_space(policy).alias("space")).collect()
    assert {row["length"]: row["space"] for row in spaces} == {
        length: FileLayout(policy, length, block_size).space for length in lengths
    }


def test_cold_replicated_files_would_save_space(spark: Any) -> None:
    rows = spark.createDataFrame(
        [
            file("/w/old/a", 600 * MIB, days=100),
            file("/w/old/small", 10, days=100),
            file("/w/read/a", 600 * MIB, days=100, read=ago(5)),
            file("/w/new/a", 600 * MIB, days=5),
            file("/w/coded/a", 600 * MIB, days=100, policy="RS-6-3-1024k", space=900 * MIB),
        ],
        SCHEMA,
    )
    assert found(reports.coding_savings(rows, NOW_MS)) == [
        ("/w/old", 1, 600 * MIB, 1800 * MIB, 900 * MIB, 900 * MIB)
    ]
    with pytest.raises(errors.UnsupportedOperation, match="'GOLD' does not say"):
        reports.coding_savings(rows, NOW_MS, policy="GOLD")
