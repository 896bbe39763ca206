"""The bytes of files over HTTP: what is said when a filesystem fails on the way."""

from __future__ import annotations

import http.client
import io
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.gateway.files import FileGateway
from howdah.options import CreateFlag
from howdah.runtime.users.names import real_user_of
from howdah.security.users import SecuredUser
from howdah.testing.waiting import wait_until
from howdah.web.http import request_of
from howdah.web.server import HttpServer
from howdah.web.webhdfs.parameters import ParsedRequest, parse_request

NAMENODE = "nn:8020"


class Sink(io.BytesIO):
    """A file that is written; `fails` says at which step."""

    fails = ""
    kept = b""

    def write(self, data: Any, /) -> int:
        if self.fails == "write":
            raise errors.RemoteError("the pipeline broke")
        return super().write(data)

    def close(self) -> None:
        if not self.closed:
            self.kept = self.getvalue()
        super().close()
        if self.fails:
            raise errors.RemoteError("the last block has no replica")


class Source(io.RawIOBase):
    """A file that says it is longer than it is."""

    length = 100

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return 100 if whence == 2 else offset

    def readinto(self, buffer: Any, /) -> int:
        return 0


@dataclass
class World:
    """A filesystem by hand, and who asked for it."""

    port: int = 0
    sink: Sink = field(default_factory=Sink)
    asked: list[ParsedRequest] = field(default_factory=list)
    created: dict[str, Any] = field(default_factory=dict)
    closed: int = 0

    @property
    def client(self) -> World:
        return self

    def resolve(self, path: str) -> str:
        return path

    def close(self) -> None:
        self.closed += 1

    def create(self, path: str, **options: Any) -> FSDataOutputStream:
        self.created = {"path": path, **options}
        return FSDataOutputStream(self.sink)

    def append(self, path: str) -> FSDataOutputStream:
        return FSDataOutputStream(self.sink)

    def open(self, path: str) -> FSDataInputStream:
        return FSDataInputStream(Source())

    def get_file_checksum(self, path: str, *, combine_mode: str) -> None:
        assert combine_mode == "MD5MD5CRC"

    def ask(
        self, method: str, query: str, body: bytes | None = None, path: str = "/f"
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            target = f"/webhdfs/v1{path}?op={query}&namenoderpcaddress={NAMENODE}"
            connection.request(method, target, body)
            answer = connection.getresponse()
            said = answer.read()
            return answer.status, json.loads(said)["RemoteException"] if said else None
        finally:
            connection.close()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World()
    gateway = FileGateway(Configuration({"fs.defaultFS": f"hdfs://{NAMENODE}"}))

    def filesystem(wanted: ParsedRequest) -> World:
        made.asked.append(wanted)
        return made

    monkeypatch.setattr(gateway, "filesystem", filesystem)
    server = HttpServer(gateway.answer, timeout_s=30)
    made.port = server.start("127.0.0.1", 0)
    yield made
    server.stop()


def test_file_is_created_as_asked(world: World) -> None:
    query = (
        "CREATE&permission=640&unmaskedpermission=666&overwrite=true&replication=2"
        "&blocksize=1024&createparent=false&createflag=CREATE,OVERWRITE,NO_LOCAL_WRITE"
    )
    assert world.ask("PUT", query, b"bytes") == (201, None)
    assert world.sink.kept == b"bytes"
    assert world.created == {
        "path": "/f",
        "masked": 0o640,
        "unmasked": 0o666,
        "overwrite": True,
        "create_parent": False,
        "replication": 2,
        "block_size": 1024,
        "flags": CreateFlag.NO_LOCAL_WRITE,
    }
    assert world.closed == 1


@pytest.mark.parametrize(("agent", "keeps"), [("Java/17.0.15", False), ("curl/8.9", True)])
def test_connection_of_a_java_client_is_not_kept(world: World, agent: str, keeps: bool) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", world.port, timeout=60)
    with closing(connection):
        target = f"/webhdfs/v1/f?op=CREATE&namenoderpcaddress={NAMENODE}"
        connection.request("PUT", target, b"bytes", {"User-Agent": agent})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 201
        assert (connection.sock is not None) == keeps


def test_mode_without_a_word_is_hadoops(world: World) -> None:
    assert world.ask("PUT", "CREATE", b"") == (201, None)
    assert (world.created["masked"], world.created["unmasked"]) == (0o644, 0o644)
    assert world.created["replication"] is None


def test_flag_that_nobody_hears_of_is_refused(world: World) -> None:
    status, told = world.ask("PUT", "CREATE&createflag=NO_LOCAL_RACK", b"")
    assert (status, told["exception"]) == (400, "UnsupportedOperationException")


@pytest.mark.parametrize("fails", ["write", "close"])
@pytest.mark.parametrize(("method", "query"), [("PUT", "CREATE"), ("POST", "APPEND")])
def test_file_that_cannot_be_written_is_not_confirmed(
    world: World, method: str, query: str, fails: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.sink.fails = fails
    status, told = world.ask(method, query, b"bytes")
    assert (status, told["exception"]) == (403, "IOException")
    if fails == "write":
        assert "stays open until its lease is recovered" in caplog.text
    wait_until(lambda: world.closed == 1)


def test_file_that_ends_too_early_breaks_off(world: World) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", world.port, timeout=60)
    connection.request("GET", "/webhdfs/v1/f?op=OPEN")
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Content-Length")) == (200, "100")
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        answer.read()
    connection.close()


def test_file_without_a_checksum_has_none_to_tell(world: World) -> None:
    status, told = world.ask("GET", "GETFILECHECKSUM")
    assert (status, told["message"]) == (403, "there is no checksum of /f")


def test_other_operations_are_the_namenodes(world: World) -> None:
    status, told = world.ask("GET", "LISTSTATUS")
    assert (status, told["exception"]) == (400, "IllegalArgumentException")
    assert world.asked == []


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("op=OPEN&namenoderpcaddress=evil:1", errors.IllegalArgument),
        ("op=OPEN", errors.IllegalArgument),
        (f"op=OPEN&namenoderpcaddress={NAMENODE}&doas=%0A", errors.IllegalArgument),
    ],
)
def test_who_asks_and_whom_is_checked(query: str, error: type[Exception]) -> None:
    gateway = FileGateway(Configuration({"fs.defaultFS": f"hdfs://{NAMENODE}"}))
    request = request_of(b"GET", f"/webhdfs/v1/f?{query}".encode(), [])
    assert request is not None
    with pytest.raises(error):
        gateway.filesystem(parse_request(request, gateway.patterns))


@pytest.mark.parametrize(("query", "real_user"), [("&user.name=hive", "hive"), ("", "dr.who")])
def test_the_namenode_is_asked_whether_one_may_act_for_another(query: str, real_user: str) -> None:
    gateway = FileGateway(Configuration({"fs.defaultFS": f"hdfs://{NAMENODE}"}))
    target = f"/webhdfs/v1/f?op=OPEN&namenoderpcaddress={NAMENODE}&doas=joe{query}"
    request = request_of(b"GET", target.encode(), [])
    assert request is not None
    with closing(gateway.filesystem(parse_request(request, gateway.patterns))) as fs:
        assert (fs.user, real_user_of(fs.user)) == ("joe", real_user)


def test_who_names_himself_twice_acts_for_nobody() -> None:
    gateway = FileGateway(Configuration({"fs.defaultFS": f"hdfs://{NAMENODE}"}))
    target = f"/webhdfs/v1/f?op=OPEN&namenoderpcaddress={NAMENODE}&user.name=joe&doas=joe"
    request = request_of(b"GET", target.encode(), [])
    assert request is not None
    with closing(gateway.filesystem(parse_request(request, gateway.patterns))) as fs:
        assert (fs.user, real_user_of(fs.user)) == ("joe", None)


def test_pages_of_namenodes_may_send_the_header_that_is_configured() -> None:
    conf = {
        "fs.defaultFS": f"hdfs://{NAMENODE}",
        "dfs.webhdfs.rest-csrf.custom-header": "X-Own",
    }
    gateway = FileGateway(Configuration(conf))
    assert gateway.may_send["Access-Control-Allow-Headers"] == "Content-Type, X-Own"


# -- on a secured cluster ----------------------------------------------------------


def secured() -> FileGateway:
    conf = {"fs.defaultFS": f"hdfs://{NAMENODE}", "hadoop.security.authentication": "kerberos"}
    return FileGateway(Configuration(conf))


def asking(query: str, gateway: FileGateway) -> HdfsFileSystem:
    target = f"/webhdfs/v1/f?op=OPEN&namenoderpcaddress={NAMENODE}&{query}"
    request = request_of(b"GET", target.encode(), [])
    assert request is not None
    return gateway.filesystem(gateway.parsed(request))


def test_a_datanode_acts_by_the_token_that_came_along_and_shows_it_to_its_namenode_alone() -> None:
    identifier = DelegationTokenIdentifier("alice", "alice", "", 1, 2, 3, 4)
    token = Token(identifier.encode(), b"password", "WEBHDFS delegation", "elsewhere:1")
    with closing(asking(f"delegation={token.url_string}&user.name=hdfs", secured())) as fs:
        assert fs.user == "alice"
        assert isinstance(fs.user, SecuredUser)
        assert fs.user.login is None
        found = fs.user.delegation_token(("nn", 8020))
        assert found is not None
        assert (found.identifier, found.password) == (token.identifier, token.password)
        assert fs.user.delegation_token(("elsewhere", 1)) is None


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("user.name=hdfs", errors.AuthorizationFailed),
        ("doas=hdfs", errors.AuthorizationFailed),
        ("delegation=", errors.AuthorizationFailed),
        ("delegation=!!", errors.InvalidToken),
        ("delegation=KAA", errors.InvalidToken),
        (f"delegation={Token(b'x', b'p', 'k').url_string}", errors.InvalidToken),
    ],
)
def test_nobody_gets_a_file_of_a_secured_datanode_without_a_token(
    query: str, error: type[errors.HowdahError]
) -> None:
    with pytest.raises(error):
        asking(query, secured())
