"""The process that forks the Python workers of a Spark in tests: PySpark's own, with the
modules of our tasks imported already.

A worker whose task has failed, or was not read to its end, is not used again, and one that
stood idle for a minute neither; tests do all of that. Each new one would import pandas,
PyArrow and howdah for a second. Spark is told of this module by
`spark.python.daemon.module`; without it, as for users, workers import what they need.

A process of several threads cannot be forked safely, which is why PySpark's own imports
nothing. So libraries are told to start none; where one does so all the same, or it cannot be
seen, PySpark's own takes this one's place.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path
from typing import Final

_THREADS: Final = Path("/proc/self/task")
# NumPy and PyArrow read them when they are loaded.
_NO_THREADS: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
PRELOADED: Final = (
    "pyspark.worker",
    "pandas",
    "pyarrow.parquet",
    "howdah.client.reading.input",
    "howdah.client.writing.output",
    "howdah.fs.hdfs.replicas",
    "howdah.spark.compaction.concat",
    "howdah.copy.tasks",
    "howdah.spark.listing.spark_rounds",
    "howdah.copy.locks.tree_lock",
    "howdah.spark.usage_report.image_tasks",
    "howdah.spark.verification.tasks",
)


def preload() -> None:
    """Import what tasks need, in this thread alone."""
    os.environ.update(_NO_THREADS)
    for module in PRELOADED:
        importlib.import_module(module)


def may_fork() -> bool:
    """Whether this process has one thread, for all that can be seen."""
    return _THREADS.is_dir() and len(list(_THREADS.iterdir())) == 1


def main() -> None:
    preload()
    if not may_fork():
        # Its output is for Spark, which awaits the number of a port.
        print("Python workers import for themselves: there are threads", file=sys.stderr)
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *sys.argv[1:]])
    from pyspark.daemon import manager

    gc.collect()
    # What is here now is shared by all workers: the collector shall not copy its pages.
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
