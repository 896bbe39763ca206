"""A load of RPCs: callers over real connections, each with one call in flight.

Every frame is encoded before the clock starts, so that a call costs the load one
`send` and one `recv`. The callers are dealt out to processes, one fewer than there
are cores (one at least): the server has a core for itself. Answers are kept and
looked at when the clock has stopped; one error fails the whole run.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from google.protobuf.message import Message

from howdah.proto import rpc_pb2
from howdah.protocol.call_ids import CLIENT_ID_BYTES
from howdah.protocol.rpc import wire

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
USER = os.environ.get("HADOOP_USER_NAME") or os.environ.get("USER") or "root"
_LENGTH = struct.Struct(">I")
_RECEIVE_BYTES = 256 * 1024
_TIMEOUT_S = 120.0

Request = tuple[str, Message]
"""The name of a method, and what it is asked."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a load took: `load_cpu_s` is what the load itself used, of `wall_s` a process."""

    calls: int
    wall_s: float
    load_cpu_s: float


class LoadFailed(RuntimeError):
    """A call was answered with an error, or not at all."""


class Caller:
    """One connection and the calls it will make, in order."""

    def __init__(self, address: tuple[str, int], requests: Sequence[Request]) -> None:
        client_id = os.urandom(CLIENT_ID_BYTES)
        self.frames = [
            wire.encode_call(
                protocol=PROTOCOL,
                method=method,
                request=request,
                call_id=number,
                client_id=client_id,
            )
            for number, (method, request) in enumerate(requests)
        ]
        self.answers: list[bytes] = []
        self._next = 0
        self._unread = b""
        self.socket = socket.create_connection(address, _TIMEOUT_S)
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(wire.preamble() + wire.encode_context(PROTOCOL, USER, client_id))

    def call(self) -> bool:
        """Send the next call; False when there is none."""
        if self._next == len(self.frames):
            return False
        self.socket.sendall(self.frames[self._next])
        self._next += 1
        return True

    def receive(self) -> bool:
        """Take what has come; True when it is a whole answer."""
        data = self.socket.recv(_RECEIVE_BYTES)
        if not data:
            raise LoadFailed("the server closed a connection")
        if self._unread:
            data = self._unread + data
        if len(data) < 4 or len(data) < 4 + _LENGTH.unpack_from(data)[0]:
            self._unread = data
            return False
        self._unread = b""
        self.answers.append(data)
        return True

    def check(self) -> None:
        """Every call was answered, in order and without an error."""
        if len(self.answers) != len(self.frames):
            raise LoadFailed(f"{len(self.frames)} calls had {len(self.answers)} answers")
        for number, answer in enumerate(self.answers):
            header, _ = wire.decode_answer(answer[4:])
            if header.status != rpc_pb2.RpcResponseHeaderProto.SUCCESS:
                raise LoadFailed(f"{header.exceptionClassName}: {header.errorMsg}")
            if header.callId != number:
                raise LoadFailed(f"call {number} had the answer of call {header.callId}")


def run_load(address: tuple[str, int], callers: Sequence[Sequence[Request]]) -> Run:
    """Make all calls, `callers[n]` those of one connection, as fast as they are answered."""
    processes = max(1, min(len(callers), (os.cpu_count() or 1) - 1))
    context = multiprocessing.get_context("fork")
    pipes = []
    children = []
    for number in range(processes):
        ours, theirs = context.Pipe()
        child = context.Process(
            target=_work, args=(theirs, address, callers[number::processes]), daemon=True
        )
        child.start()
        theirs.close()
        pipes.append(ours)
        children.append(child)
    try:
        _collect(pipes)  # all are connected
        for pipe in pipes:
            pipe.send("go")
        found = _collect(pipes)
    finally:
        for child in children:
            child.kill()
            child.join()
    return Run(
        calls=sum(map(len, callers)),
        wall_s=max(stop for _, stop, _ in found) - min(start for start, _, _ in found),
        load_cpu_s=sum(cpu for _, _, cpu in found),
    )


def _collect(pipes: Sequence[Connection]) -> list[tuple[float, float, float]]:
    found = []
    for pipe in pipes:
        if not pipe.poll(_TIMEOUT_S):
            raise LoadFailed(f"a load did not end within {_TIMEOUT_S:g} s")
        try:
            said = pipe.recv()
        except EOFError:
            raise LoadFailed("a process of the load died") from None
        if isinstance(said, str):
            raise LoadFailed(said)
        found.append(said)
    return found


def _work(
    pipe: Connection, address: tuple[str, int], requests: Sequence[Sequence[Request]]
) -> None:
    try:
        callers = [Caller(address, own) for own in requests]
        pipe.send((0.0, 0.0, 0.0))
        pipe.recv()
        cpu_s = time.process_time()
        start_s = time.monotonic()
        _serve(callers)
        stop_s = time.monotonic()
        cpu_s = time.process_time() - cpu_s
        for caller in callers:
            caller.check()
    except (OSError, LoadFailed) as error:
        pipe.send(f"the load failed: {error}")
    else:
        pipe.send((start_s, stop_s, cpu_s))


def _serve(callers: Sequence[Caller]) -> None:
    if len(callers) == 1:
        caller = callers[0]
        while caller.call():
            while not caller.receive():
                continue
        return
    poll = select.epoll() if hasattr(select, "epoll") else select.poll()
    by_descriptor = {caller.socket.fileno(): caller for caller in callers}
    working = 0
    for descriptor, caller in by_descriptor.items():
        poll.register(descriptor, select.POLLIN)
        working += caller.call()
    while working:
        for descriptor, _ in poll.poll():
            caller = by_descriptor[descriptor]
            if caller.receive() and not caller.call():
                working -= 1
