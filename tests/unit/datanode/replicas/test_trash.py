"""What is deleted during a rolling upgrade: kept, given up, brought back."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.replicas import trash
from howdah.datanode.replicas.startup_scan import scan_pool
from howdah.datanode.state.messages import ReplicaDeleted
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.testing.waiting import wait_until

Lab = Any
DATA = bytes(range(256)) * 10


@pytest.fixture
def node(lab: Lab) -> Any:
    node = lab.node()
    node.store.keep_deleted(lab.POOL, keeps=True)
    wait_until(lambda: marker(node, lab).exists())
    return node


def pool_of(node: Any, lab: Lab) -> Path:
    return Path(node.volumes.all[0].pool_path(lab.POOL))


def marker(node: Any, lab: Lab) -> Path:
    return pool_of(node, lab) / "RollingUpgradeInProgress"


def files(pool: Path, top: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(pool / top)): path.read_bytes() for path in (pool / top).rglob("blk_*")
    }


def scanned(node: Any, lab: Lab, block_id: int) -> Any:
    """The replica as the next start finds it."""
    replicas = ReplicaMap()
    scan_pool(node.volumes, lab.POOL, replicas)
    return replicas.find(lab.POOL, block_id)


@pytest.mark.req("FS-204")
def test_a_deleted_replica_lies_in_the_trash_as_it_lay_and_is_told(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    before = files(pool_of(node, lab), "current")
    assert node.store.invalidate(lab.block())
    assert files(pool_of(node, lab), "current") == {}
    assert files(pool_of(node, lab), "trash") == before
    assert set(before) == {
        "finalized/subdir0/subdir0/blk_1",
        "finalized/subdir0/subdir0/blk_1_1001.meta",
    }
    assert node.events[-1] == ReplicaDeleted(lab.block(length=len(DATA)), "DS-0")
    assert node.volumes.all[0].pool_used_bytes(lab.POOL) == 0
    assert scanned(node, lab, 1) is None


def test_a_replica_that_cannot_be_kept_is_not_deleted(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    (pool_of(node, lab) / "trash").touch()
    node.store.invalidate(lab.block())
    assert scanned(node, lab, 1).length_bytes == len(DATA)


def test_a_finalization_deletes_the_trash_and_what_comes_after_is_gone(node: Any, lab: Lab) -> None:
    pool = pool_of(node, lab)
    for block_id in (1, 2):
        lab.write_block(node, lab.block(block_id), DATA)
    node.store.invalidate(lab.block(1))
    node.store.keep_deleted(lab.POOL, keeps=False)
    wait_until(lambda: not marker(node, lab).exists())
    assert not (pool / "trash").exists()
    node.store.invalidate(lab.block(2))
    assert not (pool / "trash").exists()
    assert not (pool / "trash.finalized").exists()


def test_a_rollback_brings_back_what_was_deleted(node: Any, lab: Lab) -> None:
    pool = pool_of(node, lab)
    lab.write_block(node, lab.block(), DATA)
    before = files(pool, "current")
    node.store.invalidate(lab.block())
    assert trash.restore(pool) == 1
    assert files(pool, "current") == before
    assert not (pool / "trash").exists()
    assert not marker(node, lab).exists()
    assert scanned(node, lab, 1).length_bytes == len(DATA)
    assert trash.restore(pool) == 0


def test_trash_that_cannot_be_listed_is_not_given_up(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = pool_of(node, lab)
    lab.write_block(node, lab.block(), DATA)
    before = files(pool, "current")
    node.store.invalidate(lab.block())
    (below,) = {path.parent for path in (pool / "trash").rglob("blk_*")}
    list_one, failures = os.scandir, iter([OSError(errno.EIO, "once", str(below))])

    def scandir(path: Any) -> Any:
        if path == str(below):
            for failure in failures:
                raise failure
        return list_one(path)

    with monkeypatch.context() as during:
        during.setattr(os, "scandir", scandir)
        with pytest.raises(OSError, match="once"):
            trash.restore(pool)
    assert trash.restore(pool) == 1
    assert files(pool, "current") == before


def test_what_came_back_in_between_stays(node: Any, lab: Lab) -> None:
    pool = pool_of(node, lab)
    lab.write_block(node, lab.block(), DATA)
    node.store.invalidate(lab.block())
    lab.write_block(node, lab.block(generation_stamp=1002), DATA + b"more")
    assert trash.restore(pool) == 0
    replica = scanned(node, lab, 1)
    assert (replica.generation_stamp, replica.length_bytes) == (1002, len(DATA) + 4)


def test_the_trash_keeps_the_first_replica_of_a_block(node: Any, lab: Lab) -> None:
    pool = pool_of(node, lab)
    lab.write_block(node, lab.block(), DATA)
    node.store.invalidate(lab.block())
    before = files(pool, "trash")
    lab.write_block(node, lab.block(generation_stamp=1002), DATA + b"more")
    node.store.invalidate(lab.block(generation_stamp=1002))
    assert files(pool, "trash") == before


def stamp_again(node: Any, lab: Lab, block_id: int) -> None:
    """The replica gets another stamp, as when it is appended to."""
    replica = node.replicas.find(lab.POOL, block_id)
    node.store.rename(
        lab.POOL, replica, ReplicaState.FINALIZED, 1002, lambda: replica.restamp(1002)
    )


@pytest.mark.req("FS-204")
def test_a_replica_that_is_written_again_is_kept_as_it_was(node: Any, lab: Lab) -> None:
    pool = pool_of(node, lab)
    lab.write_block(node, lab.block(), DATA)
    before = files(pool, "current")
    stamp_again(node, lab, 1)
    assert files(pool, "trash.reopened") == before
    assert files(pool, "current") != before
    node.store.invalidate(lab.block(generation_stamp=1002))
    assert trash.restore(pool) == 1
    assert files(pool, "current") == before
    assert not (pool / "trash.reopened").exists()
    assert scanned(node, lab, 1).generation_stamp == 1001


class Crash(BaseException):
    """The process dies here."""


def crash_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [steps]

    def stepping(act: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: object, **named: object) -> object:
            if not left[0]:
                raise Crash
            left[0] -= 1
            return act(*arguments, **named)

        return step

    for name in ("link", "unlink", "rename", "replace", "rmdir"):
        monkeypatch.setattr(os, name, stepping(getattr(os, name)))


@pytest.mark.req("FS-205")
@pytest.mark.parametrize("when", ["deletion", "restoring", "restoring of one written again"])
def test_a_crash_at_any_step_loses_no_replica(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    node = lab.node()
    node.store.keep_deleted(lab.POOL, keeps=True)
    pool = pool_of(node, lab)
    for steps in range(40):
        block = lab.block(steps + 1)
        lab.write_block(node, block, DATA)
        if when == "restoring of one written again":
            stamp_again(node, lab, block.block_id)
        if when == "restoring":
            node.store.invalidate(block)
        with monkeypatch.context() as patched:
            crash_after(steps, patched)
            try:
                if when == "deletion":
                    node.store.invalidate(block)
                else:
                    trash.restore(pool)
            except Crash:
                done = False
            else:
                done = True
        trash.restore(pool)
        found = scanned(node, lab, block.block_id)
        assert (found.generation_stamp, found.length_bytes) == (1001, len(DATA)), steps
        if done:
            break
    assert 3 < steps < 39


def test_trash_that_was_given_up_half_is_deleted_by_the_next_start(node: Any, lab: Lab) -> None:
    pool = pool_of(node, lab)
    lab.write_block(node, lab.block(), DATA)
    node.store.invalidate(lab.block())
    (pool / "trash").rename(pool / "trash.finalized")
    assert trash.restore(pool) == 0
    trash.end_clearing(pool)
    assert not (pool / "trash.finalized").exists()


def test_what_is_kept_of_a_replica_is_on_the_disk_before_it_is_written_again(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write_block(node, lab.block(), DATA)
    replica = node.store.find(lab.block())
    synced: list[tuple[Path, bool]] = []

    def note(directory: Path) -> None:
        synced.append((directory, (directory / "blk_1").exists()))

    monkeypatch.setattr(trash, "fsync_directory", note)
    trash.keep_as_it_is(node.volumes.all[0], lab.POOL, replica)
    (kept,) = [path for path, has_replica in synced if has_replica]
    assert kept.is_relative_to(pool_of(node, lab) / trash.REOPENED)


def test_a_replica_that_comes_back_is_on_the_disk_before_its_copy_is_given_up(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = pool_of(node, lab)
    lab.write_block(node, lab.block(), DATA)
    stamp_again(node, lab, 1)
    synced: list[Path] = []

    def note(directory: Path) -> None:
        if (pool / "trash.reopened").exists() and (directory / "blk_1_1001.meta").exists():
            synced.append(directory)

    monkeypatch.setattr(trash, "fsync_directory", note)
    assert trash.restore(pool) == 1
    assert pool / "current/finalized/subdir0/subdir0" in synced
