"""The write pipeline as a state machine."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.actions import (
    Abandon,
    Action,
    Allocate,
    Connect,
    Heartbeat,
    Replace,
    Send,
)
from howdah.client.state.writing.packetizer import OutgoingPacket
from howdah.client.state.writing.phases import Phase
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.pipeline_rules import PipelineRules, Policy, ReplacementPolicy
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import HEARTBEAT_SEQNO, UNKNOWN_SEQNO, PipelineAck
from howdah.protocol.data_transfer.status import Status

NODES = tuple(
    DatanodeAddress(f"127.0.0.{index}", f"dn{index}", f"uuid{index}", 9866) for index in range(1, 4)
)
NEVER = ReplacementPolicy(Policy.NEVER)
OK = (Status.SUCCESS,) * 3


def located(block_id: int = 1, length: int = 0) -> LocatedBlock:
    return LocatedBlock(ExtendedBlock("BP-1", block_id, 1001, length), 0, NODES)


def data(offset: int = 0, size: int = 8) -> OutgoingPacket:
    return OutgoingPacket(offset, bytes(size), bytes(4))


def last(offset: int = 8) -> OutgoingPacket:
    return OutgoingPacket(offset, b"", b"", last_in_block=True)


def streaming(
    *packets: OutgoingPacket, now_s: float = 0.0, rules: PipelineRules | None = None
) -> Pipeline:
    """A pipeline with an open block and `packets` on the data queue."""
    machine = Pipeline("/f", rules or PipelineRules(heartbeat_interval_s=30))
    for packet in packets or (data(),):
        machine.enqueue(packet)
    assert isinstance(machine.next_action(now_s), Allocate)
    machine.allocated(located())
    assert isinstance(machine.next_action(now_s), Connect)
    machine.connected(located(), now_s)
    return machine


def without(bad: int, gs: int = 1001, acked: int = 0) -> LocatedBlock:
    """The block as the nodes that are left have it."""
    return located(length=acked).without(bad).with_block(ExtendedBlock("BP-1", 1, gs, acked))


def recovery(block: LocatedBlock, sent_bytes: int) -> Connect:
    return Connect(block, Stage.PIPELINE_SETUP_STREAMING_RECOVERY, sent_bytes)


def is_for_all(action: Action) -> bool:
    assert isinstance(action, Connect)
    return action.block.nodes == NODES


def sent(machine: Pipeline, now_s: float = 0.0) -> list[int]:
    action = machine.next_action(now_s)
    return [packet.seqno for packet in action.packets] if isinstance(action, Send) else []


def test_nothing_is_done_before_something_is_written() -> None:
    assert Pipeline("/f").next_action(0) is None


@pytest.mark.req("FS-120")
def test_the_first_packet_asks_for_a_block() -> None:
    machine = Pipeline("/f")
    machine.enqueue(data())
    assert machine.next_action(0) == Allocate(None, ())


def test_a_block_is_asked_for_once() -> None:
    machine = Pipeline("/f")
    machine.enqueue(data())
    machine.next_action(0)
    assert machine.next_action(0) is None


def test_the_next_block_names_the_one_before_with_its_length() -> None:
    machine = streaming(data(), last(), data())
    for seqno in sent(machine):
        machine.acked(PipelineAck(seqno, OK))
    (seqno,) = sent(machine)
    assert machine.acked(PipelineAck(seqno, OK))
    assert machine.next_action(0) == Allocate(ExtendedBlock("BP-1", 1, 1001, 8), ())


def test_packets_are_sent_in_order_and_many_at_once() -> None:
    machine = streaming(data(0), data(8), data(16))
    assert sent(machine) == [0, 1, 2]


def test_the_last_packet_waits_for_the_acks_of_all_before_it() -> None:
    machine = streaming(data(), last())
    assert sent(machine) == [0]
    assert sent(machine) == []
    machine.acked(PipelineAck(0, OK))
    assert sent(machine) == [1]


def test_packets_of_the_next_block_wait_for_the_last_ack_of_this_one() -> None:
    machine = streaming(last(0), data())
    assert sent(machine) == [0]
    assert machine.next_action(0) is None


@pytest.mark.req("FS-123")
def test_a_packet_leaves_the_ack_queue_when_all_datanodes_have_acknowledged_it() -> None:
    machine = streaming()
    sent(machine)
    assert len(machine.queues) == 1
    machine.acked(PipelineAck(0, OK))
    assert len(machine.queues) == 0
    assert machine.queues.last_acked_seqno == 0


@pytest.mark.req("FS-123")
def test_an_ack_of_too_few_datanodes_acknowledges_nothing() -> None:
    machine = streaming()
    sent(machine)
    machine.acked(PipelineAck(0, OK[:2]))
    assert len(machine.queues) == 1
    assert machine.next_action(0) == recovery(without(0), 8)


def test_an_ack_out_of_order_breaks_the_pipeline() -> None:
    machine = streaming(data(0), data(8))
    sent(machine)
    machine.acked(PipelineAck(1, OK))
    assert machine.queues.last_acked_seqno == -1
    assert machine.next_action(0) == recovery(without(0), 16)


def test_an_ack_of_nothing_breaks_the_pipeline() -> None:
    machine = streaming()
    machine.acked(PipelineAck(0, OK))
    assert machine.phase is Phase.BROKEN


@pytest.mark.req("FS-127")
@pytest.mark.parametrize("bad", range(3))
def test_the_first_node_whose_reply_is_bad_is_dropped(bad: int) -> None:
    machine = streaming()
    sent(machine)
    machine.acked(PipelineAck(0, (*OK[:bad], Status.ERROR)))
    assert machine.next_action(0) == recovery(without(bad), 8)


def restarting(machine: Pipeline, index: int = 1) -> Pipeline:
    """`machine` after node `index` has announced its restart."""
    sent(machine)
    machine.acked(PipelineAck(UNKNOWN_SEQNO, (*OK[:index], Status.OOB_RESTART)))
    return machine


PATIENT = PipelineRules(restart_timeout_s=30, is_local=lambda node: node == NODES[1])


def test_a_remote_node_that_announces_its_restart_is_dropped() -> None:
    assert restarting(streaming()).next_action(0) == recovery(without(1), 8)


def test_a_node_of_this_machine_that_announces_its_restart_is_waited_for() -> None:
    machine = restarting(streaming(rules=PATIENT))
    assert machine.next_action(100) is None
    assert machine.wait_limit_s(100) == 1
    assert machine.next_action(101) == recovery(located(), 8)
    assert machine.counts.restarts_awaited == 1


def test_the_last_node_is_waited_for_wherever_it_is() -> None:
    machine = streaming()
    machine.broken("reset")
    machine.next_action(0)
    machine.setup_failed(NODES[1], "refused", 0)
    machine.next_action(0)
    machine.not_replaced("none")
    only = machine.next_action(0)
    assert isinstance(only, Connect)
    machine.connected(only.block, 0)
    sent(machine)
    machine.acked(PipelineAck(UNKNOWN_SEQNO, (Status.OOB_RESTART,)))
    assert machine.next_action(0) is None
    assert isinstance(machine.next_action(1), Connect)


def test_a_node_that_is_waited_for_is_tried_every_second_until_the_time_is_up() -> None:
    machine = restarting(streaming(rules=PATIENT))
    now_s, tries = 100, 0
    while (action := machine.next_action(now_s)) is None or is_for_all(action):
        if action is not None:
            tries += 1
            assert machine.setup_failed(NODES[1], "refused", now_s) is None
        now_s += 1
    assert action == recovery(without(1), 8)
    assert (now_s, tries) == (131, 30)


def test_a_node_that_fails_behind_the_one_that_restarts_shows_that_this_is_back() -> None:
    machine = restarting(streaming(rules=PATIENT))
    machine.next_action(0)
    machine.next_action(1)
    machine.setup_failed(NODES[2], "refused", 1)
    assert machine.next_action(1) == recovery(without(2), 8)
    machine.setup_failed(NODES[1], "refused", 1)
    assert isinstance(machine.next_action(1), Replace)


def test_a_node_that_says_so_when_the_pipeline_is_opened_is_waited_for_as_well() -> None:
    machine = streaming(rules=PATIENT)
    machine.broken("reset")
    machine.next_action(0)
    machine.setup_failed(NODES[1], "restarts", 0, restarts=True)
    assert machine.next_action(0) is None
    assert machine.next_action(1) == recovery(without(0), 0)


def test_one_that_restarts_again_and_again_is_given_up() -> None:
    machine = streaming(rules=PATIENT)
    for _ in range(PATIENT.recovery_retries):
        restarting(machine)
        assert machine.next_action(0) is None
        assert isinstance(machine.next_action(1), Connect)
        machine.connected(located(), 1)
    restarting(machine)
    assert "broke 6 times with no packet acknowledged" in str(machine.error)


def test_a_remote_node_that_restarted_may_join_the_block_again() -> None:
    machine = restarting(streaming())
    action = machine.next_action(0)
    assert isinstance(action, Connect)
    machine.connected(action.block, 0)
    machine.flushed(0)
    machine.broken("reset")
    assert machine.next_action(0) == Replace(without(1).without(0), NODES[2], (NODES[0],))


# --- nodes that say that they are slow -----------------------------------------------------


def slow(seqno: int, *indices: int) -> PipelineAck:
    return PipelineAck(seqno, OK, slow=indices)


def test_a_node_that_says_so_often_enough_is_dropped() -> None:
    machine = streaming(*[data(8 * n) for n in range(4)], rules=PipelineRules(slow_acks=3))
    sent(machine)
    for seqno in range(3):
        machine.acked(slow(seqno, 2))
    assert machine.phase is Phase.BROKEN
    # The ack that was one too many doesn't count: its packet goes to the others again.
    assert machine.next_action(0) == recovery(without(2, acked=16), 32)


def test_one_ack_without_it_starts_the_count_anew() -> None:
    machine = streaming(*[data(8 * n) for n in range(5)], rules=PipelineRules(slow_acks=3))
    sent(machine)
    for seqno, nodes in enumerate([(2,), (2,), (1,), (2,), (2,)]):
        machine.acked(slow(seqno, *nodes))
    assert machine.phase is Phase.STREAMING


def test_nobody_is_dropped_for_it_where_that_is_switched_off() -> None:
    machine = streaming(*[data(8 * n) for n in range(4)], rules=PipelineRules(slow_acks=0))
    sent(machine)
    for seqno in range(4):
        machine.acked(slow(seqno, 0, 1, 2))
    assert machine.phase is Phase.STREAMING


def test_the_last_node_is_kept_however_slow_it_is() -> None:
    machine = streaming(*[data(8 * n) for n in range(4)], rules=PipelineRules(slow_acks=1))
    for index in (0, 0):
        sent(machine)
        machine.acked(slow(0, index))
        while not isinstance(action := machine.next_action(0), Connect):
            machine.not_replaced("none")
        machine.connected(action.block, 0)
    sent(machine)
    machine.acked(PipelineAck(0, OK[:1], slow=(0,)))
    assert machine.phase is Phase.STREAMING


# --- finished blocks that may not be on the disks ---------------------------------------------


def finish(machine: Pipeline, end: OutgoingPacket) -> None:
    machine.enqueue(end)
    for seqno in (0, 1):
        sent(machine)
        machine.acked(PipelineAck(seqno, OK))


@pytest.mark.req("LM-041")
def test_a_block_that_ended_without_a_sync_is_remembered_until_it_is_synced() -> None:
    machine = streaming()
    finish(machine, last())
    assert machine.unsynced.up_to(0) == ()
    (block,) = machine.unsynced.up_to(1)
    assert (block.block.length_bytes, block.nodes) == (8, NODES)
    assert machine.unsynced.synced(block)
    assert not machine.unsynced.synced(block)
    assert machine.unsynced.up_to(1) == ()


@pytest.mark.req("LM-041")
def test_a_block_that_ended_with_a_sync_needs_none() -> None:
    machine = streaming()
    finish(machine, OutgoingPacket(8, b"", b"", last_in_block=True, sync_block=True))
    assert len(machine.unsynced) == 0


@pytest.mark.req("LM-041")
def test_a_block_that_was_closed_by_a_recovery_needs_a_sync_whatever_was_asked() -> None:
    machine = streaming(data(), OutgoingPacket(8, b"", b"", last_in_block=True, sync_block=True))
    sent(machine)
    machine.acked(PipelineAck(0, OK))
    sent(machine)
    machine.broken("reset")
    action = machine.next_action(0)
    assert isinstance(action, Connect)
    assert not machine.connected(action.block, 0)
    assert len(machine.unsynced) == 1


# --- the connection, the end, heartbeats -------------------------------------------------------


@pytest.mark.req("FS-127")
def test_the_first_node_is_dropped_when_the_connection_to_it_breaks() -> None:
    machine = streaming()
    machine.broken("failed: reset")
    assert machine.next_action(0) == recovery(without(0), 0)


def test_a_failure_is_told_with_path_block_and_every_node_with_its_reason() -> None:
    machine = streaming()
    sent(machine)
    machine.broken("failed: reset")
    machine.next_action(0)
    machine.setup_failed(NODES[2], "refused", 0)
    assert isinstance(machine.next_action(0), Replace)
    machine.not_replaced("the namenode knows no other")
    machine.next_action(0)
    machine.setup_failed(NODES[1], "silent", 0)
    message = str(machine.error)
    assert isinstance(machine.error, errors.PipelineFailed)
    assert message.startswith("/f: the pipeline of blk_1_1001 has no datanode left")
    for node, reason in ((0, "failed: reset"), (1, "silent"), (2, "refused")):
        assert f"{NODES[node]} {reason}" in message


def failed() -> Pipeline:
    machine = streaming()
    machine.fail(errors.PipelineFailed("first"))
    return machine


def test_the_first_error_is_kept() -> None:
    machine = failed()
    machine.broken("second")
    machine.fail(errors.RemoteError("third"))
    assert "first" in str(machine.error)


def test_nothing_can_be_queued_after_a_failure() -> None:
    with pytest.raises(errors.PipelineFailed):
        failed().enqueue(data())


def test_a_heartbeat_is_due_when_nothing_was_sent_for_its_interval() -> None:
    machine = streaming(now_s=100)
    assert sent(machine, 100) == [0]
    assert machine.next_action(129) is None
    assert machine.wait_limit_s(129) == 1
    assert machine.next_action(130) == Heartbeat()
    assert machine.next_action(131) is None


def test_the_ack_of_a_heartbeat_changes_nothing() -> None:
    machine = streaming()
    sent(machine)
    machine.acked(PipelineAck(HEARTBEAT_SEQNO, OK))
    assert len(machine.queues) == 1
    assert machine.error is None


def connecting() -> Pipeline:
    machine = Pipeline("/f", PipelineRules(setup_retries=2))
    machine.enqueue(data())
    machine.next_action(0)
    machine.allocated(located())
    machine.next_action(0)
    return machine


def test_a_block_whose_pipeline_cannot_be_opened_is_abandoned_and_the_node_left_out() -> None:
    machine = connecting()
    assert machine.setup_failed(NODES[1], "refused", 0) == Abandon(located().block)
    machine.abandoned()
    assert machine.next_action(0) == Allocate(None, (NODES[1],))


def test_setting_up_ends_after_its_retries_and_names_every_node_with_its_reason() -> None:
    machine = connecting()
    for index in range(3):
        machine.setup_failed(NODES[index], f"reason {index}", 0)
        machine.abandoned()
        if index < 2:
            machine.next_action(0)
            machine.allocated(located(index + 2))
            machine.next_action(0)
    message = str(machine.error)
    assert isinstance(machine.error, errors.PipelineFailed)
    for index in range(3):
        assert f"dn{index + 1}(127.0.0.{index + 1}:9866): reason {index}" in message


def test_a_success_forgets_earlier_failures_of_setting_up() -> None:
    machine = connecting()
    machine.setup_failed(NODES[0], "refused", 0)
    machine.abandoned()
    machine.next_action(0)
    machine.allocated(located(2))
    machine.next_action(0)
    machine.connected(located(2), 0)
    assert sent(machine) == [0]
    assert machine.error is None


def test_an_append_connects_to_the_block_that_is_there() -> None:
    machine = Pipeline("/f", appended=located(length=5))
    machine.enqueue(data(5))
    assert machine.next_action(0) == Connect(located(length=5), Stage.PIPELINE_SETUP_APPEND, 5)


def test_an_append_without_a_write_leaves_the_block_as_it_is() -> None:
    machine = Pipeline("/f", appended=located(length=5))
    assert machine.next_action(0) is None
    assert machine.last_block == located(length=5).block


def test_an_append_whose_pipeline_cannot_be_opened_goes_on_with_the_other_nodes() -> None:
    machine = Pipeline("/f", PipelineRules(replacement=NEVER), appended=located(length=5))
    machine.enqueue(data(5))
    machine.next_action(0)
    assert machine.setup_failed(NODES[0], "refused", 0) is None
    assert machine.next_action(0) == Connect(
        without(0, acked=5), Stage.PIPELINE_SETUP_APPEND_RECOVERY, 5
    )


def test_an_answer_that_comes_after_the_stream_failed_is_ignored() -> None:
    machine = Pipeline("/f")
    machine.enqueue(data())
    machine.next_action(0)
    machine.fail(errors.RemoteError("closed"))
    machine.allocated(located())
    assert machine.phase is Phase.FAILED
    assert machine.next_action(0) is None


def test_resent_bytes_do_not_make_a_block_longer() -> None:
    machine = streaming(data(0, 10), data(8, 1))
    for seqno in sent(machine):
        machine.acked(PipelineAck(seqno, OK))
    assert machine.last_block is not None
    assert machine.last_block.length_bytes == 10
