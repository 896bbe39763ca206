"""Our client on Apache's HDFS in secure mode, with a KDC of MIT's."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fsspec import HowdahFileSystem
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = random.Random(34).randbytes((1 << 20) + 300_000)
CASES = [
    ("authentication", "authentication", ""),
    ("integrity", "integrity", ""),
    ("privacy", "privacy", AES),
    ("privacy", "privacy", ""),
]


def connect(hadoop: SecuredHadoop, **protection: str) -> HdfsFileSystem:
    """By whatever this process has."""
    conf = Configuration(hadoop.client_conf(**protection))
    fs = howdah.connect(hadoop.uri, conf=conf)
    assert isinstance(fs, HdfsFileSystem)
    return fs


@pytest.mark.parametrize(("rpc", "data", "suites"), CASES)
def test_files_are_written_appended_and_read_with_each_protection(
    hadoop: SecuredHadoop, rpc: str, data: str, suites: str
) -> None:
    with hadoop.connect(rpc=rpc, data=data, suites=suites) as fs:
        assert (fs.user, fs.home_directory()) == ("alice", "/user/alice")
        path = f"/user/alice/{rpc}-{len(suites)}"
        with fs.create(path, overwrite=True) as out:
            out.write(DATA)
            out.hsync()
            with fs.open(path) as reader:
                assert reader.read() == DATA
            out.write(b"more")
        with fs.append(path) as out:
            out.write(b" and more")
        with fs.open(path) as reader:
            assert reader.read() == DATA + b"more and more"
            assert reader.pread((1 << 20) - 500, 1000) == DATA[(1 << 20) - 500 :][:1000]
        assert fs.get_file_checksum(path) is not None
        assert fs.get_file_status(path).owner == "alice"


def test_a_ticket_cache_is_enough(hadoop: SecuredHadoop, kdc: Kdc, tmp_path: Path) -> None:
    kdc.kinit("bob", tmp_path / "ccache")
    with connect(hadoop) as fs:
        assert fs.user == "bob"
        assert fs.list_status("/user") != []


def test_without_a_ticket_it_is_said_what_to_do(hadoop: SecuredHadoop) -> None:
    with pytest.raises(errors.LoginFailed, match="get one by kinit"):
        connect(hadoop)


def test_an_expired_ticket_is_told(hadoop: SecuredHadoop, kdc: Kdc, tmp_path: Path) -> None:
    kdc.kinit("bob", tmp_path / "ccache", "-l", "1s")

    def refused() -> bool:
        try:
            connect(hadoop).close()
        except errors.LoginFailed as error:
            return "get another one by kinit" in str(error)
        return False

    wait_until(refused)


def test_a_keytab_of_another_principal_is_told(hadoop: SecuredHadoop, kdc: Kdc) -> None:
    with pytest.raises(errors.LoginFailed, match=f"is of alice@{REALM}"):
        howdah.connect(
            hadoop.uri,
            conf=Configuration(hadoop.client_conf()),
            keytab=str(kdc.keytab("alice")),
            principal=f"bob@{REALM}",
        )


def test_a_keytab_in_the_environment_is_used(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5KEYTAB", str(kdc.keytab("bob")))
    monkeypatch.setenv("KRB5PRINCIPAL", f"bob@{REALM}")
    with connect(hadoop, rpc="privacy") as fs:
        assert fs.user == "bob"
        fs.list_status("/")


def test_a_client_without_security_is_told_what_to_set(hadoop: SecuredHadoop) -> None:
    conf = Configuration({"fs.defaultFS": hadoop.uri})
    with howdah.connect(hadoop.uri, conf=conf, user="alice") as fs:
        with pytest.raises(errors.AccessDenied, match=r"set hadoop\.security\.authentication"):
            fs.list_status("/")


def test_a_server_of_another_principal_is_refused(hadoop: SecuredHadoop) -> None:
    other = {"dfs.namenode.kerberos.principal": f"hdfs/_HOST@{REALM}"}
    with hadoop.connect(conf=other) as fs:
        with pytest.raises(errors.AuthenticationFailed, match="says that it is nn/localhost, and"):
            fs.list_status("/")
    pattern = {"dfs.namenode.kerberos.principal.pattern": "nn/*"}
    with hadoop.connect(conf={**other, **pattern}) as fs:
        fs.list_status("/")


def test_data_without_sasl_at_this_side_is_told_by_the_key(hadoop: SecuredHadoop) -> None:
    with hadoop.connect() as fs:
        with fs.create("/user/alice/told", overwrite=True) as out:
            out.write(b"data")
    soon = {"dfs.client.retry.window.base": "1"}
    with hadoop.connect(data="", conf=soon) as fs:
        with pytest.raises(errors.HowdahError, match=r"dfs\.data\.transfer\.protection"):
            fs.open("/user/alice/told").read()


def test_a_user_is_acted_for_where_that_is_allowed(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acting(user: str) -> HdfsFileSystem:
        fs = howdah.connect(
            hadoop.uri,
            conf=Configuration(hadoop.client_conf()),
            user=user,
            real_user="oozie",
            keytab=str(kdc.keytab("oozie")),
            principal=f"oozie@{REALM}",
        )
        assert isinstance(fs, HdfsFileSystem)
        return fs

    with acting("bob") as fs:
        with fs.create("/user/bob/by-oozie", overwrite=True) as out:
            out.write(b"x")
        assert fs.get_file_status("/user/bob/by-oozie").owner == "bob"
    with acting("alice") as fs:
        with pytest.raises(errors.AuthorizationFailed, match="is not allowed to impersonate alice"):
            fs.list_status("/")


@pytest.mark.parametrize("rpc", ["authentication", "privacy"])
def test_a_token_alone_is_enough_renewed_and_cancelled(
    hadoop: SecuredHadoop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rpc: str
) -> None:
    path = tmp_path / "tokens"
    with hadoop.connect() as fs:
        token = fs.get_delegation_token("alice")
        assert token is not None
        assert fs.renew_delegation_token(token) > 1_700_000_000_000
        path.write_bytes(Credentials({token.service: token}).encode())
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(path))
        with connect(hadoop, rpc=rpc, data=rpc, suites=AES) as by_token:
            assert by_token.user == "alice"
            with by_token.create(f"/user/alice/by-token-{rpc}", overwrite=True) as out:
                out.write(DATA)
            assert by_token.open(f"/user/alice/by-token-{rpc}").read() == DATA
            with pytest.raises(errors.HowdahError, match="only with kerberos"):
                by_token.get_delegation_token("alice")
        fs.cancel_delegation_token(token)
    with connect(hadoop) as by_token:
        with pytest.raises(errors.InvalidToken, match="can't be found in cache"):
            by_token.list_status("/")


def _read_in_child(fs: HdfsFileSystem, path: str) -> None:
    os._exit(0 if fs.open(path).read() == DATA and fs.exists("/user") else 1)


def test_forked_children_and_threads_have_connections_of_their_own(hadoop: SecuredHadoop) -> None:
    path = "/user/alice/forked"
    with hadoop.connect(rpc="privacy", data="privacy", suites=AES) as fs:
        with fs.create(path, overwrite=True) as out:
            out.write(DATA)
        fork = multiprocessing.get_context("fork")
        children = [fork.Process(target=_read_in_child, args=(fs, path)) for _ in range(2)]
        for child in children:
            child.start()
        read: list[bytes] = []
        threads = [
            threading.Thread(target=lambda: read.append(fs.open(path).read())) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for child in children:
            child.join(60)
        assert read == [DATA] * 4
        assert [child.exitcode for child in children] == [0, 0]


def test_fsspec_takes_a_keytab_and_commands_take_tickets(
    hadoop: SecuredHadoop, kdc: Kdc, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fs = HowdahFileSystem(
        "localhost",
        hadoop.rpc_port,
        conf=hadoop.client_conf(data="integrity"),
        keytab=str(kdc.keytab("alice")),
        principal=f"alice@{REALM}",
        skip_instance_cache=True,
    )
    fs.pipe_file("/user/alice/piped", b"piped")
    assert fs.cat_file("/user/alice/piped") == b"piped"
    kdc.kinit("alice", tmp_path / "ccache")
    conf = ["--conf", str(hadoop.conf_dir)]
    assert main([*conf, "dfs", "-cat", "/user/alice/piped"]) == 0
    assert capsys.readouterr().out == "piped"
    tokens = tmp_path / "fetched"
    assert main([*conf, "fetchdt", "--renewer", "alice", str(tokens)]) == 0
    assert main([*conf, "fetchdt", "--renew", str(tokens)]) == 0
    assert main([*conf, "fetchdt", "--print", str(tokens)]) == 0
    assert f"owner=alice@{REALM}" in capsys.readouterr().out
    assert main([*conf, "fetchdt", "--cancel", str(tokens)]) == 0


def test_webhdfs_goes_by_tickets_and_by_tokens(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    uri = f"webhdfs://localhost:{hadoop.http_port}"
    conf = Configuration(hadoop.client_conf())
    keytab = str(kdc.keytab("alice"))
    with howdah.connect(uri, conf=conf, keytab=keytab, principal=f"alice@{REALM}") as fs:
        with fs.create("/user/alice/web", overwrite=True) as out:
            out.write(DATA)
        with fs.open("/user/alice/web") as reader:
            assert reader.read() == DATA
        assert fs.get_file_status("/user/alice/web").owner == "alice"
    with hadoop.connect() as fs:
        token = fs.get_delegation_token("alice")
    assert token is not None
    web = replace(token, kind="WEBHDFS delegation", service=f"127.0.0.1:{hadoop.http_port}")
    hdfs = {"a": token, "b": web}
    (tmp_path / "tokens").write_bytes(Credentials(hdfs).encode())
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
    with howdah.connect(uri, conf=conf) as fs:
        assert fs.get_file_status("/user/alice/web").length == len(DATA)
        assert fs.open("/user/alice/web").read(100) == DATA[:100]
    monkeypatch.delenv("HADOOP_TOKEN_FILE_LOCATION")
    with howdah.connect(uri, conf=Configuration({}), user="alice") as fs:
        with pytest.raises(errors.AuthenticationFailed, match="asks for Kerberos"):
            fs.list_status("/")


@pytest.mark.parametrize("suites", [AES, ""])
def test_all_data_is_encrypted_where_the_namenode_says_so(
    hadoop_encrypted: SecuredHadoop, suites: str
) -> None:
    path = f"/user/alice/encrypted-{len(suites)}"
    with hadoop_encrypted.connect(data="", suites=suites) as fs:
        with fs.create(path, overwrite=True) as out:
            out.write(DATA)
            out.hsync()
            # Its length is a datanode's to tell, by the block's token.
            with fs.open(path) as reader:
                assert reader.read() == DATA
            out.write(b"more")
        with fs.append(path) as out:
            out.write(b" and more")
        assert fs.open(path).read() == DATA + b"more and more"
        assert fs.get_file_checksum(path) is not None


@pytest.mark.torture
def test_a_cluster_that_offers_nothing_but_privacy(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path
) -> None:
    conf = {"hadoop.rpc.protection": "privacy", "dfs.data.transfer.protection": "privacy"}
    cluster = SecuredHadoop(tmp_path / "cluster", hadoop_classpath, kdc, conf)
    try:
        for suites in (AES, ""):
            with cluster.connect(rpc="privacy", data="privacy", suites=suites) as fs:
                with fs.create("/user/alice/file", overwrite=True) as out:
                    out.write(DATA)
                assert fs.open("/user/alice/file").read() == DATA
    finally:
        cluster.close()
