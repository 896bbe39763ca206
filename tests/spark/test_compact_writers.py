"""Whoever else is at work on a tree that is compacted: writers, other jobs, other runs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import pytest

from howdah import errors
from howdah.cli import compact as command
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.tree_lock import is_lock, locked
from howdah.spark import compact
from howdah.spark.compaction.directory_state import reason_to_skip, state_of
from howdah.spark.compaction.directory_swap import ChangedMeanwhile, Exchange
from howdah.spark.compaction.plan import State, parse_name
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(300)
KILLED_AT = (State.BUILDING, "end", State.READY)
"""Whichever of two runs is so far; the last one ends the work of all."""


def put(bench: Any, path: str, data: bytes) -> None:
    with bench.fs.create(bench.path(path)) as out:
        out.write(data)


def lines(bench: Any, path: str) -> Counter[bytes]:
    return Counter(line for data in bench.tree(path).values() for line in (data or b"").split())


@pytest.mark.req("LM-003")
def test_writer_that_the_namenode_hears_nothing_of_keeps_its_file_in_place(ground: Any) -> None:
    for name in "ab":
        put(ground, f"d/{name}.txt", b"1\n")
    directory = ground.path("d")
    exchange = Exchange(ground.fs, directory)
    exchange.begin()
    put(ground, f"{exchange.building[len(ground.root) + 1 :]}/new.txt", b"1\n1\n")
    out = ground.fs.append(f"{directory}/a.txt")
    out.write(b"2\n")
    out.hflush()
    with pytest.raises(ChangedMeanwhile, match=r"a\.txt is open"):
        exchange.finish()
    out.write(b"3\n")
    out.close()
    assert lines(ground, "d") == Counter({b"1": 2, b"2": 1, b"3": 1})
    assert not [s.name for s in ground.fs.list_status(ground.path("")) if parse_name(s.name)]


def test_file_that_is_open_is_known_to_everybody(ground: Any) -> None:
    for number in range(4):
        put(ground, f"d/{number}.txt", b"1\n")
    directory = ground.path("d")
    assert not state_of(ground.fs, directory).is_written
    with ground.fs.append(f"{directory}/3.txt"):
        found = state_of(ground.fs, directory)
        assert found.written == "3.txt"
        assert reason_to_skip(ground.fs, found) == "somebody is writing 3.txt"
    with ground.fs.create(f"{directory}/new.txt"):
        assert state_of(ground.fs, directory).written == "new.txt"
    with pytest.raises(errors.PathNotFound):
        state_of(ground.fs, f"{directory}/none")


def test_tree_that_somebody_writes_to_or_works_on_is_compacted_in_part(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for day in ("free", "open", "taken"):
        for name in "ab":
            put(bench, f"logs/{day}/{name}.log", b"1\n")
    root, uri = bench.path("logs"), bench.uri("logs")
    with bench.fs.append(f"{root}/open/b.log"):
        with locked(bench.fs, f"{root}/taken", "another job"):
            assert command.main([uri, "--json", "-m", "1"], bench.cluster.conf) == 1
            told = json.loads(capsys.readouterr().out)["directories"]
            # The dry run sees the writer as well.
            (open_file,) = [
                each
                for each in compact(
                    bench.spark, uri, dry_run=True, conf=bench.cluster.conf
                ).directories
                if each.path == f"{root}/open"
            ]
        with locked(bench.fs, root, "another job"), pytest.raises(TreeLocked, match="another job"):
            compact(bench.spark, uri, conf=bench.cluster.conf)
    reasons = {each["path"].rpartition("/")[2]: each["reason"] for each in told}
    assert open_file.reason == reasons["open"] == "somebody is writing b.log"
    assert "is held by another job" in reasons["taken"]
    assert reasons["free"] == ""
    assert len(bench.tree("logs/free")) == 1
    assert len(bench.tree("logs/open")) == len(bench.tree("logs/taken")) == 2
    assert not [s.name for s in bench.fs.list_status(bench.path("")) if is_lock(s.name)]


def test_tree_that_is_not_there_gets_no_lock(bench: Any) -> None:
    with pytest.raises(errors.PathNotFound):
        compact(bench.spark, bench.uri("none/there"), conf=bench.cluster.conf)
    assert bench.fs.list_status(bench.path("")) == []


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_two_runs_at_once_killed_again_and_again_under_a_writer_lose_no_line(
    ground: Any,
) -> None:
    """Commands in processes of their own, on a tree that another process appends to."""
    wanted: Counter[bytes] = Counter()
    for day in range(4):
        for number in range(12):
            line = b"%d/%d" % (day, number)
            put(ground, f"t/day={day}/{number:02}.txt", line + b"\n")
            wanted[line] += 1
    ended = threading.Event()

    def write() -> None:
        with ground.cluster.connect() as fs:
            for number in range(10_000):
                if ended.is_set():
                    return
                directory = f"{ground.path('t')}/day={number % 4}"
                line = b"w%d" % number
                try:
                    # A file of its own, or one that is there: it may go before it is opened.
                    files = [s for s in fs.list_status(directory) if s.is_file]
                    if number % 3 and files:
                        out = fs.append(files[number % len(files)].path)
                    else:
                        out = fs.create(f"{directory}/new{number}.txt", create_parent=False)
                except (errors.HowdahError, OSError):
                    continue
                with out:
                    out.write(line + b"\n")
                    out.hflush()
                    wanted[line] += 1
                    ended.wait(0.05)
                    out.write(line + b"\n")
                wanted[line] += 1

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "howdah", "compact", "--master", "local[2]", ground.uri("t")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    running: list[subprocess.Popen[str]] = []
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for state in KILLED_AT:
            runs = [start(), start()]
            running.extend(runs)

            def is_time(state: str = state, runs: list[Any] = runs) -> bool:
                found = (s.name for d in ("", "t") for s in ground.fs.list_status(ground.path(d)))
                left = (parse_name(name) for name in found)
                at_it = any(each is not None and each.state == state for each in left)
                return at_it or all(run.poll() is not None for run in runs)

            wait_until(is_time, 600)
            for run in runs:
                run.kill()
                run.communicate(timeout=600)
    finally:
        ended.set()
        writer.join(60)
        for run in running:
            run.kill()
    done = start()
    said, _ = done.communicate(timeout=600)
    assert done.returncode == 0, said
    assert lines(ground, "t") == wanted
    left = [path for path in ground.tree("") if "howdah" in path]
    assert not left
