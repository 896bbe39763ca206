"""MB/s of OPEN and CREATE through WebHDFS, beside Hadoop's namenode and datanode.

One file (256 MiB of random bytes, 64 MiB with --quick) at one replica goes into a cluster and
comes back, by one client and by four at once: curl, and our own `webhdfs://`. The clusters take
turns, ours, Hadoop's, ours, Hadoop's: what disturbs the machine disturbs both. The bytes are in
the page cache; the redirection by the namenode is part of it. MB are millions of bytes.

Three or more processes hand each other every byte, so on a busy machine the rate tells who had
to wait for a core. CPU time beside it tells what the work was: of the datanode, and of this
process, which is our client.
"""

from __future__ import annotations

import getpass
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

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
from transfer import _fill

import howdah
from howdah.config import Configuration, keys
from howdah.testing.minicluster import MiniCluster

OURS, APACHE = "howdah", "Hadoop's servers"
USER = "user.name"
GOALS = {"OPEN": "≥ 1.3 × Hadoop's", "CREATE": "≥ 1.1 × Hadoop's"}
TOGETHER = (1, 4)
ROUNDS = 7
_BUFFER_BYTES = 1 << 20
_START_S = 120.0


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster, by the address of its namenode's web server; `pid` is its datanode's."""

    http: str
    conf: Configuration
    user: str
    pid: int

    def located(self, method: str, path: str, query: str) -> str:
        """Where the namenode sends one who asks for this."""
        target = f"{self.http}/webhdfs/v1{path}?op={query}&noredirect=true&{USER}={self.user}"
        with urlopen(Request(target, method=method), timeout=60) as answer:
            return str(json.load(answer)["Location"])


Transfer = Callable[[Place, Path, str], None]


def measure(options: Options) -> Results:
    size = (64 if options.quick else 256) << 20
    if shutil.which("curl") is None:
        yield Skipped("curl", "it is not installed")
        return
    with scratch(options, "webhdfs") as base, ExitStack() as stack:
        local = base / "local.bin"
        _fill(local, size)
        values = {"dfs.replication": "1", "dfs.blocksize": str(128 << 20)}
        ours = stack.enter_context(MiniCluster(datanodes=1, conf=values))
        user = getpass.getuser()
        (pid,) = (each.pid for each in ours.processes if each.role == "datanode" and each.pid)
        places = {OURS: Place(ours.http.rstrip("/"), ours.conf, user, pid)}
        try:
            peer = stack.enter_context(ApacheCluster(base / "apache", 1, values=values))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        else:
            http = "http://{}:{}".format(*peer.conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS))
            places[APACHE] = Place(http, peer.conf, user, peer.pid("datanode0"))
        for place in places.values():
            _wait(place)
        for client, (create, read) in CLIENTS.items():
            for number in TOGETHER:
                for operation, act in (("CREATE", create), ("OPEN", read)):
                    progress(f"{operation}, {client}, {number} at once")
                    yield from _compared(places, local, operation, client, number, act)


def _wait(place: Place) -> None:
    deadline_s = time.monotonic() + _START_S
    while True:
        try:
            place.located("PUT", "/none", "CREATE")
            return
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.2)


def _compared(
    places: Mapping[str, Place],
    local: Path,
    operation: str,
    client: str,
    number: int,
    act: Transfer,
) -> Results:
    size = number * local.stat().st_size
    datanode: dict[str, list[float]] = {name: [] for name in places}
    own: dict[str, list[float]] = {name: [] for name in places}

    def run(name: str, place: Place) -> float:
        used, own_s, before_s = group_cpu(place.pid), time.process_time(), time.perf_counter()
        with ThreadPoolExecutor(number) as pool:
            for _ in pool.map(lambda each: act(place, local, f"/{client}{each}"), range(number)):
                continue
        took_s = time.perf_counter() - before_s
        own_took_s, used_after = time.process_time() - own_s, group_cpu(place.pid)
        if used is not None and used_after is not None:
            datanode[name].append((used_after - used).total_s / (size / 1e9))
        own[name].append(own_took_s / (size / 1e9))
        return size / MB / took_s

    found = in_turn({name: partial(run, name, place) for name, place in places.items()}, ROUNDS)
    ratios = [a / b for a, b in zip(found[OURS], found.get(APACHE, []), strict=False)]
    spread = f"; ratios {min(ratios):.2f}–{max(ratios):.2f}" if ratios else ""
    what = f"{operation}, {client}, {number} at once"
    yield figure(
        f"{what}{spread}",
        "MB/s",
        found[OURS],
        {APACHE: found.get(APACHE, [])},
        target=GOALS[operation],
    )
    for whose, cpu in (("datanode", datanode), ("client", own)):
        # The CPU of curl is that of a process of its own.
        if cpu[OURS] and (whose == "datanode" or client != "curl"):
            # Without the round that warms up.
            last = {name: values[-ROUNDS:] for name, values in cpu.items()}
            yield figure(
                f"{what}: CPU of the {whose}",
                "s/GB",
                last[OURS],
                {APACHE: last.get(APACHE, [])},
            )


# -- the clients ----------------------------------------------------------------------


def _curl(*arguments: str) -> None:
    subprocess.run(["curl", "--silent", "--show-error", "--fail", *arguments], check=True)


def _curl_create(place: Place, local: Path, path: str) -> None:
    location = place.located("PUT", path, "CREATE&overwrite=true")
    _curl("--header", "Expect:", "--upload-file", str(local), location)


def _curl_open(place: Place, local: Path, path: str) -> None:
    _curl("--output", "/dev/null", place.located("GET", path, "OPEN"))


def _our_create(place: Place, local: Path, path: str) -> None:
    buffer = bytearray(_BUFFER_BYTES)
    with howdah.connect(f"web{_hdfs(place)}", conf=place.conf) as fs:
        with local.open("rb", buffering=0) as source, fs.create(path, overwrite=True) as out:
            while count := source.readinto(buffer):
                out.write(memoryview(buffer)[:count])


def _our_open(place: Place, local: Path, path: str) -> None:
    buffer = bytearray(_BUFFER_BYTES)
    with howdah.connect(f"web{_hdfs(place)}", conf=place.conf) as fs, fs.open(path) as source:
        while source.readinto(buffer):
            continue


def _hdfs(place: Place) -> str:
    return f"hdfs://{place.http.partition('//')[2]}"


CLIENTS: Mapping[str, tuple[Transfer, Transfer]] = {
    "curl": (_curl_create, _curl_open),
    "webhdfs": (_our_create, _our_open),
}

if __name__ == "__main__":
    main(measure)
