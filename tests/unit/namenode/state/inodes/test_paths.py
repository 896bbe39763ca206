"""Paths as the namenode takes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.state.inodes import paths

names = st.text(st.characters(exclude_characters="/:\0", exclude_categories=["Cs"]), min_size=1)
good_names = names.filter(lambda name: name not in (".", ".."))


@given(st.lists(good_names, max_size=6))
def test_path_is_split_and_joined_again(components: list[str]) -> None:
    assert paths.split(paths.join(components)) == components


@given(st.lists(good_names, min_size=1, max_size=4), st.integers(1, 3))
def test_slashes_too_many_mean_nothing(components: list[str], slashes: int) -> None:
    path = ("/" * slashes).join(["", *components, ""])
    assert paths.split(path) == components


def test_root_has_no_components() -> None:
    assert paths.split("/") == []
    assert paths.join([]) == "/"
    assert paths.parent_of("/") == "/"


@pytest.mark.parametrize("path", ["", "a", "a/b", "hdfs://h/a"])
def test_relative_path_is_refused(path: str) -> None:
    with pytest.raises(errors.InvalidPath, match="Absolute path required"):
        paths.split(path)


@pytest.mark.parametrize("path", ["/.", "/a/..", "/a/./b", "/../a"])
def test_dots_are_not_created(path: str) -> None:
    with pytest.raises(errors.InvalidPath):
        paths.check_creatable(path)


@pytest.mark.parametrize("path", ["/...", "/.a", "/a./b..", "/.a/..b"])
def test_dots_within_a_name_are(path: str) -> None:
    assert paths.join(paths.split(path)) == path


def test_path_that_no_edit_could_name_is_not_even_looked_at() -> None:
    with pytest.raises(errors.InvalidPath, match="of 200000 characters"):
        paths.split("/a" * 100_000)


@pytest.mark.parametrize(
    ("path", "ancestor", "under"),
    [
        ("/a/b", "/a", True),
        ("/a/b", "/", True),
        ("/a", "/a", False),
        ("/ab", "/a", False),
        ("/", "/", False),
        ("/a", "/a/b", False),
    ],
)
def test_under_means_below_and_not_beside(path: str, ancestor: str, under: bool) -> None:
    assert paths.is_under(path, ancestor) is under


def test_path_of_eight_thousand_characters_is_the_longest() -> None:
    longest = "/" + "x" * 7999
    paths.check_length("create", longest)
    with pytest.raises(errors.RemoteError) as caught:
        paths.check_length("create", longest + "x")
    assert caught.value.message == (
        "create: Pathname too long.  Limit 8000 characters, 1000 levels."
    )


def test_thousand_levels_are_the_deepest() -> None:
    paths.check_length("mkdirs", "/a" * 1000)
    with pytest.raises(errors.RemoteError, match="1000 levels"):
        paths.check_length("mkdirs", "/a" * 1001)


@given(good_names)
def test_any_name_up_to_the_limit_may_be_created(name: str) -> None:
    length = len(name.encode())
    paths.check_new_name(f"/{name}", name, "/d", length)
    if length > 1:
        with pytest.raises(errors.PathComponentTooLong) as caught:
            paths.check_new_name(f"/{name}", name, "/d", length - 1)
        assert caught.value.message.endswith(f"limit={length - 1} length={length}")


@pytest.mark.parametrize("name", ["a:b", "nul\0"])
def test_colon_and_nul_are_in_no_name(name: str) -> None:
    with pytest.raises(errors.InvalidPath):
        paths.check_new_name(f"/{name}", name, "/", 255)


def test_reserved_name_is_reserved_at_the_root_alone() -> None:
    with pytest.raises(errors.IllegalArgument, match="is reserved"):
        paths.check_new_name("/.reserved", ".reserved", "/", 255)
    paths.check_new_name("/a/.reserved", ".reserved", "/a", 255)
