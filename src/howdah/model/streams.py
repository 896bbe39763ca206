"""What an output stream is: the triple (path, open, buffer), and what is done to it (OS-007).

Each function is one operation of the specification: its preconditions are the `Refused`
that it raises, its postcondition is what it returns. A stream's buffer is all that its
writer has put into the file, so a stream says nothing about what others see; that is
`howdah.model.filesystem`, which has the operations that touch the stored data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from howdah.model.entries import Refused


@dataclass(frozen=True, slots=True)
class Stream:
    """A file as its writer sees it."""

    path: str
    open: bool = True
    buffer: bytes = b""


def check_open(stream: Stream) -> None:
    """The precondition of whatever adds bytes, and of the syncs (OS-033, OS-086, OS-095)."""
    if not stream.open:
        raise Refused("closed")


def write_byte(stream: Stream, value: int) -> Stream:
    """buffer' = buffer + [value & 0xFF], for any integer (OS-036).

    >>> write_byte(Stream("/f"), -1).buffer
    b'\\xff'
    """
    check_open(stream)
    return replace(stream, buffer=stream.buffer + bytes((value & 0xFF,)))


def write(stream: Stream, data: bytes | None, offset: int = 0, length: int | None = None) -> Stream:
    """buffer' = buffer + data[offset : offset + length] (OS-046).

    Without a length it is all that follows the offset, so that `write(data)` is
    `write(data, 0, len(data))` (OS-047). The bounds are those that make this hold:
    0 <= offset, 0 <= length, offset + length <= len(data) (XC-001).

    >>> write(Stream("/f"), b"abcd", 1, 2).buffer
    b'bc'
    """
    check_open(stream)
    if data is None:
        raise Refused("no bytes")  # OS-039
    if length is None:
        length = len(data) - offset
    if offset < 0 or length < 0 or offset + length > len(data):
        raise Refused("index")  # OS-040 to OS-043: nothing is added
    return replace(stream, buffer=stream.buffer + data[offset : offset + length])


def flush(stream: Stream) -> Stream:
    """No precondition, no postcondition (OS-049): not even that the stream is open (OS-051)."""
    return stream


def closed(stream: Stream) -> Stream:
    """(path, open = false, nothing held any more) (OS-018)."""
    return replace(stream, open=False, buffer=b"")
