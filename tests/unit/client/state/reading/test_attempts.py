"""Which node is next, against a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from howdah.client.state.reading.attempts import Attempts, DeadNodes, NoneLeft
from howdah.protocol.data_transfer.blocks import DatanodeAddress

MEMORY_S = 600.0
NODES = [DatanodeAddress(f"10.0.0.{number}", f"dn{number}", f"u{number}", 1) for number in range(5)]
A, B, C = NODES[:3]


def attempts(dead: DeadNodes | None = None, rounds: int = 3) -> Attempts:
    return Attempts(dead or DeadNodes(MEMORY_S), rounds)


@pytest.mark.req("FS-092")
def test_the_first_node_of_the_list_is_first() -> None:
    assert attempts().next_node([B, A, C], 0) == B


@pytest.mark.req("FS-097")
def test_the_next_closest_node_follows_one_that_failed() -> None:
    read = attempts()
    read.failed(A, "refused", 0)
    assert read.next_node([A, B, C], 0) == B


@pytest.mark.req("FS-098")
def test_what_failed_in_one_read_is_left_out_in_the_next() -> None:
    dead = DeadNodes(MEMORY_S)
    attempts(dead).failed(A, "refused", 0)
    assert attempts(dead).next_node([A, B], 1) == B


def test_a_dead_node_is_forgotten_after_a_while_since_streams_live_long() -> None:
    dead = DeadNodes(MEMORY_S)
    attempts(dead).failed(A, "refused", 0)
    assert attempts(dead).next_node([A, B], MEMORY_S) == A


@pytest.mark.req("FS-100")
def test_a_corrupt_replica_is_left_out_of_this_read_only() -> None:
    dead = DeadNodes(MEMORY_S)
    read = attempts(dead)
    read.is_corrupt(A, "wrong sum")
    assert read.next_node([A, B], 0) == B
    assert attempts(dead).next_node([A, B], 0) == A


def test_a_node_whose_connection_broke_off_is_not_dead() -> None:
    read = attempts()
    read.broke_off(A, "reset")
    assert read.next_node([A, B], 0) == A


def test_a_node_that_is_busy_with_the_read_is_not_asked_twice() -> None:
    assert attempts().next_node([A, B], 0, busy=[A]) == B
    assert attempts().next_node([A], 0, busy=[A]) is None


def test_a_node_that_died_for_an_earlier_block_gets_its_chance_before_anybody_waits() -> None:
    dead = DeadNodes(MEMORY_S)
    dead.add(B, 0)
    read = attempts(dead)
    read.failed(A, "refused", 0)
    assert read.none_left([A, B], 0) is NoneLeft.TRY_DEAD
    assert read.next_node([A, B], 0) == B


def test_a_node_that_turned_up_comes_before_those_that_failed() -> None:
    read = attempts()
    read.failed(A, "silent", 0)
    assert read.none_left([A], 0) is NoneLeft.WAIT
    read.forgive([A, B], 0)
    assert read.next_node([A, B], 0) == B


def test_all_corrupt_is_told_from_all_failed() -> None:
    read = attempts()
    read.is_corrupt(A, "wrong sum")
    read.is_corrupt(B, "wrong sum")
    assert read.none_left([A, B], 0) is NoneLeft.ALL_CORRUPT
    assert attempts().none_left([], 0) is NoneLeft.WAIT


@given(st.integers(0, 5))
def test_after_so_many_rounds_it_is_over(rounds: int) -> None:
    read = attempts(rounds=rounds)
    for _ in range(rounds):
        read.failed(A, "refused", 0)
        assert read.none_left([A], 0) is NoneLeft.WAIT
        read.forgive([A], 0)
        assert read.next_node([A], 0) == A
    read.failed(A, "refused", 0)
    assert read.none_left([A], 0) is NoneLeft.GIVE_UP


@given(st.floats(0, 0.999), st.floats(0.1, 10))
def test_pauses_grow_from_round_to_round(fraction: float, window_s: float) -> None:
    read = attempts()
    pauses = []
    for _ in range(3):
        read.failed(A, "refused", 0)
        read.none_left([A], 0)
        read.forgive([A], 0)
        pauses.append(read.pause_s(window_s, fraction))
    assert pauses == sorted(pauses)
    assert 0 <= pauses[0] < window_s
    assert pauses[2] >= 2 * window_s


def test_a_token_is_renewed_once_in_a_read() -> None:
    read = attempts()
    assert [read.may_renew_token() for _ in range(3)] == [True, False, False]


def test_the_summary_names_every_node_with_what_it_said() -> None:
    read = attempts()
    read.failed(A, "refused", 0)
    read.is_corrupt(B, "wrong sum")
    assert read.summary([A, B, C]) == (
        "dn0(10.0.0.0:1): refused; dn1(10.0.0.1:1): wrong sum; dn2(10.0.0.2:1): failed before"
    )
    assert read.summary([]) == "no datanode has a live replica"


class Bookkeeping(RuleBasedStateMachine):
    """Reads of one stream, one after the other, against a plain account of what happened."""

    def __init__(self) -> None:
        super().__init__()
        self.dead = DeadNodes(MEMORY_S)
        self.now_s = 0.0
        self.died_s: dict[DatanodeAddress, float] = {}
        self.begin([0, 1, 2])

    @rule(order=st.lists(st.integers(0, 4), unique=True, max_size=4))
    def begin(self, order: list[int]) -> None:
        self.read = Attempts(self.dead, 2)
        self.nodes = [NODES[number] for number in order]
        self.corrupt: set[DatanodeAddress] = set()
        self.seen: set[DatanodeAddress] = set()
        self.waits = 0

    @rule(seconds=st.floats(0, 2 * MEMORY_S))
    def wait(self, seconds: float) -> None:
        self.now_s += seconds

    def expected(self) -> DatanodeAddress | None:
        for node in self.nodes:
            dead = node in self.died_s and self.now_s < self.died_s[node] + MEMORY_S
            if not dead and node not in self.corrupt:
                return node
        return None

    @rule(how=st.sampled_from(["dead", "corrupt", "broke"]))
    def fail(self, how: str) -> None:
        node = self.read.next_node(self.nodes, self.now_s)
        if node is None:
            return
        self.seen.add(node)
        match how:
            case "dead":
                self.read.failed(node, how, self.now_s)
                self.died_s[node] = self.now_s
            case "corrupt":
                self.read.is_corrupt(node, how)
                self.corrupt.add(node)
            case "broke":
                self.read.broke_off(node, how)

    @rule(found=st.sampled_from([None, *NODES]))
    def give_another_chance(self, found: DatanodeAddress | None) -> None:
        """`found`: what the namenode has heard of meanwhile."""
        if self.expected() is not None:
            return
        self.found = None if found in self.nodes else found
        match self.read.none_left(self.nodes, self.now_s):
            case NoneLeft.ALL_CORRUPT:
                assert self.corrupt >= set(self.nodes)
            case NoneLeft.TRY_DEAD:
                untried = [node for node in self.nodes if node not in self.seen]
                assert untried
                for node in untried:
                    self.died_s.pop(node, None)
            case NoneLeft.WAIT:
                self.waits += 1
                assert self.waits <= 2
                if self.found is not None:
                    self.nodes.append(self.found)
                if self.expected() is None:
                    for node in self.nodes:
                        self.died_s.pop(node, None)
                self.read.forgive(self.nodes, self.now_s)
            case NoneLeft.GIVE_UP:
                assert self.waits == 2
                # No node was left that this read has not tried.
                assert self.seen >= set(self.nodes)

    @invariant()
    def the_nearest_node_that_may_work_is_next(self) -> None:
        assert self.read.next_node(self.nodes, self.now_s) == self.expected()


TestBookkeeping = Bookkeeping.TestCase
