"""Asks one server and keeps the facts of what it answers (shell: sockets)."""

from __future__ import annotations

import getpass
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah.proto import (
    client_datanode_pb2,
    client_namenode_pb2,
    data_transfer_pb2,
    datanode_namenode_pb2,
    ha_pb2,
    inter_datanode_pb2,
    namenode_pb2,
    refresh_pb2,
    rpc_pb2,
)
from howdah.protocol.data_transfer.op_requests import Request, encode_request
from howdah.protocol.rpc import wire
from howdah.protocol.varint import read_delimited
from howdah.runtime.sockets import Connection, PeerClosed, connect
from tests.support.answers.facts import Facts, facts_of

_TIMEOUT_S: Final = 30.0

M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True)
class Protocol:
    """One of Hadoop's RPC protocols: the name that a call gives, and the service."""

    name: str
    file: FileDescriptor
    service: str

    def messages(self, method: str) -> tuple[type[Message], type[Message]]:
        """The classes of a method's request and answer."""
        found = self.file.services_by_name[self.service].methods_by_name[method]
        return GetMessageClass(found.input_type), GetMessageClass(found.output_type)


def _of(package: str, name: str, file: FileDescriptor, service: str) -> Protocol:
    return Protocol(f"org.apache.hadoop.{package}.{name}", file, service)


CLIENT: Final = _of(
    "hdfs.protocol", "ClientProtocol", client_namenode_pb2.DESCRIPTOR, "ClientNamenodeProtocol"
)
DATANODE: Final = _of(
    "hdfs.server.protocol",
    "DatanodeProtocol",
    datanode_namenode_pb2.DESCRIPTOR,
    "DatanodeProtocolService",
)
NAMENODE: Final = _of(
    "hdfs.server.protocol", "NamenodeProtocol", namenode_pb2.DESCRIPTOR, "NamenodeProtocolService"
)
MAPPINGS: Final = _of(
    "security",
    "RefreshUserMappingsProtocol",
    refresh_pb2.DESCRIPTOR,
    "RefreshUserMappingsProtocolService",
)
AUTHORIZATION: Final = _of(
    "security.authorize",
    "RefreshAuthorizationPolicyProtocol",
    refresh_pb2.DESCRIPTOR,
    "RefreshAuthorizationPolicyProtocolService",
)
CALL_QUEUE: Final = _of(
    "ipc",
    "RefreshCallQueueProtocol",
    refresh_pb2.DESCRIPTOR,
    "RefreshCallQueueProtocolService",
)
HA: Final = _of("ha", "HAServiceProtocol", ha_pb2.DESCRIPTOR, "HAServiceProtocolService")
AT_DATANODE: Final = _of(
    "hdfs.protocol",
    "ClientDatanodeProtocol",
    client_datanode_pb2.DESCRIPTOR,
    "ClientDatanodeProtocolService",
)
BETWEEN_DATANODES: Final = _of(
    "hdfs.server.protocol",
    "InterDatanodeProtocol",
    inter_datanode_pb2.DESCRIPTOR,
    "InterDatanodeProtocolService",
)


class Asking:
    """Keeps what it is answered in `kept`, by the names of the exchanges."""

    def __init__(self, namenode: tuple[str, int]) -> None:
        self.kept: dict[str, Facts] = {}
        self.namenode = namenode
        self.client_id = uuid.uuid4().bytes
        self._calls = 0
        self._open: dict[tuple[tuple[str, int], str, str], socket.socket] = {}

    def close(self) -> None:
        for sock in self._open.values():
            sock.close()

    def keep(self, exchange: str, message: Message) -> None:
        assert exchange not in self.kept, exchange
        self.kept[exchange] = facts_of(message)

    # --- RPC ---

    def call(
        self,
        exchange: str,
        protocol: Protocol,
        method: str,
        fields: Mapping[str, Any],
        *,
        at: tuple[str, int] | None = None,
        user: str = "",
        version: int = 1,
    ) -> Any:
        """The answer, of which the facts are kept; an empty one where the call failed."""
        request_type, answer_type = protocol.messages(method)
        header, body = self.exchange(
            protocol.name,
            method,
            request_type(**fields),
            at=at or self.namenode,
            user=user,
            version=version,
        )
        answer = answer_type()
        if header.status == rpc_pb2.RpcResponseHeaderProto.SUCCESS:
            answer.ParseFromString(body)
        assert exchange not in self.kept, exchange
        self.kept[exchange] = {
            **{f"header.{path}": value for path, value in facts_of(header).items()},
            **{f"answer.{path}": value for path, value in facts_of(answer).items()},
        }
        return answer

    def exchange(
        self,
        protocol: str,
        method: str,
        request: Message,
        *,
        at: tuple[str, int],
        user: str = "",
        version: int = 1,
    ) -> tuple[rpc_pb2.RpcResponseHeaderProto, bytes]:
        """One call, on the connection that this user has for the protocol."""
        user = user or getpass.getuser()
        key = (at, protocol, user)
        sock = self._open.get(key)
        if sock is None:
            sock = self._open[key] = socket.create_connection(at, timeout=_TIMEOUT_S)
            context = wire.encode_context(protocol, user, self.client_id)
            sock.sendall(wire.preamble() + context)
        self._calls += 1
        sock.sendall(
            wire.encode_call(
                protocol=protocol,
                method=method,
                request=request,
                call_id=self._calls,
                client_id=self.client_id,
                retry_count=0,
                protocol_version=version,
            )
        )
        header, body = wire.decode_answer(read_frame(sock))
        if header.status == rpc_pb2.RpcResponseHeaderProto.FATAL:
            self._open.pop(key).close()
        return header, body

    # --- a datanode's data port ---

    def at_data_port(
        self, exchange: str, address: tuple[str, int], request: Request
    ) -> tuple[Connection, data_transfer_pb2.BlockOpResponseProto]:
        """The first answer to an operation, and its connection, on which more may come."""
        connection = connect(address, read_timeout_s=_TIMEOUT_S)
        connection.send_all(encode_request(request))
        return connection, self.read(exchange, connection, data_transfer_pb2.BlockOpResponseProto())

    def read(self, exchange: str, connection: Connection, into: M) -> M:
        """The next delimited message of a data connection, if it does not end before."""
        try:
            into.ParseFromString(read_delimited(connection))
        except PeerClosed:
            self.kept[exchange] = {"closed": "without an answer"}
        else:
            self.keep(exchange, into)
        return into


def read_frame(sock: socket.socket) -> bytes:
    """The next frame of an RPC connection, without its length."""
    length = int.from_bytes(_exactly(sock, 4), "big")
    return _exactly(sock, length)


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise ConnectionError(f"the server hung up after {len(data)} bytes of {count}")
        data += more
    return data
