"""Spark in one process on a cluster with racks, where nothing is waited for.

Why it would hang otherwise stands in test_local_mode.py.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(600)

PROGRAM = Path(__file__).with_name("usual_queries.py")


def test_usual_queries_end_with_racks_where_nothing_is_waited_for(bench: Any) -> None:
    assert bench.spark.sparkContext.getConf().get("spark.locality.wait") == "0s"
    racks = {node.location for node in bench.fs.administration.datanodes("LIVE")}
    assert len(racks) == 3, "the cluster of the tests has racks"
    spec = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.run(bench.spark, bench.uri("t"))
