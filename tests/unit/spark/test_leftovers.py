"""Which names are those of what a killed job leaves behind."""

from __future__ import annotations

import re

import pytest

from howdah.fs.transfers import _temporary
from howdah.spark.namespace_reports import LEFTOVERS


def is_leftover(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in LEFTOVERS)


@pytest.mark.parametrize(
    "name",
    [
        "_temporary",
        ".spark-staging-1",
        ".hive-staging_hive_2026",
        ".distcp.tmp.0123456789abcdef",
        "._WIP_target.0123456789abcdef.run",
        "a.csv._COPYING_",
        pytest.param(_temporary("/d/a.csv").rpartition("/")[2], id="of a put"),
    ],
)
def test_names_of_what_a_job_removes_at_its_end(name: str) -> None:
    assert is_leftover(name)


@pytest.mark.parametrize("name", ["a.csv", "temporary", "a._COPYING_.csv", "a._COPYING_too"])
def test_names_of_what_stays(name: str) -> None:
    assert not is_leftover(name)
