"""MB/s of OPEN and CREATE through WebHDFS, beside Hadoop's namenode and datanode.

One file (256 MiB of random bytes, 64 MiB with --quick) at one replica goes into a cluster and
comes back, by one client and by four at once: curl, and our own `webhdfs://`. The clusters take
turns, ours, Hadoop's, ours, Hadoop's: what disturbs the machine disturbs both. The bytes are in
the page cache; the redirection by the namenode is part of it. MB are millions of bytes.
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
from harness import MB, Figure, Options, Results, Skipped, figure, in_turn, main, progress, scratch
from transfer import _fill

import howdah
from howdah import keys
from howdah.config import Configuration
from howdah.testing.minicluster import MiniCluster

OURS, APACHE = "howdah", "Hadoop's servers"
USER = "user.name"
GOALS = {"OPEN": "≥ 1.3 × Hadoop's", "CREATE": "≥ 1.1 × Hadoop's"}
TOGETHER = (1, 4)
_BUFFER_BYTES = 1 << 20
_START_S = 120.0


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster, by the address of its namenode's web server."""

    http: str
    conf: Configuration
    user: str

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
        places = {OURS: Place(ours.http.rstrip("/"), ours.conf, user)}
        try:
            peer = stack.enter_context(ApacheCluster(base / "apache", 1, values=values))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        else:
            http = "http://{}:{}".format(*peer.conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS))
            places[APACHE] = Place(http, peer.conf, user)
        for place in places.values():
            _wait(place)
        for client, (create, read) in CLIENTS.items():
            for number in TOGETHER:
                for operation, act in (("CREATE", create), ("OPEN", read)):
                    progress(f"{operation}, {client}, {number} at once")
                    yield _compared(options, places, local, operation, client, number, act)


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
    options: Options,
    places: Mapping[str, Place],
    local: Path,
    operation: str,
    client: str,
    number: int,
    act: Transfer,
) -> Figure:
    def run(place: Place) -> float:
        before_s = time.perf_counter()
        with ThreadPoolExecutor(number) as pool:
            for _ in pool.map(lambda each: act(place, local, f"/{client}{each}"), range(number)):
                continue
        return number * local.stat().st_size / MB / (time.perf_counter() - before_s)

    found = in_turn(
        {name: partial(run, place) for name, place in places.items()},
        options.repeats(7, 3),
    )
    ratios = [a / b for a, b in zip(found[OURS], found.get(APACHE, []), strict=False)]
    spread = f"; ratios {min(ratios):.2f}–{max(ratios):.2f}" if ratios else ""
    return figure(
        f"{operation}, {client}, {number} at once{spread}",
        "MB/s",
        found[OURS],
        {APACHE: found.get(APACHE, [])},
        target=GOALS[operation],
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
