"""`-truncate` and `-concat`: output, exit codes, and what is not touched."""

from __future__ import annotations

from typing import Any

import pytest


def test_truncate_says_what_was_done(dfs: Any) -> None:
    dfs.fs.fill("/a", b"0123456789")
    dfs.fs.fill("/b", b"0123456789")
    done = dfs("-truncate", "4", "/[ab]")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Truncated /a to length: 4\nTruncated /b to length: 4\n"
    assert dfs.fs.contents == {"/a": b"0123", "/b": b"0123"}


def test_truncate_within_a_block_says_that_it_takes_a_moment(dfs: Any) -> None:
    dfs.fs.fill("/a", b"0123456789")
    dfs.fs.recoveries = 1
    done = dfs("-truncate", "4", "/a")
    assert done.code == 0
    assert done.out == (
        "Truncating /a to length: 4. Wait for block recovery to complete before further "
        "updating this file.\n"
    )


def test_truncate_waits_when_asked_to(dfs: Any) -> None:
    dfs.fs.fill("/a", b"0123456789")
    dfs.fs.recoveries = 2
    done = dfs("-truncate", "-w", "4", "/a")
    assert done.out == "Waiting for /a ...\nTruncated /a to length: 4\n"
    assert dfs.fs.calls.count("is_file_closed /a") == 3


@pytest.mark.parametrize("length", ["-1", "x", "", "1.5", str(1 << 63), "４"])
def test_what_is_no_length_is_refused(dfs: Any, length: str) -> None:
    dfs.fs.fill("/a", b"0123456789")
    done = dfs("-truncate", length, "/a")
    assert done.code == 255
    assert dfs.fs.contents["/a"] == b"0123456789"


def test_truncate_makes_no_file_longer(dfs: Any) -> None:
    dfs.fs.fill("/a", b"0123")
    done = dfs("-truncate", "5", "/a")
    assert done.code == 255
    assert done.err.startswith(
        "-truncate: Cannot truncate to a larger file size. Current size: 4, truncate size: 5.\n"
    )
    assert dfs.fs.contents["/a"] == b"0123"


def test_truncate_cuts_no_directory_and_goes_on(dfs: Any) -> None:
    dfs.fs.fill("/d/a", b"0123")
    done = dfs("-truncate", "2", "/d", "/none", "/d/a")
    assert done.code == 1
    assert done.err == (
        "truncate: `/d': Is a directory\ntruncate: `/none': No such file or directory\n"
    )
    assert dfs.fs.contents["/d/a"] == b"01"


def test_concat_appends_files_and_removes_them(dfs: Any) -> None:
    for name in "abc":
        dfs.fs.fill(f"/{name}", name.encode())
    done = dfs("-concat", "/a", "/b", "/c")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert dfs.fs.contents == {"/a": b"abc"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Target path not specified"),
        (["/a"], "The number of source paths is less than 2"),
        (["/a", "/b"], "The number of source paths is less than 2"),
        (["/none", "/a", "/b"], "/none does not exist or is not file."),
        (["/a", "/b", "/d"], "/d does not exist or is not file."),
        (["/a", "/b", "/none"], "/none does not exist or is not file."),
    ],
)
def test_concat_of_what_cannot_be_joined_changes_nothing(
    dfs: Any, arguments: list[str], said: str
) -> None:
    dfs.fs.mkdirs("/d")
    for name in "ab":
        dfs.fs.fill(f"/{name}", name.encode())
    done = dfs("-concat", *arguments)
    assert done.code == 1
    assert said in done.err
    assert dfs.fs.contents == {"/a": b"a", "/b": b"b"}


def test_concat_says_where_a_filesystem_has_none(dfs: Any) -> None:
    for name in "abc":
        dfs.fs.fill(f"/{name}", name.encode())
    dfs.fs.refuses_concat = True
    done = dfs("-concat", "/a", "/b", "/c")
    assert done.code == 1
    assert "doesn't support concat" in done.err
