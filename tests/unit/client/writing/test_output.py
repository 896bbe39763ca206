"""Output streams against datanodes that speak the real protocol and misbehave."""

from __future__ import annotations

import dataclasses
import os
import random
import threading
from typing import Any

import pytest

from howdah import errors
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import PacketHeader
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.rpc import wait_notices
from howdah.testing.waiting import wait_until

FakeCluster = Any
DATA = random.Random(7).randbytes(200_000)
PATIENCE_S = 60.0


def threads_of_streams() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "howdah-streamer" in thread.name]


# --- writing ----------------------------------------------------------------------


def test_what_is_written_arrives(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(DATA)
    assert cluster.content() == DATA


@pytest.mark.req("FS-133", "FS-134", "AP-038", "AP-040", "OS-068", "OS-190")
def test_close_completes_the_file_after_the_last_ack(cluster: FakeCluster) -> None:
    out = cluster.create(block_size=512)
    out.write(b"hello")
    assert "complete" not in cluster.namenode.names()
    out.close()
    (call,) = [call for call in cluster.namenode.calls if call[0] == "complete"]
    assert call[1].length_bytes == 5


def test_an_empty_file_needs_no_datanode_and_no_thread(cluster: FakeCluster) -> None:
    out = cluster.create()
    assert threads_of_streams() == []
    out.close()
    assert ("complete", None) in cluster.namenode.calls
    assert all(node.connections == 0 for node in cluster.datanodes)


@pytest.mark.req("FS-121")
def test_the_first_datanode_is_told_the_rest_of_the_pipeline(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(b"x")
    (request,) = cluster.datanodes[0].writes
    assert [node.uuid for node in request.targets] == ["uuid-1", "uuid-2"]
    assert request.pipeline_size == 3
    assert request.stage is Stage.PIPELINE_SETUP_CREATE


@pytest.mark.req("AP-031", "AP-033", "AP-034", "FS-120")
def test_every_block_is_asked_for_with_the_one_before(cluster: FakeCluster) -> None:
    with cluster.create(block_size=1024) as out:
        out.write(bytes(2500))
    previous = [call[1] for call in cluster.namenode.calls if call[0] == "addBlock"]
    assert [block and block.length_bytes for block in previous] == [None, 1024, 1024]


def test_many_small_writes_are_the_same_as_one(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        for start in range(0, len(DATA), 777):
            out.write(DATA[start : start + 777])
    assert cluster.content() == DATA


@pytest.mark.req("OS-026")
def test_writes_of_several_threads_are_whole(cluster: FakeCluster) -> None:
    with cluster.create() as out:

        def write(letter: bytes) -> None:
            for _ in range(100):
                out.write(letter * 101)

        threads = [threading.Thread(target=write, args=(bytes([65 + n]),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    content = cluster.content()
    records = [content[start : start + 101] for start in range(0, len(content), 101)]
    assert len(records) == 400
    assert all(len(set(record)) == 1 for record in records)


@pytest.mark.req("OS-026", "OS-033")
def test_of_small_writes_beside_a_close_those_are_in_the_file_that_were_not_refused(
    cluster: FakeCluster,
) -> None:
    out = cluster.create(socket_timeout_s=PATIENCE_S)
    begun, breath = threading.Barrier(5), threading.Event()
    written: list[list[bytes]] = [[] for _ in range(4)]

    def write(number: int) -> None:
        begun.wait()
        for count in range(1_000_000):
            if count % 100 == 0:
                breath.wait(0.001)  # The datanodes are threads of this process, too.
            record = b"%d:%08d\n" % (number, count)
            try:
                out.write(record)
            except errors.ClosedStream:
                return
            written[number].append(record)

    threads = [threading.Thread(target=write, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    begun.wait()
    wait_until(lambda: all(len(each) > 500 for each in written), PATIENCE_S)
    out.close()
    for thread in threads:
        thread.join()
    content = cluster.content().splitlines(keepends=True)
    for number, records in enumerate(written):
        assert [line for line in content if line.startswith(b"%d:" % number)] == records
    assert out.get_pos() == sum(map(len, content))


@pytest.mark.req("OS-026", "FS-149")
def test_small_writes_are_in_the_file_when_another_threads_hflush_that_came_after_returns(
    cluster: FakeCluster,
) -> None:
    out = cluster.create(block_size=1 << 27, socket_timeout_s=PATIENCE_S)
    stop = threading.Event()

    def write() -> None:
        for number in range(1_000_000):
            if number % 100 == 0 and stop.wait(0.001):
                break
            out.write(b"other\n")

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        for number in range(30):
            mine = b"mine %d\n" % number
            out.write(mine)
            out.hflush()
            assert mine in cluster.content()
    finally:
        stop.set()
        thread.join()
    out.close()


def test_position_counts_small_writes_and_large_ones_in_their_order(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        expected = b""
        for size in (10, 5000, 1024, 1025, 0, 3):
            data = bytes([size % 251]) * size
            out.write(data)
            expected += data
            assert out.get_pos() == len(expected)
    assert cluster.content() == expected


def test_a_small_write_to_a_broken_stream_is_refused_at_once(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    out._inner._streamer.give_up(errors.PipelineFailed("/f: broken"))
    for _ in range(2):
        with pytest.raises(errors.PipelineFailed, match="broken"):
            out.write(b"y")
    assert out.get_pos() == 1


@pytest.mark.req("OS-067")
def test_a_writer_waits_while_too_much_is_unacknowledged(cluster: FakeCluster) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create(max_packets_in_flight=4, packet_data_bytes=512)
    done = threading.Event()

    def write() -> None:
        out.write(bytes(512 * 6))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert not done.wait(0.2)
    cluster.datanodes[0].let_acks_go.set()
    assert done.wait(30)
    thread.join()
    out.close()


def test_progress_is_told_by_the_thread_that_writes(cluster: FakeCluster) -> None:
    threads: list[threading.Thread] = []
    with cluster.create(
        packet_data_bytes=512, progress=lambda: threads.append(threading.current_thread())
    ) as out:
        out.write(bytes(512 * 3))
    assert threads == [threading.current_thread()] * 3


def test_datanodes_are_reached_by_name_when_told_so(cluster: FakeCluster) -> None:
    for node in cluster.datanodes:
        # An address that is reserved for documents: nobody answers there.
        node.address = dataclasses.replace(node.address, ip="192.0.2.1")
    with cluster.create(use_datanode_hostname=True) as out:
        out.write(b"content")
    with cluster.open(use_datanode_hostname=True) as stream:
        assert stream.read() == b"content"
    assert cluster.client(use_datanode_hostname=True).checksums().read("/f", None, "MD5MD5CRC")


# --- flush, hflush, hsync -----------------------------------------------------------


@pytest.mark.req("OS-052")
def test_flush_sends_nothing(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        for _ in range(1000):
            out.write(b"line\n")
            out.flush()
        assert cluster.datanodes[0].packets == []


@pytest.mark.req("FS-149", "OS-090", "OS-151")
def test_hflush_returns_when_the_acks_are_there(cluster: FakeCluster) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create()
    out.write(b"content")
    done = threading.Event()

    def flush() -> None:
        out.hflush()
        done.set()

    thread = threading.Thread(target=flush)
    thread.start()
    assert not done.wait(0.2)
    cluster.datanodes[0].let_acks_go.set()
    assert done.wait(30)
    thread.join()
    assert cluster.content() == b"content"
    out.close()


def lengths_told(cluster: FakeCluster) -> list[tuple[str, int]]:
    return [call for call in cluster.namenode.calls if call[0].startswith("fsync")]


def test_hflush_tells_the_namenode_the_length_and_waits_for_no_log(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(b"content")
        out.hflush()
        for _ in range(2):
            out.write(b"!")
            out.hflush()
    told = lengths_told(cluster)
    assert told == [("fsync", 7), ("fsync early", 8), ("fsync early", 9)]


def test_the_first_length_of_each_block_is_in_the_log_before_hflush_returns(
    cluster: FakeCluster,
) -> None:
    """Or a namenode that starts anew might take the block for one that nobody wrote to."""
    with cluster.create(block_size=1024) as out:
        for size in (1000, 20, 504, 500):
            out.write(bytes(size))
            out.hflush()
    assert lengths_told(cluster) == [
        ("fsync", 1000),
        ("fsync early", 1020),
        ("fsync", 500),
        ("fsync early", 1000),
    ]


def test_hsync_has_the_length_in_the_namenodes_log_once(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(b"content")
        out.hsync()
        out.hsync()
        out.hflush()
        out.write(b"!")
        out.hsync()
    assert lengths_told(cluster) == [("fsync", 7), ("fsync", 8)]


def test_a_length_that_the_namenode_may_have_forgotten_is_told_again(
    cluster: FakeCluster,
) -> None:
    with cluster.create() as out:
        out.write(b"content")
        out.hflush()
        out.hflush()
        out.write(b"!")
        out.hflush()
        out.hflush()
        out.hsync()
        out.hsync()
    assert lengths_told(cluster) == [
        ("fsync", 7),
        ("fsync early", 8),
        ("fsync early", 8),
        ("fsync", 8),
    ]


def test_hflush_of_nothing_asks_nobody(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.hflush()
        out.hsync()
    assert lengths_told(cluster) == []
    assert "addBlock" not in cluster.namenode.names()


@pytest.mark.req("OS-127")
def test_hsync_sends_the_order_to_go_to_disk(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(b"content")
        out.hsync()
        headers = cluster.datanodes[0].packets
        assert [(h.data_length_bytes, h.sync_block) for h in headers] == [(7, False), (0, True)]


def test_hsync_has_the_length_logged_while_the_datanodes_wait_for_their_disks(
    cluster: FakeCluster,
) -> None:
    def sync(header: PacketHeader, _: object) -> bool:
        if header.sync_block:
            wait_until(lambda: ("fsync", 7) in cluster.namenode.calls, PATIENCE_S)
        return False

    cluster.datanodes[0].on_packet = sync
    with cluster.create() as out:
        out.write(b"content")
        out.hsync()
        assert all(node.synced for node in cluster.datanodes)


@pytest.mark.req("FS-151")
def test_hsync_after_hflush_sends_the_order_alone(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(b"content")
        out.hflush()
        out.hsync()
        headers = cluster.datanodes[0].packets
    assert [(h.data_length_bytes, h.sync_block) for h in headers[:2]] == [(7, False), (0, True)]


def test_writing_goes_on_after_a_flush_in_the_middle_of_a_chunk(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        for start in range(0, 3000, 100):
            out.write(DATA[start : start + 100])
            out.hflush()
    assert cluster.content() == DATA[:3000]


# --- closing ------------------------------------------------------------------------


@pytest.mark.req("OS-019", "OS-020")
def test_only_the_first_close_does_anything(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    for _ in range(3):
        out.close()
    assert cluster.namenode.names().count("complete") == 1


@pytest.mark.req("AP-042")
def test_complete_is_asked_again_until_the_replicas_are_there(cluster: FakeCluster) -> None:
    cluster.namenode.incomplete_answers = 3
    with cluster.create() as out:
        out.write(b"x")
    assert cluster.namenode.names().count("complete") == 4


def test_complete_is_not_asked_for_ever(cluster: FakeCluster) -> None:
    cluster.namenode.incomplete_answers = 1_000
    out = cluster.create(next_block_retries=1)
    out.write(b"x")
    with pytest.raises(errors.NotReplicatedYet, match=r"Cannot close /f: its last block blk_\d+"):
        out.close()
    assert out.closed


@pytest.mark.req("OS-033", "OS-038", "OS-057")
def test_every_form_of_write_is_refused_after_close_and_names_the_path(
    cluster: FakeCluster,
) -> None:
    out = cluster.create()
    out.close()
    for arguments in [(b"x",), (65,), (b"abc", 0, 1), (bytearray(3),)]:
        with pytest.raises(errors.ClosedStream, match="/f is closed"):
            out.write(*arguments)


@pytest.mark.req("OS-086", "OS-095")
def test_syncs_are_refused_after_close(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.close()
    for sync in (out.hflush, out.hsync):
        with pytest.raises(OSError, match="/f is closed"):
            sync()


@pytest.mark.req("OS-027", "OS-051")
def test_flush_after_close_does_nothing(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.close()
    for _ in range(3):
        out.flush()


def test_an_exception_in_a_with_block_still_closes_the_file(cluster: FakeCluster) -> None:
    out = cluster.create()

    def fail() -> None:
        with out:
            out.write(b"before")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert out.closed
    assert cluster.namenode.files["/f"].complete
    assert cluster.content() == b"before"


@pytest.mark.req("OS-053")
def test_threads_end_with_the_stream(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(b"x")
        out.hflush()
        assert threads_of_streams()
    assert threads_of_streams() == []


def test_closing_the_client_closes_its_files(cluster: FakeCluster) -> None:
    client = cluster.client()
    out = client.create(
        "/f",
        masked=0,
        unmasked=0,
        overwrite=False,
        create_parent=True,
        replication=None,
        block_size=None,
    )
    out.write(b"x")
    client.close()
    assert cluster.namenode.files["/f"].complete


def test_a_forgotten_stream_is_closed_when_it_is_collected(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    del out
    assert cluster.namenode.files["/f"].complete


def test_a_stream_of_the_parent_is_refused_in_a_forked_child(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    out.hflush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            out.write(b"y")
        except errors.ClosedStream:
            out.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    out.write(b"z")
    out.close()
    assert cluster.content() == b"xz"


# --- the capabilities ------------------------------------------------------------------


@pytest.mark.req("OS-100", "OS-101", "OS-104", "OS-107", "OS-108", "OS-118", "OS-187")
@pytest.mark.parametrize(
    ("name", "expected"),
    [("hsync", True), ("HSYNC", True), ("hflush", True), ("dropbehind", True), ("other", False)],
)
def test_capabilities_are_told(cluster: FakeCluster, name: str, expected: bool) -> None:
    out = cluster.create()
    assert out.has_capability(name) is expected
    out.close()
    assert out.has_capability(name) is expected


def test_drop_behind_reaches_the_datanode(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.set_drop_behind(True)
        out.write(b"x")
    assert cluster.datanodes[0].writes[0].hints.drop_behind is True


# --- failures: clear, and nothing hangs ----------------------------------------------------


def test_a_node_that_cannot_be_reached_is_left_out_of_the_next_attempt(
    cluster: FakeCluster,
) -> None:
    cluster.datanodes[0].stop()
    with cluster.create() as out:
        out.write(b"content")
    assert cluster.content(node=1) == b"content"
    calls = cluster.namenode.names()
    assert calls[1:4] == ["addBlock", "abandonBlock", "addBlock"]
    excluded = [call[2] for call in cluster.namenode.calls if call[0] == "addBlock"][1]
    assert excluded == (cluster.datanodes[0].address,)


def test_a_bad_link_further_down_is_the_node_that_is_left_out(cluster: FakeCluster) -> None:
    bad = cluster.datanodes[2].address
    refusing = cluster.datanodes[0]
    refusing.refuse_write = BlockOpResponse(
        Status.ERROR, "cannot reach", first_bad_link=bad.transfer_address
    )
    out = cluster.create(block_write_retries=0)
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed, match=bad.transfer_address):
        out.close()


def test_no_reachable_node_ends_in_an_error_that_names_each(cluster: FakeCluster) -> None:
    for node in cluster.datanodes:
        node.stop()
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed) as caught:
        out.close()
    for node in cluster.datanodes:
        assert str(node.address) in str(caught.value)
    assert cluster.namenode.names().count("abandonBlock") == 3


def test_a_namenode_that_has_no_other_node_is_told_with_why_these_failed(
    cluster: FakeCluster,
) -> None:
    for node in cluster.datanodes:
        node.refuse_write = BlockOpResponse(Status.ERROR, "wants SASL")
    out = cluster.create(block_write_retries=9)
    out.write(b"x")
    with pytest.raises(errors.NoDatanodes, match="could only be written to 0 nodes") as caught:
        out.close()
    for node in cluster.datanodes:
        assert f"{node.address}: wants SASL" in str(caught.value)


@pytest.mark.req("OS-037", "LM-034")
def test_datanodes_without_room_are_an_i_o_error_in_the_middle_of_writing(
    cluster: FakeCluster,
) -> None:
    out = cluster.create(max_packets_in_flight=2, packet_data_bytes=512)
    full = BlockOpResponse(Status.ERROR, "Out of space: the volume has no room for 65536 bytes")
    for node in cluster.datanodes:
        node.refuse_write = full
    with pytest.raises(errors.PipelineFailed, match=r"/f.*Out of space"):
        out.write(bytes(512 * 10))
    with pytest.raises(errors.PipelineFailed):
        out.close()


def test_what_the_namenode_says_to_add_block_is_raised_as_it_is(cluster: FakeCluster) -> None:
    cluster.namenode.add_block_errors = [errors.SpaceQuotaExceeded("no room")]
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.SpaceQuotaExceeded, match="no room"):
        out.hflush()
    with pytest.raises(errors.SpaceQuotaExceeded):
        out.close()


@pytest.mark.req("AP-037", "AP-036")
def test_a_block_is_asked_for_again_while_the_one_before_is_short_of_replicas(
    cluster: FakeCluster,
) -> None:
    cluster.namenode.add_block_errors = [errors.NotReplicatedYet("wait")] * 2
    with cluster.create() as out:
        out.write(b"x")
    assert cluster.namenode.names().count("addBlock") == 3


@pytest.mark.req("FS-003", "AP-036")
def test_an_open_file_goes_on_when_a_namenode_that_was_just_started_has_left_safe_mode(
    cluster: FakeCluster,
) -> None:
    cluster.namenode.add_block_errors = [errors.SafeMode("just started")] * 2
    cluster.namenode.complete_errors = [errors.SafeMode("just started")] * 3
    with cluster.create() as out:
        out.write(b"x")
    names = cluster.namenode.names()
    assert (names.count("addBlock"), names.count("complete")) == (3, 4)


def test_safe_mode_that_does_not_end_is_said(cluster: FakeCluster) -> None:
    out = cluster.create(next_block_retries=1)
    out.write(b"x")
    cluster.namenode.complete_errors = [errors.SafeMode("by an administrator")] * 1_000
    with pytest.raises(errors.SafeMode, match="by an administrator"):
        out.close()


def close_connection(header: object, connection: Any) -> bool:
    return True


def break_all(cluster: FakeCluster, fault: Any = close_connection) -> None:
    """No datanode of the cluster lets a write get through."""
    for node in cluster.datanodes:
        node.on_packet = fault


@pytest.mark.req("OS-069", "LM-033")
def test_connections_that_break_name_file_block_and_every_node(cluster: FakeCluster) -> None:
    break_all(cluster)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed, match=r"/f: the pipeline of blk_\d+_\d+ has no") as e:
        out.hflush()
    for node in cluster.datanodes:
        assert str(node.address) in str(e.value)


def test_silence_of_all_ends_in_an_error(cluster: FakeCluster) -> None:
    for node in cluster.datanodes:
        node.let_acks_go.clear()
    out = cluster.create(socket_timeout_s=0.3)
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed, match=r"nothing came from .* in 0\.3 s"):
        out.hflush()


@pytest.mark.req("OS-037", "OS-069")
def test_a_blocked_writer_is_woken_by_a_failure(cluster: FakeCluster) -> None:
    break_all(cluster)
    out = cluster.create(max_packets_in_flight=2, packet_data_bytes=512)
    with pytest.raises(errors.PipelineFailed):
        out.write(bytes(512 * 10))


@pytest.mark.req("OS-021", "OS-060", "OS-062")
def test_a_failed_close_is_not_tried_again(cluster: FakeCluster) -> None:
    break_all(cluster)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed):
        out.close()
    break_all(cluster, None)
    before = list(cluster.namenode.calls)
    out.close()
    assert cluster.namenode.calls == before
    assert not cluster.namenode.files["/f"].complete
    assert out.closed


@pytest.mark.req("OS-069")
def test_writes_after_a_failure_raise_it_again(cluster: FakeCluster) -> None:
    break_all(cluster)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed):
        out.hflush()
    with pytest.raises(errors.PipelineFailed):
        out.write(b"y")
    with pytest.raises(errors.PipelineFailed):
        out.close()


def test_threads_end_after_a_failure(cluster: FakeCluster) -> None:
    break_all(cluster)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed):
        out.close()
    assert threads_of_streams() == []


def test_acks_that_make_no_sense_end_the_stream(cluster: FakeCluster) -> None:
    def garbage(header: Any, connection: Any) -> bool:
        connection.send_all(b"\x05garbage")
        return False

    break_all(cluster, garbage)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed):
        out.hflush()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_ack_reader_that_dies_takes_the_stream_along(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(body: object) -> None:
        raise AssertionError

    monkeypatch.setattr("howdah.client.writing.acks.decode_ack", die)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed, match="could not be followed"):
        out.hflush()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_streamer_that_dies_takes_the_stream_along(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("howdah.client.writing.streamer.Streamer._ask_for_block", die)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(errors.PipelineFailed, match="the streamer died"):
        out.hflush()


def test_a_heartbeat_keeps_an_idle_pipeline_alive(cluster: FakeCluster) -> None:
    beaten = threading.Event()

    def watch(header: Any, connection: Any) -> bool:
        if header.is_heartbeat:
            beaten.set()
        return False

    cluster.datanodes[0].on_packet = watch
    out = cluster.create(socket_timeout_s=1.0)
    out.write(b"x")
    out.hflush()
    assert beaten.wait(30)
    out.write(b"y")
    out.close()
    assert cluster.content() == b"xy"


# --- append ----------------------------------------------------------------------------


@pytest.mark.req("AP-029", "AP-030", "OS-007", "AP-005")
def test_append_writes_on_in_the_last_block(cluster: FakeCluster) -> None:
    cluster.put(DATA[:1000])
    with cluster.append() as out:
        assert out.get_pos() == 1000
        out.write(DATA[1000:5000])
    assert cluster.content() == DATA[:5000]


@pytest.mark.req("AP-016", "LM-058", "AP-007", "AP-029")
def test_append_gives_the_block_a_new_generation_stamp(cluster: FakeCluster) -> None:
    cluster.put(b"abc")
    with cluster.append() as out:
        out.write(b"d")
    names = cluster.namenode.names()
    assert names == ["append", "updateBlockForPipeline", "updatePipeline", "complete"]
    assert ("updatePipeline", 1001, 1002) in cluster.namenode.calls
    (request,) = cluster.datanodes[0].writes
    assert request.stage is Stage.PIPELINE_SETUP_APPEND
    assert request.block.generation_stamp == 1001
    assert request.latest_generation_stamp == 1002
    assert (request.min_bytes_received, request.max_bytes_received) == (3, 3)
    assert cluster.namenode.files["/f"].blocks[-1].generation_stamp == 1002


@pytest.mark.req("AP-017", "AP-045")
def test_append_to_a_full_block_takes_a_new_one(cluster: FakeCluster) -> None:
    cluster.put(DATA[:1024], block_size=1024)
    with cluster.append() as out:
        out.write(b"more")
    assert cluster.content() == DATA[:1024] + b"more"
    assert "updatePipeline" not in cluster.namenode.names()


def test_append_of_nothing_leaves_the_content_and_finalizes_the_block_again(
    cluster: FakeCluster,
) -> None:
    cluster.put(b"abc")
    cluster.append().close()
    assert cluster.content() == b"abc"
    names = cluster.namenode.names()
    assert names == ["append", "updateBlockForPipeline", "updatePipeline", "complete"]


def test_who_cannot_write_on_hears_of_the_datanodes_too(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """So many packets wait for their acks that the next one has to."""
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: False)
    monkeypatch.setattr(wait_notices, "FIRST_NOTICE_S", 0.01)
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create(packet_data_bytes=512)
    writing = threading.Thread(target=out.write, args=(bytes(512 * 1000),))
    writing.start()
    wait_until(lambda: "goes on at none of" in caplog.text)
    cluster.datanodes[0].let_acks_go.set()
    writing.join(PATIENCE_S)
    out.close()


def test_datanodes_that_acknowledge_nothing_are_named_while_they_are_waited_for(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: False)
    monkeypatch.setattr(wait_notices, "FIRST_NOTICE_S", 0.01)
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create(packet_data_bytes=512)
    out.write(b"hello")
    flushing = threading.Thread(target=out.hflush)
    flushing.start()
    wait_until(lambda: "(dfs.client.socket-timeout)" in caplog.text)
    cluster.datanodes[0].let_acks_go.set()
    flushing.join(PATIENCE_S)
    # Who closes the file may wait as long again.
    said = [each for each in caplog.messages if "goes on at none of" in each]
    out.close()
    # On a busy machine the acknowledgement itself takes longer than a hundredth of a second, and is
    # a wait of its own.
    assert len(set(said)) == 1
    assert all(str(node.address) in said[0] for node in cluster.datanodes)
