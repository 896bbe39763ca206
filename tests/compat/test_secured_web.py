"""Our client over HTTP on Apache's HDFS in secure mode: WebHDFS and HttpFS."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import SWEBHDFS_DELEGATION, WEBHDFS_DELEGATION, Token
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from tests.support.security.httpfs import SecuredHttpFs
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.secured_pair import NAMESERVICE, SecuredPair

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


def test_tokens_of_a_nameservice_are_good_over_tls_at_both_namenodes(
    hadoop_pair: SecuredPair, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    conf = Configuration(hadoop_pair.client_conf())
    uri = f"swebhdfs://{NAMESERVICE}"
    with howdah.connect(
        uri, conf=conf, keytab=str(kdc.keytab("alice")), principal=f"alice@{REALM}"
    ) as fs:
        assert isinstance(fs, WebHdfsFileSystem)
        token = issued(fs)
        assert (token.kind, token.service) == (SWEBHDFS_DELEGATION, f"ha-swebhdfs:{NAMESERVICE}")
        assert fs.renew_delegation_token(token) > 1_700_000_000_000
        (tmp_path / "tokens").write_bytes(Credentials({"a": token}).encode())
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
        with howdah.connect(uri, conf=conf) as by_token:
            for _ in range(2):
                with by_token.create("/user/alice/by-swebhdfs", overwrite=True) as out:
                    out.write(DATA)
                assert by_token.open("/user/alice/by-swebhdfs").read() == DATA
                hadoop_pair.fail_over()
        fs.cancel_delegation_token(token)


def test_commands_get_renew_and_cancel_tokens_of_webhdfs(
    hadoop: SecuredHadoop, kdc: Kdc, kerberos_environment: Path, tmp_path: Path
) -> None:
    kdc.kinit("alice", kerberos_environment)
    conf = [
        word for name, value in hadoop.client_conf().items() for word in ("-D", f"{name}={value}")
    ]
    url, file = f"http://localhost:{hadoop.http_port}", str(tmp_path / "fetched")
    assert main(["fetchdt", *conf, "--webservice", url, "--renewer", "alice", file]) == 0
    (token,) = Credentials.decode(Path(file).read_bytes()).tokens.values()
    assert token.kind == WEBHDFS_DELEGATION
    assert main(["fetchdt", *conf, "--renew", file]) == 0
    assert main(["fetchdt", *conf, "--cancel", file]) == 0
    uri, other = f"webhdfs://localhost:{hadoop.http_port}", str(tmp_path / "got")
    assert main(["dtutil", *conf, "get", uri, "-alias", "a", "-renewer", "alice", other]) == 0
    assert main(["dtutil", *conf, "renew", "-alias", "a", other]) == 0
    assert main(["dtutil", *conf, "cancel", "-alias", "a", other]) == 0


# -- HttpFS: it answers itself, also where WebHDFS sends to datanodes.


def at_httpfs(
    httpfs: SecuredHttpFs, hadoop: SecuredHadoop, user: str | None = None, **login: str
) -> WebHdfsFileSystem:
    fs = howdah.connect(
        f"webhdfs://localhost:{httpfs.port}",
        conf=Configuration(hadoop.client_conf()),
        user=user,
        real_user=login.get("real_user"),
        keytab=login.get("keytab"),
        principal=login.get("principal"),
    )
    assert isinstance(fs, WebHdfsFileSystem)
    return fs


def keytab_of(kdc: Kdc, user: str) -> dict[str, str]:
    return {"keytab": str(kdc.keytab(user)), "principal": f"{user}@{REALM}"}


def test_httpfs_takes_tickets_and_cookies(
    httpfs: SecuredHttpFs, hadoop: SecuredHadoop, kdc: Kdc
) -> None:
    with at_httpfs(httpfs, hadoop, **keytab_of(kdc, "alice")) as fs:
        with fs.create("/user/alice/by-httpfs", overwrite=True) as out:
            out.write(DATA)
        with fs.append("/user/alice/by-httpfs") as out:
            out.write(b"more")
        with fs.open("/user/alice/by-httpfs") as reader:
            assert reader.read() == DATA + b"more"
        assert fs.get_file_status("/user/alice/by-httpfs").owner == "alice"
        assert fs.get_file_checksum("/user/alice/by-httpfs") is not None


def test_httpfs_issues_tokens(
    httpfs: SecuredHttpFs,
    hadoop: SecuredHadoop,
    kdc: Kdc,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with at_httpfs(httpfs, hadoop, **keytab_of(kdc, "alice")) as fs:
        token = issued(fs)
        assert token.kind == WEBHDFS_DELEGATION
        assert token.service == f"127.0.0.1:{httpfs.port}"
        assert fs.renew_delegation_token(token) > 1_700_000_000_000
        (tmp_path / "tokens").write_bytes(Credentials({"a": token}).encode())
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
        with at_httpfs(httpfs, hadoop) as by_token:
            assert by_token.user == "alice"
            with by_token.create("/user/alice/by-httpfs-token", overwrite=True) as out:
                out.write(DATA)
            assert by_token.open("/user/alice/by-httpfs-token").read() == DATA
        fs.cancel_delegation_token(token)
        with at_httpfs(httpfs, hadoop) as by_token:
            with pytest.raises(errors.HowdahError):
                by_token.list_status("/")


def test_httpfs_acts_for_users(httpfs: SecuredHttpFs, hadoop: SecuredHadoop, kdc: Kdc) -> None:
    acting = {**keytab_of(kdc, "oozie"), "real_user": "oozie"}
    with at_httpfs(httpfs, hadoop, "bob", **acting) as fs:
        with fs.create("/user/bob/by-httpfs", overwrite=True) as out:
            out.write(b"x")
        assert fs.get_file_status("/user/bob/by-httpfs").owner == "bob"
