"""The web ports of secured servers of this project: who gets what, by a ticket, a cookie and a
token; with curl, this project's client and Java's."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import OurSecuredCluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]


@pytest.fixture(scope="module")
def cluster(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OurSecuredCluster]:
    directory = tmp_path_factory.mktemp("web")
    with kdc.in_environment():
        cluster = OurSecuredCluster(directory, hadoop_classpath, kdc)
    yield cluster
    cluster.close()


@dataclass(frozen=True)
class Answered:
    """What curl heard."""

    status: int
    headers: str
    body: bytes

    @property
    def cookie(self) -> str:
        """The text of the cookie that was set."""
        found = re.search(r'^Set-Cookie: hadoop\.auth="([^"]*)"', self.headers, re.M | re.I)
        assert found is not None, self.headers
        return found[1]


class Curl:
    """A user's, with a ticket of his or without."""

    def __init__(self, cluster: OurSecuredCluster, directory: Path, user: str | None) -> None:
        self._cluster = cluster
        self._cache = directory / f"cache-{user}"
        self._has_ticket = user is not None
        if user is not None:
            cluster.kdc.kinit(user, self._cache)

    def __call__(
        self,
        path: str,
        *options: str,
        port: int = 0,
        cookie: str = "",
        redirected: bool = False,
    ) -> Answered:
        command = ["curl", "-sS", "-i", "--max-time", "60", *options]
        if self._has_ticket:
            command += ["--negotiate", "-u", ":"]
        if cookie:
            command += ["-b", f'hadoop.auth="{cookie}"']
        if redirected:
            command.append("-L")
        url = path if "://" in path else f"http://localhost:{port or self._cluster.http_port}{path}"
        done = subprocess.run(
            [*command, url],
            env={**os.environ, "KRB5CCNAME": f"FILE:{self._cache}"},
            capture_output=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        rest = done.stdout
        while True:
            head, _, rest = rest.partition(b"\r\n\r\n")
            if not rest.startswith(b"HTTP/1.1 "):
                break
        text = head.decode().replace("\r\n", "\n")
        return Answered(int(text.split()[1]), text, rest)


@pytest.fixture
def alice(cluster: OurSecuredCluster, tmp_path: Path) -> Curl:
    return Curl(cluster, tmp_path, "alice")


@pytest.fixture
def nobody(cluster: OurSecuredCluster, tmp_path: Path) -> Curl:
    return Curl(cluster, tmp_path, None)


LIST: Final = "/webhdfs/v1/?op=LISTSTATUS"


def test_a_ticket_gets_in_and_its_cookie_does_after_it(alice: Curl, nobody: Curl) -> None:
    by_ticket = alice(LIST)
    assert by_ticket.status == 200, by_ticket
    assert b'"pathSuffix":"user"' in by_ticket.body
    assert re.search("^WWW-Authenticate: Negotiate .", by_ticket.headers, re.M)
    cookie = by_ticket.cookie
    assert re.match(rf"u=alice&p=alice@{REALM}&t=kerberos&e=\d+&s=", cookie)
    by_cookie = nobody("/webhdfs/v1/?op=GETHOMEDIRECTORY", cookie=cookie)
    assert (by_cookie.status, json.loads(by_cookie.body)) == (200, {"Path": "/user/alice"})
    assert "Set-Cookie" not in by_cookie.headers


def test_who_proves_nothing_is_told_what_to_do(nobody: Curl) -> None:
    refused = nobody(f"{LIST}&user.name=hdfs")
    assert refused.status == 401
    assert re.search("^WWW-Authenticate: Negotiate$", refused.headers, re.M)
    assert "Set-Cookie: hadoop.auth=; Path=/" in refused.headers
    page = nobody("/", "-H", "Accept: text/html")
    assert page.status == 401
    assert b"<p>Get a ticket (kinit)" in page.body
    assert nobody("/health").status == 200
