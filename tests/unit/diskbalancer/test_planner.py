"""Which volumes give how much to which others."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from howdah.diskbalancer.planner import NodePlan, plan
from howdah.diskbalancer.volumes import DiskNode, DiskVolume, VolumeSet

GIB = 1 << 30


def volume(number: int, used: int, capacity: int = 100 * GIB, **more: Any) -> DiskVolume:
    return DiskVolume(f"DS-{number}", "DISK", capacity, used, path=f"/d{number}", **more)


def node(*volumes: DiskVolume) -> DiskNode:
    kinds = dict.fromkeys(each.storage_type for each in volumes)
    return DiskNode(
        "uuid",
        "127.0.0.1",
        "host",
        9867,
        tuple(
            VolumeSet.of(kind, kind, [each for each in volumes if each.storage_type == kind])
            for kind in kinds
        ),
    )


def moves(made: NodePlan) -> list[tuple[str, str, int]]:
    return [
        (step.source.storage_id, step.destination.storage_id, step.bytes_to_move)
        for step in made.steps
    ]


def used_after(of: DiskNode, made: NodePlan) -> dict[str, int]:
    used = {each.storage_id: each.used_bytes for each in of.volumes}
    for step in made.steps:
        used[step.source.storage_id] -= step.bytes_to_move
        used[step.destination.storage_id] += step.bytes_to_move
    return used


def test_an_empty_volume_gets_half_of_a_full_one() -> None:
    made = plan(node(volume(0, 60 * GIB), volume(1, 0)), 10, now_ms=7)
    assert moves(made) == [("DS-0", "DS-1", 30 * GIB)]
    assert (made.node_name, made.node_uuid, made.port, made.timestamp_ms) == (
        "host",
        "uuid",
        9867,
        7,
    )


def test_the_fullest_gives_to_the_emptiest_first() -> None:
    made = plan(node(volume(0, 90 * GIB), volume(1, 30 * GIB), volume(2, 0)), 1, now_ms=0)
    assert moves(made)[0] == ("DS-0", "DS-2", 40 * GIB)
    assert set(used_after(node(volume(0, 90 * GIB), volume(1, 30 * GIB), volume(2, 0)), made)) == {
        "DS-0",
        "DS-1",
        "DS-2",
    }


def test_volumes_within_the_threshold_exchange_nothing() -> None:
    uneven = node(volume(0, 60 * GIB), volume(1, 45 * GIB))
    assert not plan(uneven, 10, now_ms=0).steps
    assert plan(uneven, 5, now_ms=0).steps


def test_a_volume_alone_has_nobody_to_give_to() -> None:
    assert not plan(node(volume(0, 99 * GIB)), 1, now_ms=0).steps


def test_storage_types_exchange_nothing() -> None:
    archive = DiskVolume("DS-1", "ARCHIVE", 100 * GIB, 0)
    assert not plan(node(volume(0, 90 * GIB), archive), 1, now_ms=0).steps


def test_volumes_that_have_failed_or_are_skipped_count_nowhere() -> None:
    made = plan(
        node(
            volume(0, 80 * GIB),
            volume(1, 0),
            volume(2, 0, failed=True),
            volume(3, 0, skip=True),
            volume(4, 0, capacity=5, reserved_bytes=9),
        ),
        10,
        now_ms=0,
    )
    assert moves(made) == [("DS-0", "DS-1", 40 * GIB)]


def test_memory_is_not_evened_out() -> None:
    ram = [volume(number, used, transient=True) for number, used in ((0, 90 * GIB), (1, 0))]
    assert not plan(node(*ram), 1, now_ms=0).steps


def test_limits_are_in_every_step() -> None:
    made = plan(
        node(volume(0, 90 * GIB), volume(1, 0)), 1, now_ms=0, bandwidth_mib=7, max_disk_errors=3
    )
    assert {(step.bandwidth_mib, step.max_disk_errors) for step in made.steps} == {(7, 3)}


def test_a_node_is_known_by_its_name_address_and_uuid() -> None:
    known = node(volume(0, 0))
    assert all(known.is_called(name) for name in ("HOST", "127.0.0.1", "uuid"))
    assert not known.is_called("other")


def test_a_volume_that_has_given_does_not_take_when_the_mean_of_the_others_is_another() -> None:
    full = [volume(number, 2, capacity=2) for number in (0, 2)]
    made = plan(node(full[0], volume(1, 0, capacity=20_001), full[1]), 1, now_ms=0)
    assert moves(made) == [("DS-0", "DS-1", 2)]


SIZES = st.integers(min_value=0, max_value=1 << 44)
VOLUMES = st.lists(
    st.tuples(SIZES, SIZES, st.booleans(), st.booleans()), min_size=1, max_size=12
).map(
    lambda rows: [
        volume(n, min(used, capacity), capacity, failed=failed, skip=skip)
        for n, (used, capacity, failed, skip) in enumerate(rows)
    ]
)


@given(VOLUMES, st.floats(min_value=0.01, max_value=100))
def test_any_plan_ends_moves_what_there_is_and_never_beyond_the_mean(
    volumes: list[DiskVolume], threshold: float
) -> None:
    before = node(*volumes)
    made = plan(before, threshold, now_ms=0)
    assert len(made.steps) < 2 * len(volumes)
    by_id = {each.storage_id: each for each in volumes}
    used = {each.storage_id: each.used_bytes for each in volumes}
    for step in made.steps:
        assert step.bytes_to_move > 0
        assert by_id[step.source.storage_id].counts
        assert by_id[step.destination.storage_id].counts
        used[step.source.storage_id] -= step.bytes_to_move
        used[step.destination.storage_id] += step.bytes_to_move
    assert sum(used.values()) == sum(each.used_bytes for each in volumes)
    for storage_id, count in used.items():
        assert 0 <= count <= max(by_id[storage_id].capacity_bytes, 0)
    # Who gives does not take, and the other way round.
    assert not {step.source.storage_id for step in made.steps} & {
        step.destination.storage_id for step in made.steps
    }


@given(
    st.lists(st.integers(min_value=0, max_value=1000), min_size=2, max_size=8),
    st.sampled_from([1, 5, 10, 30]),
)
def test_volumes_of_one_size_are_within_the_threshold_after_the_plan(
    shares: list[int], threshold: int
) -> None:
    before = node(*[volume(n, share * GIB, 1000 * GIB) for n, share in enumerate(shares)])
    used = used_after(before, plan(before, threshold, now_ms=0))
    mean = sum(used.values()) / len(used)
    # A share is cut off after four digits, twice.
    assert all(
        abs(count - mean) <= (threshold / 100 + 0.0005) * 1000 * GIB for count in used.values()
    )
