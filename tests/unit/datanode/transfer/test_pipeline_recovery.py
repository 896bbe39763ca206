"""A pipeline that is built anew: what becomes of the replicas that the last one left."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.replicas import reopen
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import ReplicaDeleted, ReplicaOpened, ReplicaReceived
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.op_requests import (
    Stage,
    TransferBlock,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.protocol.data_transfer.responses import BlockOpResponse, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import PeerClosed

pytestmark = pytest.mark.usefixtures("either_way")

Lab = Any
DATA = bytes(range(256)) * 10
NEW = 1002
STREAMING = Stage.PIPELINE_SETUP_STREAMING_RECOVERY
APPENDING = Stage.PIPELINE_SETUP_APPEND_RECOVERY
CLOSING = Stage.PIPELINE_CLOSE_RECOVERY


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


def recovery(
    lab: Lab,
    stage: Stage,
    acked: int,
    *mirrors: Any,
    sent: int = len(DATA),
    stamp: int = NEW,
) -> WriteBlock:
    """What a client asks that has `acked` bytes acknowledged and sent `sent`."""
    request: WriteBlock = lab.write_request(lab.block(length=1 << 20), *mirrors, stage=stage)
    return replace(
        request,
        min_bytes_received=acked,
        max_bytes_received=sent,
        latest_generation_stamp=stamp,
    )


def write_part(lab: Lab, node: Any, data: bytes, *mirrors: Any) -> Any:
    """A writer whose packets up to here are acknowledged."""
    writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 20), *mirrors))
    if data:
        writer.send(0, data)
        assert writer.ack().is_success
    return writer


def write_rest(lab: Lab, node: Any, request: WriteBlock, start: int) -> None:
    """The pipeline goes on, with DATA from `start`, and is closed."""
    writer = lab.Writer(node, request)
    assert writer.response.is_success, writer.response
    writer.send(start, DATA[start:])
    assert writer.ack().is_success
    writer.send(len(DATA), b"", last=True)
    assert writer.ack().is_success


def check_final(lab: Lab, node: Any, stamp: int = NEW) -> None:
    """DATA, its checksums, the new stamp and nothing else are on the disk."""
    assert node.files("rbw") == set()
    assert node.files("finalized") == {"blk_1", f"blk_1_{stamp}.meta"}
    assert node.content(1) == DATA
    meta = node.block_path(1).with_name(f"blk_1_{stamp}.meta").read_bytes()
    assert meta[7:] == lab.sums_of(DATA)


# --- the pipeline goes on ---


@pytest.mark.req("FS-126", "FS-128")
@pytest.mark.parametrize("acked", [0, 1, 512, 700])
def test_a_write_goes_on_under_the_new_stamp(lab: Lab, node: Any, acked: int) -> None:
    write_part(lab, node, DATA[:acked]).close()
    write_rest(lab, node, recovery(lab, STREAMING, acked), acked - acked % 512)
    check_final(lab, node)


@pytest.mark.req("FS-126")
def test_a_writer_that_still_holds_the_replica_is_stopped_first(lab: Lab, node: Any) -> None:
    old = write_part(lab, node, DATA[:700])
    write_rest(lab, node, recovery(lab, STREAMING, 700), 512)
    check_final(lab, node)
    with pytest.raises(PeerClosed):
        old.ack()


@pytest.fixture
def patient(lab: Lab) -> Any:
    """A node whose own time-outs end nothing within a test."""
    return lab.node(DataSettings(socket_timeout_s=60, write_timeout_s=60, keepalive_s=2))


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """What is mistaken for a datanode: it takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def start_behind(lab: Lab, node: Any, silent: socket.socket) -> Any:
    """A write with `silent` as the mirror; the client's connection."""
    mirror = replace(node.address, transfer_port=silent.getsockname()[1])
    request = replace(lab.write_request(lab.block(length=1 << 20)), targets=(mirror,))
    connection = node.connect()
    connection.send_all(encode_request(request))
    return connection


def test_a_writer_that_waits_for_acks_of_a_silent_mirror_is_stopped(
    lab: Lab, patient: Any, silent: socket.socket
) -> None:
    connection = start_behind(lab, patient, silent)
    behind, _ = silent.accept()
    behind.sendall(BlockOpResponse(Status.SUCCESS).encode())
    assert read_response(connection).is_success
    sums = lab.sums_of(DATA[:512])
    connection.send_all(encode_packet(PacketHeader(0, 0, False, 512), sums, DATA[:512]))
    lab.wait_until(lambda: patient.store.length(lab.block()) == 512)
    write_rest(lab, patient, recovery(lab, STREAMING, 0), 0)
    check_final(lab, patient)
    behind.close()


def test_a_writer_that_waits_for_a_silent_mirror_to_be_set_up_is_stopped(
    lab: Lab, patient: Any, silent: socket.socket
) -> None:
    start_behind(lab, patient, silent)
    behind, _ = silent.accept()
    # Of a pipeline that never stood nothing is left, and that is said at once.
    writer = lab.Writer(patient, recovery(lab, STREAMING, 0))
    assert "Replica not found" in writer.response.message
    behind.close()


@pytest.mark.req("FS-126")
@pytest.mark.parametrize("acked", [0, 1, 511, 512, 513, 1100, 2047])
def test_bytes_that_nobody_acknowledged_are_cut(lab: Lab, node: Any, acked: int) -> None:
    write_part(lab, node, DATA[:2048]).close()
    node.wait_idle()
    replica = node.replicas.find(lab.POOL, 1)
    replica._acked_bytes = acked
    request = recovery(lab, STREAMING, acked)
    writer = reopen.recover_streaming(node.store, request, Idle())
    assert replica.length_bytes == acked
    block_path, meta_path = (Path(p) for p in node.store.paths(lab.POOL, replica))
    assert block_path.read_bytes() == DATA[:acked]
    assert meta_path.read_bytes()[7:] == lab.sums_of(DATA[:acked])
    node.store.abandon(writer)
    write_rest(lab, node, request, acked - acked % 512)
    check_final(lab, node)
    assert node.volumes.all[0].pool_used_bytes(lab.POOL) == len(DATA) + 7 + len(lab.sums_of(DATA))


class Idle:
    """A holder that has nothing to stop."""

    def stop(self, why: str) -> None:
        return


class Killed(BaseException):
    """`kill -9`: nothing after this point happens."""


@pytest.mark.req("FS-126")
@pytest.mark.parametrize("acked", [1, 512, 1100])
@pytest.mark.parametrize("step", range(5))
def test_a_kill_in_the_middle_of_a_recovery_keeps_what_was_acknowledged(
    lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch, acked: int, step: int
) -> None:
    write_part(lab, node, DATA[:2048]).close()
    node.wait_idle()
    node.replicas.find(lab.POOL, 1)._acked_bytes = acked
    node.close()
    done = 0

    def dying(act: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal done
            if done == step:
                raise Killed
            done += 1
            return act(*arguments)

        return call

    with monkeypatch.context() as patch:
        for name in ("pwrite", "ftruncate", "truncate", "rename"):
            patch.setattr(os, name, dying(getattr(os, name)))
        with contextlib.suppress(Killed):
            reopen.recover_streaming(node.store, recovery(lab, STREAMING, acked), Idle())
    after = lab.node(root=lab.root / "node0")
    (replica,) = after.replicas.of_pool(lab.POOL)
    assert replica.state is ReplicaState.RWR
    assert replica.length_bytes >= acked
    with after.store.open(replica.as_block(lab.POOL)) as opened:
        assert os.pread(opened.block_fd, acked, 0) == DATA[:acked]
        opened.sum_up_to(acked)
    assert after.files("quarantine") == set()


def test_a_damaged_chunk_is_not_cut_and_summed_anew(lab: Lab, node: Any) -> None:
    write_part(lab, node, DATA[:2048]).close()
    node.wait_idle()
    replica = node.replicas.find(lab.POOL, 1)
    replica._acked_bytes = 700
    Path(node.store.paths(lab.POOL, replica)[0]).write_bytes(b"!" * 2048)
    writer = lab.Writer(node, recovery(lab, STREAMING, 700))
    assert "does not fit its checksum" in writer.response.message


@pytest.mark.parametrize(
    ("acked", "sent", "why"),
    [(701, 2560, "Unmatched length"), (0, 699, "Unmatched length")],
)
def test_a_replica_that_the_client_does_not_know_so_is_left_out(
    lab: Lab, node: Any, acked: int, sent: int, why: str
) -> None:
    write_part(lab, node, DATA[:700]).close()
    writer = lab.Writer(node, recovery(lab, STREAMING, acked, sent=sent))
    assert writer.response.status is Status.ERROR
    assert why in writer.response.message


def test_a_node_that_restarted_is_left_out(lab: Lab, node: Any) -> None:
    write_part(lab, node, DATA[:700]).close()
    node.wait_idle()
    node.close()
    again = lab.node(root=lab.root / "node0")
    writer = lab.Writer(again, recovery(lab, STREAMING, 700))
    assert "RWR" in writer.response.message


def test_a_second_attempt_finds_the_stamp_of_the_first(lab: Lab, node: Any) -> None:
    write_part(lab, node, DATA[:700]).close()
    lab.Writer(node, recovery(lab, STREAMING, 700)).close()
    write_rest(lab, node, recovery(lab, STREAMING, 700, stamp=1003), 512)
    check_final(lab, node, 1003)


def test_a_stamp_does_not_go_back(lab: Lab, node: Any) -> None:
    write_part(lab, node, DATA[:700]).close()
    lab.Writer(node, recovery(lab, STREAMING, 700, stamp=1005)).close()
    node.wait_idle()
    writer = lab.Writer(node, recovery(lab, STREAMING, 700, stamp=1003))
    assert "Unexpected generation stamp" in writer.response.message


@pytest.mark.req("FS-124", "FS-127", "FS-128")
def test_the_pipeline_goes_on_without_the_node_that_failed_before_the_first_packet(
    lab: Lab,
) -> None:
    first, middle, last = lab.node(), lab.node(), lab.node()
    writer = write_part(lab, first, b"", middle, last)
    middle.close()
    writer.send(0, DATA)
    assert writer.ack().replies[:2] == (Status.SUCCESS, Status.ERROR)
    write_rest(lab, first, recovery(lab, STREAMING, 0, last), 0)
    for node in (first, last):
        check_final(lab, node)


def test_a_mirror_that_cannot_be_reached_is_named_and_the_replica_waits(lab: Lab) -> None:
    node, gone = lab.node(), lab.node()
    write_part(lab, node, DATA[:700]).close()
    gone.close()
    writer = lab.Writer(node, recovery(lab, STREAMING, 700, gone))
    assert writer.response.first_bad_link == gone.address.transfer_address
    write_rest(lab, node, recovery(lab, STREAMING, 700, stamp=1003), 512)
    check_final(lab, node, 1003)


@pytest.mark.parametrize("stage", [STREAMING, APPENDING])
def test_room_is_held_for_the_rest_of_the_block(lab: Lab, node: Any, stage: Stage) -> None:
    volume = node.volumes.all[0]
    write_part(lab, node, DATA[:700]).close()
    writer = lab.Writer(node, recovery(lab, stage, 700))
    assert writer.response.is_success
    assert volume.promised_bytes == (1 << 20) - 700
    writer.close()
    node.wait_idle()
    assert volume.promised_bytes == 0


def test_the_control_process_hears_of_the_new_stamp(lab: Lab, node: Any) -> None:
    write_part(lab, node, DATA[:700]).close()
    lab.Writer(node, recovery(lab, STREAMING, 700)).close()
    assert node.events[-1] == ReplicaOpened(lab.block(1, NEW, 700), "DS-0")


# --- an append whose first pipeline failed ---


def test_an_append_is_recovered_on_a_finalized_replica(lab: Lab, node: Any) -> None:
    lab.write_block(node, lab.block(), DATA[:700])
    write_rest(lab, node, recovery(lab, APPENDING, 700), 700)
    check_final(lab, node)


def test_an_append_is_recovered_on_a_replica_that_is_open_already(lab: Lab, node: Any) -> None:
    lab.write_block(node, lab.block(), DATA[:700])
    first = lab.Writer(node, recovery(lab, Stage.PIPELINE_SETUP_APPEND, 700))
    assert first.response.is_success
    write_rest(lab, node, recovery(lab, APPENDING, 700, stamp=1003), 700)
    check_final(lab, node, 1003)


def test_an_append_to_a_replica_of_another_length_is_not_recovered(lab: Lab, node: Any) -> None:
    lab.write_block(node, lab.block(), DATA[:700])
    writer = lab.Writer(node, recovery(lab, APPENDING, 600))
    assert "600 are expected" in writer.response.message


# --- the close is done again ---


@pytest.mark.req("FS-126")
def test_a_replica_that_is_final_already_gets_the_new_stamp_and_stays_final(
    lab: Lab, node: Any
) -> None:
    lab.write_block(node, lab.block(), DATA)
    writer = lab.Writer(node, recovery(lab, CLOSING, len(DATA)))
    assert writer.response.is_success
    check_final(lab, node)
    assert node.events[-1] == ReplicaReceived(lab.block(1, NEW, len(DATA)), "DS-0")


@pytest.mark.req("FS-126")
def test_a_replica_that_is_not_final_yet_is_finalized(lab: Lab) -> None:
    nodes = [lab.node(), lab.node()]
    write_part(lab, nodes[0], DATA)
    lab.write_block(nodes[1], lab.block(), DATA)
    writer = lab.Writer(nodes[0], recovery(lab, CLOSING, len(DATA), nodes[1]))
    assert writer.response.is_success
    for node in nodes:
        check_final(lab, node)
        assert node.events[-1] == ReplicaReceived(lab.block(1, NEW, len(DATA)), "DS-0")
        assert len(node.store.writers) == 0


def test_closing_again_waits_for_the_disk_where_that_is_configured(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = lab.node(DataSettings(socket_timeout_s=5, sync_on_close=True))
    write_part(lab, node, DATA)
    synced: set[str] = set()

    def noting(sync: Callable[[int], None]) -> Callable[[int], None]:
        def noted(fd: int) -> None:
            synced.add(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
            sync(fd)

        return noted

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, noting(getattr(os, name)))
    assert lab.Writer(node, recovery(lab, CLOSING, len(DATA))).response.is_success
    assert synced >= {"blk_1", f"blk_1_{NEW}.meta", "rbw", node.block_path(1).parent.name}


@pytest.mark.req("LM-041")
def test_closing_a_final_replica_again_under_its_own_stamp_brings_it_to_the_disk(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), DATA)
    synced: set[str] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    request = recovery(lab, CLOSING, len(DATA), stamp=lab.block().generation_stamp)
    assert lab.Writer(node, request).response.is_success
    meta = f"blk_1_{lab.block().generation_stamp}.meta"
    assert synced >= {"blk_1", meta, node.block_path(1).parent.name, "finalized"}
    assert node.files("finalized") == {"blk_1", meta}


def test_a_close_that_fails_at_the_mirror_names_it_and_can_be_done_again(lab: Lab) -> None:
    node, gone = lab.node(), lab.node()
    lab.write_block(node, lab.block(), DATA)
    gone.close()
    writer = lab.Writer(node, recovery(lab, CLOSING, len(DATA), gone))
    assert writer.response.first_bad_link == gone.address.transfer_address
    assert lab.Writer(node, recovery(lab, CLOSING, len(DATA), stamp=1003)).response.is_success
    check_final(lab, node, 1003)


def test_a_replica_that_lacks_bytes_is_not_closed(lab: Lab, node: Any) -> None:
    write_part(lab, node, DATA[:700]).close()
    writer = lab.Writer(node, recovery(lab, CLOSING, len(DATA)))
    assert writer.response.status is Status.ERROR
    assert node.files("finalized") == set()


# --- a copy for a node that joins ---


def transfer(lab: Lab, source: Any, *targets: Any) -> Any:
    connection = source.connect()
    addresses = tuple(target.address for target in targets)
    connection.send_all(encode_request(TransferBlock(lab.block(), "client", addresses)))
    return read_response(connection)


@pytest.mark.req("FS-131")
@pytest.mark.parametrize("length", [0, 1, 512, 700, 2560])
def test_a_partial_replica_is_copied_to_a_node_that_joins_the_pipeline(
    lab: Lab, length: int
) -> None:
    source, joining = lab.node(), lab.node()
    write_part(lab, source, DATA[:length]).close()
    assert transfer(lab, source, joining).is_success
    replica = joining.replicas.find(lab.POOL, 1)
    assert (replica.state, replica.acked_bytes) == (ReplicaState.RBW, length)
    write_rest(lab, source, recovery(lab, STREAMING, length, joining), length - length % 512)
    for node in (source, joining):
        check_final(lab, node)


def test_a_copy_has_the_acknowledged_bytes_and_may_have_more(lab: Lab) -> None:
    source, joining = lab.node(), lab.node()
    write_part(lab, source, DATA[:2048]).close()
    source.wait_idle()
    source.replicas.find(lab.POOL, 1)._acked_bytes = 700
    assert transfer(lab, source, joining).is_success
    replica = joining.replicas.find(lab.POOL, 1)
    assert (replica.acked_bytes, replica.length_bytes) == (700, 2048)


def test_a_finalized_replica_is_copied_as_one(lab: Lab) -> None:
    source, joining = lab.node(), lab.node()
    lab.write_block(source, lab.block(), DATA)
    assert transfer(lab, source, joining).is_success
    check_final(lab, joining, 1001)


@pytest.mark.req("FS-126")
def test_a_stale_replica_makes_way_for_the_copy(lab: Lab) -> None:
    source, joining = lab.node(), lab.node()
    write_part(lab, joining, DATA[:100]).close()
    write_part(lab, source, DATA[:700]).close()
    lab.Writer(source, recovery(lab, STREAMING, 700)).close()
    assert transfer(lab, source, joining).is_success
    assert joining.files("rbw") == {"blk_1", f"blk_1_{NEW}.meta"}
    assert any(isinstance(event, ReplicaDeleted) for event in joining.events)


def test_a_target_that_has_the_block_refuses_the_copy(lab: Lab) -> None:
    source, other = lab.node(), lab.node()
    for node in (source, other):
        write_part(lab, node, DATA[:700]).close()
    answer = transfer(lab, source, other)
    assert answer.status is Status.ERROR


def test_a_target_that_is_gone_is_told_to_the_client(lab: Lab) -> None:
    source, gone = lab.node(), lab.node()
    write_part(lab, source, DATA[:700]).close()
    gone.close()
    assert transfer(lab, source, gone).status is Status.ERROR


def test_a_transfer_without_a_target_is_refused(lab: Lab, node: Any) -> None:
    write_part(lab, node, DATA[:700]).close()
    assert "no target" in transfer(lab, node).message


@pytest.mark.parametrize("length", [0, 700, 2560])
def test_a_partial_replica_is_copied_to_several_nodes_at_once(lab: Lab, length: int) -> None:
    source, *joining = (lab.node() for _ in range(4))
    write_part(lab, source, DATA[:length]).close()
    assert transfer(lab, source, *joining).is_success
    for node in joining:
        replica = node.replicas.find(lab.POOL, 1)
        assert (replica.state, replica.acked_bytes) == (ReplicaState.RBW, length)
    write_rest(lab, source, recovery(lab, STREAMING, length, *joining), length - length % 512)
    for node in (source, *joining):
        check_final(lab, node)


def test_a_copy_that_one_of_several_nodes_does_not_take_names_that_node(lab: Lab) -> None:
    source, first, last = (lab.node() for _ in range(3))
    write_part(lab, last, DATA[:700])
    write_part(lab, source, DATA[:700]).close()
    answer = transfer(lab, source, first, last)
    assert answer.status is Status.ERROR
    assert last.address.transfer_address in answer.message


def test_a_transfer_of_what_is_not_there_is_refused(lab: Lab, node: Any) -> None:
    assert "Replica not found" in transfer(lab, node, lab.node()).message


def test_a_copy_that_breaks_off_leaves_nothing(lab: Lab, node: Any) -> None:
    connection = node.connect()
    request = recovery(lab, Stage.TRANSFER_RBW, 0)
    connection.send_all(encode_request(request))
    lab.wait_until(lambda: node.files("tmp") != set())
    connection.close()
    node.wait_idle()
    assert node.files("tmp") == set()
    assert node.replicas.find(lab.POOL, 1) is None
