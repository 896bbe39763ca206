"""Users who log in at the web ports of a cluster without Kerberos."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.formats.passwords import Cost, PasswordRecord, record_of
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.runtime.tls.http_policy import Place
from howdah.security.page_proofs import PageProofs
from howdah.security.password_file import change
from howdah.security.server_cookies import signing_caller
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
SALT = b"0123456789abcdef"
CURL = ("curl", "--silent", "--show-error", "--write-out", "\n%{http_code}")
USERS = ("alice", "boss", "knox")


def enter(passwords: Path, user: str, password: str | None = None) -> None:
    def entry(records: dict[str, PasswordRecord]) -> None:
        text = password or f"{user}'s password"
        records[user] = record_of(user, text, SALT, Cost(4, 1, 1))

    change(passwords, entry, creates=True)


@dataclass(frozen=True)
class Logins:
    """A cluster, and curl for its users."""

    cluster: MiniCluster
    passwords: Path
    audit: Path

    @property
    def datanode(self) -> str:
        return f"http://{self.cluster.process('datanode0').addresses['http']}"

    @property
    def rpc(self) -> str:
        return self.cluster.process("namenode").addresses["rpc"]

    def curl(self, url: str, *words: str, user: str | None = None) -> tuple[int, str]:
        """Status and body of an answer."""
        login = () if user is None else ("--user", f"{user}:{user}'s password")
        made = subprocess.run(
            [*CURL, *login, *words, url],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        body, _, status = made.stdout.rpartition("\n")
        return int(status), body

    def ask(
        self,
        path: str,
        operation: str,
        user: str | None = None,
        *words: str,
        server: str | None = None,
        **more: str,
    ) -> tuple[int, str]:
        """The same of WebHDFS, behind the way to a datanode."""
        query = urlencode({"op": operation, **{key.replace("_", "."): more[key] for key in more}})
        url = f"{server or self.cluster.http}/webhdfs/v1{path}?{query}"
        return self.curl(url, "--location", *words, user=user)

    def location(self, user: str) -> tuple[str, dict[str, str]]:
        """Where the namenode sends the reader of a file: the address, and its query."""
        status, body = self.ask("/user/alice/secret", "OPEN", user, noredirect="true")
        assert status == 200, body
        place, _, query = str(json.loads(body)["Location"]).partition("?")
        return place, dict(parse_qsl(query))

    def forged(self, owner: str) -> str:
        """A token of somebody's for another owner."""
        _, query = self.location("alice")
        token = Token.from_url_string(query["delegation"])
        named = replace(DelegationTokenIdentifier.decode(token.identifier), owner=owner)
        return replace(token, identifier=named.encode()).url_string


def made(directory: Path, audit: Path, **more: str) -> Iterator[Logins]:
    passwords = directory / "passwords"
    for user in USERS:
        enter(passwords, user)
    conf = {
        "howdah.http.authentication": "file",
        "howdah.http.authentication.file": str(passwords),
        "howdah.namenode.audit.log.file": str(audit),
        "dfs.cluster.administrators": "boss",
        "hadoop.proxyuser.knox.hosts": "*",
        "hadoop.proxyuser.knox.users": "alice",
    }
    with MiniCluster(datanodes=1, conf={**conf, **more}) as cluster:
        with cluster.connect() as fs:
            fs.mkdirs("/user/alice")
            with fs.create("/user/alice/secret") as out:
                out.write(b"for alice\n")
            fs.set_permission("/user/alice/secret", 0o600)
            for path in ("/user/alice", "/user/alice/secret"):
                fs.set_owner(path, "alice", "users")
        yield Logins(cluster, passwords, audit)


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logins]:
    directory = tmp_path_factory.mktemp("logins")
    yield from made(directory, directory / "audit.log")


def test_pages_are_for_who_logs_in_and_logs_for_administrators(logins: Logins) -> None:
    for server in (logins.cluster.http, logins.datanode):
        answers = {
            path: [logins.curl(f"{server}{path}", user=user)[0] for user in (None, "alice", "boss")]
            for path in ("/health", "/", "/jmx", "/logs", "/stacks")
        }
        assert answers == {
            "/health": [200, 200, 200],
            "/": [401, 200, 200],
            "/jmx": [401, 200, 200],
            "/logs": [401, 403, 200],
            "/stacks": [401, 403, 200],
        }
        assert logins.curl(f"{server}/", user="mallory")[0] == 401


def test_a_user_reads_and_writes_as_himself_through_a_datanode(
    logins: Logins, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_text("written\n")
    upload = "--upload-file", str(source)
    assert logins.ask("/user/alice/new", "CREATE", "alice", *upload)[0] == 201
    assert logins.ask("/user/alice/new", "OPEN", "alice") == (200, "written\n")
    status, body = logins.ask("/user/alice/new", "GETFILESTATUS", "alice")
    assert (status, json.loads(body)["FileStatus"]["owner"]) == (200, "alice")
    assert logins.ask("/user/boss", "MKDIRS", "alice", "--request", "PUT")[0] == 403


def test_a_name_in_the_request_counts_for_nothing(logins: Logins) -> None:
    for operation in ("OPEN", "GETFILESTATUS"):
        assert logins.ask("/user/alice/secret", operation, user_name="alice")[0] == 401
    assert logins.ask("/user/alice/secret", "OPEN", "alice", user_name="boss")[0] == 200
    assert logins.ask("/user/alice/secret", "OPEN", "boss", user_name="alice")[0] == 403


def test_the_audit_log_names_who_logged_in(logins: Logins) -> None:
    assert logins.ask("/user/alice", "LISTSTATUS", "alice")[0] == 200
    assert logins.ask("/user/alice", "LISTSTATUS", "knox", doas="alice")[0] == 200

    def users() -> list[str]:
        lines = [line.split("\t") for line in logins.audit.read_text().splitlines()]
        return [line[1] for line in lines if "cmd=listStatus" in line and "proto=webhdfs" in line]

    wanted = ["ugi=alice (auth:PASSWORD)", "ugi=alice (auth:PROXY) via knox (auth:PASSWORD)"]
    wait_until(lambda: users() == wanted, what="the lines of both calls")


def test_a_proxy_user_acts_for_whom_he_may_and_for_nobody_else(logins: Logins) -> None:
    assert logins.ask("/user/alice/secret", "OPEN", "knox", doas="alice") == (200, "for alice\n")
    assert logins.ask("/user/alice/secret", "OPEN", "knox")[0] == 403
    assert logins.ask("/user/alice/secret", "OPEN", "knox", doas="boss")[0] == 403
    assert logins.ask("/user/alice/secret", "OPEN", "boss", doas="alice")[0] == 403


def test_the_way_to_a_datanode_is_for_who_was_sent_there(logins: Logins) -> None:
    place, query = logins.location("alice")
    assert "user.name" not in query

    def status(**changes: str) -> int:
        return logins.curl(f"{place}?{urlencode({**query, **changes})}")[0]

    assert status() == 200
    for delegation in ("", "AAAA", logins.forged("root"), logins.forged("alice")[:-4]):
        assert status(delegation=delegation, **{"user.name": "alice"}) == 403, delegation
    assert logins.curl(f"{place}?{urlencode(query)}", user="boss")[0] == 200, "the token says who"
    # Who may not read gets no way there.
    assert logins.ask("/user/alice/secret", "OPEN", "boss", noredirect="true")[0] == 403


def test_tokens_are_for_who_logged_in_and_for_no_name_that_is_claimed(logins: Logins) -> None:
    status, body = logins.ask("/", "GETDELEGATIONTOKEN", "alice")
    assert status == 200
    token = json.loads(body)["Token"]["urlString"]
    assert logins.ask("/user/alice/secret", "OPEN", delegation=token) == (200, "for alice\n")
    assert logins.ask("/", "GETDELEGATIONTOKEN", delegation=token)[0] != 200
    with logins.cluster.connect(user="alice") as fs:
        assert fs.get_delegation_token("alice") is None
    assert (
        logins.ask("/", "CANCELDELEGATIONTOKEN", "alice", "--request", "PUT", token=token)[0] == 200
    )
    assert logins.ask("/user/alice/secret", "OPEN", delegation=token)[0] == 403


def test_the_cookie_is_good_for_one_server_until_the_password_changes(
    logins: Logins, tmp_path: Path
) -> None:
    jar = ("--cookie-jar", str(tmp_path / "jar"), "--cookie", str(tmp_path / "jar"))
    enter(logins.passwords, "carol")
    page = f"{logins.cluster.http}/jmx?qry=none"
    form = ("--data-urlencode", "user=carol", "--data-urlencode", "password=carol's password")
    assert logins.curl(f"{logins.cluster.http}/login", *form, *jar)[0] == 303
    assert logins.curl(page, *jar)[0] == 200
    assert logins.curl(f"{logins.datanode}/", "--cookie", f"{tmp_path}/jar")[0] == 401
    enter(logins.passwords, "carol", "another password")
    assert logins.curl(page, *jar)[0] == 401
    assert logins.curl(page, user="carol")[0] == 401
    assert logins.curl(page, "--user", "carol:another password", *jar)[0] == 200
    assert logins.curl(f"{logins.cluster.http}/logout", "--data", "", *jar)[0] == 303
    assert logins.curl(page, *jar)[0] == 401


def test_tokens_of_a_user_who_is_deleted_are_good_no_more(
    logins: Logins, capsys: pytest.CaptureFixture[str]
) -> None:
    enter(logins.passwords, "dave")
    status, body = logins.ask("/", "GETDELEGATIONTOKEN", "dave")
    assert status == 200
    token = json.loads(body)["Token"]["urlString"]
    assert logins.ask("/", "LISTSTATUS", delegation=token)[0] == 200
    assert main(["passwd", "--file", str(logins.passwords), "delete", "dave"]) == 0
    assert "delegation tokens of dave" in capsys.readouterr().out
    status, body = logins.ask("/", "LISTSTATUS", delegation=token)
    assert status == 403
    assert "dave, who got this token, can log in no more" in body


def test_fsck_logs_in_by_netrc(
    logins: Logins,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    conf = str(logins.cluster.conf_dir)
    host = urlsplit(logins.cluster.http).hostname
    path = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(path))
    assert main(["fsck", "--conf", conf, "/user"]) == 255
    assert f"{path} has none for it" in capsys.readouterr().err
    path.write_text(f"machine {host} login boss password {'wrong'}\n")
    assert main(["fsck", "--conf", conf, "/user"]) == 255
    assert "does not take this name and password" in capsys.readouterr().err
    path.write_text(f'machine {host} login boss password "boss\'s password"\n')
    main(["fsck", "--conf", conf, "/user"])
    answered = capsys.readouterr()
    assert "FSCK started by boss" in answered.out, answered.err


def test_the_client_of_webhdfs_logs_in_by_netrc(
    logins: Logins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"webhdfs://{logins.cluster.http.partition('://')[2]}"
    host = urlsplit(logins.cluster.http).hostname
    path = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(path))
    with (
        howdah.connect(uri, user="boss") as fs,
        pytest.raises(errors.LoginFailed, match="has none for it"),
    ):
        fs.get_file_status("/user/alice")
    path.write_text(f'machine {host} login knox password "knox\'s password"\n')
    with howdah.connect(uri, user="boss") as fs:
        assert fs.get_file_status("/user/alice").owner == "alice"
        with pytest.raises(errors.AccessDenied), fs.open("/user/alice/secret") as file:
            file.read()
    path.write_text(f'machine {host} login alice password "alice\'s password"\n')
    with howdah.connect(uri) as fs:
        with fs.open("/user/alice/secret") as file:
            assert file.read() == b"for alice\n"
        with fs.create("/user/alice/by-netrc") as out:
            out.write(b"written")
        assert fs.get_file_status("/user/alice/by-netrc").owner == "alice"


def test_no_password_and_no_token_is_logged(logins: Logins) -> None:
    _, query = logins.location("alice")
    logins.curl(f"{logins.cluster.http}/jmx", "--user", "alice:a planted guess")
    for name in ("namenode", "datanode0"):
        text = logins.cluster.log(name)
        for secret in ("alice's password", "a planted guess", query["delegation"], "hadoop.auth="):
            assert secret not in text


def test_a_namenode_that_believes_names_is_asked_for_nothing_in_the_name_of_a_token(
    tmp_path: Path,
) -> None:
    """A datanode whose users log in, beside a namenode that was started without: anybody could
    write a token in which stands any name. Tokens for blocks change nothing of that."""
    tokens = {"dfs.block.access.token.enable": "true"}
    for logins in made(tmp_path, tmp_path / "audit.log", **tokens):
        assert logins.ask("/user/alice/secret", "OPEN", "alice") == (200, "for alice\n")
        assert logins.curl(f"{logins.datanode}/")[0] == 401
        forged = logins.forged("alice")
        logins.cluster.configure({"howdah.http.authentication": "none"})
        logins.cluster.restart("namenode")
        query = {"op": "OPEN", "offset": "0", "namenoderpcaddress": logins.rpc}
        url = f"{logins.datanode}/webhdfs/v1/user/alice/secret"
        status, body = logins.curl(f"{url}?{urlencode({**query, 'delegation': forged})}")
        assert (status, "for alice" in body) == (403, False), body
        assert "Client cannot authenticate via:[SIMPLE]" in body


def test_namenodes_and_journal_nodes_fetch_from_each_other(tmp_path: Path) -> None:
    """The second namenode begins with an image of the first one's. Who asks as a server does, by
    the secret of all, gets one, and nobody else."""
    secret, passwords = tmp_path / "secret", tmp_path / "passwords"
    secret.write_bytes(b"a secret of the cluster, which is long enough")
    secret.chmod(0o600)
    enter(passwords, "alice")
    conf = {
        "howdah.http.authentication": "file",
        "howdah.http.authentication.file": str(passwords),
        "hadoop.http.authentication.signature.secret.file": str(secret),
    }
    image = "/imagetransfer?getimage=1&txid=latest"
    with MiniCluster(datanodes=1, namenodes=2, conf=conf) as cluster:
        logins = Logins(cluster, passwords, tmp_path)
        host, _, port = cluster.process(cluster.active()).addresses["http"].partition(":")
        active = f"http://{host}:{port}"
        assert logins.curl(f"{active}{image}")[0] == 401
        assert logins.curl(f"{active}{image}", user="alice")[0] == 403
        assert logins.curl(f"{active}/cluster", user="alice")[0] == 200
        caller = signing_caller(cluster.conf)
        for user, status in ((caller, 200), (None, 401)):
            with PageProofs(user).asked(
                Place(False, host, int(port)),
                lambda: HTTPConnection(host, int(port), timeout=60),
                "GET",
                image,
            ) as answer:
                assert answer.status == status
                answer.read()
