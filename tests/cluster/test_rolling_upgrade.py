"""Rolling upgrades of real clusters: prepared, gone on with, finalized, rolled back."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.server.process.rolling_back import roll_back_upgrade
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.failover.workload import wait_until_they_go_on
from tests.support.failover.write_ledger import (
    CodedWriter,
    FileWriter,
    LogWriter,
    Manifest,
    Reader,
)
from tests.support.replicas import found_below
from tests.support.started import started
from tests.support.striped_blocks import first_not_settled, wait_until_mended

Admin = Callable[..., tuple[int, str]]
TIMEOUT_S = 60.0


def admin_of(cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Admin:
    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(["dfsadmin", "--conf", str(cluster.conf_dir), *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def current(cluster: MiniCluster, name: str = "namenode") -> Path:
    return cluster.data_dirs(name)[0] / "current"


def images(cluster: MiniCluster, name: str = "namenode") -> list[str]:
    found = current(cluster, name).glob("fsimage_*")
    return sorted(path.name for path in found if re.fullmatch(r"[a-z_]+\d+", path.name))


def write(fs: FileSystem, path: str, data: bytes = b"some data") -> None:
    with fs.create(path, replication=1) as out:
        out.write(data)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as file:
        return file.read()


@pytest.mark.req("FS-201")
def test_upgrade_of_one_namenode_is_prepared_in_safe_mode_and_finalized(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        write(fs, "/before")
        code, said = admin("-rollingUpgrade", "prepare")
        assert code == 255
        assert "Safe mode should be turned ON in order to create namespace image." in said
        assert admin("-safemode", "enter")[0] == 0
        code, said = admin("-rollingUpgrade", "prepare")
        assert (code, said.splitlines()[:2]) == (
            0,
            ["PREPARE rolling upgrade ...", "Proceed with rolling upgrade:"],
        )
        assert admin("-safemode", "get")[1] == "Safe mode is OFF\n"
        assert len([name for name in images(cluster) if "rollback" in name]) == 1
        write(fs, "/after")
        cluster.restart("namenode")
        code, said = admin("-rollingUpgrade", "query")
        assert re.fullmatch(
            r"QUERY rolling upgrade \.\.\.\nProceed with rolling upgrade:\n"
            r"  Block Pool ID: BP-\S+\n     Start Time: .* \(=\d+\)\n"
            r"  Finalize Time: <NOT FINALIZED>\n",
            said,
        )
        code, said = admin("-rollingUpgrade", "finalize")
        assert (code, said.splitlines()[1]) == (0, "Rolling upgrade is finalized.")
        wait_until(lambda: not [name for name in images(cluster) if "rollback" in name])
        assert "There is no rolling upgrade in progress" in admin("-rollingUpgrade", "query")[1]
        cluster.restart("namenode")
        assert "There is no rolling upgrade in progress" in admin("-rollingUpgrade")[1]
        assert read(fs, "/after") == b"some data"


@pytest.mark.req("FS-203")
def test_rollback_of_one_namenode_gives_up_what_came_after(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        write(fs, "/before")
        admin("-safemode", "enter")
        admin("-rollingUpgrade", "prepare")
        write(fs, "/after")
        fs.rename("/before", "/elsewhere")
        admin("-safemode", "enter")
        assert admin("-saveNamespace")[0] == 0
        cluster.stop("namenode")
        conf = Configuration({"dfs.namenode.name.dir": current(cluster).parent.as_uri()})
        roll_back_upgrade(conf)
        cluster.start("namenode")
        cluster.wait_ready()
        assert [status.path for status in fs.list_status("/")] == ["/before"]
        assert read(fs, "/before") == b"some data"
        assert images(cluster) == ["fsimage_0000000000000000000", "fsimage_0000000000000000008"]
        assert "There is no rolling upgrade" in admin("-rollingUpgrade", "query")[1]
        write(fs, "/new")
        cluster.restart("namenode")
        assert read(fs, "/new") == b"some data"


@pytest.mark.req("FS-201")
def test_each_of_two_namenodes_makes_an_image_to_go_back_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=1, namenodes=2) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        write(fs, "/before")
        code, said = admin("-rollingUpgrade", "prepare")
        assert (code, said.splitlines()[1]) == (
            0,
            "Preparing for upgrade. Data is being saved for rollback.",
        )
        names = ("namenode0", "namenode1")
        wait_until(
            lambda: all(any("rollback" in each for each in images(cluster, n)) for n in names),
            TIMEOUT_S,
        )
        both = [[each for each in images(cluster, n) if "rollback" in each] for n in names]
        assert both[0] == both[1]
        wait_until(
            lambda: "Proceed with rolling upgrade:" in admin("-rollingUpgrade", "query")[1],
            TIMEOUT_S,
        )
        cluster.stop(cluster.active())
        cluster.active()
        assert "Proceed with rolling upgrade:" in admin("-rollingUpgrade", "query")[1]
        write(fs, "/after")
        other = "namenode0" if cluster.active() == "namenode1" else "namenode1"
        bootstrap = ["--conf", str(cluster._cluster.layout.server_conf_dir(other))]
        assert main(["namenode", *bootstrap, "-bootstrapStandby", "-force"]) == 0
        assert both[0][0] in images(cluster, other)
        cluster.start(other)
        cluster.wait_ready()
        cluster.stop(cluster.active())
        cluster.active()
        assert "Proceed with rolling upgrade:" in admin("-rollingUpgrade", "query")[1]
        assert admin("-rollingUpgrade", "finalize")[0] == 0
        assert "There is no rolling upgrade in progress" in admin("-rollingUpgrade", "query")[1]


def blocks(cluster: MiniCluster, top: str) -> int:
    """How many block files lie below `top` of the datanode's slices."""
    found = found_below(cluster.data_dirs("datanode0")[0], f"current/BP-*/{top}/**/blk_*")
    return sum(not path.suffix for path in found)


def prepare(admin: Admin) -> None:
    assert admin("-safemode", "enter")[0] == 0
    code, said = admin("-rollingUpgrade", "prepare")
    assert code == 0, said


@pytest.mark.req("FS-204")
def test_datanodes_keep_what_is_deleted_until_the_upgrade_is_final(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        write(fs, "/early")
        fs.delete("/early")
        wait_until(lambda: blocks(cluster, "current") == 0, TIMEOUT_S)
        write(fs, "/a")
        write(fs, "/b")
        prepare(admin)
        fs.delete("/a")
        wait_until(lambda: blocks(cluster, "trash") == 1, TIMEOUT_S)
        cluster.kill("datanode0")
        cluster.restart("namenode")
        cluster.start("datanode0")
        cluster.wait_ready()
        fs.delete("/b")
        wait_until(lambda: blocks(cluster, "trash") == 2, TIMEOUT_S)
        assert blocks(cluster, "current") == 0
        assert admin("-rollingUpgrade", "finalize")[0] == 0
        pools = cluster.data_dirs("datanode0")[0].glob("current/BP-*")
        (pool,) = pools
        wait_until(lambda: not (pool / "RollingUpgradeInProgress").exists(), TIMEOUT_S)
        assert not (pool / "trash").exists()
        write(fs, "/c")
        fs.delete("/c")
        wait_until(lambda: blocks(cluster, "current") == 0, TIMEOUT_S)
        assert not (pool / "trash").exists()


@pytest.mark.req("FS-203", "FS-204")
def test_a_rolled_back_cluster_has_the_files_that_were_deleted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        write(fs, "/before", b"what was there")
        write(fs, "/longer", b"short")
        write(fs, "/cut", b"long")
        prepare(admin)
        (pool,) = cluster.data_dirs("datanode0")[0].glob("current/BP-*")
        # Datanodes are told by the next heartbeat.
        wait_until(lambda: (pool / "RollingUpgradeInProgress").exists(), TIMEOUT_S)
        with fs.append("/longer") as out:
            out.write(b" and more")
        fs.truncate("/cut", 1)
        wait_until(lambda: fs.is_file_closed("/cut"), TIMEOUT_S)
        fs.delete("/before")
        write(fs, "/before", b"something else")
        wait_until(lambda: blocks(cluster, "trash") == 1, TIMEOUT_S)
        cluster.kill("datanode0")
        cluster.kill("namenode")
        with (
            started(cluster, "namenode", "namenode", "-rollingUpgrade", "rollback"),
            started(cluster, "datanode0", "datanode", "-rollingupgrade", "rollback"),
        ):
            assert admin("-safemode", "wait")[0] == 0
            assert read(fs, "/before") == b"what was there"
            assert (read(fs, "/longer"), read(fs, "/cut")) == (b"short", b"long")
            write(fs, "/after", b"new")
        cluster.start("namenode")
        cluster.start("datanode0")
        cluster.wait_ready()
        assert read(fs, "/before") == b"what was there"
        assert read(fs, "/after") == b"new"
        # What was written during the upgrade belongs to no file any more.
        wait_until(lambda: blocks(cluster, "current") == 4, TIMEOUT_S)
        assert blocks(cluster, "trash*") == 0


@pytest.mark.req("FS-203")
def test_two_namenodes_and_their_shared_log_are_rolled_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=1, namenodes=2) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        write(fs, "/before")
        assert admin("-rollingUpgrade", "prepare")[0] == 0
        wait_until(
            lambda: "Proceed with rolling upgrade:" in admin("-rollingUpgrade", "query")[1],
            TIMEOUT_S,
        )
        write(fs, "/after")
        fs.delete("/before")
        names = [name for name in cluster.names if name.startswith(("namenode", "zkfc"))]
        rolled_back = cluster.active()
        other = "namenode0" if rolled_back == "namenode1" else "namenode1"
        for name in ["datanode0", *names]:
            cluster.stop(name)
        layout = cluster._cluster.layout
        roll_back_upgrade(Configuration.load(layout.server_conf_dir(rolled_back)))
        cluster.start(rolled_back)
        with started(cluster, "datanode0", "datanode", "-rollback"):
            pass
        for name in ["datanode0", *names]:
            if name not in (rolled_back, other):
                cluster.start(name)
        cluster.active(timeout_s=TIMEOUT_S)
        bootstrap = ["namenode", "--conf", str(layout.server_conf_dir(other))]
        assert main([*bootstrap, "-bootstrapStandby", "-force"]) == 0
        cluster.start(other)
        cluster.wait_ready()
        assert [status.path for status in fs.list_status("/")] == ["/before"]
        assert read(fs, "/before") == b"some data"
        write(fs, "/new")
        cluster.stop(cluster.active())
        cluster.active(timeout_s=TIMEOUT_S)
        assert read(fs, "/new") == b"some data"
        assert "There is no rolling upgrade" in admin("-rollingUpgrade", "query")[1]


def exchange_datanode(cluster: MiniCluster, admin: Admin, name: str) -> None:
    """As docs/operating.md has it."""
    address = cluster.process(name).addresses["ipc"]
    assert admin("-shutdownDatanode", address, "upgrade")[0] == 0
    wait_until(lambda: cluster.process(name).pid is None, TIMEOUT_S, f"{name} is down")
    cluster.start(name)
    cluster.wait_ready()


def exchange_namenode(cluster: MiniCluster, name: str) -> None:
    cluster.stop(name)
    cluster.active(timeout_s=TIMEOUT_S)
    cluster.start(name)
    cluster.wait_ready()


@pytest.mark.req("FS-206", "FS-128", "LM-012")
def test_every_server_is_exchanged_under_a_writer_that_loses_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=2, namenodes=2) as cluster:
        admin = admin_of(cluster, capsys)
        manifest = Manifest()
        clients = [
            FileWriter("writer", cluster.connect, manifest, 1, "/d"),
            LogWriter("log", cluster.connect, manifest, 1, "/d/log"),
            Reader("reader", cluster.connect, manifest, 1),
        ]

        def go_on() -> None:
            """Return when clients have been answered again."""
            now = manifest.acknowledged
            wait_until(
                lambda: manifest.acknowledged > now + 10 or manifest.failures,
                TIMEOUT_S,
                "clients go on",
            )
            assert manifest.failures == []

        for client in clients:
            client.start()
        try:
            go_on()
            assert admin("-rollingUpgrade", "prepare")[0] == 0
            wait_until(
                lambda: "Proceed with rolling upgrade:" in admin("-rollingUpgrade", "query")[1],
                TIMEOUT_S,
            )
            for name in ("namenode0", "namenode1"):
                exchange_namenode(cluster, name)
                go_on()
            for name in ("datanode0", "datanode1"):
                exchange_datanode(cluster, admin, name)
                go_on()
            wait_until(lambda: blocks(cluster, "trash"), TIMEOUT_S, "something is kept")
            code, said = admin("-rollingUpgrade", "finalize")
            assert (code, said.splitlines()[1]) == (0, "Rolling upgrade is finalized.")
            wait_until(lambda: not blocks(cluster, "trash"), TIMEOUT_S, "nothing is kept")
            go_on()
        finally:
            for client in clients:
                client.stop()
            for client in clients:
                client.join(TIMEOUT_S)
        assert manifest.failures == []
        with cluster.connect() as fs:
            manifest.verify(fs)


XOR = "XOR-2-1-1024k"
CELL = 1 << 20


def enable_coding(fs: FileSystem, directory: str) -> None:
    assert isinstance(fs, HdfsFileSystem)
    fs.mkdirs(directory)
    fs.client.namenode.enable_erasure_coding_policy(XOR)
    fs.set_erasure_coding_policy(directory, XOR)


def write_coded(fs: FileSystem, path: str, data: bytes) -> None:
    with fs.create(path) as out:
        out.write(data)


@pytest.mark.req("FS-206", "OS-005")
def test_every_server_is_exchanged_under_a_writer_of_coded_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=4, namenodes=2) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        enable_coding(fs, "/coded")
        manifest = Manifest()
        lengths = [0, 10, CELL, CELL + 1, 2 * CELL, 5 * CELL + 77]
        clients = [
            CodedWriter("writer", cluster.connect, manifest, 1, "/coded", lengths),
            Reader("reader", cluster.connect, manifest, 1),
        ]
        for client in clients:
            client.start()
        try:
            wait_until_they_go_on(manifest)
            assert admin("-rollingUpgrade", "prepare")[0] == 0
            wait_until(
                lambda: "Proceed with rolling upgrade:" in admin("-rollingUpgrade", "query")[1],
                TIMEOUT_S,
            )
            for name in ("namenode0", "namenode1"):
                exchange_namenode(cluster, name)
                wait_until_they_go_on(manifest)
            for number in range(4):
                exchange_datanode(cluster, admin, f"datanode{number}")
                wait_until_they_go_on(manifest)
                wait_until_mended(fs, manifest)
            assert admin("-rollingUpgrade", "finalize")[0] == 0
            wait_until_they_go_on(manifest)
        finally:
            for client in clients:
                client.stop()
            for client in clients:
                client.join(TIMEOUT_S)
        assert manifest.failures == []
        manifest.verify(fs)
        wait_until_mended(fs, manifest)


@pytest.mark.req("FS-203", "FS-204", "OS-005")
def test_a_rolled_back_cluster_has_its_groups(capsys: pytest.CaptureFixture[str]) -> None:
    kept = bytes(range(251)) * 20_000
    with MiniCluster(datanodes=3) as cluster, cluster.connect() as fs:
        admin = admin_of(cluster, capsys)
        enable_coding(fs, "/coded")
        for name in ("deleted", "longer", "there"):
            write_coded(fs, f"/coded/{name}", kept)
        prepare(admin)
        pools = [next(cluster.data_dirs(f"datanode{n}")[0].glob("current/BP-*")) for n in range(3)]
        wait_until(
            lambda: all((pool / "RollingUpgradeInProgress").exists() for pool in pools), TIMEOUT_S
        )
        with fs.append("/coded/longer", new_block=True) as out:
            out.write(b"more")
        fs.delete("/coded/deleted")
        write_coded(fs, "/coded/deleted", b"something else")
        write_coded(fs, "/coded/after", kept)
        wait_until(lambda: found_below(pools[0], "trash/**/blk_-*"), TIMEOUT_S, "it is kept")
        assert isinstance(fs, HdfsFileSystem)
        fs.client.namenode.enable_erasure_coding_policy("RS-3-2-1024k")
        names = [f"datanode{number}" for number in range(3)]
        cluster.kill("namenode", *names)
        with contextlib.ExitStack() as stack:
            stack.enter_context(
                started(cluster, "namenode", "namenode", "-rollingUpgrade", "rollback")
            )
            for name in names:
                stack.enter_context(
                    started(cluster, name, "datanode", "-rollingupgrade", "rollback")
                )
            assert admin("-safemode", "wait")[0] == 0
            for name in ("deleted", "longer", "there"):
                assert read(fs, f"/coded/{name}") == kept
        for name in ("namenode", *names):
            cluster.start(name)
        cluster.wait_ready()
        listed = sorted(status.name for status in fs.list_status("/coded"))
        assert listed == ["deleted", "longer", "there"]
        enabled = {
            policy.name for policy in fs.get_erasure_coding_policies() if policy.state == "ENABLED"
        }
        assert enabled == {XOR, "RS-6-3-1024k"}
        # An id that was given to a group of the upgrade is given again.
        write_coded(fs, "/coded/new", kept[::-1])
        paths = [f"/coded/{name}" for name in ("deleted", "longer", "there", "new")]
        wait_until(lambda: first_not_settled(fs, paths) is None, TIMEOUT_S, "groups are whole")
        for name in ("deleted", "longer", "there"):
            assert read(fs, f"/coded/{name}") == kept
        assert read(fs, "/coded/new") == kept[::-1]
