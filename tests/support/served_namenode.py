"""A namenode in memory behind the RPC server's connections: frames in, answers out.

No socket, no disk and no second thread. What a turn of the loop commits is durable at its end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.message import Message

from howdah.namenode.service.ha.categories import CategoryGate
from howdah.namenode.service.ha.durability_barrier import DurableBarrier
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.namenode.service.protocols.client import ClientProtocol
from howdah.namenode.service.protocols.datanodes.protocol import DatanodeProtocol
from howdah.protocol.call_ids import CLIENT_ID_BYTES
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.service import Registry
from howdah.rpc.server import Arrival, Port, RpcServer
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode


class CallFailed(Exception):
    """A call was answered with an error, or not at all."""


class Transport(asyncio.Transport):
    """Takes what the server sends."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self.sent: list[bytes] = []
        self.protocol: Any = None

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str, default: object = None) -> object:
        return (self._address, 40000) if name == "peername" else default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return False


class DurableLog:
    """A log that is durable whenever it is asked."""

    def __init__(self, last_txid: int) -> None:
        self.last_txid = self.durable_txid = last_txid
        self.written_bytes = 0
        self.sends = False

    def poll_durable(self) -> int:
        return self.durable_txid

    def want(self, txid: int) -> bool:
        return False

    def answer(self, *answer: object) -> int:
        return 0

    def returned(self, txid: int) -> Sequence[tuple[Callable[[bytes], object], bytes]]:
        return ()

    def append(self, records: Sequence[bytes], *, now: bool) -> bool:
        self.written_bytes += len(b"".join(records))
        self.last_txid += len(records)
        return False


class Caller:
    """A client's connection, and what came back on it."""

    def __init__(self, port: Port, protocol: str, address: str = "10.9.9.9") -> None:
        self.client_id = os.urandom(CLIENT_ID_BYTES)
        self.transport = Transport(address)
        Arrival(port).connection_made(self.transport)
        self.feed: Callable[[bytes], None] = self.transport.protocol.data_received
        self.feed(wire.preamble() + wire.encode_context(protocol, SUPERUSER, self.client_id))
        self.protocol = protocol

    def frame(self, method: str, request: Message, call_id: int) -> bytes:
        return wire.encode_call(
            protocol=self.protocol,
            method=method,
            request=request,
            call_id=call_id,
            client_id=self.client_id,
        )

    def answers(self, expected: int) -> list[bytes]:
        """The bodies of the answers since the last call. Raises CallFailed unless there are as
        many as `expected`, none of them an error."""
        data, self.transport.sent = b"".join(self.transport.sent), []
        found = []
        for payload in wire.FrameBuffer().feed(data):
            header, body = wire.decode_answer(payload)
            if header.status:
                raise CallFailed(f"{header.exceptionClassName}: {header.errorMsg}")
            found.append(body)
        if len(found) != expected:
            raise CallFailed(f"{expected} calls had {len(found)} answers")
        return found


class ServedNamenode:
    """The namenode, its datanodes and its server."""

    def __init__(self, datanodes: int = 3) -> None:
        self.namenode = InMemoryNamenode()
        self.nodes = [self.namenode.join(f"dn{number}") for number in range(datanodes)]
        namesystem = self.namenode.namesystem
        self.turn: list[Callable[[], None]] = []
        self.barrier = DurableBarrier(namesystem, self.turn.append)
        self.log = self.barrier.log = DurableLog(namesystem.last_txid)
        context = HAContext(lambda: 0)
        context.enter(HAState.ACTIVE)
        registry = Registry(
            [self.namenode.client.service(), self.namenode.datanode.service()],
            CategoryGate(context),
            is_open=lambda: context.is_active,
        )
        self._port = Port(RpcServer(registry, barrier=self.barrier))

    def client(self) -> Caller:
        return Caller(self._port, ClientProtocol.PROTOCOL)

    def datanode(self, number: int) -> Caller:
        address = self.nodes[number].ip
        return Caller(self._port, DatanodeProtocol.PROTOCOL, address)

    def end_turn(self) -> None:
        """The loop has served all that it found ready, and the log is durable."""
        turn, self.turn[:] = list(self.turn), []
        for act in turn:
            act()
        self.barrier.durable(self.log.last_txid)
