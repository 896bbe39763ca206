"""Who called most, lately."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.runtime.metrics.top_users import ALL, TopUsers

MINUTE_MS = 60_000


@pytest.mark.req("FS-263")
def test_users_are_ranked_for_each_operation_and_for_all() -> None:
    top = TopUsers([MINUTE_MS], buckets=10, users=2)
    top.add(0, {"create": {"ann": 3, "bob": 5, "cid": 1}, "open": {"ann": 4}})
    (window,) = top.top(1000)
    assert window.length_ms == MINUTE_MS
    assert [(each.operation, each.users, each.total) for each in window.operations] == [
        (ALL, (("ann", 7), ("bob", 5)), 13),
        ("create", (("bob", 5), ("ann", 3)), 9),
        ("open", (("ann", 4),), 4),
    ]


@pytest.mark.req("FS-263")
def test_calls_leave_a_window_with_its_oldest_bucket() -> None:
    top = TopUsers([MINUTE_MS, 5 * MINUTE_MS], buckets=10, users=10)
    top.add(0, {"open": {"ann": 1}})
    top.add(59_000, {"open": {"bob": 1}})
    counted = [[each.total for each in window.operations] for window in top.top(59_000)]
    assert counted == [[2, 2], [2, 2]]
    short, long = top.top(60_000)
    assert short.operations[0].users == (("bob", 1),)
    assert long.operations[0].total == 2
    assert top.top(10 * MINUTE_MS)[1].operations == ()


@given(st.lists(st.tuples(st.integers(0, 20_000), st.sampled_from("ab")), max_size=60))
def test_a_window_has_what_came_in_its_buckets(steps: list[tuple[int, str]]) -> None:
    top = TopUsers([MINUTE_MS], buckets=10, users=10)
    now_ms, came = 0, []
    for step_ms, user in steps:
        now_ms += step_ms
        came.append((now_ms, user))
        top.add(now_ms, {"open": {user: 1}})
    expected = Counter(user for at, user in came if at // 6000 > now_ms // 6000 - 10)
    (window,) = top.top(now_ms)
    counted = dict(window.operations[0].users) if window.operations else {}
    assert counted == expected
