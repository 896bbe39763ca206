"""When a controller stands for election, and which steps it takes to the active role."""

from __future__ import annotations

from howdah.failover.state.controller import Controller
from howdah.failover.state.elector import (
    Breadcrumb,
    Elector,
    Fence,
    Join,
    MakeActive,
    MakeStandby,
    Position,
    Quit,
    ReadBreadcrumb,
    Report,
    WriteBreadcrumb,
)
from howdah.failover.state.health import Answer, Health, HealthMonitor, Intervals
from howdah.failover.state.service import ServiceState

ME, OTHER = b"me", b"other"


def joined() -> Controller:
    controller = Controller(Elector(ME))
    assert controller.checked(Health.HEALTHY, 0) == [Join(1, ME)]
    return controller


def active() -> Controller:
    controller = joined()
    controller.reported(1, Report.ELECTED)
    controller.breadcrumb_read(1, None)
    controller.breadcrumb_written(1)
    controller.became_active(1, "done", 10)
    assert controller.elector.position is Position.ACTIVE
    return controller


# -- the way to the active role


def test_a_healthy_namenode_stands_for_election_once() -> None:
    controller = joined()
    assert controller.checked(Health.HEALTHY, 1) == []


def test_the_elected_reads_fences_writes_and_then_makes_its_namenode_active() -> None:
    controller = joined()
    found = Breadcrumb(OTHER, 7)
    assert controller.reported(1, Report.ELECTED) == [ReadBreadcrumb(1)]
    assert controller.breadcrumb_read(1, found) == [Fence(1, OTHER)]
    assert controller.fenced(1) == [WriteBreadcrumb(1, found)]
    assert controller.breadcrumb_written(1) == [MakeActive(1)]
    assert controller.became_active(1, "done", 5) == []
    assert controller.expected is ServiceState.ACTIVE


def test_nobody_is_fenced_where_nobody_was_active() -> None:
    controller = joined()
    controller.reported(1, Report.ELECTED)
    assert controller.breadcrumb_read(1, None) == [WriteBreadcrumb(1, None)]


def test_nobody_fences_his_own_namenode() -> None:
    controller = joined()
    controller.reported(1, Report.ELECTED)
    own = Breadcrumb(ME, 3)
    assert controller.breadcrumb_read(1, own) == [WriteBreadcrumb(1, own)]


def test_when_fencing_fails_nothing_becomes_active_and_others_have_their_chance() -> None:
    controller = joined()
    controller.reported(1, Report.ELECTED)
    controller.breadcrumb_read(1, Breadcrumb(OTHER, 7))
    assert controller.failed(1, "no method succeeded", 100) == [Quit(clears=False)]
    assert controller.last_attempt is not None
    assert not controller.last_attempt.succeeded
    assert controller.tick(1099) == []
    assert controller.tick(1100) == [Join(2, ME)]


def test_an_attempt_ends_when_the_election_is_lost() -> None:
    for lost in (Report.UNCERTAIN, Report.NOT_ELECTED):
        controller = joined()
        controller.reported(1, Report.ELECTED)
        controller.reported(1, lost)
        assert controller.breadcrumb_read(1, None) == []
        assert controller.breadcrumb_written(1) == []


def test_who_is_elected_again_begins_again_and_ignores_answers_to_the_first_attempt() -> None:
    controller = joined()
    controller.reported(1, Report.ELECTED)
    controller.reported(1, Report.UNCERTAIN)
    assert controller.reported(1, Report.ELECTED) == [ReadBreadcrumb(2)]
    assert controller.breadcrumb_written(1) == []
    assert controller.failed(1, "late", 5) == []
    assert controller.elector.is_in


def test_who_is_not_elected_is_made_standby_once() -> None:
    controller = joined()
    assert controller.reported(1, Report.NOT_ELECTED) == [MakeStandby()]
    assert controller.reported(1, Report.NOT_ELECTED) == []
    controller.became_standby(MakeStandby(), None, 5)
    assert controller.expected is ServiceState.STANDBY


def test_a_lost_session_changes_nothing_for_an_active_namenode_until_it_is_known_more() -> None:
    controller = active()
    assert controller.reported(1, Report.UNCERTAIN) == []
    assert controller.expected is ServiceState.ACTIVE
    assert controller.elector.position is Position.NEUTRAL
    # Another was elected meanwhile, or nobody.
    assert controller.reported(1, Report.NOT_ELECTED) == [MakeStandby()]


def test_reports_to_an_earlier_candidacy_are_ignored() -> None:
    controller = joined()
    controller.checked(Health.UNHEALTHY, 1)
    controller.checked(Health.HEALTHY, 2)
    assert controller.reported(1, Report.ELECTED) == []
    assert controller.reported(2, Report.ELECTED) == [ReadBreadcrumb(1)]


# -- health


def test_a_namenode_that_is_not_well_leaves_the_election_and_its_breadcrumb() -> None:
    for health in (Health.UNHEALTHY, Health.NOT_RESPONDING):
        controller = active()
        assert controller.checked(health, 20) == [Quit(clears=False)]
        assert controller.checked(Health.HEALTHY, 30) == [Join(2, ME)]


def test_a_namenode_that_has_died_is_fenced_by_nobody() -> None:
    controller = active()
    assert controller.died() == [Quit(clears=True)]
    assert controller.checked(Health.NOT_RESPONDING, 1) == []
    assert controller.checked(Health.HEALTHY, 2) == [Join(2, ME)]


def test_a_standby_that_has_died_leaves_the_breadcrumb_of_the_active() -> None:
    controller = joined()
    controller.reported(1, Report.NOT_ELECTED)
    assert controller.died() == [Quit(clears=False)]


def test_a_namenode_that_falls_ill_in_the_pause_after_a_failure_does_not_come_back() -> None:
    controller = joined()
    controller.reported(1, Report.ELECTED)
    controller.failed(1, "", 0)
    assert controller.checked(Health.UNHEALTHY, 500) == []
    assert controller.tick(2000) == []


def test_the_health_monitor_tells_a_refusal_from_silence() -> None:
    monitor = HealthMonitor(Intervals(check_s=1, connect_retry_s=2, after_disconnect_s=3))
    assert monitor.health is Health.INITIALIZING
    steps = [
        (Answer.NONE, Health.NOT_RESPONDING, 2),
        (Answer.HEALTHY, Health.HEALTHY, 1),
        (Answer.UNHEALTHY, Health.UNHEALTHY, 1),
        (Answer.NONE, Health.NOT_RESPONDING, 3),
        (Answer.NONE, Health.NOT_RESPONDING, 2),
    ]
    for answer, health, pause_s in steps:
        assert monitor.checked(answer) == pause_s
        assert monitor.health is health


# -- ceding


def test_who_cedes_in_order_clears_the_breadcrumb_and_stays_out() -> None:
    controller = active()
    assert controller.cede(500, 20) == [MakeStandby(cedes=True)]
    assert controller.became_standby(MakeStandby(cedes=True), None, 30) == [Quit(clears=True)]
    assert controller.tick(529) == []
    assert controller.tick(530) == [Join(2, ME)]


def test_who_cannot_be_made_standby_cedes_and_leaves_the_breadcrumb() -> None:
    controller = active()
    controller.cede(500, 20)
    order = MakeStandby(cedes=True)
    assert controller.became_standby(order, "no answer", 30) == [Quit(clears=False)]


def test_who_cedes_is_not_elected_meanwhile() -> None:
    controller = joined()
    controller.cede(500, 0)
    assert controller.reported(1, Report.ELECTED) == []


def test_who_is_let_back_stands_for_election_at_once() -> None:
    controller = active()
    controller.cede(60_000, 20)
    controller.became_standby(MakeStandby(cedes=True), None, 30)
    assert controller.cede(-1, 40) == [Join(2, ME)]


def test_two_who_ask_at_once_are_both_told() -> None:
    controller = active()
    order = MakeStandby(cedes=True)
    assert controller.cede(500, 20) == controller.cede(900, 21) == [order]
    assert controller.became_standby(order, None, 30) == [Quit(clears=True)]
    assert controller.became_standby(order, None, 40) == []
    assert controller.next_at_ms() == 940


def test_a_namenode_that_is_well_while_it_stays_out_does_not_join() -> None:
    controller = active()
    controller.cede(500, 20)
    controller.became_standby(MakeStandby(cedes=True), None, 30)
    controller.checked(Health.UNHEALTHY, 40)
    assert controller.checked(Health.HEALTHY, 50) == []


# -- what the namenode says of its state


def test_a_namenode_that_is_twice_in_another_state_than_ordered_leaves_for_a_second() -> None:
    controller = active()
    assert controller.observed(ServiceState.STANDBY, 20, 20) == []
    assert controller.observed(ServiceState.STANDBY, 30, 30) == [Quit(clears=False)]
    assert controller.tick(1029) == []
    assert controller.tick(1030) == [Join(2, ME)]


def test_a_namenode_that_is_in_its_state_again_stays() -> None:
    controller = active()
    controller.observed(ServiceState.STANDBY, 20, 20)
    controller.observed(ServiceState.ACTIVE, 30, 30)
    assert controller.observed(ServiceState.STANDBY, 40, 40) == []


def test_what_a_namenode_said_before_it_obeyed_says_nothing() -> None:
    controller = active()
    for _ in range(3):
        assert controller.observed(ServiceState.STANDBY, 9, 20) == []


def test_an_observer_is_left_alone_until_it_is_standby_again() -> None:
    controller = Controller(Elector(ME))
    assert controller.observed(ServiceState.OBSERVER, 0, 0) == []
    assert controller.checked(Health.HEALTHY, 0) == []
    assert controller.not_eligible() == "is in observer state. Cannot be failover target"
    controller.observed(ServiceState.STANDBY, 10, 10)
    controller.observed(ServiceState.STANDBY, 20, 20)
    assert controller.tick(1020) == [Join(1, ME)]


def test_a_namenode_that_becomes_an_observer_leaves_the_election() -> None:
    controller = joined()
    assert controller.observed(ServiceState.OBSERVER, 5, 5) == [Quit(clears=False)]
