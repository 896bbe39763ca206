"""Counts of many threads are all there."""

from __future__ import annotations

import threading

from howdah.client.statistics import Count, Tally
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.operation_metrics import READS, WRITES


def test_what_threads_count_is_added_up() -> None:
    tally = Tally()

    def count() -> None:
        for _ in range(10_000):
            tally.add(Count.READ_OPS)
            tally.add(Count.BYTES_READ, 3)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.totals() == (120_000, 0, 40_000, 0, 0)


def test_a_tally_that_nothing_was_added_to_is_zero() -> None:
    assert Tally().totals() == (0, 0, 0, 0, 0)


def test_operations_that_count_are_methods() -> None:
    assert all(callable(getattr(HdfsFileSystem, name)) for name in (*READS, *WRITES))
    assert not set(READS) & set(WRITES)
