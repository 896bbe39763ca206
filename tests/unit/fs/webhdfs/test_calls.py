"""Calls over HTTP against servers that answer as a test says."""

from __future__ import annotations

import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.security.http import Proof
from howdah.web.channel import Channel
from howdah.web.connections import (
    AnswerLost,
    Connections,
    Exchange,
    Head,
    redirection,
)
from howdah.web.http import Request, Response, answer
from howdah.web.server import Answer, HttpServer
from howdah.web.webhdfs.faults import refused
from howdah.web.webhdfs.requests import RestRequest

STANDBY = refused(errors.StandbyError("Operation category READ is not supported in state standby"))
TRUE = answer(200, b'{"boolean":true}', "application/json")


@contextmanager
def serving(handler: Callable[[Request], Answer]) -> Iterator[str]:
    server = HttpServer(handler, timeout_s=20)
    port = server.start("127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop()


@contextmanager
def several(*handlers: Callable[[Request], Answer]) -> Iterator[WebHdfsFileSystem]:
    """The namenodes of one nameservice."""
    with ExitStack() as stack:
        values = {
            "dfs.nameservices": "ns",
            "dfs.ha.namenodes.ns": ",".join(f"nn{n}" for n in range(len(handlers))),
            "dfs.http.client.failover.sleep.base.millis": "1",
            "dfs.http.client.failover.max.attempts": "2",
        }
        for number, handler in enumerate(handlers):
            values[f"dfs.namenode.rpc-address.ns.nn{number}"] = f"host{number}:8020"
            address = stack.enter_context(serving(handler))
            values[f"dfs.namenode.http-address.ns.nn{number}"] = address
        yield stack.enter_context(WebHdfsFileSystem("ns", Configuration(values), "bob"))


@pytest.mark.req("FS-254")
def test_the_active_one_is_found_and_kept() -> None:
    asked: list[int] = []

    def standby(request: Request) -> Response:
        asked.append(0)
        return STANDBY

    def active(request: Request) -> Response:
        asked.append(1)
        return TRUE

    with several(standby, active) as fs:
        assert fs.delete("/a")
        assert fs.delete("/a")
    assert asked == [0, 1, 1]


@pytest.mark.req("FS-254")
def test_a_namenode_that_is_not_there_is_left() -> None:
    with several(lambda request: TRUE, lambda request: TRUE) as fs:
        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        fs._calls._namenodes = {
            "nn0": Place(False, "127.0.0.1", port),
            "nn1": fs._calls._namenodes["nn1"],
        }
        assert fs.delete("/a")


@pytest.mark.req("FS-254")
def test_where_all_stand_by_the_last_one_is_quoted() -> None:
    with several(lambda request: STANDBY, lambda request: STANDBY) as fs:
        with pytest.raises(errors.StandbyError, match="standby"):
            fs.delete("/a")


@contextmanager
def closing_after(lines: int) -> Iterator[tuple[str, list[bytes]]]:
    """A server that reads a request and closes the connection, so many times."""
    listening = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def serve() -> None:
        for _ in range(lines):
            try:
                connection, _ = listening.accept()
            except OSError:
                return  # The test is over, and nobody came.
            with connection:
                heard.append(connection.recv(65536).partition(b"\r\n")[0])

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}", heard
    finally:
        listening.close()


@pytest.mark.req("FS-254")
def test_a_change_whose_answer_is_lost_is_not_asked_for_again() -> None:
    with closing_after(3) as (address, heard):
        with WebHdfsFileSystem(address, Configuration({}), "bob") as fs:
            with pytest.raises(AnswerLost, match="nobody knows whether DELETE of /a"):
                fs.delete("/a")
    assert heard == [b"DELETE /webhdfs/v1/a?op=DELETE&user.name=bob&recursive=false HTTP/1.1"]


@pytest.mark.req("FS-251")
def test_reading_goes_on_where_an_answer_broke_off() -> None:
    data = bytes(range(256)) * 1000
    offsets: list[int] = []

    class Half:
        """Promises all that is left, and sends half of it."""

        def __init__(self, offset: int) -> None:
            self._offset = offset

        def run(self, channel: Channel) -> None:
            left = len(data) - self._offset
            channel.begin(200, {"Content-Length": str(left)})
            channel.send(data[self._offset : self._offset + (left + 1) // 2])
            channel.broken = left > 1000
            if left <= 1000:
                channel.send(data[self._offset + (left + 1) // 2 :])
                channel.end()

        def done(self) -> None:
            return None

    status = (
        '{"FileStatus":{"accessTime":0,"blockSize":1,"group":"g","length":%d,"modificationTime":0,'
        '"owner":"o","pathSuffix":"","permission":"644","replication":1,"type":"FILE"}}'
    )

    def handler(request: Request) -> Answer:
        if request.query["op"] == "GETFILESTATUS":
            return answer(200, (status % len(data)).encode(), "application/json")
        offsets.append(int(request.query["offset"]))
        return Half(offsets[-1])

    with serving(handler) as address, WebHdfsFileSystem(address, Configuration({}), "bob") as fs:
        with fs.open("/a") as stream:
            assert stream.read() == data
    assert offsets == sorted(offsets)
    assert len(offsets) > 5


def test_a_login_that_another_thread_has_made_meanwhile_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two first requests: both are refused before either knows that there are logins here."""
    passwords = tmp_path / "netrc"
    passwords.write_text("machine 127.0.0.1 login bob password secret\n")
    monkeypatch.setenv("NETRC", str(passwords))
    shown: list[tuple[str, bool]] = []

    def handler(request: Request) -> Answer:
        has_login = "authorization" in request.headers
        shown.append((request.path.rpartition("/")[2], has_login))
        if has_login:
            return TRUE
        if request.path.endswith("/first"):
            assert fs.delete("/second")
        return Response(401, {"WWW-Authenticate": 'Basic realm="howdah"'})

    with serving(handler) as address, WebHdfsFileSystem(address, Configuration({}), "bob") as fs:
        assert fs.delete("/first")
    assert shown == [("first", False), ("second", False), ("second", True), ("first", True)]


def test_a_login_that_is_not_taken_is_shown_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = tmp_path / "netrc"
    passwords.write_text("machine 127.0.0.1 login bob password secret\n")
    monkeypatch.setenv("NETRC", str(passwords))
    shown: list[bool] = []

    def handler(request: Request) -> Answer:
        shown.append("authorization" in request.headers)
        return Response(401, {"WWW-Authenticate": 'Basic realm="howdah"'})

    with serving(handler) as address, WebHdfsFileSystem(address, Configuration({}), "bob") as fs:
        with pytest.raises(errors.AuthenticationFailed, match="does not take this name"):
            fs.delete("/a")
    assert shown == [False, True]


@pytest.mark.parametrize("content", ["a.b.c\n", None])
def test_an_access_token_is_shown_where_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    path = tmp_path / "token"
    monkeypatch.setenv("HOWDAH_BEARER_TOKEN_FILE", str(path))
    if content is not None:
        path.write_text(content)
    shown: list[str | None] = []

    def handler(request: Request) -> Answer:
        shown.append(request.headers.get("authorization"))
        if shown[-1] == "Bearer d.e.f":
            return TRUE
        return Response(401, {"WWW-Authenticate": 'Bearer realm="howdah"'}, b"it ended.\nMore.")

    with serving(handler) as address, WebHdfsFileSystem(address, Configuration({}), "bob") as fs:
        if content is None:
            with pytest.raises(errors.LoginFailed, match="cannot be read"):
                fs.delete("/a")
            assert shown == [None]
            return
        with pytest.raises(errors.AuthenticationFailed, match=r"this access token: it ended\.$"):
            fs.delete("/a")
        path.write_text("d.e.f")
        assert fs.delete("/a"), "the file is read for each request"
        assert shown == [None, "Bearer a.b.c", "Bearer d.e.f"]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        return int(gone.getsockname()[1])


@pytest.mark.req("FS-254")
@pytest.mark.parametrize("has_another", [True, False])
def test_a_datanode_that_is_not_there_is_named_to_the_namenode(has_another: bool) -> None:
    asked: list[str | None] = []
    written: list[bytes] = []
    dead = closed_port()

    class Taken:
        def run(self, channel: Channel) -> None:
            while data := channel.read():
                written.append(data)

        def done(self) -> Response:
            return Response(201)

    with serving(lambda request: Taken()) as datanode:

        def namenode(request: Request) -> Answer:
            excluded = request.query.get("excludedatanodes")
            asked.append(excluded)
            if excluded is None:
                return Response(307, {"Location": f"http://127.0.0.1:{dead}/webhdfs/v1/a"})
            if not has_another:
                return refused(errors.RemoteError("Failed to find datanode"))
            return Response(307, {"Location": f"http://{datanode}/webhdfs/v1/a"})

        with serving(namenode) as address:
            with WebHdfsFileSystem(address, Configuration({}), "bob") as fs:
                if has_another:
                    with fs.create("/a") as out:
                        out.write(b"data")
                else:
                    with pytest.raises(errors.Unreachable, match=f"127.0.0.1:{dead}"):
                        fs.create("/a")
    assert asked == [None, "127.0.0.1"]
    assert b"".join(written) == (b"data" if has_another else b"")


@pytest.mark.parametrize(
    "location",
    ["", "/webhdfs/v1/a", "https://host:1/a", "file:///etc/passwd", "http://", "http://host:x/"],
)
def test_only_addresses_of_the_same_kind_are_followed(location: str) -> None:
    with pytest.raises(errors.ProtocolViolation):
        redirection(Head(307, {"location": location}), Place(False, "host", 1))


@pytest.mark.parametrize("start", ["ftp://h/a", "http://h:x/a", "http://[h/a", "/a"])
def test_no_token_of_a_redirection_is_in_an_error_or_a_representation(start: str) -> None:
    head = Head(307, {"location": f"{start}?op=OPEN&delegation=SECRET"})
    with pytest.raises(errors.ProtocolViolation) as caught:
        redirection(head, Place(False, "host", 1))
    told = "".join(traceback.format_exception(caught.value))
    assert ("SECRET" in told, "SECRET" in repr(head)) == (False, False)
    assert "with a query" in str(caught.value)


def test_no_token_of_a_target_that_cannot_be_asked_for_is_in_the_error() -> None:
    with serving(lambda request: TRUE) as address:
        host, _, port = address.partition(":")
        connections = Connections(5, 5, ClientTls(Configuration()))
        exchange = connections.exchange(Place(False, host, int(port)))
        with pytest.raises(errors.IllegalArgument) as caught:
            exchange.begin("GET", "/a b?delegation=SECRET", {})
        exchange.close()
        connections.close()
    assert str(caught.value) == "'/a b' (with a query) cannot be asked for"


def test_an_answer_may_not_be_longer_than_it_may_be() -> None:
    def handler(request: Request) -> Answer:
        return Response(200, {}, b"x" * 1000)

    with serving(handler) as address:
        host, _, port = address.partition(":")
        connections = Connections(5, 5, ClientTls(Configuration()))
        place = Place(False, host, int(port))
        for allowed, fits in ((1000, True), (999, False)):
            exchange: Exchange = connections.exchange(place)
            exchange.begin("GET", "/", {})
            exchange.end()
            assert exchange.head().status == 200
            if fits:
                assert len(exchange.body(allowed)) == 1000
            else:
                with pytest.raises(errors.ProtocolViolation, match="more than 999 bytes"):
                    exchange.body(allowed)
            exchange.close()
        connections.close()


def test_a_connection_is_kept_for_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []

    def handler(request: Request) -> Answer:
        return TRUE

    with serving(handler) as address, WebHdfsFileSystem(address, Configuration({}), "bob") as fs:
        connected = fs._calls.connections._connected

        def counting(place: Place) -> socket.socket:
            ports.append(place.port)
            return connected(place)

        monkeypatch.setattr(fs._calls.connections, "_connected", counting)
        for _ in range(5):
            fs.delete("/a")
    assert len(ports) == 1


def test_what_is_no_authority_is_refused() -> None:
    for authority in ("", "host:port", "bob@host:1", ":9870", "host:\u00b2"):
        with pytest.raises(errors.IllegalArgument, match="names no namenode"):
            WebHdfsFileSystem(authority, Configuration({}))
    assert WebHdfsFileSystem("host", Configuration({}), "bob")._calls.address == ("host", 9870)
    assert WebHdfsFileSystem("[::1]:1", Configuration({}), "bob")._calls.address == ("::1", 1)


class _Proving:
    """An authentication by a header, at whatever address."""

    def proof(self, address: tuple[str, int], *, of_token: bool = False) -> Proof:
        return Proof((), {"Authorization": "mine"})

    def is_stale(self, address: object, proof: object, status: int) -> bool:
        return False

    def check(self, address: object, proof: object, headers: object) -> None:
        pass

    def has_to_be_met(self, address: object, proof: object, *, changes: bool) -> bool:
        return False


@pytest.mark.parametrize("to_itself", [True, False])
def test_a_server_that_redirects_to_itself_gets_the_proof_again(to_itself: bool) -> None:
    """As HttpFS does. A datanode gets none: it is in the address."""
    heard: list[tuple[str, bool]] = []
    places: list[str] = []

    def handler(request: Request) -> Answer:
        is_data = request.query.get("data") == "true"
        has_proof = request.headers.get("authorization") == "mine"
        heard.append(("data" if is_data else "op", has_proof))
        if is_data:
            return answer(200, b"", "application/octet-stream")
        place = places[0 if to_itself else 1]
        return Response(307, {"Location": f"http://{place}/webhdfs/v1/a?op=OPEN&data=true"})

    with serving(handler) as namenode, serving(handler) as datanode:
        places += [namenode, datanode]
        with WebHdfsFileSystem(namenode, Configuration({}), "bob") as fs:
            fs._calls._authentication = _Proving()  # type: ignore[assignment]
            fs._calls.followed(RestRequest("GET", "OPEN", "/a")).close()
    assert heard == [("op", True), ("data", to_itself)]


def test_a_token_in_a_redirection_is_not_in_an_error() -> None:
    head = Head(307, {"location": "ftp://h/webhdfs/v1/a?op=OPEN&delegation=secret"})
    with pytest.raises(errors.ProtocolViolation) as told:
        redirection(head, Place(False, "h", 1))
    assert "secret" not in str(told.value)
    assert "ftp://h/webhdfs/v1/a" in str(told.value)


class _Meeting(_Proving):
    """Wants to know a server before it is asked for a change, and refuses it if `trusts` is not."""

    def __init__(self, trusts: bool) -> None:
        self._trusts = trusts
        self.met: list[int] = []

    def has_to_be_met(self, address: object, proof: object, *, changes: bool) -> bool:
        return changes and not self.met

    def meet(self, address: object, proof: object, status: int, headers: object) -> None:
        self.met.append(status)
        if not self._trusts:
            raise errors.AuthenticationFailed("not it")


@pytest.mark.parametrize("trusts", [True, False])
def test_a_server_is_met_before_it_changes_anything(trusts: bool) -> None:
    asked: list[str] = []

    def handler(request: Request) -> Response:
        asked.append(request.query["op"])
        return TRUE

    with serving(handler) as namenode:
        with WebHdfsFileSystem(namenode, Configuration({}), "bob") as fs:
            meeting = _Meeting(trusts)
            fs._calls._authentication = meeting  # type: ignore[assignment]
            if trusts:
                assert fs.delete("/a")
                assert fs.delete("/a")
            else:
                with pytest.raises(errors.AuthenticationFailed, match="not it"):
                    fs.delete("/a")
    assert meeting.met == [200]
    assert asked == ["GETHOMEDIRECTORY", *(["DELETE"] * 2 if trusts else [])]


class _Disbelieving(_Proving):
    """Takes no answer for one of a server that it knows."""

    def check(self, address: object, proof: object, headers: object) -> None:
        raise errors.AuthenticationFailed("not it")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, errors.AuthenticationFailed),
        (400, errors.AuthenticationFailed),
        (404, errors.AuthenticationFailed),
        (403, errors.AuthorizationFailed),
        (500, errors.RemoteError),
    ],
)
def test_no_file_is_missing_since_a_stranger_says_so(
    status: int, error: type[errors.HowdahError]
) -> None:
    def handler(request: Request) -> Response:
        return answer(status, b"no such file", "text/plain")

    with serving(handler) as namenode:
        with WebHdfsFileSystem(namenode, Configuration({}), "bob") as fs:
            fs._calls._authentication = _Disbelieving()  # type: ignore[assignment]
            with pytest.raises(error):
                fs._calls.send(RestRequest("GET", "GETFILESTATUS", "/a"))
