"""Requests, and parts of what they ask for, as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.web.http import Part, Request, may_be_request, part_wanted, request_of


def test_query_and_headers_are_taken_apart() -> None:
    request = request_of(
        b"PUT",
        b"/imagetransfer?a=1%3A2&b=&a=3",
        [(b"Host", b"x"), (b"x-md5-digest", b"ab")],
        "10.0.0.1",
    )
    assert request == Request(
        "PUT",
        "/imagetransfer",
        {"a": "1:2", "b": ""},
        {"host": "x", "x-md5-digest": "ab"},
        "10.0.0.1",
        "/imagetransfer?a=1%3A2&b=&a=3",
    )


def test_names_come_in_the_order_of_the_query() -> None:
    request = request_of(b"GET", b"/fsck?doAs=ann&x=1&doas=bob&doAs=eve", [])
    assert request is not None
    assert [*request.query.items()] == [("doAs", "ann"), ("x", "1"), ("doas", "bob")]


@pytest.mark.parametrize(
    "target", [b"*", b"http://x/", b"x", b"", b"/?" + b"&".join([b"a=1"] * 300)]
)
def test_what_is_no_path_or_has_endless_fields_is_no_request(target: bytes) -> None:
    assert request_of(b"GET", target, []) is None


@pytest.mark.parametrize("received", [b"G", b"GET ", b"GET /a\x00", b"PUT", b"g"])
def test_what_may_become_a_request_is_waited_for(received: bytes) -> None:
    assert may_be_request(received)


@pytest.mark.parametrize(
    "received", [b"hrpc\x09\x00\x00", b"\x16\x03\x01", b" ", b"\x00", b"G\xc3"]
)
def test_what_will_never_be_one_is_not(received: bytes) -> None:
    assert not may_be_request(received)


@pytest.mark.parametrize(
    ("header", "part"),
    [
        (None, None),
        ("", None),
        ("bytes=0-", Part(0, 10)),
        ("bytes=2-4", Part(2, 3)),
        ("bytes = 2 - 4 ", Part(2, 3)),
        ("bytes=2-400", Part(2, 8)),
        ("bytes=-3", Part(7, 3)),
        ("bytes=-300", Part(0, 10)),
        # What may be left unheeded.
        ("bytes=4-2", None),
        ("bytes=0-1,4-5", None),
        ("pages=1-2", None),
        ("bytes=-", None),
        ("bytes=x-y", None),
        # Whose blanks were parted in every way, for hours.
        pytest.param("bytes=" + " " * (1 << 20) + "x", None, id="blanks"),
    ],
)
def test_ranges_are_read(header: str | None, part: Part | None) -> None:
    assert part_wanted(header, 10) == part


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-12", "bytes=-0"])
def test_range_behind_the_end_is_refused(header: str) -> None:
    with pytest.raises(ValueError, match="not within"):
        part_wanted(header, 10)


@given(st.text(max_size=40) | st.from_regex(r"bytes=\d*-\d*", fullmatch=True), st.integers(0, 99))
def test_any_range_lies_within_the_body_or_is_refused(header: str, size: int) -> None:
    try:
        part = part_wanted(header, size)
    except ValueError:
        return
    if part is not None:
        assert part.offset >= 0
        assert 0 < part.length_bytes <= size - part.offset


@pytest.mark.parametrize("name", ["delegation", "%64elegation", "TOKEN", "%74oke%6E"])
def test_secrets_in_a_query_are_not_shown_however_their_name_is_written(name: str) -> None:
    shown = Request("GET", "/a", target=f"/a?op=OPEN&{name}=planted&x=1").shown_target
    assert shown == f"/a?op=OPEN&{name}=...&x=1"
