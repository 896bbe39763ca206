"""The model of streams says what the specification says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.model import filesystem, streams
from howdah.model.entries import Refused
from howdah.model.filesystem import FileSystem
from howdah.model.streams import Stream

PATH = "/f"


@contextmanager
def refused(why: str) -> Iterator[None]:
    with pytest.raises(Refused) as caught:
        yield
    assert caught.value.why == why


@pytest.mark.req("OS-007", "OS-012", "OS-014")
def test_a_new_stream_is_open_with_nothing_in_it() -> None:
    fs, stream = filesystem.create(FileSystem(), PATH, overwrite=False)
    assert stream == Stream(PATH, True, b"")
    assert fs.files[PATH] == b""


@pytest.mark.req("OS-015")
def test_an_appending_stream_holds_what_is_stored() -> None:
    _, stream = filesystem.append(FileSystem({PATH: b"old"}), PATH)
    assert stream == Stream(PATH, True, b"old")


@pytest.mark.req("OS-008", "OS-018")
def test_a_closed_stream_takes_nothing_and_holds_nothing() -> None:
    stream = streams.closed(Stream(PATH, True, b"x"))
    assert stream == Stream(PATH, False, b"")
    with refused("closed"):
        streams.write(stream, b"y")
    with refused("closed"):
        streams.write_byte(stream, 1)


@pytest.mark.req("OS-036")
@given(st.integers())
def test_any_integer_is_one_byte(value: int) -> None:
    assert streams.write_byte(Stream(PATH), value).buffer == bytes([value % 256])


@pytest.mark.req("OS-046", "OS-047", "XC-001")
@given(st.binary(), st.integers(-2, 12), st.none() | st.integers(-2, 12))
def test_a_slice_is_added_whole_or_not_at_all(data: bytes, off: int, length: int | None) -> None:
    before = Stream(PATH, True, b"before")
    end = len(data) if length is None else off + length
    if 0 <= off <= end <= len(data):
        assert streams.write(before, data, off, length).buffer == b"before" + data[off:end]
    else:
        with refused("index"):
            streams.write(before, data, off, length)


@pytest.mark.req("OS-039")
def test_no_buffer_is_refused() -> None:
    with refused("no bytes"):
        streams.write(Stream(PATH), None)


@pytest.mark.req("OS-049", "OS-121", "OS-125")
def test_flush_has_neither_pre_nor_postcondition() -> None:
    for stream in (Stream(PATH, True, b"x"), streams.closed(Stream(PATH))):
        assert streams.flush(stream) == stream


@pytest.mark.req("OS-009", "OS-016", "OS-137", "XC-006")
def test_a_reader_finds_a_beginning_of_the_buffer_and_all_of_it_after_a_sync() -> None:
    fs, stream = filesystem.create(FileSystem(), PATH, overwrite=False)
    fs, stream = filesystem.write(fs, stream, b"abc")
    found = filesystem.visible(fs, PATH)
    assert [found.allows(each) for each in (b"", b"a", b"abc", b"abcd", b"b")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    fs = filesystem.sync(fs, stream)
    found = filesystem.visible(fs, PATH)
    assert found.at_least == found.at_most == b"abc"


@pytest.mark.req("OS-158", "OS-141")
def test_a_length_may_lag_and_never_lead() -> None:
    fs, stream = filesystem.create(FileSystem(), PATH, overwrite=False)
    fs, stream = filesystem.write(fs, stream, b"abc")
    found = filesystem.visible(fs, PATH)
    assert [found.allows_length(length) for length in (0, 3, 4)] == [True, True, False]


@pytest.mark.req("OS-020", "OS-059")
def test_a_close_stores_the_buffer_and_a_second_one_does_nothing() -> None:
    fs, stream = filesystem.create(FileSystem(), PATH, overwrite=False)
    fs, stream = filesystem.write(fs, stream, b"abc")
    fs, stream = filesystem.close(fs, stream)
    assert fs.files[PATH] == b"abc"
    assert not fs.writers
    assert filesystem.close(fs, stream) == (fs, stream)


@pytest.mark.req("OS-138", "XC-005")
def test_an_overwriting_create_leaves_nothing_of_the_old_data() -> None:
    old = FileSystem({PATH: b"old"})
    with refused("exists"):
        filesystem.create(old, PATH, overwrite=False)
    fs, _ = filesystem.create(old, PATH, overwrite=True)
    assert filesystem.visible(fs, PATH).at_most == b""


@pytest.mark.req("OS-177", "AP-008")
def test_a_path_has_one_writer() -> None:
    fs, _ = filesystem.create(FileSystem(), PATH, overwrite=False)
    with refused("exists"):
        filesystem.create(fs, PATH, overwrite=False)
    with refused("is written"):
        filesystem.append(fs, PATH)


@pytest.mark.req("OS-132")
def test_what_renaming_below_a_writer_leads_to_is_not_said() -> None:
    fs, _ = filesystem.create(FileSystem(), "/d/f", overwrite=False)
    with refused("is written"):
        filesystem.rename(fs, "/d", "/e")
    with refused("is written"):
        filesystem.delete(fs, "/d", recursive=True)


def test_a_writer_whose_file_was_overwritten_writes_no_more() -> None:
    fs, first = filesystem.create(FileSystem(), PATH, overwrite=False)
    fs, first = filesystem.write(fs, first, b"x")
    fs, _ = filesystem.create(fs, PATH, overwrite=True)
    with refused("not the writer"):
        filesystem.sync(fs, first)


def test_paths_move_and_go_with_what_is_below_them() -> None:
    fs = FileSystem({"/d/f": b"x"}, frozenset(("/", "/d")))
    fs = filesystem.rename(fs, "/d", "/e")
    assert fs.files == {"/e/f": b"x"}
    assert fs.directories == {"/", "/e"}
    with refused("not empty"):
        filesystem.delete(fs, "/e", recursive=False)
    fs, found = filesystem.delete(fs, "/e", recursive=True)
    assert found is True
    assert fs.files == {}
    assert fs.directories == {"/"}
