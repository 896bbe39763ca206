"""Our client over HTTP on Apache's HDFS in secure mode: WebHDFS and HttpFS."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import WEBHDFS_DELEGATION, Token
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]
DATA = random.Random(35).randbytes(300_000)


def connected(
    hadoop: SecuredHadoop, kdc: Kdc, user: str = "alice", real_user: str | None = None
) -> WebHdfsFileSystem:
    """By a keytab; as HTTP says it, `user` by himself or by `real_user`."""
    who = real_user or user
    fs = howdah.connect(
        f"webhdfs://localhost:{hadoop.http_port}",
        conf=Configuration(hadoop.client_conf()),
        user=None if real_user is None else user,
        real_user=real_user,
        keytab=str(kdc.keytab(who)),
        principal=f"{who}@{REALM}",
    )
    assert isinstance(fs, WebHdfsFileSystem)
    return fs


def by_file(
    hadoop: SecuredHadoop, path: Path, patch: pytest.MonkeyPatch, *tokens: Token, **conf: str
) -> WebHdfsFileSystem:
    """By the tokens of a file alone."""
    path.write_bytes(Credentials({str(n): token for n, token in enumerate(tokens)}).encode())
    patch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(path))
    fs = howdah.connect(
        f"webhdfs://localhost:{hadoop.http_port}",
        conf=Configuration({**hadoop.client_conf(), **conf}),
    )
    assert isinstance(fs, WebHdfsFileSystem)
    return fs


def issued(fs: WebHdfsFileSystem, renewer: str = "alice") -> Token:
    token = fs.get_delegation_token(renewer)
    assert token is not None
    return token


def test_a_token_of_webhdfs_is_issued_used_renewed_and_cancelled(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """mtth/hdfs 152: a delegation token over WebHDFS from a file."""
    with connected(hadoop, kdc) as fs:
        token = issued(fs)
        assert (token.kind, token.service) == (
            WEBHDFS_DELEGATION,
            f"127.0.0.1:{hadoop.http_port}",
        )
        assert fs.renew_delegation_token(token) > 1_700_000_000_000
        with by_file(hadoop, tmp_path / "tokens", monkeypatch, token) as by_token:
            assert by_token.user == "alice"
            with by_token.create("/user/alice/by-web-token", overwrite=True) as out:
                out.write(DATA)
            with by_token.open("/user/alice/by-web-token") as reader:
                assert reader.read() == DATA
            assert by_token.get_file_status("/user/alice/by-web-token").owner == "alice"
            with pytest.raises(errors.HowdahError, match="delegation parameter is not null"):
                by_token.get_delegation_token("alice")
            fs.cancel_delegation_token(token)
            with pytest.raises(errors.InvalidToken, match="can't be found in cache"):
                by_token.list_status("/")


def test_the_renewer_alone_renews(hadoop: SecuredHadoop, kdc: Kdc) -> None:
    with connected(hadoop, kdc) as alice, connected(hadoop, kdc, "bob") as bob:
        token = issued(alice)
        with pytest.raises(errors.AccessDenied, match="non-matching renewer"):
            bob.renew_delegation_token(token)
        for_bob = issued(alice, "bob")
        assert bob.renew_delegation_token(for_bob) > 1_700_000_000_000
        bob.cancel_delegation_token(for_bob)
        alice.cancel_delegation_token(token)


def test_tokens_of_rpc_are_good_over_http_and_the_other_way_round(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with hadoop.connect() as fs:
        token = fs.get_delegation_token("alice")
        assert token is not None
        assert token.service == f"127.0.0.1:{hadoop.rpc_port}"
        with by_file(hadoop, tmp_path / "rpc", monkeypatch, token) as by_token:
            assert by_token.list_status("/user")
        monkeypatch.delenv("HADOOP_TOKEN_FILE_LOCATION")
        with connected(hadoop, kdc) as web:
            assert web.renew_delegation_token(token) > 1_700_000_000_000
            web.cancel_delegation_token(token)


def test_a_token_is_enough_without_hadoops_configuration(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with connected(hadoop, kdc) as fs:
        token = issued(fs)
    (tmp_path / "tokens").write_bytes(Credentials({"a": token}).encode())
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
    uri = f"webhdfs://localhost:{hadoop.http_port}"
    with howdah.connect(uri, conf=Configuration({})) as by_token:
        assert by_token.list_status("/user")


def test_a_user_is_acted_for_over_http(hadoop: SecuredHadoop, kdc: Kdc) -> None:
    with connected(hadoop, kdc, "bob", "oozie") as fs:
        with fs.create("/user/bob/by-web-oozie", overwrite=True) as out:
            out.write(b"x")
        assert fs.get_file_status("/user/bob/by-web-oozie").owner == "bob"
        assert fs.open("/user/bob/by-web-oozie").read() == b"x"
        token = fs.get_delegation_token("bob")
        assert token is not None
        assert fs.renew_delegation_token(token)
        fs.cancel_delegation_token(token)
    with connected(hadoop, kdc, "alice", "oozie") as fs:
        with pytest.raises(errors.AuthorizationFailed, match="is not allowed to impersonate alice"):
            fs.list_status("/")
