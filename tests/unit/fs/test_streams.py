"""The public output stream over an inner one."""

from __future__ import annotations

import array
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.streams import FSDataOutputStream, whole_or_none
from howdah.options import AbortableResult


class Recorder:
    """An inner stream that keeps what it gets."""

    path = "/f"
    closed = False

    def __init__(self) -> None:
        self.content = bytearray()
        self.calls: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.content += data

    def hflush(self) -> None:
        self.calls.append("hflush")

    def hsync(self) -> None:
        self.calls.append("hsync")

    def get_pos(self) -> int:
        return len(self.content)

    def has_capability(self, capability: str) -> bool:
        return capability.lower() == "hsync"

    def set_drop_behind(self, drop: bool | None) -> None:
        self.calls.append(f"drop {drop}")

    def close(self) -> None:
        self.closed = True
        self.calls.append("close")


@pytest.fixture
def inner() -> Recorder:
    return Recorder()


@pytest.fixture
def out(inner: Recorder) -> FSDataOutputStream:
    return FSDataOutputStream(inner)


@pytest.mark.req("OS-036")
@pytest.mark.parametrize(
    ("value", "byte"), [(0, 0), (255, 255), (256, 0), (511, 255), (-1, 255), (2**70 + 3, 3)]
)
def test_an_integer_is_written_as_its_low_byte(
    out: FSDataOutputStream, inner: Recorder, value: int, byte: int
) -> None:
    assert out.write(value) == 1
    assert inner.content == bytes([byte])


@pytest.mark.req("OS-039")
@pytest.mark.parametrize("value", [None, "text", 1.5, [1, 2], object()])
def test_what_holds_no_bytes_is_a_type_error(
    out: FSDataOutputStream, inner: Recorder, value: object
) -> None:
    with pytest.raises(TypeError):
        out.write(value)
    assert inner.content == b""


@pytest.mark.req("OS-039")
def test_a_slice_of_none_is_a_type_error(out: FSDataOutputStream) -> None:
    with pytest.raises(TypeError):
        out.write(None, 0, 1)


@pytest.mark.req("OS-040", "OS-041", "OS-042", "OS-043")
@pytest.mark.parametrize(
    ("off", "length"), [(-1, 1), (0, -1), (6, 0), (6, 1), (0, 6), (3, 3), (5, 1), (2**40, 1)]
)
def test_a_slice_outside_of_the_data_is_an_index_error_and_writes_nothing(
    out: FSDataOutputStream, inner: Recorder, off: int, length: int
) -> None:
    with pytest.raises(IndexError):
        out.write(b"12345", off, length)
    assert inner.content == b""


@pytest.mark.req("OS-043")
@pytest.mark.parametrize(
    ("off", "length", "expected"),
    [(0, 5, b"12345"), (1, 3, b"234"), (5, 0, b""), (0, 0, b""), (4, 1, b"5"), (2, None, b"345")],
)
def test_a_slice_within_the_data_is_written(
    out: FSDataOutputStream, inner: Recorder, off: int, length: int | None, expected: bytes
) -> None:
    assert out.write(b"12345", off, length) == len(expected)
    assert inner.content == expected


@pytest.mark.req("OS-047")
def test_a_whole_buffer_is_the_slice_of_its_length(
    out: FSDataOutputStream, inner: Recorder
) -> None:
    data = b"12345"
    out.write(data)
    out.write(data, 0, len(data))
    assert inner.content == data * 2


@pytest.mark.parametrize("empty", [b"", bytearray(), memoryview(b"")])
def test_an_empty_buffer_is_written_as_nothing(out: FSDataOutputStream, empty: bytes) -> None:
    assert out.write(empty) == 0
    assert out.write(empty, 0, 0) == 0


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"abcd")[1:3], b"bc"),
        (memoryview(b"abcdef")[::2], b"ace"),
        (array.array("H", [1, 2]), array.array("H", [1, 2]).tobytes()),
    ],
)
def test_any_buffer_is_written_as_its_bytes(
    out: FSDataOutputStream, inner: Recorder, data: object, expected: bytes
) -> None:
    assert out.write(data) == len(expected)
    assert inner.content == expected


@pytest.mark.req("OS-046")
@given(st.lists(st.binary(max_size=20)))
def test_writes_are_concatenated(pieces: list[bytes]) -> None:
    inner = Recorder()
    out = FSDataOutputStream(inner)
    out.writelines(pieces)
    assert inner.content == b"".join(pieces)
    assert out.tell() == out.get_pos() == len(inner.content)


@pytest.mark.req("OS-052")
def test_flush_does_not_reach_the_inner_stream(out: FSDataOutputStream, inner: Recorder) -> None:
    out.flush()
    assert inner.calls == []


def test_syncs_and_hints_reach_the_inner_stream(out: FSDataOutputStream, inner: Recorder) -> None:
    out.hflush()
    out.hsync()
    out.set_drop_behind(None)
    assert inner.calls == ["hflush", "hsync", "drop None"]


@pytest.mark.req("OS-006")
def test_capabilities_are_those_of_the_inner_stream(out: FSDataOutputStream) -> None:
    assert out.has_capability("HSYNC")
    assert not out.has_capability("other")


def test_it_is_a_binary_io_object(out: FSDataOutputStream) -> None:
    assert isinstance(out, io.BufferedIOBase)
    assert (out.writable(), out.readable(), out.seekable()) == (True, False, False)
    assert (out.name, out.mode, out.closed) == ("/f", "wb", False)


def test_a_text_wrapper_writes_through_it(inner: Recorder) -> None:
    text = io.TextIOWrapper(FSDataOutputStream(inner), encoding="utf-8", write_through=True)
    text.write("grüße")
    assert inner.content == "grüße".encode()
    text.close()
    assert inner.closed


def test_a_with_block_closes_it(inner: Recorder) -> None:
    with FSDataOutputStream(inner):
        pass
    assert inner.calls == ["close"]


class Unclosable(Recorder):
    def close(self) -> None:
        raise errors.PipelineFailed("/f: no datanode is left")


def test_an_interrupt_is_not_hidden_by_a_close_that_fails() -> None:
    """Whoever handles errors of files would take Ctrl-C for one of them."""
    with pytest.raises(KeyboardInterrupt) as caught, FSDataOutputStream(Unclosable()):
        raise KeyboardInterrupt
    assert caught.value.__notes__ == ["/f could not be closed: /f: no datanode is left"]


def test_a_close_that_fails_is_told_after_an_error_in_the_block() -> None:
    with pytest.raises(errors.PipelineFailed) as caught, FSDataOutputStream(Unclosable()):
        raise ValueError("of the block")
    assert isinstance(caught.value.__context__, ValueError)


class Abortable(Recorder):
    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__()
        self.failure = failure

    def has_capability(self, capability: str) -> bool:
        return capability == capabilities.ABORTABLE_STREAM

    def abort(self) -> AbortableResult:
        self.closed = True
        self.calls.append("abort")
        return AbortableResult(already_closed=False, cleanup_error=self.failure)


@pytest.mark.req("OS-183")
def test_a_copy_that_fails_is_aborted_where_that_can_be_done() -> None:
    inner = Abortable(errors.Unreachable("nobody answers"))
    with (
        pytest.raises(ValueError, match="of the source") as caught,
        whole_or_none(FSDataOutputStream(inner)),
    ):
        raise ValueError("of the source")
    assert inner.calls == ["abort"]
    assert caught.value.__notes__ == [
        "removing what was written of /f failed as well: nobody answers"
    ]
    inner = Abortable()
    with whole_or_none(FSDataOutputStream(inner)) as out:
        out.write(b"all")
    assert inner.calls == ["close"]


def test_a_copy_that_fails_is_closed_where_nothing_can_be_aborted() -> None:
    with (
        pytest.raises(ValueError, match="of the source") as caught,
        whole_or_none(FSDataOutputStream(Unclosable())),
    ):
        raise ValueError("of the source")
    assert caught.value.__notes__ == ["closing /f failed as well: /f: no datanode is left"]
