"""Logins by a provider that others have made: Keycloak, with its own pages, keys and tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import pytest

from howdah.testing import MiniCluster
from tests.cluster.test_openid_logins import Browser
from tests.support.hadoop.jars import NoHadoop, keycloak_archive
from tests.support.keycloak import Keycloak, running

pytestmark = [pytest.mark.torture, pytest.mark.timeout(900)]

CACHE = Path(__file__).parents[2] / ".cache"
PREFIX = "howdah.http.authentication.oidc."
CLIENT, SECRET, AUDIENCE = "howdah", "a secret of this client", "howdah-webhdfs"
PASSWORDS = {"alice": "in wonderland", "bob": "the builder"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Logins:
    cluster: MiniCluster
    provider: Keycloak

    def to_provider(self, browser: Browser, path: str) -> str:
        """Go to a page, and from there to the provider's form; the address of the form."""
        closed = browser.get(f"{self.cluster.http}{path}")
        assert closed.status == 401
        link = re.search(r'href="(/login/openid\?[^"]*)"', closed.body)
        assert link is not None
        page = browser.get(self.cluster.http + unescape(link[1]))
        assert page.url.startswith(self.provider.issuer), page.body
        form = re.search(r'<form[^>]*id="kc-form-login"[^>]*action="([^"]*)"', page.body)
        assert form is not None, page.body
        return unescape(form[1])

    def log_in(self, browser: Browser, user: str, password: str, path: str) -> str:
        """Log in; where the server leads on to, or the provider's page that refuses."""
        form = self.to_provider(browser, path)
        body = urlencode({"username": user, "password": password, "credentialId": ""}).encode()
        done = browser.ask("POST", form, body, FORM)
        return done.headers.get("Refresh", done.body).removeprefix("0; url=")

    def bearer(self, user: str) -> str:
        tokens = self.provider.tokens_of(CLIENT, SECRET, user, PASSWORDS[user])
        return str(tokens["access_token"])

    def read(self, token: str) -> tuple[int, str]:
        url = f"{self.cluster.http}/webhdfs/v1/user/alice/secret?op=OPEN"
        program = Browser()
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "curl/8", "Accept": "*/*"}
        answer = program.ask("GET", url, None, headers)
        return answer.status, answer.body


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logins]:
    try:
        archive = keycloak_archive(CACHE)
    except NoHadoop as error:
        pytest.skip(f"Keycloak cannot be fetched: {error.message}")
    directory = tmp_path_factory.mktemp("keycloak")
    secret = directory / "client-secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    with running(archive, directory / "provider") as provider:
        conf = {
            "howdah.http.authentication": "oidc",
            f"{PREFIX}issuer": provider.issuer,
            f"{PREFIX}client-id": CLIENT,
            f"{PREFIX}client-secret-file": str(secret),
            f"{PREFIX}bearer-audience": AUDIENCE,
        }
        with MiniCluster(datanodes=1, conf=conf) as cluster:
            provider.make_realm(
                CLIENT,
                SECRET,
                AUDIENCE,
                PASSWORDS,
                [f"{cluster.http}/login/openid/callback"],
                [f"{cluster.http}/login"],
            )
            with cluster.connect() as fs:
                fs.mkdirs("/user/alice")
                with fs.create("/user/alice/secret") as out:
                    out.write(b"for alice\n")
                fs.set_permission("/user/alice/secret", 0o600)
                for path in ("/user/alice", "/user/alice/secret"):
                    fs.set_owner(path, "alice", "users")
            yield Logins(cluster, provider)


def test_a_browser_logs_in_with_the_providers_password_and_reads(logins: Logins) -> None:
    browser = Browser()
    led = logins.log_in(browser, "alice", PASSWORDS["alice"], "/explorer?path=/user")
    assert led == "/explorer?path=/user"
    assert browser.get(logins.cluster.http + led).status == 200
    read = browser.get(f"{logins.cluster.http}/webhdfs/v1/user/alice/secret?op=OPEN")
    assert (read.status, read.body) == (200, "for alice\n")
    url = f"{logins.cluster.http}/webhdfs/v1/user/alice?op=GETDELEGATIONTOKEN"
    assert json.loads(browser.get(url).body)["Token"]["urlString"]


def test_a_wrong_password_is_the_providers_to_refuse(logins: Logins) -> None:
    browser = Browser()
    said = logins.log_in(browser, "alice", "of somebody else", "/explorer")
    assert "Invalid username or password" in said
    assert browser.get(f"{logins.cluster.http}/explorer").status == 401


def test_a_log_out_is_one_at_the_provider_and_leads_back(logins: Logins) -> None:
    browser = Browser()
    logins.log_in(browser, "alice", PASSWORDS["alice"], "/explorer")
    # While its session lasts the provider asks for no password.
    again = browser.get(f"{logins.cluster.http}/login/openid")
    assert "<strong>alice</strong>" in again.body
    out = browser.ask("POST", f"{logins.cluster.http}/logout", b"")
    there = out.headers["Refresh"].removeprefix("0; url=")
    assert there.startswith(f"{logins.provider.issuer}/")
    assert browser.get(f"{logins.cluster.http}/explorer").status == 401
    # Keycloak asks whether that is wanted, since it is shown no ID token.
    page = browser.get(there)
    form = re.search(r'<form[^>]*action="([^"]*logout-confirm[^"]*)"', page.body)
    code = re.search(r'name="session_code" value="([^"]*)"', page.body)
    assert form is not None, page.body
    assert code is not None, page.body
    body = urlencode({"session_code": code[1], "confirmLogout": "Logout"}).encode()
    back = browser.ask("POST", urljoin(page.url, unescape(form[1])), body, FORM)
    assert back.url == f"{logins.cluster.http}/login", back.body
    assert "Log in at 127.0.0.1" in back.body
    # The session is over there, too: it asks for the password again.
    logins.to_provider(browser, "/explorer")


def test_an_access_token_is_its_users_and_an_id_token_is_none(logins: Logins) -> None:
    assert logins.read(logins.bearer("alice")) == (200, "for alice\n")
    assert logins.read(logins.bearer("bob"))[0] == 403
    tokens = logins.provider.tokens_of(CLIENT, SECRET, "alice", PASSWORDS["alice"])
    status, said = logins.read(str(tokens["id_token"]))
    assert status == 401
    assert AUDIENCE in said
    head, body, mark = logins.bearer("alice").split(".")
    assert logins.read(f"{head}.{body}.{mark[:-4]}AAAA")[0] == 401
    assert logins.read(str(tokens["refresh_token"]))[0] == 401


def test_the_provider_leads_to_no_other_server(logins: Logins) -> None:
    browser = Browser()
    begun = browser.get(f"{logins.cluster.http}/login/openid", follows=False)
    location = urlsplit(begun.headers["Location"])
    query = {name: values[0] for name, values in parse_qs(location.query).items()}
    query["redirect_uri"] = "http://127.0.0.1:9/login/openid/callback"
    changed = location._replace(query=urlencode(query)).geturl()
    assert browser.get(changed).status == 400
