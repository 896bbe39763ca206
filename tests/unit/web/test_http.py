"""Requests and their bodies, however the bytes arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.web.http import Body, Request, may_be_request, parse_request


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(at)]


def chunked(content: bytes, cuts: list[int]) -> bytes:
    chunks = [chunk for chunk in pieces_of(content, cuts) if chunk]
    framed = [b"%x;why=not\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks]
    return b"".join(framed) + b"0\r\nTrailer: 1\r\n\r\n"


def received(request: Request, pieces: list[bytes]) -> bytes:
    body = Body(request)
    found = b"".join(body.feed(piece) for piece in pieces)
    assert body.complete
    return found


CUTS = st.lists(st.integers(0, 1000), max_size=6)
CHUNKED = Request("PUT", "/", headers={"transfer-encoding": "Chunked"})


def test_query_and_headers_are_taken_apart() -> None:
    head = b"PUT /imagetransfer?a=1%3A2&b=&a=3 HTTP/1.1\r\nHost: x\r\nX-MD5-Digest:  ab "
    request = parse_request(head)
    assert request == Request(
        "PUT",
        "/imagetransfer",
        {"a": "1:2", "b": ""},
        {"host": "x", "x-md5-digest": "ab"},
        target="/imagetransfer?a=1%3A2&b=&a=3",
    )


@given(st.binary(max_size=200), CUTS, CUTS)
def test_chunks_are_joined(content: bytes, chunks: list[int], cuts: list[int]) -> None:
    data = chunked(content, chunks)
    assert received(CHUNKED, pieces_of(data, cuts)) == content


@given(st.binary(max_size=200), CUTS)
def test_body_of_known_length_ends_there(content: bytes, cuts: list[int]) -> None:
    request = Request("PUT", "/", headers={"content-length": str(len(content))})
    assert received(request, pieces_of(content + b"more", cuts)) == content


def test_body_is_incomplete_before_its_last_chunk() -> None:
    body = Body(CHUNKED)
    body.feed(b"3\r\nabc\r\n0\r\n")
    assert not body.complete


@pytest.mark.parametrize("data", [b"x\r\n", b"-1\r\n", b"1\r\nab\r\n", b"\r\n", b"1" * 5000])
def test_what_is_no_chunk_is_refused(data: bytes) -> None:
    with pytest.raises(errors.ProtocolViolation):
        Body(CHUNKED).feed(data)


@pytest.mark.parametrize("headers", [{"transfer-encoding": "gzip"}, {"content-length": "-1"}])
def test_body_without_a_sure_end_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(errors.ProtocolViolation):
        Body(Request("PUT", "/", headers=headers))


@pytest.mark.parametrize("received", [b"G", b"GET ", b"GET /a\x00", b"PUT", b"g"])
def test_what_may_become_a_request_is_waited_for(received: bytes) -> None:
    assert may_be_request(received)


@pytest.mark.parametrize(
    "received", [b"hrpc\x09\x00\x00", b"\x16\x03\x01", b" ", b"\x00", b"G\xc3"]
)
def test_what_will_never_be_one_is_not(received: bytes) -> None:
    assert not may_be_request(received)
