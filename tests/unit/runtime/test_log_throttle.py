"""What would be said again and again is said once in a while."""

from __future__ import annotations

from howdah.runtime.log_throttle import LogThrottle, LogThrottleBySubject


def test_one_of_many_is_let_through_and_says_how_many_were_not() -> None:
    rarely = LogThrottle(100)
    assert [rarely.suppressed_count(now_ms) for now_ms in (0, 1, 99, 100, 101, 300)] == [
        *(0, None, None, 2, None, 1),
    ]


def test_none_hides_what_is_said_of_another() -> None:
    each = LogThrottleBySubject(100)
    assert each.suppressed_count("a", 0) == 0
    assert each.suppressed_count("b", 1) == 0
    assert each.suppressed_count("a", 2) is None
    assert each.suppressed_count("b", 100) is None
    assert each.suppressed_count("a", 100) == 1
    assert each.suppressed_count("b", 101) == 1


def test_more_subjects_than_are_kept_count_as_one() -> None:
    each = LogThrottleBySubject(100, most=2)
    assert [each.suppressed_count(name, 0) for name in "abcd"] == [0, 0, 0, None]
    assert each.suppressed_count("d", 50) is None
    assert each.suppressed_count("e", 100) == 0, (
        "of those that were kept none is spoken of any more"
    )
    assert each.suppressed_count("d", 101) == 0
