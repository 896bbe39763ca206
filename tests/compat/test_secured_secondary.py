"""Secondary namenodes of this project and of Hadoop beside secured namenodes of the other, and this
project's beside its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.secondary import SecondaryServer
from howdah.testing.waiting import wait_until
from tests.compat.test_secured_own_web import Curl
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.servers import SECONDARY, HadoopServers, free_port, write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

OWN: Final = "sn"
NAMENODES: Final = "nn"
"""The only principals that Hadoop's namenodes answer, where protocols have access lists."""


def settings(kdc: Kdc, primary: str = OWN, http_port: int = 0) -> dict[str, str]:
    """What makes a secondary a secured one, and a namenode know it."""
    return {
        "dfs.secondary.namenode.kerberos.principal": f"{primary}/_HOST@{REALM}",
        "dfs.secondary.namenode.keytab.file": str(kdc.services_keytab),
        "dfs.namenode.secondary.http-address": f"localhost:{http_port}",
        "dfs.namenode.secondary.https-address": "localhost:0",
        "dfs.namenode.checkpoint.period": "0",
    }


@pytest.fixture(scope="module")
def ours(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredHadoop]:
    with kdc.in_environment():
        directory = tmp_path_factory.mktemp("secondary")
        cluster = OurSecuredCluster(directory, hadoop_classpath, kdc, settings(kdc))
    yield cluster
    cluster.close()


def images(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "current").glob("fsimage_*") if not path.suffix)


def made_by_ours(cluster: SecuredHadoop, conf: Mapping[str, str], directory: Path) -> list[str]:
    """Make two images by this project's secondary; their names."""
    where = {"dfs.namenode.checkpoint.dir": directory.as_uri()}
    server = SecondaryServer(Configuration({**cluster.conf, **conf, **where}))
    try:
        with cluster.connect() as fs:
            fs.mkdirs("/user/alice/first")
            first = server.secondary.checkpoint()
            fs.mkdirs("/user/alice/second")
            second = server.secondary.checkpoint()
    finally:
        server.close()
    return [f"fsimage_{txid:019d}" for txid in (first, second)]


@pytest.mark.req("FS-031")
def test_our_secondary_makes_our_namenodes_images(ours: SecuredHadoop, tmp_path: Path) -> None:
    made = made_by_ours(ours, {}, tmp_path / "2nn")
    assert images(ours.name_directory)[-2:] == made == images(tmp_path / "2nn")[-2:]


@pytest.mark.req("FS-031")
def test_our_secondary_makes_hadoops_images(
    hadoop: SecuredHadoop, kdc: Kdc, tmp_path: Path
) -> None:
    made = made_by_ours(hadoop, settings(kdc, NAMENODES), tmp_path / "2nn")
    assert images(hadoop.name_directory)[-2:] == made == images(tmp_path / "2nn")[-2:]


@pytest.mark.req("FS-031")
def test_hadoops_secondary_makes_our_namenodes_image(
    ours: SecuredHadoop, kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    """It runs as a server: its command -checkpoint sends the image as nobody."""
    before = images(ours.name_directory)
    with ours.connect() as fs:
        fs.mkdirs("/user/alice/for-hadoops")
    conf_dir, theirs = tmp_path / "conf", tmp_path / "2nn"
    more = {
        "dfs.namenode.checkpoint.dir": theirs.as_uri(),
        "dfs.namenode.checkpoint.check.period": "1",
    }
    write_site_files(conf_dir, {**ours.conf, **settings(kdc), **more})
    servers = HadoopServers(tmp_path, hadoop_classpath, kdc.environment)
    servers.start("secondary", SECONDARY, conf_dir)
    try:
        wait_until(lambda: images(ours.name_directory)[-1] not in before, timeout_s=60)
        assert images(ours.name_directory)[-1] in images(theirs)
    finally:
        servers.close()


def test_a_secondary_runs_and_asks_who_looks_at_it(
    ours: SecuredHadoop, kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    conf_dir, port = tmp_path / "conf", free_port()
    more = {
        "dfs.namenode.checkpoint.dir": (tmp_path / "2nn").as_uri(),
        "dfs.namenode.checkpoint.check.period": "1",
    }
    write_site_files(conf_dir, {**ours.conf, **settings(kdc, http_port=port), **more})
    servers = HadoopServers(tmp_path, hadoop_classpath, kdc.environment)
    servers.start_ours("secondary", "secondarynamenode", conf_dir)
    try:
        wait_until(lambda: "has the image of" in servers.log("secondary"), timeout_s=60)
        nobody, alice = Curl(ours, tmp_path, None), Curl(ours, tmp_path, "alice")
        admin = Curl(ours, tmp_path, "hdfs")
        assert nobody("/health", port=port).status == 200
        assert nobody("/jmx", port=port).status == 401
        assert b"Checkpoints" in alice("/", port=port).body
        assert alice("/jmx", port=port).status == 200
        assert alice("/stacks", port=port).status == 403
        assert admin("/stacks", port=port).status == 200
    finally:
        servers.close()


@pytest.mark.parametrize(
    "missing",
    ["dfs.secondary.namenode.kerberos.principal", "dfs.secondary.namenode.keytab.file"],
)
def test_a_secondary_that_cannot_prove_itself_does_not_begin(
    ours: SecuredHadoop, tmp_path: Path, missing: str
) -> None:
    where = {"dfs.namenode.checkpoint.dir": (tmp_path / "2nn").as_uri(), missing: ""}
    with pytest.raises(errors.InvalidConfiguration, match=missing):
        SecondaryServer(Configuration({**ours.conf, **where}))
    assert not (tmp_path / "2nn").exists()
