"""What becomes of each call of a router, with destinations that are there and away."""

from __future__ import annotations

import pytest

from howdah.router.state.methods import is_write
from tests.support.routing.walk import HOME, NUMBERS, SCENES, SERVED, outcomes_of

pytestmark = pytest.mark.req("LM-020")

IN_EACH = {
    "addCachePool",
    "addErasureCodingPolicies",
    "disableErasureCodingPolicy",
    "enableErasureCodingPolicy",
    "mkdirs",
    "modifyCachePool",
    "removeCachePool",
    "removeErasureCodingPolicy",
}
"""Changes that a caller repeats until each nameservice has made them."""


@pytest.mark.parametrize("method", sorted(SERVED))
def test_no_destination_changes_alone_where_the_call_is_refused(method: str) -> None:
    if is_write(method) and method not in IN_EACH:
        for scene, outcome in zip(SCENES, outcomes_of(method), strict=True):
            if method in ("metaSave", "rollEdits", "setBalancerBandwidth"):
                continue  # about nameservices as a whole
            assert outcome == "refused" or "refused" not in outcome, scene.title


@pytest.mark.parametrize("method", sorted(SERVED))
def test_a_destination_that_is_away_is_not_taken_for_one_without_the_path(method: str) -> None:
    """What is told of a path is in the second destination."""
    for scene, outcome in zip(SCENES, outcomes_of(method), strict=True):
        assert "NotFound" not in outcome, scene.title
        if scene.away == HOME and NUMBERS[HOME] in outcome.split():
            raise AssertionError(f"{scene.title}: {outcome}")


def test_what_is_there_can_be_read_while_another_destination_is_away() -> None:
    for method in ("getBlockLocations", "getFileInfo", "getListing", "append", "truncate"):
        found = dict(zip((scene.title for scene in SCENES), outcomes_of(method), strict=True))
        assert found["two, the first away"] == "2"
        assert found["two, the second away"] == "refused"
