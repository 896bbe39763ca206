"""Names of capabilities."""

from __future__ import annotations

import locale

import pytest

from howdah.fs import capabilities


@pytest.mark.req("OS-100")
@pytest.mark.parametrize("name", ["HSYNC", "Hsync", "hsync", "hSyNc"])
def test_case_is_left_out_of_account(name: str) -> None:
    assert capabilities.canonical(name) == capabilities.HSYNC


@pytest.mark.req("OS-100")
def test_no_language_has_a_say_in_it() -> None:
    before = locale.setlocale(locale.LC_ALL)
    try:
        for name in ("tr_TR.UTF-8", "C.UTF-8"):
            try:
                locale.setlocale(locale.LC_ALL, name)
            except locale.Error:
                continue  # not on this machine
            assert capabilities.canonical("IN:READAHEAD") == capabilities.READAHEAD
    finally:
        locale.setlocale(locale.LC_ALL, before)


@pytest.mark.req("OS-106", "OS-107", "OS-108", "OS-109", "OS-110", "OS-111", "OS-112", "XC-014")
def test_names_are_those_of_the_specification() -> None:
    assert {
        capabilities.DROP_BEHIND,
        capabilities.HSYNC,
        capabilities.HFLUSH,
        capabilities.READAHEAD,
        capabilities.UNBUFFER,
        capabilities.READ_BYTE_BUFFER,
        capabilities.PREAD_BYTE_BUFFER,
    } == {
        "dropbehind",
        "hsync",
        "hflush",
        "in:readahead",
        "in:unbuffer",
        "in:readbytebuffer",
        "in:preadbytebuffer",
    }


@pytest.mark.req("OS-113", "OS-114")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fs.hdfs.sync.flags", True),
        ("FS.HDFS.x", True),
        ("hsync", True),
        ("fs.capability.paths.append", True),
        ("fs.mem.x", False),
        ("fs.hdfs.", False),
        ("fs.hdfs", False),
        ("sync.flags", False),
        ("in:unknown", False),
    ],
)
def test_own_names_begin_with_the_scheme(name: str, expected: bool) -> None:
    assert capabilities.is_well_named(name, "hdfs") is expected
