"""When a full report is due, and which lease it goes out with."""

from __future__ import annotations

from howdah.datanode.state.report_schedule import LONGEST_PAUSE_S, ReportSchedule


def test_a_report_waits_for_its_time_and_its_lease() -> None:
    schedule = ReportSchedule(100.0)
    assert schedule.wants_lease(0.0)
    assert not schedule.may_report(0.0)
    schedule.granted(0)
    assert not schedule.may_report(0.0)
    schedule.granted(7)
    assert schedule.may_report(0.0)
    schedule.begin()
    schedule.reported(0.0, 0.5)
    assert (schedule.next_s, schedule.lease_id) == (50.0, 0)
    assert not schedule.wants_lease(49.0)
    schedule.granted(8)
    schedule.reported(50.0, 0.5)
    assert schedule.next_s == 150.0


def test_who_asks_waits_for_nothing_and_is_not_forgotten_where_the_report_is_lost() -> None:
    schedule = ReportSchedule(100.0)
    schedule.reported(0.0, 1.0)
    schedule.request_now()
    assert schedule.may_report(1.0)
    schedule.begin()
    schedule.lost()
    assert schedule.may_report(1.0)
    schedule.begin()
    schedule.request_now()
    schedule.reported(2.0, 1.0)
    assert schedule.may_report(2.0), "it was asked for after the report was made"


def test_what_is_refused_is_repeated_later_and_later_until_one_is_taken() -> None:
    schedule = ReportSchedule(10_000.0)
    pauses = [schedule.refused(0.0) for _ in range(12)]
    assert pauses[:4] == [1.0, 2.0, 4.0, 8.0]
    assert pauses[-1] == LONGEST_PAUSE_S
    assert not schedule.wants_lease(LONGEST_PAUSE_S - 1)
    assert schedule.wants_lease(LONGEST_PAUSE_S)
    schedule.reported(0.0, 1.0)
    assert schedule.refused(0.0) == 1.0
