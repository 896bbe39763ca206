"""No answer leaves before what it may have seen is on a disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah.namenode.service.ha.durability_barrier import (
    LONE,
    MOST_AHEAD,
    MOST_DELAY_S,
    DurableBarrier,
)
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.runtime import unexpected_errors
from howdah.testing.in_memory import InMemoryNamenode

PATIENCE_MS = 2000


class FakeJournal:
    """Takes records, and is durable when it is told to be."""

    def __init__(self, last_txid: int) -> None:
        self.last_txid = self.durable_txid = last_txid
        self.batches: list[int] = []
        self.at_once: list[bool] = []
        self.is_quick = False
        self.sends = False
        self.wanted: list[int] = []
        self.reached_txid = 0
        """It is durable so far, and no bell has told of it."""
        self.left: list[tuple[int, bytes, Callable[[bytes], object]]] = []

    def poll_durable(self) -> int:
        self.durable_txid = max(self.durable_txid, self.reached_txid)
        return self.durable_txid

    def want(self, txid: int) -> bool:
        self.wanted.append(txid)
        return txid <= max(self.durable_txid, self.reached_txid)

    def answer(self, outlet: Any, data: bytes, txid: int, back: Callable[[bytes], object]) -> int:
        if not self.sends or txid <= max(self.durable_txid, self.reached_txid):
            return 0
        self.left.append((txid, data, back))
        return len(self.left)

    def returned(self, txid: int) -> list[tuple[Callable[[bytes], object], bytes]]:
        due = [(back, data) for wanted, data, back in self.left if wanted <= txid]
        self.left = [each for each in self.left if each[0] > txid]
        return due

    def append(self, records: list[bytes], *, now: bool) -> bool:
        self.batches.append(len(records))
        self.last_txid += len(records)
        self.at_once.append(now)
        return now and self.is_quick


class World:
    def __init__(self, early_delay_s: float = 0.0) -> None:
        self.namenode = InMemoryNamenode()
        self.turn: list[Callable[[], None]] = []
        self.sent: list[str] = []
        self.now_ms = 0
        self.looks: list[Callable[[], None]] = []
        self.delays_s: list[float] = []
        self.given_up: list[str] = []
        self.barrier = DurableBarrier(
            self.namenode.namesystem,
            self.turn.append,
            later=self._later,
            boottime_ms=lambda: self.now_ms,
            patience_ms=PATIENCE_MS,
            early_delay_s=early_delay_s,
        )
        self.journal = FakeJournal(self.namenode.namesystem.last_txid)
        self.barrier.log = self.journal

    def _later(self, seconds: float, look: Callable[[], None]) -> None:
        self.delays_s.append(seconds)
        self.looks.append(look)

    def change(self, name: str, *, early: bool = False) -> None:
        """A call that commits, and its answer."""
        self.namenode.call(
            "mkdirs",
            pb.MkdirsRequestProto(
                src=f"/{name}",
                masked=types_pb2.FsPermissionProto(perm=0o755),
                createParent=True,
            ),
        )
        self.answer(name, early=early)

    def answer(self, name: str, *, early: bool = False) -> None:
        if self.barrier.must_wait(early=early):
            self.barrier.when_clear(lambda: self.sent.append(name))
            return
        if early:
            self.barrier.left_early()
        self.sent.append(name)

    def end_turn(self) -> None:
        turn, self.turn[:] = list(self.turn), []
        for call in turn:
            call()


class FakeLease:
    """A promise that can run out, be renewed and be lost."""

    def __init__(self, until_ms: int | None, proved_ms: int = -1) -> None:
        self.until_ms = until_ms
        self.proved_ms = proved_ms
        self.lost: str | None = None

    def lease_until_ms(self) -> int | None:
        return self.until_ms

    def proved_at_ms(self) -> int:
        return self.proved_ms


def look(world: World) -> None:
    looks, world.looks[:] = list(world.looks), []
    for each in looks:
        each()


@pytest.fixture
def world() -> World:
    return World()


def test_answer_that_changed_nothing_leaves_at_once(world: World) -> None:
    world.answer("look")
    assert world.sent == ["look"]
    assert world.turn == []


@pytest.mark.req("FS-023")
def test_answer_of_a_change_leaves_when_it_is_durable(world: World) -> None:
    world.change("a")
    world.end_turn()
    assert world.sent == []
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == ["a"]


def test_look_behind_a_change_waits_for_it(world: World) -> None:
    """Or it would show what a crash can take back."""
    world.change("a")
    world.answer("look")
    assert world.sent == []
    world.end_turn()
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == ["a", "look"]


def test_an_early_answer_leaves_before_its_change_is_durable(world: World) -> None:
    world.change("a", early=True)
    assert world.sent == ["a"]
    world.end_turn()
    assert world.journal.batches == [1], "the change is in the log all the same"


def test_who_sees_a_change_that_was_answered_early_waits_for_it(world: World) -> None:
    world.change("a", early=True)
    world.end_turn()
    world.answer("look")
    assert world.sent == ["a"]
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == ["a", "look"]


def test_an_early_answer_waits_where_the_log_is_far_behind(world: World) -> None:
    for number in range(MOST_AHEAD):
        world.change(f"early{number}", early=True)
        world.end_turn()
    assert len(world.sent) == MOST_AHEAD
    world.change("late", early=True)
    assert len(world.sent) == MOST_AHEAD
    world.end_turn()
    world.barrier.durable(world.journal.last_txid)
    assert world.sent[-1] == "late"


def test_no_early_answer_leaves_where_the_log_is_lost(world: World) -> None:
    world.namenode.namesystem.broken = "the log is lost"
    assert world.barrier.must_wait(early=True)


@pytest.fixture
def patient() -> World:
    """Early changes may be handed over later there."""
    return World(early_delay_s=0.005)


def test_early_changes_of_many_turns_are_one_batch(patient: World) -> None:
    for name in "abc":
        patient.change(name, early=True)
        patient.end_turn()
    assert patient.sent == ["a", "b", "c"]
    assert (patient.journal.batches, patient.delays_s) == ([], [0.005])
    look(patient)
    assert (patient.journal.batches, patient.journal.at_once) == ([3], [False])
    patient.change("d", early=True)
    patient.end_turn()
    look(patient)
    assert patient.journal.batches == [3, 1], "each of them is handed over in the end"


def test_early_changes_are_never_late_by_more_than_a_bound() -> None:
    world = World(early_delay_s=60.0)
    world.change("a", early=True)
    world.end_turn()
    assert world.delays_s == [MOST_DELAY_S]


@pytest.mark.req("FS-023")
def test_early_changes_are_handed_over_at_once_when_an_answer_waits(patient: World) -> None:
    patient.change("a", early=True)
    patient.end_turn()
    patient.answer("look")
    assert patient.sent == ["a"]
    patient.end_turn()
    assert patient.journal.batches == [1]
    patient.barrier.durable(patient.journal.last_txid)
    assert patient.sent == ["a", "look"]
    look(patient)
    assert patient.journal.batches == [1], "what was to come later has nothing left"


def test_early_changes_go_with_those_of_their_turn(patient: World) -> None:
    patient.change("a", early=True)
    patient.change("b")
    patient.change("c", early=True)
    patient.end_turn()
    assert patient.journal.batches == [3]
    patient.change("d")
    patient.change("e", early=True)
    patient.end_turn()
    assert patient.journal.batches == [3, 2]


@pytest.mark.parametrize("way", ["roll or close", "an act that waits", "a wait without a look"])
def test_early_changes_are_handed_over_at_once_when_more_than_an_answer_asks(
    patient: World, way: str
) -> None:
    patient.change("a", early=True)
    patient.end_turn()
    match way:
        case "roll or close":
            patient.barrier.hand_over()
        case "an act that waits":
            patient.barrier.when_durable(lambda: patient.sent.append("act"))
        case _:
            patient.barrier.when_clear(lambda: patient.sent.append("act"))
    patient.end_turn()
    assert patient.journal.batches == [1]


def test_early_changes_that_may_not_leave_are_handed_over_at_once(patient: World) -> None:
    for number in range(MOST_AHEAD + 1):
        patient.change(str(number), early=True)
    assert len(patient.sent) == MOST_AHEAD
    patient.end_turn()
    assert patient.journal.batches == [MOST_AHEAD + 1]


def test_early_changes_of_a_shared_log_are_handed_over_with_their_turn(patient: World) -> None:
    patient.barrier.lease = FakeLease(until_ms=None)
    patient.change("a", early=True)
    patient.end_turn()
    assert patient.journal.batches == [1]


def test_early_changes_that_wait_do_not_hide_that_there_is_one_caller(patient: World) -> None:
    for number in range(LONE + 1):
        patient.change(f"early{number}", early=True)
        patient.end_turn()
        look(patient)
        patient.change(f"late{number}")
        patient.end_turn()
        patient.barrier.durable(patient.journal.last_txid)
    assert patient.journal.at_once[1::2] == [False] * LONE + [True]
    assert not any(patient.journal.at_once[::2]), "nobody waits: the loop goes on"


def test_changes_of_one_turn_are_one_batch(world: World) -> None:
    for name in "abc":
        world.change(name)
    assert world.journal.batches == []
    world.end_turn()
    assert world.journal.batches == [3]


def test_later_changes_wait_for_their_own_turn(world: World) -> None:
    world.change("a")
    world.end_turn()
    first = world.journal.last_txid
    world.change("b")
    world.end_turn()
    world.barrier.durable(first)
    assert world.sent == ["a"]
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == ["a", "b"]


def test_journal_that_never_gets_on_lets_nothing_out(world: World) -> None:
    world.change("a")
    world.end_turn()
    for _ in range(3):
        world.answer("look")
    assert world.sent == []


def alone(world: World, calls: int) -> None:
    """So many changes, each of which is answered before the next one is asked for."""
    for number in range(calls):
        world.change(f"alone{number}")
        world.end_turn()
        world.barrier.durable(world.journal.last_txid)


@pytest.mark.req("FS-030")
def test_the_only_caller_has_its_edits_made_durable_at_once(world: World) -> None:
    world.journal.is_quick = True
    alone(world, LONE + 1)
    assert world.journal.at_once == [False] * LONE + [True]
    sent = len(world.sent)
    world.change("b")
    world.end_turn()
    assert world.journal.durable_txid == world.journal.last_txid
    assert world.sent[sent:] == ["b"], "its answer needs no word of the journal's thread"


def test_where_several_wait_the_loop_goes_on_meanwhile(world: World) -> None:
    alone(world, LONE + 1)
    world.change("b")
    world.change("c")
    world.end_turn()
    assert world.journal.at_once[-2:] == [True, False]
    world.barrier.durable(world.journal.last_txid)
    world.change("d")
    world.end_turn()
    assert not world.journal.at_once[-1], "one alone says nothing yet"


def test_an_edit_that_cannot_be_durable_at_once_waits_as_others_do(world: World) -> None:
    alone(world, LONE)
    sent = len(world.sent)
    world.change("b")
    world.end_turn()
    assert world.journal.at_once[-1]
    assert world.sent[sent:] == []
    world.barrier.durable(world.journal.last_txid)
    assert world.sent[sent:] == ["b"]


def test_under_a_lease_the_loop_never_waits_for_the_log(world: World) -> None:
    world.barrier.lease = FakeLease(until_ms=None)
    alone(world, LONE + 2)
    assert not any(world.journal.at_once)


def test_late_word_about_an_earlier_transaction_changes_nothing(world: World) -> None:
    world.change("a")
    world.end_turn()
    last = world.journal.last_txid
    world.barrier.durable(last)
    world.barrier.durable(last - 1)
    assert world.journal.durable_txid == last
    world.answer("look")
    assert world.sent == ["a", "look"]


def test_edits_of_a_call_that_then_fails_reach_the_journal_too(world: World) -> None:
    """create makes the parents, then finds that the client's name fits no record."""
    with pytest.raises(Exception, match="edit log record"):
        world.namenode.call(
            "create",
            pb.CreateRequestProto(
                src="/p/q/f",
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName="c" * 70_000,
                createFlag=1,
                createParent=True,
                replication=1,
                blockSize=1 << 20,
            ),
        )
    world.answer("error")
    world.end_turn()
    assert world.journal.last_txid == world.namenode.namesystem.last_txid
    assert world.namenode.namesystem.namespace.find("/p/q") is not None


def test_an_answer_that_cannot_be_sent_holds_no_other_back() -> None:
    world = World()

    def fail() -> None:
        raise AssertionError("nobody foresaw this")

    before = unexpected_errors.seen.total()
    world.change("a")
    world.barrier.when_clear(fail)
    world.answer("b")
    world.end_turn()
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == ["a", "b"]
    assert unexpected_errors.seen.total() == before + 1


# Self-fencing.


@pytest.mark.req("FS-072", "LM-016")
def test_a_read_waits_while_another_may_be_active_and_leaves_when_the_lease_is_renewed(
    world: World,
) -> None:
    lease = world.barrier.lease = FakeLease(1000)
    world.answer("before")
    world.now_ms = 1000
    world.answer("look")
    look(world)
    assert world.sent == ["before"]
    lease.until_ms = 2000
    look(world)
    assert world.sent == ["before", "look"]
    assert not world.looks, "nobody waits, nobody looks"


@pytest.mark.req("LM-016", "LM-018")
def test_an_answer_that_is_durable_waits_for_the_lease_nevertheless(world: World) -> None:
    lease = world.barrier.lease = FakeLease(1000)
    world.change("a")
    world.end_turn()
    world.now_ms = 1500
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == []
    lease.until_ms = 2000
    look(world)
    assert world.sent == ["a"]


@pytest.mark.req("LM-016", "LM-018")
def test_answers_leave_though_each_call_to_the_log_takes_longer_than_the_lease(
    world: World,
) -> None:
    """What a majority answers was sent after they were computed."""
    lease = world.barrier.lease = FakeLease(1000)
    world.now_ms = 1500
    world.change("a")
    world.end_turn()
    world.now_ms = 1600
    world.change("b")
    world.end_turn()
    # The request was sent at 1510, its answer came at 2900: the lease was over by then.
    world.now_ms, lease.proved_ms, lease.until_ms = 2900, 1510, 2510
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == ["a"]
    lease.proved_ms = 2600
    look(world)
    assert world.sent == ["a", "b"]
    assert not world.looks, "nobody waits, nobody looks"


@pytest.mark.req("LM-016", "LM-018")
def test_a_proof_lets_no_answer_out_that_is_not_durable(world: World) -> None:
    lease = world.barrier.lease = FakeLease(1000)
    world.now_ms = 1500
    world.answer("look")
    world.change("a")
    world.end_turn()
    lease.proved_ms = 1500
    look(world)
    assert world.sent == ["look"]


@pytest.mark.req("FS-070", "LM-018")
def test_a_proof_of_old_lets_nothing_out_when_the_log_is_lost(world: World) -> None:
    lease = world.barrier.lease = FakeLease(1000)
    world.now_ms = 1500
    world.answer("look")
    lease.proved_ms, lease.lost = 1600, "epoch 3 is over"
    look(world)
    assert world.sent == []


@pytest.mark.req("FS-070", "LM-018")
def test_nothing_leaves_a_namenode_that_has_lost_the_log(world: World) -> None:
    lease = world.barrier.lease = FakeLease(None)
    lease.lost = "epoch 3 is less than the last promised epoch 4"
    world.answer("look")
    world.now_ms = 10**9
    look(world)
    assert world.sent == []


@pytest.mark.req("FS-070", "LM-018")
def test_no_early_answer_leaves_a_namenode_that_may_have_been_replaced(world: World) -> None:
    lease = world.barrier.lease = FakeLease(until_ms=1000)
    world.now_ms = 1000
    world.change("a", early=True)
    world.end_turn()
    assert world.sent == []
    lease.until_ms, lease.proved_ms = 3000, 1000
    look(world)
    assert world.sent == [], "it waits for the log now, as all do"
    world.barrier.durable(world.journal.last_txid)
    assert world.sent == ["a"]


def test_a_log_without_a_lease_holds_nothing_back(world: World) -> None:
    world.barrier.lease = FakeLease(None)
    world.answer("look")
    assert world.sent == ["look"]


def test_what_waits_leaves_when_the_log_has_ended_in_order(world: World) -> None:
    """Its end was accepted, so nobody else wrote before."""
    world.barrier.lease = FakeLease(1000)
    world.now_ms = 1500
    world.answer("look")
    world.barrier.durable(world.journal.last_txid, is_alone=True)
    assert world.sent == ["look"]


# -- a lease that does not come back ----------------------------------------------------


def wait_in_vain(world: World, name: str) -> None:
    """An answer that cannot leave, or not yet."""
    assert world.barrier.must_wait()
    world.barrier.when_clear(lambda: world.sent.append(name), lambda: world.given_up.append(name))


def test_an_answer_that_has_waited_for_long_without_a_lease_is_given_up(world: World) -> None:
    world.barrier.lease = FakeLease(until_ms=100)
    world.now_ms = 100
    wait_in_vain(world, "early")
    world.now_ms = 200
    wait_in_vain(world, "late")
    world.now_ms = 100 + PATIENCE_MS - 1
    look(world)
    assert world.given_up == []
    world.now_ms += 1
    look(world)
    assert world.given_up == ["early"]


def test_an_answer_that_was_given_up_is_never_sent(world: World) -> None:
    lease = world.barrier.lease = FakeLease(until_ms=100)
    world.now_ms = 100
    wait_in_vain(world, "early")
    world.now_ms = 200
    wait_in_vain(world, "late")
    world.now_ms = 100 + PATIENCE_MS
    look(world)
    lease.until_ms, lease.proved_ms = 10_000, 9_000
    look(world)
    assert (world.given_up, world.sent) == (["early"], ["late"])


def test_an_answer_that_only_waits_to_be_durable_is_not_given_up(world: World) -> None:
    world.barrier.lease = FakeLease(until_ms=1_000_000)
    world.change("a")
    world.end_turn()
    wait_in_vain(world, "look")
    world.now_ms = 100_000
    world.barrier.when_clear(lambda: None)
    look(world)
    assert world.given_up == []


def test_what_is_to_be_done_when_it_is_durable_waits_for_ever(world: World) -> None:
    """Nobody else would do it."""
    lease = world.barrier.lease = FakeLease(until_ms=100)
    world.now_ms = 100
    world.barrier.when_durable(lambda: world.sent.append("done"))
    world.now_ms = 100 + 2 * PATIENCE_MS
    look(world)
    assert world.sent == []
    lease.until_ms, lease.proved_ms = 10_000, 9_000
    look(world)
    assert world.sent == ["done"]


# Answers that the log sends.


def leave(world: World, name: str) -> bool:
    outlet: Any = None
    return world.barrier.send_when_durable(
        outlet, name.encode(), lambda data: world.sent.append(data.decode())
    )


def test_an_answer_is_left_with_a_log_that_sends(world: World) -> None:
    world.journal.sends = True
    assert world.barrier.sends
    world.change("a")
    assert leave(world, "b")
    assert [(txid, data) for txid, data, _ in world.journal.left] == [
        (world.namenode.namesystem.last_txid, b"b")
    ]
    world.end_turn()
    assert not world.sent
    world.barrier.durable(world.namenode.namesystem.last_txid)
    assert world.sent == ["a", "b"], "what comes back is sent by the loop"


def test_a_defect_with_what_comes_back_takes_nothing_from_others(world: World) -> None:
    world.journal.sends = True
    outlet: Any = None

    def fail(data: bytes) -> None:
        raise RuntimeError("cannot write")

    world.change("a")
    assert world.barrier.send_when_durable(outlet, b"b", fail)
    assert leave(world, "c")
    world.end_turn()
    world.barrier.durable(world.namenode.namesystem.last_txid)
    assert world.sent == ["a", "c"]


@pytest.mark.parametrize("why", ["no log", "does not send", "durable", "lease", "broken"])
def test_where_it_cannot_be_left_it_is_not_kept(world: World, why: str) -> None:
    world.journal.sends = why != "does not send"
    world.change("a")
    if why == "no log":
        world.barrier.log = None
    elif why == "durable":
        world.journal.reached_txid = world.namenode.namesystem.last_txid
    elif why == "lease":
        world.barrier.lease = FakeLease(None)
    elif why == "broken":
        world.namenode.namesystem.broken = "a defect"
    assert world.barrier.sends is (why in {"durable", "broken"})
    assert not leave(world, "b")
    assert not world.journal.left


def test_what_no_bell_has_told_of_is_seen_by_a_look(world: World) -> None:
    world.change("a")
    world.end_turn()
    world.answer("b")
    assert not world.sent
    world.journal.reached_txid = world.namenode.namesystem.last_txid
    world.answer("c")
    assert world.sent == ["c"], "it waits for nothing"


def test_who_waits_wants_it_and_goes_on_where_it_is_there(world: World) -> None:
    world.change("a")
    txid = world.namenode.namesystem.last_txid
    assert world.journal.wanted == [txid]
    world.end_turn()
    world.change("b")
    world.end_turn()
    assert not world.sent
    world.journal.reached_txid = txid + 1
    world.barrier.durable(txid)
    assert world.sent == ["a"]
    world.end_turn()
    assert world.sent == ["a", "b"], "that came with the same sync, and no bell rings for it"


def test_who_begins_to_wait_at_the_last_moment_goes_on(world: World) -> None:
    world.change("a")
    world.end_turn()
    world.sent.clear()
    world.journal.reached_txid = world.namenode.namesystem.last_txid
    world.barrier.when_clear(lambda: world.sent.append("b"))
    world.end_turn()
    assert world.sent == ["a", "b"]


def test_a_lone_caller_whose_answers_are_left_is_known(world: World) -> None:
    world.journal.sends = world.journal.is_quick = True
    for number in range(LONE + 2):
        world.namenode.call(
            "mkdirs",
            pb.MkdirsRequestProto(
                src=f"/{number}",
                masked=types_pb2.FsPermissionProto(perm=0o755),
                createParent=True,
            ),
        )
        assert world.barrier.must_wait()
        assert leave(world, str(number))
        world.end_turn()
        world.barrier.durable(world.namenode.namesystem.last_txid)
    assert world.journal.at_once == [False] * LONE + [True] * 2
    assert len(world.sent) == LONE + 2


def test_what_the_log_had_no_memory_for_is_handed_over_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the log goes on behind a gap, and no start gets past that."""

    def fails(records: list[bytes], *, now: bool) -> bool:
        raise MemoryError

    world.change("a")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(world.journal, "append", fails)
        with pytest.raises(MemoryError):
            world.end_turn()
    world.change("b")
    world.end_turn()
    assert world.journal.batches == [2]
    world.barrier.durable(world.namenode.namesystem.last_txid)
    assert world.sent == ["a", "b"]
