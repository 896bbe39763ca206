"""Heads as bytes, and answers that are written without a parser."""

from __future__ import annotations

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.web.admission.head_limits import HeadLines, pause_s, written

pytestmark = [pytest.mark.req("FS-219"), pytest.mark.kind("caller")]


def refused(pieces: list[bytes], most: int) -> bool:
    lines = HeadLines(most)
    return any([lines.are_too_many(piece) for piece in pieces])


@given(
    st.integers(min_value=0, max_value=12),
    st.sampled_from([b"\r\n", b"\n"]),
    st.lists(st.integers(min_value=0, max_value=80), max_size=8),
    st.sampled_from([b"", b"\n\n\n\n\n\n\n\n\n\n\n\n", b"GET / HTTP/1.1\r\nA: b\r\n" * 9]),
)
def test_lines_are_counted_wherever_a_head_is_cut(
    fields: int, end: bytes, cuts: list[int], behind: bytes
) -> None:
    whole = b"GET / HTTP/1.1" + end + (b"A: b" + end) * fields + end + behind
    marks = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    pieces = [whole[first:last] for first, last in pairwise(marks)]
    assert refused(pieces, 8) == (1 + fields >= 8)


def test_pauses_grow_and_end_in_a_second() -> None:
    pauses = [pause_s(pieces) for pieces in range(2000)]
    assert pauses == sorted(pauses)
    assert pauses[:5] == [0.0] * 5
    assert pauses[-1] == 1.0


def test_what_is_written_is_an_answer() -> None:
    parser = h11.Connection(h11.CLIENT)
    parser.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    parser.send(h11.EndOfMessage())
    lines = [("Content-Length", "3"), ("X-Frame-Options", "DENY")]
    parser.receive_data(written(400, lines, b"no\n"))
    parser.receive_data(b"")
    response, data = parser.next_event(), parser.next_event()
    assert isinstance(response, h11.Response)
    assert response.status_code == 400
    assert (b"connection", b"close") in list(response.headers)
    assert isinstance(data, h11.Data)
    assert data.data == b"no\n"
