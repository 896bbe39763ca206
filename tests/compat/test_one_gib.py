"""A file of a gibibyte there and back, by both clients, at the usual block sizes; of a
quarter of one, which still has more blocks than one, where every minute counts.

What is compared are two checksums that share no code: Google's CRC32C of the local
files, and the one that datanodes make of the chunks that they have on disk.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import google_crc32c
import pytest

from howdah.fs.api import FileSystem
from howdah.java import NoJava
from howdah.testing import MiniCluster
from howdah.testing.spark import NoSpark, java_fs_shell
from howdah.testing.waiting import wait_until
from tests.support.replicas import replica_files

pytestmark = pytest.mark.timeout(300)

MIB = 1 << 20
GIB = 1 << 30
QUARTER = GIB // 4
PIECE_BYTES = 4 * MIB
COMMAND_TIMEOUT_S = 240
MEMORY = Path("/dev/shm")
# The file, what comes back, and three replicas; and some room for others.
NEEDED_BYTES = 6 * GIB


def pieces(size: int) -> Iterator[bytes]:
    """Bytes that look random, no two parts of them alike, made at memory's speed."""
    base = random.Random(1).randbytes(PIECE_BYTES)
    for number in range(size // PIECE_BYTES):
        turn = number * 8191 % PIECE_BYTES
        yield number.to_bytes(8, "big") + base[turn + 8 :] + base[:turn]


def crc_of(path: Path) -> bytes:
    """CRC32C of a local file."""
    crc = 0
    with path.open("rb", buffering=0) as file:
        while piece := file.read(PIECE_BYTES):
            crc = google_crc32c.extend(crc, piece)
    return crc.to_bytes(4, "big")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with room: in memory if there is enough, as this is not about disks."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > NEEDED_BYTES:
        path = MEMORY / f"howdah-{os.getpid()}"
        path.mkdir()
    else:
        path = tmp_path_factory.mktemp("gib")
        if shutil.disk_usage(path).free < NEEDED_BYTES:
            pytest.skip(f"{path} has less than {NEEDED_BYTES // GIB} GiB free")
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def cluster(place: Path) -> Iterator[MiniCluster]:
    # A node that keeps what was deleted would keep the room that the next file needs.
    with MiniCluster(datanodes=3, dir=place / "cluster") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


@dataclass(frozen=True, slots=True)
class Local:
    """A local file, its length in bytes, and its CRC32C."""

    path: Path
    size: int
    crc: bytes


@pytest.fixture(scope="module")
def local(place: Path, request: pytest.FixtureRequest) -> Iterator[Local]:
    """The file, of as many bytes as the test says."""
    path, size = place / "local", request.param
    with path.open("wb", buffering=0) as file:
        for piece in pieces(size):
            file.write(piece)
    assert path.stat().st_size == size
    yield Local(path, size, crc_of(path))
    path.unlink()


Shell = Callable[..., subprocess.CompletedProcess[str]]


def our_shell(cluster: MiniCluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    conf = cluster.conf_dir / "core-site.xml"
    return subprocess.run(
        [sys.executable, "-m", "howdah", "dfs", "-conf", str(conf), *arguments],
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )


def java_shell(cluster: MiniCluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return java_fs_shell(cluster, *arguments, timeout_s=COMMAND_TIMEOUT_S)
    except (NoJava, NoSpark) as error:
        pytest.skip(str(error))


SHELLS: dict[str, Shell] = {"ours": our_shell, "java": java_shell}
# Put by the one, got by the other; replication; block size in MiB.
QUICK = [
    ("java", "ours", 1, 64),
    ("ours", "java", 3, 128),
]
ALL = list(itertools.product(SHELLS, SHELLS, (1, 3), (1, 64, 128)))
CASES = [
    *(pytest.param(QUARTER, *case) for case in QUICK),
    *(pytest.param(GIB, *case, marks=pytest.mark.torture) for case in ALL),
]


@pytest.mark.req("FS-001", "FS-007", "FS-017", "OS-002")
@pytest.mark.parametrize(
    ("local", "put", "get", "replication", "block_mib"), CASES, indirect=["local"]
)
def test_large_file_survives_put_and_get(
    cluster: MiniCluster,
    fs: FileSystem,
    place: Path,
    local: Local,
    put: str,
    get: str,
    replication: int,
    block_mib: int,
) -> None:
    settings = ["-D", f"dfs.replication={replication}", "-D", f"dfs.blocksize={block_mib}m"]
    back = place / "back"
    try:
        done = SHELLS[put](cluster, *settings, "-put", str(local.path), "/gib")
        assert (done.returncode, done.stderr) == (0, "")
        status = fs.get_file_status("/gib")
        assert (status.length, status.replication) == (local.size, replication)
        assert [b.length for b in fs.block_locations("/gib")] == [block_mib * MIB] * (
            local.size // (block_mib * MIB)
        )
        checksum = fs.get_file_checksum("/gib", combine_mode="COMPOSITE_CRC")
        assert checksum is not None
        assert checksum.bytes.startswith(local.crc)
        done = SHELLS[get](cluster, "-get", "/gib", str(back))
        assert (done.returncode, done.stderr) == (0, "")
        assert back.stat().st_size == local.size
        assert crc_of(back) == local.crc
    finally:
        back.unlink(missing_ok=True)
        fs.delete("/gib")
        wait_until(lambda: not replica_files(cluster), what="room is given back")


@pytest.mark.req("FS-101")
def test_gibibyte_streams_through_python_in_little_memory(
    fs: FileSystem, cluster: MiniCluster
) -> None:
    """Nobody holds the file; the process stays under a hundred MiB."""
    program = (
        "import sys, howdah\n"
        "from howdah.config import Configuration\n"
        "fs = howdah.connect(sys.argv[1], conf=Configuration({'dfs.replication': '1'}))\n"
        "piece = bytes(range(256)) * 4096\n"
        "with fs.create('/stream') as out:\n"
        "    for _ in range(1024): out.write(piece)\n"
        "with fs.open('/stream') as stream:\n"
        "    for _ in range(1024): assert stream.read(1 << 20) == piece\n"
        "    assert stream.read(1) == b''\n"
        # Not ru_maxrss: that begins with what the parent had when it forked.
        "print(*(line for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, cluster.uri],
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    fs.delete("/stream")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) < 100 * 1024
