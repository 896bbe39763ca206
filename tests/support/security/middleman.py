"""Somebody between a client and an RPC server who changes what the server says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.negotiation import decode_sasl
from howdah.protocol.varint import delimited

Sasl = rpc_pb2.RpcSaslProto
Tamper = Callable[["Heard"], Sequence[bytes]]
"""Returns the frames that the client gets in place of the last one that was heard, with their
lengths."""


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def sasl_frame(message: rpc_pb2.RpcSaslProto) -> bytes:
    """A message of SASL as Hadoop's servers send it."""
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=wire.CALL_ID_SASL & 0xFFFFFFFF, status=rpc_pb2.RpcResponseHeaderProto.SUCCESS
    )
    return framed(delimited(header) + delimited(message))


class Heard:
    """What the server has said on one connection: payloads of frames."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []

    @property
    def last(self) -> bytes:
        return self.payloads[-1]

    @property
    def message(self) -> rpc_pb2.RpcSaslProto:
        """The last one as a message of SASL."""
        return decode_sasl(self.last)

    @property
    def wraps(self) -> list[bytes]:
        """Those that are wrapped."""
        found = []
        for payload in self.payloads:
            header, _ = wire.decode_answer(payload)
            is_sasl = header.callId == wire.CALL_ID_SASL & 0xFFFFFFFF
            if is_sasl and decode_sasl(payload).state == Sasl.WRAP:
                found.append(payload)
        return found


@contextmanager
def between(server: tuple[str, int], tamper: Tamper) -> Iterator[int]:
    """The port of loopback at which clients meet him."""
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = [listener]

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                upstream = socket.create_connection(server)
                ends.extend((client, upstream))
                for act, way in ((_copy, (client, upstream)), (_change, (upstream, client))):
                    threading.Thread(target=act, args=way, daemon=True).start()

    def _change(source: socket.socket, target: socket.socket) -> None:
        heard = Heard()
        with suppress(OSError), source.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                heard.payloads.append(stream.read(int.from_bytes(head, "big")))
                for frame in tamper(heard):
                    target.sendall(frame)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)
