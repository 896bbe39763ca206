"""Five thousand small files of Parquet are compacted while others read them."""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from howdah import errors
from howdah.spark import compact
from howdah.spark.compaction.plan import parse_name

pytestmark = [pytest.mark.timeout(1800), pytest.mark.torture]

FILES = 5000
ROWS = 20
GONE = ("PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFoundException")


def small_file(number: int) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    ids = list(range(number * ROWS, (number + 1) * ROWS))
    made = io.BytesIO()
    parquet.write_table(pa.table({"id": ids, "name": [f"name {each}" for each in ids]}), made)
    return made.getvalue()


def fill(bench: Any, partitions: int) -> None:
    def write(number: int) -> None:
        where = f"part={number % partitions}/" if partitions > 1 else ""
        with bench.fs.create(bench.path(f"t/{where}{number:05}.parquet")) as out:
            out.write(small_file(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(FILES)))


def content(bench: Any) -> tuple[int, int]:
    """How many rows, and a number that depends on all of them."""
    rows = bench.spark.read.parquet(bench.uri("t"))
    columns = ", ".join(sorted(rows.columns))
    found = rows.selectExpr("count(*) AS rows", f"bit_xor(xxhash64({columns})) AS mixed").first()
    return found["rows"], found["mixed"]


class Readers:
    """One by Spark of all rows, and one by our client: of a directory, every byte."""

    def __init__(self, bench: Any, directory: str) -> None:
        self._bench = bench
        self._directory = directory
        self._ended = threading.Event()
        self.rows: list[tuple[int, int]] = []
        self.lengths: list[int] = []
        self.refused: list[str] = []
        self._threads = [threading.Thread(target=each) for each in (self._by_spark, self._by_ours)]

    def _by_spark(self) -> None:
        while not self._ended.is_set():
            try:
                self.rows.append(content(self._bench))
            except Exception as error:  # noqa: BLE001
                self.refused.append(str(error))

    def _by_ours(self) -> None:
        with self._bench.cluster.connect() as fs:
            while not self._ended.is_set():
                try:
                    listed = [s for s in fs.list_status(self._directory) if s.length]
                    read = 0
                    for status in listed:
                        with fs.open(status.path) as stream:
                            read += len(stream.read())
                except errors.PathNotFound:
                    continue
                assert read == sum(status.length for status in listed)
                self.lengths.append(read)

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(300)


@pytest.mark.req("LM-003")
@pytest.mark.parametrize("partitions", [1, 20])
def test_five_thousand_files_are_compacted_under_readers(bench: Any, partitions: int) -> None:
    fill(bench, partitions)
    before = content(bench)
    assert before[0] == FILES * ROWS
    summary = bench.fs.content_summary(bench.path("t"))
    target = summary.length // 4 if partitions == 1 else summary.length
    directory = bench.path("t" if partitions == 1 else "t/part=0")
    length = bench.fs.content_summary(directory).length
    with Readers(bench, directory) as readers:
        found = compact(bench.spark, bench.uri("t"), target_bytes=target, conf=bench.cluster.conf)
    assert not found.failed
    assert len(found.changed) == partitions
    assert content(bench) == before
    assert set(readers.rows) <= {before}
    assert all(any(name in why for name in GONE) for why in readers.refused), readers.refused
    new = bench.fs.content_summary(directory).length
    assert set(readers.lengths) <= {length, new}

    # Right sizes: as many as planned, and none of them much larger than was asked for.
    sizes = [
        status.length
        for each in found.changed
        for status in bench.fs.list_status(each.path)
        if not status.name.startswith("_")
    ]
    assert len(sizes) == sum(each.files_after for each in found.changed)
    assert max(sizes) <= 2 * target
    assert not [s for s in bench.fs.list_status(bench.path("")) if parse_name(s.name)]

    # And all of it back again.
    for each in found.changed:
        bench.fs.delete(each.path, recursive=True)
        bench.fs.rename(each.kept_at, each.path)
    assert content(bench) == before
    assert bench.fs.content_summary(bench.path("t")).file_count == FILES
