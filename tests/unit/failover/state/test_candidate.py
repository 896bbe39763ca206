"""One candidate for the lease of three journal nodes."""

from __future__ import annotations

from howdah.failover.state.candidate import Answer, Candidate, Kind, Outcome
from howdah.failover.state.elector import Breadcrumb, Report

FREE = Answer()
TAKEN = Answer(promised_term=5, holder="other", content=b"other")
GRANTED = Answer(granted=True, promised_term=1, holder="me", content=b"me")


def candidate() -> Candidate:
    made = Candidate("me", 3, 1000, lambda: 0.0)
    made.start(0)
    return made


def turn(one: Candidate, *answers: Answer | None, now_ms: int | None = None) -> Outcome:
    """A round at its time, or at `now_ms`."""
    at_ms = one.next_at_ms if now_ms is None else now_ms
    return one.end(one.begin(at_ms), dict(enumerate(answers)), at_ms)


def elected(term_seen: int = 0) -> Candidate:
    one = candidate()
    turn(one, *[Answer(promised_term=term_seen)] * 3)
    assert turn(one, GRANTED, GRANTED, None).report is Report.ELECTED
    return one


def test_a_candidate_looks_before_it_asks() -> None:
    one = candidate()
    assert one.begin(0).kind is Kind.LOOK
    turn(one, FREE, FREE)
    assert one.begin(0).kind is Kind.ASK


def test_a_candidate_asks_under_a_term_above_all_that_it_has_seen() -> None:
    one = candidate()
    turn(one, FREE, Answer(promised_term=7), Answer(promised_term=3))
    assert one.begin(0).term == 8


def test_a_new_candidacy_asks_under_a_term_that_none_before_has_asked_for() -> None:
    one = candidate()
    turn(one, FREE, FREE)
    first = one.begin(0)
    one.stop()
    one.start(10)
    turn(one, FREE, FREE)
    assert one.begin(10).term > first.term


def test_who_sees_a_lease_at_a_majority_is_not_elected_and_looks_again() -> None:
    one = candidate()
    assert turn(one, TAKEN, TAKEN).report is Report.NOT_ELECTED
    assert one.next_at_ms == 100
    assert turn(one, TAKEN, TAKEN).report is None


def test_who_hears_of_too_few_nodes_is_uncertain() -> None:
    assert turn(candidate(), FREE, None, None).report is Report.UNCERTAIN


def test_a_node_that_is_silent_after_a_restart_has_no_free_lease() -> None:
    one = candidate()
    silent = Answer(silent_ms=300)
    assert turn(one, silent, silent, FREE).report is Report.UNCERTAIN
    assert one.begin(one.next_at_ms).kind is Kind.LOOK


def test_a_lease_is_held_for_nine_tenths_of_its_time_from_before_it_was_asked_for() -> None:
    one = elected()
    assert one.holds(899)
    assert not one.holds(900)


def test_a_lease_that_was_granted_too_late_is_not_held() -> None:
    one = candidate()
    turn(one, FREE, FREE)
    question = one.begin(0)
    outcome = one.end(question, {0: GRANTED, 1: GRANTED}, 950)
    assert outcome.report is Report.UNCERTAIN
    assert outcome.release_term is not None
    assert not one.holds(950)


def test_a_minority_that_granted_gets_its_lease_back() -> None:
    one = candidate()
    turn(one, FREE, FREE)
    outcome = turn(one, GRANTED, TAKEN, None)
    assert (outcome.report, outcome.release_term) == (Report.UNCERTAIN, 1)
    assert one.begin(one.next_at_ms).kind is Kind.LOOK


def test_a_lease_is_renewed_after_a_third_of_its_time() -> None:
    one = elected()
    assert one.next_at_ms == 333
    assert turn(one, GRANTED, None, GRANTED).report is None
    assert one.holds(333 + 899)


def test_a_lease_that_is_not_renewed_is_tried_again_until_it_is_lost() -> None:
    one = elected()
    assert turn(one, GRANTED, None, None).report is None
    assert one.holds(one.next_at_ms)
    outcome = turn(one, GRANTED, None, None, now_ms=901)
    assert outcome.report is Report.UNCERTAIN


def test_a_lease_that_a_majority_lent_to_another_is_lost_at_once() -> None:
    one = elected()
    assert turn(one, TAKEN, TAKEN, GRANTED).report is Report.UNCERTAIN
    assert not one.holds(one.next_at_ms)


def test_a_node_that_promised_a_later_term_is_won_back_by_a_later_one() -> None:
    one = elected()
    turn(one, GRANTED, GRANTED, Answer(promised_term=4))
    assert one.begin(one.next_at_ms).term == 5
    assert one.elected_term == 1


def test_the_breadcrumb_of_the_latest_term_counts() -> None:
    one = candidate()
    turn(one, FREE, FREE)
    old = Answer(granted=True, breadcrumb=Breadcrumb(b"old", 2))
    new = Answer(granted=True, breadcrumb=Breadcrumb(b"new", 3))
    turn(one, old, new, None)
    assert one.breadcrumb == Breadcrumb(b"new", 3)


def test_a_cleared_breadcrumb_of_the_latest_term_is_none() -> None:
    one = candidate()
    turn(one, FREE, FREE)
    old = Answer(granted=True, breadcrumb=Breadcrumb(b"old", 2))
    cleared = Answer(granted=True, breadcrumb=Breadcrumb(b"", 3), breadcrumb_is_cleared=True)
    turn(one, old, cleared, None)
    assert one.breadcrumb is None


def test_who_was_told_of_a_ceding_looks_at_once_and_often() -> None:
    one = candidate()
    turn(one, TAKEN, TAKEN)
    one.hasten(10)
    assert one.next_at_ms == 10
    turn(one, TAKEN, TAKEN)
    assert one.next_at_ms == 30


def test_a_round_is_decided_as_soon_as_a_majority_agrees() -> None:
    one = candidate()
    look = one.begin(0)
    assert not one.is_decided(look, {0: TAKEN, 1: FREE})
    assert one.is_decided(look, {0: TAKEN, 1: TAKEN})
    assert one.is_decided(look, {0: TAKEN, 1: FREE, 2: None})
