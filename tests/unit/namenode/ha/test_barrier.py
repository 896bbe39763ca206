"""No answer leaves before what it may have seen is on a disk."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from howdah.namenode.ha.barrier import DurableBarrier
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode


class FakeJournal:
    """Takes records, and is durable when it is told to be."""

    def __init__(self, last_txid: int) -> None:
        self.last_txid = self.durable_txid = last_txid
        self.batches: list[int] = []

    def append(self, records: list[bytes]) -> None:
        self.batches.append(len(records))
        self.last_txid += len(records)


class World:
    def __init__(self) -> None:
        self.namenode = InMemoryNamenode()
        self.turn: list[Callable[[], None]] = []
        self.sent: list[str] = []
        self.barrier = DurableBarrier(self.namenode.core, self.turn.append)
        self.journal = FakeJournal(self.namenode.core.last_txid)
        self.barrier.log = self.journal
        self.namenode._keep_log = lambda: None  # type: ignore[method-assign]

    def change(self, name: str) -> None:
        """A call that commits, and its answer."""
        self.namenode.call(
            "mkdirs",
            pb.MkdirsRequestProto(
                src=f"/{name}",
                masked=types_pb2.FsPermissionProto(perm=0o755),
                createParent=True,
            ),
        )
        self.answer(name)

    def answer(self, name: str) -> None:
        if self.barrier.hold():
            self.barrier.when_clear(lambda: self.sent.append(name))
        else:
            self.sent.append(name)

    def end_turn(self) -> None:
        turn, self.turn[:] = list(self.turn), []
        for call in turn:
            call()


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
    assert world.journal.last_txid == world.namenode.core.last_txid
    assert world.namenode.core.namespace.find("/p/q") is not None


def test_an_answer_that_cannot_be_sent_holds_no_other_back() -> None:
    world = World()

    def fail() -> None:
        raise AssertionError("nobody foresaw this")

    world.change("a")
    world.barrier.when_clear(fail)
    world.answer("b")
    world.end_turn()
    with pytest.raises(AssertionError, match="foresaw"):
        world.barrier.durable(world.journal.last_txid)
    world.end_turn()
    assert world.sent == ["a", "b"]
