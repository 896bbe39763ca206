"""An upgrade of a whole cluster: namenode and datanodes keep what was, until it is final."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.namenode.server.process import upgrading
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import found_below, replica_files
from tests.support.started import started


def name_directories(cluster: MiniCluster) -> Configuration:
    return Configuration({"dfs.namenode.name.dir": (cluster.dir / "namenode" / "name").as_uri()})


def kept(cluster: MiniCluster) -> list[Path]:
    """What namenode and datanode keep of the time before."""
    return found_below(cluster.dir, "**/previous")


def test_cluster_is_upgraded_goes_on_and_makes_it_final(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        for name in ("gone", "longer"):
            with fs.create(f"/d/{name}", replication=1) as out:
                out.write(b"before")
        cluster.stop("datanode0")
        cluster.stop("namenode")
        upgrading.upgrade(name_directories(cluster))
        cluster.start("namenode")
        cluster.start("datanode0")
        cluster.wait_ready()
        assert main(["dfsadmin", "-fs", cluster.uri, "-upgrade", "query"]) == 0
        assert capsys.readouterr().out == "Upgrade not finalized\n"
        with fs.append("/d/longer") as out:
            out.write(b" and after")
        with fs.open("/d/longer") as file:
            assert file.read() == b"before and after"
        fs.delete("/d/gone")
        blocks = [
            path
            for top in kept(cluster)
            for path in found_below(top, "**/blk_*")
            if not path.suffix
        ]
        assert [path.read_bytes() for path in blocks] == [b"before", b"before"]
        assert main(["dfsadmin", "-fs", cluster.uri, "-finalizeUpgrade"]) == 0
        assert main(["dfsadmin", "-fs", cluster.uri, "-upgrade", "query"]) == 0
        said = capsys.readouterr().out
        assert said == "Finalize upgrade successful\nUpgrade finalized\n"
        ipc = cluster.process("datanode0").addresses["ipc"]

        def all_is_final() -> bool:
            main(["dfsadmin", "-fs", cluster.uri, "-triggerBlockReport", ipc])
            return not kept(cluster)

        wait_until(all_is_final)
        with pytest.raises(errors.StorageLocked):
            upgrading.roll_back(name_directories(cluster))
        assert main(["dfsadmin", "-fs", cluster.uri, "-rollingUpgrade", "query"]) == 0
        assert "There is no rolling upgrade in progress" in capsys.readouterr().out


def test_cluster_that_is_rolled_back_has_what_it_had(capsys: pytest.CaptureFixture[str]) -> None:
    """A datanode looks at its replicas when it starts, and goes back when it knows the namenode."""
    with MiniCluster(datanodes=1) as cluster:
        with cluster.connect() as fs:
            for name in ("kept", "deleted", "longer"):
                with fs.create(f"/{name}", replication=1) as out:
                    out.write(name.encode())
        cluster.stop("datanode0")
        cluster.stop("namenode")
        upgrading.upgrade(name_directories(cluster))
        cluster.start("namenode")
        cluster.start("datanode0")
        cluster.wait_ready()
        with cluster.connect() as fs:
            fs.delete("/deleted")
            with fs.append("/longer") as out:
                out.write(b" since")
            with fs.create("/new", replication=1) as out:
                out.write(b"new")
            wait_until(lambda: len(replica_files(cluster)) == 3)
        cluster.stop("datanode0")
        cluster.stop("namenode")
        upgrading.roll_back(name_directories(cluster))
        cluster.start("namenode")
        with started(cluster, "datanode0", "datanode", "-rollback"), cluster.connect() as fs:
            for name in ("kept", "deleted", "longer"):
                with fs.open(f"/{name}") as file:
                    assert file.read() == name.encode()
            assert not fs.exists("/new")
            assert main(["fsck", "--conf", str(cluster.conf_dir), "/"]) == 0
        assert "is HEALTHY" in capsys.readouterr().out
        assert len(replica_files(cluster)) == 3
