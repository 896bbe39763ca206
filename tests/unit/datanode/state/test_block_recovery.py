"""What the replicas of a block agree on when it is recovered."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.state.block_recovery import Agreement, Candidate, agree, settle
from howdah.datanode.state.messages import RecoverBlock
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock

FINALIZED, RBW, RWR = ReplicaState.FINALIZED, ReplicaState.RBW, ReplicaState.RWR
TEMPORARY = ReplicaState.TEMPORARY
BLOCK = ExtendedBlock("BP-1", 7, 1001, 0)
NODES = tuple(DatanodeAddress(f"10.0.0.{n}", f"node{n}", f"uuid-{n}", 9866) for n in range(3))
ORDER = RecoverBlock(BLOCK, 1009, NODES, ordered_by="namenode")
Said = Candidate | Exception | None


def has(length: int, state: ReplicaState, stamp: int = 1001) -> Candidate:
    return Candidate(7, stamp, length, state)


def recover(*said: Said, order: RecoverBlock = ORDER) -> tuple[int, set[int]]:
    """(the length, which of the datanodes take part)"""
    agreement = agreed(*said, order=order)
    return agreement.block.length_bytes, {NODES.index(node) for node in agreement.participants}


def agreed(*said: Said, order: RecoverBlock = ORDER) -> Agreement:
    return agree(order, dict(zip(NODES, said, strict=False)))


# --- which replicas count, and how long ---


@pytest.mark.req("AP-047")
@pytest.mark.parametrize(
    ("said", "length", "participants"),
    [
        ([has(5, RBW), has(7, RBW), has(6, RBW)], 5, {0, 1, 2}),
        ([has(5, RBW), has(7, RBW), None], 5, {0, 1}),
        ([has(5, RBW), has(7, RBW), has(0, RBW)], 5, {0, 1}),
        ([has(9, FINALIZED), has(9, RBW), has(8, RBW)], 9, {0, 1}),
        ([has(9, FINALIZED), has(9, FINALIZED), has(9, RWR)], 9, {0, 1}),
        ([has(5, RBW), has(7, RWR), has(6, RBW)], 5, {0, 2}),
        ([has(5, RWR), has(7, RWR), has(7, RWR)], 7, {1, 2}),
        ([has(5, RBW), has(3, RBW, 1000), has(9, FINALIZED, 1000)], 5, {0}),
        ([has(5, RBW), has(7, TEMPORARY), None], 5, {0}),
    ],
)
def test_the_best_state_sets_the_length(
    said: list[Said], length: int, participants: set[int]
) -> None:
    assert recover(*said) == (length, participants)


@pytest.mark.req("AP-025")
def test_the_replicas_get_the_recovery_id_as_their_stamp() -> None:
    assert agreed(has(5, RBW)).block == ExtendedBlock("BP-1", 7, 1009, 5)


def test_a_datanode_that_fails_is_left_out() -> None:
    assert recover(has(5, RBW), errors.Unreachable("gone"), has(6, RBW)) == (5, {0, 2})


@pytest.mark.req("AP-048")
def test_an_attempt_that_died_half_way_is_finished_at_its_length() -> None:
    assert recover(has(5, FINALIZED, 1008), has(9, RBW), has(4, RBW)) == (5, {0, 1})


@pytest.mark.req("AP-048")
def test_of_two_attempts_that_died_the_later_one_sets_the_length() -> None:
    said = has(5, FINALIZED, 1007), has(6, FINALIZED, 1008), has(9, RBW)
    assert recover(*said) == (6, {1, 2})


@pytest.mark.req("AP-047")
def test_a_replica_that_lost_what_the_namenode_knows_of_does_not_count() -> None:
    order = RecoverBlock(BLOCK.with_length(6), 1009, NODES)
    assert recover(has(5, FINALIZED), has(8, RBW), has(7, RBW), order=order) == (7, {1, 2})


def test_where_all_have_lost_bytes_the_rest_is_kept() -> None:
    order = RecoverBlock(BLOCK.with_length(6), 1009, NODES)
    assert recover(has(5, RWR), has(4, RWR), None, order=order) == (5, {0})


# --- nothing there ---


@pytest.mark.parametrize(
    "said",
    [
        [None, None, None],
        [has(0, RBW), None, None],
        [has(0, RWR), None, None],
        [has(5, FINALIZED, 1000), None, None],
        [has(0, RBW), errors.Unreachable("gone"), None],
        [has(5, TEMPORARY), None, None],
    ],
)
def test_a_block_of_which_nobody_has_a_byte_is_dropped(said: list[Said]) -> None:
    result = settle(ORDER, agreed(*said), {})
    assert (result.delete, result.new_length_bytes, result.nodes) == (True, 0, ())


@pytest.mark.req("AP-047")
@pytest.mark.parametrize("said", [None, has(0, RWR), has(5, RBW, 1000)])
def test_a_block_is_not_dropped_while_a_datanode_that_may_have_it_is_silent(said: Said) -> None:
    with pytest.raises(errors.RemoteError, match=r"1 of 2 datanodes .* don't answer"):
        agreed(said, errors.CallTimeout("silent"))


def test_where_nobody_answers_nothing_is_agreed_on() -> None:
    with pytest.raises(errors.RemoteError, match="3 of 3"):
        agreed(*[errors.Unreachable("gone")] * 3)


# --- truncate ---


@pytest.mark.parametrize("state", [FINALIZED, RBW, RWR])
def test_a_truncate_takes_all_that_have_as_much(state: ReplicaState) -> None:
    order = RecoverBlock(BLOCK, 1009, NODES, BLOCK.with_length(4))
    assert recover(has(9, FINALIZED), has(4, state), has(3, RBW), order=order) == (4, {0, 1})


def test_a_truncate_by_a_copy_names_the_new_block() -> None:
    order = RecoverBlock(BLOCK, 1009, NODES, ExtendedBlock("BP-1", 8, 1009, 4))
    assert agreed(has(9, FINALIZED), order=order).block == ExtendedBlock("BP-1", 8, 1009, 4)
    assert settle(order, agreed(has(9, FINALIZED), order=order), {NODES[0]: "DS"}).block == BLOCK


def test_a_truncate_to_what_nobody_has_fails() -> None:
    order = RecoverBlock(BLOCK, 1009, NODES, BLOCK.with_length(10))
    with pytest.raises(errors.RemoteError, match="has 10 bytes"):
        agreed(has(9, FINALIZED), order=order)


# --- how it ends ---


def outcomes(*said: str | Exception) -> Mapping[DatanodeAddress, str | Exception]:
    return dict(zip(NODES, said, strict=False))


@pytest.mark.req("AP-026", "AP-048")
def test_who_could_not_be_set_is_left_out_of_what_the_namenode_is_told() -> None:
    agreement = agreed(has(5, RBW), has(7, RBW), has(6, RBW))
    failed = errors.CallTimeout("silent")
    result = settle(ORDER, agreement, outcomes("DS-0", failed, "DS-2"))
    assert (result.nodes, result.storage_ids) == ((NODES[0], NODES[2]), ("DS-0", "DS-2"))
    assert (result.new_stamp, result.new_length_bytes, result.delete) == (1009, 5, False)
    assert result.ordered_by == "namenode"


def test_a_recovery_without_a_participant_left_fails() -> None:
    agreement = agreed(has(5, RBW), has(7, RBW))
    with pytest.raises(errors.RemoteError, match="could be set to 5 bytes"):
        settle(ORDER, agreement, outcomes(OSError("full"), OSError("full")))


@pytest.mark.req("AP-048")
def test_a_recovery_gives_way_to_a_higher_one() -> None:
    ahead = errors.RecoveryInProgress("1010 was here")
    with pytest.raises(errors.RecoveryInProgress, match="gives way"):
        agreed(has(5, RBW), ahead)
    with pytest.raises(errors.RecoveryInProgress, match="gives way"):
        settle(ORDER, agreed(has(5, RBW), has(7, RBW)), outcomes("DS-0", ahead))


# --- whatever comes ---

answers = st.one_of(
    st.none(),
    st.just(errors.Unreachable("gone")),
    st.builds(
        has,
        st.integers(0, 20),
        st.sampled_from([FINALIZED, RBW, RWR, TEMPORARY]),
        st.integers(1000, 1008),
    ),
)


@given(st.lists(answers, min_size=1, max_size=3), st.integers(0, 20))
def test_participants_have_what_is_agreed_on_and_nobody_stale_takes_part(
    said: list[Said], floor: int
) -> None:
    order = RecoverBlock(BLOCK.with_length(floor), 1009, NODES)
    try:
        agreement = agreed(*said, order=order)
    except errors.RemoteError:
        assert any(isinstance(one, Exception) for one in said)
        return
    for one in agreement.participants.values():
        assert one.length_bytes >= agreement.block.length_bytes > 0
        assert one.generation_stamp >= BLOCK.generation_stamp
        assert one.state is not TEMPORARY
    members = [
        one.length_bytes
        for one in said
        if isinstance(one, Candidate) and one.generation_stamp >= 1001 and one.state in (RBW, RWR)
    ]
    if not agreement.participants:
        assert not any(members)


@given(
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(0, 10), st.sampled_from([FINALIZED, RBW])), min_size=1),
)
def test_no_acknowledged_byte_is_dropped_while_a_member_of_the_pipeline_lives(
    acked: int, members: list[tuple[int, ReplicaState]]
) -> None:
    # A member has what was acknowledged and more; a finalized one has everything sent.
    sent = acked + max(more for more, _ in members)
    said = [has(sent if state is FINALIZED else acked + more, state) for more, state in members][:3]
    assert agreed(*said).block.length_bytes >= acked
