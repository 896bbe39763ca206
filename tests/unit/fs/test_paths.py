"""Paths and URIs: what is a scheme, what is a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs import paths

NAMES = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("text", "scheme", "authority", "path"),
    [
        ("hdfs://nn:8020/a/b", "hdfs", "nn:8020", "/a/b"),
        ("hdfs://nn:8020", "hdfs", "nn:8020", "/"),
        ("hdfs:///a", "hdfs", "", "/a"),
        ("hdfs:/a", "hdfs", "", "/a"),
        ("HDFS://nn/a", "hdfs", "nn", "/a"),
        ("file:///tmp/x", "file", "", "/tmp/x"),
        ("/a/b", "", "", "/a/b"),
        ("a/b", "", "", "a/b"),
        ("a:b", "", "", "a:b"),
        ("/a://b", "", "", "/a://b"),
        ("s3a://bucket/a%20b?c#d", "s3a", "bucket", "/a%20b?c#d"),
        ("hdfs://nn/a b\nc", "hdfs", "nn", "/a b\nc"),
    ],
)
def test_a_uri_is_split(text: str, scheme: str, authority: str, path: str) -> None:
    assert paths.parse(text) == paths.Location(scheme, authority, path)


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(errors.InvalidPath):
        paths.parse("")


def test_bytes_are_no_path() -> None:
    with pytest.raises(TypeError):
        paths.parse(b"/a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/a/", "/a"),
        ("/a//b///c", "/a/b/c"),
        ("/a/./b/../c", "/a/c"),
        ("/a/..", "/"),
        ("/.hidden", "/.hidden"),
        ("/a/...", "/a/..."),
        ("/a..b", "/a..b"),
        ("/%2e%2e/x", "/%2e%2e/x"),
        ("b", "/user/me/b"),
        ("../other/c", "/user/other/c"),
        (".", "/user/me"),
    ],
)
def test_a_path_is_normalised(path: str, expected: str) -> None:
    assert paths.normalize(path, "/user/me") == expected


def test_a_path_above_the_root_is_refused() -> None:
    with pytest.raises(errors.InvalidPath, match="above the root"):
        paths.normalize("/a/../../b")


@given(st.lists(NAMES.filter(lambda name: name not in (".", "..")), max_size=5))
def test_odd_characters_are_characters_of_the_name(names: list[str]) -> None:
    path = "/" + "/".join(names)
    assert paths.normalize(path) == path
    assert paths.parse(path).path == path


@given(st.text("ab./", min_size=1))
def test_normalising_twice_changes_nothing(text: str) -> None:
    try:
        once = paths.normalize("/" + text)
    except errors.InvalidPath:
        return
    assert paths.normalize(once) == once


@given(st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=5))
def test_a_path_is_its_parent_joined_with_its_name(names: list[str]) -> None:
    path = "/" + "/".join(names)
    parent = paths.parent_of(path)
    assert parent is not None
    assert paths.join(parent, paths.name_of(path)) == path


def test_the_root_has_no_parent() -> None:
    assert paths.parent_of("/") is None


@pytest.mark.parametrize(
    ("path", "directory", "expected"),
    [("/a/b", "/a", True), ("/a", "/a", True), ("/ab", "/a", False), ("/a", "/", True)],
)
def test_being_below_goes_by_components(path: str, directory: str, expected: bool) -> None:
    assert paths.is_under(path, directory) is expected


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("022", 0o022),
        ("0027", 0o027),
        ("77", 0o077),
        ("0", 0),
        ("u=rwx,g=rx,o=rx", 0o022),
        ("u=rwx,g=,o=", 0o077),
        ("a=r", 0o333),
        ("g-w,o-rwx", 0o027),
    ],
)
def test_a_umask_is_read(text: str, bits: int) -> None:
    assert paths.parse_umask(text) == bits


@pytest.mark.parametrize("text", ["", "8", "99", "rwx!", "u=z"])
def test_what_is_no_umask_is_refused(text: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="umask"):
        paths.parse_umask(text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/plain é 😀\\n", "/plain é 😀\\n"),
        ("/a\nb\tc", "/a\\nb\\tc"),
        ("/\x1b[2J", "/\\x1b[2J"),
        ("/lat\udce9", "/lat\\xe9"),
        ("/\u2028\u0085", "/\\u2028\\x85"),
    ],
)
def test_path_is_shown_in_a_line_and_as_utf8(path: str, text: str) -> None:
    assert paths.printable(path) == text
    assert len(text.splitlines()) == 1
