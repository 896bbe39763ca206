"""A request's head before a parser sees it, and an answer without one (pure).

`h11` takes Python code for each line of a head: 2.5 ms for 2,000 of them, during which no other
thread of the process computes. To count lines is one call of C. Hadoop's servers bound a head by
its bytes alone; Tomcat and Apache's httpd take 100 lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from howdah.web.http import reason

MAX_HEAD_LINES: Final = 128
"""Browsers send about 20, and proxies add a few."""
FREE_PIECES: Final = 4
"""A head that is 64 KiB long comes in as many."""
_FIRST_PAUSE_S: Final = 0.001
_LONGEST_PAUSE_S: Final = 1.0
_BLANK: Final = re.compile(rb"\n\r?\n")


class HeadLines:
    """Counts the lines of one head, which comes in pieces cut anywhere. What follows the head is
    not counted.

    >>> lines = HeadLines(3)
    >>> [lines.are_too_many(piece) for piece in (b"GET / HTTP/1.1\\r\\nA: b\\r", b"\\nC: d\\r\\n")]
    [False, True]
    """

    __slots__ = ("_is_whole", "_left", "_tail")

    def __init__(self, most: int = MAX_HEAD_LINES) -> None:
        """`most`: with the first line, and without the empty one at the end."""
        self._left = most
        self._tail = b""
        self._is_whole = False

    def are_too_many(self, piece: bytes) -> bool:
        """Return whether the head has so many lines, or more, with this piece."""
        if self._is_whole:
            return False
        joined = self._tail + piece
        match = _BLANK.search(joined)
        end = len(joined) if match is None else match.start() + 1
        self._left -= joined.count(b"\n", len(self._tail), end)
        self._tail = joined[-2:]
        self._is_whole = match is not None
        return self._left <= 0


def pause_s(pieces: int) -> float:
    """How long bytes may gather after so many pieces that were no whole head: whoever sends a byte
    at a time is looked at once a second.

    >>> pause_s(4), pause_s(5), pause_s(6), pause_s(100)
    (0.0, 0.001, 0.002, 1.0)
    """
    if pieces <= FREE_PIECES:
        return 0.0
    return min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(pieces - FREE_PIECES - 1, 10))


def written(
    status: int, lines: Iterable[tuple[str, str]], body: bytes, *, ends: bool = True
) -> bytes:
    """The bytes of a whole answer, which `ends` its connection or not. Names and values are ours:
    nothing that a client sent is among them."""
    head = [f"HTTP/1.1 {status} {reason(status)}"]
    head += [f"{name}: {value}" for name, value in lines]
    head += ["Connection: close", "", ""] if ends else ["", ""]
    return "\r\n".join(head).encode("latin-1") + body
