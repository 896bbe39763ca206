"""Our router in secure mode, before Apache's secured cluster and before ours."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper
from howdah.testing.spark import FS_SHELL
from howdah.testing.waiting import wait_until
from tests.compat.test_secured_peers import COPY
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_routers import OurRouters
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import AES, SecuredHadoop
from tests.support.security.secured_pair import SecuredPair
from tests.support.zookeeper import zookeeper_server

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

RUN_S = 120
DATA = random.Random(37).randbytes((1 << 20) + 300_000)


@pytest.fixture(scope="module")
def our_cluster(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredHadoop]:
    with kdc.in_environment():
        directory = tmp_path_factory.mktemp("behind")
        audits = {"howdah.namenode.audit.log.file": str(directory / "audit.log")}
        cluster = OurSecuredCluster(directory, "", kdc, audits)
    yield cluster
    cluster.close()


@pytest.fixture(
    scope="module",
    params=[pytest.param("hadoop", marks=pytest.mark.torture), "our_cluster"],
)
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
    ("protection", "suites"),
    [
        pytest.param("authentication", "", marks=pytest.mark.torture),
        pytest.param("integrity", "", marks=pytest.mark.torture),
        ("privacy", AES),
    ],
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


def test_hadoops_cluster_is_served_by_tickets_and_tokens(
    hadoop: SecuredHadoop, kdc: Kdc, tmp_path: Path
) -> None:
    """The rest of this module before Hadoop's cluster is a run of torture."""
    routers = OurRouters(tmp_path / "routers", hadoop)
    try:
        routers.start()
        with routers.connect(rpc="privacy", data="privacy", suites=AES) as fs:
            work(fs, "/user/alice/before-hadoop")
            token = got_token(fs)
            with by_token(routers, token, tmp_path, "router") as user:
                work(user, "/user/alice/before-hadoop-by-token")
            fs.cancel_delegation_token(token)
    finally:
        routers.close()


@pytest.mark.torture
def test_a_router_follows_a_failover(hadoop_pair: SecuredPair, kdc: Kdc, tmp_path: Path) -> None:
    conf = {"dfs.http.policy": "HTTP_ONLY", "dfs.federation.router.http.enable": "false"}
    routers = OurRouters(tmp_path / "routers", hadoop_pair, conf)
    try:
        routers.start()
        with routers.connect() as fs:
            token = got_token(fs)
            for turn in range(3):
                with by_token(routers, token, tmp_path, "router") as user:
                    work(user, f"/user/alice/turn-{turn}")
                hadoop_pair.fail_over()
        assert "is ACTIVE now, it was STANDBY" in routers.log()
    finally:
        routers.close()


@pytest.mark.torture
def test_routers_share_tokens_in_zookeeper(
    our_cluster: SecuredHadoop, kdc: Kdc, tmp_path: Path
) -> None:
    pytest.importorskip("kazoo", reason="a state store in ZooKeeper needs kazoo")
    known = base64.b64encode(hashlib.sha1(b"routers:a word", usedforsecurity=False).digest())
    try:
        held = ExitStack()
        host, port = held.enter_context(zookeeper_server(tmp_path / "zookeeper"))
    except (NoZooKeeper, NoJava) as error:
        pytest.skip(str(error))
    with held:
        store = {
            "dfs.federation.router.store.driver.class": "StateStoreZooKeeperImpl",
            "hadoop.zk.address": f"{host}:{port}",
            "hadoop.zk.acl": f"digest:routers:{known.decode()}:cdrwa",
            "hadoop.zk.auth": "digest:routers:a word",
        }
        routers = OurRouters(tmp_path / "routers", our_cluster, store)
        held.callback(routers.close)
        routers.start("router").start("other")
        with routers.connect() as fs:
            token = got_token(fs)
            with by_token(routers, token, tmp_path, "other") as user:
                work(user, "/user/alice/by-zookeeper")
        routers.kill("router")
        routers.kill("other")
        routers.start("other")
        with routers.connect(name="other") as fs:
            fs.renew_delegation_token(token)
            fs.cancel_delegation_token(token)
        routers.start("router")
        with by_token(routers, token, tmp_path, "router") as user:
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


def copy_by_java(
    routers: OurRouters,
    jars: str,
    conf: Mapping[str, str],
    proof: Mapping[str, str],
    source: str,
    target: str,
) -> None:
    """`proof` is of the environment."""
    options = [f"-Djava.security.krb5.conf={routers.cluster.kdc.configuration}"]
    settings = [word for name, value in conf.items() for word in ("-D", f"{name}={value}")]
    command = hadoop_java(jars, routers.cluster.conf_dir, options=options)
    done = subprocess.run(
        [*command, FS_SHELL, *settings, "-cp", "-f", source, target],
        env={**os.environ, **proof},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def copy_by_native(routers: OurRouters, source: str, target: str, cache: Path) -> None:
    """It takes the highest protection that is offered."""
    routers.cluster.kdc.kinit("alice", cache)
    done = subprocess.run(
        [sys.executable, "-c", COPY],
        input=json.dumps([routers.uri(), routers.client_conf(), source, target]),
        env={**os.environ, "KRB5CCNAME": f"FILE:{cache}"},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("by", [pytest.param("java", marks=pytest.mark.torture), "native"])
def test_other_clients_go_through_the_router_by_a_ticket(
    routers: OurRouters, hadoop_classpath: str, tmp_path: Path, by: str
) -> None:
    source, target = "/user/alice/for-others", f"/user/alice/by-{by}"
    with routers.connect() as fs:
        fs.write_bytes(source, DATA)
        if by == "java":
            chosen = routers.client_conf(rpc="privacy", data="privacy", suites=AES)
            kdc = routers.cluster.kdc
            ticket = {
                "KRB5KEYTAB": str(kdc.keytab("alice")),
                "KRB5PRINCIPAL": f"alice@{REALM}",
            }
            copy_by_java(routers, hadoop_classpath, chosen, ticket, source, target)
        else:
            pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
            copy_by_native(routers, source, target, tmp_path / "cache")
        assert fs.read_bytes(target) == DATA
        assert fs.get_file_status(target).owner == "alice"


def test_javas_client_goes_through_any_router_by_a_token(
    routers: OurRouters, hadoop_classpath: str, tmp_path: Path
) -> None:
    """As a task of Spark does, which has the token alone."""
    source, target = "/user/alice/for-tasks", "/user/alice/by-task"
    with routers.connect() as fs:
        fs.write_bytes(source, DATA)
        token = got_token(fs).at(f"127.0.0.1:{routers.ports['other']}")
        file = tmp_path / "tokens"
        file.write_bytes(Credentials({token.service: token}).encode())
        by_token_alone = {"HADOOP_TOKEN_FILE_LOCATION": str(file)}
        conf = routers.client_conf("other")
        copy_by_java(routers, hadoop_classpath, conf, by_token_alone, source, target)
        assert fs.read_bytes(target) == DATA
        assert fs.get_file_status(target).owner == "alice"


def test_tokens_outlive_routers_that_are_killed(
    routers: OurRouters, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with routers.connect() as fs:
        token = got_token(fs)
    for name in ("router", "other"):
        routers.kill(name)
    routers.start("router").start("other")
    with by_token(routers, token, tmp_path, "other") as user:
        work(user, "/user/alice/after-the-kill")
    with routers.connect() as fs:
        fs.cancel_delegation_token(token)


@pytest.mark.torture
def test_a_token_of_several_routers_is_good_when_one_is_gone(
    routers: OurRouters, tmp_path: Path
) -> None:
    """Clients list routers as they list namenodes of a nameservice."""
    names = "router", "other"
    provider = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
    conf = Configuration(
        {
            **routers.client_conf(),
            "fs.defaultFS": "hdfs://fed",
            "dfs.nameservices": "fed",
            "dfs.ha.namenodes.fed": ",".join(names),
            "dfs.client.failover.proxy.provider.fed": provider,
            **{
                f"dfs.namenode.rpc-address.fed.{name}": f"localhost:{routers.ports[name]}"
                for name in names
            },
        }
    )
    kdc, file = routers.cluster.kdc, tmp_path / "tokens"
    keytab, principal = str(kdc.keytab("alice")), f"alice@{REALM}"
    with howdah.connect("hdfs://fed", conf=conf, keytab=keytab, principal=principal) as fs:
        assert isinstance(fs, HdfsFileSystem)
        token = got_token(fs)
        assert token.service == "ha-hdfs:fed"
        file.write_bytes(Credentials({token.service: token}).encode())
        with howdah.connect("hdfs://fed", conf=conf, token_file=str(file)) as user:
            assert isinstance(user, HdfsFileSystem)
            work(user, "/user/alice/by-both")
            routers.kill("router")
            work(user, "/user/alice/by-the-other")
        routers.start("router")
        fs.cancel_delegation_token(token)


@pytest.mark.torture
def test_a_token_that_nobody_renews_ends(routers: OurRouters, tmp_path: Path) -> None:
    """At a router that shares the store, and gives tokens for seconds."""
    routers.start("short", {"delegation-token.renew-interval.sec": "4"})
    try:
        with routers.connect(name="short") as fs:
            token = got_token(fs)

            def is_over() -> bool:
                with by_token(routers, token, tmp_path, "router") as user:
                    try:
                        user.list_status("/user/alice")
                    except errors.InvalidToken:
                        return True
                return False

            wait_until(is_over)
    finally:
        routers.kill("short")


def test_who_may_not_speak_the_clients_protocol_is_refused_at_the_router(
    routers: OurRouters, kerberos_environment: Path
) -> None:
    policy = routers.conf_dir("guarded") / "hadoop-policy.xml"

    def let_in(*users: str) -> None:
        acl = {"security.client.protocol.acl": ",".join(users)}
        policy.write_text(Configuration(acl).to_xml())

    policy.parent.mkdir(exist_ok=True)
    let_in("alice", "hdfs")
    routers.start("guarded")
    try:
        with routers.connect(name="guarded") as fs, routers.connect("bob", "guarded") as bob:
            fs.list_status("/user/alice")
            refused = r"User bob.* is not authorized for protocol interface"
            with pytest.raises(errors.AuthorizationFailed, match=refused):
                bob.list_status("/user/bob")
            let_in("bob")
            routers.cluster.kdc.kinit("hdfs", kerberos_environment)
            conf = {
                **routers.client_conf("guarded"),
                "hadoop.security.service.user.name.key": f"router/_HOST@{REALM}",
            }
            words = [word for item in conf.items() for word in ("-D", "=".join(item))]
            assert main(["dfsadmin", *words, "-refreshServiceAcl"]) == 0
            bob.list_status("/user/bob")
            with pytest.raises(errors.AuthorizationFailed, match="alice"):
                fs.list_status("/user/alice")
    finally:
        routers.kill("guarded")


@pytest.mark.torture
def test_a_namenode_that_lets_the_router_act_for_nobody_says_what_to_set(
    routers: OurRouters,
) -> None:
    """`httpfs` acts for alice and bob alone."""
    own = f"httpfs/localhost@{REALM}"
    routers.start("stranger", {"dfs.federation.router.kerberos.principal": own})
    try:
        known = {"dfs.namenode.kerberos.principal.pattern": own}
        with routers.connect("alice", "stranger", known) as alice:
            assert alice.get_file_status("/user/alice").owner == "alice"
        with routers.connect("oozie", "stranger", known) as fs:
            with pytest.raises(
                errors.AuthorizationFailed,
                match=r"httpfs.* is not allowed to impersonate oozie.*"
                r"hadoop\.proxyuser\.ROUTER\.hosts",
            ):
                fs.list_status("/")
    finally:
        routers.kill("stranger")


def test_pages_ask_who_comes(routers: OurRouters, kerberos_environment: Path) -> None:
    base = f"http://{routers.http_address()}"

    def asked(path: str, user: str | None = None) -> tuple[int, str]:
        """Status and headers, by curl."""
        words = ["--negotiate", "-u", ":"] if user else []
        if user:
            routers.cluster.kdc.kinit(user, kerberos_environment)
        done = subprocess.run(
            ["curl", "-s", "-o", os.devnull, "-D", "-", *words, base + path],
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=True,
        )
        head = done.stdout.strip().split("\r\n\r\n")[-1]
        return int(head.split()[1]), head

    assert asked("/health")[0] == 200
    for path in ("/", "/jmx", "/prom", "/cluster", "/logs"):
        status, headers = asked(path)
        assert (status, "WWW-Authenticate: Negotiate" in headers) == (401, True), path
    for path in ("/", "/jmx", "/prom", "/cluster"):
        status, headers = asked(path, "alice")
        assert (status, "Set-Cookie: hadoop.auth=" in headers) == (200, True), path
    assert [asked("/logs", user)[0] == 403 for user in ("alice", "hdfs")] == [True, False]
