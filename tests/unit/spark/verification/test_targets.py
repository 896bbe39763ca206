"""Which of the paths that `verify` is given are listed."""

from __future__ import annotations

import pytest

from howdah.fs.status import FileStatus
from howdah.spark.verification import job


def statuses(*paths: str) -> dict[str, FileStatus]:
    return {path: FileStatus(path, 0, True, 0, 0, 0, 0, 0o755, "ann", "staff") for path in paths}


def test_paths_below_others_are_listed_once() -> None:
    given = statuses("/a/c", "/a-b", "/a", "/a/c/d", "/b!", "/b/x", "/b")
    assert [each.path for each in job._outermost(given)] == ["/a", "/a-b", "/b", "/b!"]
    assert [each.path for each in job._outermost(statuses("/a", "/"))] == ["/"]


def test_each_of_many_paths_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    original = job._is_below

    def noting(path: str, other: str) -> bool:
        compared.append(path)
        return original(path, other)

    monkeypatch.setattr(job, "_is_below", noting)
    given = statuses(*(f"/data/{number}" for number in range(2000)))
    assert len(job._outermost(given)) == 2000
    assert len(compared) < 2000
