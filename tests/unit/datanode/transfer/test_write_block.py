"""WRITE_BLOCK over real sockets: one node, pipelines, and what goes wrong in them."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import (
    CorruptFound,
    ReplicaOpened,
    ReplicaReceived,
    VolumeFailed,
)
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.op_requests import Stage, WriteBlock, encode_request
from howdah.protocol.data_transfer.packets import HEARTBEAT, PacketHeader, encode_packet
from howdah.protocol.data_transfer.responses import read_response
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.runtime.sockets import PeerClosed

pytestmark = pytest.mark.usefixtures("either_way")

Lab = Any
PATIENCE_S = 60.0
DATA = bytes(range(256)) * 40 + b"tail"


def rbw_replica(node: Any, lab: Lab, block_id: int = 1) -> Any:
    return node.replicas.find(lab.POOL, block_id)


@pytest.mark.req("FS-027")
def test_a_block_is_final_before_its_last_ack(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA)
    assert writer.ack().is_success
    writer.send(len(DATA), b"", last=True)
    assert writer.ack().is_success
    assert node.files("finalized") == {"blk_1", "blk_1_1001.meta"}
    assert node.files("rbw") == set()
    assert node.content(1) == DATA


@pytest.mark.parametrize("mirrors", [0, 1], ids=["one node", "a mirror"])
def test_a_client_that_reads_five_bytes_before_it_looks_gets_its_answer(
    lab: Lab, mirrors: int
) -> None:
    """colinmarc/hdfs, in Go: five bytes are the longest that a length can take."""
    node, *others = (lab.node() for _ in range(mirrors + 1))
    connection = node.connect(timeout_s=5.0)
    connection.send_all(encode_request(lab.write_request(lab.block(), *others)))
    assert connection.recv_exactly(5) == b"\x04\x08\x00\x12\x00"
    connection.close()


@pytest.mark.req("AP-032", "AP-039")
def test_the_control_process_hears_of_the_block_when_it_is_opened_and_when_it_is_final(
    lab: Lab,
) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA)
    assert node.events == [
        ReplicaOpened(lab.block(), "DS-0"),
        ReplicaReceived(lab.block(length=len(DATA)), "DS-0"),
    ]


@pytest.mark.parametrize(
    "spec",
    [
        ChecksumSpec(ChecksumType.CRC32C, 512),
        ChecksumSpec(ChecksumType.CRC32, 512),
        ChecksumSpec(ChecksumType.CRC32C, 100),
        ChecksumSpec(ChecksumType.NULL, 512),
    ],
)
def test_the_meta_file_holds_the_checksums_in_the_way_the_client_made_them(
    lab: Lab, spec: ChecksumSpec
) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA, spec=spec, packet_bytes=spec.bytes_per_checksum * 3)
    meta = node.block_path(1).with_name("blk_1_1001.meta").read_bytes()
    assert meta == b"\x00\x01" + bytes([spec.type]) + spec.bytes_per_checksum.to_bytes(
        4, "big"
    ) + lab.sums_of(DATA, spec)


@pytest.mark.req("FS-013", "FS-121", "FS-122")
def test_a_pipeline_of_three_leaves_three_equal_replicas(lab: Lab) -> None:
    nodes = [lab.node() for _ in range(3)]
    lab.write_block(nodes[0], lab.block(), DATA, *nodes[1:])
    assert [node.content(1) for node in nodes] == [DATA] * 3


@pytest.mark.req("FS-009")
def test_a_block_takes_its_own_length_on_disk(lab: Lab) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(length=128 << 20), DATA)
    assert node.block_path(1).stat().st_size == len(DATA)


def test_a_partial_chunk_that_was_flushed_is_sent_again_and_stored_once(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    for end in (100, 300, 700, 1024, 1500):
        start = rbw_replica(node, lab).length_bytes // 512 * 512
        writer.send(start, DATA[start:end])
        assert writer.ack().is_success
    writer.send(1500, b"", last=True)
    assert writer.ack().is_success
    assert node.content(1) == DATA[:1500]
    meta = node.block_path(1).with_name("blk_1_1001.meta").read_bytes()
    assert meta[7:] == lab.sums_of(DATA[:1500])


def test_packets_that_arrive_in_one_piece_are_each_acked(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    wire = b"".join(
        encode_packet(
            PacketHeader(start, seqno, False, 100),
            lab.sums_of(DATA[start : start + 100]),
            DATA[start : start + 100],
        )
        for seqno, start in enumerate((0, 0, 0))
    )
    wire += encode_packet(PacketHeader(0, 3, False, 1000), lab.sums_of(DATA[:1000]), DATA[:1000])
    wire += encode_packet(PacketHeader(1000, 4, True, 0))
    writer.connection.send_all(wire)
    assert [writer.ack().seqno for _ in range(5)] == [0, 1, 2, 3, 4]
    assert node.content(1) == DATA[:1000]


def test_a_heartbeat_is_acked(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.connection.send_all(encode_packet(HEARTBEAT))
    ack = writer.ack()
    assert (ack.seqno, ack.is_success) == (-1, True)


def test_a_synced_packet_is_on_the_disk_before_its_ack(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fdatasync

    def fdatasync(fd: int) -> None:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            synced.append(os.fstat(fd).st_size)
        real(fd)

    node = lab.node()
    monkeypatch.setattr(os, "fdatasync", fdatasync)
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:1000])
    writer.ack()
    assert synced == []
    writer.send(512, DATA[512:2000], sync=True)
    writer.ack()
    assert synced == [2000, 7 + 4 * 4]


@pytest.mark.parametrize("own_packet", [True, False], ids=["order alone", "with data"])
def test_data_that_its_checksum_has_waited_for_is_not_synced_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, either_way: str, own_packet: bool
) -> None:
    synced: list[str] = []
    real = os.fdatasync

    def fdatasync(fd: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")).suffix)
        real(fd)

    def send(begin: int, end: int) -> None:
        writer.send(begin - begin % 512, DATA[begin - begin % 512 : end], sync=not own_packet)
        if own_packet:
            writer.send(end, b"", sync=True)
            assert writer.ack().is_success
        assert writer.ack().is_success

    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    send(0, 700)
    monkeypatch.setattr(os, "fdatasync", fdatasync)
    send(700, 800)
    # What the kernel syncs is not seen here: it does so by itself from the second time on.
    assert synced == ([] if either_way == "kernel" else ["", ".meta"])


@pytest.mark.parametrize("mirrors", [0, 1])
def test_bytes_are_acked_before_the_sync_that_a_packet_behind_them_asks_for(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, mirrors: int
) -> None:
    node, *others = (lab.node() for _ in range(mirrors + 1))
    is_acked = threading.Event()
    monkeypatch.setattr(os, "fdatasync", lambda fd: is_acked.wait(PATIENCE_S))
    writer = lab.Writer(node, lab.write_request(lab.block(), *others))
    wire = encode_packet(PacketHeader(0, 0, False, 1000), lab.sums_of(DATA[:1000]), DATA[:1000])
    wire += encode_packet(PacketHeader(1000, 1, False, 0, True))
    writer.connection.send_all(wire)
    assert writer.ack().seqno == 0
    is_acked.set()
    ack = writer.ack()
    assert (ack.seqno, ack.is_success) == (1, True)


@pytest.mark.req("OS-071", "OS-161", "FS-170")
@pytest.mark.parametrize("on_close", [False, True])
def test_closing_waits_for_the_disk_where_that_is_configured(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, on_close: bool
) -> None:
    synced: list[int] = []
    node = lab.node(DataSettings(sync_on_close=on_close))
    monkeypatch.setattr(os, "fdatasync", synced.append)
    lab.write_block(node, lab.block(), DATA)
    assert bool(synced) is on_close


def test_data_that_does_not_fit_its_checksums_is_told_and_not_finalized(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:512])
    assert writer.ack().is_success
    writer.send(512, DATA[512:1024], sums=b"\0\0\0\0")
    assert writer.ack().replies == (Status.ERROR_CHECKSUM,)
    with pytest.raises(PeerClosed):
        writer.ack()
    node.wait_idle()
    assert node.files("finalized") == set()
    assert rbw_replica(node, lab).length_bytes == 512


def test_in_a_pipeline_the_last_node_finds_the_damage(lab: Lab) -> None:
    first, last = lab.node(), lab.node()
    writer = lab.Writer(first, lab.write_request(lab.block(), last))
    writer.send(0, DATA[:512], sums=b"\0\0\0\0")
    # The first node passed on what was damaged and hangs up, as Hadoop's does.
    with pytest.raises(PeerClosed):
        writer.ack()
    first.wait_idle()
    last.wait_idle()
    assert first.files("finalized") | last.files("finalized") == set()


def test_a_client_that_goes_away_leaves_what_it_had_written(lab: Lab) -> None:
    first, second = lab.node(), lab.node()
    writer = lab.Writer(first, lab.write_request(lab.block(), second))
    writer.send(0, DATA[:1000])
    writer.ack()
    writer.close()
    first.wait_idle()
    second.wait_idle()
    for node in (first, second):
        replica = rbw_replica(node, lab)
        assert (replica.state, replica.length_bytes) == (ReplicaState.RBW, 1000)
        assert node.files("rbw") == {"blk_1", "blk_1_1001.meta"}


def test_a_mirror_that_is_not_there_is_named_as_the_first_bad_link(lab: Lab) -> None:
    node, gone = lab.node(), lab.node()
    gone.close()
    writer = lab.Writer(node, lab.write_request(lab.block(), gone))
    assert writer.response.status is Status.ERROR
    assert writer.response.first_bad_link == f"127.0.0.1:{gone.port}"
    node.wait_idle()
    assert node.files("rbw") == set()


def test_the_bad_link_behind_the_mirror_is_passed_on(lab: Lab) -> None:
    first, second, gone = lab.node(), lab.node(), lab.node()
    gone.close()
    writer = lab.Writer(first, lab.write_request(lab.block(), second, gone))
    assert writer.response.first_bad_link == f"127.0.0.1:{gone.port}"


def test_a_mirror_that_refuses_the_block_is_the_bad_link(lab: Lab) -> None:
    first, second = lab.node(), lab.node()
    lab.write_block(second, lab.block(), DATA)
    writer = lab.Writer(first, lab.write_request(lab.block(), second))
    assert writer.response.first_bad_link == f"127.0.0.1:{second.port}"
    assert "already exists" in writer.response.message


def test_a_mirror_that_dies_is_told_and_the_rest_is_still_taken(lab: Lab) -> None:
    first, second = lab.node(), lab.node()
    writer = lab.Writer(first, lab.write_request(lab.block(), second))
    writer.send(0, DATA[:512])
    assert writer.ack().replies == (Status.SUCCESS, Status.SUCCESS)
    second.close()
    acks = []
    for start in (512, 1024, 1536):
        writer.send(start, DATA[start : start + 512])
        acks.append(writer.ack().replies)
    assert acks == [(Status.SUCCESS, Status.ERROR)] * 3
    assert rbw_replica(first, lab).length_bytes == 2048
    assert rbw_replica(first, lab).visible_bytes == 512


def test_a_block_that_is_here_already_is_refused(lab: Lab) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA)
    writer = lab.Writer(node, lab.write_request(lab.block()))
    assert writer.response.status is Status.ERROR
    assert "already exists" in writer.response.message
    assert node.content(1) == DATA


@pytest.mark.parametrize("stage", [Stage.DATA_STREAMING, Stage.PIPELINE_CLOSE])
def test_a_stage_that_is_not_supported_is_refused_by_its_name(lab: Lab, stage: Stage) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block(), stage=stage))
    assert writer.response.status is Status.ERROR
    assert stage.name in writer.response.message


def test_a_block_of_another_pool_is_refused(lab: Lab) -> None:
    node = lab.node()
    foreign = type(lab.block())("BP-other", 1, 1)
    writer = lab.Writer(node, lab.write_request(foreign))
    assert "does not serve block pool BP-other" in writer.response.message


# --- append ---


def append_request(lab: Lab, length: int, stamp: int = 1002, *mirrors: Any) -> WriteBlock:
    return WriteBlock(
        lab.block(length=128 << 20),
        "client",
        Stage.PIPELINE_SETUP_APPEND,
        lab.SPEC,
        targets=tuple(node.address for node in mirrors),
        min_bytes_received=length,
        latest_generation_stamp=stamp,
    )


@pytest.mark.parametrize("length", [512, 700, 1])
def test_an_append_goes_on_in_the_middle_of_a_chunk(lab: Lab, length: int) -> None:
    nodes = [lab.node(), lab.node()]
    lab.write_block(nodes[0], lab.block(), DATA[:length], nodes[1])
    writer = lab.Writer(nodes[0], append_request(lab, length, 1002, nodes[1]))
    assert writer.response.is_success, writer.response
    # As Java does: one packet that fills up the chunk, then whole ones.
    fill = -length % 512
    if fill:
        writer.send(length, DATA[length : length + fill])
        assert writer.ack().is_success
    writer.send(length + fill, DATA[length + fill :])
    assert writer.ack().is_success
    writer.send(len(DATA), b"", last=True)
    assert writer.ack().is_success
    for node in nodes:
        assert node.files("finalized") == {"blk_1", "blk_1_1002.meta"}
        assert node.content(1) == DATA
        meta = node.block_path(1).with_name("blk_1_1002.meta").read_bytes()
        assert meta[7:] == lab.sums_of(DATA)


def test_damage_in_the_middle_of_a_chunk_is_not_summed_anew_on_its_way(lab: Lab) -> None:
    """The chunk gets a checksum of this datanode's making, which would fit."""
    first, second = lab.node(), lab.node()
    lab.write_block(first, lab.block(), DATA[:700], second)
    writer = lab.Writer(first, append_request(lab, 700, 1002, second))
    assert writer.response.is_success
    writer.send(700, DATA[700:1024], sums=b"\0\0\0\0")
    first.wait_idle()
    writer.close()
    assert rbw_replica(first, lab).length_bytes == 700


def test_an_append_to_another_length_is_refused(lab: Lab) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA)
    writer = lab.Writer(node, append_request(lab, len(DATA) - 1))
    assert "Cannot append" in writer.response.message
    assert node.content(1) == DATA


def test_an_append_to_a_damaged_last_chunk_is_refused(lab: Lab) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA[:700])
    path = node.block_path(1)
    path.write_bytes(DATA[:699] + b"!")
    writer = lab.Writer(node, append_request(lab, 700))
    assert "does not fit its checksum" in writer.response.message


# --- copies from datanodes ---


def copy_request(lab: Lab, source: DatanodeAddress | None = None) -> WriteBlock:
    return WriteBlock(
        lab.block(), "", Stage.PIPELINE_SETUP_CREATE, lab.SPEC, source=source, pipeline_size=0
    )


def test_a_copy_counts_when_it_is_whole(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, copy_request(lab))
    writer.send(0, DATA)
    lab.wait_until(lambda: node.files("tmp") == {"blk_1", "blk_1_1001.meta"})
    assert node.events == []
    writer.send(len(DATA), b"", last=True)
    assert node.wait_for(ReplicaReceived) == ReplicaReceived(lab.block(length=len(DATA)), "DS-0")
    assert node.content(1) == DATA


def test_a_copy_that_breaks_off_leaves_nothing(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, copy_request(lab))
    writer.send(0, DATA)
    lab.wait_until(lambda: node.files("tmp") != set())
    writer.close()
    lab.wait_until(lambda: node.files("tmp") == set())
    assert node.replicas.find(lab.POOL, 1) is None


def test_a_damaged_copy_is_blamed_on_its_source(lab: Lab) -> None:
    node = lab.node()
    source = DatanodeAddress("127.0.0.9", "nine", "uuid-9", 9)
    writer = lab.Writer(node, copy_request(lab, source))
    writer.send(0, DATA[:512], sums=b"\0\0\0\0")
    found = node.wait_for(CorruptFound)
    assert found.node == source
    node.wait_idle()
    assert node.files("tmp") == set()


# --- disks ---


class BadDisk:
    """`os.pwritev` that fails for files of one volume."""

    def __init__(self, path: str, number: int) -> None:
        self.path = path
        self.number = number
        self.real = os.pwritev

    def __call__(self, fd: int, buffers: Any, offset: int) -> int:
        if os.readlink(f"/proc/self/fd/{fd}").startswith(self.path):
            raise OSError(self.number, os.strerror(self.number))
        return self.real(fd, buffers, offset)


def test_a_full_disk_is_told_and_the_other_volume_takes_the_next_block(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    full = BadDisk(node.volumes.all[0].path, errno.ENOSPC)
    monkeypatch.setattr(os, "pwritev", full)
    writer = lab.Writer(node, lab.write_request(lab.block(1)))
    writer.send(0, DATA)
    assert writer.ack().replies == (Status.ERROR,)
    with pytest.raises(PeerClosed):
        writer.ack()
    lab.write_block(node, lab.block(2), DATA)
    assert node.content(2, volume=1) == DATA
    assert node.volumes.all[0].failure is None


def test_an_io_error_on_a_disk_that_still_works_costs_one_replica(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = lab.node()
    broken = BadDisk(node.volumes.all[0].path, errno.EIO)
    monkeypatch.setattr(os, "pwritev", broken)
    writer = lab.Writer(node, lab.write_request(lab.block(1)))
    writer.send(0, DATA)
    assert writer.ack().replies == (Status.ERROR,)
    assert node.volumes.all[0].failure is None


def test_a_dead_disk_is_left_with_its_replicas_and_the_others_go_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    lab.write_block(node, lab.block(1), DATA)
    lab.write_block(node, lab.block(2), DATA)
    dead = node.volumes.all[0]
    monkeypatch.setattr(os, "pwritev", BadDisk(dead.path, errno.EIO))
    monkeypatch.setattr(
        type(dead),
        "probe",
        lambda self, pools: OSError(errno.EIO, "dead") if self is dead else None,
    )
    writer = lab.Writer(node, lab.write_request(lab.block(3)))
    writer.send(0, DATA)
    assert writer.ack().replies == (Status.ERROR,)
    assert node.wait_for(VolumeFailed).storage_id == "DS-0"
    for block_id in (4, 5):
        lab.write_block(node, lab.block(block_id), DATA)
        assert node.content(block_id, volume=1) == DATA
    assert node.replicas.find(lab.POOL, 1) is None
    assert node.replicas.find(lab.POOL, 2) is not None


def test_a_node_without_room_says_how_much_it_has(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 60)))
    assert "Out of space" in writer.response.message


def test_a_storage_type_that_is_not_here_is_refused(lab: Lab) -> None:
    node = lab.node()
    connection = node.connect()
    request = WriteBlock(
        lab.block(), "c", Stage.PIPELINE_SETUP_CREATE, lab.SPEC, storage_type=StorageType.SSD
    )
    connection.send_all(encode_request(request))
    assert "no working volume of type SSD" in read_response(connection).message


def test_room_that_was_promised_to_a_writer_is_given_back(lab: Lab) -> None:
    node = lab.node()
    volume = node.volumes.all[0]
    writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 20)))
    assert volume.promised_bytes == 1 << 20
    writer.send(0, DATA)
    writer.ack()
    # The kernel says about once a second how far it is.
    left_bytes = (1 << 20) - len(DATA)
    lab.wait_until(lambda: volume.promised_bytes == left_bytes)
    writer.close()
    node.wait_idle()
    assert volume.promised_bytes == 0
    assert volume.pool_used_bytes(lab.POOL) == len(DATA) + 7 + len(lab.sums_of(DATA))


def test_deleting_a_block_stops_whoever_writes_it(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA)
    writer.ack()
    assert node.store.invalidate(lab.block())
    with pytest.raises(PeerClosed):
        writer.ack()
    node.wait_idle()
    assert node.files("rbw") == set()


# --- clients that know nothing of erasure coding ---


def test_a_group_that_is_written_as_one_block_is_refused_by_name(lab: Lab) -> None:
    first, second = lab.node(), lab.node()
    group = lab.block(FIRST_GROUP_ID)
    writer = lab.Writer(first, lab.write_request(group, second))
    assert writer.response.status is not Status.SUCCESS
    assert "the client cannot write erasure coded files" in writer.response.message


def test_an_internal_block_that_is_read_as_its_group_is_refused_by_name(lab: Lab) -> None:
    node = lab.node()
    group = lab.block(FIRST_GROUP_ID)
    lab.write_block(node, group, DATA[:1000])
    assert lab.read_block(node, lab.read_request(group, 0, 1000)).data == DATA[:1000]
    for block in (group, lab.block(FIRST_GROUP_ID + 16)):
        result = lab.read_block(node, lab.read_request(block, 0, 5000))
        assert result.response.status is Status.ERROR
        assert "an internal block of an erasure coded group" in result.response.message
