"""Output streams of erasure coded files: what lies on datanodes, and what failures they bear."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.options import CreateFlag
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import PacketHeader
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.protocol.striping.policies import Policy, Schema
from howdah.runtime.sockets import Connection
from howdah.testing.waiting import wait_until
from tests.support.striped_groups import internal_blocks
from tests.unit.client.conftest import FakeDatanode
from tests.unit.client.striped import CELL, DATA, GROUP, STRIPE, StripedCluster, token_of

BLOCK = 4 * CELL
"""So a group has as many bytes as GROUP says."""


@pytest.fixture
def striped() -> Iterator[StripedCluster]:
    fake = StripedCluster()
    yield fake
    fake.close()


def create(striped: StripedCluster, **settings: Any) -> Any:
    return striped.create(block_size=BLOCK, **{"packet_data_bytes": 2048, **settings})


def assert_whole(striped: StripedCluster, content: bytes) -> None:
    """Every internal block that its datanode has finalized is what it should be, and the file
    reads as it was written."""
    for number, group in enumerate(striped.namenode.groups):
        piece = content[number * GROUP : (number + 1) * GROUP]
        assert group.length_bytes == len(piece)
        expected = internal_blocks(striped.namenode.policy, piece)
        for index, block in enumerate(expected):
            for node in striped.namenode.places.get(group.block_id + index, []):
                assert bytes(node.replicas[group.block_id + index]) == block, (number, index)
    with striped.open() as stream:
        assert stream.read() == content


@pytest.mark.parametrize(
    "length",
    [0, 1, 10, CELL, CELL + 1, STRIPE - 1, STRIPE, STRIPE + CELL + 5, GROUP, GROUP + 1, len(DATA)],
)
@pytest.mark.parametrize("step", [700, 10**6])
def test_what_lies_on_datanodes_is_what_hadoop_writes(
    striped: StripedCluster, length: int, step: int
) -> None:
    with create(striped) as stream:
        for start in range(0, length, step):
            stream.write(DATA[start : min(start + step, length)])
        assert stream.get_pos() == length
    assert_whole(striped, DATA[:length])
    names = striped.namenode.names()
    assert names.count("addBlock") == -(-length // GROUP)
    assert "updatePipeline" not in names


def test_an_internal_block_without_bytes_is_written_nowhere(striped: StripedCluster) -> None:
    with create(striped) as stream:
        stream.write(b"0123456789")
    assert [len(node.writes) for node in striped.datanodes] == [1, 0, 0, 1, 1, 0]
    (request,) = striped.datanodes[3].writes
    assert request.block.block_id == FIRST_GROUP_ID + 3
    assert request.stage is Stage.PIPELINE_SETUP_CREATE
    assert request.token == token_of(FIRST_GROUP_ID + 3, 1001)


def test_memory_that_is_written_anew_meanwhile_does_not_change_the_file(
    striped: StripedCluster,
) -> None:
    buffer = bytearray(1000)
    with create(striped) as stream:
        for start in range(0, 2 * STRIPE, 1000):
            piece = DATA[start : start + 1000]
            buffer[: len(piece)] = piece
            stream.write(memoryview(buffer)[: len(piece)])
        length = stream.get_pos()
    assert_whole(striped, DATA[:length])


def write_and_close(stream: Any) -> None:
    for start in range(0, len(DATA), 5000):
        stream.write(DATA[start : start + 5000])
    stream.close()


def stop_after(striped: StripedCluster, index: int, packets: int) -> None:
    """The datanode breaks off for good when it has got so many packets."""
    node = striped.datanodes[index]
    got = itertools.count(1)

    def on_packet(header: PacketHeader, connection: Connection) -> bool:
        if next(got) > packets:
            node.refuse_connections()
            return True
        return False

    node.on_packet = on_packet


@pytest.mark.parametrize("lost", list(itertools.combinations(range(5), 2)))
def test_as_many_datanodes_may_fail_as_there_is_parity(
    striped: StripedCluster, lost: tuple[int, int]
) -> None:
    stop_after(striped, lost[0], 1)
    stop_after(striped, lost[1], 5)
    with create(striped) as stream:
        for start in range(0, GROUP, 5000):
            stream.write(DATA[start : min(start + 5000, GROUP)])
    assert_whole(striped, DATA[:GROUP])
    (group,) = striped.namenode.groups
    assert group.generation_stamp > 1001


def test_after_a_failure_the_others_go_on_under_a_new_stamp(striped: StripedCluster) -> None:
    stop_after(striped, 1, 1)
    with create(striped) as stream:
        stream.write(DATA[: 3 * STRIPE])
    calls = [call for call in striped.namenode.calls if call[0] == "updatePipeline"]
    ((_, old, new, nodes, storages),) = calls
    assert old.length_bytes == new.length_bytes
    assert old.length_bytes % STRIPE == 0
    assert nodes[1].uuid == "null"
    assert storages == ("storage-0", "", "storage-2", "storage-3", "storage-4")
    reopened = striped.datanodes[4].writes[-1]
    assert reopened.stage is Stage.PIPELINE_SETUP_STREAMING_RECOVERY
    assert reopened.token == token_of(FIRST_GROUP_ID + 4, new.generation_stamp)
    assert_whole(striped, DATA[: 3 * STRIPE])


def test_another_failure_while_the_others_are_reopened_gets_a_stamp_of_its_own(
    striped: StripedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(striped, 1, 1)
    ask = striped.namenode.update_block_for_pipeline
    stamps = []

    def update(block: Any, client_name: str) -> Any:
        renewed = ask(block, client_name)
        stamps.append(renewed.block.generation_stamp)
        if len(stamps) == 1:
            striped.datanodes[3].refuse_write = BlockOpResponse(Status.ERROR, "its disk is full")
        return renewed

    monkeypatch.setattr(striped.namenode, "update_block_for_pipeline", update)
    with create(striped) as stream:
        stream.write(DATA[: 3 * STRIPE])
    assert len(stamps) == 2
    assert striped.namenode.names().count("updatePipeline") == 1
    assert striped.namenode.groups[0].generation_stamp == stamps[1]
    assert_whole(striped, DATA[: 3 * STRIPE])


def test_the_next_group_is_asked_for_without_the_datanodes_that_failed(
    striped: StripedCluster,
) -> None:
    stop_after(striped, 2, 0)
    with create(striped) as stream:
        stream.write(DATA)
    first, *others = [call[2] for call in striped.namenode.calls if call[0] == "addBlock"]
    assert first == ()
    assert others == [(striped.datanodes[2].address,)] * 2
    assert_whole(striped, DATA)


def test_a_datanode_that_takes_no_block_is_done_without(striped: StripedCluster) -> None:
    striped.datanodes[0].refuse_write = BlockOpResponse(Status.ERROR, "its disk is full")
    striped.datanodes[4].stop()
    with create(striped) as stream:
        stream.write(DATA[: STRIPE + 10])
    assert_whole(striped, DATA[: STRIPE + 10])


@pytest.mark.parametrize("length", [CELL, 2 * CELL + 1])
def test_a_file_ends_under_the_stamp_of_a_failure_that_its_last_stripe_has_met(
    striped: StripedCluster, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    striped.datanodes[0].refuse_write = BlockOpResponse(Status.ERROR, "its disk is full")
    encode = Coder.encode

    def encode_late(coder: Coder, data: Any, parity: Any) -> None:
        wait_until(lambda: stream._inner._blocks[0].error is not None, 30)
        encode(coder, data, parity)

    monkeypatch.setattr(Coder, "encode", encode_late)
    with create(striped) as stream:
        stream.write(DATA[:length])
    monkeypatch.undo()
    assert striped.namenode.names().count("updatePipeline") == 1
    assert_whole(striped, DATA[:length])


@pytest.mark.parametrize("seed", range(24))
def test_two_datanodes_may_fail_in_any_way_at_any_packet(
    striped: StripedCluster, seed: int
) -> None:
    """For good or once, at the last packet of a block, or as they are asked for one."""
    rng = random.Random(seed)
    length = rng.choice((rng.randrange(1, STRIPE), GROUP, GROUP + 1, rng.randrange(1, len(DATA))))
    for victim in rng.sample(range(6), 2):
        node, packets = striped.datanodes[victim], rng.choice((0, 1, 2, rng.randrange(60)))
        match rng.randrange(4):
            case 0:
                stop_after(striped, victim, packets)
            case 1:
                break_after(node, packets)
            case 2:
                break_at_last_packet(node)
            case 3:
                node.refuse_write = BlockOpResponse(Status.ERROR, "its disk is full")
    with create(striped) as stream:
        while stream.get_pos() < length:
            start = stream.get_pos()
            stream.write(DATA[start : min(start + rng.choice((1, 700, 5000, 50_000)), length)])
    assert_whole(striped, DATA[:length])


def break_after(node: FakeDatanode, packets: int) -> None:
    """The datanode breaks each connection off behind so many packets."""
    got = itertools.count(1)
    node.on_packet = lambda header, connection: next(got) > packets


def break_at_last_packet(node: FakeDatanode) -> None:
    """The datanode is gone when a block is to be finalized."""

    def on_packet(header: PacketHeader, connection: Connection) -> bool:
        if header.last_in_block:
            node.refuse_connections()
        return header.last_in_block

    node.on_packet = on_packet


def test_more_failures_than_parity_end_the_stream(striped: StripedCluster) -> None:
    for index in (0, 2, 3):
        stop_after(striped, index, 1)
    stream = create(striped)
    with pytest.raises(errors.PipelineFailed) as caught:
        write_and_close(stream)
    assert "/f: Failed: the number of failed blocks = 3 > " in str(caught.value)
    assert "tolerated = 2" in str(caught.value)
    with pytest.raises(errors.PipelineFailed, match="number of failed blocks = 3"):
        stream.close()
    with pytest.raises(errors.ClosedStream, match="number of failed blocks = 3"):
        stream.write(b"more")
    assert "complete" not in striped.namenode.names()


def test_fewer_failures_are_tolerated_where_that_is_configured(striped: StripedCluster) -> None:
    stop_after(striped, 4, 1)
    stream = create(striped, failed_internal_blocks_tolerated=0)
    with pytest.raises(errors.PipelineFailed, match=r"failed blocks = 1 > .* tolerated = 0"):
        write_and_close(stream)


def test_parity_may_have_no_datanode(striped: StripedCluster) -> None:
    striped.namenode.datanodes = striped.datanodes[:4]
    with create(striped) as stream:
        stream.write(DATA[: 2 * STRIPE])
    assert "updatePipeline" not in striped.namenode.names()
    assert_whole(striped, DATA[: 2 * STRIPE])


@pytest.mark.req("OS-105", "OS-106")
def test_what_is_written_need_not_stay_in_caches(striped: StripedCluster) -> None:
    with create(striped) as stream:
        assert stream.has_capability("dropBehind")
        stream.set_drop_behind(True)
        stream.write(b"abc")
    requests = [request for node in striped.datanodes for request in node.writes]
    assert requests
    assert all(request.hints.drop_behind is True for request in requests)
    with pytest.raises(errors.HowdahError, match="closed"):
        stream.set_drop_behind(True)


@pytest.mark.req("OS-005", "OS-075", "OS-105", "LM-048")
def test_hflush_and_hsync_are_refused_and_not_claimed(striped: StripedCluster) -> None:
    with create(striped) as stream:
        stream.write(b"abc")
        for sync in (stream.hflush, stream.hsync):
            with pytest.raises(errors.UnsupportedOperation, match=r"erasure coded.*replicate=True"):
                sync()
        assert "fsync" not in striped.namenode.names()
        assert not any(stream.has_capability(name) for name in ("hflush", "hsync", "abort"))
        assert (stream.statistics().hflushes, stream.statistics().hsyncs) == (0, 0)
    assert stream.statistics().bytes_written == 3
    assert stream.statistics().bytes_acknowledged == 3 * 3


def test_a_file_is_appended_to_in_a_new_group(striped: StripedCluster) -> None:
    with create(striped) as stream:
        stream.write(DATA[:GROUP])
    with striped.append(flags=CreateFlag.NEW_BLOCK) as stream:
        assert stream.get_pos() == GROUP
        stream.write(DATA[GROUP : GROUP + 100])
    assert_whole(striped, DATA[: GROUP + 100])


def test_a_lease_that_is_lost_ends_the_stream(striped: StripedCluster) -> None:
    client = striped.client()
    stream = client.create(
        "/f",
        masked=0o644,
        unmasked=0o666,
        overwrite=False,
        create_parent=True,
        replication=None,
        block_size=BLOCK,
    )
    stream.write(DATA[:STRIPE])
    stream.abort("its lease ran out")
    with pytest.raises(errors.ClosedStream, match="its lease ran out"):
        stream.write(b"x")
    stream.close()
    assert "complete" not in striped.namenode.names()


def test_a_write_that_is_interrupted_ends_the_stream(
    striped: StripedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = create(striped)
    stream.write(DATA[:100])

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("howdah.protocol.striping.coder.Coder.encode", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stream.write(DATA[100:STRIPE])
    monkeypatch.undo()
    with pytest.raises(errors.PipelineFailed, match="interrupted half-way"):
        stream.close()


def test_an_unknown_codec_is_refused_and_the_file_closed(striped: StripedCluster) -> None:
    striped.namenode.policy = Policy(65, Schema("fountain", 3, 2), CELL)
    with pytest.raises(errors.UnsupportedOperation, match=r"FOUNTAIN-3-2-4k.*no codec"):
        create(striped)
    assert striped.namenode.files["/f"].complete


def test_checksums_must_fit_into_cells(striped: StripedCluster) -> None:
    striped.namenode.policy = Policy(65, Schema("rs", 3, 2), 1024)
    with pytest.raises(errors.IllegalArgument, match=r"RS-3-2-1k.*dfs.bytes-per-checksum"):
        striped.create(block_size=4096, bytes_per_checksum=2048)


def test_a_policy_goes_to_the_namenode_and_excludes_replication(striped: StripedCluster) -> None:
    client = striped.client()
    options: dict[str, Any] = {
        "masked": 0o644,
        "unmasked": 0o666,
        "overwrite": False,
        "create_parent": True,
        "replication": None,
        "block_size": BLOCK,
    }
    client.create("/f", ec_policy="RS-3-2-4k", **options).close()
    (create_call,) = [call for call in striped.namenode.calls if call[0] == "create"]
    assert create_call[2]["ec_policy"] == "RS-3-2-4k"
    with pytest.raises(errors.IllegalArgument, match="exclusive"):
        client.create("/g", ec_policy="RS-3-2-4k", flags=CreateFlag.SHOULD_REPLICATE, **options)
