"""Connections of a router to namenodes."""

from __future__ import annotations

import asyncio
import socket

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc import wire
from howdah.router.namenodes.connections import UNACKNOWLEDGED_MS, Connections
from howdah.router.state.namenodes.identity import Identity

pytestmark = pytest.mark.req("LM-020")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="a limit of Linux")
def test_a_connection_whose_packets_get_lost_ends_before_a_call_does() -> None:
    """Nobody here can lose packets: that the system is told the limit is what is shown."""
    call_timeout_s = 60.0

    async def scene() -> int:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        connections = Connections(
            connect_timeout_s=20,
            call_timeout_s=call_timeout_s,
            idle_limit_s=60,
            most_bytes=1 << 20,
        )
        try:
            made = await connections._connection(server.sockets[0].getsockname()[:2], "ada")
            assert made._transport is not None
            own = made._transport.get_extra_info("socket")
            return int(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
        finally:
            connections.close()
            server.close()

    assert asyncio.run(scene()) == UNACKNOWLEDGED_MS < call_timeout_s * 1000


def test_a_namenode_that_refuses_a_user_before_its_first_call_is_not_taken_for_gone() -> None:
    """The refusal comes as soon as the connection says who calls, and then the end."""

    async def scene() -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            refusal = errors.AuthorizationFailed("User: eve is not allowed to impersonate bob")
            writer.write(wire.encode_error(-3, b"", -1, refusal, fatal=True))
            writer.close()

        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        connections = Connections(
            connect_timeout_s=20, call_timeout_s=60, idle_limit_s=60, most_bytes=1 << 20
        )
        address = server.sockets[0].getsockname()[:2]
        try:
            made = await connections._connection(address, "bob")
            while made.is_open:
                await asyncio.sleep(0.001)
            with pytest.raises(errors.AuthorizationFailed, match="impersonate bob"):
                await made.call(b"frame", (b"c" * 16, 1))
            for call_id in range(20):
                with pytest.raises(errors.AuthorizationFailed, match="impersonate bob"):
                    await connections.call(
                        address,
                        "org.apache.hadoop.hdfs.protocol.ClientProtocol",
                        "getFileInfo",
                        pb.GetFileInfoRequestProto(src="/m"),
                        pb.GetFileInfoResponseProto,
                        Identity("bob", b"c" * 16, call_id, 0, None),
                    )
        finally:
            connections.close()
            server.close()

    asyncio.run(scene())
