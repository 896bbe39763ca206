"""The status page: for people and for scripts, and nothing for attackers."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from howdah.web.http import Request
from howdah.web.status import EditsDirectoryStatus, NamenodeStatus, NodeStatus, respond


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


def test_scripts_get_json() -> None:
    answer = respond(Request("GET", "/status.json"), status)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    found = json.loads(answer.body)
    assert (found["last_txid"], found["datanodes"][0]["blocks"]) == (12345, 3)


def test_all_of_the_status_is_in_the_json() -> None:
    told = json.loads(respond(Request("GET", "/status.json"), status).body)
    assert told == json.loads(json.dumps(asdict(status())))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "get"])
def test_nothing_can_be_changed_here(method: str) -> None:
    assert respond(Request(method, "/"), status).status == 405


def test_what_is_not_here_is_said() -> None:
    answer = respond(Request("GET", "/<x>"), status)
    assert answer.status == 404
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert b"/<x>" in answer.body
