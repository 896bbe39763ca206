"""What a secondary namenode says of itself, as it is made of facts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from howdah.namenode.service.monitoring.secondary import SecondaryFacts, bean, overview, report
from howdah.web.monitoring.health import respond
from howdah.web.pages.html import joined

BAD = "<script>alert(1)</script>"
FACTS = SecondaryFacts(
    namenode="nn:8020",
    image_directories=["file:///images"],
    edits_directories=["file:///edits"],
    period_s=3600,
    check_period_s=60,
    transactions=1_000_000,
    started_ms=1_000,
    covered_s=100,
)
DONE = replace(FACTS, checkpoint_ms=5_000, checkpoint_s=140, checkpoint_txid=77)


@pytest.mark.req("FS-262")
def test_a_checkpoint_is_overdue_after_a_period_and_a_half() -> None:
    assert report(FACTS, 100 + 5400).ok
    late = report(replace(FACTS, failure="refused"), 100 + 5401)
    assert not late.ok
    assert late.checks[1].said.startswith("a checkpoint is overdue: ")
    assert late.checks[1].said.endswith(" at most: refused")
    assert respond(late).status == 503


@pytest.mark.req("FS-262")
def test_two_looks_are_waited_for_where_they_are_rare() -> None:
    rare = replace(FACTS, period_s=10, check_period_s=60)
    assert report(rare, 100 + 130).ok
    assert not report(rare, 100 + 131).ok


def test_one_failure_alone_is_told_and_is_no_reason_to_begin_anew() -> None:
    found = report(replace(FACTS, failure="refused"), 200)
    assert found.ok
    assert found.facts["last_failure"] == "refused"


@pytest.mark.req("FS-260")
def test_the_bean_has_hadoops_attributes() -> None:
    assert bean(FACTS, 200)["LastCheckpointDeltaMs"] == -1
    found = bean(DONE, 200)
    assert json.loads(json.dumps(found)) == found
    assert found["LastCheckpointDeltaMs"] == 60_000
    assert found["LastCheckpointTime"] == 5_000
    assert found["CheckpointPeriod"] == 3600
    assert found["HostAndPort"] == "nn:8020"
    assert found.keys() == {
        "name",
        "modelerType",
        "CheckpointDirectories",
        "CheckpointEditlogDirectories",
        "CheckpointPeriod",
        "CheckpointTxns",
        "HostAndPort",
        "LastCheckpointTime",
        "LastCheckpointDeltaMs",
        "SoftwareVersion",
        "StartTime",
        "CompileInfo",
        "SecurityEnabled",
    }


@pytest.mark.parametrize(
    ("now_s", "failure", "level"),
    [(200, "", "ok"), (200, BAD, "warn"), (100_000, "", "bad"), (100_000, BAD, "bad")],
)
@pytest.mark.req("FS-280", "FS-283")
def test_the_page_says_whether_checkpoints_come_in_time(
    now_s: float, failure: str, level: str
) -> None:
    text = joined(overview(replace(DONE, failure=failure), now_s))
    assert f'class="verdict {level}"' in text
    assert "<script" not in text
    assert ">77<" in text


def test_the_page_of_one_that_has_just_begun_says_so() -> None:
    assert "none since the start" in joined(overview(FACTS, 101))
