"""Our router in secure mode, before Apache's secured cluster and before ours."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from tests.support.security.kdc import Kdc
from tests.support.security.our_routers import OurRouters
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = random.Random(37).randbytes((1 << 20) + 300_000)


@pytest.fixture(scope="module")
def our_cluster(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredHadoop]:
    with kdc.in_environment():
        cluster = OurSecuredCluster(tmp_path_factory.mktemp("behind"), "", kdc)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module", params=["hadoop", "our_cluster"])
def routers(
    request: pytest.FixtureRequest, kdc: Kdc, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OurRouters]:
    """Two that share their state store."""
    cluster = request.getfixturevalue(request.param)
    with kdc.in_environment():
        routers = OurRouters(tmp_path_factory.mktemp("routers"), cluster)
        try:
            routers.start("router").start("other")
        except BaseException:
            routers.close()
            raise
    yield routers
    routers.close()


def work(fs: HdfsFileSystem, path: str) -> None:
    """Write, append, read, and look at a file."""
    with fs.create(path, overwrite=True) as out:
        out.write(DATA)
        out.hsync()
        assert fs.open(path).read() == DATA
    with fs.append(path) as out:
        out.write(b"more")
    assert fs.open(path).read() == DATA + b"more"
    assert fs.get_file_checksum(path) is not None
    assert fs.get_file_status(path).owner == "alice"


@pytest.mark.parametrize(
    ("protection", "suites"), [("authentication", ""), ("integrity", ""), ("privacy", AES)]
)
def test_files_are_written_and_read_by_a_ticket(
    routers: OurRouters, protection: str, suites: str
) -> None:
    with routers.connect(rpc=protection, data=protection, suites=suites) as fs:
        work(fs, f"/user/alice/ours-{protection}-{len(suites)}")
