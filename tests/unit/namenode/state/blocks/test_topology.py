"""Distances in the network, and where they come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.state.blocks.topology import (
    DEFAULT_RACK,
    RackMap,
    distance,
    normalise,
    parse_table,
)

Place = tuple[str, str]
levels = st.lists(st.sampled_from(("a", "b", "c")), min_size=1, max_size=4)
places = st.tuples(levels.map(lambda names: "/" + "/".join(names)), st.sampled_from("xyz"))
# A tree in which every rack is as deep as the others, as they are in a real one.
even = st.tuples(
    st.tuples(st.sampled_from("ab"), st.sampled_from("ab")).map(lambda p: f"/{p[0]}/{p[1]}"),
    st.sampled_from("xyz"),
)


def far(a: Place, b: Place) -> int:
    return distance(*a, *b)


@pytest.mark.parametrize(
    ("a", "b", "steps"),
    [
        pytest.param(("/d1/r1", "n1"), ("/d1/r1", "n1"), 0, marks=pytest.mark.req("FS-107")),
        pytest.param(("/d1/r1", "n1"), ("/d1/r1", "n2"), 2, marks=pytest.mark.req("FS-108")),
        pytest.param(("/d1/r1", "n1"), ("/d1/r2", "n3"), 4, marks=pytest.mark.req("FS-109")),
        pytest.param(("/d1/r1", "n1"), ("/d2/r3", "n4"), 6, marks=pytest.mark.req("FS-110")),
    ],
)
@pytest.mark.req("FS-180")
def test_distance_is_that_of_the_book(a: Place, b: Place, steps: int) -> None:
    assert far(a, b) == steps


@pytest.mark.req("FS-104")
@given(places, places)
def test_distance_is_the_way_up_to_the_common_ancestor_and_down(a: Place, b: Place) -> None:
    left, right = ([*rack.strip("/").split("/"), node] for rack, node in (a, b))
    shared = next(
        (n for n, (x, y) in enumerate(zip(left, right, strict=False)) if x != y),
        min(len(left), len(right)),
    )
    assert far(a, b) == (len(left) - shared) + (len(right) - shared)


@pytest.mark.req("FS-111")
@given(places, places, places)
def test_distance_is_a_metric(a: Place, b: Place, c: Place) -> None:
    assert (far(a, b) == 0) == (a == b)
    assert far(a, b) == far(b, a)
    assert far(a, c) <= far(a, b) + far(b, c)


@pytest.mark.req("FS-105")
@given(st.lists(st.sampled_from("pq"), min_size=1, max_size=8))
def test_depth_is_not_hard_coded(names: list[str]) -> None:
    rack = "/" + "/".join(names)
    assert distance(rack, "n1", rack, "n2") == 2
    assert distance(rack, "n1", "/elsewhere", "n1") == len(names) + 1 + 2


@pytest.mark.req("FS-106")
@given(even, even)
def test_same_node_is_nearer_than_same_rack_than_other_rack(a: Place, b: Place) -> None:
    same_centre = a[0].split("/")[1] == b[0].split("/")[1]
    expected = 0 if a == b else 2 if a[0] == b[0] else 4 if same_centre else 6
    assert far(a, b) == expected


@pytest.mark.req("FS-113")
def test_without_a_table_every_node_is_on_one_rack() -> None:
    assert RackMap().location("10.0.0.1", "one") == RackMap().location("10.0.0.2") == DEFAULT_RACK


@pytest.mark.req("FS-112")
def test_table_is_asked_by_address_then_by_name() -> None:
    racks = RackMap({"10.0.0.1": "/r1", "two": "/r2"})
    assert racks.location("10.0.0.1", "two") == "/r1"
    assert racks.location("10.0.0.9", "two") == "/r2"
    assert racks.location("10.0.0.9", "nine") == DEFAULT_RACK


def test_table_has_hosts_locations_and_comments() -> None:
    text = "# hosts\n10.0.0.1 /d1/r1\n\nnode2\t/d1/r2 # new\n"
    assert parse_table(text, "racks.txt") == {"10.0.0.1": "/d1/r1", "node2": "/d1/r2"}


@pytest.mark.parametrize("line", ["host", "host /r1 extra", "host r1", "host /"])
def test_line_that_is_no_host_and_location_is_an_error(line: str) -> None:
    with pytest.raises(errors.InvalidConfiguration):
        parse_table(f"10.0.0.1 /r1\n{line}\n", "racks.txt")


def test_error_of_a_table_names_file_and_line() -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"racks\.txt, line 2"):
        parse_table("10.0.0.1 /r1\nalone\n", "racks.txt")


@pytest.mark.parametrize(("given_as", "is_"), [("/r1/", "/r1"), (" /a/b \n", "/a/b")])
def test_location_is_put_in_one_form(given_as: str, is_: str) -> None:
    assert normalise(given_as) == is_
