"""What chmod makes of a mode."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.commands import modes


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("755", 0o644, 0o755),
        ("+755", 0o644, 0o755),
        (" 755 ", 0o644, 0o755),
        ("644", 0o1777, 0o1644),
        ("0644", 0o1777, 0o644),
        ("1644", 0o777, 0o1644),
        ("u+x", 0o644, 0o744),
        ("u+x,g=r,o-r", 0o664, 0o740),
        ("+w", 0o444, 0o666),
        ("a-w", 0o666, 0o444),
        ("=r", 0o777, 0o444),
        ("+t", 0o755, 0o1755),
        ("o+t", 0o755, 0o1755),
        ("u+t", 0o755, 0o755),
        ("-t", 0o1755, 0o755),
        ("o=r", 0o1777, 0o774),
        ("a+X", 0o644, 0o644),
        ("a+X", 0o744, 0o755),
        ("u+-r", 0o444, 0o044),
        # The last clause that names a class counts, from the mode as it was.
        ("a=r,u+w", 0o755, 0o744),
        ("-rwx,u+w", 0o644, 0o600),
        ("ua-r", 0o755, 0o355),
    ],
)
def test_a_mode_changes_as_hadoops_chmod_changes_it(text: str, before: int, after: int) -> None:
    assert oct(modes.parse(text)(before, False)) == oct(after)


def test_capital_x_makes_directories_searchable() -> None:
    assert modes.parse("a+X")(0o644, True) == 0o755


@pytest.mark.parametrize(
    "text",
    ["", "0", "99", "999", "01755", "4755", "77777", "-755", "+", "u+", "u+q", "o=", "u=r o=w"],
)
def test_what_is_no_mode_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="does not match the expected pattern"):
        modes.parse(text)


@given(st.integers(0, 0o1777), st.integers(0, 0o1777), st.booleans())
def test_four_octal_digits_leave_nothing_of_the_old_mode(
    before: int, after: int, directory: bool
) -> None:
    assert modes.parse(f"{after:04o}")(before, directory) == after


@given(
    st.integers(0, 0o777),
    st.text("ugo", max_size=3),
    st.text("rwx", min_size=1, max_size=3),
    st.booleans(),
)
def test_what_is_added_and_taken_away_is_gone(
    before: int, who: str, letters: str, directory: bool
) -> None:
    added = modes.parse(f"{who}+{letters}")(before, directory)
    removed = modes.parse(f"{who}-{letters}")(added, directory)
    assert removed & added == removed
    assert modes.parse(f"{who}-{letters}")(before, directory) == removed
