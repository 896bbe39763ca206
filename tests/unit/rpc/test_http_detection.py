"""What a user is told whose address is not that of an RPC server."""

from __future__ import annotations

import errno
import http.server
import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.calls import SingleNamenode
from howdah.proto import client_datanode_pb2 as dn
from howdah.proto import client_namenode_pb2 as nn
from howdah.protocol.rpc.retry import RetryPolicy
from howdah.protocol.rpc.session import Reply, ServerSession
from howdah.rpc import wait_notices
from howdah.rpc.client import RpcClient
from howdah.rpc.connection import Connection, NotAccepted, Refused
from howdah.rpc.http_detection import NotAnRpcServer, by_asking

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
DATANODE_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"


def call(address: tuple[str, int], **settings: Any) -> None:
    RpcClient(address, PROTOCOL, user="anna", **settings).call(
        "getFileInfo", nn.GetFileInfoRequestProto(src="/"), nn.GetFileInfoResponseProto
    )


class Page(http.server.BaseHTTPRequestHandler):
    """A web server as most are: says at once that a call is no request."""

    bean: object = {"HostAndPort": "nn.example:8020"}

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        body = json.dumps({"beans": [self.bean]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[tuple[str, int]]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield ("127.0.0.1", server.server_address[1])
        server.shutdown()


class Once:
    """A server that does one thing with every connection."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                connection.sendall(self._answer_to(connection.recv(7)))

    def _answer_to(self, asked: bytes) -> bytes:
        return self._answer

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def once() -> Iterator[type[Once]]:
    with ExitStack() as stack:

        class Closed(Once):
            def __init__(self, answer: bytes) -> None:
                super().__init__(answer)
                stack.callback(self.close)

        yield Closed


def test_the_web_port_is_named_with_the_rpc_port_behind_it(web: tuple[str, int]) -> None:
    with pytest.raises(NotAnRpcServer) as raised:
        call(web)
    assert str(raised.value) == (
        f"an HTTP server answers at 127.0.0.1:{web[1]}: is this the web port? "
        "The RPC port is that of hdfs://nn.example:8020"
    )


@pytest.mark.parametrize(
    "bean",
    [{}, [], None, {"HostAndPort": 3}, {"HostAndPort": "\x1b[31m:1"}, {"HostAndPort": "x" * 9999}],
)
def test_a_web_server_that_says_nothing_of_use_is_not_believed(
    web: tuple[str, int], bean: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Page, "bean", bean)
    with pytest.raises(NotAnRpcServer, match=r"is this the web port\? The RPC port .* 8020 by"):
        call(web)


def test_a_wrong_port_is_not_tried_again(web: tuple[str, int]) -> None:
    namenode = NamenodeProxy(
        SingleNamenode(RpcClient(web, PROTOCOL), RetryPolicy(connect_delay_s=3600))
    )
    with pytest.raises(NotAnRpcServer):
        namenode.delete("/f", recursive=False)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "what does began with b'SSH-2.0-OpenSSH_9.6"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "a TLS server answers"),
    ],
)
def test_what_else_answers_is_said(once: type[Once], answer: bytes, said: str) -> None:
    with pytest.raises(NotAnRpcServer, match=said):
        call(once(answer).address)


def test_a_server_that_never_answers_calls_gets_a_hint_once(once: type[Once]) -> None:
    """As a datanode's data port does."""
    server = once(b"")
    client = RpcClient(server.address, PROTOCOL)
    said = []
    for _ in range(2):
        with pytest.raises(errors.Unreachable) as raised:
            client.call(
                "getFileInfo", nn.GetFileInfoRequestProto(src="/"), nn.GetFileInfoResponseProto
            )
        said.append(str(raised.value))
    assert said[0].endswith("(is this the RPC port? fs.defaultFS names it)")
    assert "RPC port" not in said[1]


def test_what_answers_as_a_datanode_by_chance_is_not_called_one(once: type[Once]) -> None:
    """Two bytes that are a message, and tell nothing."""
    server = once(b"\x02\x08\x00")
    assert by_asking(server.address) is None


HADOOPS_HTTP_ANSWER = (
    b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n"
    b"It looks like you are making an HTTP request to a Hadoop IPC port. "
    b"This is not the correct port for the web interface on this daemon.\r\n"
)


def our_http_answer() -> bytes:
    (said, _) = ServerSession(1 << 20).receive(b"HEAD / HTTP/1.1\r\n\r\n")
    assert isinstance(said, Reply)
    return said.data


class Ending(Once):
    """An RPC server that ends each connection, as one does that is about to stop."""

    def _answer_to(self, asked: bytes) -> bytes:
        return self._answer if asked.startswith((b"GET ", b"HEAD ")) else b""


@pytest.mark.parametrize("said", [HADOOPS_HTTP_ANSWER, our_http_answer()], ids=["hadoop", "ours"])
def test_an_rpc_server_that_ends_a_connection_is_not_taken_for_a_web_server(said: bytes) -> None:
    """It answers in HTTP when it is asked in HTTP; the call may be made again all the same."""
    server = Ending(said)
    try:
        with pytest.raises(errors.Unreachable, match="ended the connection"):
            call(server.address)
    finally:
        server.close()


def test_a_refusal_has_its_number_and_pythons_type() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    with pytest.raises(ConnectionRefusedError, match="is the namenode up, and is") as raised:
        call(address)
    assert isinstance(raised.value, Refused)
    assert raised.value.errno == errno.ECONNREFUSED


def test_a_refusal_names_the_server_that_should_be_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    client = RpcClient(address, DATANODE_PROTOCOL, user="anna")
    with pytest.raises(Refused, match=r"is the datanode up, and is this its IPC port\?"):
        client.call(
            "getDatanodeInfo", dn.GetDatanodeInfoRequestProto(), dn.GetDatanodeInfoResponseProto
        )


def test_silence_has_its_number_and_pythons_type() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as fillers:
        for _ in range(2):
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        with pytest.raises(NotAccepted, match="did not accept a connection") as raised:
            call(listener.getsockname(), connect_timeout_s=0.05)
    assert isinstance(raised.value, TimeoutError)
    assert raised.value.errno == errno.ETIMEDOUT


# --- what a person at a terminal sees ---------------------------------------------------------


def test_retries_are_told_to_a_terminal_and_to_nobody_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    namenode = NamenodeProxy(
        SingleNamenode(RpcClient(address, PROTOCOL), RetryPolicy(5, connect_delay_s=0))
    )
    with pytest.raises(errors.Unreachable):
        namenode.delete("/f", recursive=False)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: True)
    with pytest.raises(errors.Unreachable):
        namenode.delete("/f", recursive=False)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3, "after the first, second and fourth attempt"
    assert all(f"127.0.0.1:{address[1]}" in each and "trying again" in each for each in lines)


def test_a_long_wait_is_told_while_it_lasts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: True)
    monkeypatch.setattr(wait_notices, "FIRST_NOTICE_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with pytest.raises(errors.CallTimeout):
            call(listener.getsockname(), call_timeout_s=0.5)
    assert "has not answered getFileInfo yet; waiting for up to 0.5 s" in capsys.readouterr().err


def test_a_quick_answer_is_not_commented(capsys: pytest.CaptureFixture[str]) -> None:
    with wait_notices.Notice("slow", 3600):
        pass
    assert capsys.readouterr().err == ""


# --- a word to those who wait, where there is no terminal ---


@pytest.fixture
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: False)
    monkeypatch.setattr(wait_notices, "FIRST_NOTICE_S", 0.01)


def test_retries_are_warned_of_where_there_is_no_terminal(
    no_terminal: None, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    namenode = NamenodeProxy(
        SingleNamenode(RpcClient(address, PROTOCOL), RetryPolicy(5, connect_delay_s=0.001))
    )
    with pytest.raises(errors.Unreachable):
        namenode.delete("/f", recursive=False)
    said = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(said) == 3, "after the first, second and fourth attempt"
    assert all("trying again, for up to 0.005 s in all" in each for each in said)


@pytest.mark.parametrize("kept", [False, True])
def test_a_server_that_says_nothing_is_warned_of_while_it_is_waited_for(
    no_terminal: None, caplog: pytest.LogCaptureFixture, kept: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = RpcClient(listener.getsockname(), PROTOCOL, user="anna", call_timeout_s=0.3)
        if kept:
            with pytest.raises(errors.CallTimeout):
                ask(client)
            caplog.clear()
            # As one that was used before: nobody connects any more.
            client._pool.get().give_back(
                Connection(listener.getsockname(), PROTOCOL, "anna", client.client_id, 1)
            )
        with pytest.raises(errors.CallTimeout):
            ask(client)
    (said,) = (each.getMessage() for each in caplog.records if each.levelname == "WARNING")
    assert said.endswith("has not answered getFileInfo yet; waiting for up to 0.3 s")


def ask(client: RpcClient) -> None:
    client.call("getFileInfo", nn.GetFileInfoRequestProto(src="/"), nn.GetFileInfoResponseProto)


def test_a_server_says_no_such_words(no_terminal: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, wait_notices.__name__)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with pytest.raises(errors.CallTimeout):
            call(listener.getsockname(), call_timeout_s=0.1)
    assert not caplog.records


# --- a filesystem that is closed ---


@pytest.mark.parametrize("retries", [0, 10])
def test_a_call_on_a_closed_client_is_refused_at_once(
    retries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(seconds: float) -> None:
        raise AssertionError("it is not tried again")

    monkeypatch.setattr("howdah.client.namenodes.calls.time.sleep", sleep)
    calls = SingleNamenode(RpcClient(("127.0.0.1", 1), PROTOCOL), RetryPolicy(retries))
    calls.close()
    with pytest.raises(errors.FilesystemClosed, match="Filesystem closed") as raised:
        NamenodeProxy(calls).delete("/f", recursive=False)
    assert isinstance(raised.value, ValueError)
    assert raised.value.errno == errno.EBADF
