"""Which volume gets a new replica, and what it leaves to others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.settings import choosing_policy, reserves
from howdah.datanode.state.volumes.choosing import AVAILABLE_SPACE, ChoosingPolicy, group
from howdah.datanode.state.volumes.reserve import (
    ABSOLUTE,
    AGGRESSIVE,
    CONSERVATIVE,
    PERCENTAGE,
    Reserve,
)
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import StorageType

GIB = 1 << 30
BY_SPACE = ChoosingPolicy(by_space=True, threshold_bytes=10 * GIB, fraction=0.75)


def test_in_turn_everybody_has_one() -> None:
    assert group(ChoosingPolicy(), [0, 100 * GIB], 1, 0.5).members == (0, 1)


def test_volumes_that_are_about_equal_have_turns() -> None:
    assert group(BY_SPACE, [5 * GIB, 14 * GIB], 1, 0.0).name == "all"


def test_the_emptier_ones_are_rather_taken() -> None:
    rooms = [5 * GIB, 6 * GIB, 100 * GIB]
    # One high volume at 0.75 against two low ones at 0.25 each: 0.75 / 1.25.
    assert group(BY_SPACE, rooms, 1, 0.59).members == (2,)
    assert group(BY_SPACE, rooms, 1, 0.61).members == (0, 1)


def test_a_replica_that_no_full_volume_has_room_for_goes_to_an_empty_one() -> None:
    assert group(BY_SPACE, [5 * GIB, 100 * GIB], 6 * GIB, 0.99).members == (1,)


@given(
    st.lists(st.integers(0, 200 * GIB), min_size=1, max_size=8),
    st.integers(0, 100 * GIB),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1),
)
def test_a_group_has_a_volume_with_room_if_any_volume_has(
    rooms: list[int], needed: int, dice: float, fraction: float
) -> None:
    policy = ChoosingPolicy(by_space=True, fraction=fraction)
    chosen = group(policy, rooms, needed, dice)
    assert set(chosen.members) <= set(range(len(rooms)))
    if any(policy.has_room(room, needed) for room in rooms):
        assert any(policy.has_room(rooms[n], needed) for n in chosen.members)


def test_additional_space_must_be_left_in_turn() -> None:
    policy = ChoosingPolicy(additional_bytes=100)
    assert policy.has_room(1100, 1000)
    assert not policy.has_room(1099, 1000)


def test_a_set_of_volumes_goes_by_its_policy(tmp_path: Path) -> None:
    volumes = []
    for number in range(2):
        volume = Volume(str(tmp_path / str(number)), f"DS-{number}")
        volume.make_pool_directories("BP-1")
        volumes.append(volume)
    volumes[0].promise(max(volumes[0].usage().remaining_bytes - (1 << 20), 0))
    policy = ChoosingPolicy(by_space=True, threshold_bytes=1 << 20, fraction=1.0)
    chosen = VolumeSet(volumes, policy)

    def never(volume: Volume, error: OSError) -> None:
        raise AssertionError(f"{volume}: {error}")

    assert {chosen.choose(StorageType.DISK, 1, never).storage_id for _ in range(5)} == {"DS-1"}


def test_keys_say_which_policy() -> None:
    prefix = "dfs.datanode.available-space-volume-choosing-policy.balanced-space"
    conf = Configuration(
        {
            "dfs.datanode.fsdataset.volume.choosing.policy": AVAILABLE_SPACE,
            f"{prefix}-threshold": "1g",
            f"{prefix}-preference-fraction": "0.6",
            "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": "7",
        }
    )
    assert choosing_policy(conf) == ChoosingPolicy(True, 7, GIB, 0.6)
    assert choosing_policy(Configuration({})) == ChoosingPolicy()


# --- what is left to others ---


@pytest.mark.parametrize(
    ("calculator", "expected"),
    [(ABSOLUTE, 70), (PERCENTAGE, 100), (CONSERVATIVE, 100), (AGGRESSIVE, 70)],
)
def test_calculators_differ_in_what_counts(calculator: str, expected: int) -> None:
    assert Reserve(70, 10, calculator).of(1009) == expected


def test_the_key_that_says_the_most_counts() -> None:
    key = "dfs.datanode.du.reserved"
    conf = Configuration(
        {key: "1k", f"{key}.ssd": "2k", f"{key}./data/1": "3k", f"{key}./data/1.ssd": "4k"}
    )
    reserve = reserves(conf)
    assert reserve("DISK", Path("/data/2")).absolute_bytes == 1 << 10
    assert reserve("SSD", Path("/data/2")).absolute_bytes == 2 << 10
    assert reserve("DISK", Path("/data/1")).absolute_bytes == 3 << 10
    assert reserve("SSD", Path("/data/1")).absolute_bytes == 4 << 10


def test_a_percentage_is_one_of_the_filesystem() -> None:
    conf = Configuration(
        {
            "dfs.datanode.du.reserved.calculator": PERCENTAGE,
            "dfs.datanode.du.reserved.pct": "5",
            "dfs.datanode.du.reserved.pct.archive": "50",
        }
    )
    assert reserves(conf)("DISK", Path("/d")).of(1000) == 50
    assert reserves(conf)("ARCHIVE", Path("/d")).of(1000) == 500


@pytest.mark.parametrize("value", ["-1", "much"])
def test_a_reserve_that_is_none_is_refused_by_the_name_of_its_key(value: str) -> None:
    conf = Configuration({"dfs.datanode.du.reserved.ssd": value})
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.datanode\.du\.reserved\.ssd"):
        reserves(conf)("SSD", Path("/d"))


def test_a_volume_keeps_its_part_of_the_filesystem(tmp_path: Path) -> None:
    plain = Volume(str(tmp_path), "DS-0").usage()
    volume = Volume(str(tmp_path), "DS-0", reserve=Reserve(0, 50, PERCENTAGE))
    usage = volume.usage()
    assert usage.capacity_bytes == plain.capacity_bytes - volume.reserved_bytes
    assert abs(volume.reserved_bytes * 2 - plain.capacity_bytes) <= 1
