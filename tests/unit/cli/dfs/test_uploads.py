"""`-abortUploads` where there are none, and where its words make no sense."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_filesystem_without_uploads_says_so(dfs: Any) -> None:
    done = dfs("-abortUploads", "/")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"abortUploads: `/': {dfs.fs.uri} has no uploads: only files of object stores are "
        "uploaded\n"
    )


@pytest.mark.parametrize("age", ["x", "-1", "", "1w", "-0.5d"])
def test_what_is_no_age_is_refused(dfs: Any, age: str) -> None:
    done = dfs("-abortUploads", "-age", age, "/")
    assert done.code == 255
    assert done.err.startswith(f"-abortUploads: -age {age}: ")


def test_a_path_has_to_be_named(dfs: Any) -> None:
    done = dfs("-abortUploads", "-list")
    assert done.code == 255
    assert "Usage: howdah dfs [generic options] -abortUploads [-list] [-age <duration>]" in done.err
