"""Clusters with servers of Hadoop's and ours."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from howdah.local.layout import Layout
from howdah.local.ports import LOOPBACK
from tests.support.hadoop.mixed import on_loopback


def test_datanodes_that_move_to_an_address_have_ports_that_are_free_there(tmp_path: Path) -> None:
    layout = Layout.plan(tmp_path, datanodes=2)
    with contextlib.ExitStack() as listening:
        for node in layout.datanodes:
            assert node.host != LOOPBACK, "on systems that have one address nothing moves"
            for port in (node.data_port, node.ipc_port, node.http_port):
                with contextlib.suppress(OSError):
                    listening.enter_context(socket.create_server((LOOPBACK, port)))
        moved = on_loopback(layout)
        found = [
            port
            for node in moved.datanodes
            for port in (node.data_port, node.ipc_port, node.http_port)
        ]
        assert len(set(found)) == 6
        for port in found:
            socket.create_server((LOOPBACK, port)).close()
    assert {node.host for node in moved.datanodes} == {LOOPBACK}
    assert on_loopback(moved) == moved
