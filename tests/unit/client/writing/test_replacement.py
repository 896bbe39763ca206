"""When a failed datanode is replaced, and for how long one is avoided."""

from __future__ import annotations

import pytest

from howdah.client.settings.settings import ClientSettings
from howdah.client.state.writing.pipeline_rules import Policy, ReplacementPolicy
from howdah.client.state.writing.recovery import ExcludedNodes
from howdah.config import Configuration
from howdah.protocol.data_transfer.blocks import DatanodeAddress

PREFIX = "dfs.client.block.write.replace-datanode-on-failure"
NODE = DatanodeAddress("127.0.0.1", "dn", "uuid", 9866)


def wants(
    policy: Policy, replication: int, left: int, *, appended: bool = False, flushed: bool = False
) -> bool:
    return ReplacementPolicy(policy).wants(
        replication=replication, left=left, appended=appended, flushed=flushed
    )


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("left", [0, 3, 4])
def test_a_full_or_an_empty_pipeline_gets_no_replacement(policy: Policy, left: int) -> None:
    assert not wants(policy, 3, left, appended=True, flushed=True)


@pytest.mark.parametrize("left", [1, 2])
def test_always_and_never_mean_what_they_say(left: int) -> None:
    assert wants(Policy.ALWAYS, 3, left)
    assert not wants(Policy.NEVER, 3, left, appended=True, flushed=True)


@pytest.mark.parametrize(
    ("replication", "left", "expected"),
    [(2, 1, False), (3, 2, False), (3, 1, True), (4, 2, True), (4, 3, False), (10, 5, True)],
)
def test_the_default_replaces_when_no_more_than_half_is_left(
    replication: int, left: int, expected: bool
) -> None:
    assert wants(Policy.DEFAULT, replication, left) is expected


def test_the_default_replaces_in_a_block_that_readers_may_rely_on() -> None:
    assert wants(Policy.DEFAULT, 3, 2, flushed=True)
    assert wants(Policy.DEFAULT, 3, 2, appended=True)
    assert not wants(Policy.DEFAULT, 2, 1, appended=True, flushed=True)


@pytest.mark.req("FS-132")
def test_one_datanode_is_enough_to_go_on_by_default() -> None:
    assert ClientSettings.from_configuration(Configuration()).replacement.tolerates(1)


def test_min_replication_says_with_how_many_it_goes_on() -> None:
    policy = ReplacementPolicy(min_replication=2)
    assert policy.tolerates(2)
    assert not policy.tolerates(1)
    assert not ReplacementPolicy(min_replication=0).tolerates(2)
    assert ReplacementPolicy(best_effort=True, min_replication=0).tolerates(1)


def test_the_policy_comes_from_the_configuration() -> None:
    conf = Configuration(
        {f"{PREFIX}.policy": "ALWAYS", f"{PREFIX}.best-effort": "true"}
        | {f"{PREFIX}.min-replication": "2"}
    )
    expected = ReplacementPolicy(Policy.ALWAYS, True, 2)
    assert ClientSettings.from_configuration(conf).replacement == expected


def test_replacing_can_be_switched_off() -> None:
    conf = Configuration({f"{PREFIX}.policy": "ALWAYS", f"{PREFIX}.enable": "false"})
    assert ClientSettings.from_configuration(conf).replacement.policy is Policy.NEVER


def test_an_excluded_node_is_forgotten_after_its_time() -> None:
    excluded = ExcludedNodes(600)
    excluded.add(NODE, 100)
    assert excluded.at(699) == (NODE,)
    assert excluded.at(700) == ()


def test_a_node_that_fails_again_is_excluded_for_longer() -> None:
    excluded = ExcludedNodes(600)
    excluded.add(NODE, 100)
    excluded.add(NODE, 500)
    assert excluded.at(1000) == (NODE,)
