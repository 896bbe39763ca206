"""A word names the path that exists as it is, and else what it matches."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from howdah.fs.api import FileSystem
from howdah.fs.path_expansion import named
from howdah.fs.registry import connect

_numbers = itertools.count()
FILES = ("r[1]", "r1", "{a,b}", "a", "b", "*", "q?", "qx", "x\\*", "x*")


@pytest.fixture
def fs() -> FileSystem:
    fs = connect(f"mem://named-{next(_numbers)}/")
    for name in FILES:
        fs.write_bytes(f"/d/{name}", b"")
    return fs


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("prefix", ["", "uri"])
def test_path_that_exists_is_itself(fs: FileSystem, name: str, prefix: str) -> None:
    word = f"{prefix and fs.uri}/d/{name}"
    assert [status.path for status in named(fs, word)] == [f"/d/{name}"]


def test_other_words_are_patterns(fs: FileSystem) -> None:
    assert [status.name for status in named(fs, "/d/[ab]")] == ["a", "b"]
    assert [status.name for status in named(fs, "/{d,e}/{a,c}")] == ["a"]
    assert [status.name for status in named(fs, r"/d/r\[1\]")] == ["r[1]"]
    assert named(fs, "/d/none*") == []
    assert named(fs, "/d/a/x*") == []


def test_pattern_that_could_be_no_path_is_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    fs = connect("file:///")
    many = ",".join(f"name{number}" for number in range(100))
    found = named(fs, f"{tmp_path}/{{a,{many}}}")
    assert [status.name for status in found] == ["a"]


def test_words_that_are_relative_mean_no_pattern_of_the_working_directory() -> None:
    fs = connect(f"mem://named-{next(_numbers)}/", user="x[1]")
    fs.write_bytes("/user/x[1]/a1", b"")
    fs.write_bytes("/user/x1/a1", b"")
    assert [status.path for status in named(fs, "a[1]")] == ["/user/x[1]/a1"]
