"""Bulk work by Spark Connect: nothing reaches for a SparkContext."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.spark import Options, distcp
from howdah.spark.options import attributes

pytestmark = pytest.mark.timeout(240)


def test_tree_is_copied_compared_and_tidied_by_spark_connect(
    bench: Any, spark_connect: Any
) -> None:
    bench.make("src", {"a": b"1", "d/b": b"22", "same": b"3"})
    bench.make("dst", {"a": b"2", "c": b"4", "same": b"3"})
    outcome = distcp(
        spark_connect,
        bench.uri("src"),
        bench.uri("dst"),
        options=Options(update=True, delete=True, preserve=attributes("pt")),
        conf=bench.cluster.conf,
    )
    assert bench.tree("dst") == {"a": b"1", "d": None, "d/b": b"22", "same": b"3"}
    counters = outcome.counters
    assert (counters.files_copied, counters.files_skipped, counters.entries_deleted) == (2, 1, 1)
