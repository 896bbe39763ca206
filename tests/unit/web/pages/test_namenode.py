"""The namenode's pages, as they are made of a status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from howdah.web.pages import namenode, nodes, racks
from howdah.web.pages.health import judge
from howdah.web.pages.html import joined
from howdah.web.pages.namenode import REPAIR, Times, left_of, overview
from howdah.web.pages.progress import Pace
from howdah.web.status import (
    EditsDirectoryStatus,
    GroupStatus,
    JournalNodeStatus,
    NamenodeStatus,
    NodeStatus,
)

GIB = 1 << 30


def node(number: int = 1, **more: Any) -> NodeStatus:
    usual = NodeStatus(
        name=f"10.0.0.{number}:9866",
        rack=f"/r{number % 3}",
        live=True,
        last_heartbeat_s=1,
        capacity_bytes=100 * GIB,
        used_bytes=10 * GIB,
        remaining_bytes=90 * GIB,
        blocks=3,
        info_address=f"10.0.0.{number}:9864",
        version="1.0",
    )
    return replace(usual, **more)


def status(**more: Any) -> NamenodeStatus:
    usual = NamenodeStatus(
        version="1.0",
        cluster_id="CID-1",
        block_pool_id="BP-1",
        safe_mode=False,
        safe_mode_status="",
        last_txid=12345,
        durable_txid=12340,
        inodes=7,
        blocks=3,
        under_replicated_blocks=0,
        corrupt_blocks=0,
        missing_blocks=0,
        open_files=1,
        edits_directories=[EditsDirectoryStatus("/meta/a", required=True, failure="")],
        datanodes=[node(1), node(2)],
    )
    return replace(usual, **more)


def text_of(found: NamenodeStatus) -> str:
    return joined(overview(found, Times(1_000_000, {})))


QUORUM = EditsDirectoryStatus(
    "qjournal://a;b;c/x",
    required=True,
    failure="",
    nodes=[JournalNodeStatus(name, 9, "") for name in "abc"],
)


@pytest.mark.parametrize(
    ("more", "level", "words"),
    [
        ({}, "ok", "All data is safe"),
        ({"blocks": 0}, "ok", "no blocks yet"),
        ({"ha_state": "standby"}, "ok", "is standby"),
        ({"missing_blocks": 2}, "bad", "2 blocks without a replica"),
        (
            {"under_replicated_blocks": 3, "last_replica_blocks": 1},
            "bad",
            "1 block with one replica left",
        ),
        (
            {"missing_blocks": 3, "block_groups": GroupStatus(total=9, missing=1)},
            "bad",
            "2 blocks without a replica and 1 block group with too few internal blocks",
        ),
        (
            {"missing_blocks": 1, "block_groups": GroupStatus(total=9, missing=1)},
            "bad",
            "read: 1 block group with too few internal blocks",
        ),
        (
            {
                "under_replicated_blocks": 2,
                "last_replica_blocks": 2,
                "block_groups": GroupStatus(total=9, highest=2, low_redundancy=2),
            },
            "bad",
            "in danger: 2 block groups with no internal block to spare",
        ),
        ({"under_replicated_blocks": 3}, "warn", "needs attention"),
        ({"corrupt_blocks": 1}, "warn", "needs attention"),
        ({"safe_mode": True, "safe_mode_status": "it waits"}, "warn", "Safe mode"),
        ({"future_bytes": 1}, "bad", "younger than the metadata"),
        ({"datanodes": []}, "bad", "no datanode is alive"),
        ({"datanodes": [node(live=False), node(2)]}, "warn", "needs attention"),
        ({"datanodes": [node(live=False, admin_state="DECOMMISSIONED"), node(2)]}, "ok", "safe"),
        ({"datanodes": [node(failed_volumes=1)]}, "warn", "needs attention"),
        (
            {
                "datanodes": [
                    node(remaining_bytes=GIB, used_bytes=9 * GIB, non_dfs_used_bytes=90 * GIB)
                ]
            },
            "bad",
            "99 % full",
        ),
        # What the filesystem keeps back is not taken: `df` counts so, too.
        ({"datanodes": [node(remaining_bytes=30 * GIB, used_bytes=10 * GIB)]}, "ok", "safe"),
        (
            {"edits_directories": [EditsDirectoryStatus("/m", required=True, failure="EIO")]},
            "bad",
            "edits are not written to /m: EIO",
        ),
        (
            {"edits_directories": [EditsDirectoryStatus("/m", required=False, failure="EIO")]},
            "warn",
            "needs attention",
        ),
        ({"edits_directories": [QUORUM]}, "ok", "safe"),
        (
            {
                "edits_directories": [
                    replace(
                        QUORUM,
                        nodes=[
                            JournalNodeStatus("a", 9, ""),
                            JournalNodeStatus("b", 9, ""),
                            JournalNodeStatus("c", 5, "slow"),
                        ],
                    )
                ]
            },
            "warn",
            "needs attention",
        ),
        (
            {
                "edits_directories": [
                    replace(
                        QUORUM,
                        nodes=[
                            JournalNodeStatus("a", 9, ""),
                            JournalNodeStatus("b", 5, "slow"),
                            JournalNodeStatus("c", 5, "slow"),
                        ],
                    )
                ]
            },
            "bad",
            "journal node b, c is left out",
        ),
        (
            {
                "edits_directories": [
                    replace(
                        QUORUM,
                        nodes=[
                            JournalNodeStatus("a", 9, ""),
                            *(JournalNodeStatus(name, 9, "", 0, "no answer") for name in "bc"),
                        ],
                    )
                ]
            },
            "bad",
            "journal node b, c is silent: no answer",
        ),
        ({"defects": {"a call": 2}}, "warn", "needs attention"),
        ({"last_txid": 9_000_000}, "warn", "needs attention"),
    ],
)
@pytest.mark.req("FS-280")
def test_the_verdict_follows_from_the_figures(
    more: dict[str, object], level: str, words: str
) -> None:
    verdict = judge(status(**more))
    assert (verdict.level, words in verdict.headline) == (level, True), verdict
    assert (verdict.level == "ok") == (not verdict.findings)


@pytest.mark.req("FS-280")
def test_the_page_says_why_a_journal_node_is_silent() -> None:
    quorum = replace(
        QUORUM,
        nodes=[
            JournalNodeStatus("a", 9, ""),
            JournalNodeStatus("b", 9, "", 0, "no answer for 3 s"),
        ],
    )
    shown = joined([namenode._journal(status(edits_directories=[quorum]))])
    assert ("silent" in shown, "no answer for 3 s" in shown) == (True, True)
    assert "silent" not in joined([namenode._journal(status(edits_directories=[QUORUM]))])


@pytest.mark.req("FS-283")
def test_names_from_outside_are_escaped() -> None:
    bad = "<script>alert(1)</script>"
    hostile = node(
        1, name=bad, rack=f"/{bad}", version=bad, failed_volumes=1, failed_locations=[bad]
    )
    found = status(
        datanodes=[hostile],
        cluster_id=bad,
        warnings=[bad],
        edits_directories=[EditsDirectoryStatus(bad, required=True, failure=bad)],
    )
    for body in (
        text_of(found),
        joined(nodes.page([hostile], nodes.Wanted(text=""), {})),
        joined(racks.page([hostile])),
    ):
        assert "<script" not in body
        assert "&lt;script&gt;" in body


@pytest.mark.req("FS-280")
def test_a_start_shows_how_far_it_is() -> None:
    found = status(
        safe_mode=True, safe_mode_status="x", safe_mode_blocks=50, safe_mode_needed_blocks=200
    )
    assert "50 of 200, 25 %" in text_of(found)


def test_work_that_is_left_is_that_of_repair_and_of_those_who_leave() -> None:
    leaving = node(3, admin_state="DECOMMISSION_INPROGRESS", low_redundancy_blocks=7)
    found = status(under_replicated_blocks=9, datanodes=[node(1), leaving])
    assert left_of(found) == {REPAIR: 9, leaving.name: 7}


# -- nodes -----------------------------------------------------------------------------


def rows(body: str) -> int:
    return body.count('<th scope="row"')


@pytest.mark.req("FS-280")
def test_of_ten_thousand_nodes_a_page_has_a_hundred() -> None:
    many = [node(number, name=f"n{number:05}:9866") for number in range(10_000)]
    body = joined(nodes.page(many, nodes.wanted_of({"sort": "name", "from": "9950"}), {}))
    assert rows(body) == 50
    assert "10,000 of 10,000 datanodes, 9,951 to 10,000 shown" in body
    assert "n09999:9866" in body
    assert len(joined(nodes.page(many, nodes.Wanted(), {}))) < 200_000
    assert len(joined(racks.page(many))) < 200_000


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, 3),
        ({"q": "10.0.0.1"}, 1),
        ({"q": "/R2"}, 1),
        ({"state": "dead"}, 1),
        ({"state": "stale"}, 1),
        ({"state": "nonsense", "sort": "nonsense", "from": "-1"}, 3),
        ({"from": "99999999"}, 3),
        ({"q": "nobody"}, 0),
    ],
)
def test_nodes_are_filtered(query: dict[str, str], expected: int) -> None:
    found = [node(1), node(2, live=False), node(3, stale=True)]
    assert rows(joined(nodes.page(found, nodes.wanted_of(query), {}))) == expected


def test_the_worst_nodes_come_first() -> None:
    found = [node(1), node(2, live=False), node(3, stale=True), node(4, failed_volumes=1)]
    body = joined(nodes.page(found, nodes.Wanted(), {}))
    names = [body.index(f"10.0.0.{number}:9866") for number in (2, 4, 3, 1)]
    assert names == sorted(names)


def test_a_single_rack_is_warned_of() -> None:
    alone = [node(3), node(6)]
    assert "All datanodes are on one rack" in joined(racks.page(alone))
    assert "All datanodes are on one rack" not in joined(racks.page([node(1), node(2)]))


# -- estimates -------------------------------------------------------------------------


@pytest.mark.req("FS-285")
def test_time_left_is_not_known_before_it_was_measured() -> None:
    pace = Pace()
    pace.note(0, 100)
    assert str(pace.estimate()) == "not known yet: watched for 0 s only"
    pace.note(20, 50)
    assert pace.estimate().seconds is None
    pace.note(50, 50)
    assert str(pace.estimate()) == "about 50 s, at 1 a second"


@pytest.mark.req("FS-285")
@pytest.mark.parametrize(("later", "why"), [(100, "as many are left as"), (120, "more are left")])
def test_what_does_not_get_less_has_no_estimate(later: int, why: str) -> None:
    pace = Pace()
    pace.note(0, 100)
    pace.note(60, later)
    assert pace.estimate().seconds is None
    assert why in str(pace.estimate())


@pytest.mark.req("FS-285")
def test_the_pace_is_that_of_now_and_begins_anew_after_an_end() -> None:
    pace = Pace()
    for second in range(0, 3600, 5):
        pace.note(second, 100_000 - second)
    for second in range(3600, 4300, 5):
        pace.note(second, 96_400 - 10 * (second - 3600))
    assert pace.estimate().per_s == pytest.approx(10, rel=0.01)
    pace.note(4300, 0)
    assert str(pace.estimate()) == "done"
    pace.note(4301, 500)
    assert "not known yet" in str(pace.estimate())


def test_block_groups_are_told_apart_from_blocks() -> None:
    groups = GroupStatus(
        total=1234,
        corrupt=1,
        highest=1,
        low_redundancy=3,
        under_way=2,
        policies=("RS-3-2-1024k", "RS-6-3-1024k"),
    )
    found = status(under_replicated_blocks=4, last_replica_blocks=1, block_groups=groups)
    said = [finding.text for finding in judge(found).findings]
    assert said == [
        "1 block group with no internal block to spare",
        "1 block low on replicas",
        "2 block groups low on internal blocks",
    ]
    page = text_of(found)
    for words in ("1,234", "Being reconstructed or copied", "RS-3-2-1024k, RS-6-3-1024k"):
        assert words in page
    assert "Erasure coding" not in text_of(status())
