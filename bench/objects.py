"""Streams, small files and listings of an object store, beside s3fs, pyarrow's S3FileSystem and
obstore (`pip install obstore`; it is left out where it is missing).

The store is `tests.support.objects.stub`, on this machine: moto's server takes longer
for a request than any client. Each client has its defaults; all are in this process, and take
turns. MB are millions of bytes.

- a stream: 256 MiB (64 MiB with --quick), written in pieces of 1 MiB and read back likewise
- small files: of 10 KB, written and read whole, one and sixteen at a time
- a listing: of 20,000 keys in one directory (5,000)

Beside the rates: requests that the store had for it, and the processor time of this process,
which says what a client costs where the store is elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from urllib.request import urlopen

import pyarrow.fs
import s3fs
from harness import MB, Options, Results, Skipped, figure, in_turn, main, progress

from tests.support.objects.store import ACCESS_KEY, SECRET_KEY, StoreServer, stub_server

HAS_OBSTORE = find_spec("obstore") is not None
if HAS_OBSTORE:
    import obstore
    from obstore.store import S3Store

OURS, S3FS, PYARROW, OBSTORE = "howdah", "s3fs", "pyarrow", "obstore"
PIECE_BYTES = 1 << 20
SMALL_BYTES = 10_000
AT_A_TIME = (1, 16)
GOAL = "≥ 1.0 × each"
BUCKET = "bench"


@dataclass(frozen=True, slots=True)
class Client:
    """What is measured, on keys of the bucket."""

    write: Callable[[str, int], None]
    read: Callable[[str], int]
    put: Callable[[str, bytes], object]
    get: Callable[[str], bytes]
    list: Callable[[str], int]


def _written(stream: object, length: int) -> None:
    piece = bytes(range(256)) * (PIECE_BYTES // 256)
    for start in range(0, length, PIECE_BYTES):
        stream.write(piece[: length - start])  # type: ignore[attr-defined]


def _read(stream: object) -> int:
    count = 0
    while piece := stream.read(PIECE_BYTES):  # type: ignore[attr-defined]
        count += len(piece)
    return count


def ours(server: StoreServer) -> Client:
    fs = server.connect(BUCKET)

    def write(key: str, length: int) -> None:
        with fs.create(f"/{key}", overwrite=True) as out:
            _written(out, length)

    def read(key: str) -> int:
        with fs.open(f"/{key}") as stream:
            return _read(stream)

    def put(key: str, data: bytes) -> None:
        with fs.create(f"/{key}", overwrite=True) as out:
            out.write(data)

    def get(key: str) -> bytes:
        with fs.open(f"/{key}") as stream:
            return stream.read()

    return Client(write, read, put, get, lambda key: len(fs.list_status(f"/{key}")))


def of_s3fs(server: StoreServer) -> Client:
    fs = s3fs.S3FileSystem(
        key=ACCESS_KEY,
        secret=SECRET_KEY,
        endpoint_url=server.endpoint,
        use_listings_cache=False,
        client_kwargs={"region_name": "us-east-1"},
        config_kwargs={"s3": {"addressing_style": "path"}},
    )

    def write(key: str, length: int) -> None:
        with fs.open(f"{BUCKET}/{key}", "wb") as out:
            _written(out, length)

    def read(key: str) -> int:
        with fs.open(f"{BUCKET}/{key}", "rb") as stream:
            return _read(stream)

    def put(key: str, data: bytes) -> None:
        with fs.open(f"{BUCKET}/{key}", "wb") as out:
            out.write(data)

    def get(key: str) -> bytes:
        with fs.open(f"{BUCKET}/{key}", "rb") as stream:
            return bytes(stream.read())

    return Client(
        write, read, put, get, lambda key: len(fs.ls(f"{BUCKET}/{key}", detail=True, refresh=True))
    )


def of_pyarrow(server: StoreServer) -> Client:
    fs = pyarrow.fs.S3FileSystem(
        access_key=ACCESS_KEY,
        secret_key=SECRET_KEY,
        endpoint_override=f"127.0.0.1:{server.port}",
        scheme="http",
        region="us-east-1",
    )

    def write(key: str, length: int) -> None:
        with fs.open_output_stream(f"{BUCKET}/{key}") as out:
            _written(out, length)

    def read(key: str) -> int:
        with fs.open_input_stream(f"{BUCKET}/{key}") as stream:
            return _read(stream)

    def put(key: str, data: bytes) -> None:
        with fs.open_output_stream(f"{BUCKET}/{key}") as out:
            out.write(data)

    def get(key: str) -> bytes:
        with fs.open_input_stream(f"{BUCKET}/{key}") as stream:
            return bytes(stream.read())

    return Client(
        write,
        read,
        put,
        get,
        lambda key: len(fs.get_file_info(pyarrow.fs.FileSelector(f"{BUCKET}/{key}"))),
    )


def of_obstore(server: StoreServer) -> Client:
    """No filesystem: it knows no directories, and closes no file that it could check."""
    store = S3Store(
        BUCKET,
        access_key_id=ACCESS_KEY,
        secret_access_key=SECRET_KEY,
        endpoint=server.endpoint,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )

    def write(key: str, length: int) -> None:
        with obstore.open_writer(store, key) as out:
            _written(out, length)

    def read(key: str) -> int:
        return sum(len(piece) for piece in obstore.get(store, key).stream(PIECE_BYTES))

    def listing(key: str) -> int:
        return sum(len(page) for page in obstore.list(store, f"{key}/", chunk_size=1000))

    return Client(
        write,
        read,
        lambda key, data: obstore.put(store, key, data),
        lambda key: bytes(obstore.get(store, key).bytes()),
        listing,
    )


class Turn:
    """One thing done by each client in turn: its rate, its requests, its processor time."""

    def __init__(self, server: StoreServer, clients: Mapping[str, Client]) -> None:
        self._server = server
        self._clients = clients

    def _calls(self) -> int:
        with urlopen(f"{self._server.endpoint}/?calls", timeout=60) as answer:
            return int(answer.read())

    def figures(
        self,
        what: str,
        unit: str,
        act: Callable[[str, Client], float],
        repeats: int,
        cost: tuple[str, float],
    ) -> Results:
        """`act` returns how much was done; `cost` is the unit of processor time, and how much of
        what was done one of it is."""
        progress(what)
        calls: dict[str, float] = {}
        used: dict[str, list[float]] = {name: [] for name in self._clients}

        def run(name: str) -> float:
            before = self._calls()
            own_s, begun_s = time.process_time(), time.perf_counter()
            done = act(name, self._clients[name])
            took_s, own_took_s = time.perf_counter() - begun_s, time.process_time() - own_s
            calls[name] = self._calls() - before - 1
            used[name].append(own_took_s / done * cost[1])
            return done / took_s

        found = in_turn({name: partial(run, name) for name in self._clients}, repeats)
        others = [name for name in self._clients if name != OURS]
        yield figure(what, unit, found[OURS], {name: found[name] for name in others}, target=GOAL)
        counted = {name: used[name][-repeats:] for name in used}
        yield figure(
            f"{what}: CPU", cost[0], counted[OURS], {name: counted[name] for name in others}
        )
        yield figure(
            f"{what}: requests", "", [calls[OURS]], {name: [calls[name]] for name in others}
        )


def measure(options: Options) -> Results:
    size = (64 if options.quick else 256) << 20
    files = 320 if options.quick else 1600
    listed = 5_000 if options.quick else 20_000
    repeats = options.repeats(7, 3)
    with stub_server() as server:
        clients = {OURS: ours(server), S3FS: of_s3fs(server), PYARROW: of_pyarrow(server)}
        if HAS_OBSTORE:
            clients[OBSTORE] = of_obstore(server)
        else:
            yield Skipped(OBSTORE, "it is not installed")
        turn = Turn(server, clients)

        def written(name: str, client: Client) -> float:
            client.write(f"stream/{name}", size)
            return size / MB

        def read(name: str, client: Client) -> float:
            if client.read(f"stream/{name}") != size:
                raise RuntimeError(f"{name} read another number of bytes")
            return size / MB

        gigabyte = ("s/GB", 1000.0)
        what = f"a stream of {size >> 20} MiB"
        yield from turn.figures(f"{what} written", "MB/s", written, repeats, gigabyte)
        yield from turn.figures(f"{what} read", "MB/s", read, repeats, gigabyte)
        for name in clients:
            server.client().delete_object(Bucket=BUCKET, Key=f"stream/{name}")
        data = bytes(SMALL_BYTES)
        for number in AT_A_TIME:
            actions: dict[str, Callable[[Client, str], object]] = {
                "written": lambda client, key: client.put(key, data),
                "read": lambda client, key: client.get(key),
            }
            for done, act in actions.items():

                def many(
                    name: str,
                    client: Client,
                    act: Callable[[Client, str], object] = act,
                    number: int = number,
                ) -> float:
                    with ThreadPoolExecutor(number) as pool:
                        keys = [f"small/{name}/{at}" for at in range(files)]
                        for _ in pool.map(partial(act, client), keys):
                            continue
                    return float(files)

                yield from turn.figures(
                    f"small files {done}, {number} at once", "files/s", many, repeats, ("µs", 1e6)
                )

        server_keys = [f"many/{at:06}" for at in range(listed)]
        with ThreadPoolExecutor(8) as pool:
            client = server.client()
            put = partial(client.put_object, Bucket=BUCKET, Body=b"")
            for _ in pool.map(lambda key: put(Key=key), server_keys):
                continue

        def listing(name: str, client: Client) -> float:
            if client.list("many") != listed:
                raise RuntimeError(f"{name} lists another number of keys")
            return float(listed)

        yield from turn.figures(
            f"a listing of {listed} keys", "keys/s", listing, repeats, ("µs", 1e6)
        )


if __name__ == "__main__":
    main(measure)
