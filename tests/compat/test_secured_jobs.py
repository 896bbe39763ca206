"""Our jobs on Apache's HDFS in secure mode: their tasks are the user by tokens alone."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.spark import compact, distcp, namespace, register, table, verify
from howdah.sync import sync
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.servers import write_site_files

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("kerberos_environment")]
FILES = {f"{name}.txt": name.encode() * 1000 for name in "abcdef"}


class Scene:
    """A directory of alice's, and what the namenode says of a job."""

    def __init__(self, hadoop: SecuredHadoop, fs: HdfsFileSystem, root: str) -> None:
        self.hadoop, self.fs, self.root = hadoop, fs, root
        self.conf = Configuration(hadoop.client_conf())
        self._read = 0

    def uri(self, name: str) -> str:
        return f"{self.hadoop.uri}{self.root}/{name}"

    def has(self, name: str) -> bool:
        listed = self.fs.list_status(f"{self.root}/{name}")
        found = {status.name: self.fs.open(status.path).read() for status in listed}
        return found == FILES

    def audited(self) -> list[tuple[str, str]]:
        """The commands since this was asked last, each with how its user was proven."""
        log = self.hadoop.log("namenode")
        new, self._read = log[self._read :], len(log)
        return re.findall(r"ugi=\S+ \(auth:(\w+)\).*?cmd=(\w+)", new)


@pytest.fixture
def scene(hadoop: SecuredHadoop, request: pytest.FixtureRequest) -> Iterator[Scene]:
    with hadoop.connect() as fs:
        root = f"/user/alice/{re.sub(r'[^a-z_]', '', request.node.name)}"
        for name, data in FILES.items():
            with fs.create(f"{root}/from/{name}") as out:
                out.write(data)
        scene = Scene(hadoop, fs, root)
        scene.audited()
        yield scene


@pytest.fixture
def keytab(kdc: Kdc, kerberos_environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has alice's; Spark's workers are older, and have nothing."""
    monkeypatch.setenv("KRB5KEYTAB", str(kdc.keytab("alice")))
    monkeypatch.setenv("KRB5PRINCIPAL", f"alice@{REALM}")


@pytest.fixture
def issued(monkeypatch: pytest.MonkeyPatch) -> list[Token]:
    """The tokens that jobs get."""
    tokens: list[Token] = []
    get = HdfsNamespace.get_delegation_token

    def noting(fs: HdfsNamespace, renewer: str) -> Token | None:
        token = get(fs, renewer)
        if token is not None:
            tokens.append(token)
        return token

    monkeypatch.setattr(HdfsNamespace, "get_delegation_token", noting)
    return tokens


def check_tokens(scene: Scene, issued: list[Token]) -> None:
    """Tasks were the user by tokens, which were renewed, are cancelled, and in no log."""
    audited: list[tuple[str, str]] = []

    def is_cancelled() -> bool:
        audited.extend(scene.audited())
        return ("KERBEROS", "cancelDelegationToken") in audited

    wait_until(is_cancelled)
    commands = [command for _, command in audited]
    assert commands.count("getDelegationToken") == commands.count("cancelDelegationToken") == 1
    assert "renewDelegationToken" in commands
    assert any(proof == "TOKEN" for proof, _ in audited)
    assert len(issued) == 1


@pytest.mark.usefixtures("keytab")
def test_the_processes_of_sync_are_the_user_by_tokens(
    scene: Scene, issued: list[Token], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        sync(scene.uri("from"), scene.uri("to"), conf=scene.conf, processes=2)
    assert scene.has("to")
    check_tokens(scene, issued)
    assert issued[0].url_string not in caplog.text


@pytest.mark.usefixtures("keytab")
def test_the_executors_of_distcp_are_the_user_by_tokens(
    scene: Scene, spark: Any, issued: list[Token], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        distcp(spark, scene.uri("from"), scene.uri("to"), conf=scene.conf)
    assert scene.has("to")
    check_tokens(scene, issued)
    assert issued[0].url_string not in caplog.text


JOBS: dict[str, Callable[[Any, Scene], object]] = {
    "compact": lambda spark, scene: compact(spark, scene.uri("from"), conf=scene.conf),
    "namespace": lambda spark, scene: namespace(spark, scene.uri("from"), conf=scene.conf).count(),
    "table": lambda spark, scene: table(
        spark, "namespace", scene.uri("from"), conf=scene.conf
    ).count(),
    "verify": lambda spark, scene: _verified(spark, scene),
}


def _verified(spark: Any, scene: Scene) -> None:
    with verify(spark, scene.uri("from"), conf=scene.conf) as found:
        assert sum(found.sums.replicas.values()) == len(FILES)


@pytest.mark.usefixtures("keytab")
@pytest.mark.parametrize("job", JOBS)
def test_other_jobs_have_tokens_too(
    scene: Scene, spark: Any, issued: list[Token], job: str
) -> None:
    JOBS[job](spark, scene)
    check_tokens(scene, issued)


@pytest.mark.usefixtures("keytab")
@pytest.mark.parametrize("job", ["distcp", *JOBS])
def test_jobs_over_spark_connect_have_tokens_too(
    scene: Scene, spark_connect: Any, issued: list[Token], job: str
) -> None:
    """Neither the server of Spark Connect nor its executors have anything of alice's."""
    if job == "distcp":
        distcp(spark_connect, scene.uri("from"), scene.uri("to"), conf=scene.conf)
        assert scene.has("to")
    else:
        JOBS[job](spark_connect, scene)
    check_tokens(scene, issued)


@pytest.mark.usefixtures("keytab")
def test_registered_tables_have_tokens_until_they_are_closed(
    scene: Scene, spark: Any, issued: list[Token]
) -> None:
    """Spark plans them in processes that have nothing of alice's."""
    session = spark.newSession()
    with register(session, conf=scene.conf, filesystems=[scene.hadoop.uri]):
        files = session.read.format("howdah.namespace").load(scene.uri("from"))
        assert files.where("type = 'file'").count() == len(FILES)
        assert session.read.format("howdah.blocks").load(scene.uri("from")).count() >= len(FILES)
        with pytest.raises(Exception, match="AccessDenied"):
            # Events are the superuser's.
            session.read.format("howdah.changes").load(scene.uri("from")).count()
    check_tokens(scene, issued)


def test_over_spark_connect_tokens_alone_are_given_on(
    scene: Scene, spark_connect: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = scene.fs.get_delegation_token("alice")
    assert token is not None
    file = tmp_path / "tokens"
    file.write_bytes(Credentials({token.service: token}).encode())
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(file))
    distcp(spark_connect, scene.uri("from"), scene.uri("to"), conf=scene.conf)
    assert scene.has("to")
    scene.fs.cancel_delegation_token(token)


def test_over_spark_connect_somebody_has_to_be_proven(scene: Scene, spark_connect: Any) -> None:
    """What the server has is not asked for: it is none of the client's."""
    with pytest.raises(errors.LoginFailed, match="get one by kinit"):
        distcp(spark_connect, scene.uri("from"), scene.uri("to"), conf=scene.conf)


@pytest.mark.usefixtures("keytab")
def test_jobs_go_over_webhdfs(scene: Scene, spark: Any, issued: list[Token]) -> None:
    web = f"webhdfs://localhost:{scene.hadoop.http_port}{scene.root}"
    distcp(spark, f"{web}/from", f"{web}/to", conf=scene.conf)
    assert scene.has("to")
    check_tokens(scene, issued)


def test_sparks_keytab_is_used_where_a_job_has_none(scene: Scene, spark: Any, kdc: Kdc) -> None:
    legacy = "spark.sql.legacy.setCommandRejectsSparkCoreConfs"
    spark.conf.set(legacy, "false")
    own = {
        "spark.kerberos.keytab": str(kdc.keytab("alice")),
        "spark.kerberos.principal": f"alice@{REALM}",
    }
    try:
        for name, value in own.items():
            spark.conf.set(name, value)
        distcp(spark, scene.uri("from"), scene.uri("to"), conf=scene.conf)
    finally:
        for name in own:
            spark.conf.unset(name)
        spark.conf.unset(legacy)
    assert scene.has("to")


def test_sparks_tokens_are_used_where_a_job_has_no_login(scene: Scene, spark: Any) -> None:
    token = scene.fs.get_delegation_token("alice")
    assert token is not None
    hadoop = spark._jvm.org.apache.hadoop
    user = hadoop.security.UserGroupInformation.getCurrentUser()
    its = hadoop.security.token.Token()
    its.decodeFromUrlString(token.url_string)
    before = user.getCredentials()
    user.addToken(its)
    scene.audited()
    try:
        distcp(spark, scene.uri("from"), scene.uri("to"), conf=scene.conf)
    finally:
        assert before is not None
        scene.fs.cancel_delegation_token(token)
    assert scene.has("to")
    commands = [command for _, command in scene.audited()]
    assert "getDelegationToken" not in commands


def test_executors_with_a_token_file_alone_need_nothing_else(
    scene: Scene, spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = scene.fs.get_delegation_token("alice")
    assert token is not None
    file = tmp_path / "tokens"
    file.write_bytes(Credentials({token.service: token}).encode())
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(file))
    distcp(spark, scene.uri("from"), scene.uri("to"), conf=scene.conf)
    assert scene.has("to")
    # It was not the job's to cancel.
    scene.fs.cancel_delegation_token(token)


# Everything that Spark says, in a file: the driver's log, and what its tasks log.
_LOG4J: Final = """
rootLogger.level = all
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
"""
_SPARK_SETTINGS: Final = """
spark.ui.enabled false
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.dir {events}
"""


@pytest.mark.torture
def test_what_spark_logs_has_no_token(scene: Scene, tmp_path: Path) -> None:
    """Its log of all levels, its event log, and what the program and its tasks say."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    token = scene.fs.get_delegation_token("alice")
    assert token is not None
    tokens, log, events = tmp_path / "tokens", tmp_path / "spark.log", tmp_path / "events"
    tokens.write_bytes(Credentials({token.service: token}).encode())
    events.mkdir()
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "log4j2.properties").write_text(_LOG4J.format(path=log))
    (settings / "spark-defaults.conf").write_text(_SPARK_SETTINGS.format(events=events.as_uri()))
    conf_dir = tmp_path / "conf"
    write_site_files(conf_dir, scene.hadoop.client_conf())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "howdah", "distcp", "--conf", str(conf_dir)),
            *("--master", "local[2]", scene.uri("from"), scene.uri("to")),
        ],
        env={
            **os.environ,
            "HADOOP_TOKEN_FILE_LOCATION": str(tokens),
            "KRB5CCNAME": f"FILE:{tmp_path / 'none'}",
            "SPARK_CONF_DIR": str(settings),
        },
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert scene.has("to")
    said = {"the program": done.stdout + done.stderr, "Spark's log": log.read_bytes()}
    said |= {path.name: path.read_bytes() for path in events.rglob("*") if path.is_file()}
    assert b"TaskSetManager" in said["Spark's log"]
    assert any(b"SparkListenerTaskEnd" in text for text in said.values())
    password = token.password
    shown = {
        "the token": token.url_string.encode(),
        "the password": password,
        "its digits": password.hex().encode(),
        "in groups": password.hex(" ").encode(),
        "in base64": base64.b64encode(password).rstrip(b"="),
        "for URLs": base64.urlsafe_b64encode(password).rstrip(b"="),
    }
    found = [
        f"{where} has {what}"
        for where, text in said.items()
        for what, secret in shown.items()
        if secret in text
    ]
    assert not found
    scene.fs.cancel_delegation_token(token)
