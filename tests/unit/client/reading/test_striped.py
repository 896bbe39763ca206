"""Input streams of erasure coded files, whose datanodes die, lie, and lose internal blocks."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.client.state.blocks import LocatedBlocks
from howdah.client.thread_pool import Workers
from howdah.options import FileRange
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.protocol.striping.policies import Policy, Schema
from howdah.testing.waiting import wait_until
from tests.unit.client.striped import CELL, DATA, GROUP, STRIPE, StripedCluster


@pytest.fixture
def striped() -> Iterator[StripedCluster]:
    fake = StripedCluster()
    yield fake
    fake.close()


@pytest.fixture
def filled(striped: StripedCluster) -> StripedCluster:
    striped.put_striped(DATA)
    return striped


def test_a_file_of_several_groups_is_read_whole(filled: StripedCluster) -> None:
    with filled.open() as stream:
        assert stream.read() == DATA
    assert [filled.reads_of(3), filled.reads_of(4)] == [0, 0]


@pytest.mark.parametrize("length", [1, 10, CELL - 1, CELL, CELL + 1, STRIPE, STRIPE + 1])
def test_small_files_are_read_with_any_losses(striped: StripedCluster, length: int) -> None:
    striped.put_striped(DATA[:length])
    for lost in itertools.combinations(range(5), 2):
        places = dict(striped.namenode.places)
        for index in lost:
            striped.namenode.places.pop(FIRST_GROUP_ID + index, None)
        with striped.open() as stream:
            assert stream.read() == DATA[:length]
            assert stream.pread(length - 1, 5) == DATA[length - 1 : length]
        striped.namenode.places = places


def test_an_empty_file_is_read(striped: StripedCluster) -> None:
    with striped.open() as stream:
        assert stream.read() == b""


def test_small_steps_read_each_internal_block_once(filled: StripedCluster) -> None:
    with filled.client().open("/f") as stream:
        stream.seek(5)
        found = bytearray()
        while piece := stream.read(1000):
            found += piece
    assert found == DATA[5:]
    # The first, short request; then each block from there to its end. The last group has one
    # stripe and the beginning of another, so that its third block is as long as a cell.
    assert [filled.reads_of(index) for index in range(5)] == [4, 3, 3, 0, 0]


def test_positioned_reads_ask_for_what_they_want_alone(filled: StripedCluster) -> None:
    with filled.open() as stream:
        assert stream.pread(CELL + 10, 20) == DATA[CELL + 10 : CELL + 30]
        (read,) = filled.datanodes[1].reads
        assert (read.offset, read.length_bytes) == (10, 20)
        assert not any(filled.reads_of(index) for index in (0, 2, 3, 4))
        # Across cells, stripes and groups.
        for start, count in (
            (CELL - 3, 6),
            (STRIPE - 5, 2 * CELL),
            (GROUP - 7, STRIPE),
            (0, 10**6),
        ):
            assert stream.pread(start, count) == DATA[start : start + count]


def test_vectored_reads_are_read_side_by_side(filled: StripedCluster) -> None:
    ranges = [FileRange(start, 3000) for start in range(0, len(DATA) - 3000, 9000)]
    with filled.open(vectored_min_seek_bytes=0) as stream:
        for wanted, future in zip(ranges, stream.read_vectored(ranges), strict=True):
            assert future.result() == DATA[wanted.offset : wanted.end]


@pytest.mark.parametrize("dead", list(itertools.combinations(range(5), 2)))
def test_as_many_dead_datanodes_as_there_is_parity_are_made_up_for(
    filled: StripedCluster, dead: tuple[int, ...]
) -> None:
    for index in dead:
        filled.datanodes[index].stop()
    with filled.open() as stream:
        assert stream.read() == DATA
        for start in (0, CELL - 1, GROUP + 5, len(DATA) - 150):
            assert stream.pread(start, 2 * CELL) == DATA[start : start + 2 * CELL]


def test_a_dead_datanode_is_remembered_by_the_stream(filled: StripedCluster) -> None:
    filled.datanodes[1].stop()
    with filled.open() as stream:
        assert stream.pread(CELL, 10) == DATA[CELL : CELL + 10]
        retries = stream.statistics().retries
        assert stream.read() == DATA
        assert stream.statistics().retries == retries == 1


def test_a_degraded_short_read_asks_no_more_of_the_others(filled: StripedCluster) -> None:
    filled.datanodes[1].stop()
    with filled.open() as stream:
        assert stream.pread(CELL + 10, 20) == DATA[CELL + 10 : CELL + 30]
    for index in (0, 2, 3):
        (read,) = filled.datanodes[index].reads
        assert (read.offset, read.length_bytes) == (10, 20)


def test_a_corrupt_internal_block_is_reported_by_its_own_id_and_decoded(
    filled: StripedCluster,
) -> None:
    filled.datanodes[2].corrupt_at = CELL + 5
    with filled.open() as stream:
        assert stream.read() == DATA
    reported = {bad.block.block_id for bad in filled.namenode.bad_blocks}
    assert reported == {FIRST_GROUP_ID + 2, FIRST_GROUP_ID + 16 + 2}
    assert {bad.nodes for bad in filled.namenode.bad_blocks} == {(filled.datanodes[2].address,)}


def test_a_corrupt_data_block_and_a_dead_parity_block_are_made_up_for(
    filled: StripedCluster,
) -> None:
    filled.datanodes[0].corrupt_at = 0
    filled.datanodes[3].stop()
    with filled.open() as stream:
        assert stream.read() == DATA


def test_what_breaks_off_in_the_middle_of_a_stripe_is_decoded(filled: StripedCluster) -> None:
    filled.datanodes[0].break_reads_after = CELL + 1000
    filled.datanodes[2].break_reads_after = 100
    with filled.open() as stream:
        assert stream.read() == DATA


def test_another_datanode_with_the_same_internal_block_is_asked_first(
    filled: StripedCluster,
) -> None:
    spare = filled.datanodes[5]
    for number in range(3):
        block_id = FIRST_GROUP_ID + 16 * number
        filled.place(spare, block_id, bytes(filled.datanodes[0].replicas[block_id]))
    filled.datanodes[0].stop()
    with filled.open() as stream:
        assert stream.read() == DATA
    assert [filled.reads_of(3), filled.reads_of(4)] == [0, 0]


def test_too_many_losses_name_the_group_and_what_is_missing(filled: StripedCluster) -> None:
    for index in (0, 2, 4):
        filled.datanodes[index].stop()
    with filled.open(max_acquire_failures=1) as stream:
        with pytest.raises(errors.BlockMissing) as caught:
            stream.read()
        message = str(caught.value)
        assert f"blk_{FIRST_GROUP_ID}_1001 of /f" in message
        assert "internal blocks [0, 2, 4] are missing" in message
        assert "RS-3-2-4k makes up for 2" in message
        # What needs none of them is read all the same.
        assert stream.pread(CELL, 10) == DATA[CELL : CELL + 10]


def test_a_datanode_that_is_back_ends_the_wait(
    filled: StripedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index in (0, 2, 4):
        filled.datanodes[index].refuse_read = BlockOpResponse(Status.ERROR, "starting")
    ask = filled.namenode.get_block_locations
    asked = 0

    def answer(*args: Any) -> LocatedBlocks:
        nonlocal asked
        asked += 1
        if asked == 3:
            filled.datanodes[4].refuse_read = None
        return ask(*args)

    monkeypatch.setattr(filled.namenode, "get_block_locations", answer)
    with filled.open() as stream:
        assert stream.pread(0, STRIPE) == DATA[:STRIPE]


def test_corrupt_blocks_beyond_the_parity_end_the_read_at_once(filled: StripedCluster) -> None:
    for index in (0, 1, 3):
        filled.datanodes[index].corrupt_at = 7
    with filled.open(retry_window_s=3600.0) as stream:
        with pytest.raises(errors.ChecksumMismatch, match=r"internal blocks \[0, 1, 3\]"):
            stream.pread(0, STRIPE)


def test_tokens_that_expired_are_renewed_for_all_internal_blocks(
    filled: StripedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for node in filled.datanodes[:3]:
        node.refuse_read = BlockOpResponse(Status.ERROR_ACCESS_TOKEN, "expired")
    ask = filled.namenode.get_block_locations
    stream = filled.open(retry_window_s=3600.0)

    def answer(*args: Any) -> LocatedBlocks:
        for node in filled.datanodes[:3]:
            node.refuse_read = None
        return ask(*args)

    monkeypatch.setattr(filled.namenode, "get_block_locations", answer)
    with stream:
        assert stream.pread(0, STRIPE) == DATA[:STRIPE]
    assert not filled.reads_of(3)


def test_a_read_goes_on_where_no_thread_is_free(
    filled: StripedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workers, "try_submit", lambda self, task: None)
    with filled.open() as stream:
        assert stream.read() == DATA


def test_closing_wakes_up_a_read_that_waits_for_all_its_datanodes(filled: StripedCluster) -> None:
    for node in filled.datanodes:
        node.mute = True
    stream = filled.client(socket_timeout_s=600.0).open("/f")
    failures: list[BaseException] = []

    def read() -> None:
        try:
            stream.pread(0, STRIPE)
        except errors.HowdahError as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: all(filled.reads_of(index) for index in range(3)))
    stream.close()
    reader.join(20)
    assert not reader.is_alive()
    assert isinstance(failures[0], errors.ClosedStream)


def test_an_unknown_codec_is_refused_by_name(striped: StripedCluster) -> None:
    striped.put_striped(DATA[:10])
    striped.namenode.policy = Policy(65, Schema("fountain", 3, 2), CELL)
    with pytest.raises(errors.UnsupportedOperation, match=r"FOUNTAIN-3-2-4k.*no codec"):
        striped.open()


@pytest.mark.parametrize("seed", range(6))
def test_random_reads_with_random_losses(filled: StripedCluster, seed: int) -> None:
    rng = random.Random(seed)
    for index in rng.sample(range(5), 2):
        match rng.randrange(3):
            case 0:
                filled.datanodes[index].stop()
            case 1:
                filled.datanodes[index].corrupt_at = rng.randrange(4 * CELL)
            case 2:
                filled.datanodes[index].break_reads_after = rng.randrange(4 * CELL)
    with filled.open() as stream:
        for _ in range(25):
            start = rng.randrange(len(DATA))
            count = rng.choice((1, 100, CELL, STRIPE, 3 * STRIPE))
            if rng.random() < 0.5:
                assert stream.pread(start, count) == DATA[start : start + count]
            else:
                stream.seek(start)
                assert stream.read(count) == DATA[start : start + count]
