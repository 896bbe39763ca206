"""Hadoop's file name patterns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs import glob


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*", "anything", True),
        ("*", ".hidden", True),
        ("a*c", "abbc", True),
        ("a*c", "abbd", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[abc]x", "bx", True),
        ("[abc]x", "dx", False),
        ("[a-c]x", "bx", True),
        ("[^a-c]x", "dx", True),
        ("[^a-c]x", "bx", False),
        ("[!a]", "b", True),
        ("[]a]", "]", True),
        ("[a-]", "-", True),
        ("[a\\]]", "]", True),
        ("[&&]", "&", True),
        ("{ab,cd}", "cd", True),
        ("{ab,cd}", "ad", False),
        ("{a,b{c,d}}x", "bdx", True),
        ("{,x}y", "y", True),
        ("a,b", "a,b", True),
        ("a}b", "a}b", True),
        ("\\*", "*", True),
        ("\\*", "x", False),
        ("a.b", "axb", False),
        ("a+(b)|c$", "a+(b)|c$", True),
        ("*.txt", "a\nb.txt", True),
        ("{a,b}", "a,b", False),
        ("{\\,,x}", ",", True),
    ],
)
def test_a_component_matches_a_name(pattern: str, name: str, expected: bool) -> None:
    assert glob.compile_component(pattern)(name) is expected


@pytest.mark.parametrize("pattern", ["[a", "{a", "{a,b", "a\\", "[b-a]", "[", "[^", "{a,{b}"])
def test_an_open_pattern_is_refused_and_named(pattern: str) -> None:
    with pytest.raises(errors.IllegalArgument) as caught:
        glob.compile_component(pattern)
    assert repr(pattern) in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/a/b", ["/a/b"]),
        ("/{a,b}/c", ["/{a,b}/c"]),
        ("/{a/b,c}/d", ["/a/b/d", "/c/d"]),
        ("{/a,/b/c}", ["/a", "/b/c"]),
        ("/{a/b,c}/{d/e,f}", ["/a/b/d/e", "/a/b/f", "/c/d/e", "/c/f"]),
        ("/{a,b{c/d,e}}", ["/a", "/bc/d", "/be"]),
        ("/\\{a/b,c}", ["/\\{a/b,c}"]),
    ],
)
def test_braces_around_slashes_are_written_out(pattern: str, expected: list[str]) -> None:
    assert glob.expand(pattern) == expected


def test_an_explosion_of_braces_is_refused() -> None:
    with pytest.raises(errors.IllegalArgument, match="stands for more than"):
        glob.expand("/{a/b,c/d}" * 20)


def test_a_pattern_is_matched_component_by_component() -> None:
    assert glob.matches("/a/*/c", "/a/b/c")
    assert not glob.matches("/a/*/c", "/a/b/b/c")
    assert glob.matches("/{a/b,c}/*", "/c/x")


def test_a_star_does_not_cross_a_slash() -> None:
    assert not glob.matches("/a*", "/a/b")


@given(st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1))
def test_an_escaped_name_matches_itself_and_is_literal(name: str) -> None:
    escaped = glob.escape(name)
    assert glob.is_literal(escaped)
    assert glob.unescape(escaped) == name
    assert glob.compile_component(escaped)(name)


@given(st.text("ab*?[]{},\\-^!", max_size=12), st.text("ab,", max_size=5))
def test_any_pattern_either_compiles_or_is_refused(pattern: str, name: str) -> None:
    try:
        match = glob.compile_component(pattern)
    except errors.IllegalArgument:
        return
    assert match(name) in (True, False)


@given(st.text("ab*?[]{},\\", max_size=8))
def test_a_pattern_without_wildcards_matches_only_its_text(pattern: str) -> None:
    if not glob.has_wildcard(pattern):
        assert glob.compile_component(pattern)(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 30 + "b",
        "{a,a}" * 60 + "b",
        "{a*,*a,a}" * 20 + "b",
        "{" * 2000 + "a" + "}" * 2000 + "b",
    ],
)
def test_no_pattern_is_tried_for_years(pattern: str) -> None:
    matches = glob.compile_component(pattern)
    assert not matches("a" * 255)


_PIECES = st.sampled_from(["a", "b", "*", "?", "[ab]", "{a,b}", "{a*,}", "{,{ab,*b}}", ","])


@given(st.lists(_PIECES, max_size=6).map("".join), st.text("ab,", max_size=6))
def test_many_branches_mean_the_same_as_few(pattern: str, name: str) -> None:
    # A group that changes nothing, more often than an expression is made of.
    many = glob.compile_component("{}" * 9 + pattern)
    one_by_one = re.compile("".join(glob._parts(pattern)), re.DOTALL)
    assert many(name) == (one_by_one.fullmatch(name) is not None)
