"""Where paths are: against a model that looks at every entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.router.state.table.mount_table import (
    Destination,
    Location,
    MountEntry,
    MountTable,
    Order,
    normalised,
)

pytestmark = pytest.mark.req("LM-020")

parts = st.sampled_from(["a", "b", "ab", "c"])
paths = st.lists(parts, max_size=4).map(lambda found: "/" + "/".join(found))
destinations = st.builds(Destination, st.sampled_from(["n1", "n2"]), paths)
entries = st.builds(
    MountEntry, paths, st.lists(destinations, min_size=1, max_size=3, unique=True).map(tuple)
)
tables = st.lists(entries, max_size=6, unique_by=lambda entry: entry.source)


def covers(source: str, path: str) -> bool:
    return (path + "/").startswith(source if source == "/" else source + "/")


@given(tables, paths, st.sampled_from(["", "n1"]))
def test_a_path_belongs_to_the_longest_mount_point_above_it(
    found: list[MountEntry], path: str, default: str
) -> None:
    resolution = MountTable(found, default).resolve(path)
    above = [entry for entry in found if covers(entry.source, path)]
    if not above:
        expected = [("n1", path)] if default else None
    else:
        entry = max(above, key=lambda each: len(each.source))
        rest = path.removeprefix(entry.source).strip("/")
        expected = [
            (each.nameservice, normalised(f"{each.path}/{rest}")) for each in entry.destinations
        ]
    actual = resolution and [(each.nameservice, each.path) for each in resolution.locations]
    assert actual == expected


@given(tables, paths)
def test_children_lead_to_every_mount_point(found: list[MountEntry], path: str) -> None:
    below = {
        entry.source.removeprefix(path).strip("/").split("/")[0]
        for entry in found
        if covers(path, entry.source) and entry.source != path
    }
    is_mount = any(entry.source == path for entry in found)
    expected = tuple(sorted(below)) if below or is_mount else None
    assert MountTable(found).children(path) == expected


@given(tables, paths)
def test_a_path_that_is_translated_comes_back(found: list[MountEntry], path: str) -> None:
    table = MountTable(found)
    resolution = table.resolve(path)
    for location in resolution.locations if resolution else ():
        back = table.source_of(location.nameservice, location.path)
        assert back is not None
        again = table.resolve(back)
        assert again is not None
        places = [(each.nameservice, each.path) for each in again.locations]
        assert (location.nameservice, location.path) in places


def test_destinations_in_one_nameservice_are_counted() -> None:
    entry = MountEntry("/m", (Destination("n1", "/x"), Destination("n1", "/y")))
    found = MountTable([entry]).resolve("/m/f")
    assert found is not None
    assert found.locations == (
        Location("n1", "/x/f", "/x", "/m", 0),
        Location("n1", "/y/f", "/y", "/m", 1),
    )


def test_the_trash_of_a_path_is_in_its_nameservice() -> None:
    table = MountTable([MountEntry("/m", (Destination("n2", "/x"),))], "n1")
    path = "/user/eve/.Trash/Current/m/f"
    found = table.resolve(path)
    assert found is not None
    assert [(each.nameservice, each.path) for each in found.locations] == [("n2", path)]
    own = table.resolve("/user/eve/.Trash/Current")
    assert own is not None
    assert own.locations[0].nameservice == "n1"


@pytest.mark.parametrize("path", ["relative", "", "/a/../b", "/a/./b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(errors.InvalidPath):
        MountTable((), "n1").resolve(path)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (MountEntry("", (Destination("n", "/"),)), "no source path specified"),
        (MountEntry("a", (Destination("n", "/"),)), "must start with /"),
        (MountEntry("/a/", (Destination("n", "/"),)), "no normal path"),
        (MountEntry("/a", ()), "no destination paths specified"),
        (MountEntry("/a", (Destination("", "/"),)), "invalid destination nameservice"),
        (MountEntry("/a", (Destination("n", ""),)), "invalid destination path"),
        (MountEntry("/a", (Destination("n", "x"),)), "all destination must start with /"),
        (MountEntry("/a", (Destination("n", "/../x"),)), "no normal path"),
        (MountEntry("/a", (Destination("n", "/x"), Destination("n", "/x"))), "named twice"),
        (
            MountEntry("/a", (Destination("n", "/x"),), Order.RANDOM, fault_tolerant=True),
            "requires multiple destinations",
        ),
        (
            MountEntry("/a", (Destination("n", "/x"), Destination("m", "/x")), fault_tolerant=True),
            "only supported for ALL order",
        ),
    ],
)
def test_an_entry_that_cannot_be_is_refused(entry: MountEntry, problem: str) -> None:
    with pytest.raises(errors.IllegalArgument, match=problem):
        entry.check()


def test_no_nameservice_is_asked_twice_for_a_trash_path() -> None:
    entries = [
        MountEntry(f"/m/{number}", (Destination(name, f"/{number}"),))
        for number, name in enumerate(("n1", "n2", "n2"))
    ]
    table = MountTable(entries, "n1")
    found = table.resolve("/user/eve/.Trash/Current/m")
    assert found is not None
    assert [each.nameservice for each in found.locations] == ["n1"]
    assert [each.nameservice for each in table.trash_of_others(found)] == ["n2"]


def test_below_a_trash_path_are_the_mount_points_of_what_was_moved_there() -> None:
    table = MountTable(
        [
            MountEntry("/home/data", (Destination("east", "/home/data"),)),
            MountEntry("/data1/test1", (Destination("west", "/data1/test1"),)),
        ],
        "east",
    )
    for trash in ("/user/ann/.Trash/Current", "/user/ann/.Trash/260101000000"):
        for below in ("", "/data1", "/home", "/data1/test1", "/data1/test1/d"):
            assert table.children(trash + below) == table.children(below or "/")
            assert table.mounts(trash + below) is None
