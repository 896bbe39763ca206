"""All internal blocks of a group, compared with each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.client.reading.group_check import GroupFinding
from howdah.client.reading.replica_finding import ReplicaState
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from tests.unit.client.striped import CELL, DATA, GROUP, STRIPE, StripedCluster

SOUND, DIFFERENT = ReplicaState.SOUND, ReplicaState.DIFFERENT
DOUBTFUL, MISSING = ReplicaState.DOUBTFUL, ReplicaState.MISSING
LENGTHS = [1, 10, CELL - 1, CELL, CELL + 1, 2 * CELL + 7, STRIPE, STRIPE + 1, GROUP]


@pytest.fixture
def striped() -> Iterator[StripedCluster]:
    fake = StripedCluster()
    yield fake
    fake.close()


def checked(striped: StripedCluster) -> list[GroupFinding]:
    checker = striped.client().replica_checker()
    finished = checker.finished_blocks("/f")
    assert finished.policy is not None
    return [checker.check_group("/f", group, finished.policy) for group in finished.blocks]


def states(finding: GroupFinding) -> dict[int, ReplicaState]:
    return {member.index: member.finding.state for member in finding.members}


@pytest.mark.parametrize("length", LENGTHS)
def test_a_sound_group_has_the_checksum_of_its_data(striped: StripedCluster, length: int) -> None:
    striped.put_striped(DATA[:length])
    (group,) = checked(striped)
    assert set(states(group).values()) == {SOUND}
    assert group.crc == crc(ChecksumType.CRC32C, DATA[:length])
    # Data blocks without a cell do not exist.
    assert len(group.members) == min(3, -(-length // CELL)) + 2


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("wrong", [0, 3, 4])
def test_an_internal_block_whose_checksums_are_right_is_found(
    striped: StripedCluster, length: int, wrong: int
) -> None:
    striped.put_striped(DATA[:length])
    replica = striped.datanodes[wrong].replicas[FIRST_GROUP_ID + wrong]
    replica[-1] ^= 1
    (group,) = checked(striped)
    assert {i for i, state in states(group).items() if state is DIFFERENT} == {wrong}
    (said,) = [m.finding.message for m in group.members if m.index == wrong]
    assert f"index {wrong}: " in said
    assert group.crc == crc(ChecksumType.CRC32C, DATA[:length])


def test_each_group_of_a_file_is_compared_by_itself(striped: StripedCluster) -> None:
    striped.put_striped(DATA)
    striped.datanodes[2].replicas[FIRST_GROUP_ID + 16 + 2][0] ^= 1
    first, second, third = checked(striped)
    assert set(states(first).values()) == set(states(third).values()) == {SOUND}
    assert states(second) == {0: SOUND, 1: SOUND, 2: DIFFERENT, 3: SOUND, 4: SOUND}


def test_two_wrong_ones_of_three_and_two_are_doubtful(striped: StripedCluster) -> None:
    striped.put_striped(DATA[:STRIPE])
    for index in (0, 3):
        striped.datanodes[index].replicas[FIRST_GROUP_ID + index][9] ^= 1
    (group,) = checked(striped)
    assert set(states(group).values()) == {DOUBTFUL}
    assert group.crc is None


def test_a_missing_index_is_named_and_the_others_are_compared(striped: StripedCluster) -> None:
    striped.put_striped(DATA[:GROUP])
    del striped.namenode.places[FIRST_GROUP_ID + 1]
    (group,) = checked(striped)
    assert states(group) == {0: SOUND, 1: MISSING, 2: SOUND, 3: SOUND, 4: SOUND}
    assert group.missing == (1,)
    assert group.crc == crc(ChecksumType.CRC32C, DATA[:GROUP])
    # One more than the data units shows that something is wrong, not what.
    striped.datanodes[4].replicas[FIRST_GROUP_ID + 4][0] ^= 1
    (group,) = checked(striped)
    assert states(group) == {0: DOUBTFUL, 1: MISSING, 2: DOUBTFUL, 3: DOUBTFUL, 4: DOUBTFUL}


def test_with_too_few_left_each_is_held_against_its_checksums_alone(
    striped: StripedCluster,
) -> None:
    striped.put_striped(DATA[:GROUP])
    for index in (0, 1, 4):
        del striped.namenode.places[FIRST_GROUP_ID + index]
    (group,) = checked(striped)
    assert states(group) == {0: MISSING, 1: MISSING, 2: SOUND, 3: SOUND, 4: MISSING}
    assert group.crc is None


def test_nodes_that_fail_are_left_out_and_say_why(striped: StripedCluster) -> None:
    striped.put_striped(DATA[:GROUP])
    striped.datanodes[0].refuse_connections()
    striped.datanodes[4].corrupt_at = CELL + 5
    (group,) = checked(striped)
    assert states(group) == {
        0: ReplicaState.UNREADABLE,
        1: SOUND,
        2: SOUND,
        3: SOUND,
        4: ReplicaState.CORRUPT,
    }
    assert group.members[4].finding.message.startswith("index 4: ")
    assert group.crc == crc(ChecksumType.CRC32C, DATA[:GROUP])


def test_a_second_copy_of_an_index_must_have_the_same_bytes(striped: StripedCluster) -> None:
    striped.put_striped(DATA[:GROUP])
    block_id = FIRST_GROUP_ID + 1
    copy = bytearray(striped.datanodes[1].replicas[block_id])
    copy[77] ^= 1
    striped.place(striped.datanodes[5], block_id, bytes(copy))
    (group,) = checked(striped)
    found = {
        (member.index, member.node.uuid): member.finding.state
        for member in group.members
        if member.node
    }
    second = striped.datanodes[5].address.uuid
    assert found.pop((1, second)) is DIFFERENT
    assert set(found.values()) == {SOUND}
