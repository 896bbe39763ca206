"""What files mean for a replica that is not as they are, and what is done about it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.replicas import reconciler
from howdah.datanode.replicas.volume_move import move_to_volume
from howdah.datanode.state.messages import (
    CorruptFound,
    ReplicaDeleted,
    ReplicaReceived,
    ReplicaSuspect,
)
from howdah.datanode.state.replicas.reconciliation import (
    NOTHING,
    BlockFile,
    Known,
    Memory,
    MetaFile,
    judge,
)
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Turn
from howdah.protocol.data_transfer.blocks import StorageType

Lab = Any
DATA = bytes(range(256)) * 10
HOME, OTHER = "/v/finalized/subdir0/subdir0", "/v/finalized/elsewhere"

directories = st.sampled_from([HOME, OTHER])
stamps = st.integers(min_value=1001, max_value=1003)
lengths = st.integers(min_value=0, max_value=2)
blocks = st.lists(
    st.builds(lambda d, n: BlockFile(f"{d}/blk_1", n), directories, lengths),
    max_size=2,
    unique_by=lambda each: each.path,
)
metas = st.lists(
    st.builds(lambda d, s: MetaFile(f"{d}/blk_1_{s}.meta", s), directories, stamps),
    max_size=4,
    unique_by=lambda each: each.path,
)
replicas = st.builds(Known, stamps, lengths)


@given(st.sampled_from(Memory), replicas, blocks, metas)
def test_every_file_is_kept_or_set_aside_and_the_map_fits_what_is_left(
    memory: Memory, replica: Known, block_files: list[BlockFile], meta_files: list[MetaFile]
) -> None:
    known = None if memory is Memory.NOWHERE else replica
    outcome = judge(memory, known, HOME, block_files, meta_files)
    if memory is Memory.CHANGING:
        assert outcome == NOTHING
        return
    paths = {each.path for each in block_files} | {each.path for each in meta_files}
    kept = paths - set(outcome.aside)
    assert set(outcome.aside) <= paths, "nothing is invented"
    is_in_map = (memory is Memory.HERE and not outcome.forget) or outcome.take
    assert len(kept) == (2 if is_in_map else 0), "a replica has two files, and others are none"
    if outcome.take:
        assert outcome.block is not None
        assert outcome.meta is not None
        assert kept == {outcome.block.path, outcome.meta.path}
    if memory in (Memory.ELSEWHERE, Memory.NOWHERE):
        assert not outcome.forget
    if memory is Memory.ELSEWHERE:
        assert not outcome.take, "two replicas of one block"
    if memory is Memory.HERE and outcome.take:
        assert outcome.forget


@given(replicas, blocks, metas)
def test_what_is_settled_needs_no_settling(
    replica: Known, block_files: list[BlockFile], meta_files: list[MetaFile]
) -> None:
    first = judge(Memory.HERE, replica, HOME, block_files, meta_files)
    kept_blocks = [each for each in block_files if each.path not in first.aside]
    kept_metas = [each for each in meta_files if each.path not in first.aside]
    if not kept_blocks:
        assert judge(Memory.NOWHERE, None, HOME, [], []) == NOTHING
        return
    length = kept_blocks[0].length_bytes
    stamp = kept_metas[0].generation_stamp
    at_home = [BlockFile(f"{HOME}/blk_1", length)], [MetaFile(f"{HOME}/blk_1_{stamp}.meta", stamp)]
    assert judge(Memory.HERE, Known(stamp, length), HOME, *at_home) == NOTHING


def test_another_length_under_the_same_stamp_is_damage() -> None:
    outcome = judge(
        Memory.HERE,
        Known(1001, 100),
        HOME,
        [BlockFile(f"{HOME}/blk_1", 90)],
        [MetaFile(f"{HOME}/blk_1_1001.meta", 1001)],
    )
    assert outcome.damage == "it has 90 bytes, and had 100"


# --- with files ---


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node(types=(StorageType.DISK, StorageType.DISK))


def written(node: Any, lab: Lab) -> tuple[Path, Path, str]:
    """(block file, meta file, storage id) of block 1."""
    lab.write_block(node, lab.block(), DATA)
    node.wait_idle()
    node.events.clear()
    storage_id = node.replicas.find(lab.POOL, 1).volume_id
    path = node.block_path(1, int(storage_id[-1]))
    return path, next(path.parent.glob("*.meta")), storage_id


def settle(node: Any, lab: Lab, storage_id: str, *strays: Path) -> bool:
    found: bool = node.store.reconciler.settle(lab.POOL, 1, storage_id, [str(p) for p in strays])
    return found


def used_bytes(node: Any, lab: Lab) -> list[int]:
    return [volume.pool_used_bytes(lab.POOL) for volume in node.volumes.all]


def other(node: Any, storage_id: str) -> Any:
    (volume,) = [each for each in node.volumes.all if each.storage_id != storage_id]
    return volume


def readable(node: Any, lab: Lab) -> bytes:
    with node.store.open(lab.block()) as opened:
        return os.pread(opened.block_fd, 1 << 20, 0)


def test_a_replica_that_is_as_it_should_be_is_left_alone(node: Any, lab: Lab) -> None:
    _, _, storage_id = written(node, lab)
    assert not settle(node, lab, storage_id)
    assert not settle(node, lab, other(node, storage_id).storage_id)
    assert node.events == []


@pytest.mark.parametrize("gone", ["block", "meta", "both"])
def test_a_replica_without_a_file_is_forgotten_and_told(node: Any, lab: Lab, gone: str) -> None:
    block, meta, storage_id = written(node, lab)
    for name, path in (("block", block), ("meta", meta)):
        if gone in (name, "both"):
            path.unlink()
    assert settle(node, lab, storage_id)
    assert node.events == [ReplicaDeleted(lab.block(length=len(DATA)), storage_id)]
    assert node.replicas.find(lab.POOL, 1) is None
    assert node.files("finalized") == set()
    left = {"block": {meta.name}, "meta": {block.name}, "both": set()}[gone]
    assert node.files("quarantine") == left, "nothing is deleted"
    assert used_bytes(node, lab) == [0, 0]


def test_who_holds_two_volumes_takes_them_in_one_order(node: Any, lab: Lab) -> None:
    """Or a move to one of them and a comparison of both would wait for each other for ever, and
    with them all writes there. What orders the volumes has nothing to do with their ids."""
    _, _, storage_id = written(node, lab)
    node.volumes.all = node.volumes.all[::-1]
    held: list[str] = []
    taken: set[tuple[str, ...]] = set()

    class Noted(Turn):
        def __init__(self, name: str) -> None:
            super().__init__()
            self._name = name

        def __enter__(self) -> None:
            super().__enter__()
            held.append(self._name)
            if len(held) > 1:
                taken.add(tuple(held))

        def __exit__(self, *_: object) -> None:
            held.remove(self._name)
            super().__exit__()

    for volume in node.volumes.all:
        volume.changing = Noted(volume.storage_id)
    there = other(node, storage_id)
    settle(node, lab, there.storage_id)
    move_to_volume(node.store, lab.block(length=len(DATA)), there)
    settle(node, lab, storage_id)
    assert len(taken) == 1


def test_a_pair_that_nobody_knows_is_taken_in_and_told(node: Any, lab: Lab) -> None:
    _, _, storage_id = written(node, lab)
    before = used_bytes(node, lab)
    node.replicas.remove(lab.POOL, 1)
    for volume in node.volumes.all:
        volume.count(lab.POOL, -volume.pool_used_bytes(lab.POOL))
    assert settle(node, lab, storage_id)
    block = lab.block(length=len(DATA))
    assert node.events == [ReplicaReceived(block, storage_id), ReplicaSuspect(block, storage_id)]
    assert readable(node, lab) == DATA
    assert used_bytes(node, lab) == before


def test_a_pair_is_not_taken_in_on_a_volume_that_is_left_meanwhile(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, storage_id = written(node, lab)
    node.replicas.remove(lab.POOL, 1)

    def judged_late(*arguments: Any) -> Any:
        node.store.trouble.remove_volume(node.volumes[storage_id], "it was taken out", tell=False)
        return judge(*arguments)

    monkeypatch.setattr(reconciler, "judge", judged_late)
    settle(node, lab, storage_id)
    assert node.replicas.find(lab.POOL, 1) is None
    assert node.events == []


def test_a_pair_whose_meta_file_is_none_is_not_taken_in(node: Any, lab: Lab) -> None:
    _, meta, storage_id = written(node, lab)
    node.replicas.remove(lab.POOL, 1)
    meta.write_bytes(b"no")
    assert settle(node, lab, storage_id)
    assert node.events == []
    assert node.files("quarantine") == {"blk_1", "blk_1_1001.meta"}


def test_a_length_that_differs_is_told_as_damage(node: Any, lab: Lab) -> None:
    block, _, storage_id = written(node, lab)
    os.truncate(block, 1000)
    assert settle(node, lab, storage_id)
    now = lab.block(length=1000)
    assert node.events == [
        ReplicaDeleted(lab.block(length=len(DATA)), storage_id),
        ReplicaReceived(now, storage_id),
        CorruptFound(now, storage_id, None, "it has 1000 bytes, and had 2560"),
    ]
    assert not settle(node, lab, storage_id)


def test_another_stamp_on_the_disk_is_told(node: Any, lab: Lab) -> None:
    _, meta, storage_id = written(node, lab)
    meta.rename(meta.with_name("blk_1_1000.meta"))
    assert settle(node, lab, storage_id)
    assert node.events[:2] == [
        ReplicaDeleted(lab.block(length=len(DATA)), storage_id),
        ReplicaReceived(lab.block(generation_stamp=1000, length=len(DATA)), storage_id),
    ]


def test_files_that_were_moved_to_another_directory_are_put_back(node: Any, lab: Lab) -> None:
    block, meta, storage_id = written(node, lab)
    away = block.parent.parent / "subdir9"
    away.mkdir()
    strays = [path.rename(away / path.name) for path in (block, meta)]
    assert settle(node, lab, storage_id, *strays)
    assert node.events == []
    assert readable(node, lab) == DATA
    assert block.exists()


def test_a_replica_that_was_moved_to_another_volume_is_there_now(node: Any, lab: Lab) -> None:
    block, meta, storage_id = written(node, lab)
    there = other(node, storage_id)
    directory = Path(there.finalized_directory(lab.POOL, 1))
    directory.mkdir(parents=True)
    for path in (block, meta):
        path.rename(directory / path.name)
    assert settle(node, lab, there.storage_id)
    whole = lab.block(length=len(DATA))
    assert node.events[:2] == [
        ReplicaDeleted(whole, storage_id),
        ReplicaReceived(whole, there.storage_id),
    ]
    assert readable(node, lab) == DATA
    assert not settle(node, lab, storage_id)


def test_a_copy_on_a_second_volume_goes_to_its_quarantine(node: Any, lab: Lab) -> None:
    block, meta, storage_id = written(node, lab)
    there = other(node, storage_id)
    directory = Path(there.finalized_directory(lab.POOL, 1))
    directory.mkdir(parents=True)
    for path in (block, meta):
        (directory / path.name).write_bytes(path.read_bytes())
    assert settle(node, lab, there.storage_id)
    assert node.events == []
    assert not list(directory.iterdir())
    assert readable(node, lab) == DATA


def test_a_replica_that_is_being_appended_to_is_left_alone(node: Any, lab: Lab) -> None:
    block, _, storage_id = written(node, lab)
    node.replicas.find(lab.POOL, 1).reopen(1002, b"")
    block.unlink()
    assert not settle(node, lab, storage_id)
    assert node.replicas.find(lab.POOL, 1).state is ReplicaState.RBW


def test_a_stray_outside_of_the_volume_is_not_touched(node: Any, lab: Lab, tmp_path: Path) -> None:
    _, _, storage_id = written(node, lab)
    outside = tmp_path / "blk_1"
    outside.write_bytes(b"precious")
    assert not settle(node, lab, storage_id, outside)
    assert outside.read_bytes() == b"precious"


def test_a_file_that_cannot_be_looked_at_is_not_taken_for_gone(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    block, _, storage_id = written(node, lab)
    real = os.stat

    def failing(path: Any, **more: Any) -> os.stat_result:
        if str(path) == str(block):
            raise OSError(5, "Input/output error")
        return real(path, **more)

    monkeypatch.setattr(os, "stat", failing)
    with pytest.raises(OSError, match="Input/output"):
        settle(node, lab, storage_id)
    assert node.replicas.find(lab.POOL, 1) is not None


def test_a_good_pair_is_taken_in_though_what_lies_beside_it_cannot_be_moved_aside(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(volume: Any, pool_id: str, paths: list[str], why: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system", paths[0])

    block, meta, storage_id = written(node, lab)
    node.store.trouble.vanished(
        lab.POOL, node.replicas.find(lab.POOL, 1), node.volumes[storage_id], OSError()
    )
    node.events.clear()
    meta.with_name("blk_1_1000.meta").write_bytes(b"of an older one")
    monkeypatch.setattr(f"{reconciler.__name__}.quarantine", fails)
    with pytest.raises(OSError, match="Read-only"):
        settle(node, lab, storage_id)
    assert readable(node, lab) == DATA
    assert any(isinstance(each, ReplicaReceived) for each in node.events)
    assert block.exists()
