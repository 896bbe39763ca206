"""When the namespace may change."""

from __future__ import annotations

import tracemalloc

import pytest

from howdah import errors
from howdah.namenode.state.blocks.safe_mode import SafeMode


def starting(
    blocks: int = 1000, threshold: float = 0.999, nodes: int = 0, extension_ms: int = 0
) -> SafeMode:
    return SafeMode(
        total_blocks=blocks, threshold=threshold, min_datanodes=nodes, extension_ms=extension_ms
    )


@pytest.mark.req("FS-050")
def test_it_ends_by_itself_when_enough_blocks_were_reported() -> None:
    safe_mode = starting()
    safe_mode.update(998, 1, 0)
    assert safe_mode.on
    safe_mode.update(999, 1, 1)
    assert not safe_mode.on


def test_empty_filesystem_waits_for_nothing() -> None:
    safe_mode = starting(blocks=0, extension_ms=30_000)
    safe_mode.update(0, 0, 0)
    assert not safe_mode.on


def test_enough_datanodes_must_be_there() -> None:
    safe_mode = starting(blocks=0, nodes=2)
    safe_mode.update(0, 1, 0)
    assert safe_mode.on
    safe_mode.update(0, 2, 0)
    assert not safe_mode.on


def test_it_goes_on_for_the_extension() -> None:
    safe_mode = starting(extension_ms=30_000)
    safe_mode.update(1000, 1, 100)
    safe_mode.update(1000, 1, 30_099)
    assert safe_mode.on
    safe_mode.update(1000, 1, 30_100)
    assert not safe_mode.on


def test_extension_starts_over_when_blocks_get_lost() -> None:
    safe_mode = starting(extension_ms=30_000)
    safe_mode.update(1000, 1, 0)
    safe_mode.update(10, 1, 20_000)
    safe_mode.update(1000, 1, 29_000)
    safe_mode.update(1000, 1, 31_000)
    assert safe_mode.on


def test_it_does_not_come_back_by_itself() -> None:
    safe_mode = starting()
    safe_mode.update(1000, 1, 0)
    safe_mode.update(0, 0, 1)
    assert not safe_mode.on


def test_what_an_administrator_entered_an_administrator_leaves() -> None:
    safe_mode = starting()
    safe_mode.update(1000, 1, 0)
    safe_mode.enter()
    safe_mode.update(1000, 1, 99_999)
    assert safe_mode.on
    safe_mode.leave()
    assert not safe_mode.on


def test_threshold_above_one_waits_for_an_administrator() -> None:
    safe_mode = starting(threshold=1.5)
    safe_mode.update(1000, 9, 0)
    assert safe_mode.on


def test_refusal_names_the_operation_and_what_is_missing() -> None:
    safe_mode = starting()
    safe_mode.update(400, 1, 0)
    with pytest.raises(errors.SafeMode) as caught:
        safe_mode.check("Cannot delete /a")
    assert caught.value.message == (
        "Cannot delete /a. Name node is in safe mode.\n"
        "The reported blocks 400 needs additional 599 blocks to reach the threshold 0.9990 of "
        "total blocks 1000.\nThe minimum number of live datanodes is not required. Safe mode "
        "will be turned off automatically once the thresholds have been reached."
    )


def test_status_counts_datanodes_once_the_blocks_are_there() -> None:
    safe_mode = starting(nodes=3)
    safe_mode.update(400, 1, 0)
    assert "The number of live datanodes is not calculated since" in safe_mode.status()
    safe_mode.update(1000, 1, 0)
    assert safe_mode.status() == (
        "The reported blocks 1000 has reached the threshold 0.9990 of total blocks 1000. "
        "The number of live datanodes 1 needs an additional 2 live datanodes to reach the "
        "minimum number 3.\n"
        "Safe mode will be turned off automatically once the thresholds have been reached."
    )


def test_status_counts_the_extension_down() -> None:
    safe_mode = starting(nodes=1, extension_ms=30_000)
    safe_mode.update(1000, 1, 500)
    safe_mode.update(1000, 1, 1500)
    assert safe_mode.status().endswith(
        "The number of live datanodes 1 has reached the minimum number 1. In safe mode "
        "extension. Safe mode will be turned off automatically in 29 seconds."
    )


def test_metadata_older_than_its_blocks_keep_it_on() -> None:
    safe_mode = starting()
    safe_mode.found_future(7, 100)
    safe_mode.found_future(8, 11)
    safe_mode.found_future(7, 100)
    safe_mode.update(1000, 1, 0)
    assert not safe_mode.leave()
    assert safe_mode.on
    assert "would delete 111 byte(s)" in safe_mode.status()


def test_blocks_younger_than_the_metadata_take_little_memory() -> None:
    """They may be nearly all that there are: of each it needs to know that it was counted."""
    safe_mode = starting()
    first = 1 << 30
    tracemalloc.start()
    try:
        for block_id in range(first, first + 20_000):
            safe_mode.found_future(block_id, 10)
        taken_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert safe_mode.future_bytes == 200_000
    assert taken_bytes < 40_000


def test_force_leaves_in_any_case() -> None:
    safe_mode = starting()
    safe_mode.found_future(7, 100)
    assert safe_mode.leave(force=True)
    assert (safe_mode.on, safe_mode.future_bytes) == (False, 0)


def test_off_refuses_nothing() -> None:
    safe_mode = starting(blocks=0)
    safe_mode.update(0, 0, 0)
    safe_mode.check("anything")


def test_manual_status_says_how_to_leave() -> None:
    safe_mode = starting()
    safe_mode.enter()
    assert "dfsadmin -safemode leave" in safe_mode.status()


def test_without_room_for_the_log_it_is_on_until_there_is_room() -> None:
    safe_mode = SafeMode(total_blocks=0, threshold=0.999, min_datanodes=0, extension_ms=0)
    safe_mode.update(0, 0, 0)
    assert not safe_mode.on
    safe_mode.lose_room()
    safe_mode.update(0, 0, 1000)
    with pytest.raises(errors.SafeMode, match="Resources are low on NN"):
        safe_mode.check("Cannot create directory /a")
    safe_mode.find_room()
    safe_mode.check("Cannot create directory /a")


@pytest.mark.req("FS-048", "LM-008")
def test_one_of_several_namenodes_without_room_asks_callers_to_try_again() -> None:
    """Another one takes over, most likely before they do."""
    safe_mode = SafeMode(total_blocks=0, threshold=0.999, min_datanodes=0, extension_ms=0)
    safe_mode.update(0, 0, 0)
    safe_mode.callers_wait = True
    safe_mode.lose_room()
    with pytest.raises(
        errors.RetriableError, match=r"SafeModeException: .*\nResources are low on NN"
    ):
        safe_mode.check("Cannot create directory /a")
    safe_mode.enter()
    with pytest.raises(errors.SafeMode):
        safe_mode.check("Cannot create directory /a")


@pytest.mark.parametrize("manual", [False, True])
def test_room_ends_no_other_safe_mode(manual: bool) -> None:
    """Neither that of a start nor that of an administrator, whichever came first."""
    safe_mode = SafeMode(total_blocks=10, threshold=0.999, min_datanodes=0, extension_ms=0)
    safe_mode.lose_room()
    if manual:
        safe_mode.enter()
    safe_mode.find_room()
    assert safe_mode.on
    safe_mode.update(10, 0, 0)
    assert safe_mode.on is manual


def test_an_administrator_may_leave_it_without_room() -> None:
    safe_mode = SafeMode(total_blocks=0, threshold=0.999, min_datanodes=0, extension_ms=0)
    safe_mode.lose_room()
    assert safe_mode.leave()
    assert not safe_mode.on
