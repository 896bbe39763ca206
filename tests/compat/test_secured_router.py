"""Our client through a router of Apache's in secure mode, by tickets and by the router's tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper
from tests.support.hadoop.jars import NoHadoop, hadoop_fronts_class_path
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.router import NAMENODE_SETTINGS, SecuredRouter
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = random.Random(36).randbytes((1 << 20) + 300_000)
CACHE = Path(__file__).parents[2] / ".cache"


@pytest.fixture(scope="module")
def router(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredRouter]:
    try:
        jars = hadoop_fronts_class_path(CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)
    directory = tmp_path_factory.mktemp("behind")
    with kdc.in_environment():
        hadoop = SecuredHadoop(directory, hadoop_classpath, kdc, NAMENODE_SETTINGS)
        try:
            front = SecuredRouter(tmp_path_factory.mktemp("router"), jars, hadoop)
        except (NoZooKeeper, NoJava) as error:
            hadoop.close()
            pytest.skip(error.message)
        except BaseException:
            hadoop.close()
            raise
    yield front
    front.close()
    hadoop.close()


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
    ("protection", "suites"),
    [("authentication", ""), ("integrity", ""), ("privacy", AES), ("privacy", "")],
)
def test_files_are_written_and_read_through_a_router(
    router: SecuredRouter, protection: str, suites: str
) -> None:
    with router.connect(rpc=protection, data=protection, suites=suites) as fs:
        work(fs, f"/user/alice/routed-{protection}-{len(suites)}")


def test_a_router_is_not_taken_for_a_namenode(router: SecuredRouter) -> None:
    alone = {
        "dfs.namenode.kerberos.principal": f"nn/_HOST@{REALM}",
        "dfs.namenode.kerberos.principal.pattern": "",
    }
    with router.connect(conf=alone) as fs:
        with pytest.raises(errors.AuthenticationFailed, match="says that it is router/localhost"):
            fs.list_status("/")


@pytest.mark.parametrize("protection", ["authentication", "privacy"])
def test_a_routers_token_alone_is_enough(
    router: SecuredRouter, tmp_path: Path, protection: str
) -> None:
    with router.connect() as fs:
        token = fs.get_delegation_token("alice")
        assert token is not None
        assert token.service == f"127.0.0.1:{router.rpc_port}"
        assert fs.renew_delegation_token(token) > 1_700_000_000_000
        file = tmp_path / "tokens"
        file.write_bytes(Credentials({token.service: token}).encode())
        conf = Configuration(router.client_conf(rpc=protection, data=protection, suites=AES))
        with howdah.connect(router.uri, conf=conf, token_file=str(file)) as by_token:
            assert isinstance(by_token, HdfsFileSystem)
            assert by_token.user == "alice"
            work(by_token, f"/user/alice/routed-by-token-{protection}")
        fs.cancel_delegation_token(token)
        with howdah.connect(router.uri, conf=conf, token_file=str(file)) as by_token:
            with pytest.raises(errors.InvalidToken, match="can't be found in cache"):
                by_token.list_status("/")


def test_a_routers_token_is_none_of_the_namenode_behind_it(
    router: SecuredRouter, tmp_path: Path
) -> None:
    with router.connect() as fs:
        token = fs.get_delegation_token("alice")
        assert token is not None
        file = tmp_path / "tokens"
        file.write_bytes(Credentials({token.service: token}).encode())
        behind = router.hadoop
        conf = Configuration(behind.client_conf())
        with howdah.connect(behind.uri, conf=conf, token_file=str(file)) as by_token:
            with pytest.raises(errors.AuthenticationFailed, match="no delegation token for it"):
                by_token.list_status("/")
        fs.cancel_delegation_token(token)


def test_the_mount_table_is_asked_for_by_a_ticket(
    router: SecuredRouter,
    kdc: Kdc,
    kerberos_environment: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kdc.kinit("hdfs", kerberos_environment)
    words = [
        word for name, value in router.client_conf().items() for word in ("-D", f"{name}={value}")
    ]
    code = main(["dfsrouteradmin", *words, "-ls", "/"])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "ns->/" in said.out
