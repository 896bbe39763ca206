"""Which destination comes first."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.router.state.table.mount_table import (
    Destination,
    MountEntry,
    MountTable,
    Order,
    Resolution,
)
from howdah.router.state.table.ordering import (
    Surroundings,
    final_name,
    first_level,
    first_nameservice,
    hashed,
    ordered,
)

pytestmark = pytest.mark.req("LM-020")

NAMES = ("n0", "n1", "n2")


def resolution(order: Order, path: str) -> Resolution:
    entry = MountEntry("/m", tuple(Destination(name, "/d") for name in NAMES), order)
    found = MountTable([entry]).resolve(path)
    assert found is not None
    return found


@given(st.sampled_from(list(Order)), st.text("ab/", max_size=6), st.floats(0, 1, exclude_max=True))
def test_the_first_one_moves_to_the_front_and_none_is_lost(
    order: Order, rest: str, draw: float
) -> None:
    found = resolution(order, f"/m/{rest}")
    around = Surroundings(draw)
    places = ordered(found, around)
    assert sorted(places, key=str) == sorted(found.locations, key=str)
    assert places[0].nameservice == first_nameservice(found, around)


def test_hash_goes_by_the_name_below_the_mount_point_and_hash_all_by_the_path() -> None:
    around = Surroundings()
    below = {first_nameservice(resolution(Order.HASH, f"/m/d/{n}"), around) for n in range(50)}
    spread = {first_nameservice(resolution(Order.HASH_ALL, f"/m/d/{n}"), around) for n in range(50)}
    assert len(below) == 1
    assert spread == set(NAMES)


def test_the_ring_is_fair_and_moves_little_when_a_nameservice_goes() -> None:
    items = [f"/m/{number}" for number in range(3000)]
    before = {item: hashed(item, NAMES) for item in items}
    assert all(600 < count < 1500 for count in Counter(before.values()).values())
    after = {item: hashed(item, NAMES[:2]) for item in items}
    assert all(after[item] == before[item] for item in items if before[item] != "n2")


@pytest.mark.parametrize(
    ("written", "final"),
    [
        ("/m/f._COPYING_", "/m/f"),
        ("/m/f.COPYING", "/m/f"),
        ("/m/f.tmp", "/m/f"),
        (
            "/m/_temporary/0/_temporary/attempt_202612312359_0001_m_000001_01/part-0",
            "/m/part-0",
        ),
        ("/m/plain", "/m/plain"),
    ],
)
def test_a_temporary_name_hashes_as_what_it_will_be(written: str, final: str) -> None:
    assert final_name(written) == final


def test_orders_that_go_by_the_surroundings() -> None:
    room = Surroundings(0.0, (frozenset({"n1"}),), {"n0": 5, "n1": 6, "n2": 7})
    assert first_nameservice(resolution(Order.SPACE, "/m/f"), room) == "n2"
    assert first_nameservice(resolution(Order.LOCAL, "/m/f"), room) == "n1"
    assert first_nameservice(resolution(Order.LEADER_FOLLOWER, "/m/f"), room) == "n0"
    assert first_nameservice(resolution(Order.RANDOM, "/m/f"), Surroundings(0.99)) == "n2"


def test_local_is_the_nearest_group_and_within_it_what_was_written_first() -> None:
    def first(*near: set[str]) -> str:
        around = Surroundings(0.99, tuple(map(frozenset, near)))
        return first_nameservice(resolution(Order.LOCAL, "/m/f"), around)

    assert first({"n2"}, {"n0"}) == "n2"
    assert first({"elsewhere"}, {"n1", "n2"}) == "n1"
    assert first({"elsewhere"}, set()) == "n2"  # by chance


def test_the_first_level_of_the_root() -> None:
    assert first_level("/a/b", "/") == "/a"
    assert first_level("/m", "/m") == "/m"
