"""Strangers at the namenode's RPC port: clear errors, nothing leaks, nobody else is disturbed."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

import howdah
from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT_ID = b"0123456789abcdef"
FATAL = rpc_pb2.RpcResponseHeaderProto.FATAL


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf={"dfs.replication": 1}) as running:
        yield running


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with cluster.connect() as connected:
        yield connected


def address(cluster: MiniCluster) -> tuple[str, int]:
    host, _, port = cluster.uri.removeprefix("hdfs://").rpartition(":")
    return host, int(port)


@contextmanager
def stranger(cluster: MiniCluster) -> Iterator[socket.socket]:
    with socket.create_connection(address(cluster), timeout=10) as sock:
        yield sock


def introduce(sock: socket.socket) -> None:
    sock.sendall(wire.preamble() + wire.encode_context(PROTOCOL, "root", CLIENT_ID))


def everything(sock: socket.socket) -> bytes:
    """What the server says until it closes; a reset says nothing more."""
    said = b""
    while True:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            return said
        if not piece:
            return said
        said += piece


def frames(data: bytes) -> list[tuple[rpc_pb2.RpcResponseHeaderProto, bytes]]:
    return [wire.decode_answer(payload) for payload in wire.FrameBuffer().feed(data)]


def call(call_id: int, path: str = "/") -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method="getFileInfo",
        request=pb.GetFileInfoRequestProto(src=path),
        call_id=call_id,
        client_id=CLIENT_ID,
    )


def file_descriptors(cluster: MiniCluster) -> int:
    return len(os.listdir(f"/proc/{cluster.process('namenode').pid}/fd"))


def thread_count(cluster: MiniCluster) -> int:
    return len(os.listdir(f"/proc/{cluster.process('namenode').pid}/task"))


def test_wrong_magic_is_hung_up_on(cluster: MiniCluster) -> None:
    with stranger(cluster) as sock:
        sock.sendall(b"kafka!!" + b"\0" * 20)
        assert everything(sock) == b""


def test_wrong_version_is_told_both_versions(cluster: MiniCluster) -> None:
    with stranger(cluster) as sock:
        sock.sendall(b"hrpc\x07\x00\x00")
        ((header, _),) = frames(everything(sock))
    assert header.status == FATAL
    assert header.exceptionClassName == "org.apache.hadoop.ipc.RPC$VersionMismatch"
    assert "version 9" in header.errorMsg
    assert "version 7" in header.errorMsg


def test_an_http_request_gets_an_answer_that_a_person_can_read(cluster: MiniCluster) -> None:
    with stranger(cluster) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: namenode\r\n\r\n")
        said = everything(sock)
    assert said.startswith(b"HTTP/1.1 404 ")
    assert b"not HTTP" in said


def test_a_frame_of_two_gigabytes_is_refused_when_it_is_announced(cluster: MiniCluster) -> None:
    with stranger(cluster) as sock:
        introduce(sock)
        sock.sendall(struct.pack(">I", (1 << 31) - 1) + b"x" * 100)
        ((header, _),) = frames(everything(sock))
    assert header.status == FATAL
    assert "ipc.maximum.data.length" in header.errorMsg


def test_garbage_in_mid_stream_ends_that_connection_after_its_good_calls(
    cluster: MiniCluster,
) -> None:
    with stranger(cluster) as sock:
        introduce(sock)
        sock.sendall(call(1) + call(2) + struct.pack(">I", 64) + b"\xff" * 64)
        answers = frames(everything(sock))
    assert [header.callId for header, _ in answers[:2]] == [1, 2]
    assert answers[-1][0].status == FATAL


@pytest.mark.parametrize("cut", [1, 3, 8, 20])
def test_a_call_that_is_cut_off_is_never_served(cluster: MiniCluster, cut: int) -> None:
    with stranger(cluster) as sock:
        introduce(sock)
        sock.sendall(call(1)[:-cut])
        sock.shutdown(socket.SHUT_WR)
        assert everything(sock) == b""


def test_an_unknown_method_is_refused_in_hadoops_words_and_the_connection_lives(
    cluster: MiniCluster,
) -> None:
    with stranger(cluster) as sock:
        introduce(sock)
        unknown = wire.encode_call(
            protocol=PROTOCOL,
            method="getRich",
            request=pb.GetFileInfoRequestProto(src="/"),
            call_id=5,
            client_id=CLIENT_ID,
        )
        sock.sendall(unknown + call(6))
        sock.shutdown(socket.SHUT_WR)
        (refused, _), (served, _) = frames(everything(sock))
    assert refused.exceptionClassName == "org.apache.hadoop.ipc.RpcNoSuchMethodException"
    assert refused.errorMsg == f"Unknown method getRich called on {PROTOCOL} protocol."
    assert (served.callId, served.status) == (6, rpc_pb2.RpcResponseHeaderProto.SUCCESS)


def test_an_unknown_protocol_is_refused_in_hadoops_words(cluster: MiniCluster) -> None:
    with stranger(cluster) as sock:
        introduce(sock)
        sock.sendall(
            wire.encode_call(
                protocol="org.example.Unknown",
                method="getFileInfo",
                request=pb.GetFileInfoRequestProto(src="/"),
                call_id=7,
                client_id=CLIENT_ID,
            )
        )
        sock.shutdown(socket.SHUT_WR)
        ((header, _),) = frames(everything(sock))
    assert header.exceptionClassName == "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
    assert header.errorMsg == "Unknown protocol: org.example.Unknown"


def test_a_client_of_one_byte_at_a_time_is_served_and_disturbs_nobody(
    cluster: MiniCluster, fs: howdah.FileSystem
) -> None:
    with stranger(cluster) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        whole = wire.preamble() + wire.encode_context(PROTOCOL, "root", CLIENT_ID) + call(9)
        for position in range(len(whole)):
            sock.sendall(whole[position : position + 1])
            assert fs.exists("/")
        answer = sock.recv(65536)
    ((header, _),) = frames(answer)
    assert (header.callId, header.status) == (9, rpc_pb2.RpcResponseHeaderProto.SUCCESS)


def test_five_hundred_idle_connections_cost_a_descriptor_each_and_nothing_stays(
    cluster: MiniCluster, fs: howdah.FileSystem
) -> None:
    fs.exists("/")
    descriptors, threads = file_descriptors(cluster), thread_count(cluster)
    with ExitStack() as stack:
        for number in range(500):
            sock = stack.enter_context(stranger(cluster))
            if number % 2:
                introduce(sock)
        wait_until(lambda: file_descriptors(cluster) >= descriptors + 500, timeout_s=20)
        assert thread_count(cluster) == threads
        fs.mkdirs("/while/500/wait")
        assert fs.exists("/while/500/wait")
    wait_until(lambda: file_descriptors(cluster) <= descriptors + 2, timeout_s=20)


ODD_NAMES = [
    "plain",
    "with space",
    "100%",
    "%20",
    "a+b&c=d?e#f",
    "quote'and\"double",
    "back\\slash",
    "tab\tnew\nline\rreturn",
    "\x01\x02\x7f",
    "ümläut",
    "e\u0301",
    "日本語",
    "🐘",
    "\u202eright-to-left",
    "*?[a]{b,c}",
    "-dash",
    "~",
    "...",
    ".hidden",
    "x" * 255,
    "ü" * 127,
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_name_of_odd_characters_comes_back_as_it_was_given(
    fs: howdah.FileSystem, name: str
) -> None:
    path = f"/odd/{name}"
    with fs.create(path) as out:
        out.write(name.encode())
    assert path in [status.path for status in fs.list_status("/odd")]
    with fs.open(path) as stream:
        assert stream.read() == name.encode()
    fs.mkdirs("/renamed")
    fs.rename(path, f"/renamed/{name}")
    assert not fs.exists(path)


def test_odd_names_are_there_after_a_kill(cluster: MiniCluster) -> None:
    with cluster.connect() as fs:
        for name in ODD_NAMES:
            fs.mkdirs(f"/kept/{name}")
    cluster.kill("namenode")
    cluster.restart("namenode")
    with cluster.connect() as fs:
        assert sorted(status.path for status in fs.list_status("/kept")) == sorted(
            f"/kept/{name}" for name in ODD_NAMES
        )


@pytest.mark.parametrize("name", ["x" * 256, "ü" * 128])
def test_a_component_beyond_the_limit_is_refused_by_its_length(
    fs: howdah.FileSystem, name: str
) -> None:
    with pytest.raises(errors.PathComponentTooLong, match="limit=255 length=256"):
        fs.mkdirs(f"/odd/{name}")
    assert not fs.exists(f"/odd/{name}")


def test_a_path_of_eight_thousand_characters_is_taken_and_a_longer_one_refused(
    fs: howdah.FileSystem,
) -> None:
    longest = ("/" + "d" * 79) * 100
    assert len(longest) == 8000
    assert fs.mkdirs(longest)
    assert fs.get_file_status(longest).is_directory
    with pytest.raises(errors.HowdahError, match="Limit 8000 characters"):
        fs.mkdirs(longest + "/e")


def test_a_path_of_too_many_levels_is_refused(fs: howdah.FileSystem) -> None:
    with pytest.raises(errors.HowdahError, match="1000 levels"):
        fs.mkdirs("/a" * 1001)


@pytest.mark.parametrize("name", ["a:b", ".."])
def test_a_name_that_no_file_can_have_is_refused(cluster: MiniCluster, name: str) -> None:
    """Asked of the server itself: a client may resolve such names before it asks."""
    request = pb.MkdirsRequestProto(src=f"/odd/{name}/x", createParent=True)
    request.masked.perm = 0o755
    with stranger(cluster) as sock:
        introduce(sock)
        sock.sendall(
            wire.encode_call(
                protocol=PROTOCOL,
                method="mkdirs",
                request=request,
                call_id=3,
                client_id=CLIENT_ID,
            )
        )
        sock.shutdown(socket.SHUT_WR)
        ((header, _),) = frames(everything(sock))
    assert header.exceptionClassName == "org.apache.hadoop.fs.InvalidPathException"
    assert name in header.errorMsg


def test_somebody_else_may_not_write_where_the_mode_forbids_it(
    cluster: MiniCluster, fs: howdah.FileSystem
) -> None:
    fs.mkdirs("/private", 0o755)
    with cluster.connect("mallory") as other:
        with pytest.raises(errors.AccessDenied, match="user=mallory, access=WRITE") as caught:
            other.create("/private/x")
        assert isinstance(caught.value, PermissionError)
        with pytest.raises(errors.AccessDenied):
            other.delete("/private", recursive=True)
