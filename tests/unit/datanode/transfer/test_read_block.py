"""READ_BLOCK, BLOCK_CHECKSUM and copies over real sockets."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from typing import Any

import pytest

from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import CorruptFound, ReplicaDeleted, ReplicaReceived, Transfer
from howdah.datanode.transfer.copies import Copies
from howdah.datanode.transfer.sender import PACKET_DATA_BYTES, read_sums
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, crc
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    BlockChecksumType,
    CachingHints,
    Op,
    ReadBlock,
    encode_request,
)
from howdah.protocol.data_transfer.responses import encode_read_status, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import encode_varint
from howdah.runtime.sockets import Connection, PeerClosed

Lab = Any
DATA = os.urandom(1_000_003)


@pytest.fixture
def filled(lab: Lab) -> Any:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA, packet_bytes=64 * 1024)
    return node


@pytest.mark.req("FS-027", "FS-093")
@pytest.mark.parametrize("sendfile", [True, False])
def test_a_whole_block_is_read_with_its_checksums(lab: Lab, sendfile: bool) -> None:
    node = lab.node(DataSettings(sendfile=sendfile))
    lab.write_block(node, lab.block(), DATA, packet_bytes=64 * 1024)
    result = lab.read_block(node, lab.read_request(lab.block(), 0, len(DATA)))
    assert result.data == DATA
    assert result.sums == lab.sums_of(DATA)
    assert result.sizes[0] == PACKET_DATA_BYTES
    assert result.response.read_checksum.checksum == lab.SPEC


@pytest.mark.parametrize(
    ("offset", "length"),
    [(0, 1), (1, 1), (511, 2), (700, 5000), (512, 512), (1_000_000, 3), (5, 0), (1_000_003, 0)],
)
def test_a_part_is_read_in_whole_chunks(filled: Any, lab: Lab, offset: int, length: int) -> None:
    result = lab.read_block(filled, lab.read_request(lab.block(), offset, length))
    start = offset // 512 * 512
    end = min(-(-(offset + length) // 512) * 512, len(DATA))
    assert result.response.read_checksum.chunk_offset == start
    assert result.data == DATA[start:end]
    assert result.sums == lab.sums_of(DATA[start:end])


@pytest.mark.parametrize(
    ("length", "is_short"), [(0, True), (1, True), (65536, True), (65537, False)]
)
def test_a_short_read_is_answered_in_one_system_call(
    filled: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, length: int, is_short: bool
) -> None:
    sent: list[str] = []
    for name in ("send_buffers", "send_more", "send_file"):
        _record(monkeypatch, name, sent)
    result = lab.read_block(filled, lab.read_request(lab.block(), 0, length))
    assert result.data == DATA[: -(-length // 512) * 512]
    assert sent == (["send_buffers"] if is_short else ["send_more", "send_file"])


def _record(monkeypatch: pytest.MonkeyPatch, name: str, sent: list[str]) -> None:
    send = getattr(Connection, name)

    def recorded(*arguments: Any) -> None:
        sent.append(name)
        send(*arguments)

    monkeypatch.setattr(Connection, name, recorded)


def test_checksums_are_left_out_where_they_are_not_wanted(filled: Any, lab: Lab) -> None:
    request = lab.read_request(lab.block(), 100, 1000, send_checksums=False)
    result = lab.read_block(filled, request)
    assert result.response.read_checksum.checksum == ChecksumSpec(ChecksumType.NULL, 512)
    assert result.sums == b""
    assert result.data == DATA[0:1536]


def test_a_chunk_that_is_larger_than_a_packet_is_sent_whole(lab: Lab) -> None:
    spec = ChecksumSpec(ChecksumType.CRC32, 600_000)
    node = lab.node()
    lab.write_block(node, lab.block(), DATA, spec=spec, packet_bytes=600_000)
    result = lab.read_block(node, lab.read_request(lab.block(), 0, len(DATA)))
    assert result.data == DATA
    assert result.sums == lab.sums_of(DATA, spec)


def test_the_page_cache_is_told_what_the_reader_wants(
    filled: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, start, size, what: told.append(what))
    hints = CachingHints(drop_behind=True, readahead_bytes=1 << 20)
    lab.read_block(filled, lab.read_request(lab.block(), 0, len(DATA), hints=hints))
    lab.wait_until(lambda: told[-1:] == [os.POSIX_FADV_DONTNEED])
    assert told[:2] == [os.POSIX_FADV_SEQUENTIAL, os.POSIX_FADV_WILLNEED]


def test_a_connection_serves_one_read_after_the_other(filled: Any, lab: Lab) -> None:
    connection = filled.connect()
    for offset in (0, 5000, 900_000):
        result = lab.read_block(filled, lab.read_request(lab.block(), offset, 1000), connection)
        assert result.data[offset % 512 :][:1000] == DATA[offset : offset + 1000]
    lab.wait_until(lambda: filled.server.active == 1)


def test_the_readers_verdict_and_its_next_request_may_come_in_one_piece(
    filled: Any, lab: Lab
) -> None:
    connection = filled.connect()
    request = encode_request(ReadBlock(lab.block(), "c", 0, 10))
    verdict = encode_read_status(Status.SUCCESS)
    # All of it before the first answer is read.
    connection.send_all(request + verdict + request + verdict + request)
    for _ in range(2):
        assert read_response(connection).is_success
        packet = 6 + 25 + 4 + 512
        connection.recv_exactly(packet + 31)
    assert read_response(connection).is_success


def test_an_idle_connection_is_closed_after_its_time(lab: Lab) -> None:
    node = lab.node(DataSettings(keepalive_s=0.05))
    lab.write_block(node, lab.block(), DATA[:1000])
    connection = node.connect()
    lab.read_block(node, lab.read_request(lab.block(), 0, 10), connection)
    with pytest.raises(PeerClosed):
        connection.recv_exactly(1)
    node.wait_idle()


def test_a_block_that_is_not_here_is_refused_and_the_connection_lives(
    filled: Any, lab: Lab
) -> None:
    connection = filled.connect()
    missing = lab.read_block(filled, lab.read_request(lab.block(99), 0, 1), connection)
    assert missing.response.status is Status.ERROR
    assert "Replica not found" in missing.response.message
    assert (
        lab.read_block(filled, lab.read_request(lab.block(), 0, 10), connection).data == DATA[:512]
    )


def test_an_older_replica_than_is_asked_for_is_not_served(filled: Any, lab: Lab) -> None:
    result = lab.read_block(filled, lab.read_request(lab.block(1, 1002), 0, 1))
    assert "older" in result.response.message


@pytest.mark.parametrize(("offset", "length"), [(0, 1_000_004), (1_000_004, 0), (1 << 62, 5)])
def test_a_stretch_beyond_the_block_is_refused(
    filled: Any, lab: Lab, offset: int, length: int
) -> None:
    result = lab.read_block(filled, lab.read_request(lab.block(), offset, length))
    assert "don't match" in result.response.message


@pytest.mark.req("FS-149", "OS-090")
def test_what_was_acknowledged_of_an_open_block_is_read(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:1000])
    writer.ack()
    assert node.store.visible_length(lab.block()) == 1000
    result = lab.read_block(node, lab.read_request(lab.block(), 0, 1000))
    assert result.data == DATA[:1000]
    assert result.sums == lab.sums_of(DATA[:1000])


def test_the_last_checksum_fits_though_the_writer_goes_on(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:1000])
    writer.ack()
    with node.store.open(lab.block()) as opened:
        # Between the open and the read the partial chunk, and its checksum, are replaced.
        writer.send(512, DATA[512:3000])
        writer.ack()

        assert read_sums(opened, lab.SPEC, 0, 1000) == lab.sums_of(DATA[:1000])


def test_readers_of_a_block_that_grows_see_only_good_chunks(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    bad: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            length = node.store.visible_length(lab.block())
            result = lab.read_block(node, lab.read_request(lab.block(), 0, length))
            if result.sums != lab.sums_of(result.data) or result.data[:length] != DATA[:length]:
                bad.append(length)

    reader = threading.Thread(target=read)
    reader.start()
    length = 0
    for step in range(150):
        start = length // 512 * 512
        length += 37 + step
        writer.send(start, DATA[start:length])
        assert writer.ack().is_success
    done.set()
    reader.join(10)
    assert bad == []


def test_a_read_waits_for_bytes_that_are_on_their_way(lab: Lab) -> None:
    node = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block()))
    writer.send(0, DATA[:512])
    writer.ack()
    results: list[bytes] = []
    reader = threading.Thread(
        target=lambda: results.append(
            lab.read_block(node, lab.read_request(lab.block(), 0, 1024)).data
        )
    )
    reader.start()
    writer.send(512, DATA[512:1024])
    reader.join(30)
    assert results == [DATA[:1024]]


def test_a_block_file_that_was_cut_is_reported(filled: Any, lab: Lab) -> None:
    os.truncate(filled.block_path(1), 1000)
    with pytest.raises(PeerClosed):
        lab.read_block(filled, lab.read_request(lab.block(), 0, len(DATA)))
    assert filled.wait_for(CorruptFound).block.block_id == 1


def test_a_replica_is_not_corrupt_because_its_reader_is_out_of_reach(
    filled: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any) -> int:
        raise OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))

    monkeypatch.setattr(os, "sendfile", unreachable)
    with pytest.raises(PeerClosed):
        lab.read_block(filled, lab.read_request(lab.block(), 0, len(DATA)))
    assert not [told for told in filled.events if isinstance(told, CorruptFound)]


def test_a_meta_file_that_was_cut_is_reported(filled: Any, lab: Lab) -> None:
    os.truncate(filled.block_path(1).with_name("blk_1_1001.meta"), 20)
    with pytest.raises(PeerClosed):
        lab.read_block(filled, lab.read_request(lab.block(), 0, len(DATA)))
    assert filled.wait_for(CorruptFound).block.block_id == 1


def test_a_block_file_that_vanished_is_reported_as_deleted(filled: Any, lab: Lab) -> None:
    filled.block_path(1).unlink()
    result = lab.read_block(filled, lab.read_request(lab.block(), 0, 10))
    assert "is gone from the disk" in result.response.message
    assert filled.wait_for(ReplicaDeleted).block.block_id == 1


@pytest.mark.parametrize("name", ["blk_1", "blk_1_1001.meta"])
def test_a_replica_that_vanished_takes_no_room(filled: Any, lab: Lab, name: str) -> None:
    filled.block_path(1).with_name(name).unlink()
    assert not lab.read_block(filled, lab.read_request(lab.block(), 0, 10)).response.is_success
    assert filled.volumes.all[0].pool_used_bytes(lab.POOL) == 0


# --- checksums of blocks ---


def ask_checksum(node: Any, request: BlockChecksum) -> Any:
    with node.connect() as connection:
        connection.send_all(encode_request(request))
        return read_response(connection)


@pytest.mark.parametrize("length", [0, 512, 1000, len(DATA)])
def test_md5crc_is_the_md5_of_the_chunk_checksums(lab: Lab, length: int) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA[:length], packet_bytes=64 * 1024)
    answer = ask_checksum(node, BlockChecksum(lab.block())).block_checksum
    sums = lab.sums_of(DATA[:length])
    assert answer.checksum == hashlib.md5(sums).digest()
    assert (answer.bytes_per_crc, answer.crc_per_block) == (512, len(sums) // 4)
    assert answer.crc_type is ChecksumType.CRC32C


@pytest.mark.parametrize("length", [0, 512, 1000, len(DATA)])
@pytest.mark.parametrize("chunk", [512, 100])
def test_composite_crc_is_that_of_the_data(lab: Lab, length: int, chunk: int) -> None:
    node = lab.node()
    spec = ChecksumSpec(ChecksumType.CRC32, chunk)
    lab.write_block(node, lab.block(), DATA[:length], spec=spec, packet_bytes=chunk * 500)
    request = BlockChecksum(lab.block(), BlockChecksumType.COMPOSITE_CRC)
    answer = ask_checksum(node, request).block_checksum
    assert int.from_bytes(answer.checksum, "big") == crc(ChecksumType.CRC32, DATA[:length])


@pytest.mark.parametrize("length", [1, 511, 512, 700])
@pytest.mark.parametrize("kind", BlockChecksumType)
def test_the_checksum_of_a_prefix_is_that_of_a_block_of_this_length(
    filled: Any, lab: Lab, length: int, kind: BlockChecksumType
) -> None:
    lab.write_block(filled, lab.block(2), DATA[:length])
    whole = ask_checksum(filled, BlockChecksum(lab.block(2), kind)).block_checksum
    prefix = ask_checksum(filled, BlockChecksum(lab.block(1, length=length), kind)).block_checksum
    assert prefix == whole


@pytest.mark.parametrize("stripe", [512, 2048, 1 << 20])
def test_a_crc_is_made_of_each_stripe(filled: Any, lab: Lab, stripe: int) -> None:
    request = BlockChecksum(lab.block(), BlockChecksumType.COMPOSITE_CRC, stripe)
    answer = ask_checksum(filled, request)
    assert answer.block_checksum is not None
    assert answer.block_checksum.checksum == b"".join(
        crc(ChecksumType.CRC32C, DATA[start : start + stripe]).to_bytes(4, "big")
        for start in range(0, len(DATA), stripe)
    )
    assert answer.block_checksum.stripe_length_bytes == stripe


def test_stripes_that_cut_chunks_are_refused(filled: Any, lab: Lab) -> None:
    request = BlockChecksum(lab.block(), BlockChecksumType.COMPOSITE_CRC, 1000)
    answer = ask_checksum(filled, request)
    assert not answer.is_success
    assert "stripes of 1000" in answer.message


def test_the_checksum_of_a_block_that_is_not_here_is_refused(filled: Any, lab: Lab) -> None:
    answer = ask_checksum(filled, BlockChecksum(lab.block(99)))
    assert (answer.status, "Replica not found" in answer.message) == (Status.ERROR, True)


# --- copies ---


def transfer(lab: Lab, length: int, *targets: Any) -> Transfer:
    return Transfer(lab.block(length=length), tuple(node.address for node in targets), (), ())


@pytest.mark.req("FS-015", "FS-027")
def test_a_replica_is_copied_to_a_pipeline_of_targets(filled: Any, lab: Lab) -> None:
    targets = [lab.node(), lab.node()]
    copies = Copies(filled.store, filled.settings)
    copies.sources[lab.block().pool_id] = filled.address
    copies.start(transfer(lab, len(DATA), *targets)).join(10)
    for target in targets:
        assert target.wait_for(ReplicaReceived).block.length_bytes == len(DATA)
        assert target.content(1) == DATA
    assert copies.running == 0


def test_a_copy_reaches_the_targets_that_are_there(filled: Any, lab: Lab) -> None:
    target, gone = lab.node(), lab.node()
    gone.close()
    copies = Copies(filled.store, filled.settings)
    copies.start(transfer(lab, len(DATA), target, gone)).join(10)
    assert target.wait_for(ReplicaReceived).block.length_bytes == len(DATA)


def test_a_damaged_replica_is_found_out_by_whoever_gets_it(filled: Any, lab: Lab) -> None:
    path = filled.block_path(1)
    path.write_bytes(b"!" + DATA[1:])
    target = lab.node()
    copies = Copies(filled.store, filled.settings)
    copies.sources[lab.block().pool_id] = filled.address
    copies.start(transfer(lab, len(DATA), target)).join(10)
    assert target.wait_for(CorruptFound).node == filled.address
    target.wait_idle()
    assert target.files("finalized") | target.files("tmp") == set()


def test_a_copy_of_a_block_that_is_not_here_is_logged(
    filled: Any, lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    command = Transfer(lab.block(99), (lab.node().address,), (), ())
    Copies(filled.store, filled.settings).start(command).join(10)
    assert "cannot copy BP-7-127.0.0.1-1:blk_99_1001" in caplog.text


def test_a_copy_to_nobody_is_logged(
    filled: Any, lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    Copies(filled.store, filled.settings).start(transfer(lab, 0)).join(10)
    assert "names no target" in caplog.text


# --- what isn't offered ---


@pytest.mark.parametrize(
    "op",
    [
        Op.READ_METADATA,
        Op.CUSTOM,
    ],
)
def test_an_operation_that_is_not_offered_is_refused_by_its_name(lab: Lab, op: Op) -> None:
    with lab.node().connect() as connection:
        connection.send_all(b"\x00\x1c" + bytes([op]) + encode_varint(2) + b"\x0a\x00")
        answer = read_response(connection)
        assert answer.status is Status.ERROR_UNSUPPORTED
        assert op.name in answer.message
        with pytest.raises(PeerClosed):
            connection.recv_exactly(1)


def test_a_replica_that_was_opened_is_read_as_it_was_while_a_client_appends_to_it(
    filled: Any, lab: Lab
) -> None:
    """The append writes another checksum of the last, partial chunk over the one on the disk."""
    block = lab.block(length=len(DATA))
    start = len(DATA) - len(DATA) % lab.SPEC.bytes_per_checksum
    with filled.store.open(block) as opened:
        append = lab.replace(
            lab.write_request(block, stage=lab.Stage.PIPELINE_SETUP_APPEND),
            min_bytes_received=len(DATA),
            latest_generation_stamp=block.generation_stamp + 1,
        )
        writer = lab.Writer(filled, append)
        writer.send(len(DATA), b"more")
        assert writer.ack().replies == (Status.SUCCESS,)
        assert read_sums(opened, lab.SPEC, start, len(DATA)) == lab.sums_of(DATA[start:])
        writer.close()
