"""The table of a pipeline's phases against the code: every line is taken, and no other."""

from __future__ import annotations

import random

import pytest

from howdah import errors
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.actions import Abandon, Action, Allocate, Connect, Replace, Send
from howdah.client.state.writing.packetizer import OutgoingPacket
from howdah.client.state.writing.phases import (
    START,
    TRANSITIONS,
    Event,
    Phase,
    is_allowed,
    markdown,
)
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.pipeline_rules import PipelineRules, Policy, ReplacementPolicy
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.packets import PipelineAck
from howdah.protocol.data_transfer.status import Status

Step = tuple[Event, Phase, Phase]
NODES = tuple(
    DatanodeAddress(f"127.0.0.{index}", f"dn{index}", f"uuid{index}", 9866) for index in range(9)
)
RULES = PipelineRules(
    setup_retries=1,
    recovery_retries=3,
    replacement=ReplacementPolicy(Policy.ALWAYS, min_replication=2),
    restart_timeout_s=5.0,
    is_local=lambda node: node == NODES[0],
)


class Walk:
    """One output stream whose datanodes and namenode do whatever the dice say."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.now_s = 0.0
        self.stamp = 1001
        self.blocks = 1
        appended = self.located() if dice.random() < 0.3 else None
        self.machine = Pipeline("/f", RULES, appended=appended)
        assert self.machine.phase in START
        self.pending: Action | None = None

    def located(self) -> LocatedBlock:
        self.blocks += 1
        return LocatedBlock(ExtendedBlock("BP-1", self.blocks, self.stamp, 0), 0, NODES[:3])

    def run(self) -> None:
        for number in range(60):
            if self.machine.phase is Phase.FAILED:
                return
            if self.dice.random() < 0.01:
                self.machine.fail(errors.RemoteError("the namenode refuses"))
                return
            if not self.machine.queues and self.dice.random() < 0.1:
                self.machine.reopen()
            if not self.machine.queues.has_data:
                is_last = self.dice.random() < 0.5
                data = b"" if is_last else bytes(8)
                self.machine.enqueue(OutgoingPacket(8 * number, data, bytes(4), is_last))
            self.now_s += self.dice.choice([0.0, 0.5, 2.0])
            self.answer(self.machine.next_action(self.now_s))

    def answer(self, action: Action | None) -> None:
        match action:
            case Allocate():
                self.machine.allocated(self.located())
            case Connect(block):
                self.connect(block)
            case Replace(block, source, failed):
                self.replace(block, source, failed)
            case Send(packets):
                for packet in packets:
                    self.acknowledge(packet.seqno)

    def connect(self, block: LocatedBlock) -> None:
        if self.dice.random() < 0.5:
            self.stamp += 1
            renewed = ExtendedBlock(
                "BP-1", block.block.block_id, self.stamp, block.block.length_bytes
            )
            self.machine.connected(block.with_block(renewed), self.now_s)
            return
        bad, restarts = self.dice.choice(block.nodes), self.dice.random() < 0.3
        outcome = self.machine.setup_failed(bad, "is down", self.now_s, restarts=restarts)
        if isinstance(outcome, Abandon):
            self.machine.abandoned()

    def replace(
        self, block: LocatedBlock, source: DatanodeAddress, failed: tuple[DatanodeAddress, ...]
    ) -> None:
        others = [node for node in NODES if node not in (*failed, *block.nodes)]
        luck = self.dice.random()
        if luck < 0.4 and others:
            more = LocatedBlock(block.block, block.offset, (*block.nodes, others[0]))
            self.machine.replaced(more)
        elif luck < 0.6 and others:
            self.machine.not_replaced("did not take it", others[0])
        elif luck < 0.8:
            self.machine.not_replaced("did not send it", source)
        else:
            self.machine.not_replaced("there is no other")

    def acknowledge(self, seqno: int) -> None:
        if self.machine.phase is not Phase.STREAMING:
            return
        assert self.machine.block is not None
        replies = [Status.SUCCESS] * len(self.machine.block.nodes)
        luck = self.dice.random()
        if luck < 0.1:
            self.machine.broken("fell silent")
            return
        if luck < 0.4:
            bad = self.dice.choice([Status.ERROR, Status.OOB_RESTART])
            replies[self.dice.randrange(len(replies))] = bad
        self.machine.acked(PipelineAck(seqno, tuple(replies)))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> set[Step]:
    """What was done, as the one place that does it sees it."""
    taken: set[Step] = set()
    real = Pipeline._go

    def go(machine: Pipeline, event: Event, after: Phase) -> None:
        taken.add((event, machine.phase, after))
        real(machine, event, after)

    monkeypatch.setattr(Pipeline, "_go", go)
    return taken


def test_every_line_of_the_table_is_taken_and_no_other(steps: set[Step]) -> None:
    for seed in range(400):
        Walk(random.Random(seed)).run()
    table = {(rule.event, phase, rule.after) for rule in TRANSITIONS for phase in rule.before}
    by_walking = {step for step in table if step[0] is not Event.FAIL}
    assert {step for step in steps if step[0] is not Event.FAIL} == by_walking
    assert steps <= table


@pytest.mark.parametrize("phase", list(Phase))
def test_a_stream_may_fail_in_any_phase(phase: Phase) -> None:
    machine = Pipeline("/f")
    machine.phase = phase
    machine.fail(errors.RemoteError("gone"))
    assert machine.phase is Phase.FAILED


def test_a_step_that_the_table_does_not_have_is_a_defect() -> None:
    with pytest.raises(AssertionError, match="connected leads from NO_BLOCK to STREAMING"):
        Pipeline("/f")._go(Event.CONNECTED, Phase.STREAMING)


def test_nothing_leads_out_of_failure() -> None:
    for event in Event:
        for phase in set(Phase) - {Phase.FAILED}:
            assert not is_allowed(event, Phase.FAILED, phase)


def test_the_documentation_has_a_line_for_each_rule() -> None:
    lines = markdown().splitlines()
    assert len(lines) == 2 + len(TRANSITIONS)
    assert (
        "| replace | BROKEN | REPLACING | the policy wants another datanode in its place |" in lines
    )
