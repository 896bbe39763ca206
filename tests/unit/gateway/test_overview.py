"""What a gateway says of itself, as it is made of facts."""

from __future__ import annotations

from dataclasses import replace

from howdah.gateway.metrics import Outcome, Requests, outcome_of
from howdah.gateway.overview import GatewayFacts, bean, families, overview
from howdah.web.http import Response
from howdah.web.pages.html import joined

FACTS = GatewayFacts(
    uri="hdfs://nn:8020",
    mode="read-write",
    started_ms=1_700_000_000_000,
    trouble="",
    clients=2,
    read_bytes=3 << 20,
    written_bytes=5,
    requests={
        ("OPEN", Outcome.OK): 4,
        ("OPEN", Outcome.BROKEN): 1,
        ("CREATE", Outcome.REDIRECTED): 7,
        ("LISTSTATUS", Outcome.OK): 2,
        ("LISTSTATUS_BATCH", Outcome.OK): 3,
    },
)


def test_hadoops_attributes_count_what_was_answered() -> None:
    found = bean(FACTS)
    assert found["name"] == "Hadoop:service=HttpFSServer,name=ServerActivity-HttpFSServer"
    assert [found[name] for name in ("OpsOpen", "OpsCreate", "OpsListing", "OpsStat")] == [
        *(4, 0, 5, 0)
    ]
    assert (found["BytesRead"], found["BytesWritten"]) == (3 << 20, 5)


def test_prometheus_is_told_each_outcome() -> None:
    found = {family.name: family for family in families(FACTS)}
    broken = {"operation": "OPEN", "outcome": "broken"}
    assert (broken, 1.0) in found["howdah_gateway_requests"].samples
    assert found["howdah_gateway_filesystem_reached"].samples == (({}, 1.0),)
    down = {family.name: family for family in families(replace(FACTS, trouble="none answers"))}
    assert down["howdah_gateway_filesystem_reached"].samples == (({}, 0.0),)


def test_the_page_says_why_no_namenode_answers() -> None:
    whole = joined(overview(FACTS))
    assert "The filesystem answers" in whole
    assert "3.0 MiB" in whole
    broken = joined(overview(replace(FACTS, trouble="<all> stand by", requests={})))
    assert "No namenode answers" in broken
    assert "&lt;all&gt; stand by" in broken
    assert "Nobody has asked for anything yet." in broken


def test_an_outcome_is_told_from_the_answer() -> None:
    requests = Requests()
    for answer in (None, Response(201), Response(307), Response(401)):
        requests.note("CREATE", outcome_of(answer))
    assert requests.counts() == {
        ("CREATE", Outcome.OK): 2,
        ("CREATE", Outcome.REDIRECTED): 1,
        ("CREATE", Outcome.REFUSED): 1,
    }
