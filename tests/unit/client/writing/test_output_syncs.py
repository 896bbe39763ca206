"""What syncs reach, what the flags of create, append and hsync do, and what streams count."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from howdah import errors
from howdah.client.state.writing.pipeline_rules import Policy, ReplacementPolicy
from howdah.options import CreateFlag, SyncFlag
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status

FakeCluster = Any
DATA = random.Random(5).randbytes(20_000)
NEVER = ReplacementPolicy(Policy.NEVER)


def block_ids(cluster: FakeCluster) -> list[int]:
    return [block.block_id for block in cluster.namenode.files["/f"].blocks]


def ends_of_blocks(cluster: FakeCluster) -> list[bool]:
    """Of the last packet of each block, whether it ordered a sync."""
    return [each.sync_block for each in cluster.datanodes[0].packets if each.last_in_block]


# --- hsync and finished blocks ------------------------------------------------------------


@pytest.mark.req("LM-041", "OS-093", "OS-152", "FS-152")
def test_hsync_brings_every_block_to_the_disk_that_was_finished_before_it(
    cluster: FakeCluster,
) -> None:
    with cluster.create(block_size=1024) as out:
        out.write(DATA[:2500])
        out.hsync()
        assert len(block_ids(cluster)) == 3
        for node in cluster.datanodes:
            assert node.synced == set(block_ids(cluster))


@pytest.mark.req("LM-041")
def test_hsync_covers_a_block_that_is_just_full(cluster: FakeCluster) -> None:
    with cluster.create(block_size=1024) as out:
        out.write(DATA[:1024])
        out.hsync()
        assert all(node.synced == set(block_ids(cluster)) for node in cluster.datanodes)


@pytest.mark.req("LM-041")
def test_blocks_are_synced_as_they_end_once_a_stream_has_been_synced(
    cluster: FakeCluster,
) -> None:
    with cluster.create(block_size=1024) as out:
        out.write(b"x")
        out.hsync()
        out.write(DATA[:4000])
        out.hsync()
        assert ends_of_blocks(cluster) == [True] * 3
        assert out.statistics().blocks_synced_late == 0


def test_nobody_is_asked_to_sync_for_a_stream_that_is_never_synced(cluster: FakeCluster) -> None:
    with cluster.create(block_size=1024) as out:
        out.write(DATA[:2500])
        out.hflush()
    assert not any(header.sync_block for header in cluster.datanodes[0].packets)
    assert all(node.synced == set() for node in cluster.datanodes)


def test_what_was_synced_late_is_not_synced_again(cluster: FakeCluster) -> None:
    with cluster.create(block_size=1024) as out:
        out.write(DATA[:2500])
        out.hsync()
        requests = len(cluster.datanodes[1].writes)
        out.hsync()
        assert len(cluster.datanodes[1].writes) == requests
        assert out.statistics().blocks_synced_late == 2


@pytest.mark.req("LM-041")
def test_a_datanode_that_is_gone_does_not_keep_a_finished_block_from_being_synced(
    cluster: FakeCluster,
) -> None:
    with cluster.create(block_size=1024, replacement=NEVER) as out:
        out.write(DATA[:1500])
        out.hflush()
        cluster.datanodes[0].stop()
        out.hsync()
    first = block_ids(cluster)[0]
    assert first in cluster.datanodes[1].synced & cluster.datanodes[2].synced


def test_a_finished_block_that_nobody_can_sync_fails_the_hsync_and_is_named(
    cluster: FakeCluster,
) -> None:
    out = cluster.create(block_size=1024)
    out.write(DATA[:1500])
    out.hflush()
    first = cluster.namenode.files["/f"].blocks[0]
    for node in cluster.datanodes:
        node.refuse_write = BlockOpResponse(Status.ERROR, "not now")
    with pytest.raises(errors.PipelineFailed, match=f"/f: the finished block {first.name}"):
        out.hsync()
    for node in cluster.datanodes:
        node.refuse_write = None
    out.hsync()
    assert first.block_id in cluster.datanodes[0].synced
    out.close()


@pytest.mark.req("LM-041")
def test_a_block_whose_end_was_lost_with_a_datanode_is_synced_by_the_next_hsync(
    cluster: FakeCluster,
) -> None:
    def fail_last(header: Any, connection: Any) -> bool:
        if header.last_in_block:
            cluster.datanodes[0].on_packet = None
        return bool(header.last_in_block)

    cluster.datanodes[0].on_packet = fail_last
    with cluster.create(block_size=1024, replacement=NEVER) as out:
        out.write(b"x")
        out.hsync()
        out.write(DATA[:1100])
        out.hsync()
        assert Stage.PIPELINE_CLOSE_RECOVERY in [w.stage for w in cluster.datanodes[1].writes]
        first = block_ids(cluster)[0]
        assert first in cluster.datanodes[1].synced & cluster.datanodes[2].synced


@pytest.mark.req("LM-040", "OS-089")
def test_hflush_reaches_the_disks_where_that_is_configured(cluster: FakeCluster) -> None:
    with cluster.create(block_size=1024, hflush_to_disk=True) as out:
        out.write(DATA[:1500])
        out.hflush()
        assert all(node.synced == set(block_ids(cluster)) for node in cluster.datanodes)
        assert (out.statistics().hflushes, out.statistics().hsyncs) == (1, 0)


# --- flags -------------------------------------------------------------------------------


@pytest.mark.req("OS-153", "LM-042")
def test_sync_block_syncs_every_block_as_it_is_finished_and_the_last_one_at_close(
    cluster: FakeCluster,
) -> None:
    with cluster.create(block_size=1024, flags=CreateFlag.SYNC_BLOCK) as out:
        out.write(DATA[:2500])
    assert ends_of_blocks(cluster) == [True] * 3
    assert all(node.synced == set(block_ids(cluster)) for node in cluster.datanodes)


@pytest.mark.req("OS-153", "LM-042")
def test_sync_block_holds_for_blocks_whose_end_was_lost_with_a_datanode(
    cluster: FakeCluster,
) -> None:
    """Their other datanodes finalize them in a recovery, which orders no sync."""

    def fail_last(header: Any, connection: Any) -> bool:
        return bool(header.last_in_block)

    cluster.datanodes[0].on_packet = fail_last
    with cluster.create(block_size=1024, flags=CreateFlag.SYNC_BLOCK, replacement=NEVER) as out:
        out.write(DATA[:1500])
    stages = [write.stage for write in cluster.datanodes[1].writes]
    assert stages.count(Stage.PIPELINE_CLOSE_RECOVERY) >= 2
    blocks = {block.block_id for block in cluster.namenode.files["/f"].blocks}
    assert len(blocks) == 2
    assert blocks <= cluster.datanodes[1].synced & cluster.datanodes[2].synced


@pytest.mark.req("OS-189", "XC-002")
def test_close_syncs_nothing_that_was_not_asked_for(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(b"x")
        out.hsync()
        out.write(b"y")
    assert ends_of_blocks(cluster) == [False]


@pytest.mark.req("OS-154")
def test_end_block_ends_the_block_and_what_follows_begins_another(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.write(DATA[:700])
        out.hsync(SyncFlag.END_BLOCK)
        assert ends_of_blocks(cluster) == [True]
        out.write(DATA[700:1000])
    lengths = [block.length_bytes for block in cluster.namenode.files["/f"].blocks]
    assert lengths == [700, 300]
    assert cluster.content() == DATA[:1000]


@pytest.mark.req("OS-154")
def test_end_block_without_a_block_does_nothing(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.hsync(SyncFlag.END_BLOCK)
        out.write(b"x")
        out.hsync(SyncFlag.END_BLOCK)
        out.hsync(SyncFlag.END_BLOCK)
    assert len(block_ids(cluster)) == 1


@pytest.mark.req("OS-154", "XC-003")
@pytest.mark.parametrize("flags", [SyncFlag.UPDATE_LENGTH, SyncFlag.END_BLOCK, SyncFlag(3)])
def test_the_namenode_knows_the_length_after_each_kind_of_hsync(
    cluster: FakeCluster, flags: SyncFlag
) -> None:
    with cluster.create() as out:
        out.write(DATA[:700])
        out.hsync(flags)
        assert [call[1] for call in cluster.namenode.calls if call[0] == "fsync"] == [700]


def test_new_block_leaves_the_last_block_as_it_is(cluster: FakeCluster) -> None:
    cluster.put(DATA[:1000])
    with cluster.append(flags=CreateFlag.NEW_BLOCK) as out:
        assert out.get_pos() == 1000
        out.write(DATA[1000:1500])
    assert cluster.content() == DATA[:1500]
    (asked,) = [call for call in cluster.namenode.calls if call[0] == "addBlock"]
    assert (asked[1].block_id, asked[1].length_bytes) == (1000, 1000)
    assert "updateBlockForPipeline" not in cluster.namenode.names()


def test_new_block_and_nothing_written_leaves_the_file_as_it_is(cluster: FakeCluster) -> None:
    cluster.put(b"abc")
    cluster.append(flags=CreateFlag.NEW_BLOCK).close()
    assert cluster.content() == b"abc"


def test_what_the_namenode_must_know_of_placement_goes_with_each_block(
    cluster: FakeCluster,
) -> None:
    flags = CreateFlag.NO_LOCAL_WRITE | CreateFlag.IGNORE_CLIENT_LOCALITY
    with cluster.create(block_size=1024, flags=flags) as out:
        out.write(DATA[:1500])
    assert cluster.namenode.block_flags == [flags] * 2


def test_lazy_persist_is_told_the_datanodes(cluster: FakeCluster) -> None:
    with cluster.create(flags=CreateFlag.LAZY_PERSIST) as out:
        out.write(b"x")
    assert cluster.datanodes[0].writes[0].allow_lazy_persist


@pytest.mark.parametrize("flags", [CreateFlag.APPEND, CreateFlag.NEW_BLOCK])
def test_flags_of_append_are_refused_by_create(cluster: FakeCluster, flags: CreateFlag) -> None:
    with pytest.raises(ValueError, match="Cannot create /f"):
        cluster.create(flags=flags)


def test_flags_of_create_are_refused_by_append(cluster: FakeCluster) -> None:
    cluster.put(b"abc")
    with pytest.raises(ValueError, match="Cannot append to /f"):
        cluster.append(flags=CreateFlag.OVERWRITE)


# --- what a stream tells of itself ----------------------------------------------------------


def test_a_stream_counts_what_it_does(cluster: FakeCluster) -> None:
    with cluster.create(block_size=1024, packet_data_bytes=512) as out:
        out.write(DATA[:1500])
        out.hflush()
        out.hsync()
    counts = out.statistics()
    assert counts.bytes_written == counts.bytes_acknowledged == 1500
    assert (counts.blocks_begun, counts.blocks_finished) == (2, 2)
    assert (counts.hflushes, counts.hsyncs) == (1, 1)
    # Two of data and an end; one of data, one to sync and an end.
    assert counts.packets_sent == 6
    assert (counts.recoveries, counts.packets_resent) == (0, 0)


def test_a_stream_counts_what_it_lived_through(cluster: FakeCluster) -> None:
    cluster.add_spare()
    cluster.datanodes[0].on_packet = lambda header, connection: header.seqno == 1
    with cluster.create() as out:
        out.write(b"before")
        out.hflush()
        out.write(b" and after")
        out.hflush()
        counts = out.statistics()
    assert (counts.recoveries, counts.datanodes_failed, counts.datanodes_added) == (1, 1, 1)
    assert counts.packets_resent == 1


def test_only_what_was_appended_is_counted(cluster: FakeCluster) -> None:
    cluster.put(DATA[:1000])
    with cluster.append() as out:
        out.write(DATA[1000:1300])
    assert out.statistics().bytes_written == out.statistics().bytes_acknowledged == 300


def test_the_current_replication_is_that_of_the_pipeline(cluster: FakeCluster) -> None:
    with cluster.create(replacement=NEVER) as out:
        assert out.current_block_replication() == 3
        out.write(b"x")
        out.hflush()
        cluster.datanodes[0].stop()
        out.write(b"y")
        out.hflush()
        assert out.current_block_replication() == 2
    with pytest.raises(errors.ClosedStream, match="/f is closed"):
        out.current_block_replication()


@pytest.mark.req("LM-041")
def test_the_replicas_of_finished_blocks_are_synced_side_by_side(cluster: FakeCluster) -> None:
    """Each answers only when all have been asked: one after the other would never end."""
    out = cluster.create(block_size=1024)
    out.write(DATA[:3000])
    out.hflush()
    all_asked = threading.Barrier(2 * len(cluster.datanodes))
    for node in cluster.datanodes:
        node.on_sync = lambda: all_asked.wait(20)
    out.hsync()
    assert out.statistics().blocks_synced_late == 2
    out.close()


@pytest.mark.req("LM-041")
def test_a_finished_block_that_has_moved_is_synced_where_it_is_now(cluster: FakeCluster) -> None:
    spare = cluster.add_spare()
    out = cluster.create(block_size=1024)
    out.write(DATA[:2500])
    out.hflush()
    moved = cluster.namenode.files["/f"].blocks[1]
    for node in cluster.datanodes:
        node.lost_replicas.add(moved.block_id)
    spare.replicas[moved.block_id] = bytearray(DATA[1024:2048])
    spare.finalized.add(moved.block_id)
    cluster.namenode.moved[moved.block_id] = [spare]
    out.hsync()
    assert moved.block_id in spare.synced
    assert out.statistics().blocks_synced_late == 2
    out.close()


def test_one_block_that_nobody_can_sync_does_not_keep_the_others_from_it(
    cluster: FakeCluster,
) -> None:
    out = cluster.create(block_size=1024)
    out.write(DATA[:2500])
    out.hflush()
    bad, good, _ = cluster.namenode.files["/f"].blocks
    for node in cluster.datanodes:
        node.lost_replicas.add(bad.block_id)
    with pytest.raises(errors.PipelineFailed, match=f"/f: the finished block {bad.name}"):
        out.hsync()
    assert all(good.block_id in node.synced for node in cluster.datanodes)
    assert out.statistics().blocks_synced_late == 1
    for node in cluster.datanodes:
        node.lost_replicas.clear()
    out.close()
