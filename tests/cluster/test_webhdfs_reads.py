"""OPEN at a datanode: bytes that it reads from the files of its replicas, past the data process."""

from __future__ import annotations

import http.client
import json
import random
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

import howdah
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

MIB = 1 << 20
DATA = random.Random(9).randbytes(3 * MIB + 77)
LONG = random.Random(10).randbytes(16 * MIB)
"""More than the buffers of a connection hold."""


class World:
    """Two datanodes, and a client of their HTTP that reads as slowly as it likes."""

    def __init__(self, cluster: MiniCluster, fs: FileSystem) -> None:
        assert isinstance(fs, HdfsFileSystem)
        self.cluster = cluster
        self.fs = fs
        found = {each.name: each.addresses["http"] for each in cluster.processes}
        self.datanodes = {name: found[name] for name in ("datanode0", "datanode1")}

    def write(
        self, path: str, data: bytes = DATA, replication: int = 1, block_size: int | None = None
    ) -> str:
        """A new file; one of the datanodes that have its first block."""
        with self.fs.create(
            path, replication=replication, overwrite=True, block_size=block_size
        ) as out:
            out.write(data)
        return self.holder(path)

    def holder(self, path: str) -> str:
        target = f"{self.cluster.http.rstrip('/')}/webhdfs/v1{path}?op=OPEN&noredirect=true"
        with urlopen(target, timeout=60) as answer:
            location = urlsplit(json.load(answer)["Location"])
        (name,) = (each for each, at in self.datanodes.items() if at == location.netloc)
        return name

    def ask(
        self, datanode: str, path: str, query: str = "", method: str = "GET", room: int = 0
    ) -> http.client.HTTPResponse:
        namenode = self.cluster.uri.partition("//")[2]
        target = f"/webhdfs/v1{path}?op=OPEN&namenoderpcaddress={namenode}{query}"
        connection = http.client.HTTPConnection(self.datanodes[datanode], timeout=60)
        if room:
            connection.sock = socket.socket()
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            connection.sock.settimeout(60)
            connection.sock.connect((connection.host, connection.port))
        connection.request(method, target + f"&user.name={self.fs.user}")
        return connection.getresponse()

    def read(self, datanode: str, path: str, query: str = "") -> bytes:
        with self.ask(datanode, path, query) as answer:
            assert answer.status == 200
            return answer.read()

    def figures(self, datanode: str) -> dict[str, int]:
        with urlopen(f"http://{self.datanodes[datanode]}/jmx", timeout=60) as answer:
            beans = json.load(answer)["beans"]
        (found,) = (each for each in beans if ",name=DataNodeActivity-" in each["name"])
        return {name: found[name] for name in ("BytesRead", "BlocksRead", "ReadBlockOpNumOps")}

    def block_files(self, datanode: str) -> list[Path]:
        return [
            path
            for root in self.cluster.data_dirs(datanode)
            for path in root.glob("current/BP-*/current/finalized/*/*/blk_*")
            if path.suffix != ".meta"
        ]

    def file_of(self, datanode: str, content: bytes) -> Path:
        (found,) = (each for each in self.block_files(datanode) if holds(each, content))
        return found


def holds(file: Path, content: bytes) -> bool:
    """Blocks of files that are deleted may go while they are looked at."""
    try:
        return file.stat().st_size == len(content) and file.read_bytes() == content
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    conf = {"dfs.blocksize": MIB, "dfs.client.retry.window.base": 50}
    with MiniCluster(datanodes=2, conf=conf) as cluster, cluster.connect() as fs:
        yield World(cluster, fs)


def rest_of(answer: http.client.HTTPResponse, begun: bytes) -> bytes:
    """What comes of an answer, whole or broken off."""
    try:
        return begun + answer.read()
    except http.client.IncompleteRead as error:
        return begun + error.partial
    except ConnectionError:
        return begun


@pytest.mark.req("FS-218", "FS-257", "FS-264")
def test_own_replicas_are_read_from_their_files_and_counted(world: World) -> None:
    world.write("/own", replication=2)
    for datanode in world.datanodes:
        before = world.figures(datanode)
        assert world.read(datanode, "/own") == DATA
        after = world.figures(datanode)
        assert after["BytesRead"] - before["BytesRead"] == len(DATA)
        assert after["BlocksRead"] - before["BlocksRead"] >= 4
        assert after["ReadBlockOpNumOps"] == before["ReadBlockOpNumOps"]


@pytest.mark.req("FS-218", "FS-257")
@pytest.mark.parametrize(
    ("offset", "length"),
    [(0, 0), (0, 1), (511, 2), (MIB - 3, 6), (MIB, MIB), (5, 2 * MIB), (len(DATA) - 9, 99)],
)
def test_a_range_begins_and_ends_anywhere(world: World, offset: int, length: int) -> None:
    if not world.fs.exists("/range"):
        world.write("/range", replication=2)
    with world.ask("datanode0", "/range", f"&offset={offset}&length={length}") as answer:
        wanted = DATA[offset : offset + length]
        assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(wanted)))
        assert answer.read() == wanted


@pytest.mark.req("FS-257")
def test_a_head_has_the_length_and_reads_nothing(world: World) -> None:
    world.write("/head", replication=2)
    before = world.figures("datanode0")
    with world.ask("datanode0", "/head", method="HEAD") as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(DATA)))
        assert answer.read() == b""
    assert world.figures("datanode0") == before


@pytest.mark.req("FS-257")
def test_a_replica_of_another_datanode_comes_from_there(world: World) -> None:
    holder = world.write("/elsewhere", DATA[:MIB])
    (other,) = world.datanodes.keys() - {holder}
    before = world.figures(holder)
    assert world.read(other, "/elsewhere") == DATA[:MIB]
    assert world.figures(holder)["ReadBlockOpNumOps"] > before["ReadBlockOpNumOps"]


@pytest.mark.req("FS-257")
def test_a_file_that_is_being_written_is_read_as_far_as_it_is_visible(world: World) -> None:
    with world.fs.create("/growing", overwrite=True, replication=2) as out:
        out.write(DATA[: MIB + 700])
        out.hflush()
        for datanode in world.datanodes:
            assert world.read(datanode, "/growing") == DATA[: MIB + 700]


@pytest.mark.req("FS-257")
def test_of_damaged_bytes_none_goes_out_and_the_answer_breaks_off(world: World) -> None:
    content = random.Random(11).randbytes(MIB)
    holder = world.write("/damaged", content)
    path = world.file_of(holder, content)
    with path.open("r+b") as file:
        file.seek(600_000)
        file.write(bytes((content[600_000] ^ 1,)))
    with world.ask(holder, "/damaged") as answer:
        assert answer.status == 200
        found = rest_of(answer, b"")
    assert len(found) <= 600_000
    assert found == content[: len(found)]
    wait_until(lambda: "/damaged" in list(world.fs.list_corrupt_files()), 60)
    # What is before the damage can be read all the same.
    assert world.read(holder, "/damaged", "&length=1000") == content[:1000]


@pytest.mark.req("FS-257")
def test_damage_of_one_replica_is_not_seen_where_there_is_another(world: World) -> None:
    content = random.Random(12).randbytes(MIB)
    world.write("/half", content, replication=2)
    wait_until(lambda: all(content in _contents(world, name) for name in world.datanodes), 60)
    with world.file_of("datanode1", content).open("r+b") as file:
        file.write(bytes((content[0] ^ 1,)))
    assert world.read("datanode1", "/half") == content


def _contents(world: World, datanode: str) -> list[bytes]:
    return [path.read_bytes() for path in world.block_files(datanode) if path.exists()]


@pytest.mark.req("FS-257")
@pytest.mark.parametrize("change", ["append", "truncate", "delete", "overwrite"])
def test_a_file_that_changes_while_it_is_read_shows_what_it_was_or_breaks_off(
    world: World, change: str
) -> None:
    path, content = f"/{change}", change.encode() + LONG
    holder = world.write(path, content, block_size=32 * MIB)
    on_disk = world.file_of(holder, content)
    with world.ask(holder, path, room=64 * 1024) as answer:
        assert answer.headers["Content-Length"] == str(len(content))
        begun = answer.read(100_000)
        if change == "append":
            with world.fs.append(path) as out:
                out.write(b"more")
        elif change == "truncate":
            world.fs.truncate(path, 1_000_000)
            wait_until(lambda: world.fs.get_file_status(path).length == 1_000_000, 60)
        elif change == "delete":
            world.fs.delete(path)
            wait_until(lambda: not on_disk.exists(), 60)
        else:
            with world.fs.create(path, overwrite=True) as out:
                out.write(b"another one")
            wait_until(lambda: not on_disk.exists(), 60)
        found = rest_of(answer, begun)
    assert found == content[: len(found)]
    if change == "append":
        assert len(found) == len(content)


@pytest.mark.req("FS-251", "FS-257")
def test_our_client_reads_over_http_what_it_wrote_over_rpc(world: World) -> None:
    world.write("/through", replication=2)
    with closing(howdah.connect(world.cluster.http.replace("http", "webhdfs", 1))) as rest:
        with rest.open("/through") as stream:
            assert stream.read() == DATA
            stream.seek(MIB + 5)
            assert stream.read(100) == DATA[MIB + 5 : MIB + 105]
            assert stream.pread(2 * MIB - 50, 100) == DATA[2 * MIB - 50 : 2 * MIB + 50]
