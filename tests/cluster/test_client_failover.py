"""Clients of a nameservice go on when its active namenode dies or is hung."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import keys
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.mounts import mounted, need_fuse

pytestmark = pytest.mark.timeout(300)

BLOCK = 1024 * 1024
PIECE = b"0123456789abcdef" * 4096
SOFT_LIMIT_S = 3.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf: dict[str, str | int] = {
        keys.DFS_BLOCKSIZE.name: BLOCK,
        keys.HOWDAH_NAMENODE_LEASE_SOFT_LIMIT.name: f"{SOFT_LIMIT_S:g}s",
        # A reader that asks for the locations of each block when it gets there.
        keys.DFS_CLIENT_READ_PREFETCH_SIZE.name: BLOCK,
    }
    with MiniCluster(namenodes=2, datanodes=2, conf=conf) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as connected:
        yield connected


@pytest.fixture
def lose_active(cluster: MiniCluster) -> Iterator[Lose]:
    """Kills the active namenode; after the test it stands by."""
    lose = Lose(cluster)
    yield lose
    lose.restore()


class Lose:
    def __init__(self, cluster: MiniCluster) -> None:
        self._cluster = cluster
        self._killed: list[str] = []
        self._paused: list[str] = []

    def kill(self) -> None:
        active = self._cluster.active()
        self._killed.append(active)
        self._cluster.kill(active)

    def hang(self) -> None:
        active = self._cluster.active()
        self._paused.append(active)
        self._cluster.pause(active)

    def restore(self) -> None:
        for name in self._paused:
            self._cluster.resume(name)
        for name in self._killed + self._paused:
            self._cluster.restart(name)
        wait_until(lambda: sorted(self._cluster.ha_states().values()) == ["active", "standby"], 60)


def content(pieces: int) -> bytes:
    return b"".join(PIECE[:-4] + number.to_bytes(4, "big") for number in range(pieces))


@pytest.mark.req("FS-057", "FS-068", "FS-075")
@pytest.mark.parametrize("written_before", [1, 16, 40])
def test_an_open_file_is_written_on_at_the_new_active(
    fs: FileSystem, lose_active: Lose, written_before: int
) -> None:
    """One piece into a block; at its end; and into the third."""
    path, whole = f"/written-{written_before}", content(56)
    with fs.create(path, replication=2) as out:
        out.write(whole[: written_before * len(PIECE)])
        out.hflush()
        lose_active.kill()
        out.write(whole[written_before * len(PIECE) :])
        out.hsync()
    assert fs.get_file_status(path).length == len(whole)
    with fs.open(path) as file:
        assert file.read() == whole


def test_a_mounted_directory_goes_on_at_the_new_active(
    cluster: MiniCluster, fs: FileSystem, lose_active: Lose, tmp_path: Path
) -> None:
    need_fuse()
    with mounted(f"{cluster.uri}/", tmp_path / "hdfs", "--conf", str(cluster.conf_dir)) as mount:
        mount.shell("echo one > mounted")
        lose_active.kill()
        assert mount.shell("echo two >> mounted; cat mounted") == "one\ntwo\n"
    assert fs.read_bytes("/mounted") == b"one\ntwo\n"


@pytest.mark.req("FS-057", "FS-075")
def test_an_open_file_is_read_on_at_the_new_active(fs: FileSystem, lose_active: Lose) -> None:
    whole = content(64)
    with fs.create("/read", replication=2) as out:
        out.write(whole)
    with fs.open("/read") as file:
        assert file.read(100) == whole[:100]
        lose_active.kill()
        assert file.read() == whole[100:]
        assert file.pread(3 * BLOCK + 5, 10) == whole[3 * BLOCK + 5 :][:10]


@pytest.mark.req("FS-057", "FS-070", "FS-075")
def test_a_hung_active_is_left(fs: FileSystem, lose_active: Lose) -> None:
    with fs.create("/hung", replication=2) as out:
        out.write(PIECE)
        out.hflush()
        lose_active.hang()
        fs.mkdirs("/while-hung")
        out.write(PIECE)
    assert fs.get_file_status("/hung").length == 2 * len(PIECE)


@pytest.mark.req("FS-057")
def test_a_lease_is_renewed_at_the_new_active(
    cluster: MiniCluster, fs: FileSystem, lose_active: Lose
) -> None:
    out = fs.create("/leased", replication=2)
    out.write(PIECE)
    out.hflush()
    lose_active.kill()
    with cluster.connect() as other:
        # What nobody renews may be taken over after the soft limit.
        with pytest.raises(errors.AlreadyBeingCreated):
            other.append("/leased")
        since_s = time.monotonic()

        def is_refused_for_long() -> bool:
            with pytest.raises(errors.AlreadyBeingCreated):
                other.append("/leased")
            return time.monotonic() - since_s > 2 * SOFT_LIMIT_S

        wait_until(is_refused_for_long, 60)
    out.write(PIECE)
    out.close()
    assert fs.get_file_status("/leased").length == 2 * len(PIECE)


@pytest.mark.req("FS-075")
def test_fsspec_and_the_command_line_know_the_nameservice(
    cluster: MiniCluster,
    fs: FileSystem,
    lose_active: Lose,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.conf_dir))
    url = f"howdah://{cluster.uri.removeprefix('hdfs://')}/by-fsspec"
    with fsspec.open(url, "wb") as out:
        out.write(PIECE)
        lose_active.kill()
        out.write(PIECE)
    with fsspec.open(url, "rb") as file:
        assert file.read() == 2 * PIECE
    local = tmp_path / "local"
    local.write_bytes(PIECE)
    assert main(["dfs", "-put", str(local), f"{cluster.uri}/put"]) == 0
    assert main(["dfs", "-ls", f"{cluster.uri}/put"]) == 0
    assert f"{cluster.uri}/put" in capsys.readouterr().out
    copy: FileSystem = pickle.loads(pickle.dumps(fs))
    with copy:
        assert copy.get_file_status("/put").length == len(PIECE)
