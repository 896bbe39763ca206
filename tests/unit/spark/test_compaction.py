"""What is compacted, how lines are joined, and how directories are exchanged."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import howdah
from howdah import errors
from howdah.fs import memory
from howdah.fs.api import FileSystem
from howdah.spark.compaction_plan import (
    Contents,
    building_name,
    codec_of,
    is_hidden,
    parse_name,
    plan,
    ready_name,
    suffix_of,
)
from howdah.spark.exchange import ChangedMeanwhile, Exchange, recover
from howdah.spark.joining_lines import HeadersDiffer, join

_numbers = itertools.count()
SMALL = Contents("/t/d", 100, 10_000, 100, 200, (".parquet",), 0)


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    name = f"compaction-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


def put(fs: FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(data)


def get(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


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
        ({"path": "/log/x"}, "keeps a list of the files below /log"),
    ],
)
def test_directories_are_compacted_where_it_is_worth_it(
    changes: dict[str, Any], reason: str
) -> None:
    chosen = plan(replace(SMALL, **changes), 1000, ["/log"])
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


@pytest.mark.parametrize(
    ("name", "suffix", "codec"),
    [
        ("part-0.c000.snappy.parquet", ".parquet", "snappy"),
        ("a.gz.parquet", ".parquet", "gzip"),
        ("b.parquet", ".parquet", None),
        ("c.zlib.orc", ".orc", "zlib"),
        ("d.JSON.GZ", ".json.gz", None),
        ("e", None, None),
        ("f.parquet.tmp", None, None),
    ],
)
def test_names_say_what_files_are(name: str, suffix: str | None, codec: str | None) -> None:
    assert suffix_of(name) == suffix
    assert codec_of(name) == codec


@given(st.text(min_size=1).filter(lambda name: "/" not in name))
def test_names_on_the_way_are_hidden_and_say_whose_they_are(name: str) -> None:
    assert parse_name(building_name(name)) == (name, False)
    assert parse_name(ready_name(name)) == (name, True)
    assert is_hidden(ready_name(name))


# -- lines -------------------------------------------------------------------------------


def joined(
    fs: FileSystem, files: dict[str, bytes], shares: int = 1, suffix: str = ".txt", **how: Any
) -> bytes:
    for name, data in files.items():
        put(fs, f"/d/{name}{suffix}", gzip.compress(data) if suffix.endswith("gz") else data)
    put(fs, "/d/_SUCCESS", b"")
    for number in range(shares):
        share = {
            "directory": "/d",
            "building": "/new",
            "suffix": suffix,
            "number": number,
            "shares": shares,
        }
        join(fs, share, has_headers=how.get("has_headers", False))
    made = [get(fs, status.path) for status in fs.list_status("/new")]
    return b"".join(gzip.decompress(each) if suffix.endswith("gz") else each for each in made)


@pytest.mark.parametrize("suffix", [".txt", ".json.gz"])
def test_lines_stay_lines_in_the_order_of_the_names(fs: FileSystem, suffix: str) -> None:
    files = {"b": b"3\n4", "a": b"1\n2\n", "c": b"", "d": b"5"}
    assert joined(fs, files, 1, suffix) == b"1\n2\n3\n4\n5\n"


@given(
    files=st.lists(st.lists(st.binary(max_size=30).filter(lambda b: b"\n" not in b)), max_size=12),
    shares=st.integers(1, 5),
)
def test_no_line_is_lost_however_many_files_are_made(files: list[list[bytes]], shares: int) -> None:
    name = f"compaction-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as fs:
        fs.mkdirs("/d")
        named = {f"{n:03}": b"".join(line + b"\n" for line in f) for n, f in enumerate(files)}
        assert joined(fs, named, shares) == b"".join(named.values())
    memory.forget(name)


def test_one_header_is_kept_and_others_have_to_be_the_same(fs: FileSystem) -> None:
    files = {"a": b"x,y\n1,2\n", "b": b"x,y\n3,4", "c": b"", "d": b"x,y"}
    assert joined(fs, files, suffix=".csv", has_headers=True) == b"x,y\n1,2\n3,4\n"
    with pytest.raises(HeadersDiffer, match=r"/d/e\.csv"):
        joined(fs, {"e": b"y,x\n"}, suffix=".csv", has_headers=True)


# -- the exchange ------------------------------------------------------------------------


def exchange_of(fs: FileSystem) -> Exchange:
    put(fs, "/t/d/old1", b"1")
    put(fs, "/t/d/old2", b"2")
    exchange = Exchange(fs, "/t/d", now=lambda: 1.0)
    exchange.begin()
    put(fs, f"{exchange.building}/new", b"12")
    return exchange


def names(fs: FileSystem, path: str) -> list[str]:
    return [status.name for status in fs.list_status(path)]


def test_new_directory_takes_the_place_and_the_old_one_can_be_had_back(fs: FileSystem) -> None:
    fs_mode = 0o750
    exchange = exchange_of(fs)
    fs.set_permission("/t/d", fs_mode)
    exchange = Exchange(fs, "/t/d")
    exchange.begin()
    put(fs, f"{exchange.building}/new", b"12")
    kept_at = exchange.finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["new"]
    assert names(fs, kept_at) == ["old1", "old2"]
    assert fs.get_file_status("/t/d").permission == fs_mode


def test_directory_that_was_written_to_is_left_alone(fs: FileSystem) -> None:
    exchange = exchange_of(fs)
    put(fs, "/t/d/old3", b"3")
    with pytest.raises(ChangedMeanwhile, match="/t/d"):
        exchange.finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["old1", "old2", "old3"]


class Killed(Exception):
    """The process ends here."""


@pytest.mark.parametrize("step", range(3))
def test_killed_at_any_rename_the_next_run_puts_it_right(
    fs: FileSystem, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = exchange_of(fs)
    done = itertools.count()
    rename = fs.rename

    def renames_until_killed(src: Any, dst: Any, **how: Any) -> None:
        if next(done) == step:
            raise Killed
        rename(src, dst, **how)

    with monkeypatch.context() as patch:
        patch.setattr(fs, "rename", renames_until_killed)
        with pytest.raises(Killed):
            exchange.finish()
    for name in names(fs, "/t"):
        if parse_name(name) is not None:
            recover(fs, f"/t/{name}")
    assert names(fs, "/t") == ["d"]
    # Until the old one has gone nothing has happened; from then on it all has.
    assert names(fs, "/t/d") == (["new"] if step == 2 else ["old1", "old2"])


@pytest.mark.parametrize("step", range(3))
def test_rename_that_fails_leaves_the_old_directory_or_what_is_to_take_its_place(
    fs: FileSystem, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = exchange_of(fs)
    done = itertools.count()
    rename = fs.rename

    def renames_that_fail(src: Any, dst: Any, **how: Any) -> None:
        if next(done) == step:
            raise errors.RemoteError("the namenode is away")
        rename(src, dst, **how)

    with monkeypatch.context() as patch:
        patch.setattr(fs, "rename", renames_that_fail)
        with pytest.raises(errors.RemoteError):
            exchange.finish()
        exchange.drop()
    if step < 2:
        assert names(fs, "/t") == ["d"]
        assert names(fs, "/t/d") == ["old1", "old2"]
    else:
        assert names(fs, "/t") == [ready_name("d")]
        assert recover(fs, f"/t/{ready_name('d')}") == "/t/d"
        assert names(fs, "/t/d") == ["new"]


def test_root_cannot_be_exchanged(fs: FileSystem) -> None:
    with pytest.raises(errors.IllegalArgument):
        Exchange(fs, "/")
