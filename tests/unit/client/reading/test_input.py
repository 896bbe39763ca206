"""Input streams against datanodes that speak the real protocol and misbehave."""

from __future__ import annotations

import dataclasses
import io
import os
import random
import socket
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.rpc import wait_notices
from howdah.testing.waiting import wait_until

FakeCluster = Any
DATA = random.Random(8).randbytes(200_001)
BLOCK = 64 * 1024
PATIENCE_S = 10.0


@pytest.fixture
def filled(cluster: FakeCluster) -> FakeCluster:
    cluster.put(DATA)
    return cluster


# --- reading ------------------------------------------------------------------------


def test_a_file_is_read_whole(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.read() == DATA


@pytest.mark.parametrize("size", [1, 100, 511, 512, 513, 4096, 70_000, 300_000])
def test_a_file_is_read_in_pieces_of_any_size(filled: FakeCluster, size: int) -> None:
    pieces: list[bytes] = []
    with filled.open() as stream:
        while piece := stream.read(size):
            assert len(piece) == min(size, len(DATA) - sum(map(len, pieces)))
            pieces.append(piece)
            if size < 100 and len(pieces) > 2000:
                break
    assert b"".join(pieces) == DATA[: sum(map(len, pieces))]


@pytest.mark.req("FS-091")
def test_the_stream_is_a_seekable_binary_io_object(filled: FakeCluster) -> None:
    stream = filled.open()
    with stream:
        assert issubclass(type(stream), io.BufferedIOBase)
        assert (stream.readable(), stream.seekable(), stream.writable()) == (True, True, False)
        assert (stream.name, stream.mode, stream.size) == ("/f", "rb", len(DATA))


def test_lines_are_iterated(cluster: FakeCluster) -> None:
    lines = [f"line {number}\n".encode() for number in range(1000)]
    cluster.put(b"".join(lines), block_size=1024)
    with cluster.open() as stream:
        assert list(stream) == lines


def test_a_text_wrapper_reads_it(cluster: FakeCluster) -> None:
    cluster.put("grüße\nwelt".encode())
    with io.TextIOWrapper(cluster.open(), encoding="utf-8") as text:
        assert text.read().splitlines() == ["grüße", "welt"]


def test_reading_into_a_buffer_fills_it(filled: FakeCluster) -> None:
    buffer = bytearray(100_000)
    with filled.open() as stream:
        assert stream.readinto(buffer) == 100_000
    assert buffer == DATA[:100_000]


def test_a_read_does_not_touch_the_buffer_behind_its_bytes(filled: FakeCluster) -> None:
    buffer = bytearray(b"\xee" * 2000)
    with filled.open() as stream:
        assert stream.pread_into(len(DATA) - 700, buffer) == 700
    assert buffer == DATA[-700:] + b"\xee" * 1300


def test_reading_at_the_end_gives_nothing(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.seek(0, io.SEEK_END)
        assert stream.read(10) == stream.read() == b""
        stream.seek(10, io.SEEK_CUR)
        assert stream.read(10) == b""


def test_an_empty_file_reads_as_nothing(cluster: FakeCluster) -> None:
    cluster.put(b"")
    with cluster.open() as stream:
        assert stream.read() == b""


def test_a_missing_file_is_a_file_not_found_error(cluster: FakeCluster) -> None:
    with pytest.raises(FileNotFoundError, match="/nothing"):
        cluster.open("/nothing")


@pytest.mark.req("FS-087")
def test_opening_asks_for_the_locations_of_the_first_blocks_once(cluster: FakeCluster) -> None:
    cluster.put(bytes(1024 * 25), block_size=1024)
    stream = cluster.open(block_size=1024)
    assert cluster.namenode.calls == [("getBlockLocations", 0, 10 * 1024)]
    stream.close()


@pytest.mark.req("FS-095")
def test_the_next_batch_is_asked_for_when_it_is_needed(cluster: FakeCluster) -> None:
    cluster.put(bytes(1024 * 25), block_size=1024)
    with cluster.open(prefetch_bytes=10 * 1024) as stream:
        stream.read()
    # Each with the last byte of the batch before, by which a replaced file is found out.
    assert [call[1] for call in cluster.namenode.calls] == [0, 10 * 1024 - 1, 20 * 1024 - 1]


@pytest.mark.req("FS-092")
def test_the_first_listed_datanode_is_asked(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.read()
    assert [node.connections for node in filled.datanodes] == [4, 0, 0]


@pytest.mark.req("FS-094")
def test_every_block_is_one_connection_which_ends_with_it(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.read()
    ranges = [(read.offset, read.length_bytes) for read in filled.datanodes[0].reads]
    assert ranges == [(0, BLOCK), (0, BLOCK), (0, BLOCK), (0, len(DATA) - 3 * BLOCK)]


def test_the_reader_says_that_the_sums_were_right(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.read()
    node = filled.datanodes[0]
    for _ in range(100):
        if len(node.read_statuses) == 4:
            break
        threading.Event().wait(0.01)
    assert node.read_statuses == [Status.CHECKSUM_OK] * 4


# --- seeking and positioned reads ------------------------------------------------------


def test_a_short_skip_keeps_the_connection(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.raw.read(10)
        stream.raw.seek(20_000)
        assert stream.raw.read(5) == DATA[20_000:20_005]
    assert filled.datanodes[0].connections == 1


def test_a_step_back_opens_a_new_connection(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.seek(50_000)
        stream.raw.read(10)
        stream.raw.seek(5)
        assert stream.raw.read(5) == DATA[5:10]


def test_pread_asks_for_the_range_and_no_more(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.pread(70_000, 100) == DATA[70_000:70_100]
    (read,) = filled.datanodes[0].reads
    assert (read.offset, read.length_bytes) == (70_000 - BLOCK, 100)


def test_preads_share_a_connection(filled: FakeCluster) -> None:
    with filled.open() as stream:
        for offset in (0, 70_000, 5, 199_000):
            assert stream.pread(offset, 300) == DATA[offset : offset + 300]
    assert filled.datanodes[0].connections == 1


def test_files_of_one_block_share_a_connection(cluster: FakeCluster) -> None:
    cluster.put(b"content")
    client = cluster.client()
    for _ in range(3):
        assert client.open("/f").readall() == b"content"
    assert cluster.datanodes[0].connections == 1


def test_a_kept_connection_that_died_is_replaced(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.pread(0, 10)
        filled.datanodes[0].drop_connections()
        assert stream.pread(20, 10) == DATA[20:30]
    assert filled.datanodes[0].connections == 2
    assert filled.datanodes[1].connections == 0


def test_no_connection_is_kept_where_the_cache_is_off(filled: FakeCluster) -> None:
    with filled.open(kept_connections=0) as stream:
        stream.pread(0, 10)
        stream.pread(0, 10)
    assert filled.datanodes[0].connections == 2


def test_a_connection_with_an_unread_rest_is_not_kept(filled: FakeCluster) -> None:
    client = filled.client()
    with client.open("/f") as stream:
        stream.read(10)
        stream.read(10)
    with client.open("/f") as other:
        assert other.pread(0, 10) == DATA[:10]
    assert filled.datanodes[0].connections == 2


def test_a_read_after_a_jump_asks_for_no_more_than_the_buffer_takes(filled: FakeCluster) -> None:
    with filled.client().open("/f") as stream:
        for offset in (0, 150_000, 3):
            stream.seek(offset)
            assert stream.read(500) == DATA[offset : offset + 500]
    asked = [(read.offset, read.length_bytes) for read in filled.datanodes[0].reads]
    assert asked == [(0, 500), (150_000 - 2 * BLOCK, 500), (3, 500)]
    assert filled.datanodes[0].connections == 1


def test_who_reads_on_gets_the_rest_of_the_block_with_the_second_request(
    filled: FakeCluster,
) -> None:
    got = b""
    with filled.client().open("/f") as stream:
        while len(got) < BLOCK + 1000:
            got += stream.read(1000)
    assert got == DATA[: len(got)]
    asked = [(read.offset, read.length_bytes) for read in filled.datanodes[0].reads]
    assert asked == [(0, 1000), (1000, BLOCK - 1000), (0, BLOCK)]


def test_pread_does_not_move(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.read(10)
        stream.pread(100_000, 10)
        assert stream.tell() == 10
        assert stream.read(5) == DATA[10:15]


def test_pread_goes_on_over_blocks(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.pread(BLOCK - 10, BLOCK + 20) == DATA[BLOCK - 10 : 2 * BLOCK + 10]


def test_pread_at_the_end_is_short(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.pread(len(DATA) - 3, 10) == DATA[-3:]
        assert stream.pread(len(DATA) + 3, 10) == b""


def test_read_fully_says_where_the_file_ended(filled: FakeCluster) -> None:
    with filled.open() as stream, pytest.raises(EOFError, match="ends 7 bytes before"):
        stream.read_fully(len(DATA) - 3, 10)


def test_threads_pread_at_the_same_time(filled: FakeCluster) -> None:
    results: dict[int, bytes] = {}
    with filled.open() as stream:

        def read(offset: int) -> None:
            results[offset] = stream.pread(offset, 5_000)

        threads = [threading.Thread(target=read, args=(n * 17_000,)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert results == {n * 17_000: DATA[n * 17_000 : n * 17_000 + 5_000] for n in range(10)}


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["read", "seek", "skip", "pread", "readinto"]),
            st.integers(0, len(DATA) + 10),
            st.integers(0, 80_000),
        ),
        max_size=8,
    )
)
def test_a_stream_behaves_as_a_file_in_memory(
    filled: FakeCluster, steps: list[tuple[str, int, int]]
) -> None:
    model = io.BytesIO(DATA)
    with filled.open() as stream:
        for name, offset, size in steps:
            match name:
                case "read":
                    assert stream.read(size) == model.read(size)
                case "seek":
                    assert stream.seek(offset) == model.seek(offset)
                case "skip":
                    assert stream.seek(size % 3000, io.SEEK_CUR) == model.seek(
                        size % 3000, io.SEEK_CUR
                    )
                case "pread":
                    assert stream.pread(offset, size) == DATA[offset : offset + size]
                case "readinto":
                    ours, theirs = bytearray(size), bytearray(size)
                    assert stream.readinto(ours) == model.readinto(theirs)
                    assert ours == theirs
            assert stream.tell() == model.tell()


# --- closing and forking -----------------------------------------------------------------


def test_a_closed_stream_refuses_to_read(filled: FakeCluster) -> None:
    stream = filled.open()
    stream.read(10)  # and more is in the buffer
    stream.close()
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)
    with pytest.raises(errors.ClosedStream, match="/f is closed"):
        stream.pread(0, 1)


def test_unbuffer_lets_go_of_the_connection_and_reading_goes_on(filled: FakeCluster) -> None:
    with filled.open() as stream:
        first = stream.read(10)
        stream.unbuffer()
        assert first + stream.read(90_000) == DATA[:90_010]


def test_a_forked_child_and_its_parent_both_read_on(filled: FakeCluster) -> None:
    stream = filled.open()
    here = len(stream.raw.read(1024))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if stream.raw.readall() == DATA[here:] else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert stream.raw.readall() == DATA[here:]
    stream.close()


def test_a_forked_child_reads_whatever_its_parent_was_just_asking(filled: FakeCluster) -> None:
    """Locks that another thread of the parent holds are never released in the child."""
    stream = filled.open()
    raw = stream.raw
    with raw._locations._fetching, raw._locations._lock, raw._replicas.counter._lock:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if stream.pread(1000, 150_000) == DATA[1000:151_000] else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    stream.close()


def test_closing_wakes_up_a_thread_that_reads(filled: FakeCluster) -> None:
    filled.datanodes[0].hang_reads = True
    filled.datanodes[0].let_acks_go.clear()
    stream = filled.open(socket_timeout_s=3600.0)
    failed: list[BaseException] = []

    def read() -> None:
        try:
            stream.read(10)
        except (errors.HowdahError, ValueError) as error:
            failed.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    wait_until(lambda: bool(filled.datanodes[0].reads), PATIENCE_S)
    stream.close()
    reader.join(PATIENCE_S)
    assert not reader.is_alive()
    assert isinstance(failed[0], errors.ClosedStream)
    assert "/f" in str(failed[0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("in:unbuffer", True), ("IN:READAHEAD", True), ("in:preadbytebuffer", True), ("x", False)],
)
def test_capabilities_are_told(filled: FakeCluster, name: str, expected: bool) -> None:
    stream = filled.open()
    assert stream.has_capability(name) is expected
    stream.close()
    assert stream.has_capability(name) is expected


# --- failures ---------------------------------------------------------------------------


@pytest.mark.req("FS-014", "FS-097")
def test_an_unreachable_datanode_is_replaced_unnoticed(filled: FakeCluster) -> None:
    filled.datanodes[0].stop()
    with filled.open() as stream:
        assert stream.read() == DATA


@pytest.mark.req("FS-098")
def test_a_failed_datanode_is_tried_once_by_a_stream(filled: FakeCluster) -> None:
    filled.datanodes[0].refuse_read = BlockOpResponse(Status.ERROR, "broken")
    with filled.open() as stream:
        assert stream.read() == DATA
    assert filled.datanodes[0].connections == 1


@pytest.mark.req("FS-014")
def test_a_connection_that_breaks_in_the_middle_is_replaced_unnoticed(
    filled: FakeCluster,
) -> None:
    filled.datanodes[0].break_reads_after = 20_000
    with filled.open() as stream:
        assert stream.read() == DATA


def test_a_pread_survives_a_connection_that_breaks(filled: FakeCluster) -> None:
    filled.datanodes[0].break_reads_after = 20_000
    with filled.open() as stream:
        assert stream.pread(10, 60_000) == DATA[10:60_010]


def test_a_silent_datanode_is_given_up(filled: FakeCluster) -> None:
    filled.datanodes[0].hang_reads = True
    filled.datanodes[0].let_acks_go.clear()
    with filled.open(socket_timeout_s=1.0) as stream:
        assert stream.read() == DATA


@pytest.mark.req("FS-099", "FS-100")
@pytest.mark.parametrize("how", ["read", "pread", "small"])
def test_a_corrupt_replica_is_replaced_and_reported(filled: FakeCluster, how: str) -> None:
    filled.datanodes[0].corrupt_at = 30_000
    with filled.open() as stream:
        match how:
            case "read":
                assert stream.read() == DATA
            case "pread":
                assert stream.pread(29_000, 2_000) == DATA[29_000:31_000]
            case "small":
                stream.raw.seek(29_900)
                assert stream.raw.read(200) + stream.raw.read(56) == DATA[29_900:30_156]
    reported = filled.namenode.bad_blocks[0]
    assert reported.block.block_id == 1000
    assert [node.uuid for node in reported.nodes] == ["uuid-0"]
    assert reported.storage_ids == ("storage-0",)
    assert reported.storage_types == (StorageType.DISK,)


def test_a_block_whose_replicas_are_all_corrupt_is_an_error_and_not_wrong_data(
    filled: FakeCluster,
) -> None:
    for node in filled.datanodes:
        node.corrupt_at = 5
    with filled.open() as stream, pytest.raises(errors.ChecksumMismatch, match="Every replica"):
        stream.read()


@pytest.mark.req("FS-100")
def test_a_good_replica_that_was_not_known_at_opening_is_found(filled: FakeCluster) -> None:
    filled.datanodes[0].corrupt_at = 5
    filled.namenode.datanodes = filled.datanodes[:1]
    with filled.open() as stream:
        filled.namenode.datanodes = filled.datanodes
        assert stream.read() == DATA


def test_no_datanode_at_all_is_an_error_that_names_file_block_and_each_node(
    filled: FakeCluster,
) -> None:
    filled.datanodes[0].stop()
    filled.datanodes[1].refuse_read = BlockOpResponse(Status.ERROR, "disk is gone")
    filled.datanodes[2].refuse_read = BlockOpResponse(Status.ERROR_ACCESS_TOKEN, "no token")
    with filled.open() as stream, pytest.raises(errors.BlockMissing) as caught:
        stream.read()
    message = str(caught.value)
    for part in ("/f", "blk_1000_1001", "disk is gone", "no token", "Connection refused"):
        assert part in message
    for node in filled.datanodes:
        assert str(node.address) in message


def test_a_lost_block_is_told_of_while_it_is_looked_for(
    filled: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: False)
    with filled.open(max_acquire_failures=2, retry_window_s=0.001) as stream:
        filled.namenode.datanodes = []
        for node in filled.datanodes:
            node.refuse_read = BlockOpResponse(Status.ERROR, "lost")
        with pytest.raises(errors.BlockMissing, match="tried 3 times") as caught:
            stream.read(1)
    assert "dfs.client.max.block.acquire.failures" in str(caught.value)
    said = [each for each in caplog.messages if "cannot be read now" in each]
    assert len(said) == 2
    assert all("for up to 0.004 s in all" in each for each in said)


def test_a_datanode_that_sends_nothing_is_told_of_while_it_is_waited_for(
    filled: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: False)
    monkeypatch.setattr(wait_notices, "FIRST_NOTICE_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        node = filled.datanodes[0]
        address = dataclasses.replace(node.address, transfer_port=silent.getsockname()[1])
        monkeypatch.setattr(node, "address", address)
        for count in (1, len(DATA)):
            caplog.clear()
            with filled.open(socket_timeout_s=0.2) as stream:
                assert stream.pread(0, count) == DATA[:count]
            # On a busy machine the next datanode may take as long.
            begin = f"/f: {address} has sent nothing of"
            (said,) = (each for each in caplog.messages if each.startswith(begin))
            assert "waiting for up to 0.2 s (dfs.client.socket-timeout)" in said


def test_locations_are_asked_for_again_before_giving_up(filled: FakeCluster) -> None:
    for node in filled.datanodes:
        node.refuse_read = BlockOpResponse(Status.ERROR, "not yet")
    with filled.open(max_acquire_failures=2) as stream:
        with pytest.raises(errors.BlockMissing):
            stream.read(1)
    # At the opening, and in each round before the pause and after it.
    assert len(filled.namenode.calls) == 1 + 2 * 2


def test_a_node_that_comes_back_is_used_in_the_next_round(filled: FakeCluster) -> None:
    for node in filled.datanodes:
        node.refuse_read = BlockOpResponse(Status.ERROR, "restarting")
    stream = filled.open(retry_window_s=0.2)
    timer = threading.Timer(0.1, lambda: setattr(filled.datanodes[1], "refuse_read", None))
    timer.start()
    assert stream.read(10) == DATA[:10]
    timer.join()
    stream.close()


def test_a_datanode_that_ends_a_block_early_is_replaced(filled: FakeCluster) -> None:
    del filled.datanodes[0].replicas[1000][5000:]
    with filled.open() as stream:
        assert stream.read() == DATA
