"""Input streams whose datanodes break off, lie about tokens, or have gone for good."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import Any

import pytest

from howdah import errors
from howdah.client.reading import block_reader
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.runtime import sockets
from howdah.runtime.sockets import Connection
from howdah.testing.waiting import wait_until

FakeCluster = Any
DATA = random.Random(8).randbytes(200_001)
BLOCK = 64 * 1024


@pytest.fixture
def filled(cluster: FakeCluster) -> FakeCluster:
    cluster.put(DATA)
    return cluster


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """Attempts to connect to datanodes, by address."""
    counted: Counter[tuple[str, int]] = Counter()
    connect = sockets.connect

    def counting(address: tuple[str, int], **settings: Any) -> sockets.Connection:
        counted[address] += 1
        return connect(address, **settings)

    monkeypatch.setattr(sockets, "connect", counting)
    return counted


def address_of(node: Any) -> tuple[str, int]:
    address: tuple[str, int] = node.address.connect_to(use_hostname=False)
    return address


@pytest.mark.req("FS-098")
def test_a_dead_datanode_is_tried_once_in_a_file_of_ten_blocks(
    cluster: FakeCluster, attempts: Counter[tuple[str, int]]
) -> None:
    content = DATA[: 10 * 1024]
    cluster.put(content, block_size=1024)
    cluster.datanodes[0].stop()
    with cluster.open() as stream:
        assert stream.read() == content
    assert attempts[address_of(cluster.datanodes[0])] == 1
    assert attempts[address_of(cluster.datanodes[1])] == 10


@pytest.mark.req("FS-098")
def test_positioned_reads_share_what_the_stream_knows_of_dead_nodes(
    filled: FakeCluster, attempts: Counter[tuple[str, int]]
) -> None:
    filled.datanodes[0].stop()
    with filled.open() as stream:
        for offset in range(0, 200_000, 20_000):
            assert stream.pread(offset, 10) == DATA[offset : offset + 10]
        assert stream.read() == DATA
    assert attempts[address_of(filled.datanodes[0])] == 1


def test_a_datanode_that_was_dead_for_an_earlier_block_is_asked_before_anybody_waits(
    filled: FakeCluster,
) -> None:
    first, *others = filled.datanodes
    first.refuse_read = BlockOpResponse(Status.ERROR, "starting")
    with filled.open(retry_window_s=3600.0) as stream:
        assert stream.pread(0, 10) == DATA[:10]
        first.refuse_read = None
        for node in others:
            node.stop()
        assert stream.pread(BLOCK, 10) == DATA[BLOCK : BLOCK + 10]


def test_replicas_that_were_not_reported_yet_at_the_opening_are_found_without_waiting(
    filled: FakeCluster, attempts: Counter[tuple[str, int]]
) -> None:
    first = filled.datanodes[0]
    filled.namenode.datanodes = [first]
    with filled.open(retry_window_s=3600.0) as stream:
        first.stop()
        filled.namenode.datanodes = filled.datanodes
        assert stream.read() == DATA
    assert attempts[address_of(first)] == 1


def read_some(stream: Any, count: int) -> bytes:
    """`count` bytes, past the buffer."""
    data = b""
    while len(data) < count:
        data += stream.raw.read(count - len(data))
    return data


def test_a_connection_that_broke_off_is_made_again_once(filled: FakeCluster) -> None:
    """As after a pause: datanodes end connections whose reader takes nothing for minutes."""
    first, second, _ = filled.datanodes
    first.break_reads_after = 20_000
    with filled.open() as stream:
        # The first request is for so much only; the second, for the rest, breaks off.
        begin = stream.raw.read(512) + read_some(stream, 16_384)
        wait_until(lambda: first._open[0].fileno() == -1)
        first.break_reads_after = None
        assert begin + read_some(stream, 40_000) == DATA[:56_896]
    assert (first.connections, second.connections) == (2, 0)


def test_one_that_breaks_off_twice_in_a_block_is_dead(filled: FakeCluster) -> None:
    first, second, _ = filled.datanodes
    first.break_reads_after = 20_000
    with filled.open() as stream:
        assert stream.read() == DATA
    assert (first.connections, second.connections) == (2, 4)


def test_a_refused_token_is_renewed_and_the_same_node_asked_again(filled: FakeCluster) -> None:
    first, second, _ = filled.datanodes
    first.refuse_read = BlockOpResponse(Status.ERROR_ACCESS_TOKEN, "expired")
    locate = filled.namenode.get_block_locations

    def renewing(*args: Any) -> Any:
        if len(filled.namenode.calls) == 1:
            first.refuse_read = None
        return locate(*args)

    filled.namenode.get_block_locations = renewing
    with filled.open() as stream:
        assert stream.pread(0, 10) == DATA[:10]
    assert len(filled.namenode.calls) == 2
    assert second.connections == 0


def test_a_silent_datanode_costs_a_positioned_read_one_timeout(
    filled: FakeCluster, attempts: Counter[tuple[str, int]]
) -> None:
    first = filled.datanodes[0]
    with filled.open(socket_timeout_s=1.0) as stream:
        # A kept connection is no reason to wait for the same node again on a new one.
        assert stream.pread(0, 10) == DATA[:10]
        first.hang_reads = True
        first.let_acks_go.clear()
        assert stream.pread(0, 10) == DATA[:10]
    assert attempts[address_of(first)] == 1


def test_a_replaced_file_is_not_read_on(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.read(10) == DATA[:10]
        for node in filled.datanodes:
            node.stop()
        blocks = filled.namenode.files["/f"].blocks
        blocks[:] = [
            type(block)(block.pool_id, block.block_id + 50, block.generation_stamp, 65_536)
            for block in blocks
        ]
        with pytest.raises(errors.FileChanged, match="/f is not the file any more"):
            stream.pread(0, 10)


def test_a_deleted_file_is_missing(filled: FakeCluster) -> None:
    with filled.open() as stream:
        del filled.namenode.files["/f"]
        for node in filled.datanodes:
            node.stop()
        with pytest.raises(FileNotFoundError, match="/f was deleted or renamed while it was read"):
            stream.read()


def test_a_file_that_was_cut_is_read_up_to_there_and_then_an_error(filled: FakeCluster) -> None:
    with filled.open(retry_window_s=3600.0) as stream:
        for node in filled.datanodes:
            del node.replicas[1000][1000:]
            for gone in (1001, 1002, 1003):
                del node.replicas[gone]
        blocks = filled.namenode.files["/f"].blocks
        blocks[:] = [blocks[0].with_length(1000)]
        assert stream.pread(0, 900) == DATA[:900]
        with pytest.raises(errors.FileChanged, match="has 1000 now"):
            stream.read()


# --- closing --------------------------------------------------------------------------


def test_closing_wakes_a_reader_that_waits_for_a_datanode(filled: FakeCluster) -> None:
    first = filled.datanodes[0]
    first.hang_reads = True
    first.let_acks_go.clear()
    raised: list[BaseException] = []
    raw = filled.client().open("/f")

    def read() -> None:
        try:
            raw.read(10)
        except OSError as error:
            raised.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    wait_until(lambda: first.reads)
    raw.close()
    thread.join(10)
    assert [type(error) for error in raised] == [errors.ClosedStream]
    assert "/f" in str(raised[0])
    assert filled.datanodes[1].connections == 0


@pytest.mark.parametrize("call", ["read", "seek", "tell", "readinto", "pread", "pread_into"])
def test_a_closed_raw_stream_names_itself_when_it_refuses(filled: FakeCluster, call: str) -> None:
    raw = filled.client().open("/f")
    raw.close()
    calls = {
        "read": lambda: raw.read(1),
        "seek": lambda: raw.seek(0),
        "tell": raw.tell,
        "readinto": lambda: raw.readinto(bytearray(1)),
        "pread": lambda: raw.pread(0, 1),
        "pread_into": lambda: raw.pread_into(0, bytearray(1)),
    }
    with pytest.raises(ValueError, match="/f is closed"):
        calls[call]()


# --- signals ------------------------------------------------------------------------------


def test_a_read_that_was_interrupted_is_gone_on_with(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was half read lays no blame on the replica."""
    # Of one block: a range that is no short one.
    cluster.put(DATA, block_size=256 * 1024)
    signals = [KeyboardInterrupt()]
    really = Connection._recv_into

    def interrupted(self: Connection, view: memoryview, flags: int = 0) -> int:
        if threading.current_thread() is not threading.main_thread() or not signals:
            return really(self, view, flags)
        really(self, view[: len(view) // 2], flags)
        raise signals.pop()

    with cluster.open() as stream:
        begin = stream.raw.read(512)
        monkeypatch.setattr(Connection, "_recv_into", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stream.raw.read(20_000)
        assert begin + read_some(stream, len(DATA) - len(begin)) == DATA
        assert stream.statistics().retries == 0
    assert cluster.namenode.bad_blocks == []


@pytest.mark.parametrize("positioned", [False, True])
def test_a_time_out_that_the_caller_has_set_is_the_callers(
    filled: FakeCluster, monkeypatch: pytest.MonkeyPatch, positioned: bool
) -> None:
    """As by `signal.alarm`; a time-out of a datanode is of another class."""

    def alarm(*_: object) -> int:
        raise TimeoutError("the caller's")

    with filled.open() as stream:
        monkeypatch.setattr(block_reader.BlockReader, "read_into", alarm)
        with pytest.raises(TimeoutError, match="the caller's"):
            stream.pread(0, 10) if positioned else stream.read(10)
        monkeypatch.undo()
        assert stream.read(10) == DATA[:10]
        assert stream.statistics().retries == 0
