"""A replica under recovery: taken from its writer, cut, stamped, or copied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.state.block_recovery import Candidate
from howdah.datanode.state.messages import (
    CorruptFound,
    ReplicaDeleted,
    ReplicaReceived,
    Transfer,
)
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer.copies import Copies
from howdah.datanode.transfer.sender import read_exactly, read_sums
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.runtime.sockets import PeerClosed

Lab = Any
DATA = bytes(range(256)) * 10
ID = 1007
STATES = [ReplicaState.FINALIZED, ReplicaState.RBW, ReplicaState.RWR]


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


def write_part(lab: Lab, node: Any, data: bytes) -> Any:
    writer = lab.Writer(node, lab.write_request(lab.block()))
    if data:
        writer.send(0, data)
        assert writer.ack().is_success
    return writer


def node_with(lab: Lab, state: ReplicaState, data: bytes = DATA) -> Any:
    """A node whose replica of block 1 has `data` and is in this state."""
    node = lab.node()
    if state is ReplicaState.FINALIZED:
        lab.write_block(node, lab.block(), data)
    else:
        write_part(lab, node, data).close()
        node.wait_idle()
    return lab.node(root=node.root) if state is ReplicaState.RWR else node


def take(lab: Lab, node: Any, recovery_id: int = ID, stamp: int = 1001) -> Candidate | None:
    return replica_recovery.init_recovery(
        node.store, lab.block(generation_stamp=stamp), recovery_id
    )


def recover(lab: Lab, node: Any, length: int, recovery_id: int = ID, target: int = 1) -> str:
    found = take(lab, node, recovery_id)
    assert found is not None
    return replica_recovery.settle(
        node.store, found.as_block(lab.POOL), recovery_id, length, target
    )


def check_final(lab: Lab, node: Any, data: bytes, stamp: int = ID, block_id: int = 1) -> None:
    replica = node.replicas.find(lab.POOL, block_id)
    assert (replica.state, replica.length_bytes) == (ReplicaState.FINALIZED, len(data))
    assert replica.generation_stamp == stamp
    assert node.content(block_id) == data
    meta = node.block_path(block_id).with_name(f"blk_{block_id}_{stamp}.meta").read_bytes()
    assert meta[7:] == lab.sums_of(data)


def go_on(writer: Any) -> None:
    """Write until that fails."""
    while True:
        writer.send(512, DATA[512:])
        writer.ack()


# --- taking it ---


@pytest.mark.req("AP-021")
@pytest.mark.parametrize("state", STATES)
def test_a_replica_says_what_it_is_and_is_under_recovery_then(
    lab: Lab, state: ReplicaState
) -> None:
    node = node_with(lab, state)
    assert take(lab, node) == Candidate(1, 1001, len(DATA), state)
    replica = node.replicas.find(lab.POOL, 1)
    assert (replica.state, replica.stored_as) == (ReplicaState.RUR, state)


def test_no_replica_is_none(lab: Lab, node: Any) -> None:
    assert take(lab, node) is None


@pytest.mark.req("AP-022")
def test_the_old_writer_is_stopped_and_its_later_packets_are_rejected(lab: Lab, node: Any) -> None:
    writer = write_part(lab, node, DATA[:700])
    assert take(lab, node) == Candidate(1, 1001, 700, ReplicaState.RBW)
    assert len(node.store.writers) == 0
    with pytest.raises((PeerClosed, OSError)):
        go_on(writer)
    assert node.replicas.find(lab.POOL, 1).length_bytes == 700


@pytest.mark.req("AP-022")
@pytest.mark.parametrize("stage", ["PIPELINE_SETUP_STREAMING_RECOVERY", "PIPELINE_CLOSE_RECOVERY"])
def test_no_pipeline_takes_back_what_is_under_recovery(lab: Lab, node: Any, stage: str) -> None:
    write_part(lab, node, DATA[:700]).close()
    take(lab, node)
    request = lab.write_request(lab.block(), stage=lab.Stage[stage])
    request = lab.replace(
        request, min_bytes_received=700, max_bytes_received=700, latest_generation_stamp=1005
    )
    assert "Cannot recover" in lab.Writer(node, request).response.message


def test_a_copy_that_is_not_whole_goes_with_its_writer(lab: Lab, node: Any) -> None:
    copier = lab.Writer(node, lab.write_request(lab.block(), client=""))
    copier.send(0, DATA[:700])
    lab.wait_until(lambda: node.files("tmp") != set())
    assert take(lab, node) is None
    assert node.files("tmp") == set()


@pytest.mark.req("AP-048")
@pytest.mark.parametrize("recovery_id", [ID - 1, ID])
def test_a_recovery_that_is_not_newer_is_refused(lab: Lab, recovery_id: int) -> None:
    node = node_with(lab, ReplicaState.RBW)
    take(lab, node, ID)
    with pytest.raises(errors.RecoveryInProgress):
        take(lab, node, recovery_id)


@pytest.mark.req("AP-048")
def test_a_newer_recovery_takes_over_and_the_older_one_can_do_nothing_more(lab: Lab) -> None:
    node = node_with(lab, ReplicaState.RBW)
    found = take(lab, node, ID)
    assert take(lab, node, ID + 1) == found
    with pytest.raises(errors.RecoveryInProgress):
        replica_recovery.settle(node.store, lab.block(length=len(DATA)), ID, 0)
    replica_recovery.settle(node.store, lab.block(length=len(DATA)), ID + 1, 700)
    check_final(lab, node, DATA[:700], ID + 1)


def test_a_recovery_that_comes_too_late_stops_no_writer(lab: Lab, node: Any) -> None:
    writer = write_part(lab, node, DATA[:512])
    for recovery_id in (1000, 1001):
        with pytest.raises(errors.RecoveryInProgress):
            take(lab, node, recovery_id)
    writer.send(512, DATA[512:])
    assert writer.ack().is_success


def test_a_replica_that_is_older_than_the_block_is_an_error(lab: Lab) -> None:
    node = node_with(lab, ReplicaState.RBW)
    with pytest.raises(errors.ReplicaNotFound, match="older"):
        take(lab, node, stamp=1002)


def test_a_replica_whose_files_lack_bytes_is_an_error(lab: Lab) -> None:
    node = node_with(lab, ReplicaState.RBW)
    os.truncate(Path(node.volumes.all[0].rbw_path(lab.POOL), "blk_1"), 100)
    with pytest.raises(errors.RemoteError, match="not all of it"):
        take(lab, node)


# --- taking one that was final when its machine lost power ---


def lose_the_end(node: Any) -> None:
    """The block file's end was not on the disk."""
    os.truncate(node.block_path(1), 1100)


def lose_data(node: Any) -> None:
    """The same, but for its length."""
    lose_the_end(node)
    os.truncate(node.block_path(1), len(DATA))


def lose_sums(node: Any) -> None:
    os.truncate(node.block_path(1).with_name("blk_1_1001.meta"), 7 + 2 * 4)


@pytest.mark.req("AP-025", "AP-047")
@pytest.mark.parametrize("damage", [lose_the_end, lose_data, lose_sums])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_final_replica_that_was_damaged_counts_as_left_over_with_what_fits(
    lab: Lab, damage: Callable[[Any], None], restarts: bool
) -> None:
    """As it was it beat all that were whole, failed when it was set, and did so for ever."""
    node = node_with(lab, ReplicaState.FINALIZED)
    damage(node)
    node = lab.node(root=node.root)
    assert take(lab, node, ID - 1) == Candidate(1, 1001, 1024, ReplicaState.RWR)
    if restarts:
        node = lab.node(root=node.root)
    assert recover(lab, node, 1024) == "DS-0"
    check_final(lab, node, DATA[:1024])
    used = 1024 + 7 + len(lab.sums_of(DATA[:1024]))
    assert node.volumes.all[0].pool_used_bytes(lab.POOL) == used


@pytest.mark.req("AP-047")
@pytest.mark.parametrize("header", [b"", bytes(7)])
def test_a_final_replica_of_which_nothing_can_be_told_is_moved_aside(
    lab: Lab, header: bytes
) -> None:
    node = node_with(lab, ReplicaState.FINALIZED)
    node.block_path(1).with_name("blk_1_1001.meta").write_bytes(header)
    assert take(lab, node) is None
    assert node.replicas.find(lab.POOL, 1) is None
    assert ReplicaDeleted(lab.block(length=len(DATA)), "DS-0") in node.events
    assert node.files("quarantine") == {"blk_1", "blk_1_1001.meta"}
    assert len(node.store.writers) == 0
    assert take(lab, node) is None


@pytest.mark.parametrize("state", [ReplicaState.FINALIZED, ReplicaState.RBW])
def test_a_replica_under_recovery_is_read_as_before(lab: Lab, state: ReplicaState) -> None:
    node = node_with(lab, state)
    take(lab, node)
    assert node.store.visible_length(lab.block()) == len(DATA)
    assert lab.read_block(node, lab.read_request(lab.block(), 0, len(DATA))).data == DATA


# --- setting it ---


@pytest.mark.req("AP-025")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("length", [0, 1, 511, 512, 700, 2559, 2560])
def test_a_replica_is_cut_stamped_and_finalized(lab: Lab, state: ReplicaState, length: int) -> None:
    node = node_with(lab, state)
    assert recover(lab, node, length) == "DS-0"
    check_final(lab, node, DATA[:length])
    assert node.files("rbw") == set()
    assert ReplicaReceived(lab.block(1, ID, length), "DS-0") in node.events
    used = length + 7 + len(lab.sums_of(DATA[:length]))
    assert node.volumes.all[0].pool_used_bytes(lab.POOL) == used


def test_a_recovered_replica_is_appended_to_as_any_other(lab: Lab) -> None:
    node = node_with(lab, ReplicaState.RBW)
    recover(lab, node, 700)
    request = lab.write_request(lab.block(1, ID), stage=lab.Stage.PIPELINE_SETUP_APPEND)
    request = lab.replace(request, min_bytes_received=700, latest_generation_stamp=ID + 1)
    writer = lab.Writer(node, request)
    writer.send(700, DATA[700:])
    writer.send(len(DATA), b"", last=True)
    assert writer.ack().is_success
    assert writer.ack().is_success
    check_final(lab, node, DATA, ID + 1)


def corrupt_ones(node: Any) -> list[CorruptFound]:
    return [event for event in node.events if isinstance(event, CorruptFound)]


@pytest.mark.parametrize("state", STATES)
def test_a_reader_of_what_is_cut_off_meanwhile_does_not_find_the_replica_corrupt(
    lab: Lab, state: ReplicaState
) -> None:
    """As it was when it was opened the replica is there no more; as it is now it is whole."""
    node = node_with(lab, state)
    trouble = node.store.trouble
    with node.store.open(lab.block()) as opened:
        recover(lab, node, 700)
        with pytest.raises(errors.BlockMissing), trouble.reading(lab.POOL, opened):
            read_exactly(opened.block_fd, len(DATA), 0)
        with pytest.raises(errors.ChecksumMismatch), trouble.reading(lab.POOL, opened):
            read_sums(opened, opened.checksum, 0, len(DATA))
    assert corrupt_ones(node) == []
    check_final(lab, node, DATA[:700])


def test_a_copy_that_was_ordered_of_more_than_is_left_does_not_find_the_replica_corrupt(
    lab: Lab,
) -> None:
    node = node_with(lab, ReplicaState.FINALIZED)
    order = Transfer(lab.block(length=len(DATA)), (lab.node().address,), (), ())
    recover(lab, node, 700)
    Copies(node.store, node.settings).start(order).join(20)
    assert corrupt_ones(node) == []


def test_what_the_primary_was_told_must_still_be_true(lab: Lab) -> None:
    node = node_with(lab, ReplicaState.RBW)
    take(lab, node)
    for block, length in ((lab.block(length=699), 100), (lab.block(length=len(DATA)), 2561)):
        with pytest.raises(errors.RemoteError):
            replica_recovery.settle(node.store, block, ID, length)
    assert node.replicas.find(lab.POOL, 1).state is ReplicaState.RUR


@pytest.mark.parametrize("recovery_id", [1006, 1007])
def test_what_was_not_taken_is_not_set(lab: Lab, recovery_id: int) -> None:
    node = node_with(lab, ReplicaState.RBW)
    if recovery_id == 1007:
        take(lab, node, 1006)
    with pytest.raises(errors.RemoteError):
        replica_recovery.settle(node.store, lab.block(length=len(DATA)), recovery_id, 700)


def test_a_damaged_chunk_is_not_given_a_new_checksum(lab: Lab) -> None:
    node = node_with(lab, ReplicaState.RBW)
    with Path(node.volumes.all[0].rbw_path(lab.POOL), "blk_1").open("r+b") as file:
        file.seek(600)
        file.write(b"!")
    with pytest.raises(errors.ChecksumMismatch):
        recover(lab, node, 700)
    assert node.replicas.find(lab.POOL, 1).length_bytes == len(DATA)


# --- by a copy ---


@pytest.mark.parametrize("length", [0, 1, 512, 700, 2560])
def test_a_truncate_by_a_copy_makes_the_new_block_and_leaves_the_old(lab: Lab, length: int) -> None:
    node = node_with(lab, ReplicaState.FINALIZED)
    assert recover(lab, node, length, target=2) == "DS-0"
    check_final(lab, node, DATA[:length], block_id=2)
    check_final(lab, node, DATA, 1001)
    assert node.files("tmp") == set()


def test_a_copy_of_an_earlier_attempt_gives_way(lab: Lab) -> None:
    node = node_with(lab, ReplicaState.FINALIZED)
    recover(lab, node, 700, target=2)
    recover(lab, node, 700, ID + 1, target=2)
    check_final(lab, node, DATA[:700], ID + 1, block_id=2)


def test_a_copy_that_fails_leaves_nothing_and_can_be_made_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = node_with(lab, ReplicaState.FINALIZED)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "sendfile", full)
    with pytest.raises(OSError, match="No space"):
        recover(lab, node, 700, target=2)
    monkeypatch.undo()
    assert node.files("tmp") == set()
    recover(lab, node, 700, ID + 1, target=2)
    check_final(lab, node, DATA[:700], ID + 1, block_id=2)


# --- kill -9 between any two steps ---


class Killed(BaseException):
    """The process ends here."""


def steps(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Let `limit` changes of files happen; the next one ends the process, and what would
    clean up behind it does nothing any more."""
    left = [limit]

    def limited(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def act(*arguments: Any, **options: Any) -> Any:
            if not left[0]:
                raise Killed(name)
            left[0] -= 1
            return real(*arguments, **options)

        return act

    for name in ("rename", "ftruncate", "pwrite", "fsync", "mkdir", "sendfile", "unlink"):
        monkeypatch.setattr(os, name, limited(name))


def crashes(
    lab: Lab, state: ReplicaState, monkeypatch: pytest.MonkeyPatch, length: int, target: int
) -> Iterator[Any]:
    """The node as it starts after a kill at each step of a recovery."""
    for limit in range(40):
        node = node_with(lab, state)
        with monkeypatch.context() as patch:
            steps(patch, limit)
            try:
                recover(lab, node, length, target=target)
            except Killed:
                pass
            else:
                assert limit > 3, "there are steps"
                return
        yield lab.node(root=node.root)
    raise AssertionError("it has no end")


@pytest.mark.req("AP-048")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("length", [700, 1024, 2560])
def test_a_kill_at_any_step_leaves_what_the_next_recovery_needs(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, state: ReplicaState, length: int
) -> None:
    for restarted in crashes(lab, state, monkeypatch, length, 1):
        recover(lab, restarted, length, ID + 1)
        check_final(lab, restarted, DATA[:length], ID + 1)
        assert restarted.files("quarantine") == set()


def test_a_kill_at_any_step_of_a_copy_leaves_the_old_block(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for restarted in crashes(lab, ReplicaState.FINALIZED, monkeypatch, 700, 2):
        check_final(lab, restarted, DATA, 1001)
        recover(lab, restarted, 700, ID + 1, target=2)
        check_final(lab, restarted, DATA[:700], ID + 1, block_id=2)


def test_a_volume_of_the_same_type_gets_the_copy(lab: Lab) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.SSD))
    lab.write_block(node, lab.block(), DATA)
    assert recover(lab, node, 700, target=2) == "DS-0"
    assert Path(node.volumes.all[0].finalized_directory(lab.POOL, 2), "blk_2").exists()
