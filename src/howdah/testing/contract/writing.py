"""`write` in all its forms (OS-032 to OS-047, OS-057)."""

from __future__ import annotations

from collections.abc import Callable

from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal, expect_refused


@check("OS-032", "OS-046", "OS-002", "FS-154")
def bytes_are_stored_in_the_order_of_writes(subject: Subject) -> None:
    """Pieces of several sizes and kinds of buffers."""
    path = subject.new_path()
    pieces = [b"a", b"", b"bc" * 300, bytearray(b"d" * 5000), memoryview(b"efg" * 30000), b"h"]
    with subject.fs.create(path) as out:
        for piece in pieces:
            expect_equal(out.write(piece), len(piece), "bytes that a write says it took")
        expect_equal(out.get_pos(), sum(map(len, pieces)), "position")
    expect_equal(subject.see(path), b"".join(bytes(piece) for piece in pieces), "content")


@check("OS-036")
def an_integer_is_written_as_its_low_byte(subject: Subject) -> None:
    """0, 255, 256, 511, -1 and others beyond a byte."""
    values = (0, 255, 256, 511, -1, -256, 2**31 + 7, -(2**63), 65)
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for value in values:
            out.write(value)
    expect_equal(subject.see(path), bytes(value & 0xFF for value in values), "content")


@check("OS-046", "OS-047", "XC-001")
def slices_within_the_data_are_written(subject: Subject) -> None:
    """Empty ones too, at the end as well; a whole buffer is the slice of its length."""
    data = b"0123456789"
    slices = ((0, 10), (0, 0), (10, 0), (9, 1), (3, 4), (5, 0))
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for off, length in slices:
            out.write(data, off, length)
        out.write(data)
        out.write(b"")
        out.write(b"", 0, 0)
    wanted = b"".join(data[off : off + length] for off, length in slices) + data
    expect_equal(subject.see(path), wanted, "content")


@check("OS-040", "OS-041", "OS-042", "OS-043", "XC-001")
def a_slice_outside_of_the_data_is_an_index_error(subject: Subject) -> None:
    """And nothing of it is written."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        out.write(b"before")
        for off, length in ((-1, 1), (0, -1), (11, 0), (11, 1), (10, 1), (0, 11), (5, 6), (-1, -1)):
            expect_refused(
                lambda off=off, length=length: out.write(b"0123456789", off, length),  # type: ignore[misc]
                IndexError,
                f"offset {off}, length {length} of 10 bytes",
            )
        expect_equal(out.get_pos(), 6, "position after refused writes")
    expect_equal(subject.see(path), b"before", "content")


@check("OS-039")
def what_is_no_buffer_is_a_type_error(subject: Subject) -> None:
    """None above all; nothing is written."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        expect_refused(lambda: out.write(None), TypeError, "None")
        expect_refused(lambda: out.write(None, 0, 0), TypeError, "a slice of None")
        expect_refused(lambda: out.write("text"), TypeError, "text")
        expect_equal(out.get_pos(), 0, "position after refused writes")
    expect_equal(subject.see(path), b"", "content")


@check("OS-044", "LM-035")
def a_buffer_may_be_reused_when_write_returns(subject: Subject) -> None:
    """Large and small buffers, written whole and in slices."""
    path = subject.new_path()
    wanted = b""
    with subject.fs.create(path) as out:
        for size in (10, 5_000, 200_000):
            buffer = bytearray(b"x" * size)
            out.write(buffer)
            buffer[:] = b"y" * size
            out.write(buffer, 1, size - 2)
            buffer[:] = b"z" * size
            wanted += b"x" * size + b"y" * (size - 2)
    expect_equal(subject.see(path), wanted, "content")


@check("OS-016", "OS-046")
def much_is_written_through_one_stream(subject: Subject) -> None:
    """More than any buffer on the way: what came early is still there."""
    piece = bytes(range(256)) * 1024
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for _ in range(12):
            out.write(piece)
    expect_equal(subject.length(path), 12 * len(piece), "length")
    expect(subject.see(path) == piece * 12, "the content differs")


def _write_forms(out: object) -> list[tuple[str, Callable[[], object]]]:
    write: Callable[..., object] = out.write  # type: ignore[attr-defined]
    forms: list[tuple[str, Callable[[], object]]] = [
        ("write(bytes)", lambda: write(b"late")),
        ("write(empty)", lambda: write(b"")),
        ("write(slice)", lambda: write(b"late", 1, 2)),
        ("write(slice out of bounds)", lambda: write(b"late", 5, 1)),
        ("write(int)", lambda: write(1)),
    ]
    for name, value in (("write_int", 1), ("write_utf", "late"), ("write_byte", 1)):
        typed = getattr(out, name, None)
        if typed is not None:
            forms.append((name, lambda typed=typed, value=value: typed(value)))  # type: ignore[misc]
    return forms


@check("OS-033", "OS-038", "OS-057", "OS-008", "OS-169", "LM-050", "XC-009")
def a_closed_stream_refuses_every_form_of_write(subject: Subject) -> None:
    """With an I/O error; the file stays as it is."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.write(b"early")
    out.close()
    for name, form in _write_forms(out):
        expect_refused(form, OSError, f"{name} on a closed stream")
    expect_equal(subject.see(path), b"early", "content")


@check("OS-035", "OS-034", "LM-049")
def the_error_of_a_closed_stream_names_the_path(subject: Subject) -> None:
    """Better than the reference, whose error says nothing."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.close()
    for name, form in _write_forms(out):
        error = expect_refused(form, OSError, f"{name} on a closed stream")
        expect(path in str(error), f"{name} on a closed stream says {error}, without {path}")


@check("OS-037", "LM-034", needs="faults")
def a_store_that_takes_nothing_fails_the_write_or_the_close(subject: Subject) -> None:
    """An I/O error at the latest when the stream is closed: nothing is dropped silently."""
    out = subject.fs.create(subject.new_path())
    assert subject.write_faults is not None
    with subject.write_faults():

        def write_much() -> None:
            out.write(b"x" * 300_000)
            out.close()

        expect_refused(write_much, OSError, "writing to a store that takes nothing")
