"""A key server that asks for tickets, before namenodes of Hadoop's and ours: who gets a key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.security.identity import user_of
from howdah.security.key_servers import KeyServers
from tests.support.key_server import KEY_ACCESS, KeyServerProcess, key_servers
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import SecuredHadoop, security_settings

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = b"for those who have a ticket and the right to the key " * 5000


@dataclass(frozen=True)
class Scene:
    cluster: SecuredHadoop
    provider: str
    server: KeyServerProcess

    def keys_as(self, user: str) -> KeyServers:
        """The key servers, as a user asks them by his ticket."""
        conf = Configuration(self.cluster.client_conf())
        kdc = self.cluster.kdc
        who = user_of(conf, keytab=str(kdc.keytab(user)), principal=f"{user}@{REALM}")
        return KeyServers(ProviderAddress.of(self.provider), conf, who)

    def connect(self, user: str) -> HdfsFileSystem:
        return self.cluster.connect(user)


@pytest.fixture(scope="module", params=[SecuredHadoop, OurSecuredCluster], ids=["hadoop", "ours"])
def scene(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("keys")
    secret = directory / "cookies"
    secret.write_text("a secret of the key server alone\n")
    secret.chmod(0o600)
    settings = {
        **KEY_ACCESS,
        **security_settings(kdc, secret),
        "hadoop.kms.authentication.type": "kerberos",
        "hadoop.kms.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
        "hadoop.kms.authentication.kerberos.keytab": str(kdc.services_keytab),
        "default.key.acl.DECRYPT_EEK": "alice",
        "default.key.acl.MANAGEMENT": "hdfs",
        "hadoop.kms.blacklist.DECRYPT_EEK": "hdfs",
    }
    with ExitStack() as stack:
        stack.enter_context(kdc.in_environment())
        provider, [server] = stack.enter_context(
            key_servers(directory / "kms", settings, hosts=["localhost"])
        )
        cluster = request.param(
            tmp_path_factory.mktemp("cluster"),
            hadoop_classpath,
            kdc,
            {"hadoop.security.key.provider.path": provider},
        )
        stack.callback(cluster.close)
        scene = Scene(cluster, provider, server)
        scene.keys_as("hdfs").create("payroll")
        with scene.connect("hdfs") as fs:
            fs.mkdirs("/zone")
            fs.set_permission("/zone", 0o777)
            fs.create_encryption_zone("/zone", "payroll")
        yield scene


def test_a_ticket_and_the_right_to_the_key_open_a_file(scene: Scene) -> None:
    with scene.connect("alice") as alice:
        with alice.create("/zone/file") as out:
            out.write(DATA)
        alice.set_permission("/zone/file", 0o666)
        assert alice.read_bytes("/zone/file") == DATA
    with scene.connect("bob") as bob, pytest.raises(errors.AccessDenied, match=r"\[bob\]"):
        bob.open("/zone/file")
    # The superuser of HDFS is on the black list: he has cipher text alone.
    with scene.connect("hdfs") as superuser:
        with pytest.raises(errors.AccessDenied, match="hdfs not allowed to do 'DECRYPT_EEK'"):
            superuser.open("/zone/file")
        assert DATA[:50] not in superuser.read_bytes("/.reserved/raw/zone/file")


def test_who_has_no_ticket_hears_nothing(scene: Scene) -> None:
    conf = Configuration({"hadoop.security.authentication": "simple"})
    stranger = KeyServers(ProviderAddress.of(scene.provider), conf, "alice")
    with pytest.raises(errors.HowdahError, match=r"401|Kerberos|SPNEGO"):
        stranger.names()


def test_keys_are_managed_by_who_may(scene: Scene) -> None:
    with pytest.raises(errors.AccessDenied, match="bob"):
        scene.keys_as("bob").create("of-bob")
    assert scene.keys_as("alice").names() == ["payroll"]
