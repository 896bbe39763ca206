"""A key server that asks for tickets, before namenodes of Hadoop's and ours: who gets a key."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import HDFS_DELEGATION, KMS_DELEGATION, Token
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.security.identity import user_of
from howdah.security.key_servers import KeyServers
from howdah.spark import Options, distcp
from howdah.sync import sync
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.key_server import HadoopKeyServer, hadoop_key_server
from tests.support.key_server import KEY_ACCESS, KeyServerProcess, key_servers
from tests.support.security.httpfs import OurSecuredHttpFs
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import SecuredHadoop, security_settings
from tests.support.security.servers import write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = b"for those who have a ticket and the right to the key " * 5000


@dataclass(frozen=True)
class Scene:
    cluster: SecuredHadoop
    provider: str
    server: KeyServerProcess | HadoopKeyServer
    classpath: str = field(repr=False)

    def keys_as(self, user: str) -> KeyServers:
        """The key servers, as a user asks them by his ticket."""
        conf = Configuration(self.cluster.client_conf())
        kdc = self.cluster.kdc
        who = user_of(conf, keytab=str(kdc.keytab(user)), principal=f"{user}@{REALM}")
        return KeyServers(ProviderAddress.of(self.provider), conf, who)

    def connect(self, user: str) -> HdfsFileSystem:
        return self.cluster.connect(user)

    def ticket(self, user: str) -> dict[str, str]:
        """The environment of a process that logs in by the user's keytab."""
        return {
            "KRB5KEYTAB": str(self.cluster.kdc.keytab(user)),
            "KRB5PRINCIPAL": f"{user}@{REALM}",
        }

    def conf_dir(self, directory: Path) -> Path:
        """Site files for a client, which do not say where keys are: the namenode does."""
        values = self.cluster.client_conf()
        del values["hadoop.security.key.provider.path"]
        write_site_files(directory / "conf", values)
        return directory / "conf"

    def java(
        self, conf: Path, environment: Mapping[str, str], *words: str
    ) -> subprocess.CompletedProcess[str]:
        """What a program of Hadoop's does, which is that of the user in the environment."""
        options = [f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"]
        return subprocess.run(
            [*hadoop_java(self.classpath, conf, options=options), *words],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def _for_hadoops(settings: Mapping[str, str]) -> dict[str, str]:
    """The same for a key server of Hadoop's."""
    rules = settings["hadoop.security.auth_to_local"]
    return {
        name: value.replace("_HOST", "localhost")
        for name, value in settings.items()
        if not name.startswith(("hadoop.http.", "dfs.", "hadoop.proxyuser.", "hadoop.rpc."))
    } | {"hadoop.kms.authentication.kerberos.name.rules": rules}


@pytest.fixture(
    scope="module",
    params=[
        (SecuredHadoop, KeyServerProcess),
        (OurSecuredCluster, KeyServerProcess),
        (OurSecuredCluster, HadoopKeyServer),
    ],
    ids=["hadoop", "ours", "ours-keys-of-hadoop"],
)
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
        **{
            f"hadoop.kms.proxyuser.{name}.{what}": "*"
            for name in ("hdfs", "httpfs")
            for what in ("users", "hosts")
        },
    }
    with ExitStack() as stack:
        stack.enter_context(kdc.in_environment())
        kind, of_keys = request.param
        server: KeyServerProcess | HadoopKeyServer
        if of_keys is HadoopKeyServer:
            jars = request.getfixturevalue("hadoop_kms_classpath")
            server = stack.enter_context(
                hadoop_key_server(directory / "kms", jars, _for_hadoops(settings), kdc.environment)
            )
            provider = server.provider
        else:
            provider, [server] = stack.enter_context(
                key_servers(directory / "kms", settings, hosts=["localhost"])
            )
        cluster = kind(
            tmp_path_factory.mktemp("cluster"),
            hadoop_classpath,
            kdc,
            {"hadoop.security.key.provider.path": provider},
        )
        stack.callback(cluster.close)
        scene = Scene(cluster, provider, server, hadoop_classpath)
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
    assert "payroll" in scene.keys_as("alice").names()


def test_a_namenode_that_may_decrypt_nothing_re_encrypts(scene: Scene) -> None:
    """It has the right to make keys, and asks by its own ticket."""
    scene.keys_as("hdfs").create("rolled")
    with scene.connect("hdfs") as superuser:
        superuser.mkdirs("/rolled")
        superuser.set_permission("/rolled", 0o777)
        superuser.create_encryption_zone("/rolled", "rolled")
        with scene.connect("alice") as alice:
            with alice.create("/rolled/file") as out:
                out.write(DATA)
            scene.keys_as("hdfs").roll("rolled")
            with pytest.raises(errors.AccessDenied):
                alice.reencrypt_zone("/rolled")
            with pytest.raises(errors.AccessDenied):
                list(alice.list_reencryption())
            superuser.reencrypt_zone("/rolled")
            wait_until(lambda: next(superuser.list_reencryption()).state == "Completed", 60)
            [status] = superuser.list_reencryption()
            assert (status.reencrypted, status.failures) == (1, 0)
            info = superuser.get_file_encryption_info("/rolled/file")
            assert info is not None
            assert info.version_name == "rolled@1"
            assert alice.read_bytes("/rolled/file") == DATA


# -- by tokens alone, as tasks of jobs have them.

SHELL = "org.apache.hadoop.fs.FsShell"
FETCHER = "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher"


def _fetched_by_java(scene: Scene, conf: Path, file: Path) -> None:
    program = str(Path(__file__).with_name("FetchTokens.java"))
    fetched = scene.java(conf, scene.ticket("alice"), program, "alice", str(file))
    assert fetched.returncode == 0, fetched.stderr


def _fetched_by_us(scene: Scene, conf: Path, file: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in scene.ticket("alice").items():
            patch.setenv(name, value)
        assert main(["--conf", str(conf), "fetchdt", "--renewer", "alice", str(file)]) == 0


Fetch = Callable[[Scene, Path, Path], None]


@pytest.mark.parametrize("fetch", [_fetched_by_java, _fetched_by_us], ids=["java", "ours"])
def test_tokens_alone_open_files_of_zones_for_java_and_us(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetch: Fetch
) -> None:
    conf, file = scene.conf_dir(tmp_path), tmp_path / "tokens"
    path = f"/zone/tokens-{fetch.__name__}"
    with scene.connect("alice") as alice:
        alice.write_bytes(path, DATA)
    fetch(scene, conf, file)
    kinds = {token.kind: token for token in Credentials.decode(file.read_bytes()).tokens.values()}
    assert set(kinds) == {HDFS_DELEGATION, KMS_DELEGATION}
    assert kinds[KMS_DELEGATION].service == scene.provider
    by_tokens = {"HADOOP_TOKEN_FILE_LOCATION": str(file)}

    read = scene.java(conf, by_tokens, SHELL, "-cat", path)
    assert read.returncode == 0, read.stderr
    assert read.stdout.encode() == DATA

    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(file))
    settings = howdah.Configuration.load(conf)
    with howdah.connect(scene.cluster.uri, conf=settings) as fs:
        assert fs.read_bytes(path) == DATA
        with fs.create(f"{path}-written") as out:
            out.write(DATA)
        assert fs.read_bytes(f"{path}-written") == DATA
    monkeypatch.delenv("HADOOP_TOKEN_FILE_LOCATION")

    renewed = scene.java(conf, scene.ticket("alice"), FETCHER, "--renew", str(file))
    assert renewed.returncode == 0, renewed.stderr
    for name, value in scene.ticket("alice").items():
        monkeypatch.setenv(name, value)
    assert main(["--conf", str(conf), "fetchdt", "--renew", str(file)]) == 0
    cancelled = scene.java(conf, scene.ticket("alice"), FETCHER, "--cancel", str(file))
    assert cancelled.returncode == 0, cancelled.stderr
    with pytest.raises(errors.AuthenticationFailed, match="can't be found"):
        _by_token(scene, kinds[KMS_DELEGATION]).names()


def _by_token(scene: Scene, token: Token) -> KeyServers:
    """The key servers of a token, asked by that alone."""
    from howdah.security.users import user_by_tokens

    conf = Configuration(scene.cluster.client_conf())
    user = user_by_tokens(conf, [token])
    return KeyServers(ProviderAddress.of(token.service), conf, user)


def test_a_token_is_good_after_a_restart_and_for_its_owner_alone(scene: Scene) -> None:
    with closing(scene.keys_as("bob")) as bob:
        token = bob.get_delegation_token("alice")
    if isinstance(scene.server, KeyServerProcess):  # Hadoop's needs ZooKeeper to keep tokens.
        scene.server.kill()
        scene.server.start()
    with closing(_by_token(scene, token)) as by_token:
        assert "payroll" in by_token.names()
        with pytest.raises(errors.AccessDenied, match=r"\[bob\]"):
            by_token.decrypt(by_token.generate("payroll")[0])
        with pytest.raises(errors.HowdahError, match="ticket"):
            by_token.get_delegation_token("alice")
    with pytest.raises(errors.AccessDenied, match="non-matching renewer"):
        scene.keys_as("bob").renew_delegation_token(token)
    assert scene.keys_as("alice").renew_delegation_token(token) > 1_700_000_000_000
    # Whoever has the token may make it worthless.
    scene.keys_as("alice").cancel_delegation_token(token)
    with pytest.raises(errors.AuthenticationFailed, match="can't be found"):
        _by_token(scene, token).names()


Copy = Callable[[pytest.FixtureRequest, str, str, Configuration], object]


def _by_processes(
    request: pytest.FixtureRequest, source: str, target: str, conf: Configuration
) -> None:
    sync(source, target, conf=conf, processes=2)


def _by_executors(
    request: pytest.FixtureRequest, source: str, target: str, conf: Configuration
) -> None:
    spark = request.getfixturevalue("spark")
    distcp(spark, source, target, options=Options(skip_crc=True), conf=conf)


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(_by_processes, id="sync"),
        pytest.param(_by_executors, id="spark", marks=pytest.mark.torture),
    ],
)
def test_tasks_of_a_job_open_files_of_zones_by_tokens(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, copy: Copy
) -> None:
    """They are older than the keytab in the environment, or forget it, and have no ticket."""
    monkeypatch.setenv("KRB5KEYTAB", str(scene.cluster.kdc.keytab("alice")))
    monkeypatch.setenv("KRB5PRINCIPAL", f"alice@{REALM}")
    files = {f"{name}.txt": name.encode() * 1000 for name in "abcdef"}
    with scene.connect("alice") as alice:
        for name, data in files.items():
            alice.write_bytes(f"/zone/{copy.__name__}-from/{name}", data)
        issued: list[Token] = []
        get = HdfsFileSystem.get_key_server_token

        def noting(fs: HdfsFileSystem, renewer: str) -> Token | None:
            token = get(fs, renewer)
            assert token is not None
            issued.append(token)
            return token

        monkeypatch.setattr(HdfsFileSystem, "get_key_server_token", noting)
        conf = Configuration(scene.cluster.client_conf())
        source, target = (
            f"{scene.cluster.uri}/zone/{copy.__name__}-{end}" for end in ("from", "to")
        )
        copy(request, source, target, conf)
        assert {name: alice.read_bytes(f"{target}/{name}") for name in files} == files
    [token] = issued
    with pytest.raises(errors.AuthenticationFailed, match="can't be found"):
        _by_token(scene, token).names()


def _check_web(scene: Scene, where: str, name: str, others: Sequence[str]) -> None:
    """Who may gets plain text over HTTP, and others get an error."""
    path = f"/zone/{name}"
    conf = Configuration(scene.cluster.client_conf())
    kdc = scene.cluster.kdc

    def web(user: str) -> FileSystem:
        keytab, principal = str(kdc.keytab(user)), f"{user}@{REALM}"
        return howdah.connect(where, conf=conf, keytab=keytab, principal=principal)

    with web("alice") as fs:
        fs.write_bytes(path, DATA)
        assert fs.read_bytes(path) == DATA
    with scene.connect("alice") as alice:
        assert alice.read_bytes(path) == DATA
        alice.set_permission(path, 0o666)
    with scene.connect("hdfs") as superuser:
        assert DATA[:50] not in superuser.read_bytes(f"/.reserved/raw{path}")
    for user in others:
        with web(user) as fs, pytest.raises(errors.HowdahError, match=rf"{user}\W.*DECRYPT_EEK"):
            fs.read_bytes(path)


def test_webhdfs_asks_for_keys_in_the_name_of_its_users(scene: Scene) -> None:
    if not isinstance(scene.cluster, OurSecuredCluster):
        pytest.skip("a datanode of Hadoop's asks in its own name")
    where = f"webhdfs://localhost:{scene.cluster.http_port}"
    _check_web(scene, where, "by-webhdfs", ["bob", "hdfs"])


def test_a_gateway_asks_for_keys_in_the_name_of_its_users(scene: Scene, tmp_path: Path) -> None:
    front = OurSecuredHttpFs(tmp_path, "", scene.cluster)
    try:
        _check_web(scene, f"webhdfs://localhost:{front.port}", "by-httpfs", ["bob"])
    finally:
        front.close()
