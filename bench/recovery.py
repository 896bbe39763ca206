"""What a writer loses when a datanode of its pipeline dies.

Four datanodes, three replicas, so that a pipeline that loses one can get another. In
turn, each place of the pipeline is hit.

- *Time to the next ack*: records of 100 bytes with an hflush after each, while a
  datanode is killed (`kill -9`), or frozen (SIGSTOP). The figure is the longest hflush of
  the run, that is, the time from the datanode's death to the next acknowledged packet.
  A killed one is noticed at once, a frozen one by its silence: after
  `dfs.client.socket-timeout`, which is 60 s by default and 2 s here, and 5 s more for
  each node that the one who waits has behind it, which no key can set.
- *Throughput*: a file of several blocks is written as fast as it goes; in the third one
  a datanode is killed.

Peer: Hadoop's Java client on the same servers; the throughput without a death.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from harness import MB, Figure, Options, Results, Skipped, figure, main, progress, scratch
from jvm import JavaFileSystem, Jvm
from sync import JAVA, REPLICAS, jvm_with_loops

from howdah.fs.api import FileSystem
from howdah.java import NoJava
from howdah.testing.minicluster import MiniCluster
from howdah.testing.spark import NoSpark
from howdah.testing.waiting import wait_until

T = TypeVar("T")

DATANODES = 4
BLOCK_BYTES = 32 << 20
BLOCKS = 8
WRITING_S = 1.5
"""So long at least are records written, and a datanode hit soon after the first."""
PATIENCE_S = 60.0
CONF = {
    "dfs.client.socket-timeout": 2000,
    "dfs.blocksize": BLOCK_BYTES,
    "dfs.namenode.heartbeat.recheck-interval": 500,
}


def measure(options: Options) -> Results:
    repeats = options.repeats(9, 2)
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "recovery"))
        cluster = stack.enter_context(
            MiniCluster(datanodes=DATANODES, dir=base / "howdah", conf=CONF)
        )
        fs = stack.enter_context(cluster.connect())
        bench = Bench(cluster, fs, base)
        try:
            jvm = stack.enter_context(jvm_with_loops(base / "jvm"))
        except (NoJava, NoSpark) as error:
            yield Skipped(JAVA, error.message)
        else:
            bench.know_java(jvm)
        yield bench.next_ack("killed", cluster.kill, repeats)
        yield bench.next_ack("frozen", cluster.pause, options.repeats(6, 1))
        yield from bench.throughput(repeats)


class Bench:
    """A cluster whose datanodes die and come back."""

    def __init__(self, cluster: MiniCluster, fs: FileSystem, base: Path) -> None:
        self._cluster = cluster
        self._fs = fs
        self._local = base / "local"
        self._local.write_bytes(bytes(BLOCKS * BLOCK_BYTES))
        self._loops: dict[str, Callable[[str], float]] = {"howdah": self._longest}
        self._writes: dict[str, Callable[[str], object]] = {"howdah": self._write}

    def know_java(self, jvm: Jvm) -> None:
        conf = self._cluster.conf
        java: JavaFileSystem = jvm.file_system(conf, {})

        def longest(path: str) -> float:
            loops = jvm.java.SyncLoop
            millis = int(WRITING_S * 1000)
            return float(loops.longest(java.unwrapped, path, REPLICAS, 100, millis)) / 1e9

        self._loops[JAVA] = longest
        self._writes[JAVA] = lambda path: java.write(self._local, path)

    def _longest(self, path: str) -> float:
        longest_s = 0.0
        with self._fs.create(path, overwrite=True) as out:
            end_s = time.perf_counter() + WRITING_S
            while (begun_s := time.perf_counter()) < end_s:
                out.write(bytes(100))
                out.hflush()
                longest_s = max(longest_s, time.perf_counter() - begun_s)
        return longest_s

    def _write(self, path: str) -> None:
        buffer = bytearray(1 << 20)
        with self._local.open("rb", buffering=0) as source:
            with self._fs.create(path, overwrite=True) as out:
                while count := source.readinto(buffer):
                    out.write(memoryview(buffer)[:count])

    # -- deaths ---------------------------------------------------------------------------

    def _victim(self, path: str, blocks: int, place: int) -> str | None:
        """The server at `place` of the pipeline, once the file has so many blocks."""
        if not self._fs.exists(path):
            return None
        found = self._fs.block_locations(path)
        if len(found) < blocks or len(found[-1].names) < REPLICAS:
            return None
        address = found[-1].names[place % REPLICAS]
        return next(
            server.name
            for server in self._cluster.processes
            if server.addresses.get("data") == address
        )

    def _hit(self, path: str, blocks: int, place: int, how: Callable[[str], object]) -> None:
        victims: list[str] = []

        def found() -> bool:
            victim = self._victim(path, blocks, place)
            victims.extend([victim] if victim else [])
            return bool(victims)

        wait_until(found, PATIENCE_S, "a pipeline to hit")
        how(victims[0])

    def _heal(self) -> None:
        for server in self._cluster.processes:
            if server.pid is None:
                self._cluster.restart(server.name)
            else:
                self._cluster.resume(server.name)
        wait_until(lambda: len(self._fs.datanode_report("live")) == DATANODES, PATIENCE_S)

    def _during(
        self,
        path: str,
        blocks: int,
        hit: Callable[[str], object],
        place: int,
        call: Callable[[], T],
    ) -> T:
        """What `call` returns, while a datanode is hit."""
        hitter = threading.Thread(target=self._hit, args=(path, blocks, place, hit))
        hitter.start()
        result = call()
        hitter.join()
        self._heal()
        self._fs.delete(path)
        return result

    # -- figures --------------------------------------------------------------------------

    def next_ack(self, what: str, hit: Callable[[str], object], repeats: int) -> Figure:
        values: dict[str, list[float]] = {client: [] for client in self._loops}
        for number in range(repeats):
            for client, loop in self._loops.items():
                progress(f"a datanode is {what}: {client}, {number + 1}")
                path = f"/{what}-{number}-{client.split()[0]}"
                values[client].append(
                    self._during(path, 1, hit, number, lambda: loop(path))  # noqa: B023
                )
        own = values.pop("howdah")
        return figure(f"a datanode is {what}: time to the next ack", "s", own, values)

    def throughput(self, repeats: int) -> Results:
        """MB/s with and without a death, for each client."""
        whole: dict[str, list[float]] = {client: [] for client in self._writes}
        dying: dict[str, list[float]] = {client: [] for client in self._writes}
        for number in range(repeats + 1):
            for client, write in self._writes.items():
                progress(f"throughput: {client}, {number}")
                path = f"/throughput-{number}-{client.split()[0]}"

                def rate() -> float:
                    begun_s = time.perf_counter()
                    write(path)  # noqa: B023
                    return BLOCKS * BLOCK_BYTES / MB / (time.perf_counter() - begun_s)

                undisturbed = rate()
                self._fs.delete(path)
                disturbed = self._during(path, 3, self._cluster.kill, number, rate)
                if number:  # the first round is to warm up
                    whole[client].append(undisturbed)
                    dying[client].append(disturbed)
        for client in self._writes:
            peers = {"without a death": whole[client]}
            if client == "howdah" and JAVA in dying:
                peers[JAVA] = dying[JAVA]
            yield figure(f"write while a datanode dies, {client}", "MB/s", dying[client], peers)


if __name__ == "__main__":
    main(measure)
