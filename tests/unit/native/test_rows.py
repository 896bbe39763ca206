"""What the kernel does for tables of rows, and how it refuses what does not fit."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.formats.image.name_order import in_order
from howdah.native.loader import kernel

SHIFT, WIDTH = 2, 3
ROWS = 1 << SHIFT


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built here")
    return found


def page(number: int) -> array[int]:
    return array("q", range(number * 100, number * 100 + ROWS * WIDTH))


PAGES = {number: page(number) for number in (0, 1, 5, 1 << 40)}


@given(ids=st.lists(st.sampled_from([0, 1, 3, 4, 7, 20, 23, 1 << 42]), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_their_ids(native: ModuleType, ids: list[int]) -> None:
    found = array("q", native.take_rows(PAGES, array("q", ids), SHIFT, WIDTH))
    expected = array("q")
    for row_id in ids:
        at = (row_id & (ROWS - 1)) * WIDTH
        expected += PAGES[row_id >> SHIFT][at : at + WIDTH]
    assert found == expected


def test_an_id_without_a_page_is_named(native: ModuleType) -> None:
    with pytest.raises(KeyError, match="8"):
        native.take_rows(PAGES, array("q", [0, 8, 12]), SHIFT, WIDTH)
    with pytest.raises(KeyError, match="-1"):
        native.take_rows(PAGES, array("q", [-1]), SHIFT, WIDTH)


class Named:
    """A page, as far as names go."""

    def __init__(self, names: Any) -> None:
        self.names = names


NAMED = {number: Named([f"{number}/{row}" for row in range(ROWS)]) for number in PAGES}
ENTRIES = st.dictionaries(
    st.text(max_size=4) | st.text("aé\U0001f418\ud800", max_size=4),
    st.integers(-(1 << 63), (1 << 63) - 1) | st.integers() | st.booleans() | st.none(),
)


def numbers_of(data: bytes) -> list[int]:
    return array("q", data).tolist()


@given(entries=ENTRIES | st.dictionaries(st.text(max_size=4), st.integers(0, 1 << 40)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ids_are_those_of_a_directory_of_files_alone(
    native: ModuleType, entries: dict[str, Any]
) -> None:
    ids = list(entries.values())
    are_files = {int}.issuperset(map(type, ids)) and all(-(1 << 63) <= n < 1 << 63 for n in ids)
    found, ordered = native.file_ids(entries), native.ids_in_order(entries)
    if not are_files:
        assert found is None
        assert ordered is None
        return
    assert numbers_of(found) == ids
    if any("\ud800" <= character < "\ue000" for character in "".join(entries)):
        assert ordered is None
        return
    assert numbers_of(ordered) == [entries[name] for name in in_order(entries)]


def test_the_order_of_many_names(native: ModuleType) -> None:
    names = [f"{letter}{number}" for number in range(300) for letter in ("b", "é", "a", "", "日本")]
    for order in (names, sorted(names), names[::-1]):
        entries = {name: number for number, name in enumerate(order)}
        expected = [entries[name] for name in in_order(order)]
        assert numbers_of(native.ids_in_order(entries)) == expected


def test_what_is_no_directory_has_no_ids(native: ModuleType) -> None:
    for other in ([1, 2], None, b"", (("a", 1),)):
        for call in (native.file_ids, native.ids_in_order):
            with pytest.raises(TypeError):
                call(other)
    assert native.ids_in_order({1: 2}) is None


def test_ids_keep_no_reference(native: ModuleType) -> None:
    """Neither of those that are taken nor of those that are not."""
    number, name, other = 1 << 62, "a name of its own" * 2, object()
    entries: dict[str, Any] = {name: number}
    mixed = {**entries, "z": other}
    before = [sys.getrefcount(each) for each in (number, name, other)]
    for _ in range(20):
        for call in (native.file_ids, native.ids_in_order):
            assert numbers_of(call(entries)) == [number]
            assert call(mixed) is None
    assert [sys.getrefcount(each) for each in (number, name, other)] == before


@given(
    numbers=st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20), bits=st.integers(0, 63)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_lose_their_lowest_bits(native: ModuleType, numbers: list[int], bits: int) -> None:
    found = native.shift_right(array("q", numbers), bits)
    assert numbers_of(found) == [number >> bits for number in numbers]


LOOK = (b"\x08\x03\x10", b"\x20\x01", b"\x58\x00")
TAKE: list[Any] = [PAGES, array("q", [0, 1]), SHIFT, WIDTH]
SHIFTED: list[Any] = [array("q", [9, -9]), 3]
FRAME: list[Any] = [
    array("q", [1, 2]),
    ["one", "tw\u00f6"],
    array("q", [3, 4]),
    array("q", [5, 6]),
    [LOOK, LOOK],
    array("q", [7, 8, 9]),
    array("q", [1, 1, 1]),
    array("q", [2, 2, 2]),
    array("q", [1, 2]),
]
IN_PAGES: list[Any] = [
    array("q", [4, 1]),
    ({0: Named(["a", "tw\u00f6", "c", "d"]), 1: Named(["one", "f", "g", "h"])}, SHIFT),
    *FRAME[2:],
]
BAD: list[Any] = [
    None,
    0,
    -1,
    1 << 62,
    1 << 70,
    b"",
    b"1234567",
    array("i", [1, 2]),
    array("Q", [1, 2]),
    array("d", [1.0, 2.0]),
    array("q", [1]),
    array("q", [1, 2, 3]),
    array("q", [-(1 << 63), (1 << 63) - 1]),
    memoryview(array("q", [1, 2, 3, 4]))[::2],
    [],
    ["a"],
    ["a", 1],
    ["a", b"b"],
    [LOOK],
    [LOOK, None],
    [LOOK, (b"", b"")],
    [LOOK, (b"", b"", "")],
    (LOOK, LOOK),
    {},
    {0: None},
    {0: b""},
    {0: array("q", [1])},
    {0: memoryview(bytes(ROWS * WIDTH * 8 + 1))},
    ({}, SHIFT),
    (NAMED, -1),
    (NAMED, 21),
    (NAMED, 1 << 70),
    (NAMED, None),
    (NAMED, SHIFT, 0),
    ([], SHIFT),
    *(
        ({0: page, 1: page}, SHIFT)
        for page in (None, Named(None), Named(["a"] * 5), Named([1] * 4))
    ),
]
CALLS: dict[str, tuple[str, list[Any]]] = {
    "rows": ("take_rows", TAKE),
    "shifted": ("shift_right", SHIFTED),
    "files": ("frame_files", FRAME),
    "files with names in pages": ("frame_files", IN_PAGES),
}
CASES = [
    pytest.param(name, good, place, bad, id=f"{what}-{place}-{number}")
    for what, (name, good) in CALLS.items()
    for place in range(len(good))
    for number, bad in enumerate(BAD)
]


def refused(call: Callable[..., bytes], arguments: list[Any]) -> bool:
    try:
        call(*arguments)
    except (TypeError, ValueError, KeyError, OverflowError, BufferError, AttributeError):
        return True
    return False


@pytest.mark.parametrize(("name", "good", "place", "bad"), CASES)
def test_what_does_not_fit_is_refused_and_nothing_kept(
    native: ModuleType, name: str, good: list[Any], place: int, bad: Any
) -> None:
    """Some of it fits, such as other numbers; whatever happens, no reference stays."""
    arguments = list(good)
    arguments[place] = bad
    call = getattr(native, name)
    refused(call, arguments)
    before = [sys.getrefcount(argument) for argument in arguments]
    for _ in range(20):
        refused(call, arguments)
    assert [sys.getrefcount(argument) for argument in arguments] == before
    # A buffer that was not given back could not grow.
    grown = [item for item in arguments if isinstance(item, array)]
    for item in grown:
        item.append(item[0])
        item.pop()


def test_counts_that_are_not_those_of_the_blocks_are_refused(native: ModuleType) -> None:
    for counts in ([1, 1], [2, 2], [-1, 4], [0, 0], [(1 << 63) - 1, 4]):
        assert refused(native.frame_files, [*FRAME[:8], array("q", counts)])
    assert refused(native.frame_files, [*FRAME[:8], None])
    assert not refused(native.frame_files, FRAME)


def test_a_wrong_number_of_arguments_is_refused(native: ModuleType) -> None:
    assert refused(native.take_rows, TAKE[:-1])
    assert refused(native.shift_right, SHIFTED[:-1])
    assert refused(native.shift_right, [SHIFTED[0], 64])
    assert refused(native.frame_files, [*FRAME, None])


def test_names_in_pages_are_those_of_a_list(native: ModuleType) -> None:
    named = [IN_PAGES[0], ["one", "tw\u00f6"], *FRAME[2:]]
    assert native.frame_files(*IN_PAGES) == native.frame_files(*named)


def test_many_files_need_no_more_than_their_bytes(native: ModuleType) -> None:
    """The room for the answer grows several times."""
    count = 5000
    column = array("q", [1 << 40] * count)
    framed = native.frame_files(
        column, ["n" * 90] * count, column, column, [LOOK] * count, column, column, column, None
    )
    assert len(framed) % count == 0
    assert framed[: len(framed) // count] * count == framed
