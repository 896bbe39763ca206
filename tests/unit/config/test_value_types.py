from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.config import value_types


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("250ms", 0.25),
        ("5us", 5e-6),
        ("7ns", 7e-9),
        ("2s", 2.0),
        ("2 m", 120.0),
        ("1H", 3600.0),
        ("2d", 172800.0),
        (" 1.5s ", 1.5),
    ],
)
def test_duration_is_read(text: str, seconds: float) -> None:
    assert value_types.duration("k", "0", "s", "").parse(text) == pytest.approx(seconds)


@pytest.mark.parametrize(("unit", "seconds"), [("ms", 0.06), ("s", 60.0), ("m", 3600.0)])
def test_bare_number_is_in_the_unit_of_its_key(unit: str, seconds: float) -> None:
    assert value_types.duration("k", "0", unit, "").parse("60") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "1w", "1 2", "-1", "ten", "1e3", "0x1"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        value_types.duration("k", "0", "s", "").parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("4096", 4096), ("64k", 65536), ("128M", 1 << 27), ("1g", 1 << 30), ("2t", 1 << 41)],
)
def test_size_is_read(text: str, expected: int) -> None:
    assert value_types.size("k", "0", "").parse(text) == expected


@pytest.mark.parametrize("text", ["", "k", "1.5m", "1kb", "-1", "1 m b"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        value_types.size("k", "0", "").parse(text)


@given(st.integers(0, 1 << 63), st.sampled_from("kmgtpe"))
def test_suffixes_of_sizes_are_powers_of_1024(number: int, suffix: str) -> None:
    power = "kmgtpe".index(suffix) + 1
    assert value_types.parse_size(f"{number}{suffix}") == number * 1024**power


@pytest.mark.parametrize(("text", "expected"), [("7", 7), ("-7", -7), ("0x1F", 31), ("-0x10", -16)])
def test_whole_number_may_be_hexadecimal(text: str, expected: int) -> None:
    assert value_types.parse_int(text) == expected


@pytest.mark.parametrize("text", ["1_000", "\u0661", "\u00b2", "1 0", "0x", ""])
def test_number_has_no_underscores_and_no_digits_of_other_scripts(text: str) -> None:
    for parse in (
        value_types.parse_int,
        value_types.parse_size,
        lambda text: value_types.parse_duration(text, "s"),
    ):
        with pytest.raises(ValueError, match="expected"):
            parse(text)


@pytest.mark.parametrize(("text", "expected"), [("0.999f", 0.999), ("1", 1.0), ("2.5D", 2.5)])
def test_number_may_be_a_java_literal(text: str, expected: float) -> None:
    assert value_types.parse_float(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("true", True), (" FALSE ", False)])
def test_boolean_is_a_word(text: str, expected: bool) -> None:
    assert value_types.parse_bool(text) is expected


@pytest.mark.parametrize("text", ["yes", "1", "", "truth"])
def test_other_words_are_no_boolean(text: str) -> None:
    with pytest.raises(ValueError, match="true or false"):
        value_types.parse_bool(text)


def test_list_is_trimmed_and_has_no_empty_items() -> None:
    assert value_types.parse_list(" a, b,,c ,") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host:1", ("host", 1)),
        ("host", ("host", 8020)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:9", ("::1", 9)),
        ("[::1]", ("::1", 8020)),
        ("hdfs://nn:9000/a/b", ("nn", 9000)),
        ("hdfs://nn", ("nn", 8020)),
    ],
)
def test_address_is_read(text: str, expected: tuple[str, int]) -> None:
    assert value_types.parse_address(text, 8020) == expected


@pytest.mark.parametrize("text", ["", ":80", "h:x", "h:65536", "h:-1", "::1", "h:1:2", "h:¹"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="host"):
        value_types.parse_address(text, 8020)


def test_address_without_a_port_needs_a_default() -> None:
    with pytest.raises(ValueError, match="port is missing"):
        value_types.parse_address("host")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file://localhost/a", "/a"),
        ("file:///with%20space", "/with space"),
        ("/with%20percent", "/with%20percent"),
        ("relative/x", "relative/x"),
    ],
)
def test_directory_is_a_path_or_a_file_uri(text: str, expected: str) -> None:
    assert value_types.parse_dirs(text) == [Path(expected)]


@pytest.mark.parametrize("text", ["hdfs://h/a", "file://other/a", "file:a"])
def test_what_is_no_local_directory_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"local directory|absolute path"):
        value_types.parse_dirs(text)


def test_volumes_have_storage_types() -> None:
    assert value_types.parse_storage_dirs("/a, [SSD]/b,[archive]file:///c,[ ]/d") == [
        ("DISK", Path("/a")),
        ("SSD", Path("/b")),
        ("ARCHIVE", Path("/c")),
        ("DISK", Path("/d")),
    ]


def test_unknown_storage_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'TAPE' is not a storage type"):
        value_types.parse_storage_dirs("[TAPE]/a")


def test_choice_does_not_mind_case() -> None:
    key = value_types.choice("k", "CRC32C", ("CRC32", "CRC32C"), "")
    assert key.parse("crc32") == "CRC32"


def test_choice_lists_what_there_is() -> None:
    key = value_types.choice("k", "CRC32C", ("CRC32", "CRC32C"), "")
    with pytest.raises(ValueError, match="CRC32, CRC32C"):
        key.parse("MD5")


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        (value_types.integer("k", 1, "", minimum=1), "0", "at least 1"),
        (value_types.integer("k", 1, "", maximum=9), "10", "at most 9"),
        (value_types.decimal("k", "1", "", minimum=0), "-0.5", "at least 0"),
        (value_types.integer("k", 1, "", minimum=5 << 20), "1", "at least 5242880$"),
    ],
)
def test_bounds_are_kept(key: value_types.Key[Any], text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        key.parse(text)


def test_unit_of_time_must_exist() -> None:
    with pytest.raises(ValueError, match="is not a unit"):
        value_types.duration("k", "0", "weeks", "")


ODD_NUMBERS = [
    "1_000",
    "1_0",
    "\u0661",
    "1\u00b2",
    "\uff11",
    "1 0",
    "--1",
    "",
    "1\n",
    "0b1",
    "nan",
    "inf",
]


@pytest.mark.parametrize("text", ODD_NUMBERS)
def test_numbers_are_made_of_ascii_digits_alone(text: str) -> None:
    for parse in (
        value_types.parse_decimal,
        value_types.parse_real,
        value_types.integer("k", 0, "").parse,
        value_types.parse_float,
        value_types.parse_size,
        lambda text: value_types.parse_duration(text, "s"),
    ):
        if text == "1\n" and parse not in (value_types.parse_decimal, value_types.parse_real):
            continue  # values of files have blanks around them
        with pytest.raises(ValueError, match=r"."):
            parse(text)


@pytest.mark.parametrize("text", ["1", "+1", "-1.5", ".5", "5.", "1e3", "1.5E-3"])
def test_reals_are_read(text: str) -> None:
    assert value_types.parse_real(text) == float(text)
