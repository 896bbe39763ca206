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
from howdah.datanode.settings import DataSettings
from howdah.datanode.transfer import mirror
from howdah.datanode.transfer.data_server import listen
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.data_transfer.op_request_decoder import read_request
from howdah.protocol.data_transfer.op_requests import encode_request
from howdah.protocol.data_transfer.packet_stream import PacketStream
from howdah.protocol.data_transfer.packets import HEARTBEAT, encode_ack, encode_packet
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection, Dialing, connect

pytestmark = pytest.mark.usefixtures("either_way")

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


class Vanishing:
    """A mirror that acks so many packets; then its machine is gone, and nobody says so."""

    def __init__(self, acks: int) -> None:
        listener = listen(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        self.address = DatanodeAddress(
            "127.0.0.1", "localhost", "uuid-gone", listener.getsockname()[1]
        )
        self.is_gone = threading.Event()
        self._let_go = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listener, acks))
        self._thread.start()

    def _run(self, listener: socket.socket, acks: int) -> None:
        with listener, Connection(listener.accept()[0]) as connection:
            read_request(connection)
            connection.send_all(BlockOpResponse(Status.SUCCESS).encode())
            stream = PacketStream()
            while acks:
                packet = stream.next_packet()
                if packet is None:
                    stream.filled(connection.recv_some_into(stream.writable()))
                    continue
                connection.send_all(encode_ack(packet.header.seqno, (Status.SUCCESS,)))
                acks -= 1
            self.is_gone.set()
            self._let_go.wait(60)

    def close(self) -> None:
        self._let_go.set()
        self._thread.join(60)


@pytest.mark.parametrize("acks", [0, 1], ids=["nothing is acked", "all is acked"])
def test_a_mirror_that_vanishes_while_it_is_sent_to_is_blamed_before_the_client_gives_up(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, acks: int
) -> None:
    monkeypatch.setattr(mirror, "TIMEOUT_EXTENSION_S", 0.1)
    # So long may the client take to sum its packet.
    node = lab.node(DataSettings(socket_timeout_s=1.5, write_timeout_s=600))
    gone = Vanishing(acks)
    writer = lab.Writer(node, lab.write_request(lab.block(), gone))
    if acks:
        writer.send(0, bytes(512))
        assert writer.ack().replies == (Status.SUCCESS, Status.SUCCESS)
    assert gone.is_gone.wait(30)
    # More than the kernel keeps for a far end that takes nothing.
    big = writer.send(512 * acks, bytes(12 << 20))
    ack = writer.ack()
    assert (ack.seqno, ack.first_bad()) == (big, 1)
    writer.close()
    node.wait_idle()
    gone.close()


def test_each_node_of_a_pipeline_waits_longer_than_the_one_behind_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So much later than the second node the first one gives up: a busy machine may need it.
    monkeypatch.setattr(mirror, "TIMEOUT_EXTENSION_S", 2.5)
    # And so long may a beat of the client be late.
    settings = DataSettings(socket_timeout_s=1.5, write_timeout_s=600)
    first, second = lab.node(settings), lab.node(settings)
    gone = Vanishing(0)
    writer = lab.Writer(first, lab.write_request(lab.block(), second, gone))
    big = writer.send(0, bytes(12 << 20))
    heard = threading.Event()

    def beat() -> None:
        # As clients do that wait for an ack: the first node would take this one for dead.
        while not heard.wait(0.1):
            writer.connection.send_all(encode_packet(HEARTBEAT))

    beating = threading.Thread(target=beat)
    beating.start()
    ack = writer.ack()
    heard.set()
    beating.join(30)
    assert (ack.seqno, ack.first_bad()) == (big, 2)
    writer.close()
    first.wait_idle()
    second.wait_idle()
    gone.close()


@pytest.mark.parametrize("where", [1, 2])
def test_a_mirror_that_does_not_answer_is_the_first_bad_link(
    lab: Lab, silent: Swallowing, monkeypatch: pytest.MonkeyPatch, where: int
) -> None:
    monkeypatch.setattr(mirror, "TIMEOUT_EXTENSION_S", 0.5)
    settings = DataSettings(socket_timeout_s=0.5, write_timeout_s=600)
    nodes = [lab.node(settings) for _ in range(where)]
    writer = lab.Writer(nodes[0], lab.write_request(lab.block(), *nodes[1:], silent))
    assert writer.response.first_bad_link == f"127.0.0.1:{silent.port}"
    writer.close()
