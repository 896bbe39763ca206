"""Users who log in by OpenID Connect at the web ports of a cluster without Kerberos."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.testing import MiniCluster
from tests.support.openid import AUDIENCE, CLIENT, SECRET, FakeProvider

PREFIX = "howdah.http.authentication.oidc."


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: str
    url: str


@dataclass
class Browser:
    """Keeps cookies of each host, whatever its port, and goes where it is led by GET."""

    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, url: str, *, follows: bool = True) -> Answer:
        return self.ask("GET", url, follows=follows)

    def ask(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        follows: bool = True,
    ) -> Answer:
        parts = urlsplit(url)
        shown = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = HTTPConnection(parts.netloc, timeout=60)
        try:
            target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            sent = {"Accept": "text/html", "User-Agent": "Mozilla/5.0", "Cookie": shown}
            connection.request(method, target, body, {**sent, **(headers or {})})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                cookie, _, kept = value.partition(";")[0].partition("=")
                self.cookies[cookie] = kept
        location = answer.getheader("Location")
        if follows and location is not None:
            there = location if "://" in location else f"{parts.scheme}://{parts.netloc}{location}"
            return self.get(there)
        return Answer(answer.status, dict(answer.getheaders()), text, url)

    def log_in(self, url: str) -> Answer:
        """Go to a page, follow its link to the provider, and from there to the page again."""
        closed = self.get(url)
        assert closed.status == 401, closed.body
        link = re.search(r'href="(/login/openid\?[^"]*)"', closed.body)
        assert link is not None, closed.body
        base = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        done = self.get(base + link[1].replace("&amp;", "&"))
        assert done.status == 200, done.body
        led = done.headers["Refresh"].partition("; url=")[2]
        return self.get(base + led)


@dataclass(frozen=True)
class Logins:
    cluster: MiniCluster
    provider: FakeProvider
    audit: Path

    @property
    def datanode(self) -> str:
        return f"http://{self.cluster.process('datanode0').addresses['http']}"

    def bearer(self, user: str) -> dict[str, str]:
        self.provider.user = user
        return {"Authorization": f"Bearer {self.provider.bearer()}", "User-Agent": "curl/8"}

    def webhdfs(self, path: str, operation: str, **more: str) -> str:
        query = urlencode({"op": operation, **{k.replace("_", "."): v for k, v in more.items()}})
        return f"{self.cluster.http}/webhdfs/v1{path}?{query}"


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logins]:
    directory = tmp_path_factory.mktemp("openid")
    secret = directory / "client-secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    provider = FakeProvider()
    with provider.served():
        conf = {
            "howdah.http.authentication": "oidc",
            f"{PREFIX}issuer": provider.issuer,
            f"{PREFIX}client-id": CLIENT,
            f"{PREFIX}client-secret-file": str(secret),
            f"{PREFIX}bearer-audience": AUDIENCE,
            "howdah.namenode.audit.log.file": str(directory / "audit.log"),
            "dfs.cluster.administrators": "boss",
            "hadoop.proxyuser.knox.hosts": "*",
            "hadoop.proxyuser.knox.users": "alice",
        }
        with MiniCluster(datanodes=1, conf=conf) as cluster:
            with cluster.connect() as fs:
                fs.mkdirs("/user/alice")
                with fs.create("/user/alice/secret") as out:
                    out.write(b"for alice\n")
                fs.set_permission("/user/alice/secret", 0o600)
                for path in ("/user/alice", "/user/alice/secret"):
                    fs.set_owner(path, "alice", "users")
            yield Logins(cluster, provider, directory / "audit.log")


def test_a_browser_logs_in_sees_pages_and_reads_and_writes_as_the_user(logins: Logins) -> None:
    logins.provider.user = "alice"
    browser = Browser()
    page = browser.log_in(f"{logins.cluster.http}/explorer?path=/user")
    assert (page.status, page.url) == (200, f"{logins.cluster.http}/explorer?path=/user")
    assert "<strong>alice</strong>" in browser.get(f"{logins.cluster.http}/login").body
    assert browser.get(f"{logins.cluster.http}/logs").status == 403
    read = browser.get(logins.webhdfs("/user/alice/secret", "OPEN"))
    assert (read.status, read.body) == (200, "for alice\n")
    assert read.url.startswith(logins.datanode)
    url = logins.webhdfs("/user/alice/new", "CREATE", noredirect="true")
    location = json.loads(browser.ask("PUT", url).body)["Location"]
    assert Browser().ask("PUT", location, b"written\n", follows=False).status == 201
    made = browser.get(logins.webhdfs("/user/alice/new", "GETFILESTATUS", user_name="boss"))
    assert json.loads(made.body)["FileStatus"]["owner"] == "alice"
    out = browser.ask("POST", f"{logins.cluster.http}/logout", b"", follows=False)
    assert out.status == 303
    assert browser.get(f"{logins.cluster.http}/explorer").status == 401


def test_an_administrator_sees_the_logs_of_each_server(logins: Logins) -> None:
    logins.provider.user = "boss"
    for server in (logins.cluster.http, logins.datanode):
        assert Browser().log_in(f"{server}/logs").status == 200


def test_a_program_reads_and_writes_by_an_access_token(logins: Logins) -> None:
    alice, boss, knox = (logins.bearer(user) for user in ("alice", "boss", "knox"))
    program = Browser()

    def read(headers: Mapping[str, str], **more: str) -> tuple[int, str]:
        url = logins.webhdfs("/user/alice/secret", "OPEN", **more)
        answer = program.ask("GET", url, None, headers)
        return answer.status, answer.body

    assert read(alice) == (200, "for alice\n")
    assert read(alice, user_name="boss") == (200, "for alice\n")
    assert read(boss)[0] == read(boss, user_name="alice")[0] == 403
    assert read(knox, doas="alice") == (200, "for alice\n")
    assert read(knox, doas="boss")[0] == 403
    assert read({"User-Agent": "curl/8"}, user_name="alice")[0] == 401
    assert program.cookies == {}, "a token makes no cookie"
    url = logins.webhdfs("/user/alice/by-token", "CREATE")
    there = program.ask("PUT", url, None, alice, follows=False)
    assert there.status == 307
    assert program.ask("PUT", there.headers["Location"], b"x", follows=False).status == 201


def test_a_delegation_token_comes_of_an_access_token(logins: Logins) -> None:
    url = logins.webhdfs("/", "GETDELEGATIONTOKEN")
    answer = Browser().ask("GET", url, None, logins.bearer("alice"))
    token = json.loads(answer.body)["Token"]["urlString"]
    read = Browser().get(logins.webhdfs("/user/alice/secret", "OPEN", delegation=token))
    assert (read.status, read.body) == (200, "for alice\n")


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"aud": CLIENT}, f"and not for {AUDIENCE}"),
        ({"exp": 1_000_000_000}, "one of both clocks is off"),
        ({"iss": "https://evil.example.com"}, "and not from http://127.0.0.1"),
    ],
)
def test_a_token_for_another_one_or_time_is_refused(
    logins: Logins, claims: dict[str, object], said: str
) -> None:
    token = logins.provider.bearer(**claims)
    headers = {"Authorization": f"Bearer {token}", "Accept": "*/*"}
    answer = Browser().ask("GET", logins.webhdfs("/", "LISTSTATUS"), None, headers)
    assert answer.status == 401
    assert said in answer.body


def test_the_audit_log_names_who_logged_in_and_how(logins: Logins) -> None:
    headers = logins.bearer("alice")
    url = logins.webhdfs("/user/alice", "LISTSTATUS")
    assert Browser().ask("GET", url, None, headers).status == 200
    assert "ugi=alice (auth:OPENID)" in logins.audit.read_text()


def test_commands_and_the_client_of_webhdfs_show_the_token_of_a_file(
    logins: Logins,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "token"
    monkeypatch.setenv("HOWDAH_BEARER_TOKEN_FILE", str(path))
    logins.provider.user = "boss"
    path.write_text(logins.provider.bearer())
    conf = str(logins.cluster.conf_dir)
    main(["fsck", "--conf", conf, "/user"])
    answered = capsys.readouterr()
    assert "FSCK started by boss" in answered.out, answered.err
    uri = f"webhdfs://{logins.cluster.http.partition('://')[2]}"
    with howdah.connect(uri) as fs:
        with pytest.raises(errors.AccessDenied), fs.open("/user/alice/secret") as file:
            file.read()
    logins.provider.user = "alice"
    path.write_text(logins.provider.bearer())
    with howdah.connect(uri) as fs:
        with fs.open("/user/alice/secret") as file:
            assert file.read() == b"for alice\n"
        with fs.create("/user/alice/by-file") as out:
            out.write(b"written")
        assert fs.get_file_status("/user/alice/by-file").owner == "alice"


def test_no_secret_is_in_a_log_or_on_a_page(logins: Logins) -> None:
    token = logins.provider.bearer()
    logins.provider.user = "boss"
    browser = Browser()
    page = browser.log_in(f"{logins.cluster.http}/conf")
    secrets = (SECRET, token, browser.cookies["hadoop.auth"])
    headers = {"Authorization": f"Bearer {token}x"}
    Browser().ask("GET", logins.webhdfs("/", "LISTSTATUS"), None, headers)
    shown = [page.body, browser.get(f"{logins.cluster.http}/logs").body]
    shown += [logins.cluster.log(name) for name in ("namenode", "datanode0")]
    for text in shown:
        for secret in secrets:
            assert secret not in text
        assert "code=" not in text


def test_where_the_provider_is_gone_those_with_a_cookie_go_on(logins: Logins) -> None:
    logins.provider.user = "alice"
    browser = Browser()
    browser.log_in(f"{logins.cluster.http}/explorer")
    logins.provider.answers["/token"] = 500, {}, b"{}"
    try:
        closed = Browser().get(f"{logins.cluster.http}/login/openid")
        assert closed.status == 401
        assert "answers 500 and no ID token" in closed.body
        assert browser.get(f"{logins.cluster.http}/explorer").status == 200
    finally:
        del logins.provider.answers["/token"]
