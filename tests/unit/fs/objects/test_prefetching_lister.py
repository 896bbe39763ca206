"""Trees that are listed by their keys: the same as directory by directory, in fewer requests."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.fs.objects import prefetching_lister
from howdah.fs.objects.prefetching_lister import ListingAhead
from howdah.fs.status import FileStatus
from tests.support.objects.keys import Keys, tree_of

ListOne = Callable[[str], Iterable[FileStatus]]


def ahead_of(store: Keys, top: str = "/") -> ListingAhead:
    return ListingAhead(tree_of(store), top, lambda: None)


def walked(list_one: ListOne, top: str, *, in_depth: bool = True) -> dict[str, list[FileStatus]]:
    """All directories with their entries."""
    found: dict[str, list[FileStatus]] = {}
    waiting = deque([top])
    while waiting:
        path = waiting.popleft()
        entries = list(list_one(path))
        found[path] = entries
        below = [each.path for each in entries if each.is_directory]
        if in_depth:
            waiting.extendleft(reversed(below))
        else:
            waiting.extend(below)
    return found


def one_by_one(store: Keys) -> ListOne:
    tree = tree_of(store)
    return lambda path: sorted(tree.entries(path, lambda: None), key=lambda each: each.path)


NAMES = st.sampled_from(["a", "a-b", "a.", "a0", "b", "c", "é", "\U0001f600", "", "."])
KEYS = st.builds(
    lambda names, end: "/".join(names) + end,
    st.lists(NAMES, min_size=1, max_size=5),
    st.sampled_from(["", "", "/"]),
).filter(lambda key: key != "/" and key)


@pytest.mark.req("FS-190")
@settings(max_examples=300, deadline=None)
@given(
    keys=st.lists(KEYS, min_size=1, max_size=60),
    page_keys=st.integers(1, 12),
    in_depth=st.booleans(),
    sorts_keys=st.booleans(),
    most_kept=st.sampled_from([0, 5, 1000]),
)
def test_any_tree_is_as_its_directories_are(
    keys: list[str], page_keys: int, in_depth: bool, sorts_keys: bool, most_kept: int
) -> None:
    store = Keys(keys, page_keys, sorts_keys=sorts_keys)
    wanted = walked(one_by_one(Keys(keys, 1000, sorts_keys=sorts_keys)), "/")
    if sorts_keys:
        assert walked(one_by_one(Keys(keys, page_keys)), "/") == wanted
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prefetching_lister, "MOST_KEPT", most_kept)
        assert walked(ahead_of(store), "/", in_depth=in_depth) == wanted
        for path in list(wanted)[1:3]:
            below = {
                name: each for name, each in wanted.items() if f"{name}/".startswith(f"{path}/")
            }
            assert walked(ahead_of(store, path), path, in_depth=in_depth) == below


def spread(directories: int, files: int) -> list[str]:
    return [f"t/{one:04}/{other:05}" for one in range(directories) for other in range(files)]


@pytest.mark.req("FS-190")
@pytest.mark.parametrize(
    ("directories", "files", "most"), [(20, 3, 1), (100, 50, 8), (10, 3000, 45), (1, 20_000, 21)]
)
def test_a_walk_costs_little_more_than_the_pages_of_its_keys(
    directories: int, files: int, most: int
) -> None:
    store = Keys(spread(directories, files), 1000)
    found = walked(ahead_of(store, "/t"), "/t")
    assert sum(not each.is_directory for all_of in found.values() for each in all_of) == (
        directories * files
    )
    assert store.calls <= most


@pytest.mark.req("FS-190")
def test_in_breadth_a_walk_costs_no_more() -> None:
    keys = [f"t/{a:02}/{b:02}/{c}" for a in range(40) for b in range(10) for c in range(10)]
    store = Keys(keys, 1000)
    assert len(walked(ahead_of(store, "/t"), "/t", in_depth=False)) == 441
    assert store.calls <= 8


@pytest.mark.req("FS-190")
def test_what_is_asked_for_first_costs_two_requests_and_what_is_passed_over_none() -> None:
    store = Keys([*spread(2, 30_000), "t/z/file"], 1000)
    listed = ahead_of(store, "/t")
    assert [each.name for each in listed("/t")] == ["0000", "0001", "z"]
    assert store.calls == 2
    assert [each.path for each in listed("/t/z")] == ["/t/z/file"]
    assert store.calls == 3


@pytest.mark.req("FS-190")
def test_who_asks_here_and_there_pays_two_requests_each_at_most() -> None:
    store = Keys(spread(1000, 20), 1000)
    listed = ahead_of(store, "/t")
    listed("/t")
    before = store.calls
    for number in range(0, 1000, 125):
        assert len(listed(f"/t/{number:04}")) == 20
    assert store.calls - before <= 2 * 8


@pytest.mark.req("FS-190")
def test_what_is_asked_for_again_is_as_it_is_by_then() -> None:
    store = Keys(spread(3, 2), 1000)
    listed = ahead_of(store, "/t")
    listed("/t")
    assert len(listed("/t/0001")) == 2
    store.keys.remove("t/0001/00000")
    assert len(listed("/t/0001")) == 1
    store.keys.remove("t/0001/00001")
    with pytest.raises(errors.PathNotFound, match="/t/0001"):
        listed("/t/0001")


def test_a_file_lists_itself_and_what_is_not_there_is_an_error() -> None:
    store = Keys(["t/file", "t/file-1", "t/other/x"], 1)
    assert [each.path for each in ahead_of(store, "/t/file")("/t/file")] == ["/t/file"]
    assert [each.path for each in ahead_of(store)("/t/file")] == ["/t/file"]
    for top in ("/", "/t", "/t/none"):
        with pytest.raises(errors.PathNotFound, match="/t/none"):
            ahead_of(store, top)("/t/none")
    assert ahead_of(Keys([], 1))("/") == []
