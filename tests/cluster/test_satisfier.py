"""`howdah sps` on real clusters: marks, moves, failovers, and a satisfier that is killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.volumes import reconfigure, set_volumes

pytestmark = pytest.mark.req("FS-185")

TIMEOUT_S = 60.0
MARK = "user.hdfs.sps"
CONF: Mapping[str, str | int] = {
    "dfs.blocksize": "1m",
    "dfs.replication": 2,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.storage.policy.satisfier.mode": "external",
    "dfs.storage.policy.satisfier.recheck.timeout.millis": 300,
    "dfs.storage.policy.satisfier.datanode.cache.refresh.interval.ms": 300,
    "dfs.storage.policy.satisfier.work.multiplier.per.iteration": 100,
}


def content(number: int) -> bytes:
    return random.Random(number).randbytes((3 << 20) // 2)


def write(fs: FileSystem, *paths: str) -> None:
    for number, path in enumerate(paths):
        with fs.create(path) as out:
            out.write(content(number))


def kinds(fs: FileSystem, path: str) -> set[str]:
    return {kind for block in fs.block_locations(path) for kind in block.storage_types}


def is_whole(fs: FileSystem, path: str, number: int, replication: int = 2) -> bool:
    """Whether the file can be read, and no block has too many replicas or too few."""
    with fs.open(path) as stream:
        assert stream.read() == content(number)
    hosts = [block.names for block in fs.block_locations(path)]
    assert all(len(set(names)) == len(names) for names in hosts), "none has two on one datanode"
    return all(len(names) == replication for names in hosts)


class Running:
    """A satisfier; what it says of marks that it took off."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self.process = process
        self._output = output

    @property
    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._output.read_text().splitlines()]


@contextmanager
def satisfier(cluster: MiniCluster, *options: str, name: str = "sps") -> Iterator[Running]:
    ready, output = cluster.dir / f"{name}.ready", cluster.dir / f"{name}.json"
    command = [sys.executable, "-m", "howdah", "sps", "--conf", str(cluster.conf_dir), *options]
    with (
        output.open("w") as out,
        subprocess.Popen(
            [*command, "--json", "--ready-file", str(ready)], stdout=out, text=True
        ) as process,
    ):
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, TIMEOUT_S)
            assert process.poll() is None, f"{' '.join(command)} has ended"
            ready.unlink()
            yield Running(process, output)
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def storagepolicies(cluster: MiniCluster, *words: str) -> int:
    return main(["storagepolicies", "--conf", str(cluster.conf_dir), *words])


def wait_for(fs: FileSystem, path: str, kind: str, timeout_s: float = TIMEOUT_S) -> None:
    wait_until(lambda: kinds(fs, path) == {kind}, timeout_s, f"{path} is on {kind}")


def test_blocks_follow_a_policy_there_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        MiniCluster(datanodes=2, volumes=("DISK", "ARCHIVE"), conf=CONF) as cluster,
        cluster.connect() as fs,
    ):
        write(fs, "/cold/a", "/cold/deep/b", "/hot/c")
        fs.mkdirs("/cold/empty")
        fs.set_storage_policy("/cold", "COLD")
        mark = ["-satisfyStoragePolicy", "-path", "/cold"]
        assert storagepolicies(cluster, *mark) == 0
        assert capsys.readouterr().out == (
            "Scheduled blocks to move based on the current storage policy on /cold\n"
        )
        assert fs.list_xattrs("/cold") == [MARK]
        assert storagepolicies(cluster, *mark) == 2
        assert "XAttr: hdfs.sps already exists." in capsys.readouterr().err
        with satisfier(cluster) as running:
            wait_until(lambda: not fs.list_xattrs("/cold"), TIMEOUT_S)
            for number, path in enumerate(("/cold/a", "/cold/deep/b")):
                wait_for(fs, path, "ARCHIVE")
                assert is_whole(fs, path, number)
            assert kinds(fs, "/hot/c") == {"DISK"}
            wait_until(lambda: len(running.said) == 1, TIMEOUT_S)
            (said,) = running.said
            assert (said["satisfied"], said["files"], said["moved"]) == (True, 2, 8)
            assert said["inode"] == fs.get_file_status("/cold").file_id
            # And back, by a file, and a path that is a link's.
            fs.set_storage_policy("/cold", "HOT")
            fs.satisfy_storage_policy("/cold/a")
            wait_for(fs, "/cold/a", "DISK")
            wait_until(lambda: not fs.list_xattrs("/cold/a"), TIMEOUT_S)
            assert kinds(fs, "/cold/deep/b") == {"ARCHIVE"}, "nobody has asked for it"
            assert is_whole(fs, "/cold/a", 0)
        assert not fs.exists("/system/mover.id")
        assert running.process.returncode == 0


def test_replicas_go_to_datanodes_that_have_the_storage() -> None:
    conf = {**CONF, "dfs.replication": 1}
    with MiniCluster(datanodes=2, conf=conf) as cluster, cluster.connect() as fs:
        write(fs, "/f")
        fs.set_storage_policy("/f", "ALL_SSD")
        fs.satisfy_storage_policy("/f")
        with satisfier(cluster):
            (block, *_) = fs.block_locations("/f")
            hosts = {cluster.process(n).addresses["data"]: n for n in ("datanode0", "datanode1")}
            (other,) = (name for at, name in hosts.items() if at not in block.names)
            assert fs.list_xattrs("/f") == [MARK], "there is no place for it yet"
            volumes = cluster.dir / other / "data0", cluster.dir / other / "ssd"
            set_volumes(cluster, other, f"[DISK]{volumes[0]},[SSD]{volumes[1]}")
            reconfigure(cluster, other)
            wait_for(fs, "/f", "SSD")
            wait_until(lambda: not fs.list_xattrs("/f"), TIMEOUT_S)
            assert is_whole(fs, "/f", 0, replication=1)
            assert {at for each in fs.block_locations("/f") for at in each.names} == {
                at for at, name in hosts.items() if name == other
            }


def test_only_one_satisfier_or_mover_works_on_a_namespace() -> None:
    with MiniCluster(datanodes=1, conf=CONF) as cluster, satisfier(cluster):
        command = [sys.executable, "-m", "howdah"]
        second = subprocess.run(
            [*command, "sps", "--conf", str(cluster.conf_dir)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert second.returncode == 255
        assert "Another ExternalStoragePolicySatisfier is running." in second.stderr
        assert main(["mover", "--conf", str(cluster.conf_dir)]) == 252


@pytest.mark.req("FS-184")
def test_marks_and_moves_go_on_after_a_failover_and_a_kill() -> None:
    with (
        MiniCluster(datanodes=2, namenodes=2, volumes=("DISK", "ARCHIVE"), conf=CONF) as cluster,
        cluster.connect() as fs,
    ):
        assert isinstance(fs, HdfsFileSystem)
        paths = [f"/d/{number}" for number in range(6)]
        write(fs, *paths)
        fs.set_storage_policy("/d", "COLD")
        slow = ["-D", "dfs.storage.policy.satisfier.recheck.timeout.millis=60000"]
        with satisfier(cluster, *slow, name="killed") as killed:
            fs.satisfy_storage_policy("/d")
            wait_for(fs, paths[0], "ARCHIVE")
            killed.process.send_signal(signal.SIGKILL)
            killed.process.wait(TIMEOUT_S)
        assert fs.list_xattrs("/d") == [MARK], "it was told of the mark, and has not taken it off"
        fs.satisfy_storage_policy(paths[1])
        # Its lease would be over in a minute.
        wait_until(lambda: fs.recover_lease("/system/mover.id"), TIMEOUT_S)
        with satisfier(cluster) as running:
            for number, path in enumerate(paths):
                wait_for(fs, path, "ARCHIVE")
                assert is_whole(fs, path, number)
            wait_until(lambda: not fs.list_xattrs("/d"), TIMEOUT_S)
            wait_until(lambda: not fs.list_xattrs(paths[1]), TIMEOUT_S)
            fs.set_storage_policy("/d", "HOT")
            fs.satisfy_storage_policy("/d")
            server_faults.fail_over(cluster)
            fs.satisfy_storage_policy(paths[1])
            for number, path in enumerate(paths):
                wait_for(fs, path, "DISK")
                assert is_whole(fs, path, number)
            wait_until(lambda: not fs.list_xattrs("/d"), TIMEOUT_S)
            wait_until(lambda: not fs.list_xattrs(paths[1]), TIMEOUT_S)
            assert running.process.poll() is None


@pytest.mark.req("FS-184")
def test_the_mode_is_switched_while_the_namenode_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with MiniCluster(datanodes=1, conf={**CONF, "dfs.replication": 1}) as cluster:
        with cluster.connect() as fs:
            fs.mkdirs("/d")
            fs.satisfy_storage_policy("/d")
            switch(cluster, capsys, "none")
            wait_until(lambda: not fs.list_xattrs("/d"), TIMEOUT_S)
            with pytest.raises(errors.UnsupportedAction, match="has been disabled by admin"):
                fs.satisfy_storage_policy("/d")
            switch(cluster, capsys, "external")
            fs.satisfy_storage_policy("/d")
            cluster.restart("namenode")
            assert fs.list_xattrs("/d") == [MARK]
            with satisfier(cluster):
                wait_until(lambda: not fs.list_xattrs("/d"), TIMEOUT_S)


def switch(cluster: MiniCluster, capsys: pytest.CaptureFixture[str], mode: str) -> None:
    (site,) = (cluster.dir / "namenode").rglob("hdfs-site.xml")
    name = "dfs.storage.policy.satisfier.mode"
    setting = f"<property><name>{name}</name><value>{mode}</value></property></configuration>"
    site.write_text(site.read_text().replace("</configuration>", setting))
    place = cluster.process("namenode").addresses["rpc"]
    command = ["-fs", cluster.uri, "dfsadmin", "-reconfig", "namenode", place]
    assert main([*command, "start"]) == 0

    def is_over() -> bool:
        capsys.readouterr()
        assert main([*command, "status"]) == 0
        return f"SUCCESS: Changed property {name}" in capsys.readouterr().out

    wait_until(is_over, TIMEOUT_S)
