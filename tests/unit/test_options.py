"""What callers ask of streams."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs.registry import connect
from howdah.options import FileRange, SyncFlag, check_mode, check_ranges


def test_ranges_may_touch_and_come_in_any_order() -> None:
    check_ranges([FileRange(10, 5), FileRange(0, 10), FileRange(15, 0)], 15)


@pytest.mark.parametrize("ranges", [[(0, 10), (9, 1)], [(5, 5), (0, 6)], [(3, 4), (3, 4)]])
def test_ranges_may_not_overlap(ranges: list[tuple[int, int]]) -> None:
    with pytest.raises(errors.IllegalArgument, match="may not overlap"):
        check_ranges([FileRange(*each) for each in ranges])


@pytest.mark.parametrize("each", [FileRange(-1, 1), FileRange(0, -1)])
def test_negative_numbers_are_refused(each: FileRange) -> None:
    with pytest.raises(errors.IllegalArgument, match="cannot begin"):
        check_ranges([each])


def test_a_range_may_end_with_the_file_and_not_behind_it() -> None:
    check_ranges([FileRange(0, 10)], 10)
    with pytest.raises(EOFError, match="ends behind the 10 bytes"):
        check_ranges([FileRange(0, 11)], 10)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12))
def test_what_cuts_do_not_overlap(cuts: list[int]) -> None:
    edges = sorted(cuts)
    check_ranges([FileRange(a, b - a) for a, b in itertools.pairwise(edges) if b > a], edges[-1])


def test_no_flag_is_false() -> None:
    assert not SyncFlag.NONE
    assert SyncFlag.UPDATE_LENGTH | SyncFlag.END_BLOCK == ~SyncFlag.NONE


@pytest.mark.parametrize("mode", [0, 0o644, 0o1777])
def test_a_mode_is_taken(mode: int) -> None:
    assert check_mode(mode) == mode


@pytest.mark.parametrize("mode", [-1, 0o2755, 0o4755, 0o7777, 0o10644, 755_000, 1 << 40])
def test_a_mode_that_would_lose_bits_is_refused(mode: int) -> None:
    with pytest.raises(errors.IllegalArgument, match="is no mode"):
        check_mode(mode)


@pytest.mark.parametrize("scheme", ["mem", "file"])
def test_no_filesystem_drops_bits_of_a_mode(scheme: str, tmp_path: Path) -> None:
    root = "/" if scheme == "mem" else str(tmp_path)
    with connect(f"{scheme}:///" if scheme == "file" else "mem://modes/") as fs:
        path = f"{root}/f".replace("//", "/")
        with fs.create(path, permission=0o600):
            pass
        for act in (
            lambda: fs.set_permission(path, 0o4755),
            lambda: fs.create(f"{path}2", permission=0o4755),
            lambda: fs.mkdirs(f"{path}3", 0o4755),
        ):
            with pytest.raises(errors.IllegalArgument, match="is no mode"):
                act()
        assert fs.get_file_status(path).permission == 0o600
        assert not fs.exists(f"{path}2")
        assert not fs.exists(f"{path}3")
