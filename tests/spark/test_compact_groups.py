"""Small files beside large ones are put together; the large ones, and their readers, notice
nothing."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
import threading
import uuid
from collections import Counter
from typing import Any

import pytest

from howdah import errors
from howdah.fs.status import FileStatus
from howdah.spark import compact
from howdah.spark.compaction.directory_swap import Exchange
from howdah.spark.compaction.exchange_recovery import recover_all
from howdah.spark.compaction.plan import parse_name

pytestmark = pytest.mark.timeout(300)

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

KEPT = ("large-0.txt", "large-1.txt", "zlarge-2.txt")
SMALL_BYTES = 100


# --- by Spark -----------------------------------------------------------------------------


def file_of(kind: str, number: int, rows: int, rng: random.Random) -> bytes:
    """A file of so many rows of its own; what is random in them cannot be compressed."""
    from pyarrow import orc, parquet

    if kind == "jsonl":
        return b"".join(
            b'{"id": %d, "name": "%s"}\n'
            % (number * 10_000 + row, rng.randbytes(12).hex().encode())
            for row in range(rows)
        )
    columns = {
        "id": pa.array(range(number * 10_000, number * 10_000 + rows), pa.int64()),
        "name": pa.array([rng.randbytes(12).hex() for _ in range(rows)]),
    }
    if kind == "nested":  # is rewritten by Spark
        columns["more"] = pa.array([{"a": row, "b": "x" * (row % 3)} for row in range(rows)])
    made = io.BytesIO()
    if kind == "orc":
        orc.write_table(pa.table(columns), made)
    else:
        parquet.write_table(pa.table(columns), made)
    return made.getvalue()


@pytest.mark.req("LM-003")
@pytest.mark.parametrize("kind", ["parquet", "nested", "orc", "jsonl"])
def test_rows_stay_and_files_that_are_large_enough_are_left_as_they_are(
    bench: Any, kind: str
) -> None:
    rng = random.Random(kind)
    suffix = {"nested": "parquet"}.get(kind, kind)
    directory = bench.path("t/day=1")
    sizes = [rng.randint(5, 20) for _ in range(9)] + [rng.randint(9000, 9900) for _ in range(4)]
    rng.shuffle(sizes)
    for number, rows in enumerate(sizes):
        # Names that a list of patterns has to escape.
        path = f"{directory}/{number:02},{{a}}[b].{suffix}"
        bench.fs.write_bytes(path, file_of(kind, number, rows, rng))
        bench.fs.set_xattr(path, "user.number", b"%d" % (number if rows > 1000 else 0))
        bench.fs.set_permission(path, 0o640 + (number % 4 if rows > 1000 else 0))
    old = {status.name: status for status in bench.fs.list_status(directory)}
    large = {name: status for name, status in old.items() if status.length > 100_000}
    assert len(large) == 4
    reader = bench.spark.read.format("json" if kind == "jsonl" else suffix)
    before = Counter(map(str, reader.load(bench.uri("t")).toLocalIterator()))

    preview = compact(
        bench.spark, bench.uri("t"), target_bytes=200_000, conf=bench.cluster.conf, dry_run=True
    )
    found = compact(bench.spark, bench.uri("t"), target_bytes=200_000, conf=bench.cluster.conf)

    (done,) = found.changed
    assert (done.files_before, done.files_after, done.files_kept) == (13, 5, 4)
    assert done.bytes == sum(s.length for s in old.values()) - sum(s.length for s in large.values())
    assert [(each.files_after, each.bytes) for each in preview.changed] == [(5, done.bytes)]
    new = {status.name: status for status in bench.fs.list_status(directory)}
    assert len(new) == 5
    assert {name: new[name] for name in large} == large, "inodes, times and modes"
    for name in large:
        assert bench.fs.get_xattr(f"{directory}/{name}", "user.number") == b"%d" % int(name[:2])
    assert Counter(map(str, reader.load(bench.uri("t")).toLocalIterator())) == before
    kept = [status.name for status in bench.fs.list_status(done.kept_at)]
    assert sorted([*kept, *large]) == sorted(old), "the trash has the small ones, for undoing it"
    assert not [s for s in bench.fs.list_status(bench.path("t")) if parse_name(s.name)]
    # Nothing is left to be done.
    again = compact(bench.spark, bench.uri("t"), target_bytes=200_000, conf=bench.cluster.conf)
    assert not again.changed


# --- the exchange alone -------------------------------------------------------------------


def prepare(bench: Any, directory: str) -> None:
    for number in range(3):
        bench.fs.write_bytes(f"{directory}/small-{number}.txt", b"0\n")
    for number, name in enumerate(KEPT):
        bench.fs.write_bytes(f"{directory}/{name}", b"large-%d\n" % number * 100)


def exchange(fs: Any, directory: str, generation: int) -> str:
    made = Exchange(fs, directory, most_bytes=SMALL_BYTES)
    assert made.kept == KEPT
    made.begin()
    run = uuid.uuid4().hex
    for number in range(3):
        with fs.create(f"{made.building}/part-{number}-{run}.txt") as out:
            out.write(b"%d\n" % generation)
    return made.finish()


def large(listed: list[FileStatus]) -> list[FileStatus]:
    return [status for status in listed if status.length > SMALL_BYTES]


def test_readers_find_the_directory_and_each_file_at_any_time(bench: Any) -> None:
    directory = bench.path("d")
    prepare(bench, directory)
    first = large(bench.fs.list_status(directory))
    ended = threading.Event()
    seen: list[list[FileStatus]] = []
    failures: list[Exception] = []

    def read() -> None:
        with bench.cluster.connect() as other:
            while not ended.is_set():
                try:
                    seen.append(other.list_status(directory))
                    for name in KEPT:
                        assert other.open(f"{directory}/{name}").read().startswith(b"large")
                except Exception as error:  # noqa: BLE001 - raised below
                    failures.append(error)
                    return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for generation in range(1, 60):
        exchange(bench.fs, directory, generation)
    ended.set()
    for thread in readers:
        thread.join(60)
    assert not failures, failures[0]
    assert len(seen) > 20
    for listed in seen:
        assert large(listed) == first
        runs = {status.name.partition("-")[2].partition("-")[2] for status in listed} - {""}
        small = [status for status in listed if status.length <= SMALL_BYTES]
        assert len(small) == 3
        assert len({status.name.split("-")[-1] for status in small}) in (1, 3), runs


def test_namenode_that_renames_one_by_one_is_asked_for_each(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Hadoop's and routers do: what follows a rename in its request is unknown to them."""
    directory = bench.path("d")
    prepare(bench, directory)
    first = large(bench.fs.list_status(directory))

    def only_the_first(renames: list[tuple[str, str]], *, to_trash: bool = False) -> int:
        bench.fs.rename_to_trash(*renames[0])
        return 1

    monkeypatch.setattr(bench.fs, "rename_in_turn", only_the_first)
    kept_at = exchange(bench.fs, directory, 1)
    found = bench.fs.list_status(directory)
    assert large(found) == first
    assert len(found) == 6
    assert len(bench.fs.list_status(kept_at)) == 3
    assert [status.name for status in bench.fs.list_status(bench.path(""))] == ["d"]


def test_who_may_not_move_the_files_leaves_the_directory_alone(bench: Any) -> None:
    directory = bench.path("d")
    prepare(bench, directory)
    other = bench.cluster.connect(user="ann")
    bench.fs.set_permission(bench.path(""), 0o777)
    bench.fs.set_owner(directory, "ann", None)
    bench.fs.set_permission(directory, 0o555)
    from howdah.spark.compaction.directory_state import reason_to_stay

    with other:
        status = other.get_file_status(directory)
        assert "cannot be moved" in reason_to_stay(other, status, keeps_files=True)
        assert not reason_to_stay(other, status)


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
import howdah
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from test_compact_groups import exchange

left = {steps}

def until_killed(real):
    def rename(self, *args, **how):
        global left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(self, *args, **how)
    return rename

def only_the_first(self, renames, *, to_trash=False):
    self.rename_to_trash(*renames[0])
    return 1

HdfsFileSystem.rename = until_killed(HdfsFileSystem.rename)
HdfsFileSystem.rename_to_trash = until_killed(HdfsFileSystem.rename_to_trash)
HdfsFileSystem.rename_in_turn = only_the_first
fs = howdah.connect({uri!r}, user={user!r}, conf=Configuration({conf!r}))
exchange(fs, {directory!r}, 2)
"""
STEPS = 7
"""To `part`, the old directory away, three files, the new one in its place, the old one to the
trash."""


@pytest.mark.parametrize("steps", [2, 4, 5, 6])
def test_process_that_is_killed_at_a_rename_is_put_right_by_the_next_run(
    bench: Any, steps: int
) -> None:
    directory = bench.path("d")
    prepare(bench, directory)
    before = {status.name: status for status in bench.fs.list_status(directory)}
    program = KILLED.format(
        here=str(__file__).rpartition("/")[0],
        steps=steps,
        uri=bench.cluster.uri,
        user=bench.fs.user,
        conf=dict(bench.cluster.conf.items()),
        directory=directory,
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL
    if steps < STEPS - 1:
        with pytest.raises(errors.PathNotFound):
            bench.fs.list_status(directory)
    left = [status.path for status in bench.fs.list_status(bench.path(""))]
    done, undecided = recover_all(bench.fs, left, lambda _: None)
    assert not undecided
    after = {status.name: status for status in bench.fs.list_status(directory)}
    assert [status.name for status in bench.fs.list_status(bench.path(""))] == ["d"]
    if steps < STEPS - 1:
        assert (done, after) == ([], before)
    else:
        assert done == [directory]
        assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}
        assert len(after) == 6
