"""Reads of cached blocks against reads of others from the page cache, remote and local.

One datanode and one client process on one machine; two files of one block each, of which one
is under a directive. All of both is in the kernel's page cache, so what is measured is what
caching changes beside disks: for bytes that cross the network what a datanode opens and reads
before it sends them, with their checksums in both cases; for local readers the checks of what
the datanode has checked.

- remote: 64 KiB at random offsets of an open file, through the datanode's TCP port, and what
  client and datanode together use of processors for one, which says more on a machine that
  has other work; the peer is the same client on Hadoop's datanode. Uncached: Hadoop's locks
  memory only with a native library, which its jars do not have. HOWDAH_HADOOP_NATIVE names a
  directory with libhadoop.so, and then the peer is a cached block there as well. The library
  that io.trino.hadoop:hadoop-apache:3.3.5-3 carries goes with the jars of Hadoop 3.3.6
  (HOWDAH_HADOOP_CLASSPATH), and not with those of 3.5;
- local: 64 KiB as memory of the block file (`pread_view`), handed out only, and copied from
  there into a buffer; and the system calls of one, counted by strace where it is there.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from apache import ApacheCluster, NoPeer
from harness import (
    MB,
    Options,
    Results,
    Skipped,
    figure,
    group_cpu,
    in_turn,
    main,
    progress,
    scratch,
)

import howdah
from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.streams import FSDataInputStream
from howdah.testing.minicluster import MiniCluster
from howdah.testing.waiting import wait_until

SIZE = 4 << 20
"""Systems let a process lock 8 MiB where nobody has said more."""
PIECE_BYTES = 64 << 10
CACHED, PLAIN = "/cached", "/plain"
APACHE = "uncached, Hadoop's datanode"
APACHE_CACHED = "cached, Hadoop's datanode"
UNCACHED = "uncached, page cache"
NATIVE = os.environ.get("HOWDAH_HADOOP_NATIVE")
VALUES: dict[str, str] = {
    "dfs.blocksize": str(SIZE),
    "dfs.replication": "1",
}


def measure(options: Options) -> Results:
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "caching"))
        # Under /tmp whatever --dir says: the path of a socket has to be short.
        sockets = stack.enter_context(tempfile.TemporaryDirectory(prefix="howdah-", dir="/tmp"))
        conf: dict[str, str | int | float | bool] = {
            **VALUES,
            "dfs.client.read.shortcircuit": True,
            "dfs.domain.socket.path": f"{sockets}/datanode",
            "dfs.datanode.max.locked.memory": 2 * SIZE,
        }
        cluster = stack.enter_context(MiniCluster(datanodes=1, dir=base / "ours", conf=conf))
        local = stack.enter_context(cluster.connect())
        assert isinstance(local, HdfsFileSystem)
        over_the_network = {"dfs.client.read.shortcircuit": "false"}
        far = stack.enter_context(
            howdah.connect(cluster.uri, conf=cluster.conf.with_values(over_the_network))
        )
        for path in (CACHED, PLAIN):
            _fill(local, path)
        local.add_cache_pool("bench", group="bench")
        local.add_cache_directive(CACHED, "bench")
        wait_until(lambda: local.block_locations(CACHED)[0].cached_hosts, 60)
        remote = {"cached": _open(stack, far, CACHED), UNCACHED: _open(stack, far, PLAIN)}
        (pid,) = (each.pid for each in cluster.processes if each.role == "datanode" and each.pid)
        pids = dict.fromkeys(remote, pid)
        try:
            theirs = stack.enter_context(_apache(base / "theirs"))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        else:
            fs = stack.enter_context(howdah.connect(theirs.uri, conf=theirs.conf))
            _fill_when_it_can_be(fs, PLAIN)
            remote[APACHE] = _open(stack, fs, PLAIN)
            pids[APACHE] = theirs.pid("datanode0")
            if NATIVE is None:
                yield Skipped(APACHE_CACHED, "HOWDAH_HADOOP_NATIVE names no libhadoop.so")
            else:
                assert isinstance(fs, HdfsFileSystem)
                _fill(fs, CACHED)
                fs.add_cache_pool("bench", group="bench")
                fs.add_cache_directive(CACHED, "bench")
                wait_until(lambda: fs.block_locations(CACHED)[0].cached_hosts, 60)
                remote[APACHE_CACHED] = _open(stack, fs, CACHED)
                pids[APACHE_CACHED] = theirs.pid("datanode0")
        yield from _remote(options, remote, pids)
        near = {"cached": _open(stack, local, CACHED), UNCACHED: _open(stack, local, PLAIN)}
        yield from _local(options, near)
        yield from _system_calls(near)


def _apache(base: Path) -> ApacheCluster:
    """Hadoop's servers, which lock memory if they can."""
    if NATIVE is None:
        return ApacheCluster(base, 1, values=VALUES)
    memory = {"dfs.datanode.max.locked.memory": str(2 * SIZE)}
    return ApacheCluster(
        base, 1, values={**VALUES, **memory}, options=[f"-Djava.library.path={NATIVE}"]
    )


def _fill(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path, overwrite=True) as out:
        for seed in range(SIZE >> 20):
            out.write(random.Random(seed).randbytes(1 << 20))


def _fill_when_it_can_be(fs: howdah.FileSystem, path: str) -> None:
    """Hadoop's datanode refuses blocks for a moment after it has registered."""
    deadline_s = time.monotonic() + 60
    while True:
        try:
            _fill(fs, path)
            return
        except errors.RemoteError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(1)


def _open(stack: ExitStack, fs: howdah.FileSystem, path: str) -> FSDataInputStream:
    """All of it was read once before it is measured."""
    stream: FSDataInputStream = stack.enter_context(fs.open(path))
    for offset in range(0, SIZE, 1 << 20):
        assert len(stream.pread(offset, 1 << 20)) == 1 << 20
    return stream


def _offsets(count: int) -> list[int]:
    return random.Random(3).choices(range(SIZE - PIECE_BYTES), k=count)


def _time(count: int, read: Callable[[int], object]) -> float:
    """Microseconds for one."""
    offsets = _offsets(count)
    started_s = time.perf_counter()
    for offset in offsets:
        read(offset)
    return (time.perf_counter() - started_s) / count * 1e6


def _remote(
    options: Options, streams: dict[str, FSDataInputStream], pids: dict[str, int]
) -> Results:
    count = 1000 if options.quick else 3000
    progress(f"{count} remote preads of {PIECE_BYTES} bytes each")
    used_s: dict[str, list[float]] = {name: [] for name in streams}

    def run(name: str) -> float:
        """Microseconds for one; what client and datanode use of processors for them is noted."""
        own_s, theirs = time.process_time(), group_cpu(pids[name])
        took_us = _time(count, partial(_pread, streams[name]))
        own_s, theirs_after = time.process_time() - own_s, group_cpu(pids[name])
        if theirs is not None and theirs_after is not None:
            used_s[name].append(own_s + (theirs_after - theirs).total_s)
        return took_us

    repeats = options.repeats(9, 9)
    values = in_turn({name: partial(run, name) for name in streams}, repeats, both_ways=True)
    yield figure(
        "remote pread of 64 KiB, cached",
        "µs",
        values.pop("cached"),
        values,
        target="1.3 times as fast",
    )
    if all(used_s.values()):
        # The system counts in hundredths of a second: all rounds that count, as one.
        us = {name: [sum(each[-repeats:]) / repeats / count * 1e6] for name, each in used_s.items()}
        yield figure(
            "remote pread of 64 KiB, cached: CPU of client and datanode",
            "µs",
            us.pop("cached"),
            us,
        )


def _pread(stream: FSDataInputStream, offset: int) -> bytes:
    return stream.pread(offset, PIECE_BYTES)


def _local(options: Options, streams: dict[str, FSDataInputStream]) -> Results:
    count = 2000 if options.quick else 20_000
    progress(f"{count} views of {PIECE_BYTES} bytes each")
    buffer = memoryview(bytearray(PIECE_BYTES))

    def copy(stream: FSDataInputStream, offset: int) -> None:
        buffer[:] = stream.pread_view(offset, PIECE_BYTES)

    given = in_turn(
        {name: partial(_time, count, partial(_view, stream)) for name, stream in streams.items()},
        options.repeats(7, 5),
    )
    yield figure("view of 64 KiB, cached", "µs", given["cached"], {UNCACHED: given[UNCACHED]})
    copied = in_turn(
        {name: partial(_time, count, partial(copy, stream)) for name, stream in streams.items()},
        options.repeats(7, 5),
    )
    rates = {name: [PIECE_BYTES / us * 1e6 / MB for us in found] for name, found in copied.items()}
    yield figure(
        "views of 64 KiB, copied out, cached",
        "MB/s",
        rates["cached"],
        {UNCACHED: rates[UNCACHED]},
    )


def _view(stream: FSDataInputStream, offset: int) -> memoryview:
    return stream.pread_view(offset, PIECE_BYTES)


def _system_calls(streams: dict[str, FSDataInputStream]) -> Results:
    name = "view of 64 KiB, cached: system calls"
    if shutil.which("strace") is None:
        yield Skipped(name, "there is no strace")
        return
    progress("system calls of a view")
    count = 1000
    found = {}
    for what, stream in streams.items():
        calls = _counted(partial(_time, count, partial(_view, stream)))
        if calls is None:
            yield Skipped(name, "strace may not be attached")
            return
        found[what] = [calls / count]
    yield figure(name, "calls", found["cached"], {UNCACHED: found[UNCACHED]})


def _counted(run: Callable[[], object]) -> int | None:
    """How many system calls this thread makes meanwhile; None where nobody may look."""
    with tempfile.TemporaryDirectory() as scratch_dir:
        said = Path(scratch_dir) / "said"
        with subprocess.Popen(
            ["strace", "-e", "signal=none", "-o", str(said), "-p", str(os.getpid())],
            stderr=subprocess.PIPE,
            text=True,
        ) as strace:
            assert strace.stderr is not None
            attached = "attached" in strace.stderr.readline()
            if attached:
                run()
            strace.send_signal(signal.SIGINT)
        return len(said.read_text().splitlines()) if attached else None


if __name__ == "__main__":
    main(measure)
