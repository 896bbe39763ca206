"""Small files: 10,000 of 10 KB, written and read back whole, one and sixteen at a time.

Both clients run in this process on our servers, one datanode and one replica, in turn; the
sixteen are threads, and every thread has a directory of its own. What counts are files a
second; beside it, the processor time that this process used for a file, which says what a
client costs where the servers are elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import hdfs_native
from harness import Options, Results, figure, main, progress, scratch

import howdah
from howdah.fs.api import FileSystem
from howdah.testing.minicluster import MiniCluster

FILE_BYTES = 10_000
BLOCK_BYTES = 128 << 20
AT_A_TIME = (1, 16)
OURS, NATIVE = "howdah", "hdfs-native"


@dataclass(frozen=True, slots=True)
class Client:
    """One file written, one read, and a tree removed."""

    write: Callable[[str], object]
    read: Callable[[str], int]
    remove: Callable[[str], object]


def ours(fs: FileSystem, data: bytes) -> Client:
    def write(path: str) -> None:
        with fs.create(path, overwrite=True, replication=1) as out:
            out.write(data)

    def read(path: str) -> int:
        with fs.open(path) as source:
            return len(source.read())

    return Client(write, read, lambda path: fs.delete(path, recursive=True))


def native(uri: str, conf: dict[str, str], data: bytes) -> Client:
    client = hdfs_native.Client(uri, conf)
    options = hdfs_native.WriteOptions(block_size=BLOCK_BYTES, replication=1, overwrite=True)

    def write(path: str) -> None:
        with client.create(path, options) as out:
            out.write(data)

    def read(path: str) -> int:
        with client.read(path) as source:
            return len(source.read())

    return Client(write, read, lambda path: client.delete(path, True))


def run(
    each: Callable[[str], object], root: str, files: int, at_a_time: int
) -> tuple[float, float]:
    """Files a second, and µs of this process' processor time for each."""

    def some(number: int) -> None:
        for place in range(files // at_a_time):
            each(f"{root}/{number}/{place}")

    begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(at_a_time) as threads:
        list(threads.map(some, range(at_a_time)))
    took_s, cpu_s = time.perf_counter() - begun_s, time.process_time() - begun_cpu_s
    done = files // at_a_time * at_a_time
    return done / took_s, cpu_s / done * 1e6


def measure(options: Options) -> Results:
    files = 800 if options.quick else 10_000
    data = bytes(range(250)) * (FILE_BYTES // 250)
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "small"))
        cluster = stack.enter_context(MiniCluster(datanodes=1, dir=base / "howdah"))
        fs = stack.enter_context(howdah.connect(cluster.uri, conf=cluster.conf))
        clients = {
            OURS: ours(fs, data),
            NATIVE: native(cluster.uri, dict(cluster.conf.items()), data),
        }
        for client in clients.values():
            client.write("/one")
            assert client.read("/one") == FILE_BYTES
        for at_a_time in AT_A_TIME:
            rates: dict[tuple[str, str], list[float]] = {}
            costs: dict[tuple[str, str], list[float]] = {}
            for number in range(1 + options.repeats(5, 3)):  # the first round is to warm up
                for name, client in clients.items():
                    progress(f"{at_a_time} at a time: {name}, round {number}")
                    for act, call in (("write", client.write), ("read", client.read)):
                        rate, cost_us = run(call, "/small", files, at_a_time)
                        if number:
                            rates.setdefault((act, name), []).append(rate)
                            costs.setdefault((act, name), []).append(cost_us)
                    client.remove("/small")
            for act in ("write", "read"):
                what = f"{act} files of 10 KB, {at_a_time} at a time"
                yield figure(
                    what, "files/s", rates[act, OURS], {NATIVE: rates[act, NATIVE]}, target="≥ 1 ×"
                )
                yield figure(
                    f"{what}: CPU of the client",
                    "µs",
                    costs[act, OURS],
                    {NATIVE: costs[act, NATIVE]},
                )


if __name__ == "__main__":
    main(measure)
