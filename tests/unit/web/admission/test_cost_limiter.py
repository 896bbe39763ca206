"""Whose connections wait, for how long, and what all of them take together."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from howdah.web.admission.cost_limiter import (
    ALLOWANCE_S,
    EXPECTED_S,
    MOST_ADDRESSES,
    MOST_WAIT_S,
    OF_ALL,
    OF_ONE,
    CostLimiter,
    Visit,
)

pytestmark = [pytest.mark.req("FS-219"), pytest.mark.kind("caller")]


def owing(address: str = "10.0.0.1", *, took_s: float, now_s: float = 0.0) -> CostLimiter:
    company = CostLimiter()
    company.settle(company.visit(address, now_s), took_s, now_s)
    return company


def test_an_address_that_owes_nothing_waits_for_nobody() -> None:
    company = owing(took_s=10.0)
    assert company.visit("10.0.0.1", 0.0).wait_s is None
    assert company.visit("10.0.0.2", 0.0).wait_s == 0.0


def test_a_little_is_allowed() -> None:
    assert owing(took_s=ALLOWANCE_S / 2).visit("10.0.0.1", 0.0).wait_s == 0.0


def test_connections_of_bad_company_come_one_after_the_other() -> None:
    company = owing(took_s=ALLOWANCE_S)
    waits = [company.visit("10.0.0.1", 0.0).wait_s for _ in range(4)]
    step_s = EXPECTED_S / OF_ONE
    assert waits == pytest.approx([0.0, step_s, 2 * step_s, 3 * step_s])


def test_whoever_would_wait_for_long_is_dropped_and_owes_nothing_for_that() -> None:
    company = owing(took_s=ALLOWANCE_S + OF_ONE * (MOST_WAIT_S + 1.0))
    dropped = company.visit("10.0.0.1", 0.0)
    assert dropped.wait_s is None
    company.settle(dropped, 0.0, 0.0)
    assert company.visit("10.0.0.1", 1.5).wait_s == pytest.approx(MOST_WAIT_S - 0.5)


def test_what_was_reserved_is_given_back_for_a_request() -> None:
    company = owing(took_s=ALLOWANCE_S)
    for _ in range(1000):
        visit = company.visit("10.0.0.1", 0.0)
        assert visit.wait_s == pytest.approx(0.0, abs=1e-6)
        company.settle(visit, 0.0, 0.0)
        company.settle(visit, 0.0, 0.0)  # Its second request changes nothing.


def test_time_makes_everything_good() -> None:
    company = owing(took_s=1.0)
    assert company.visit("10.0.0.1", 1.0 / OF_ONE + 1.0) == Visit("10.0.0.1")
    assert len(company) == 0


def test_all_addresses_of_an_ipv6_network_owe_together() -> None:
    company = owing("2001:db8::1", took_s=10.0)
    assert company.visit("2001:db8::2", 0.0).wait_s is None
    assert company.visit("2001:db8:0:1::2", 0.0).wait_s == 0.0


def test_so_many_addresses_are_known_and_no_more() -> None:
    company = CostLimiter()
    for number in range(MOST_ADDRESSES + 100):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        company.settle(company.visit(address, 0.0), 1.0, 0.0)
    assert len(company) == MOST_ADDRESSES


@settings(max_examples=25, deadline=None)
@given(
    st.integers(min_value=1, max_value=100),
    st.floats(min_value=0.0001, max_value=0.002),
    st.integers(min_value=50, max_value=2000),
)
@example(4, 0.0003242019652822897, 221)
@example(50, 0.002, 500)
def test_floods_take_their_share_and_no_more(
    addresses: int, costs_s: float, each_second: int
) -> None:
    """Malformed heads come from some addresses for 20 s; each is served when it may be."""
    seconds = 20
    company = CostLimiter()
    served: dict[str, float] = {}
    due: list[tuple[float, int, Visit]] = []
    for number in range(seconds * each_second):
        now_s = number / each_second
        visit = company.visit(f"10.0.0.{number % addresses}", now_s)
        if visit.wait_s is not None:
            heapq.heappush(due, (now_s + visit.wait_s, number, visit))
        while due and due[0][0] <= now_s:
            _, _, begun = heapq.heappop(due)
            served[begun.network] = served.get(begun.network, 0.0) + costs_s
            company.settle(begun, costs_s, now_s)
    # Whoever is not known as bad company yet costs once what comes before its first answer.
    beginnings_s = ALLOWANCE_S + 2 * costs_s + MOST_WAIT_S * OF_ONE * costs_s / EXPECTED_S
    assert max(served.values()) <= seconds * OF_ONE + beginnings_s
    assert sum(served.values()) <= seconds * OF_ALL + addresses * beginnings_s
