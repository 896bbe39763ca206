"""A mirror: how far it is behind, and what small files cost.

Two clusters of ours, one datanode each, one replica. A mirror (`howdah mirror`, a process, a round
every two seconds) follows a directory to which a writer adds files of 10 kB at a rate, renames one
in ten and deletes one in ten. Twice a second the lag is looked up as anybody would:
`howdah.mirror.status`, which compares the newest common snapshot with the source.

The first copy is of 2,000 files of 1 kB, by `mirror_once` on two processes; the peer is our
`howdah sync -update` of the same tree, which takes no snapshots. Then a hundred of the files are
written again, and a directory of all the others is renamed.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from harness import Options, Results, figure, main, progress, scratch

import howdah
from howdah.config import Configuration
from howdah.mirror import Settings, mirror_once
from howdah.mirror.status import status
from howdah.sync.job import sync
from howdah.testing.minicluster import MiniCluster

SMALL_BYTES = 1_000
WRITTEN_BYTES = 10_000
RATES = (5, 50)
INTERVAL_S = 2
CHANGED = 100


def fill(fs: howdah.FileSystem, count: int, path: Callable[[int], str], size: int) -> None:
    def write(number: int) -> None:
        fs.write_bytes(path(number), number.to_bytes(8, "big") * (size // 8))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(count)))


def measure(options: Options) -> Results:
    files = 200 if options.quick else 2000
    seconds = 10 if options.quick else 60
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "mirror"))
        conf: dict[str, str | int | float | bool] = {"dfs.replication": 1}
        here, there = (
            stack.enter_context(MiniCluster(datanodes=1, dir=base / name, conf=conf))
            for name in ("here", "there")
        )
        fs = stack.enter_context(here.connect())
        yield from _rounds(here, there, fs, files)
        for rate in RATES:
            yield from _lag(base, here, there, fs, rate, seconds)


def _rounds(here: MiniCluster, there: MiniCluster, fs: howdah.FileSystem, files: int) -> Results:
    fill(fs, files, lambda number: f"/small/d/{number:05}", SMALL_BYTES)
    settings = Settings(processes=2)

    def rounded(what: str) -> float:
        began_s = time.monotonic()
        done = mirror_once(f"{here.uri}/small", f"{there.uri}/small", settings, conf=here.conf)
        took_s = time.monotonic() - began_s
        progress(f"{what}: {took_s:.1f} s, {done.counters.files_copied} files")
        return took_s

    began_s = time.monotonic()
    sync(f"{here.uri}/small", f"{there.uri}/synced", processes=2, conf=here.conf)
    synced_s = time.monotonic() - began_s
    first_s = rounded("first copy")
    yield figure(
        f"a first copy of {files:,} files of 1 kB",
        "files/s",
        [files / first_s],
        {"howdah sync": [files / synced_s]},
    )
    fill(fs, CHANGED, lambda number: f"/small/d/{number:05}", 2 * SMALL_BYTES)
    yield figure(f"a round with {CHANGED} changed files", "s", [rounded("changed")])
    fs.rename("/small/d", "/small/e")
    yield figure(f"a round with a rename of {files:,} files", "s", [rounded("renamed")])
    yield figure("a round without a change", "s", [rounded("nothing") for _ in range(3)])


def _lag(
    base: Path,
    here: MiniCluster,
    there: MiniCluster,
    fs: howdah.FileSystem,
    rate: int,
    seconds: int,
) -> Results:
    source, target = f"{here.uri}/at{rate}", f"{there.uri}/at{rate}"
    fs.mkdirs(f"/at{rate}")
    mirror_once(source, target, Settings(processes=2), conf=here.conf)
    log = base / f"mirror{rate}.log"
    command = [sys.executable, "-m", "howdah", "mirror", "--interval", str(INTERVAL_S), "-m", "2"]
    with log.open("w") as out, subprocess.Popen([*command, source, target], stderr=out) as running:
        try:
            lags, written = _written(fs, f"/at{rate}", rate, seconds, target, here.conf)
            ended_s = time.monotonic()
            while (status(target, conf=here.conf).lag_s or 0.0) > 0:
                time.sleep(0.2)
                assert running.poll() is None, log.read_text()[-2000:]
                assert time.monotonic() < ended_s + 300, "it never catches up"
            caught_s = time.monotonic() - ended_s
        finally:
            running.terminate()
    what = f"{written / seconds:.0f} files a second ({rate} asked for)"
    progress(f"{what}: lag {statistics.median(lags):.1f} s, at most {max(lags):.1f}")
    yield figure(f"lag, {what}", "s", lags)
    yield figure(f"longest lag, {what}", "s", [max(lags)])
    yield figure(f"catches up, {what}", "s", [caught_s])


def _written(
    fs: howdah.FileSystem, top: str, rate: int, seconds: int, target: str, conf: Configuration
) -> tuple[list[float], int]:
    """Write at a rate; the lags that were seen meanwhile, and how many files were written."""
    lags: list[float] = []
    begun_s = time.monotonic()
    look_s = begun_s + 2 * INTERVAL_S
    for number in itertools.count():
        now_s = time.monotonic()
        if now_s >= begun_s + seconds:
            return lags, number
        time.sleep(max(begun_s + number / rate - now_s, 0))
        fs.write_bytes(f"{top}/{number:06}", bytes(WRITTEN_BYTES))
        if number % 10 == 5:
            fs.rename(f"{top}/{number - 2:06}", f"{top}/renamed{number:06}")
        if number % 10 == 9:
            fs.delete(f"{top}/{number - 8:06}")
        if time.monotonic() >= look_s:
            lags.append(status(target, conf=conf).lag_s or 0.0)
            look_s = time.monotonic() + 0.5
    raise AssertionError("the count has no end")


if __name__ == "__main__":
    main(measure)
