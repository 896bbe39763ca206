"""The typed writes, which Java's DataInputStream reads (OS-023)."""

from __future__ import annotations

import struct

from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect_equal, expect_refused


@check("OS-023", needs="typed")
def numbers_are_written_big_endian(subject: Subject) -> None:
    """Each form has its own size."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        out.write_boolean(True)
        out.write_boolean(False)
        out.write_byte(-2)
        out.write_short(-3)
        out.write_char("é")
        out.write_int(-4)
        out.write_long(-5)
        out.write_float(1.5)
        out.write_double(-2.25)
    wanted = struct.pack(">??bhHiqfd", True, False, -2, -3, ord("é"), -4, -5, 1.5, -2.25)
    expect_equal(subject.see(path), wanted, "content")


@check("OS-023", needs="typed")
def text_is_written_in_javas_forms(subject: Subject) -> None:
    """Low bytes, UTF-16 units, and modified UTF-8 with its length."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        out.write_bytes("aé")
        out.write_chars("aé")
        out.write_utf("a\0é€")
    wanted = b"a\xe9" + b"\0a\0\xe9" + b"\0\x08a\xc0\x80\xc3\xa9\xe2\x82\xac"
    expect_equal(subject.see(path), wanted, "content")


@check("OS-023", needs="typed")
def what_is_written_typed_is_read_typed(subject: Subject) -> None:
    """By the input stream's twins of the writes."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        out.write_long(-(2**63))
        out.write_utf("grüße 🦓")
        out.write_int(2**31 - 1)
        out.write_double(0.1)
        out.write_boolean(True)
    with subject.other.open(path) as stream:
        read = (
            stream.read_long(),
            stream.read_utf(),
            stream.read_int(),
            stream.read_double(),
            stream.read_boolean(),
        )
        expect_refused(stream.read_byte, EOFError, "reading beyond the end")
    expect_equal(read, (-(2**63), "grüße 🦓", 2**31 - 1, 0.1, True), "what was read")


@check("OS-023", needs="typed")
def a_value_that_has_no_form_writes_nothing(subject: Subject) -> None:
    """Too long a text, too large a number."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        expect_refused(lambda: out.write_utf("x" * 65536), ValueError, "a text of 65,536 bytes")
        expect_refused(lambda: out.write_int(2**31), OverflowError, "an int of 33 bits")
        expect_equal(out.get_pos(), 0, "position")
        out.write_utf("x" * 65535)
    expect_equal(subject.length(path), 65537, "length")
