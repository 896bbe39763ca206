"""Output streams whose datanodes fail on the way: the writer notices nothing."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from typing import Any

import pytest

from howdah import errors
from howdah.client.state.writing.pipeline_rules import Policy, ReplacementPolicy
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import UNKNOWN_SEQNO, encode_ack
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.testing.waiting import wait_until

FakeCluster = Any
DATA = random.Random(11).randbytes(60_000)
NEVER = ReplacementPolicy(Policy.NEVER)
ALWAYS = ReplacementPolicy(Policy.ALWAYS)


ONE_AT_A_TIME: dict[str, Any] = {"max_packets_in_flight": 1}
"""The client has read the ack of a packet when it sends the next one. Otherwise it may notice that
the connection breaks while acks are still on their way."""


class DieAt:
    """The node stops when packet `seqno` comes, the first time."""

    def __init__(self, node: Any, seqno: int, *, other: Any = None) -> None:
        self.node = node
        self.seqno = seqno
        self.victim = other or node
        node.on_packet = self

    def __call__(self, header: Any, connection: Any) -> bool:
        if header.seqno == self.seqno:
            self.victim.stop()
        return bool(self.node.stopped)


def write(cluster: FakeCluster, content: bytes = DATA, **settings: Any) -> None:
    with cluster.create(packet_data_bytes=1024, **settings) as out:
        out.write(content)


def stages(node: Any) -> list[Stage]:
    return [request.stage for request in node.writes]


def last_stamp(cluster: FakeCluster) -> int:
    stamp: int = cluster.namenode.files["/f"].blocks[-1].generation_stamp
    return stamp


# --- one node fails ----------------------------------------------------------------------


@pytest.mark.req("FS-124", "FS-127", "FS-128", "FS-131")
@pytest.mark.parametrize("seqno", [0, 1, 30, 58])
def test_the_first_node_fails_at_any_packet_and_the_content_is_right(
    cluster: FakeCluster, seqno: int
) -> None:
    DieAt(cluster.datanodes[0], seqno)
    write(cluster)
    assert cluster.content(node=1) == cluster.content(node=2) == DATA


@pytest.mark.req("FS-127", "FS-131")
@pytest.mark.parametrize("victim", [1, 2])
@pytest.mark.parametrize("seqno", [0, 30])
def test_a_node_further_down_fails_and_the_content_is_right(
    cluster: FakeCluster, victim: int, seqno: int
) -> None:
    DieAt(cluster.datanodes[0], seqno, other=cluster.datanodes[victim])
    write(cluster)
    assert cluster.content(node=0) == cluster.content(node=3 - victim) == DATA


@pytest.mark.req("FS-125")
def test_packets_that_were_not_acknowledged_are_sent_again_in_order(cluster: FakeCluster) -> None:
    DieAt(cluster.datanodes[0], 30)
    write(cluster, **ONE_AT_A_TIME)
    seqnos = [header.seqno for header in cluster.datanodes[1].packets if not header.is_heartbeat]
    assert seqnos == list(range(30, seqnos[-1] + 1))


@pytest.mark.req("FS-126")
def test_the_block_gets_a_new_generation_stamp_that_the_namenode_knows(
    cluster: FakeCluster,
) -> None:
    DieAt(cluster.datanodes[0], 30)
    write(cluster)
    block_id = cluster.namenode.files["/f"].blocks[-1].block_id
    names = [name for name in cluster.namenode.names() if "ipeline" in name]
    assert names == ["updateBlockForPipeline", "updatePipeline"]
    assert [node.stamps[block_id] for node in cluster.datanodes] == [1001, 1002, 1002]
    assert last_stamp(cluster) == 1002


@pytest.mark.req("FS-126")
def test_the_nodes_that_are_left_are_told_what_was_acknowledged_and_what_was_sent(
    cluster: FakeCluster,
) -> None:
    DieAt(cluster.datanodes[0], 30)
    write(cluster, **ONE_AT_A_TIME)
    (request,) = cluster.datanodes[1].writes
    assert request.stage is Stage.PIPELINE_SETUP_STREAMING_RECOVERY
    assert (request.block.generation_stamp, request.latest_generation_stamp) == (1001, 1002)
    assert request.min_bytes_received == 30 * 1024
    assert request.max_bytes_received >= 31 * 1024
    assert request.pipeline_size == 2


@pytest.mark.req("FS-130")
def test_the_next_block_has_a_full_pipeline_again(cluster: FakeCluster) -> None:
    def fail_once(header: Any, connection: Any) -> bool:
        cluster.datanodes[0].on_packet = None
        return True

    cluster.datanodes[0].on_packet = fail_once
    write(cluster, block_size=32 * 1024)
    assert [request.pipeline_size for request in cluster.datanodes[0].writes] == [3, 3]
    assert [request.pipeline_size for request in cluster.datanodes[1].writes] == [2]
    assert cluster.content(node=1) == DATA


def test_a_node_that_died_in_one_block_is_left_out_of_the_next(cluster: FakeCluster) -> None:
    DieAt(cluster.datanodes[0], 3)
    write(cluster, block_size=32 * 1024)
    assert cluster.content(node=1) == cluster.content(node=2) == DATA


class Announce:
    """The first node says, once, that node `index` of the pipeline restarts."""

    def __init__(self, cluster: FakeCluster, index: int) -> None:
        self.node = cluster.datanodes[0]
        self.replies = (Status.SUCCESS,) * index + (Status.OOB_RESTART,)
        self.node.on_packet = self

    def __call__(self, header: Any, connection: Any) -> bool:
        connection.send_all(encode_ack(UNKNOWN_SEQNO, self.replies))
        self.node.on_packet = None
        return True


def test_a_datanode_of_this_machine_that_announces_its_restart_is_waited_for(
    cluster: FakeCluster,
) -> None:
    Announce(cluster, 1)
    with cluster.create() as out:
        out.write(b"x")
        out.hflush()
        assert out.statistics().restarts_awaited == 1
        assert out.statistics().datanodes_failed == 0
    targets = [node.uuid for node in cluster.datanodes[0].writes[-1].targets]
    assert targets == ["uuid-1", "uuid-2"]


def test_a_remote_datanode_that_announces_its_restart_is_left_behind(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.client.writing.output.is_local", lambda node: False)
    Announce(cluster, 1)
    write(cluster, b"x")
    assert [node.uuid for node in cluster.datanodes[0].writes[-1].targets] == ["uuid-2"]


def test_a_datanode_that_does_not_come_back_in_time_is_left_behind(cluster: FakeCluster) -> None:
    victim = cluster.datanodes[1]

    class AnnounceAndStop(Announce):
        def __call__(self, header: Any, connection: Any) -> bool:
            victim.stop()
            return super().__call__(header, connection)

    AnnounceAndStop(cluster, 1)
    write(cluster, b"x", restart_timeout_s=0.05)
    assert [node.uuid for node in cluster.datanodes[0].writes[-1].targets] == ["uuid-2"]


def test_a_silent_node_is_left_behind(cluster: FakeCluster) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    # The others have to answer within it, on a busy machine.
    write(cluster, b"content", socket_timeout_s=1.0)
    assert cluster.content(node=1) == b"content"


# --- close -----------------------------------------------------------------------------------


@pytest.mark.req("FS-131")
def test_a_node_that_fails_at_the_last_packet_leaves_the_others_to_finalize(
    cluster: FakeCluster,
) -> None:
    def fail_last(header: Any, connection: Any) -> bool:
        return bool(header.last_in_block)

    cluster.datanodes[0].on_packet = fail_last
    write(cluster)
    assert cluster.content(node=1) == cluster.content(node=2) == DATA
    (request,) = cluster.datanodes[1].writes
    assert request.stage is Stage.PIPELINE_CLOSE_RECOVERY
    assert request.min_bytes_received == request.max_bytes_received == len(DATA)
    assert cluster.datanodes[1].packets == []
    (complete,) = [call for call in cluster.namenode.calls if call[0] == "complete"]
    assert complete[1].generation_stamp == 1002
    assert complete[1].length_bytes == len(DATA)


def test_a_block_is_finalized_that_way_and_the_next_one_is_written(cluster: FakeCluster) -> None:
    def fail_last(header: Any, connection: Any) -> bool:
        if header.last_in_block:
            cluster.datanodes[0].on_packet = None
        return bool(header.last_in_block)

    cluster.datanodes[0].on_packet = fail_last
    write(cluster, block_size=32 * 1024)
    assert cluster.content(node=1) == DATA
    assert Stage.PIPELINE_CLOSE_RECOVERY in stages(cluster.datanodes[1])


def test_no_datanode_is_added_while_a_block_is_closed(cluster: FakeCluster) -> None:
    spare = cluster.add_spare()
    cluster.datanodes[0].on_packet = lambda header, connection: header.last_in_block
    write(cluster, replacement=ALWAYS)
    assert spare.replicas == {}


# --- several nodes fail ------------------------------------------------------------------------


@pytest.mark.req("FS-132")
def test_two_of_three_nodes_fail_and_the_write_succeeds(cluster: FakeCluster) -> None:
    DieAt(cluster.datanodes[0], 10)
    DieAt(cluster.datanodes[1], 20)
    write(cluster)
    assert cluster.content(node=2) == DATA


@pytest.mark.req("FS-132")
def test_two_of_three_nodes_fail_at_once_and_the_write_succeeds(cluster: FakeCluster) -> None:
    DieAt(cluster.datanodes[0], 10)
    DieAt(cluster.datanodes[0], 10, other=cluster.datanodes[1])
    cluster.datanodes[0].on_packet = None

    def both(header: Any, connection: Any) -> bool:
        if header.seqno == 10:
            # The second one must be away when the first one is missed.
            cluster.datanodes[1].refuse_connections()
            cluster.datanodes[0].stop()
        return bool(header.seqno >= 10)

    cluster.datanodes[0].on_packet = both
    write(cluster)
    assert cluster.content(node=2) == DATA


def test_all_nodes_fail_and_the_error_names_each_with_its_reason(cluster: FakeCluster) -> None:
    for node in cluster.datanodes:
        DieAt(node, 10)
    with pytest.raises(errors.PipelineFailed) as caught:
        write(cluster)
    message = str(caught.value)
    assert "/f: the pipeline of blk_" in message
    assert f"{10 * 1024} bytes of the block are acknowledged" in message
    for node in cluster.datanodes:
        assert str(node.address) in message


def test_a_pipeline_that_breaks_again_and_again_without_progress_is_given_up(
    cluster: FakeCluster,
) -> None:
    for node in [*cluster.datanodes, cluster.add_spare()]:
        node.on_packet = lambda header, connection: True
    with pytest.raises(errors.PipelineFailed, match="broke 2 times with no packet acknowledged"):
        write(cluster, pipeline_recovery_retries=1)


# --- flushes ---------------------------------------------------------------------------------


@pytest.mark.req("FS-131")
@pytest.mark.parametrize("sync", ["hflush", "hsync"])
def test_a_flush_that_waits_during_a_recovery_succeeds(cluster: FakeCluster, sync: str) -> None:
    out = cluster.create(replacement=NEVER)
    DieAt(cluster.datanodes[0], 1)
    out.write(b"before")
    out.hflush()
    out.write(b" and after")
    getattr(out, sync)()
    assert cluster.content(node=1) == b"before and after"
    out.close()
    assert cluster.content(node=2) == b"before and after"


def test_what_was_flushed_in_the_middle_of_a_chunk_survives(cluster: FakeCluster) -> None:
    with cluster.create(replacement=NEVER) as out:
        for start in range(0, 3000, 100):
            out.write(DATA[start : start + 100])
            out.hflush()
            if start == 1300:
                cluster.datanodes[0].stop()
    assert cluster.content(node=1) == cluster.content(node=2) == DATA[:3000]


def test_an_idle_pipeline_that_breaks_is_mended_before_the_next_write(
    cluster: FakeCluster,
) -> None:
    out = cluster.create(replacement=NEVER)
    out.write(b"before")
    out.hflush()
    cluster.datanodes[0].stop()
    deadline = time.monotonic() + 30
    while "updatePipeline" not in cluster.namenode.names():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    out.write(b" and after")
    out.close()
    assert cluster.content(node=1) == b"before and after"


def test_several_writers_of_one_stream_notice_nothing(cluster: FakeCluster) -> None:
    DieAt(cluster.datanodes[0], 20)
    out = cluster.create(packet_data_bytes=1024, max_packets_in_flight=4)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(50):
                out.write(b"x" * 500)
                out.hflush()
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    out.close()
    assert failures == []
    assert cluster.content(node=1) == b"x" * 100_000


# --- replacements ------------------------------------------------------------------------------


def test_a_replacement_gets_the_replica_and_joins_the_pipeline(cluster: FakeCluster) -> None:
    spare = cluster.add_spare()
    die = DieAt(cluster.datanodes[0], 30)
    with cluster.create(packet_data_bytes=1024, replacement=ALWAYS) as out:

        def die_when_acked(header: Any, connection: Any) -> bool:
            if header.seqno == 30:
                wait_until(lambda: out.statistics().bytes_acknowledged == 30 * 1024, 20)
            return die(header, connection)

        cluster.datanodes[0].on_packet = die_when_acked
        out.write(DATA)
    block_id = cluster.namenode.files["/f"].blocks[-1].block_id
    assert bytes(spare.replicas[block_id]) == DATA
    (transfer,) = cluster.datanodes[1].transfers
    assert transfer.block.length_bytes == 30 * 1024
    assert transfer.block.generation_stamp == 1001
    assert [node.uuid for node in transfer.targets] == ["uuid-3"]
    assert cluster.datanodes[1].writes[-1].pipeline_size == 3


def test_the_namenode_is_told_which_nodes_are_there_and_which_failed(
    cluster: FakeCluster,
) -> None:
    cluster.add_spare()
    DieAt(cluster.datanodes[0], 30)
    write(cluster, replacement=ALWAYS)
    addresses = [node.address for node in cluster.datanodes]
    (call,) = [call for call in cluster.namenode.calls if call[0] == "getAdditionalDatanode"]
    assert call[1:] == (tuple(addresses[1:]), (addresses[0],))


def test_a_flushed_block_is_brought_up_to_its_replication_by_default(
    cluster: FakeCluster,
) -> None:
    spare = cluster.add_spare()
    DieAt(cluster.datanodes[0], 1)
    with cluster.create() as out:
        out.write(b"before")
        out.hflush()
        out.write(b" and after")
        out.hflush()
        (replica,) = spare.replicas.values()
        assert bytes(replica) == b"before and after"


def test_a_target_that_gets_no_copy_is_left_out_and_another_one_tried(
    cluster: FakeCluster,
) -> None:
    bad, good = cluster.add_spare(), cluster.add_spare()
    bad.stop()
    DieAt(cluster.datanodes[0], 30)
    write(cluster, replacement=ALWAYS)
    assert bad.replicas == {}
    assert bytes(*good.replicas.values()) == DATA


def test_a_source_that_cannot_be_reached_is_dropped_as_well(cluster: FakeCluster) -> None:
    spare = cluster.add_spare()

    def both(header: Any, connection: Any) -> bool:
        if header.seqno == 10:
            # The second one must be away when the first one is missed.
            cluster.datanodes[1].refuse_connections()
            cluster.datanodes[0].stop()
        return bool(header.seqno >= 10)

    cluster.datanodes[0].on_packet = both
    write(cluster, replacement=ALWAYS)
    assert bytes(*spare.replicas.values()) == cluster.content(node=2) == DATA


def test_without_best_effort_a_missing_replacement_ends_the_write_and_names_the_policy(
    cluster: FakeCluster,
) -> None:
    DieAt(cluster.datanodes[0], 30)
    strict = dataclasses.replace(ALWAYS, min_replication=0)
    with pytest.raises(errors.PipelineFailed, match=r"2 of 3 .*replace-datanode.*ALWAYS") as caught:
        write(cluster, replacement=strict)
    assert "knows no other datanode" in str(caught.value)


def test_with_best_effort_it_goes_on_without_one(cluster: FakeCluster) -> None:
    DieAt(cluster.datanodes[0], 30)
    write(cluster, replacement=ReplacementPolicy(Policy.ALWAYS, True, 0))
    assert cluster.content(node=1) == DATA


def test_targets_that_all_fail_are_tried_three_times(cluster: FakeCluster) -> None:
    for _ in range(5):
        cluster.add_spare().stop()
    DieAt(cluster.datanodes[0], 30)
    write(cluster, replacement=ALWAYS)
    assert cluster.namenode.names().count("getAdditionalDatanode") == 3
    assert cluster.content(node=1) == DATA


def test_a_namenode_that_refuses_a_replacement_is_quoted(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise errors.RemoteError("not today")

    monkeypatch.setattr(cluster.namenode, "get_additional_datanode", refuse)
    DieAt(cluster.datanodes[0], 30)
    strict = dataclasses.replace(ALWAYS, min_replication=0)
    with pytest.raises(errors.PipelineFailed, match="the namenode says: not today"):
        write(cluster, replacement=strict)


# --- append --------------------------------------------------------------------------------------


@pytest.mark.req("FS-131")
def test_an_append_goes_on_when_a_node_cannot_be_reached(cluster: FakeCluster) -> None:
    cluster.put(DATA[:1000])
    cluster.datanodes[0].stop()
    with cluster.append(replacement=NEVER) as out:
        out.write(DATA[1000:5000])
    assert cluster.content(node=1) == cluster.content(node=2) == DATA[:5000]
    assert stages(cluster.datanodes[1]) == [Stage.PIPELINE_SETUP_APPEND_RECOVERY]


@pytest.mark.req("FS-131")
def test_an_append_goes_on_when_a_node_further_down_cannot_be_reached(
    cluster: FakeCluster,
) -> None:
    cluster.put(DATA[:1000])
    cluster.datanodes[2].stop()
    with cluster.append(replacement=NEVER) as out:
        out.write(DATA[1000:5000])
    assert cluster.content(node=0) == cluster.content(node=1) == DATA[:5000]


@pytest.mark.req("FS-131")
def test_an_append_goes_on_when_a_node_fails_on_the_way(cluster: FakeCluster) -> None:
    cluster.put(DATA[:1000])
    DieAt(cluster.datanodes[0], 2)
    with cluster.append(replacement=NEVER, packet_data_bytes=512) as out:
        out.write(DATA[1000:5000])
    assert cluster.content(node=1) == cluster.content(node=2) == DATA[:5000]


def test_an_append_gets_a_replacement_by_default(cluster: FakeCluster) -> None:
    spare = cluster.add_spare()
    cluster.put(DATA[:1000])
    cluster.datanodes[0].stop()
    with cluster.append() as out:
        out.write(DATA[1000:5000])
    assert bytes(*spare.replicas.values()) == DATA[:5000]


def test_an_append_of_nothing_finalizes_again_although_a_node_is_gone(
    cluster: FakeCluster,
) -> None:
    cluster.put(b"abc")
    cluster.datanodes[0].stop()
    cluster.append(replacement=NEVER).close()
    assert cluster.content(node=1) == b"abc"


# --- setting up ----------------------------------------------------------------------------------


def test_a_recovery_whose_set_up_fails_drops_that_node_too(cluster: FakeCluster) -> None:
    DieAt(cluster.datanodes[0], 30)
    cluster.datanodes[1].refuse_write = BlockOpResponse(Status.ERROR, "cannot recover")
    write(cluster)
    assert cluster.content(node=2) == DATA
    stamps = [
        request.latest_generation_stamp
        for node in cluster.datanodes
        for request in node.writes
        if request.stage.is_recovery
    ]
    assert stamps == [1002, 1003]
    assert ("updatePipeline", 1001, 1003) in cluster.namenode.calls


def test_an_excluded_node_is_asked_for_again_when_its_time_is_over(cluster: FakeCluster) -> None:
    cluster.datanodes[0].refuse_write = BlockOpResponse(Status.ERROR, "not now")
    out = cluster.create(exclude_nodes_s=0.01, block_size=32 * 1024, packet_data_bytes=1024)
    out.write(DATA[: 32 * 1024])
    out.hflush()
    deadline = time.monotonic() + 30
    cluster.datanodes[0].refuse_write = None
    while time.monotonic() < deadline and len(cluster.datanodes[0].writes) < 2:
        out.write(DATA[: 32 * 1024])
        out.hflush()
    out.close()
    assert len(cluster.datanodes[0].writes) >= 2
