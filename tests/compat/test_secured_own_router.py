"""Our router in secure mode, before Apache's secured cluster and before ours."""

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
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_routers import OurRouters
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = random.Random(37).randbytes((1 << 20) + 300_000)


@pytest.fixture(scope="module")
def our_cluster(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredHadoop]:
    with kdc.in_environment():
        directory = tmp_path_factory.mktemp("behind")
        audits = {"howdah.namenode.audit.log.file": str(directory / "audit.log")}
        cluster = OurSecuredCluster(directory, "", kdc, audits)
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


def by_token(routers: OurRouters, token: Token, directory: Path, name: str) -> HdfsFileSystem:
    """A client that has a token alone, of whichever router, at a router."""
    file = directory / "tokens"
    at_this = token.at(f"127.0.0.1:{routers.ports[name]}")
    file.write_bytes(Credentials({at_this.service: at_this}).encode())
    conf = Configuration(routers.client_conf(name))
    fs = howdah.connect(routers.uri(name), conf=conf, token_file=str(file))
    assert isinstance(fs, HdfsFileSystem)
    return fs


def got_token(fs: HdfsFileSystem, renewer: str = "alice") -> Token:
    token = fs.get_delegation_token(renewer)
    assert token is not None
    return token


def test_a_token_is_good_at_every_router_until_it_is_cancelled(
    routers: OurRouters, tmp_path: Path
) -> None:
    with routers.connect() as fs:
        token = got_token(fs)
        assert (token.kind, token.service) == (
            "HDFS_DELEGATION_TOKEN",
            f"127.0.0.1:{routers.ports['router']}",
        )
        for name in ("router", "other"):
            with by_token(routers, token, tmp_path, name) as user:
                assert user.user == "alice"
                work(user, f"/user/alice/by-token-{name}")
        with routers.connect(name="other") as elsewhere:
            assert elsewhere.renew_delegation_token(token) > 1_700_000_000_000
            elsewhere.cancel_delegation_token(token)
        for name in ("router", "other"):
            with by_token(routers, token, tmp_path, name) as user:
                with pytest.raises(errors.InvalidToken, match="can't be found in cache"):
                    user.list_status("/")


def test_a_token_gets_no_other_token(routers: OurRouters, tmp_path: Path) -> None:
    with routers.connect() as fs, by_token(routers, got_token(fs), tmp_path, "router") as user:
        with pytest.raises(errors.HowdahError, match="only with kerberos"):
            user.get_delegation_token("alice")


def test_the_renewer_alone_renews_and_strangers_do_not_cancel(routers: OurRouters) -> None:
    with routers.connect() as fs, routers.connect("bob") as bob:
        token = got_token(fs, "oozie")
        for stranger in (fs, bob):
            with pytest.raises(errors.AccessDenied, match="non-matching renewer oozie"):
                stranger.renew_delegation_token(token)
        with pytest.raises(errors.AccessDenied, match=r"bob@EXAMPLE\.COM is not authorized"):
            bob.cancel_delegation_token(token)
        forged = Token(token.identifier, b"x" * 20, token.kind, token.service)
        with routers.connect("oozie") as renewer:
            with pytest.raises(errors.AccessDenied, match="wrong password"):
                renewer.renew_delegation_token(forged)
            assert renewer.renew_delegation_token(token)
            renewer.cancel_delegation_token(token)


def audited(routers: OurRouters) -> list[str]:
    """The lines of the namenode's audit log, wherever it is."""
    own = routers.cluster.directory / "audit.log"
    text = own.read_text() if own.exists() else routers.cluster.log("namenode")
    return text.splitlines()


def test_a_namenode_refuses_a_user_by_his_own_name(routers: OurRouters) -> None:
    with routers.connect() as alice, routers.connect("bob") as bob:
        alice.mkdirs("/user/alice/closed")
        alice.set_permission("/user/alice/closed", 0o700)
        with pytest.raises(errors.AccessDenied, match="user=bob"):
            bob.list_status("/user/alice/closed")
    who = "ugi=bob (auth:PROXY) via router/localhost@EXAMPLE.COM (auth:KERBEROS)"

    def is_written() -> bool:
        lines = [line for line in audited(routers) if "src=/user/alice/closed" in line]
        return any("allowed=false" in line and who in line for line in lines)

    wait_until(is_written)


def acting(routers: OurRouters, user: str, real_user: str) -> HdfsFileSystem:
    """A client that `real_user` has for another one."""
    fs = howdah.connect(
        routers.uri(),
        conf=Configuration(routers.client_conf()),
        user=user,
        real_user=real_user,
        keytab=str(routers.cluster.kdc.keytab(real_user)),
        principal=f"{real_user}@{REALM}",
    )
    assert isinstance(fs, HdfsFileSystem)
    return fs


def test_whoever_may_acts_for_others_at_the_door(routers: OurRouters, tmp_path: Path) -> None:
    with acting(routers, "bob", "oozie") as fs:
        with fs.create("/user/bob/through", overwrite=True) as out:
            out.write(b"x")
        assert fs.get_file_status("/user/bob/through").owner == "bob"
        token = got_token(fs, "oozie")
        with by_token(routers, token, tmp_path, "other") as bob:
            assert bob.get_file_status("/user/bob/through").owner == "bob"
    lines = [line for line in audited(routers) if "cmd=create" in line and "/through" in line]
    assert "ugi=bob (auth:PROXY) via router/localhost@EXAMPLE.COM (auth:KERBEROS)" in lines[0]
    with acting(routers, "alice", "oozie") as fs:
        with pytest.raises(
            errors.AuthorizationFailed, match=r"oozie.* is not allowed to impersonate"
        ):
            fs.list_status("/")


def test_administrators_come_by_a_ticket(
    routers: OurRouters,
    kerberos_environment: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kdc = routers.cluster.kdc
    words = [
        word for name, value in routers.client_conf().items() for word in ("-D", f"{name}={value}")
    ]
    kdc.kinit("alice", kerberos_environment)
    assert main(["dfsrouteradmin", *words, "-safemode", "enter"]) != 0
    assert "alice is not a super user" in capsys.readouterr().err
    kdc.kinit("hdfs", kerberos_environment)
    assert main(["dfsrouteradmin", *words, "-ls", "/"]) == 0
    assert "ns->/" in capsys.readouterr().out
    assert main(["dfsrouteradmin", *words, "-safemode", "get"]) == 0
