"""Gateways, and key servers, of Hadoop's and ours have their delegation tokens in common in
ZooKeeper: each takes, renews and cancels what another one has issued."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.config.value_types import Address
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.security.identity import user_of
from howdah.security.key_servers import KeyServers
from howdah.testing.waiting import wait_until
from tests.support.hadoop.jars import NoHadoop, hadoop_fronts_class_path
from tests.support.hadoop.key_server import hadoop_key_server
from tests.support.key_server import KEY_ACCESS, key_servers
from tests.support.security.fixtures import CACHE
from tests.support.security.httpfs import OurSecuredHttpFs, SecuredHttpFs
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import security_settings
from tests.support.security.zookeeper import sasl_zookeeper
from tests.support.zookeeper import sessions_at

pytest.importorskip("kazoo", reason="sessions with ZooKeeper need kazoo")
pytestmark = [
    pytest.mark.torture,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("kerberos_environment"),
]

PATIENCE_S: Final = 30.0
LONG_SESSIONS: Final = {
    f"{prefix}.authentication.zk-dt-secret-manager.zkSessionTimeout": "40000"
    for prefix in ("httpfs", "hadoop.kms")
}
"""Whose end nobody waits for."""


@pytest.fixture(scope="module")
def zookeeper(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    try:
        with sasl_zookeeper(tmp_path_factory.mktemp("zookeeper"), kdc) as address:
            yield address
    except (NoZooKeeper, NoJava) as error:
        pytest.skip(str(error))


def settings(
    prefix: str, zookeeper: Address, kdc: Kdc, principal: str, path: str
) -> dict[str, str]:
    """What a server has in its configuration, Hadoop's and ours alike."""
    return {
        f"{prefix}.zk-dt-secret-manager.{name}": value
        for name, value in {
            "enable": "true",
            "zkConnectionString": f"localhost:{zookeeper[1]}",
            "zkAuthType": "sasl",
            "znodeWorkingPath": path,
            "kerberos.principal": f"{principal}@{REALM}",
            "kerberos.keytab": str(kdc.services_keytab),
        }.items()
    }


@pytest.fixture(scope="module")
def cluster(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OurSecuredCluster]:
    with kdc.in_environment():
        cluster = OurSecuredCluster(tmp_path_factory.mktemp("behind"), hadoop_classpath, kdc)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def gateways(
    zookeeper: Address,
    kdc: Kdc,
    cluster: OurSecuredCluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, SecuredHttpFs]]:
    conf = settings("httpfs.authentication", zookeeper, kdc, "httpfs/localhost", "gateways/zkdtsm")
    try:
        jars = hadoop_fronts_class_path(CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)
    with kdc.in_environment(), ExitStack() as stack:
        fronts: dict[str, SecuredHttpFs] = {}
        for name, kind in (
            ("hadoops", SecuredHttpFs),
            ("ours", OurSecuredHttpFs),
            ("ours-too", OurSecuredHttpFs),
        ):
            directory = tmp_path_factory.mktemp(name)
            fronts[name] = kind(directory, jars, cluster, conf)
            stack.callback(fronts[name].close)
        yield fronts


def at_gateway(
    gateway: SecuredHttpFs, cluster: OurSecuredCluster, keytab: str | None = None
) -> WebHdfsFileSystem:
    """Alice, by her keytab; or who has a token."""
    fs = howdah.connect(
        f"webhdfs://localhost:{gateway.port}",
        conf=Configuration(cluster.client_conf()),
        keytab=keytab,
        principal=f"alice@{REALM}" if keytab else None,
    )
    assert isinstance(fs, WebHdfsFileSystem)
    return fs


@pytest.mark.parametrize(
    ("issuer", "other"), [("hadoops", "ours"), ("ours", "hadoops"), ("ours", "ours-too")]
)
def test_gateways_take_each_others_tokens(
    gateways: dict[str, SecuredHttpFs],
    cluster: OurSecuredCluster,
    kdc: Kdc,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    issuer: str,
    other: str,
) -> None:
    def connected(name: str, keytab: str | None = None) -> WebHdfsFileSystem:
        return at_gateway(gateways[name], cluster, keytab)

    def by_token(name: str, token: Token) -> str:
        shown = replace(token, service=f"127.0.0.1:{gateways[name].port}")
        (tmp_path / "tokens").write_bytes(Credentials({"a": shown}).encode())
        with monkeypatch.context() as patch:
            patch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
            with connected(name) as fs:
                list(fs.list_status("/"))
                return str(fs.user)

    keytab = str(kdc.keytab("alice"))
    with connected(issuer, keytab) as first, connected(other, keytab) as second:
        token, kept = (first.get_delegation_token("alice") for _ in range(2))
        assert token is not None
        assert kept is not None
        there = replace(token, service=f"127.0.0.1:{gateways[other].port}")
        assert by_token(other, token) == by_token(issuer, token) == "alice"
        assert second.renew_delegation_token(there) > 1_700_000_000_000
        second.cancel_delegation_token(there)
        for name in (other, issuer):
            wait_until(partial(refused, by_token, name, token), PATIENCE_S)
        assert by_token(other, kept) == "alice"


def names_by_token(provider: str, token: Token) -> str:
    """The keys, as a key server names them to who has nothing but a token."""
    url = f"{provider.replace('kms://http@', 'http://')}/v1/keys/names"
    request = urllib.request.Request(url, headers={"X-Hadoop-Delegation-Token": token.url_string})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return str(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            raise errors.AccessDenied(f"{error.code}: {error.read()!r}") from None


def refused(by_token: Callable[[str, Token], str], name: str, token: Token) -> bool:
    """Whether a server knows that a token was cancelled. One of Hadoop's learns it a moment
    later."""
    try:
        by_token(name, token)
    except errors.HowdahError:
        return True
    return False


def test_a_gateway_that_was_killed_knows_its_tokens(
    gateways: dict[str, SecuredHttpFs],
    zookeeper: Address,
    cluster: OurSecuredCluster,
    kdc: Kdc,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert gateways, "which have made the znodes"
    conf = settings("httpfs.authentication", zookeeper, kdc, "httpfs/localhost", "gateways/zkdtsm")
    (tmp_path / "1").mkdir()
    with closing(OurSecuredHttpFs(tmp_path / "1", "", cluster, conf)) as front:
        with at_gateway(front, cluster, str(kdc.keytab("alice"))) as fs:
            token = fs.get_delegation_token("alice")
    assert token is not None
    (tmp_path / "2").mkdir()
    with closing(OurSecuredHttpFs(tmp_path / "2", "", cluster, conf)) as front:
        shown = replace(token, service=f"127.0.0.1:{front.port}")
        (tmp_path / "tokens").write_bytes(Credentials({"a": shown}).encode())
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
        with at_gateway(front, cluster) as fs:
            list(fs.list_status("/"))
            assert fs.user == "alice"


def test_a_gateway_that_stops_ends_its_session(
    zookeeper: Address, cluster: OurSecuredCluster, kdc: Kdc, tmp_path: Path
) -> None:
    conf = settings("httpfs.authentication", zookeeper, kdc, "httpfs/localhost", "gateways/stopped")
    before = sessions_at(zookeeper)
    with closing(OurSecuredHttpFs(tmp_path, "", cluster, {**conf, **LONG_SESSIONS})) as front:
        assert sessions_at(zookeeper) == before + 1
        front.stop()
        assert sessions_at(zookeeper) == before


def test_key_servers_take_each_others_tokens(
    zookeeper: Address,
    kdc: Kdc,
    hadoop_kms_classpath: str,
    cluster: OurSecuredCluster,
    tmp_path: Path,
) -> None:
    secret = tmp_path / "cookies"
    secret.write_text("a secret of the key servers alone\n")
    secret.chmod(0o600)
    prefix = "hadoop.kms.authentication"
    conf = {
        **KEY_ACCESS,
        **security_settings(kdc, secret),
        f"{prefix}.type": "kerberos",
        f"{prefix}.kerberos.principal": f"HTTP/_HOST@{REALM}",
        f"{prefix}.kerberos.keytab": str(kdc.services_keytab),
        **settings(prefix, zookeeper, kdc, "HTTP/localhost", "hadoop-kms/zkdtsm"),
    }
    for_hadoops = {
        **conf,
        f"{prefix}.kerberos.principal": f"HTTP/localhost@{REALM}",
        f"{prefix}.kerberos.name.rules": "DEFAULT",
    }
    client = Configuration(cluster.client_conf())
    alice = user_of(client, keytab=str(kdc.keytab("alice")), principal=f"alice@{REALM}")

    def key_server(provider: str) -> KeyServers:
        return KeyServers(ProviderAddress.of(provider), client, alice)

    with ExitStack() as stack:
        stack.enter_context(kdc.in_environment())
        theirs = stack.enter_context(
            hadoop_key_server(
                tmp_path / "theirs", hadoop_kms_classpath, for_hadoops, kdc.environment
            )
        )
        sessions = sessions_at(zookeeper)
        ours, (process,) = stack.enter_context(
            key_servers(tmp_path / "ours", {**conf, **LONG_SESSIONS}, hosts=["localhost"])
        )
        for issuer, other in ((theirs.provider, ours), (ours, theirs.provider)):
            token = key_server(issuer).get_delegation_token("alice")
            names_by_token(issuer, token)
            names_by_token(other, token)
            there = replace(token, service=other)
            assert key_server(other).renew_delegation_token(there) > 1_700_000_000_000
            key_server(other).cancel_delegation_token(there)
            for provider in (other, issuer):
                wait_until(partial(refused, names_by_token, provider, token), PATIENCE_S)
        assert sessions_at(zookeeper) == sessions + 1
        process.close()
        assert sessions_at(zookeeper) == sessions, "it has ended its session"
