"""This project's gateway over HTTP before secured clusters, its own and Hadoop's: by a ticket, a
cookie and a token, with curl, this project's client and Java's."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

import howdah
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import SWEBHDFS_DELEGATION, WEBHDFS_DELEGATION, Token
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from howdah.local import certificates
from howdah.testing.waiting import wait_until
from tests.compat import test_secured_web as webhdfs
from tests.compat.test_secured_own_web import Answered, Curl
from tests.support.hadoop.java import hadoop_java
from tests.support.security.httpfs import OurSecuredHttpFs
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.servers import write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]


@pytest.fixture(scope="module", params=["ours", "hadoops"])
def hadoop(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredHadoop]:
    """The cluster behind the gateway, for the tests of another module as well."""
    if request.param == "hadoops":
        shared: SecuredHadoop = request.getfixturevalue("hadoop")
        yield shared
        return
    directory = tmp_path_factory.mktemp("behind")
    conf = {"howdah.namenode.audit.log.file": str(directory / "audit.log")}
    with kdc.in_environment():
        cluster = OurSecuredCluster(directory, hadoop_classpath, kdc, conf)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def httpfs(
    hadoop: SecuredHadoop, kdc: Kdc, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OurSecuredHttpFs]:
    with kdc.in_environment():
        front = OurSecuredHttpFs(tmp_path_factory.mktemp("gateway"), "", hadoop)
    yield front
    front.close()


# What this project's client does at Hadoop's HttpFS, done at its own.

test_takes_tickets = webhdfs.test_httpfs_takes_tickets_and_cookies
test_issues_tokens = webhdfs.test_httpfs_issues_tokens
test_acts_for_users = webhdfs.test_httpfs_acts_for_users

UPLOAD: Final = ("-H", "Content-Type: application/octet-stream", "-X", "PUT")
LIST: Final = "/webhdfs/v1/?op=LISTSTATUS"


class Asks:
    """A user's curl at the gateway, with a ticket of his or without."""

    def __init__(
        self, httpfs: OurSecuredHttpFs, hadoop: SecuredHadoop, directory: Path, user: str | None
    ) -> None:
        self._curl = Curl(hadoop, directory, user)
        self._port = httpfs.port

    def __call__(self, path: str, *options: str, cookie: str = "") -> Answered:
        return self._curl(path, *options, port=self._port, cookie=cookie)

    def said(self, operation: str, *options: str) -> tuple[int, str]:
        """Status and body of an operation of WebHDFS at the root, or below a path."""
        path = operation if operation.startswith("/") else f"/?op={operation}"
        answered = self(f"/webhdfs/v1{path}", *options)
        return answered.status, answered.body.decode()

    def token(self, query: str = "") -> Token:
        status, text = self.said(f"GETDELEGATIONTOKEN{query}")
        assert status == 200, text
        return Token.from_url_string(json.loads(text)["Token"]["urlString"])


@pytest.fixture
def alice(httpfs: OurSecuredHttpFs, hadoop: SecuredHadoop, tmp_path: Path) -> Asks:
    return Asks(httpfs, hadoop, tmp_path, "alice")


@pytest.fixture
def oozie(httpfs: OurSecuredHttpFs, hadoop: SecuredHadoop, tmp_path: Path) -> Asks:
    return Asks(httpfs, hadoop, tmp_path, "oozie")


@pytest.fixture
def nobody(httpfs: OurSecuredHttpFs, hadoop: SecuredHadoop, tmp_path: Path) -> Asks:
    return Asks(httpfs, hadoop, tmp_path, None)


def test_a_ticket_gets_in_and_its_cookie_does_after_it(alice: Asks, nobody: Asks) -> None:
    by_ticket = alice("/webhdfs/v1/?op=GETHOMEDIRECTORY&user.name=hdfs")
    assert (by_ticket.status, json.loads(by_ticket.body)) == (200, {"Path": "/user/alice"})
    assert re.search("^WWW-Authenticate: Negotiate .", by_ticket.headers, re.M)
    cookie = by_ticket.cookie
    assert re.match(rf"u=alice&p=alice@{REALM}&t=kerberos&e=\d+&s=", cookie)
    assert nobody(LIST, cookie=cookie).status == 200
    assert nobody(LIST, cookie=cookie.replace("alice", "hdfs")).status == 401


def test_who_proves_nothing_is_not_answered(nobody: Asks) -> None:
    for path in (f"{LIST}&user.name=hdfs", "/jmx", "/", "/conf"):
        refused = nobody(path)
        assert (refused.status, path) == (401, path)
        assert re.search("^WWW-Authenticate: Negotiate$", refused.headers, re.M)
    assert nobody("/health").status == 200
    assert nobody("/ready").status == 200


def test_pages_are_for_whom_they_are_for(
    alice: Asks, httpfs: OurSecuredHttpFs, hadoop: SecuredHadoop, tmp_path: Path
) -> None:
    hdfs = Asks(httpfs, hadoop, tmp_path, "hdfs")
    assert b"The filesystem answers" in alice("/").body
    assert alice("/jmx").status == 200
    assert (alice("/stacks").status, hdfs("/stacks").status) == (403, 200)


def test_a_server_of_the_cluster_reads_no_files(
    httpfs: OurSecuredHttpFs, hadoop: SecuredHadoop
) -> None:
    """Its principal is the superuser's for the namenode."""
    keytab, principal = str(hadoop.kdc.services_keytab), f"dn/localhost@{REALM}"
    where = f"webhdfs://localhost:{httpfs.port}"
    conf = Configuration(hadoop.client_conf())
    with howdah.connect(where, conf=conf, keytab=keytab, principal=principal) as fs:
        with pytest.raises(OSError, match="is a server"):
            list(fs.list_status("/"))


def test_permissions_are_the_users(alice: Asks, tmp_path: Path) -> None:
    status, text = alice.said("/not-hers?op=MKDIRS", "-X", "PUT")
    assert (status, "Permission denied: user=alice" in text) == (500, True), text
    local = tmp_path / "local"
    local.write_bytes(b"data")
    path = "/webhdfs/v1/user/alice/by-curl?op=CREATE&overwrite=true&data=true"
    assert alice(path, *UPLOAD, "-T", str(local)).status == 201
    status, text = alice.said("/user/alice/by-curl?op=GETFILESTATUS")
    assert json.loads(text)["FileStatus"]["owner"] == "alice"
    assert alice("/webhdfs/v1/user/alice/by-curl?op=OPEN").body == b"data"


def test_the_namenode_knows_user_and_gateway(alice: Asks, hadoop: SecuredHadoop) -> None:
    if not isinstance(hadoop, OurSecuredCluster):
        pytest.skip("its log has no audit")
    assert alice.said("/user/alice/audited?op=MKDIRS", "-X", "PUT")[0] == 200
    log = hadoop.directory / "audit.log"
    wait_until(lambda: "/user/alice/audited" in log.read_text(), what="the audit log has it")
    (line,) = [line for line in log.read_text().splitlines() if "/user/alice/audited" in line]
    assert f"ugi=alice (auth:PROXY) via httpfs/localhost@{REALM} (auth:KERBEROS)" in line


def test_who_may_act_for_others_is_said_by_the_gateway(alice: Asks, oozie: Asks) -> None:
    status, text = oozie.said("GETHOMEDIRECTORY&doas=bob")
    assert (status, json.loads(text)) == (200, {"Path": "/user/bob"})
    status, text = alice.said("GETHOMEDIRECTORY&doas=bob")
    assert status == 403
    assert "User: alice is not allowed to impersonate bob" in text
    # The gateway lets oozie be the superuser, and the namenode does not let the gateway.
    status, text = oozie.said("LISTSTATUS&doas=hdfs")
    assert status in (403, 500)
    assert "is not allowed to impersonate hdfs" in text


def test_a_token_is_its_owner_at_the_gateway_alone(
    alice: Asks, nobody: Asks, hadoop: SecuredHadoop, tmp_path: Path
) -> None:
    token = alice.token("&renewer=bob&service=here")
    assert (token.kind, token.service) == (WEBHDFS_DELEGATION, "here")
    identifier = DelegationTokenIdentifier.decode(token.identifier)
    assert (identifier.owner, identifier.renewer, identifier.real_user) == ("alice", "bob", "")
    text = token.url_string
    home = 200, {"Path": "/user/alice"}
    status, said = nobody.said(f"GETHOMEDIRECTORY&delegation={text}&user.name=hdfs")
    assert (status, json.loads(said)) == home
    # So Java's HttpFSFileSystem sends it.
    status, said = nobody.said("GETHOMEDIRECTORY", "-H", f"X-Hadoop-Delegation-Token: {text}")
    assert (status, json.loads(said)) == home
    status, said = nobody.said(f"GETHOMEDIRECTORY&delegation={text}&doas=bob")
    assert (status, "AuthorizationException" in said) == (403, True)
    at_namenode = Curl(hadoop, tmp_path, None)(f"{LIST}&delegation={text}")
    assert at_namenode.status == 403


def test_a_token_of_one_who_acts_for_another_is_the_others(oozie: Asks, nobody: Asks) -> None:
    token = oozie.token("&doas=bob")
    identifier = DelegationTokenIdentifier.decode(token.identifier)
    assert (identifier.owner, identifier.renewer, identifier.real_user) == ("bob", "bob", "oozie")
    status, said = nobody.said(f"GETHOMEDIRECTORY&delegation={token.url_string}")
    assert (status, json.loads(said)) == (200, {"Path": "/user/bob"})


def test_tokens_are_renewed_and_cancelled_for_whom_they_name(
    alice: Asks, oozie: Asks, nobody: Asks
) -> None:
    text = alice.token("&renewer=oozie").url_string
    put = "-X", "PUT"
    status, said = alice.said(f"RENEWDELEGATIONTOKEN&token={text}", *put)
    assert (status, "non-matching renewer oozie" in said) == (403, True), said
    status, said = oozie.said(f"RENEWDELEGATIONTOKEN&token={text}", *put)
    assert (status, json.loads(said)["long"] > 1_700_000_000_000) == (200, True)
    # Nobody gets another token by a token.
    for operation in (f"RENEWDELEGATIONTOKEN&token={text}", f"CANCELDELEGATIONTOKEN&token={text}"):
        assert nobody.said(f"{operation}&delegation={text}", *put)[0] == 401
    assert nobody.said(f"GETDELEGATIONTOKEN&delegation={text}")[0] == 401
    assert alice.said(f"CANCELDELEGATIONTOKEN&token={text}", *put) == (200, "")
    status, said = nobody.said(f"GETHOMEDIRECTORY&delegation={text}")
    exception = json.loads(said)["RemoteException"]
    assert (status, exception["exception"]) == (403, "AuthenticationException")
    assert "can't be found in cache" in exception["message"]
    assert alice.said(f"CANCELDELEGATIONTOKEN&token={text}", *put)[0] == 404


def test_a_forged_token_is_none(alice: Asks, nobody: Asks) -> None:
    token = alice.token()
    for forged in (
        Token(token.identifier, bytes(20), token.kind),
        Token(token.identifier.replace(b"alice", b"hdfss"), token.password, token.kind),
        Token(b"", b"", token.kind),
    ):
        assert nobody.said(f"LISTSTATUS&delegation={forged.url_string}")[0] == 403
    assert nobody.said("LISTSTATUS&delegation=nonsense")[0] == 403


def test_no_secret_is_in_a_log(alice: Asks, nobody: Asks, httpfs: OurSecuredHttpFs) -> None:
    token = alice.token()
    text = token.url_string
    assert nobody.said(f"LISTSTATUS&delegation={text}")[0] == 200
    assert nobody.said(f"GETFILESTATUS&delegation={text}x")[0] == 403
    assert alice.said(f"CANCELDELEGATIONTOKEN&token={text}", "-X", "PUT")[0] == 200
    cookie = alice(LIST).cookie
    for secret in (text, quote(text), cookie, token.password.hex(), "a secret of a moment"):
        assert secret not in httpfs.log


def test_javas_client_works_by_a_ticket_and_by_a_token(
    httpfs: OurSecuredHttpFs, hadoop: SecuredHadoop, hadoop_classpath: str, tmp_path: Path
) -> None:
    local, back = tmp_path / "local", tmp_path / "back"
    local.write_bytes(webhdfs.DATA)
    conf_dir, uri = tmp_path / "conf", f"webhdfs://localhost:{httpfs.port}"
    write_site_files(conf_dir, {**hadoop.client_conf(), "fs.defaultFS": uri})
    ticket = {
        "KRB5KEYTAB": str(hadoop.kdc.keytab("alice")),
        "KRB5PRINCIPAL": f"alice@{REALM}",
    }
    tokens = tmp_path / "tokens"
    options = [f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"]

    def java(main: str, environment: Mapping[str, str], *arguments: str) -> None:
        done = subprocess.run(
            [*hadoop_java(hadoop_classpath, conf_dir, options=options), main, *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    shell = "org.apache.hadoop.fs.FsShell"
    path = "/user/alice/java-by-httpfs"
    java(shell, ticket, "-put", "-f", str(local), path)
    fetcher = "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher"
    java(fetcher, ticket, "--webservice", uri, "--renewer", "alice", str(tokens))
    by_token = {"HADOOP_TOKEN_FILE_LOCATION": str(tokens)}
    java(shell, by_token, "-get", path, str(back))
    assert back.read_bytes() == webhdfs.DATA


# -- over TLS.


@pytest.fixture
def over_tls(hadoop: SecuredHadoop, kdc: Kdc, tmp_path: Path) -> Iterator[OurSecuredHttpFs]:
    if not isinstance(hadoop, OurSecuredCluster):
        pytest.skip("what is behind the gateway makes no difference here")
    certificates.make(tmp_path / "tls", ())
    conf = {
        "httpfs.ssl.enabled": "true",
        "hadoop.ssl.server.conf": str(tmp_path / "tls" / "ssl-server.xml"),
    }
    (tmp_path / "gateway").mkdir()
    with kdc.in_environment():
        front = OurSecuredHttpFs(tmp_path / "gateway", "", hadoop, conf)
    yield front
    front.close()


def test_a_gateway_over_tls_has_tokens_and_cookies_for_tls(
    over_tls: OurSecuredHttpFs,
    hadoop: SecuredHadoop,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    curl = Curl(hadoop, tmp_path, "alice")
    uri = f"https://localhost:{over_tls.port}{LIST}"
    by_ticket = curl(uri, "--cacert", str(tmp_path / "tls" / "ca.pem"))
    assert re.search(r"^Set-Cookie: hadoop\.auth=.*; Secure", by_ticket.headers, re.M)
    conf = Configuration({**hadoop.client_conf(), **certificates.client_settings(tmp_path / "tls")})
    keytab, principal = str(hadoop.kdc.keytab("alice")), f"alice@{REALM}"
    where = f"swebhdfs://localhost:{over_tls.port}"
    with howdah.connect(where, conf=conf, keytab=keytab, principal=principal) as fs:
        assert isinstance(fs, WebHdfsFileSystem)
        token = fs.get_delegation_token("alice")
        assert token is not None
        assert (token.kind, token.service) == (
            SWEBHDFS_DELEGATION,
            f"127.0.0.1:{over_tls.port}",
        )
        (tmp_path / "tokens").write_bytes(Credentials({"a": token}).encode())
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
        with howdah.connect(where, conf=conf) as by_token:
            by_token.write_bytes("/user/alice/by-tls", b"data")
            assert by_token.read_bytes("/user/alice/by-tls") == b"data"
