"""The status page: for people and for scripts, and nothing for attackers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.web.http import Request, parse_request
from howdah.web.status import EditsDirectoryStatus, NamenodeStatus, NodeStatus, human, page, respond


def status(name: str = "10.0.0.1:9866", cluster: str = "CID-1") -> NamenodeStatus:
    return NamenodeStatus(
        version="1.0",
        cluster_id=cluster,
        block_pool_id="BP-1",
        safe_mode=True,
        safe_mode_status="The reported blocks 1 needs additional 2 blocks",
        last_txid=12345,
        durable_txid=12340,
        inodes=7,
        blocks=3,
        under_replicated_blocks=1,
        corrupt_blocks=0,
        missing_blocks=2,
        open_files=1,
        edits_directories=[
            EditsDirectoryStatus("/meta/a", required=True, failure=""),
            EditsDirectoryStatus("/meta/b", required=False, failure="Input/output error"),
        ],
        datanodes=[NodeStatus(name, "/r1", True, 0.5, 1 << 40, 1 << 30, 1 << 39, 3)],
    )


def split(answer: bytes) -> tuple[str, dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return first, dict(line.split(": ", 1) for line in lines), body


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_none(head: bytes) -> None:
    request = parse_request(head)
    assert split(respond(request, status()))[0].startswith("HTTP/1.1 ")


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Request("GET", "/", {}, {"host": "x"}, target="/")),
        (
            b"GET /status.json?pretty=1 HTTP/1.0\r\n\r\n",
            Request("GET", "/status.json", {"pretty": "1"}, target="/status.json?pretty=1"),
        ),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", None),
        (b"GET /\r\n\r\n", None),
        (b"hrpc\x09\x00\x00\r\n\r\n", None),
        (b"", None),
    ],
)
def test_request_line_is_read(line: bytes, request_: Request | None) -> None:
    assert parse_request(line) == request_


def test_scripts_get_json() -> None:
    first, headers, body = split(respond(Request("GET", "/status.json"), status()))
    assert first == "HTTP/1.1 200 OK"
    assert headers["Content-Type"] == "application/json"
    assert int(headers["Content-Length"]) == len(body)
    found = json.loads(body)
    assert (found["last_txid"], found["datanodes"][0]["blocks"]) == (12345, 3)


def test_people_get_a_page() -> None:
    first, headers, body = split(respond(Request("GET", "/"), status()))
    assert first == "HTTP/1.1 200 OK"
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    for shown in ("10.0.0.1:9866", "CID-1", "12,345 (12,340 durable)", "1.0 TiB", "needs addit"):
        assert shown in body.decode()


def test_names_from_outside_are_escaped() -> None:
    page = respond(Request("GET", "/"), status("<script>", "<b>&")).decode()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;&amp;" in page


@pytest.mark.parametrize("path", ["/", "/status.json", "/no"])
def test_head_is_the_same_without_the_body(path: str) -> None:
    full = split(respond(Request("GET", path), status()))
    head = split(respond(Request("HEAD", path), status()))
    assert head[:2] == full[:2]
    assert head[2] == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "get"])
def test_nothing_can_be_changed_here(method: str) -> None:
    assert split(respond(Request(method, "/"), status()))[0] == "HTTP/1.1 405 Method Not Allowed"


def test_what_is_not_here_is_said() -> None:
    first, headers, body = split(respond(Request("GET", "/<x>"), status()))
    assert first == "HTTP/1.1 404 Not Found"
    assert headers["Content-Type"].startswith("text/plain")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"/<x>" in body


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (1 << 50, "1.0 PiB"),
        (1 << 60, "1024.0 PiB"),
    ],
)
def test_bytes_are_shown_as_people_read_them(count: int, shown: str) -> None:
    assert human(count) == shown


def test_page_names_the_edits_directory_that_failed_and_says_why() -> None:
    shown = page(status())
    assert "Edits in /meta/b</th><td>FAILED, Input/output error" in shown
    assert "Edits in /meta/a</th><td>written" in shown
