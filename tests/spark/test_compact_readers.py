"""Who reads a directory while it is exchanged sees what was or what is, and never half of it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.spark.compaction.directory_swap import Exchange
from howdah.spark.compaction.exchange_recovery import recover
from howdah.spark.compaction.plan import parse_name
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(300)

FILES = 24
MOST_EXCHANGES = 200
# A directory that isn't there for a moment, a file that has gone since it was listed.
GONE = ("PathNotFound", "PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFoundException")


def write_files(fs: FileSystem, directory: str, generation: int, files: int = FILES) -> None:
    """So many files with the same line, under names that nobody had before."""
    run = uuid.uuid4().hex
    for number in range(files):
        with fs.create(f"{directory}/part-{number:05}-{run}.txt") as out:
            out.write(b"%d\n" % generation)


def exchange(fs: FileSystem, directory: str, generation: int, files: int = FILES) -> str:
    made = Exchange(fs, directory)
    made.begin()
    write_files(fs, made.building, generation, files)
    return made.finish()


class Reader:
    """Reads again and again, in a thread, and keeps count of what it saw."""

    def __init__(self, read: Callable[[], Counter[str]]) -> None:
        self._read = read
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.seen: list[Counter[str]] = []
        self.refused: list[str] = []

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.seen.append(self._read())
            except Exception as error:  # noqa: BLE001
                self.refused.append(f"{type(error).__name__}: {error}")

    @property
    def attempts(self) -> int:
        return len(self.seen) + len(self.refused)

    def wait_for_another(self) -> None:
        before = self.attempts
        wait_until(lambda: self.attempts > before, timeout_s=60, what="somebody to read")

    @contextmanager
    def reading(self) -> Any:
        self._thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._thread.join(60)

    def check(self, files: int = FILES) -> None:
        """Each time all the files of one generation, or an error that says they are gone."""
        mixed = [each for each in self.seen if len(each) != 1 or each.total() != files]
        assert not mixed, f"{len(mixed)} of {len(self.seen)} readings, such as {mixed[0]}"
        odd = [why for why in self.refused if not any(name in why for name in GONE)]
        assert not odd, odd[0]


def through_our_client(fs: FileSystem, directory: str) -> Callable[[], Counter[str]]:
    def read() -> Counter[str]:
        found: Counter[str] = Counter()
        for status in fs.list_status(directory):
            with fs.open(status.path) as stream:
                found[stream.read().decode()] += 1
        return found

    return read


def through_spark(bench: Any, directory: str) -> Callable[[], Counter[str]]:
    def read() -> Counter[str]:
        rows = bench.spark.read.text(bench.cluster.uri + directory).groupBy("value").count()
        return Counter({row["value"]: row["count"] for row in rows.collect()})

    return read


@pytest.mark.req("LM-003")
def test_readers_in_python_and_java_see_one_generation_through_many_exchanges(bench: Any) -> None:
    directory = bench.path("d")
    write_files(bench.fs, directory, 0)
    with bench.cluster.connect() as other, ExitStack() as stack:
        ours = Reader(through_our_client(other, directory))
        spark = Reader(through_spark(bench, directory))
        for each in (ours, spark):
            stack.enter_context(each.reading())
        for generation in range(1, MOST_EXCHANGES):
            exchange(bench.fs, directory, generation)
            if len(ours.seen) >= 20 and len(spark.seen) >= 3:
                break
            # One exchange for each time that Spark, the slower one, reads.
            spark.wait_for_another()
    ours.check()
    spark.check()
    assert len(ours.seen) >= 20
    assert len(spark.seen) >= 3
    assert not [s for s in bench.fs.list_status(bench.path("")) if parse_name(s.name)]


def test_file_that_was_listed_before_the_exchange_and_opened_after_it(bench: Any) -> None:
    fs, directory = bench.fs, bench.path("d")
    write_files(fs, directory, 1, 2)
    first, second = fs.list_status(directory)
    handle = fs.get_path_handle(second, may_change=False, may_move=True)
    with fs.open(first.path) as opened:
        kept_at = exchange(fs, directory, 2, 2)
        # Who has it open reads on, and so does who holds a handle; by its name it is gone.
        assert opened.read() == b"1\n"
        with fs.open_path_handle(handle) as later:
            assert later.read() == b"1\n"
        with pytest.raises(errors.PathNotFound):
            fs.open(first.path).read()
        with fs.open(f"{kept_at}/{first.name}") as original:
            assert original.read() == b"1\n"


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
import howdah
from howdah.config import Configuration
from howdah.spark.compaction import directory_swap
from test_compact_readers import exchange

def first_rename_alone(fs, ready, directory, away, leaving, pair):
    leaving.result()
    os.kill(os.getpid(), signal.SIGKILL)

directory_swap._take_place = first_rename_alone
fs = howdah.connect({uri!r}, user={user!r}, conf=Configuration({conf!r}))
exchange(fs, {directory!r}, 2, 3)
"""


def test_process_killed_between_the_renames_is_put_right_by_the_next(bench: Any) -> None:
    fs, directory = bench.fs, bench.path("d")
    write_files(fs, directory, 1, 3)
    program = KILLED.format(
        here=str(__file__).rpartition("/")[0],
        uri=bench.cluster.uri,
        user=fs.user,
        conf=dict(bench.cluster.conf.items()),
        directory=directory,
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not fs.exists(directory)
    (left,) = fs.list_status(bench.path(""))
    assert recover(fs, left.path) == directory
    assert through_our_client(fs, directory)() == Counter({"2\n": 3})
