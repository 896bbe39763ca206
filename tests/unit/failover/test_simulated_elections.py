"""Whole elections on journal nodes, simulated: safety at every step, and an end (FS-066)."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.torture import times

from .simulation import World


@pytest.mark.req("FS-066", "FS-069", "FS-070")
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    zkfcs=st.integers(1, 4),
    nodes=st.sampled_from([1, 3, 5]),
    troubles=st.integers(0, 30),
)
def test_never_two_hold_the_lease_and_nobody_becomes_active_unfenced(
    seed: int, zkfcs: int, nodes: int, troubles: int
) -> None:
    World(seed, zkfcs, nodes).live(20_000, troubles)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@settings(max_examples=times(500), deadline=None)
@given(seed=st.integers(0, 2**32), zkfcs=st.integers(2, 4), nodes=st.sampled_from([3, 5]))
@example(seed=2225, zkfcs=2, nodes=5)
def test_the_same_with_more_trouble(seed: int, zkfcs: int, nodes: int) -> None:
    World(seed, zkfcs, nodes).live(60_000, 90)
