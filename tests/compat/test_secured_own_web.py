"""The web ports of secured servers of this project: who gets what, by a ticket, a cookie and a
token; with curl, this project's client and Java's."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from howdah.formats.tokens.token import Token
from tests.compat import test_secured_commands as commands
from tests.compat import test_secured_web as webhdfs
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_servers import (
    OurSecuredCluster,
    OurSecuredDatanodes,
    OurSecuredNamenode,
)
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.security.servers import write_site_files

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]


_OURS: Final = pytest.param(OurSecuredCluster, id="ours")
_OUR_NAMENODE: Final = pytest.param(OurSecuredNamenode, id="namenode", marks=pytest.mark.torture)
_OUR_DATANODES: Final = pytest.param(OurSecuredDatanodes, id="datanodes", marks=pytest.mark.torture)


@pytest.fixture(scope="module", params=[_OURS, _OUR_NAMENODE, _OUR_DATANODES])
def hadoop(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredHadoop]:
    """Servers of this project, some of them beside Hadoop's, for the tests of other modules as
    well."""
    directory = tmp_path_factory.mktemp("web")
    with kdc.in_environment():
        cluster: SecuredHadoop = request.param(directory, hadoop_classpath, kdc)
    yield cluster
    cluster.close()


# What this project's client and commands do at Hadoop's servers, done at its own.

operator = commands.operator
test_fsck_checks_files = commands.test_fsck_checks_files_and_says_nothing_about_who_asks
test_an_image_is_fetched = commands.test_an_image_is_fetched
test_fsck_acts_for_another_user = commands.test_fsck_acts_for_another_user
test_a_token_is_issued = webhdfs.test_a_token_of_webhdfs_is_issued_used_renewed_and_cancelled
test_the_renewer_alone_renews = webhdfs.test_the_renewer_alone_renews
test_tokens_of_rpc_are_good = webhdfs.test_tokens_of_rpc_are_good_over_http_and_the_other_way_round
test_a_token_is_enough = webhdfs.test_a_token_is_enough_without_hadoops_configuration
test_a_user_is_acted_for_over_http = webhdfs.test_a_user_is_acted_for_over_http
test_commands_get_tokens = webhdfs.test_commands_get_renew_and_cancel_tokens_of_webhdfs


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

    def __init__(self, hadoop: SecuredHadoop, directory: Path, user: str | None) -> None:
        self._hadoop = hadoop
        self._cache = directory / f"cache-{user}"
        self._has_ticket = user is not None
        if user is not None:
            hadoop.kdc.kinit(user, self._cache)

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
            command += ["-H", f'Cookie: hadoop.auth="{cookie}"']
        if redirected:
            command.append("-L")
        url = path if "://" in path else f"http://localhost:{port or self._hadoop.http_port}{path}"
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
def alice(hadoop: SecuredHadoop, tmp_path: Path) -> Curl:
    return Curl(hadoop, tmp_path, "alice")


@pytest.fixture
def nobody(hadoop: SecuredHadoop, tmp_path: Path) -> Curl:
    return Curl(hadoop, tmp_path, None)


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


def test_who_proves_nothing_is_told_what_to_do(hadoop: SecuredHadoop, nobody: Curl) -> None:
    refused = nobody(f"{LIST}&user.name=hdfs")
    assert refused.status == 401
    assert re.search("^WWW-Authenticate: Negotiate$", refused.headers, re.M)
    assert "Set-Cookie: hadoop.auth=; Path=/" in refused.headers
    page = nobody("/", "-H", "Accept: text/html")
    assert page.status == 401
    if isinstance(hadoop, OurSecuredNamenode):
        assert b"Get a ticket: kinit" in page.body
        assert nobody("/health").status == 200


def test_a_cookie_that_is_forged_or_of_another_server_is_none(alice: Curl, nobody: Curl) -> None:
    cookie = alice(LIST).cookie
    for other in (
        cookie.replace("u=alice", "u=hdfs"),
        cookie.replace("t=kerberos", "t=simple"),
        re.sub("e=[0-9]+", "e=9999999999999", cookie),
        cookie[:-4] + "AAA=",
        cookie.partition("&s=")[0],
    ):
        refused = nobody(LIST, cookie=other)
        assert (refused.status, "hadoop.auth=;" in refused.headers) == (401, True), other


def test_a_ticket_that_was_overheard_is_not_taken_again(
    alice: Curl, nobody: Curl, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    assert alice(LIST, "-v", "--stderr", str(heard)).status == 200
    (ticket,) = re.findall(r"^> Authorization: (Negotiate \S+)", heard.read_text(), re.M)
    again = nobody(LIST, "-H", f"Authorization: {ticket}")
    assert again.status == 403
    assert re.search(b"the ticket was not taken|Request is a replay", again.body)
    garbage = nobody(LIST, "-H", "Authorization: Negotiate YIIabcd=")
    assert garbage.status == 403


@pytest.mark.parametrize("hadoop", [_OURS], indirect=True)
def test_pages_are_for_whom_they_are_for(
    hadoop: SecuredHadoop, alice: Curl, nobody: Curl, tmp_path: Path
) -> None:
    hdfs = Curl(hadoop, tmp_path, "hdfs")
    with hadoop.connect("hdfs") as fs:
        (node,) = fs.datanode_report("live")
    ports = {"namenode": hadoop.http_port, "datanode": node.info_port}
    for name, port in ports.items():
        found = {
            path: tuple(who(path, port=port).status for who in (nobody, alice, hdfs))
            for path in ("/health", "/", "/jmx", "/prom", "/conf", "/logs", "/stacks", "/nowhere")
        }
        assert found == {
            "/health": (200, 200, 200),
            "/": (401, 200, 200),
            "/jmx": (401, 200, 200),
            "/prom": (401, 200, 200),
            "/conf": (401, 200, 200),
            "/logs": (401, 403, 200),
            "/stacks": (401, 403, 200),
            "/nowhere": (404, 404, 404),
        }, name
    image = "/imagetransfer?getimage=1&txid=latest"
    assert [who(image).status for who in (nobody, alice, hdfs)] == [401, 403, 200]
    fsck = "/fsck?path=/&ugi=hdfs"
    assert [who(fsck).status for who in (nobody, alice, hdfs)] == [401, 403, 200]
    assert b"FSCK started by alice" in alice("/fsck?path=/user/alice").body


def test_a_file_goes_to_and_comes_from_a_datanode_by_a_token_of_its_own(
    hadoop: SecuredHadoop, alice: Curl, nobody: Curl, tmp_path: Path
) -> None:
    local = tmp_path / "local"
    local.write_bytes(webhdfs.DATA)
    path = "/webhdfs/v1/user/alice/curled"
    created = alice(f"{path}?op=CREATE&overwrite=true", "-T", str(local), redirected=True)
    assert created.status == 201, created
    led = alice(f"{path}?op=OPEN")
    assert led.status == 307
    (location,) = re.findall(r"^Location: (\S+)", led.headers, re.M)
    assert "user.name" not in location
    (text,) = re.findall("[?&]delegation=([^&]+)", location)
    assert nobody(location).body == webhdfs.DATA
    for other in (
        location.replace(f"delegation={text}", "user.name=alice"),
        location.replace(text, "KAA"),
        location.replace(text, text[:30] + ("B" if text[30] == "A" else "A") + text[31:]),
        location.replace("/user/alice/curled", "/"),
    ):
        refused = nobody(other)
        assert refused.status in (403, 404), (other, refused)
        assert text not in refused.body.decode()
    told = nobody(f"/webhdfs/v1/?op=GETHOMEDIRECTORY&delegation={text}")
    assert json.loads(told.body) == {"Path": "/user/alice"}
    reused = nobody(f"{path}?op=OPEN&delegation={text}")
    assert f"delegation={text}" in reused.headers, "no further one is made"
    token = Token.from_url_string(text)
    assert token.kind == "WEBHDFS delegation"
    planted = Token(token.identifier, b"a-planted-secret", token.kind).url_string
    forged = nobody(f"/webhdfs/v1/?op=LISTSTATUS&delegation={planted}")
    assert (forged.status, b"SecurityException" in forged.body) == (403, True)
    # Hadoop's datanodes log such addresses.
    kinds = {"namenode": OurSecuredNamenode, "datanode": OurSecuredDatanodes}
    logs = "".join(hadoop.log(name) for name, kind in kinds.items() if isinstance(hadoop, kind))
    assert logs
    for secret in (text, planted):
        assert secret not in logs
        assert quote(secret) not in logs


@pytest.mark.parametrize("hadoop", [_OURS, _OUR_NAMENODE], indirect=True)
def test_one_token_leads_a_user_on_until_he_cancels_it(
    hadoop: SecuredHadoop, alice: Curl, nobody: Curl, tmp_path: Path
) -> None:
    def led(who: Curl, user: str) -> tuple[str, str]:
        """Where to, and by which token."""
        path = f"/webhdfs/v1/user/{user}/led-on"
        answered = who(f"{path}?op=CREATE&overwrite=true", "-X", "PUT")
        (location,) = re.findall(r"^Location: (\S+)", answered.headers, re.M)
        (text,) = re.findall("[?&]delegation=([^&]+)", location)
        return location, text

    _, text = led(alice, "alice")
    assert led(alice, "alice")[1] == text
    assert led(Curl(hadoop, tmp_path, "hdfs"), "hdfs")[1] != text
    cancelled = alice(f"/webhdfs/v1/?op=CANCELDELEGATIONTOKEN&token={text}", "-X", "PUT")
    assert cancelled.status == 200
    assert nobody(f"/webhdfs/v1/?op=GETHOMEDIRECTORY&delegation={text}").status == 403
    location, another = led(alice, "alice")
    assert another != text
    assert nobody(location, "-X", "PUT", "-d", "data").status == 201


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("op=GETHOMEDIRECTORY&user.name=hdfs", 200, "/user/alice"),
        ("op=LISTSTATUS&doas=bob", 403, "User: alice is not allowed to impersonate bob"),
        (
            "op=LISTSTATUS&user.name=bob&doas=bob",
            403,
            "User: alice is not allowed to impersonate bob",
        ),
        ("op=GETHOMEDIRECTORY&doas=alice", 200, "/user/alice"),
    ],
)
def test_a_ticket_is_good_for_its_user_alone(
    alice: Curl, query: str, status: int, words: str
) -> None:
    answered = alice(f"/webhdfs/v1/?{query}")
    assert (answered.status, words in answered.body.decode()) == (status, True), answered


def test_javas_client_works_by_a_ticket_and_by_a_token(
    hadoop: SecuredHadoop, hadoop_classpath: str, tmp_path: Path
) -> None:
    local, back = tmp_path / "local", tmp_path / "back"
    local.write_bytes(webhdfs.DATA)
    conf_dir, uri = tmp_path / "conf", f"webhdfs://localhost:{hadoop.http_port}"
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
    path = "/user/alice/java"
    java(shell, ticket, "-put", "-f", str(local), path)
    fetcher = "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher"
    java(fetcher, ticket, "--webservice", uri, "--renewer", "alice", str(tokens))
    by_token = {"HADOOP_TOKEN_FILE_LOCATION": str(tokens)}
    java(shell, by_token, "-get", path, str(back))
    assert back.read_bytes() == webhdfs.DATA
    java(fetcher, ticket, "--cancel", str(tokens))
    java("org.apache.hadoop.hdfs.tools.DFSck", ticket, path)
