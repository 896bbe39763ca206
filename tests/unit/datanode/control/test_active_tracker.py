"""Which namenode of a nameservice is active, by what their heartbeats answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.control.active_tracker import ActiveTracker, Change
from howdah.datanode.state.commands import FinalizeUpgrade, Order, Register, Shutdown, UpdateKeys
from howdah.datanode.state.messages import BalanceBandwidth, Invalidate


def test_nobody_is_active_before_a_claim() -> None:
    claim = ActiveTracker()
    assert claim.note_heartbeat("a", claims=False, txid=7) is Change.NOTHING
    assert claim.active is None


def test_the_first_claim_is_believed_even_without_a_transaction() -> None:
    claim = ActiveTracker()
    assert claim.note_heartbeat("a", claims=True, txid=0) is Change.TAKEN_OVER
    assert claim.active == "a"


def test_a_newer_claim_takes_over_from_the_active() -> None:
    claim = ActiveTracker()
    claim.note_heartbeat("a", claims=True, txid=5)
    assert claim.note_heartbeat("b", claims=True, txid=6) is Change.TAKEN_OVER
    assert claim.active == "b"


@pytest.mark.parametrize("txid", [4, 5])
def test_a_claim_that_is_not_newer_changes_nothing(txid: int) -> None:
    claim = ActiveTracker()
    claim.note_heartbeat("a", claims=True, txid=5)
    assert claim.note_heartbeat("b", claims=True, txid=txid) is Change.STALE
    assert claim.active == "a"


def test_the_active_that_was_overtaken_does_not_come_back_with_its_old_transaction() -> None:
    claim = ActiveTracker()
    claim.note_heartbeat("a", claims=True, txid=5)
    claim.note_heartbeat("b", claims=True, txid=9)
    assert claim.note_heartbeat("a", claims=True, txid=8) is Change.STALE
    assert claim.active == "b"


def test_the_active_gives_it_up_and_the_next_claim_must_still_be_newer() -> None:
    claim = ActiveTracker()
    claim.note_heartbeat("a", claims=True, txid=5)
    assert claim.note_heartbeat("a", claims=False, txid=5) is Change.GIVEN_UP
    assert claim.active is None
    assert claim.note_heartbeat("b", claims=True, txid=5) is Change.STALE
    assert claim.note_heartbeat("b", claims=True, txid=6) is Change.TAKEN_OVER


def test_what_a_standby_says_of_itself_takes_nothing_from_the_active() -> None:
    claim = ActiveTracker()
    claim.note_heartbeat("a", claims=True, txid=5)
    assert claim.note_heartbeat("b", claims=False, txid=99) is Change.NOTHING
    assert claim.active == "a"


def test_further_claims_of_the_active_raise_what_others_must_exceed() -> None:
    claim = ActiveTracker()
    claim.note_heartbeat("a", claims=True, txid=5)
    assert claim.note_heartbeat("a", claims=True, txid=20) is Change.NOTHING
    assert claim.note_heartbeat("b", claims=True, txid=15) is Change.STALE


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(-2, 8)), max_size=40))
def test_the_believed_transaction_never_goes_back_and_only_claimants_are_active(
    answers: list[tuple[str, bool, int]],
) -> None:
    claim = ActiveTracker()
    for namenode, claims, txid in answers:
        active, newest = claim.active, claim.txid
        claim.note_heartbeat(namenode, claims=claims, txid=txid)
        assert claim.txid >= newest
        if claim.active != active:
            assert namenode in (claim.active, active)
            assert claim.active is None or (claims and txid > newest)


@pytest.mark.parametrize(
    "order", [Invalidate(()), Shutdown(), FinalizeUpgrade("BP-1"), BalanceBandwidth(1)]
)
def test_orders_count_from_the_active_alone(order: Order) -> None:
    claim = ActiveTracker()
    assert not claim.obeys("a", order)
    claim.note_heartbeat("a", claims=True, txid=1)
    assert claim.obeys("a", order)
    assert not claim.obeys("b", order)


def test_every_namenode_may_have_a_datanode_register_again() -> None:
    claim = ActiveTracker()
    claim.note_heartbeat("a", claims=True, txid=1)
    assert claim.obeys("b", Register())
    assert claim.obeys("b", UpdateKeys(None))
