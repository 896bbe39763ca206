"""Sizes, dates and tables as FsShell writes them."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.cli.dfs.commands.ls import Columns
from howdah.cli.dfs.commands.status import formatted
from howdah.cli.dfs.shell.text import Table, minute, percent, printable, utc_second
from howdah.fs.status import FileStatus
from howdah.runtime.units import human_size

FILE = FileStatus("/d/name", 1234567, False, 3, 1 << 27, 1_600_000_000_123, 0, 0o640, "me", "staff")
DIRECTORY = FileStatus("/d", 0, True, 0, 0, 1_600_000_000_123, 0, 0o1777, "root", "supergroup")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (1023, "1023"),
        (1024, "1 K"),
        (1025, "1.0 K"),
        (1280, "1.3 K"),
        (1536, "1.5 K"),
        (1048524, "1023.9 K"),
        (1048525, "1.0 M"),
        (1 << 20, "1 M"),
        (270553174016, "252.0 G"),
        ((1 << 63) - 1, "8.0 E"),
        (-1023, "-1023"),
        (-1025, "-1.0 K"),
    ],
)
def test_sizes_for_people_are_rounded_as_hadoop_rounds_them(size: int, text: str) -> None:
    assert human_size(size) == text


@given(st.integers(1024, (1 << 63) - 1))
def test_a_size_for_people_is_near_the_size(size: int) -> None:
    number, prefix = human_size(size).split()
    unit = 1 << (10 * (1 + "KMGTPE".index(prefix)))
    assert abs(float(number) * unit - size) <= 0.051 * unit
    assert float(number) < 1024


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 10, "0%"), (5, 1000, "1%"), (4, 1000, "0%"), (995, 1000, "100%"), (1, 0, "0%")],
)
def test_a_share_is_rounded_to_whole_percents(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


def test_dates_show_minutes_and_utc_seconds() -> None:
    assert minute(1_600_000_000_999, UTC) == "2020-09-13 12:26"
    assert utc_second(1_600_000_000_999) == "2020-09-13 12:26:40"


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (-315_619_200_000, "1960-01-01 00:00:00"),
        (-1, "1969-12-31 23:59:59"),
        (253_402_300_799_999, "9999-12-31 23:59:59"),
        (253_402_300_800_000, "10000-01-01 00:00:00"),
        ((1 << 63) - 1, "292278994-08-17 07:12:55"),
    ],
)
def test_any_time_that_a_file_may_have_is_shown(time_ms: int, text: str) -> None:
    assert utc_second(time_ms) == text
    assert minute(time_ms, UTC) == text[:-3]


def test_control_characters_become_question_marks_and_letters_stay() -> None:
    assert printable("a\tb\nc\x7fäé日\udc80") == "a?b?c?äé日?"


def test_a_table_is_as_wide_as_its_widest_cells() -> None:
    table = Table(("left", "right", "left"))
    table.header("A", "BBB", "C")
    table.row("long", "1", "x")
    table.row("s", "22222", "yy")
    assert list(table.lines()) == ["A       BBB  C", "long      1  x", "s     22222  yy"]


def test_a_table_without_rows_shows_no_header() -> None:
    table = Table(("left", "left"))
    table.header("A", "B")
    assert list(table.lines()) == []


def test_a_listing_has_hadoops_least_widths() -> None:
    columns = Columns()
    columns.fit(FILE, human=False, policy=None)
    line = columns.line(
        FILE, "/d/name", time_ms=FILE.modification_time_ms, human=False, policy=None
    )
    assert line.startswith("-rw-r-----   3 me staff    1234567 20")
    assert line.endswith(" /d/name")


def test_columns_of_a_listing_never_shrink() -> None:
    columns = Columns()
    columns.fit(DIRECTORY, human=False, policy=None)
    columns.fit(FILE, human=False, policy=None)
    line = columns.line(DIRECTORY, "/d", time_ms=0, human=False, policy=None)
    assert line.startswith("drwxrwxrwt   - root supergroup          0 19")
    assert "3 me   staff         1234567" in columns.line(
        FILE, "/d/name", time_ms=0, human=False, policy=None
    )


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("%a %A", "640 rw-r-----"),
        ("%b %F", "1234567 regular file"),
        ("%g %n %o", "staff name 134217728"),
        ("%r %u", "3 me"),
        ("%x|%X", "1970-01-01 00:00:00|0"),
        ("%y|%Y", "2020-09-13 12:26:40|1600000000123"),
        ("100%%", "100%"),
        ("%q%", "q"),
        (r"a\tb", r"a\tb"),
    ],
)
def test_stat_fills_in_its_fields(template: str, text: str) -> None:
    assert formatted(template, FILE) == text


def test_stat_shows_the_sticky_bit_of_a_directory() -> None:
    assert formatted("%a %A %F", DIRECTORY) == "1777 rwxrwxrwt directory"
