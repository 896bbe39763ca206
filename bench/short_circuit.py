"""Local reads past the datanode against reads through it: latency and throughput.

One client process on the machine of the only datanode, data in its page cache. Each
figure's subject reads from the block files (short circuit), its peers do the same work
through the datanode's TCP port in the same run, in turn, and, where it says something,
without checksums and straight from the block file with `os.pread`, which is the floor.

- open to first byte: open a file of one block, read a byte, close; with the replica's
  files already open in the client, and with every replica asked for anew (a cache of
  no size);
- pread: 4 KiB at random offsets of an open file of 256 MiB (64 with --quick);
- a view: the same 4 KiB as memory of the file (`pread_view`);
- sequential: the whole file, a MiB at a time, into one buffer.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from harness import MB, Figure, Options, Results, figure, in_turn, main, progress, scratch

import howdah
from howdah.fs.streams import FSDataInputStream
from howdah.testing.minicluster import MiniCluster

BLOCK_BYTES = 128 << 20
PIECE_BYTES = 1 << 20
PREAD_BYTES = 4096
BIG, SMALL = "/big", "/small"
LOCAL, TCP, UNCHECKED, ANEW, FILE = (
    "short circuit",
    "through the datanode",
    "short circuit, no checksums",
    "short circuit, replica asked for anew",
    "os.pread of the block file",
)


def measure(options: Options) -> Results:
    size = (64 << 20) if options.quick else (256 << 20)
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "short-circuit"))
        # Under /tmp whatever --dir says: the path of a socket has to be short.
        sockets = stack.enter_context(tempfile.TemporaryDirectory(prefix="howdah-", dir="/tmp"))
        conf: dict[str, str | int | float | bool] = {
            "dfs.client.read.shortcircuit": True,
            "dfs.domain.socket.path": f"{sockets}/datanode",
        }
        cluster = stack.enter_context(MiniCluster(datanodes=1, dir=base / "cluster", conf=conf))
        clients = {
            name: stack.enter_context(_client(cluster, values))
            for name, values in (
                (LOCAL, {}),
                (TCP, {"dfs.client.read.shortcircuit": "false"}),
                (UNCHECKED, {"dfs.client.read.shortcircuit.skip.checksum": "true"}),
                (ANEW, {"dfs.client.read.shortcircuit.streams.cache.size": "0"}),
            )
        }
        _fill(clients[LOCAL], size)
        yield _opening(options, clients)
        yield from _preads(options, clients, base, size)
        yield _sequential(options, clients, size)


@contextmanager
def _client(cluster: MiniCluster, values: dict[str, str]) -> Iterator[howdah.FileSystem]:
    with howdah.connect(cluster.uri, conf=cluster.conf.with_values(values)) as fs:
        yield fs


def _fill(fs: howdah.FileSystem, size: int) -> None:
    piece = random.Random(1).randbytes(PIECE_BYTES)
    with fs.create(BIG, block_size=BLOCK_BYTES, overwrite=True) as out:
        for _ in range(size // PIECE_BYTES):
            out.write(piece)
    with fs.create(SMALL, overwrite=True) as out:
        out.write(piece)


def _check_source(fs: howdah.FileSystem, expected: int) -> None:
    with fs.open(SMALL) as stream:
        stream.read(1)
        found = stream.statistics().short_circuit_bytes
    assert bool(found) == bool(expected), f"{found} bytes came past the datanode"


def _opening(options: Options, clients: dict[str, howdah.FileSystem]) -> Figure:
    count = 100 if options.quick else 500
    progress(f"open to first byte, {count} times each")
    for name, fs in clients.items():
        _check_source(fs, name != TCP)

    def run(fs: howdah.FileSystem) -> float:
        started_s = time.perf_counter()
        for _ in range(count):
            with fs.open(SMALL) as stream:
                stream.pread(0, 1)
        return (time.perf_counter() - started_s) / count * 1e6

    values = in_turn(
        {name: partial(run, clients[name]) for name in (LOCAL, ANEW, TCP)},
        options.repeats(7, 3),
    )
    return figure(
        "open, first byte, close", "µs", values[LOCAL], {n: values[n] for n in (TCP, ANEW)}
    )


def _preads(
    options: Options, clients: dict[str, howdah.FileSystem], base: Path, size: int
) -> Results:
    count = 2000 if options.quick else 10_000
    progress(f"{count} preads of {PREAD_BYTES} bytes each")
    offsets = random.Random(2).choices(range(size - PREAD_BYTES), k=count)
    block = max(base.rglob("blk_*"), key=lambda path: path.stat().st_size)
    block_bytes = block.stat().st_size

    def timed(read: Callable[[int], object]) -> float:
        started_s = time.perf_counter()
        for offset in offsets:
            read(offset)
        return (time.perf_counter() - started_s) / count * 1e6

    with ExitStack() as stack:
        streams: dict[str, FSDataInputStream] = {
            name: stack.enter_context(clients[name].open(BIG)) for name in (LOCAL, TCP, UNCHECKED)
        }
        descriptor = os.open(block, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        last = block_bytes - PREAD_BYTES
        runs: dict[str, Callable[[], float]] = {
            name: partial(timed, partial(_pread, stream)) for name, stream in streams.items()
        }
        runs[FILE] = partial(timed, lambda at: os.pread(descriptor, PREAD_BYTES, at % last))
        runs["view"] = partial(timed, lambda at: streams[LOCAL].pread_view(at, PREAD_BYTES))
        values = in_turn(runs, options.repeats(7, 3))
    yield figure(
        "pread of 4 KiB", "µs", values[LOCAL], {n: values[n] for n in (TCP, UNCHECKED, FILE)}
    )
    yield figure("view of 4 KiB", "µs", values["view"], {TCP: values[TCP], FILE: values[FILE]})


def _pread(stream: FSDataInputStream, offset: int) -> bytes:
    return stream.pread(offset, PREAD_BYTES)


def _sequential(options: Options, clients: dict[str, howdah.FileSystem], size: int) -> Figure:
    progress(f"{size >> 20} MiB read in order")
    buffer = bytearray(PIECE_BYTES)

    def run(fs: howdah.FileSystem) -> float:
        with fs.open(BIG) as stream:
            started_s = time.perf_counter()
            got = 0
            while count := stream.readinto(buffer):
                got += count
            took_s = time.perf_counter() - started_s
        assert got == size, f"{got} of {size} bytes"
        return size / MB / took_s

    values = in_turn(
        {name: partial(run, clients[name]) for name in (LOCAL, TCP, UNCHECKED)},
        options.repeats(7, 3),
    )
    return figure(
        "sequential read", "MB/s", values[LOCAL], {n: values[n] for n in (TCP, UNCHECKED)}
    )


if __name__ == "__main__":
    main(measure)
