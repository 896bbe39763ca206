"""Which directories are compacted, and what names say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.spark.compaction.plan import (
    BUCKET,
    KNOWN_HIDDEN,
    Contents,
    Leftover,
    State,
    building_name,
    came_name,
    codec_of,
    is_hidden,
    parse_name,
    plan,
    ready_name,
    suffix_of,
)

SMALL = Contents("/t/d", 100, 10_000, 100, 200, (".parquet",), 0)

# -- the plan ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"files": 1}, "fewer than two"),
        ({"directories": 1}, "subdirectories"),
        ({"suffixes": ("", ".csv")}, "unknown format"),
        ({"suffixes": (".csv", ".json")}, "several formats: .csv, .json"),
        ({"files": 2, "bytes": 6000}, "large enough"),
        ({"files": 10, "bytes": 8500}, "too many bytes"),
        ({"path": "/t/[d]"}, "pattern"),
        ({"unknown": "_temporary"}, "it has _temporary beside its files"),
        ({"bucket": "part-0_00003.c000.parquet"}, "table with buckets"),
        ({"suffixes": (".csv.zst",)}, "compressed as .zst"),
        ({"suffixes": (".csv.bz2",)}, ""),
        ({"suffixes": (".orc.gz",)}, "compressed as .gz"),
    ],
)
def test_directories_are_compacted_where_it_is_worth_it(
    changes: dict[str, Any], reason: str
) -> None:
    chosen = plan(replace(SMALL, **changes), 1000)
    if reason:
        assert reason in chosen.skipped
        assert (chosen.files_saved, chosen.memory_saved(1000)) == (0, 0)
    else:
        assert not chosen.skipped


@given(st.integers(2, 10**6), st.integers(0, 10**12), st.integers(1, 10**9))
def test_no_plan_writes_more_for_a_file_than_the_target_is_large(
    files: int, size: int, target: int
) -> None:
    chosen = plan(replace(SMALL, files=files, bytes=size, blocks=files), target)
    if not chosen.skipped:
        assert 1 <= chosen.files_after < files
        assert size <= chosen.files_saved * target


def test_what_is_saved_are_files_and_blocks() -> None:
    chosen = plan(SMALL, 10_000)
    assert (chosen.files_after, chosen.files_saved, chosen.blocks_saved(10_000)) == (1, 99, 99)
    assert chosen.memory_saved(10_000) == 150 * 198
    assert chosen.space_saved(10_000) == 0, "replicated bytes stay as many"


CODED = replace(SMALL, coding_policy="RS-6-3-1024k", coded_space=4 * SMALL.bytes)


def test_coded_files_that_are_joined_lose_copies() -> None:
    target, block = 32 << 20, 128 << 20
    coded = replace(CODED, files=12, bytes=12 << 20, blocks=12, coded_space=48 << 20)
    chosen = plan(coded, target)
    # Two stripes of six cells, with three parity cells each.
    assert (chosen.files_after, chosen.space_saved(block)) == (1, 30 << 20)
    assert chosen.blocks_saved(1 << 20) == 10, "a group has six blocks of data"


def test_coded_files_that_stay_small_save_no_space() -> None:
    chosen = plan(CODED, 10_000)
    assert (chosen.files_after, chosen.space_saved(1 << 20)) == (1, 0)


def test_a_plan_that_is_skipped_saves_no_space() -> None:
    assert plan(replace(CODED, files=1), 10_000).space_saved(1 << 20) == 0


@pytest.mark.parametrize(
    ("name", "suffix", "codec"),
    [
        ("part-0.c000.snappy.parquet", ".parquet", "snappy"),
        ("a.gz.parquet", ".parquet", "gzip"),
        ("b.parquet", ".parquet", None),
        ("c.zlib.orc", ".orc", "zlib"),
        ("d.JSON.GZ", ".json.gz", None),
        ("d.tsv.zst", ".tsv.zst", None),
        ("e", None, None),
        ("f.parquet.tmp", None, None),
    ],
)
def test_names_say_what_files_are(name: str, suffix: str | None, codec: str | None) -> None:
    assert suffix_of(name) == suffix
    assert codec_of(name) == codec


@given(st.text(min_size=1).filter(lambda name: "/" not in name), st.integers(0, 2**63))
def test_names_on_the_way_are_hidden_and_say_whose_they_are(name: str, file_id: int) -> None:
    run, digest = "0123abcd", "ef"
    ready = ready_name(name, file_id, run, digest)
    assert parse_name(building_name(name, run)) == Leftover(name, State.BUILDING, run)
    assert parse_name(ready) == Leftover(name, State.READY, run, file_id, digest)
    assert parse_name(came_name(name, file_id, run)) == Leftover(name, State.CAME, run, file_id)
    assert is_hidden(ready)


@pytest.mark.parametrize(
    ("name", "is_bucket"),
    [
        ("part-00000-6a2b2b0c-27d2-4b53-8c69-0e2d3f1f8a51_00003.c000.snappy.parquet", True),
        ("part-00000-6a2b2b0c-27d2-4b53-8c69-0e2d3f1f8a51.c000.snappy.parquet", False),
        ("000003_0.orc", True),
        ("bucket_00001.orc", True),
        ("sales_2024.parquet", False),
        ("part-00000-0123456789abcdef0123456789abcdef.csv", False),
    ],
)
def test_files_of_buckets_are_known_by_their_names(name: str, is_bucket: bool) -> None:
    assert bool(re.search(BUCKET, name)) is is_bucket


@pytest.mark.parametrize(
    ("name", "is_known"),
    [("_SUCCESS", True), ("_metadata", True), (".a.parquet.crc", True), ("_temporary", False)],
)
def test_hidden_files_are_known_or_speak_of_somebody_at_work(name: str, is_known: bool) -> None:
    assert bool(re.search(KNOWN_HIDDEN, name)) is is_known


# -- rows in an order -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"files": 1}, ""),
        ({"files": 2, "bytes": 6000}, ""),
        ({"suffixes": (".csv",)}, "rows of .csv files are not ordered"),
        ({"suffixes": (".avro",)}, ""),
        ({"path": "/t/[d]", "suffixes": (".avro",)}, "Spark would take its name"),
        ({"suffixes": (".json",)}, "rows of .json files are not ordered"),
        ({"unknown": "_temporary"}, "it has _temporary beside its files"),
    ],
)
def test_rows_are_ordered_however_many_files_there_are(
    changes: dict[str, Any], reason: str
) -> None:
    chosen = plan(replace(SMALL, **changes), 1000, orders=True)
    assert chosen.orders
    assert chosen.skipped.startswith(reason)
    assert bool(chosen.skipped) is bool(reason)


def test_rows_that_are_in_order_are_written_again_only_to_save_files() -> None:
    assert not plan(SMALL, 1000, orders=True).if_ordered
    large = replace(SMALL, files=2, bytes=6000)
    assert plan(large, 1000, orders=True).if_ordered == "its files are large enough"
