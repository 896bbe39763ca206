"""Python workers of the Spark that tests share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no /proc")
def test_they_are_forked_by_a_process_that_has_imported_everything(spark: Any) -> None:
    def parent(_: int) -> str:
        return Path(f"/proc/{os.getppid()}/cmdline").read_text()

    (command,) = spark.sparkContext.parallelize([0], 1).map(parent).collect()
    assert "tests.support.spark_daemon" in command
