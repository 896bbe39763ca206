"""Directories that are exchanged on a namenode: no reader finds a time without them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.spark.compaction.directory_swap import swap
from howdah.testing import MiniCluster

EXCHANGES = 100
READERS = 4


class Reader:
    """Looks for the directory all the time, on a connection of its own."""

    def __init__(self, fs: FileSystem, look: Callable[[FileSystem], object]) -> None:
        self.looks = 0
        self.missed: list[str] = []
        self._fs, self._look = fs, look
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            self.looks += 1
            try:
                self._look(self._fs)
            except (errors.PathNotFound, AssertionError) as error:
                self.missed.append(str(error))

    def end(self) -> None:
        self._ended.set()
        self._thread.join(60)


def lists(fs: FileSystem) -> None:
    fs.list_status("/table/day=1")


def lists_its_parent(fs: FileSystem) -> None:
    assert "day=1" in {each.name for each in fs.list_status("/table")}


@pytest.mark.req("LM-003")
def test_no_reader_finds_a_time_without_the_directory() -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        fs.mkdirs("/table/day=1")
        fs.mkdirs("/table/.ready")
        others = [cluster.connect() for _ in range(READERS)]
        readers = [
            Reader(other, (lists, lists_its_parent)[number % 2])
            for number, other in enumerate(others)
        ]
        try:
            for number in range(EXCHANGES):
                ways = ("/table/day=1", f"/kept-{number}", "/table/.ready", f"/came-{number}")
                swap(fs, *ways, to_trash=number % 2 == 1)
                fs.rename(f"/kept-{number}", "/table/.ready")
        finally:
            for reader in readers:
                reader.end()
            for other in others:
                other.close()
        assert [reader.missed for reader in readers] == [[]] * READERS
        assert min(reader.looks for reader in readers) >= EXCHANGES / 10
