"""A mirror whose machine swallows packets: nobody waits for a connection to it in vain."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.data_server import listen
from howdah.datanode.settings import DataSettings
from howdah.transfer.blocks import DatanodeAddress
from howdah.transfer.ops import encode_request
from howdah.transfer.sockets import Dialing, connect

Lab = Any
PATIENT = DataSettings(socket_timeout_s=600, write_timeout_s=600)
SYN_SENT = "02"


@dataclass(frozen=True, slots=True)
class Swallowing:
    """A port at which connections are not taken, and not refused."""

    port: int

    @property
    def address(self) -> DatanodeAddress:
        return DatanodeAddress("127.0.0.1", "localhost", "uuid-silent", self.port)

    def is_dialled(self) -> bool:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return any(row[2].endswith(f":{self.port:04X}") and row[3] == SYN_SENT for row in rows)


@pytest.fixture
def silent() -> Iterator[Swallowing]:
    if not Path("/proc/net/tcp").exists():
        pytest.skip("the system has no /proc/net/tcp to see connections in")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        # What nobody accepts fills the queue; then the kernel drops what comes.
        with socket.create_connection(address):
            yield Swallowing(address[1])


def dial(lab: Lab, node: Any, silent: Swallowing) -> Any:
    """A client whose pipeline goes over `node` to a mirror that swallows packets."""
    mirror = type("Mirror", (), {"address": silent.address})
    client = node.connect()
    client.send_all(encode_request(lab.write_request(lab.block(), mirror)))
    lab.wait_until(silent.is_dialled)
    return client


def test_a_pipeline_is_rebuilt_without_waiting_for_the_connection(
    lab: Lab, silent: Swallowing
) -> None:
    node = lab.node(PATIENT)
    with dial(lab, node, silent):
        assert node.store.invalidate(lab.block())
        node.wait_idle()
    assert len(node.store.writers) == 0


def test_a_datanode_stops_without_waiting_for_the_connection(lab: Lab, silent: Swallowing) -> None:
    node = lab.node(PATIENT)
    with dial(lab, node, silent):
        node.server.close(timeout_s=60)
    assert node.server.active == 0
    assert len(node.store.writers) == 0


def test_a_connection_that_is_given_up_says_so(silent: Swallowing, lab: Lab) -> None:
    attempts: list[Dialing] = []
    failed: list[str] = []

    def try_it() -> None:
        try:
            connect(("127.0.0.1", silent.port), connect_timeout_s=600, dialing=attempts.append)
        except errors.Unreachable as error:
            failed.append(str(error))

    thread = threading.Thread(target=try_it)
    thread.start()
    lab.wait_until(silent.is_dialled)
    attempts[0].shutdown()
    thread.join(60)
    assert "not waited for any more" in failed[0]


def test_one_that_is_given_up_before_it_begins_is_not_made() -> None:
    with listen(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        with pytest.raises(errors.Unreachable, match="not waited for any more"):
            connect(listener.getsockname(), dialing=Dialing.shutdown)
        with pytest.raises(BlockingIOError):
            listener.accept()
