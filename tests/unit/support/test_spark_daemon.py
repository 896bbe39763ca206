"""The process that forks Python workers for Spark in tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from tests.support.spark_daemon import PRELOADED, may_fork, preload
preload()
assert set(PRELOADED) <= set(sys.modules)
print(may_fork())
ended = threading.Event()
threading.Thread(target=ended.wait).start()
print(may_fork())
ended.set()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted on Linux only")
def test_what_is_imported_beforehand_starts_no_threads() -> None:
    for package in ("pyspark", "pandas", "pyarrow"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["True", "False"]
