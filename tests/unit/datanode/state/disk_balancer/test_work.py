"""When moves are enough, and which plans are taken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.state.disk_balancer.checks import Submitted, checked_plan, work_of
from howdah.datanode.state.disk_balancer.work import MIB, BalancerWork, WorkRules
from howdah.diskbalancer.plan_files import plan_id, plan_text
from howdah.diskbalancer.planner import MoveStep, NodePlan
from howdah.diskbalancer.volumes import DiskVolume
from howdah.errors import DiskBalancerError
from howdah.protocol.data_transfer.blocks import StorageType

RULES = WorkRules()
NOW_MS = 10_000_000
DAY_MS = 86_400_000


def disk(storage_id: str) -> DiskVolume:
    return DiskVolume(storage_id, "DISK", 1000, 100, path=f"/{storage_id}")


def step(count: int = 100, source: str = "a", destination: str = "b", **more: int) -> MoveStep:
    return MoveStep(disk(source), disk(destination), count, 0.5, "set", **more)


def work(count: int = 100, **more: int) -> BalancerWork:
    return BalancerWork("a", "b", step(count, "a", "b", **more))


# --- limits ---


def test_it_is_enough_with_the_tolerance() -> None:
    some = work(100)
    some.moved(90)
    assert not some.is_enough(RULES)
    some.moved(2)
    assert some.is_enough(RULES), "92 and a tenth are more than 100"
    assert (some.bytes_copied, some.blocks_copied) == (92, 2)


def test_a_replica_that_is_too_long_is_not_taken() -> None:
    some = work(100)
    assert some.accepts(110, RULES)
    assert not some.accepts(111, RULES)
    some.moved(50)
    assert not some.accepts(56, RULES)


def test_one_error_more_than_allowed_ends_it() -> None:
    some = work(max_disk_errors=2)
    for _ in range(2):
        some.failed("the disk")
    assert not some.has_failed(RULES)
    some.failed("the disk, again")
    assert some.has_failed(RULES)
    assert some.error == "the disk, again"


def test_what_the_plan_does_not_say_the_datanode_does() -> None:
    assert work().bandwidth(RULES) == 10 * MIB
    assert work(bandwidth_mib=3).bandwidth(RULES) == 3 * MIB
    assert work(tolerance_percent=50).accepts(150, RULES)


def test_values_that_mean_nothing_are_the_defaults() -> None:
    assert WorkRules.of(0, -1, 0) == RULES
    assert WorkRules.of(7, 0, 3) == WorkRules(7, 0, 3)


@given(
    st.integers(min_value=0, max_value=1 << 40),
    st.lists(st.integers(min_value=0, max_value=1 << 30), max_size=50),
)
def test_never_more_is_moved_than_the_plan_says_and_its_tolerance(
    count: int, lengths: list[int]
) -> None:
    some = work(count)
    for length in lengths:
        if not some.is_enough(RULES) and some.accepts(length, RULES):
            some.moved(length)
    assert some.bytes_copied <= count + count * 10 // 100


# --- plans ---


def text_of(*steps: MoveStep, uuid: str = "me", timestamp_ms: int = NOW_MS) -> str:
    return plan_text(NodePlan("host", uuid, 9867, timestamp_ms, steps))


def submitted(text: str, **more: Any) -> Submitted:
    return Submitted(
        **{
            "plan_id": plan_id(text),
            "version": 1,
            "text": text,
            "skips_date_check": False,
            **more,
        }
    )


def refusal(what: Submitted, uuid: str = "me", now_ms: int = NOW_MS) -> tuple[str, str]:
    with pytest.raises(DiskBalancerError) as caught:
        checked_plan(what, uuid, DAY_MS, now_ms)
    return caught.value.result, caught.value.message


def test_a_plan_for_this_datanode_is_taken() -> None:
    text = text_of(step())
    assert checked_plan(submitted(text), "me", DAY_MS, NOW_MS).steps == (step(),)
    checked_plan(submitted(text, plan_id=plan_id(text).upper()), "me", DAY_MS, NOW_MS)


def test_a_plan_that_is_too_old_is_taken_by_force_alone() -> None:
    text = text_of(step())
    late_ms = NOW_MS + DAY_MS + 1
    assert refusal(submitted(text), now_ms=late_ms) == (
        "OLD_PLAN_SUBMITTED",
        "Plan was generated more than 1d ago",
    )
    checked_plan(submitted(text), "me", DAY_MS, late_ms - 1)
    checked_plan(submitted(text, skips_date_check=True), "me", DAY_MS, late_ms)


@pytest.mark.parametrize(
    ("what", "result"),
    [
        (submitted(text_of(), version=2), "INVALID_PLAN_VERSION"),
        (submitted(""), "INVALID_PLAN"),
        (submitted(text_of(), plan_id="0" * 40), "INVALID_PLAN_HASH"),
        (submitted(text_of(), plan_id=""), "INVALID_PLAN_HASH"),
        (submitted("{"), "MALFORMED_PLAN"),
        (submitted(text_of(uuid="other")), "DATANODE_ID_MISMATCH"),
    ],
)
def test_a_plan_is_refused_with_hadoops_code(what: Submitted, result: str) -> None:
    assert refusal(what)[0] == result


def test_before_a_datanode_knows_its_uuid_no_plan_is_for_it() -> None:
    assert refusal(submitted(text_of(uuid="")), uuid="")[0] == "DATANODE_ID_MISMATCH"


def works(*steps: MoveStep, **kinds: StorageType) -> list[BalancerWork]:
    there = dict.fromkeys("abc", StorageType.DISK) | kinds
    return work_of(NodePlan("host", "me", 9867, NOW_MS, steps), there)


def test_steps_between_the_same_volumes_are_one() -> None:
    found = works(step(5), step(7, "a", "c"), step(11, bandwidth_mib=3))
    assert [(each.source_id, each.destination_id, each.bytes_to_copy) for each in found] == [
        ("a", "b", 16),
        ("a", "c", 7),
    ]
    assert found[0].bandwidth(RULES) == 3 * MIB


@pytest.mark.parametrize(
    ("wrong", "kinds", "result", "why"),
    [
        (step(1, "x", "b"), {}, "INVALID_VOLUME", "Unable to find volume: /x. SubmitPlan failed"),
        (step(1, "a", "x"), {}, "INVALID_VOLUME", "Unable to find volume: /x"),
        (step(1, "a", "a"), {}, "INVALID_MOVE", "Source and destination volumes are same: a"),
        (step(), {"b": StorageType.RAM_DISK}, "INVALID_MOVE", "transient storage type"),
        (step(), {"b": StorageType.SSD}, "INVALID_MOVE", "a is of type DISK and b of type SSD"),
    ],
)
def test_moves_that_cannot_be_are_refused(
    wrong: MoveStep, kinds: dict[str, StorageType], result: str, why: str
) -> None:
    with pytest.raises(DiskBalancerError, match=why) as caught:
        works(step(), wrong, **kinds)
    assert caught.value.result == result


def test_what_is_told_of_work_has_its_limits() -> None:
    some = work(100, bandwidth_mib=3)
    some.moved(40)
    told = some.entry("/x", "/y")
    assert (told.source_path, told.destination_path, told.bytes_to_copy) == ("/x", "/y", 100)
    assert (told.bytes_copied, told.blocks_copied, told.bandwidth_mib) == (40, 1, 3)
    assert json.dumps(told.error) == '""'
