"""Hadoop's secondary beside our namenode, and ours beside Hadoop's."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import howdah
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.server.process.checkpoint_import import import_checkpoint
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.secondary import SecondaryServer
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java

pytestmark = pytest.mark.timeout(300)

_PACKAGE = "org.apache.hadoop.hdfs.server.namenode"
_START_S = 90.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def java_conf(where: Path, values: Mapping[str, str]) -> Path:
    """A directory for the class path. Hadoop's web servers want pages there."""
    for pages in ("hdfs", "secondary", "static"):
        (where / "webapps" / pages).mkdir(parents=True)
    core = {"fs.defaultFS": values["fs.defaultFS"], "hadoop.tmp.dir": str(where / "tmp")}
    (where / "core-site.xml").write_text(Configuration(core).to_xml())
    (where / "hdfs-site.xml").write_text(Configuration(values).to_xml())
    return where


def populate(fs: FileSystem) -> None:
    fs.mkdirs("/kept/é漢😀")
    fs.mkdirs("/gone")
    fs.delete("/gone", recursive=True)
    fs.create("/kept/empty").close()
    fs.set_permission("/kept", 0o750)


def images(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "current").glob("fsimage_*") if not path.suffix)


@pytest.mark.req("FS-031", "FS-033")
def test_hadoops_secondary_makes_our_checkpoint(hadoop_classpath: str, tmp_path: Path) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        populate(fs)
        checkpoints = tmp_path / "2nn"
        values = {
            "fs.defaultFS": cluster.uri,
            "dfs.namenode.http-address": cluster.http.removeprefix("http://"),
            "dfs.namenode.secondary.http-address": "127.0.0.1:0",
            "dfs.namenode.checkpoint.dir": checkpoints.as_uri(),
        }
        conf_dir = java_conf(tmp_path / "conf", values)
        command = hadoop_java(hadoop_classpath, conf_dir)
        done = subprocess.run(
            [*command, f"{_PACKAGE}.SecondaryNameNode", "-checkpoint", "force"],
            capture_output=True,
            text=True,
            timeout=_START_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        (ours,) = cluster.data_dirs("namenode")
        assert images(ours)[-1] == images(checkpoints)[-1] != images(ours)[0]
        cluster.restart("namenode")
        assert fs.get_file_status("/kept/é漢😀").is_directory
        assert "took the image" in cluster.log("namenode")
    new = tmp_path / "new"
    conf = Configuration({**values, "dfs.namenode.name.dir": new.as_uri()})
    import_checkpoint(conf)
    loaded = load([new], [new])
    assert loaded.namespace.find("/kept/empty") is not None
    for lock in loaded.locks:
        lock.release()


Start = Callable[..., None]


@pytest.fixture
def hadoops_namenode(
    hadoop_classpath: str, tmp_path: Path
) -> Iterator[tuple[dict[str, str], Start]]:
    """Its configuration, and what starts it anew, with options and other values."""
    values = {
        "fs.defaultFS": f"hdfs://127.0.0.1:{free_port()}",
        "dfs.namenode.http-address": f"127.0.0.1:{free_port()}",
        "dfs.namenode.name.dir": (tmp_path / "name").as_uri(),
        "dfs.namenode.safemode.extension": "0",
        # It takes no image so soon after another one, but for this.
        "dfs.namenode.checkpoint.period": "0",
    }

    def command(*options: str, **more: str) -> list[str]:
        conf_dir = java_conf(Path(tempfile.mkdtemp(dir=tmp_path)), {**values, **more})
        return [*hadoop_java(hadoop_classpath, conf_dir), f"{_PACKAGE}.NameNode", *options]

    log = tmp_path / "hadoop.log"
    processes: list[subprocess.Popen[bytes]] = []

    @contextmanager
    def logged() -> Iterator[int]:
        with log.open("ab") as output:
            yield output.fileno()

    def start(*options: str, **more: str) -> None:
        for process in processes:
            process.kill()
            process.wait()
        processes.clear()
        with logged() as output:
            process = subprocess.Popen(command(*options, **more), stdout=output, stderr=output)
        processes.append(process)
        wait_until(
            lambda: process.poll() is not None or serves(), _START_S, "Hadoop's namenode serves"
        )
        assert process.poll() is None, log.read_text()[-3000:]

    def serves() -> bool:
        try:
            with howdah.connect(values["fs.defaultFS"], conf=Configuration(values)) as fs:
                assert isinstance(fs, HdfsFileSystem)
                return fs.set_safe_mode("get") is False
        except OSError:
            return False

    with logged() as output:
        subprocess.run(command("-format", "-nonInteractive"), stderr=output, check=True)
    start()
    yield values, start
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.torture
@pytest.mark.req("FS-031", "FS-033")
def test_our_secondary_makes_hadoops_checkpoint(
    hadoops_namenode: tuple[dict[str, str], Start], tmp_path: Path
) -> None:
    values, start = hadoops_namenode
    checkpoints = tmp_path / "2nn"
    conf = Configuration({**values, "dfs.namenode.checkpoint.dir": checkpoints.as_uri()})
    with howdah.connect(values["fs.defaultFS"], conf=conf) as fs:
        populate(fs)
        server = SecondaryServer(conf)
        try:
            first = server.secondary.checkpoint()
            fs.mkdirs("/later")
            second = server.secondary.checkpoint()
        finally:
            server.close()
        name = tmp_path / "name" / "current"
        assert images(tmp_path / "name")[-2:] == [f"fsimage_{t:019d}" for t in (first, second)]
        # What it starts from is ours alone.
        for path in name.glob("edits_*"):
            if "inprogress" not in path.name:
                path.unlink()
        start()
        assert_all_is_there(fs)
        # And when all that is lost, it begins with what our secondary has kept.
        kept = {"dfs.namenode.checkpoint.dir": checkpoints.as_uri()}
        (tmp_path / "new").mkdir()
        start("-importCheckpoint", **kept, **{"dfs.namenode.name.dir": (tmp_path / "new").as_uri()})
        assert_all_is_there(fs)


def assert_all_is_there(fs: FileSystem) -> None:
    assert fs.get_file_status("/kept/é漢😀").is_directory
    assert fs.exists("/later")
    assert not fs.exists("/gone")
