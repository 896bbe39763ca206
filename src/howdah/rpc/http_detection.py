"""What answers at an address where no RPC server does.

Users take the port of the web page, or one of a datanode's, for that of the filesystem. A web
server that gets an RPC call answers in HTTP, closes the connection, or waits for the rest of a
request line; so it is asked in HTTP what it is. A namenode's, of howdah as of Hadoop, also says
at `/jmx` where its RPC port is. A datanode's data port closes the connection; so it is asked for
a block that nobody has. What comes back is hostile until checked, and bounded.
"""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import data_transfer_pb2, types_pb2

_TIMEOUT_S: Final = 2.0
_MAX_BYTES: Final = 256 * 1024
_STATUS: Final = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus"
_MAX_NAME: Final = 260
_READ_BLOCK: Final = b"\x00\x1c\x51"
"""The version of DataTransferProtocol, and its operation 81."""
_RPC_SERVERS_SAY: Final = (b"This port speaks Hadoop RPC", b"HTTP request to a Hadoop IPC port")
"""Howdah's and Hadoop's, to those who ask in HTTP."""


class NotAnRpcServer(errors.ProtocolViolation):
    """Something else listens at the address; trying again would not help."""


def by_first_bytes(address: tuple[str, int], data: bytes) -> NotAnRpcServer | None:
    """What a server is whose answer to a call begins with `data`; None if it may be RPC."""
    if data.startswith(b"HTTP/"):
        return http_server(address)
    if data[:2] == b"\x15\x03":
        return NotAnRpcServer(
            f"a TLS server answers at {_endpoint(address)}, and no Hadoop RPC server: is this the "
            f"port of the web page?"
        )
    # The length of a frame would be above 500 MB.
    if len(data) >= 4 and data[:4].isascii() and data[:4].decode().isprintable():
        # Some web servers answer what is no request by a page without a head.
        line = data.split(b"\n")[0][:60]
        return by_asking(address) or NotAnRpcServer(
            f"no Hadoop RPC server answers at {_endpoint(address)}; what does began with {line!r}"
        )
    return None


def by_asking(address: tuple[str, int]) -> NotAnRpcServer | None:
    """What a server is that does not answer calls; None if it is no web server and no datanode
    either, or is an RPC server after all, which ended the connection for reasons of its own."""
    try:
        connection = http.client.HTTPConnection(*address, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", "/")
            said = connection.getresponse().read(_MAX_BYTES)
            if any(phrase in said for phrase in _RPC_SERVERS_SAY):
                return None
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return _datanode_at(address)
    return http_server(address)


def _datanode_at(address: tuple[str, int]) -> NotAnRpcServer | None:
    """The error for the data port of a datanode: it answers a read of a block that nobody has."""
    block = types_pb2.ExtendedBlockProto(poolId="BP-0", blockId=0, generationStamp=0)
    header = data_transfer_pb2.ClientOperationHeaderProto(
        baseHeader=data_transfer_pb2.BaseHeaderProto(block=block), clientName="howdah"
    )
    read = data_transfer_pb2.OpReadBlockProto(header=header, offset=0, len=1).SerializeToString()
    try:
        with socket.create_connection(address, timeout=_TIMEOUT_S) as connection:
            connection.sendall(_READ_BLOCK + bytes((len(read),)) + read)
            said = connection.recv(_MAX_NAME)
        length = said[0]
        answer = data_transfer_pb2.BlockOpResponseProto.FromString(said[1 : 1 + length])
    except (OSError, LookupError, DecodeError):
        return None
    if not answer.message:
        return None  # Something else may say as much by chance.
    return NotAnRpcServer(
        f"a datanode answers at {_endpoint(address)}: this is its data port, and no Hadoop RPC "
        "server. The RPC port is that of the cluster's fs.defaultFS, 8020 by default"
    )


def http_server(address: tuple[str, int]) -> NotAnRpcServer:
    """The error for a web server, with the RPC port behind it if it says so."""
    place = _rpc_address(address)
    hint = (
        f"The RPC port is that of {place}"
        if place
        else "The RPC port is that of the cluster's fs.defaultFS, 8020 by default"
    )
    return NotAnRpcServer(
        f"an HTTP server answers at {_endpoint(address)}: is this the web port? {hint}"
    )


def _rpc_address(address: tuple[str, int]) -> str | None:
    try:
        connection = http.client.HTTPConnection(*address, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", _STATUS)
            answer: Any = json.loads(connection.getresponse().read(_MAX_BYTES))
        finally:
            connection.close()
        place: Any = answer["beans"][0]["HostAndPort"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return None  # not a namenode's page, or one that tells nobody
    if not isinstance(place, str) or len(place) > _MAX_NAME or not place.isprintable():
        return None
    host, _, port = place.rpartition(":")
    return f"hdfs://{place}" if host and port.isascii() and port.isdigit() else None


def _endpoint(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"
