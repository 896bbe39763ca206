"""The RPC server with a thread a connection: answers, refusals, and what it lets go of."""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.proto import client_datanode_pb2 as pb
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.server_hooks import GoOn
from howdah.protocol.rpc.service import Deferred, Registry, Service, unanswered
from howdah.rpc import threaded_server
from howdah.rpc.client import RpcClient
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.runtime.users.names import ProxyUser
from howdah.runtime.users.service_policy import Speaker
from howdah.testing.waiting import wait_until

PROTOCOL = "test"


class Protocol:
    """`getBalancerBandwidth` in whatever way the test says."""

    def __init__(self) -> None:
        self.answer: Callable[[], Any] = lambda: message(1)
        self.callers: list[str] = []

    def get_balancer_bandwidth(self, request: Any, caller: Any) -> Any:
        self.callers.append(caller.display_name)
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

    def call(self, user: str = "me") -> int:
        client = RpcClient(self.address, PROTOCOL, user=user)
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
        deadline = time.monotonic() + 30
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


def test_an_answer_that_cannot_be_encoded_is_a_defect_and_the_connection_goes_on(
    serve: Callable[..., Served],
) -> None:
    served = serve()
    served.protocol.answer = pb.GetBalancerBandwidthResponseProto  # lacks its required field
    with pytest.raises(errors.RemoteError, match="failed on an internal error"):
        served.call()
    served.protocol.answer = lambda: message(7)
    assert served.call() == 7


def test_a_connection_acts_for_whom_it_may(serve: Callable[..., Served]) -> None:
    asked: list[tuple[str, str, str]] = []
    served = serve(may_act=lambda *whose: asked.append(whose))
    assert served.call(ProxyUser("joe", "hive")) == 1
    assert served.call() == 1
    assert asked == [("hive", "joe", "127.0.0.1")]
    assert served.protocol.callers == [
        "joe (auth:PROXY) via hive (auth:SIMPLE)",
        "me (auth:SIMPLE)",
    ]


@pytest.mark.parametrize("how", ["by its rules", "without rules"])
def test_a_connection_that_may_not_act_for_its_user_ends(
    serve: Callable[..., Served], how: str
) -> None:
    def refuse(real_user: str, user: str, address: str) -> None:
        raise errors.AuthorizationFailed("User: hive is not allowed to impersonate joe")

    served = serve(may_act=refuse if how == "by its rules" else None)
    with pytest.raises(errors.AuthorizationFailed) as caught:
        served.call(ProxyUser("joe", "hive"))
    assert str(caught.value) == "User: hive is not allowed to impersonate joe"
    assert served.protocol.callers == []
    assert served.call() == 1


def test_a_client_that_sends_on_still_reads_why_its_connection_ended(
    serve: Callable[..., Served],
) -> None:
    served = serve()
    with socket.create_connection(served.address, timeout=30) as sock:
        sock.sendall(wire.preamble() + wire.encode_context(PROTOCOL, "joe", bytes(16), "hive"))
        assert b"not allowed to impersonate" in sock.recv(4096)
        # A closed end would reset the connection at the first of these.
        for _ in range(2):
            sock.sendall(b"more")
        assert sock.recv(4096) == b""
    served.wait_idle()


def test_a_client_that_does_not_go_is_left_after_a_moment(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("howdah.rpc.threaded_server.LINGER_S", 0.05)
    served = serve()
    with socket.create_connection(served.address, timeout=30) as sock:
        sock.sendall(b"garbage!" * 10)
        assert sock.recv(1000) == b""
        served.wait_idle()
    assert "connection from 127.0.0.1 ended" in caplog.text
    assert "did not say who is calling" not in caplog.text


def test_a_defect_of_the_rules_refuses(serve: Callable[..., Served]) -> None:
    def break_(real_user: str, user: str, address: str) -> None:
        raise KeyError("oops")

    served = serve(may_act=break_)
    with pytest.raises(errors.HowdahError, match="internal error: KeyError"):
        served.call(ProxyUser("joe", "hive"))
    assert served.call() == 1


def test_garbage_ends_the_connection_with_a_clear_line(
    serve: Callable[..., Served], caplog: pytest.LogCaptureFixture
) -> None:
    served = serve()
    with socket.create_connection(served.address, timeout=30) as sock:
        sock.sendall(b"garbage!" * 10)
        assert sock.recv(1000) == b""
    served.wait_idle()
    assert "connection from 127.0.0.1 ended" in caplog.text


def test_an_http_request_gets_an_answer_that_can_be_read(serve: Callable[..., Served]) -> None:
    with socket.create_connection(serve().address, timeout=30) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"404 Not Found" in sock.recv(1000)


def test_a_frame_that_is_too_long_is_refused_before_it_is_read(
    serve: Callable[..., Served],
) -> None:
    served = serve(max_frame_bytes=1000)
    with socket.create_connection(served.address, timeout=30) as sock:
        sock.sendall(wire.preamble() + (1 << 31).to_bytes(4, "big"))
        assert sock.recv(4096)
        assert sock.recv(4096) == b""
    served.wait_idle()


def test_a_silent_connection_is_let_go(serve: Callable[..., Served]) -> None:
    served = serve(idle_timeout_s=0.05)
    with socket.create_connection(served.address, timeout=30) as sock:
        assert sock.recv(1) == b""
    served.wait_idle()


def connect(served: Served, *sent: bytes) -> socket.socket:
    """A connection that the server has accepted."""
    before = served.server.accepted
    sock = socket.create_connection(served.address, timeout=30)
    for data in sent:
        sock.sendall(data)
    wait_until(lambda: served.server.accepted > before, 30, "it is accepted")
    return sock


def caller(served: Served) -> RpcClient:
    """One whose call was answered, and who keeps its connection."""
    client = RpcClient(served.address, PROTOCOL, user="me")
    assert ask(served, client) == 1
    return client


def ask(served: Served, client: RpcClient) -> int:
    """One call, after which the server waits for the next one."""
    request = pb.GetBalancerBandwidthRequestProto()
    sent_bytes = served.server.figures.sent_bytes
    bandwidth = client.call(
        "getBalancerBandwidth", request, pb.GetBalancerBandwidthResponseProto
    ).bandwidth
    # The server notes when the caller began to be idle, then what it sent.
    wait_until(lambda: served.server.figures.sent_bytes > sent_bytes, 30, "the answer is noted")
    return bandwidth


def test_those_who_only_connect_shut_nobody_out(serve: Callable[..., Served]) -> None:
    """The oldest of them makes room, and whoever has called keeps the connection."""
    served = serve(max_connections=3)
    client = caller(served)
    silent = [connect(served) for _ in range(6)]
    for sock in silent[:4]:
        assert sock.recv(1) == b"", "the oldest ones are closed"
    assert served.server.active == 3
    assert ask(served, client) == 1
    assert served.call() == 1, "a newcomer is served"
    client.close()
    for sock in silent:
        sock.close()


def test_the_caller_that_has_been_idle_for_longest_makes_room(
    serve: Callable[..., Served],
) -> None:
    served = serve(max_connections=2)
    first, second = caller(served), caller(served)
    assert ask(served, first) == 1
    third = caller(served)
    assert ask(served, third) == 1
    wait_until(lambda: served.server.accepted == 3, 30, "the third is counted, too")
    assert ask(served, first) == ask(served, third) == 1
    assert served.server.accepted == 3, "both kept their connections"
    for client in (first, second, third):
        client.close()


def test_nobody_at_work_makes_room(serve: Callable[..., Served]) -> None:
    served = serve(max_connections=1)
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> Any:
        begun.set()
        assert go_on.wait(30)
        return message(6)

    served.protocol.answer = slow
    results: list[int] = []
    at_work = threading.Thread(target=lambda: results.append(served.call()))
    at_work.start()
    assert begun.wait(30)
    with socket.create_connection(served.address, timeout=30) as second:
        assert second.recv(1) == b""
    go_on.set()
    at_work.join(30)
    assert results == [6]


def test_who_does_not_say_who_is_calling_is_let_go_however_busily(
    serve: Callable[..., Served], caplog: pytest.LogCaptureFixture
) -> None:
    served = serve(handshake_timeout_s=0.1)
    with connect(served) as sock, contextlib.suppress(OSError):
        for byte in wire.preamble() + (60_000).to_bytes(4, "big") + bytes(50_000):
            sock.sendall(bytes([byte]))
    assert "did not say who is calling within 0.1 s" in caplog.text


def test_frames_in_part_are_bounded_for_all_connections_together(
    serve: Callable[..., Served],
) -> None:
    """The one that keeps most goes, and the one that works keeps its connection."""
    served = serve(max_frame_bytes=60_000, max_held_bytes=100_000)
    client = caller(served)
    announced = wire.preamble() + (50_000).to_bytes(4, "big")
    small = connect(served, announced, bytes(30_000))
    wait_until(lambda: served.server.held_bytes == 30_004, 30, "the first one's is held")
    large = connect(served, announced, bytes(45_000))
    wait_until(lambda: served.server.held_bytes == 75_008, 30, "the second one's, too")
    third = connect(served, announced, bytes(30_000))
    assert large.recv(1) == b""
    wait_until(lambda: served.server.held_bytes == 60_008, 30, "two are left")
    assert ask(served, client) == 1
    for each in (client, small, large, third):
        each.close()


def test_closing_ends_every_connection_and_thread(serve: Callable[..., Served]) -> None:
    served = serve()
    with socket.create_connection(served.address, timeout=30) as sock:
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
    really = threaded_server._shutdown

    def shutdown(sock: socket.socket, direction: int) -> None:
        really(sock, direction)
        shut_down.set()

    monkeypatch.setattr(threaded_server, "_shutdown", shutdown)

    def close_meanwhile() -> Any:
        closing.start()
        assert shut_down.wait(30)
        return message(5)

    served.protocol.answer = close_meanwhile
    assert served.call() == 5
    closing.join(30)
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


def test_an_accept_that_fails_for_ever_fills_no_log(
    serve: Callable[..., Served],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = serve().server
    failures = 0

    class Refusing:
        def accept(self) -> None:
            nonlocal failures
            failures += 1
            server._closing = failures > 150
            raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        pauses: list[float] = []
        patch.setattr(time, "sleep", pauses.append)
        patch.setattr(server, "_listener", Refusing())
        server._accept()
        server._closing = False
    assert len(pauses) == 150
    lines = [each for each in caplog.messages if "cannot accept an RPC connection: " in each]
    assert len(lines) == 2


def test_a_frame_of_a_megabyte_is_refused_before_it_is_read(serve: Callable[..., Served]) -> None:
    served = serve()
    with socket.create_connection(served.address, timeout=10) as sock:
        sock.sendall(wire.preamble() + (1 << 20).to_bytes(4, "big"))
        while data := sock.recv(1000):
            assert data
    assert served.call() == 1


def test_who_does_not_read_answers_makes_room(serve: Callable[..., Served]) -> None:
    served = serve(max_connections=2)
    client = RpcClient(served.address, PROTOCOL, user="me")
    greeting = wire.preamble() + wire.encode_context(PROTOCOL, "me", b"c" * 16)
    call = wire.encode_call(
        protocol="no.such.protocol",
        method="m",
        request=pb.GetBalancerBandwidthRequestProto(),
        call_id=1,
        client_id=b"c" * 16,
    )
    held = [connect(served, greeting) for _ in range(2)]
    for sock in held:
        sock.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            while True:
                sock.sendall(call * 200)
    assert served.call() == 1
    client.close()
    for sock in held:
        sock.close()


class Lists:
    """Who may speak which protocol: all, but for the users `refused`."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.asked: list[Speaker] = []

    def authorize_protocol(self, speaker: Speaker, done: GoOn) -> None:
        self.asked.append(speaker)
        is_refused = speaker.user in self.refused
        done(errors.AuthorizationFailed(f"not {speaker.user}") if is_refused else None)


def test_a_connection_that_may_not_speak_its_protocol_ends(
    serve: Callable[..., Served],
) -> None:
    lists = Lists()
    lists.refused = {"joe"}
    served = serve(authorization=lists)
    with pytest.raises(errors.AuthorizationFailed, match="not joe"):
        served.call("joe")
    assert served.protocol.callers == []
    assert served.call() == 1
    shown = [(each.protocol, each.shown, each.address) for each in lists.asked]
    assert shown[-1] == (PROTOCOL, "me (auth:SIMPLE)", "127.0.0.1")


def test_open_connections_are_judged_again_when_the_lists_change(
    serve: Callable[..., Served],
) -> None:
    lists = Lists()
    served = serve(authorization=lists)
    client = caller(served)
    try:
        assert [ask(served, client), ask(served, client)] == [1, 1]
        assert len(lists.asked) == 1
        served.server.judge_again()
        assert [ask(served, client), ask(served, client)] == [1, 1]
        assert len(lists.asked) == 2
        lists.refused = {lists.asked[0].user}
        served.server.judge_again()
        with pytest.raises(errors.AuthorizationFailed):
            ask(served, client)
    finally:
        client.close()
