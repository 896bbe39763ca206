"""What goes over the wire of a trace, and what is read of what others send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.runtime.tracing.context import (
    MAX_CONTEXT_BYTES,
    BadContext,
    TraceContext,
    decode,
    ids_of,
)

TRACE = 0x0AF7651916CD43DD8448EB211C80319C
SPAN = 0xB7AD6B7169203331
PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.req("TR-002")
def test_the_bytes_are_the_headers_of_the_w3c() -> None:
    assert TraceContext(TRACE, SPAN).encode() == PARENT
    assert TraceContext(TRACE, SPAN, 0, "rojo=00f0,congo=t61").encode() == (
        PARENT[:-2] + b"00\nrojo=00f0,congo=t61"
    )


@pytest.mark.req("TR-002")
@given(
    st.integers(1, 2**128 - 1),
    st.integers(1, 2**64 - 1),
    st.integers(0, 255),
    st.sampled_from(["", "a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a@b=c d,x=y"]),
)
def test_what_is_written_is_read_again(trace: int, span: int, flags: int, state: str) -> None:
    context = TraceContext(trace, span, flags, state)
    assert decode(context.encode()) == context
    assert ids_of(context.encode()) == (trace & (2**64 - 1), span)


@pytest.mark.req("TR-002")
def test_a_state_may_have_blanks_and_empty_members() -> None:
    state = "a=1 ,\t, b=c d,"
    assert decode(PARENT + b"\n" + state.encode()).state == state


@pytest.mark.req("TR-002")
def test_a_state_that_is_too_long_is_left_out() -> None:
    assert TraceContext(TRACE, SPAN, 1, "a=" + "x" * 600).encode() == PARENT


@pytest.mark.req("TR-003")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x" * (MAX_CONTEXT_BYTES + 1), "568"),
        (b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap", "no text"),
        (b"", "does not begin"),
        (PARENT.upper(), "does not begin"),
        (PARENT[:-1], "does not begin"),
        (PARENT + b"-more", "version 00"),
        (b"ff" + PARENT[2:], "version ff"),
        (b"00-" + b"0" * 32 + PARENT[35:], "names no trace"),
        (PARENT[:36] + b"0" * 16 + b"-01", "names no trace"),
        (PARENT + b"\0", "does not begin"),
    ],
)
def test_what_is_no_context_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BadContext, match=why):
        decode(data)


@pytest.mark.req("TR-003")
def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    assert decode(b"01" + PARENT[2:] + b"-more") == TraceContext(TRACE, SPAN)


@pytest.mark.req("TR-003")
@pytest.mark.parametrize(
    "state",
    [
        *(b"a", b"A=1", b"a=1\nb=2", b"a=\x7f", b"=1", b" , a=1"),
        ",".join(f"k{i}=1" for i in range(40)).encode(),
        # Whether a blank is before or behind a comma is nothing to try: that took years.
        b"a=1" + b",              " * 30 + b"!",
    ],
)
def test_a_state_that_is_none_does_not_end_the_trace(state: bytes) -> None:
    assert decode(PARENT + b"\n" + state) == TraceContext(TRACE, SPAN)


@pytest.mark.req("TR-003")
@given(st.binary(max_size=700))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        context = decode(data)
    except BadContext:
        assert ids_of(data) == (0, 0)
    else:
        assert context.trace_id
        assert context.span_id
