"""Connections of a router to namenodes."""

from __future__ import annotations

import asyncio
import socket

import pytest

from howdah.router.namenodes.connections import UNACKNOWLEDGED_MS, Connections

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
