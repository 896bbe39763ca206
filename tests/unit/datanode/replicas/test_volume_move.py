"""From volume to volume: at no moment is there no replica, and no damage is carried along."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.replicas import volume_move
from howdah.datanode.replicas.startup_scan import good_length, replica_paths, scan_pool
from howdah.datanode.replicas.volume_move import move_to_volume
from howdah.datanode.state.messages import CorruptFound, ReplicaReceived
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Usage, Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import StorageType
from tests.support.power_cut import Disk

Lab = Any
DATA = os.urandom(5000)
LENGTH = len(DATA)
CALLS = ("open", "rename", "fsync", "fchmod", "sendfile", "unlink", "stat", "mkdir", "pread")
MOST_CALLS = 40


@pytest.fixture
def node(lab: Lab) -> Any:
    made = lab.node(types=(StorageType.DISK, StorageType.DISK))
    lab.write_block(made, lab.block(), DATA)
    made.source, made.target = sorted(
        made.volumes.all, key=lambda volume: not Path(_block(volume)).exists()
    )
    return made


def _block(volume: Volume) -> str:
    return f"{volume.finalized_directory('BP-7-127.0.0.1-1', 1)}/blk_1"


def test_a_replica_goes_to_the_volume_that_is_named(lab: Lab, node: Any) -> None:
    move_to_volume(node.store, lab.block(length=LENGTH), node.target)
    assert Path(_block(node.target)).read_bytes() == DATA
    assert not Path(_block(node.source)).exists()
    assert node.events[-1] == ReplicaReceived(lab.block(length=LENGTH), node.target.storage_id)
    assert node.source.pool_used_bytes(lab.POOL) == 0
    assert node.target.pool_used_bytes(lab.POOL) > LENGTH
    assert (node.source.promised_bytes, node.target.promised_bytes) == (0, 0)
    assert lab.read_block(node, lab.read_request(lab.block(), 0, LENGTH)).data == DATA


def test_a_move_to_where_it_is_is_refused(lab: Lab, node: Any) -> None:
    with pytest.raises(errors.ReplicaExists, match="already"):
        move_to_volume(node.store, lab.block(length=LENGTH), node.source)


def test_a_volume_without_room_takes_none(
    lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Volume, "usage", lambda self: Usage(1 << 30, 0, LENGTH, 0))
    with pytest.raises(errors.DiskOutOfSpace, match=f"has {LENGTH} bytes left"):
        move_to_volume(node.store, lab.block(length=LENGTH), node.target)
    assert Path(_block(node.source)).read_bytes() == DATA


@pytest.mark.req("FS-100")
def test_a_damaged_replica_is_told_of_and_stays(lab: Lab, node: Any) -> None:
    with open(_block(node.source), "r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    with pytest.raises(errors.ChecksumMismatch, match="its data does not fit its checksum at 512"):
        move_to_volume(node.store, lab.block(length=LENGTH), node.target)
    assert isinstance(node.events[-1], CorruptFound)
    assert Path(_block(node.source)).exists()
    assert not node.files("tmp")


def test_a_replica_whose_meta_file_is_none_is_told_of_and_stays(lab: Lab, node: Any) -> None:
    (meta,) = Path(_block(node.source)).parent.glob("*.meta")
    meta.write_bytes(b"nonsense")
    with pytest.raises(errors.ChecksumMismatch):
        move_to_volume(node.store, lab.block(length=LENGTH), node.target)
    assert isinstance(node.events[-1], CorruptFound)
    assert not node.files("tmp")


def test_a_copy_that_comes_out_damaged_is_thrown_away(
    lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = volume_move._copy

    def damaging(source: str, target: str, *more: Any) -> None:
        copy(source, target, *more)
        if "meta" not in target:
            with open(target, "r+b") as file:
                file.write(b"damage")

    monkeypatch.setattr(volume_move, "_copy", damaging)
    told = len(node.events)
    with pytest.raises(errors.ChecksumMismatch, match=r"its copy on .* is damaged"):
        move_to_volume(node.store, lab.block(length=LENGTH), node.target)
    assert node.events[told:] == [], "the replica itself is well"
    assert Path(_block(node.source)).read_bytes() == DATA
    assert not node.files("tmp")


def test_a_volume_that_is_left_meanwhile_gets_none(
    lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(*_: Any) -> None:
        node.store.trouble.remove_volume(node.target, "it was taken out", tell=False)

    monkeypatch.setattr(volume_move, "_verify", left)
    with pytest.raises(errors.RemoteError, match="is not used any more, it was taken out"):
        move_to_volume(node.store, lab.block(length=LENGTH), node.target)
    assert node.store.find(lab.block()).volume_id == node.source.storage_id
    assert lab.read_block(node, lab.read_request(lab.block(), 0, LENGTH)).data == DATA


@pytest.mark.parametrize("name", CALLS)
def test_wherever_a_disk_fails_the_replica_can_be_read(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 0
    for number in range(MOST_CALLS):
        node = lab.node(types=(StorageType.DISK, StorageType.DISK))
        lab.write_block(node, lab.block(), DATA)
        (target,) = [each for each in node.volumes.all if not Path(_block(each)).exists()]
        with monkeypatch.context() as patch:
            failed = _failing(patch, name, number)
            with contextlib.suppress(OSError):
                move_to_volume(node.store, lab.block(length=LENGTH), target)
        assert lab.read_block(node, lab.read_request(lab.block(), 0, LENGTH)).data == DATA
        assert len(node.store.writers) == 0
        received = [event for event in node.events if isinstance(event, ReplicaReceived)]
        assert received[-1].storage_id == node.store.find(lab.block()).volume_id
        # What could not be deleted has a number, and is cleared by the next start.
        assert not [left for left in node.files("tmp") if left.endswith(".move")]
        if not failed:
            assert Path(_block(target)).read_bytes() == DATA
            break
        failures += 1
    else:
        pytest.fail(f"{name} is called without end")
    assert failures or name in ("stat", "mkdir"), f"no call of {name} was made to fail"


def _failing(patch: pytest.MonkeyPatch, name: str, number: int) -> list[str]:
    """The `number`-th call of `os.name` fails; the list is empty until then."""
    real = getattr(os, name)
    calls: list[int] = []
    failed: list[str] = []

    def act(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == number + 1 and not failed:
            failed.append(name)
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(arguments[0]))
        return real(*arguments, **options)

    patch.setattr(os, name, act)
    return failed


@pytest.mark.req("FS-144")
def test_wherever_the_datanode_is_killed_or_power_is_cut_there_is_a_whole_replica(
    lab: Lab, tmp_path: Path
) -> None:
    root = tmp_path / "disks" / "node"
    node = lab.node(types=(StorageType.DISK, StorageType.DISK), root=root)
    lab.write_block(node, lab.block(), DATA)
    for volume in node.volumes.all:
        # What was written is on the disk by now.
        for directory, _, files in os.walk(volume.path, topdown=False):
            for name in [*files, "."]:
                fd = os.open(f"{directory}/{name}", os.O_RDONLY)
                os.fsync(fd)
                os.close(fd)
    (target,) = [each for each in node.volumes.all if not Path(_block(each)).exists()]
    with Disk(root) as disk:
        disk.armed = True
        disk.cut_now()
        move_to_volume(node.store, lab.block(length=LENGTH), target)
        disk.cut_now()
    cuts = 0
    for when, path in disk.images(tmp_path / "cuts"):
        cuts += 1
        volumes = VolumeSet([Volume(str(path / f"data{n}"), f"DS-{n}") for n in range(2)])
        replicas = ReplicaMap()
        scan_pool(volumes, lab.POOL, replicas)
        replica = replicas.find(lab.POOL, 1)
        assert replica is not None, when
        assert (replica.state, replica.generation_stamp) == (ReplicaState.FINALIZED, 1001), when
        paths = replica_paths(volumes[replica.volume_id], lab.POOL, replica)
        assert Path(paths[0]).read_bytes() == DATA, when
        assert good_length(*paths)[0] == LENGTH, when
        # One is kept, and none lies about.
        found = [each for each in path.rglob("blk_1") if "quarantine" not in str(each)]
        assert len(found) == 1, when
    assert cuts > 10
