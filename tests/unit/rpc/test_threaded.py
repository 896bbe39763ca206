"""The RPC server with a thread a connection: answers, refusals, and what it lets go of."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.proto import client_datanode_pb2 as pb
from howdah.rpc import threaded, wire
from howdah.rpc.client import RpcClient
from howdah.rpc.service import Deferred, Registry, Service, unanswered
from howdah.rpc.threaded import ThreadedRpcServer

PROTOCOL = "test"


class Protocol:
    """`getBalancerBandwidth` in whatever way the test says."""

    def __init__(self) -> None:
        self.answer: Callable[[], Any] = lambda: message(1)

    def get_balancer_bandwidth(self, request: Any, caller: Any) -> Any:
        return self.answer()


def message(bandwidth: int) -> pb.GetBalancerBandwidthResponseProto:
    return pb.GetBalancerBandwidthResponseProto(bandwidth=bandwidth)


class Served:
    def __init__(self, **options: Any) -> None:
        self.protocol = Protocol()
        descriptor = pb.DESCRIPTOR.services_by_name["ClientDatanodeProtocolService"]
        rest = unanswered(descriptor, self.protocol)
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        registry = Registry(
            [
                Service(
                    PROTOCOL,
                    1,
                    descriptor,
                    self.protocol,
                    refused=rest,
                )
            ]
        )
        self.server = ThreadedRpcServer(listener, registry, **options)
        self.server.start()

    def call(self) -> int:
        client = RpcClient(self.address, PROTOCOL, user="me")
        try:
            answer = client.call(
                "getBalancerBandwidth",
                pb.GetBalancerBandwidthRequestProto(),
                pb.GetBalancerBandwidthResponseProto,
            )
            return answer.bandwidth
        finally:
            client.close()

    def wait_idle(self) -> None:
        deadline = time.monotonic() + 5
        while self.server.active:
            assert time.monotonic() < deadline, "connections are left"
            time.sleep(0.002)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    running: list[Served] = []

    def make(**options: Any) -> Served:
        running.append(Served(**options))
        return running[-1]

    yield make
    for served in running:
        served.server.close()


def test_a_call_is_answered(serve: Callable[..., Served]) -> None:
    assert serve().call() == 1


def test_an_answer_in_slices_is_run_to_its_end(serve: Callable[..., Served]) -> None:
    served = serve()

    def slices() -> Any:
        yield
        yield
        return message(3)

    served.protocol.answer = slices
    assert served.call() == 3


@pytest.mark.parametrize("early", [True, False])
def test_an_answer_that_comes_later_is_waited_for(
    serve: Callable[..., Served], early: bool
) -> None:
    served = serve()

    def deferred() -> Deferred:
        answer = Deferred()
        if early:
            answer.settle(message(4))
        else:
            threading.Timer(0.02, answer.settle, (message(4),)).start()
        return answer

    served.protocol.answer = deferred
    assert served.call() == 4


def test_an_answer_that_fails_later_is_an_error(serve: Callable[..., Served]) -> None:
    served = serve()

    def deferred() -> Deferred:
        answer = Deferred()
        answer.settle(errors.PathNotFound("gone"))
        return answer

    served.protocol.answer = deferred
    with pytest.raises(errors.PathNotFound, match="gone"):
        served.call()


def test_an_error_travels_as_it_is(serve: Callable[..., Served]) -> None:
    served = serve()

    def refuse() -> Any:
        raise errors.SafeMode("not yet")

    served.protocol.answer = refuse
    with pytest.raises(errors.SafeMode, match="not yet"):
        served.call()


def test_a_defect_is_told_and_the_server_goes_on(
    serve: Callable[..., Served], caplog: pytest.LogCaptureFixture
) -> None:
    served = serve()

    def break_() -> Any:
        raise KeyError("oops")

    served.protocol.answer = break_
    with pytest.raises(errors.HowdahError, match="internal error: KeyError"):
        served.call()
    assert "failed on a defect" in caplog.text
    served.protocol.answer = lambda: message(5)
    assert served.call() == 5


def test_garbage_ends_the_connection_with_a_clear_line(
    serve: Callable[..., Served], caplog: pytest.LogCaptureFixture
) -> None:
    served = serve()
    with socket.create_connection(served.address, timeout=5) as sock:
        sock.sendall(b"garbage!" * 10)
        assert sock.recv(1000) == b""
    served.wait_idle()
    assert "connection from 127.0.0.1 ended" in caplog.text


def test_an_http_request_gets_an_answer_that_can_be_read(serve: Callable[..., Served]) -> None:
    with socket.create_connection(serve().address, timeout=5) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"404 Not Found" in sock.recv(1000)


def test_a_frame_that_is_too_long_is_refused_before_it_is_read(
    serve: Callable[..., Served],
) -> None:
    served = serve(max_frame_bytes=1000)
    with socket.create_connection(served.address, timeout=5) as sock:
        sock.sendall(wire.preamble() + (1 << 31).to_bytes(4, "big"))
        assert sock.recv(4096)
        assert sock.recv(4096) == b""
    served.wait_idle()


def test_a_silent_connection_is_let_go(serve: Callable[..., Served]) -> None:
    served = serve(idle_timeout_s=0.05)
    with socket.create_connection(served.address, timeout=5) as sock:
        assert sock.recv(1) == b""
    served.wait_idle()


def test_connections_over_the_limit_are_refused(serve: Callable[..., Served]) -> None:
    served = serve(max_connections=1)
    with socket.create_connection(served.address):
        deadline = time.monotonic() + 5
        while not served.server.active:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        with socket.create_connection(served.address, timeout=5) as second:
            assert second.recv(1) == b""
    served.wait_idle()
    assert served.call() == 1


def test_closing_ends_every_connection_and_thread(serve: Callable[..., Served]) -> None:
    served = serve()
    with socket.create_connection(served.address, timeout=5) as sock:
        served.call()
        served.server.close()
        assert sock.recv(1) == b""
    assert served.server.active == 0


def test_a_call_that_makes_the_server_close_is_answered(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    closing = threading.Thread(target=served.server.close)
    shut_down = threading.Event()
    really = threaded._shutdown

    def shutdown(sock: socket.socket, direction: int) -> None:
        really(sock, direction)
        shut_down.set()

    monkeypatch.setattr(threaded, "_shutdown", shutdown)

    def close_meanwhile() -> Any:
        closing.start()
        assert shut_down.wait(5)
        return message(5)

    served.protocol.answer = close_meanwhile
    assert served.call() == 5
    closing.join(5)
    assert not closing.is_alive()


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_a_connection_that_gets_no_thread_is_closed_and_the_next_is_served(
    serve: Callable[..., Served],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    served = serve()

    def start(thread: threading.Thread) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with socket.create_connection(served.address, timeout=10) as refused:
            assert refused.recv(1) == b""
    assert served.server.active == 0
    assert "is closed" in caplog.text
    assert served.call() == 1


def test_a_frame_of_a_megabyte_is_refused_before_it_is_read(serve: Callable[..., Served]) -> None:
    served = serve()
    with socket.create_connection(served.address, timeout=10) as sock:
        sock.sendall(wire.preamble() + (1 << 20).to_bytes(4, "big"))
        while data := sock.recv(1000):
            assert data
    assert served.call() == 1
