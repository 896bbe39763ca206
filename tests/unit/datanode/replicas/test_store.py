"""Creating, moving and deleting replicas, and what disks do meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.process.volume_workers import VolumeWorkers
from howdah.datanode.replicas import files, startup_scan, store
from howdah.datanode.replicas.files import delete_files
from howdah.datanode.replicas.writer_registry import BriefHold
from howdah.datanode.state.messages import (
    Event,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    VolumeFailed,
)
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes.reserve import Reserve
from howdah.datanode.volumes.volumes import Volume, VolumeSet, is_about_the_disk
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.testing.waiting import wait_until

Lab = Any
DATA = bytes(range(256)) * 10


def never(volume: Volume, error: OSError) -> None:
    raise AssertionError(f"{volume}: {error}")


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


def test_a_deleted_replica_is_gone_from_map_and_disk_and_told(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    assert node.store.invalidate(lab.block())
    assert node.files("finalized") == set()
    assert node.events[-1] == ReplicaDeleted(lab.block(length=len(DATA)), "DS-0")
    assert node.volumes.all[0].pool_used_bytes(lab.POOL) == 0


def test_a_replica_that_was_deleted_meanwhile_is_not_renamed(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    replica = node.replicas.find(lab.POOL, 1)
    assert node.store.invalidate(lab.block())
    lab.write_block(node, lab.block(), DATA)  # as another one, which has come since
    before = node.files("finalized")
    with pytest.raises(errors.ReplicaNotFound, match="deleted"):
        node.store.rename(
            lab.POOL, replica, ReplicaState.FINALIZED, 1002, lambda: replica.restamp(1002)
        )
    assert node.files("finalized") == before


@pytest.mark.parametrize("joins", [False, True])
def test_a_deletion_that_waits_for_a_writer_is_told_after_the_end_of_the_write(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, joins: bool
) -> None:
    """Or the namenode, and each full report, would have a replica that is not there."""
    store, holder = node.store, BriefHold("a copy")
    writer = store.create(lab.block(), lab.SPEC, StorageType.DISK, temporary=True, holder=holder)
    deletion = threading.Thread(target=store.invalidate, args=(lab.block(),))

    def notify(event: Event) -> None:
        if not isinstance(event, ReplicaDeleted):
            deletion.start()
            deletion.join(0.3)
        node._notify(event)

    monkeypatch.setattr(store, "_notify", notify)
    if joins:
        store.join_pipeline(writer, 0)
    else:
        store.finalize(writer)
    deletion.join(30)
    assert [type(event) for event in node.events] == [
        ReplicaOpened if joins else ReplicaReceived,
        ReplicaDeleted,
    ]


@pytest.mark.parametrize("deleted", [False, True])
def test_who_makes_a_replica_has_it_though_one_in_the_way_goes_meanwhile(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, deleted: bool
) -> None:
    """Nobody could stop a writer that does not have its replica."""
    store, holder = node.store, BriefHold("a write")
    lab.write_block(node, lab.block(), DATA)
    choose = store.in_memory.choose

    def choose_late(*args: Any, **more: Any) -> Volume:
        if deleted:
            assert store.invalidate(lab.block())
        chosen: Volume = choose(*args, **more)
        return chosen

    monkeypatch.setattr(store.in_memory, "choose", choose_late)
    with contextlib.suppress(errors.ReplicaExists):
        writer = store.create(lab.block(), lab.SPEC, StorageType.DISK, holder=holder)
        assert store.writers.of(lab.block()) is holder
        store.discard(writer)
    assert len(store.writers) == 0


def test_a_quarantine_that_comes_late_spares_the_replica_that_has_come_since(
    node: Any, lab: Lab
) -> None:
    lab.write_block(node, lab.block(), DATA)
    replica = node.replicas.find(lab.POOL, 1)
    assert node.store.invalidate(lab.block())
    lab.write_block(node, lab.block(), DATA)
    before = node.files("finalized")
    node.store.quarantine(lab.POOL, replica, "nobody can read it")
    assert node.files("finalized") == before
    assert node.replicas.find(lab.POOL, 1) is not replica


def test_a_copy_that_takes_the_place_of_a_block_file_is_on_the_disk_before(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab.write_block(node, lab.block(), DATA)
    synced: list[bytes] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(os.pread(descriptor, len(DATA), 0))
        fsync(descriptor)

    copy = tmp_path / "copy"
    with node.store.open(lab.block()) as opened:
        monkeypatch.setattr(os, "fsync", note)
        files._copy_aside(opened.block_fd, str(copy), 700)
    assert copy.read_bytes() == DATA[:700]
    assert synced == [DATA[:700]]


@pytest.mark.parametrize(
    ("from_state", "to_state", "first"),
    [
        (ReplicaState.RBW, ReplicaState.FINALIZED, "blk_1_1001.meta"),
        (ReplicaState.FINALIZED, ReplicaState.RBW, "blk_1"),
    ],
)
def test_a_final_block_file_has_its_checksums_at_each_moment(
    node: Any,
    lab: Lab,
    monkeypatch: pytest.MonkeyPatch,
    from_state: ReplicaState,
    to_state: ReplicaState,
    first: str,
) -> None:
    if from_state is ReplicaState.FINALIZED:
        lab.write_block(node, lab.block(), DATA)
    else:
        node.store.create(lab.block(length=0), lab.SPEC, StorageType.DISK, holder=Stuck())
    replica = node.replicas.find(lab.POOL, 1)
    moved: list[str] = []
    monkeypatch.setattr(
        files, "_rename_all", lambda pairs: moved.extend(Path(old).name for old, _ in pairs)
    )
    files.move_files(node.volumes.all[0], lab.POOL, replica, to_state, 1001)
    assert moved[0] == first
    assert len(moved) == 2


class Stuck:
    """A writer that hangs in its disk: it is told to stop, and does not let go."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def stop(self, why: str) -> None:
        self.told.append(why)


def test_the_writer_of_a_replica_that_went_with_its_volume_is_in_nobodys_way(lab: Lab) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    block = lab.block(length=0)
    stuck = Stuck()
    node.store.create(block, lab.SPEC, StorageType.DISK, holder=stuck)
    volume = node.volumes[node.replicas.find(lab.POOL, 1).volume_id]
    node.store.trouble.remove_volume(volume, "it hangs")
    (why,) = stuck.told
    assert why.endswith("is left: it hangs")
    later = lab.block(1, 1002, 0)
    node.store.create(later, lab.SPEC, StorageType.DISK)
    assert node.replicas.find(lab.POOL, 1).volume_id != volume.storage_id
    assert node.store.invalidate(later)


@pytest.mark.parametrize("stamp", [1000, 1002])
def test_a_replica_of_another_generation_is_not_deleted(node: Any, lab: Lab, stamp: int) -> None:
    lab.write_block(node, lab.block(), DATA)
    assert not node.store.invalidate(lab.block(1, stamp))
    assert node.content(1) == DATA


def test_the_namenode_hears_of_an_order_to_delete_what_no_volume_has(lab: Lab) -> None:
    """It waits for the end of the replica, and would place no other one here until then."""
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    assert not node.store.invalidate(lab.block(5))
    assert node.events == [
        ReplicaDeleted(lab.block(5), "DS-0"),
        ReplicaDeleted(lab.block(5), "DS-1"),
    ]


def test_an_older_replica_is_not_said_to_be_absent(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    told = list(node.events)
    assert not node.store.invalidate(lab.block(1, 1002))
    assert node.events == told


def test_a_replica_that_is_read_can_be_deleted(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    with node.store.open(lab.block()) as opened:
        node.store.invalidate(lab.block())
        assert os.pread(opened.block_fd, len(DATA), 0) == DATA


def test_a_file_in_the_way_of_a_new_replica_is_moved_aside(node: Any, lab: Lab) -> None:
    Path(node.volumes.all[0].rbw_path(lab.POOL), "blk_1").write_bytes(b"stray")
    lab.write_block(node, lab.block(), DATA)
    assert node.content(1) == DATA
    assert node.files("quarantine") == {"blk_1"}


@pytest.mark.parametrize("step", ["the move of the checksums", "the sync of the directory"])
def test_a_replica_whose_file_was_moved_aside_is_forgotten_though_the_next_step_fails(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    lab.write_block(node, lab.block(), DATA)
    replica = node.replicas.find(lab.POOL, 1)
    real = os.rename

    def fails(*paths: object) -> None:
        if step.startswith("the sync") or str(paths[0]).endswith(".meta"):
            raise OSError(errno.EIO, "Input/output error")
        real(*paths)  # type: ignore[arg-type]

    name = "fsync_directory" if step.startswith("the sync") else "os.rename"
    monkeypatch.setattr(f"{startup_scan.__name__}.{name}", fails)
    node.store.quarantine(lab.POOL, replica, "the test says so")
    assert node.replicas.find(lab.POOL, 1) is None
    assert isinstance(node.events[-1], ReplicaDeleted)


def test_a_failed_creation_leaves_no_replica(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def failing(path: str, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(".meta"):
            raise OSError(errno.EMFILE, "too many open files")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(OSError, match="too many"):
        node.store.create(lab.block(), lab.SPEC, StorageType.DISK)
    monkeypatch.undo()
    assert node.files("rbw") == set()
    assert node.replicas.find(lab.POOL, 1) is None
    assert node.volumes.all[0].failure is None


def test_no_replica_is_made_on_a_volume_that_was_left_since_it_was_chosen(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk may work, as where an administrator takes it out. The write would succeed, and
    the namenode forget the replica with the volume."""
    (volume,) = node.volumes.all
    choose = node.store.in_memory.choose

    def chosen_late(*arguments: Any, **named: Any) -> Any:
        found = choose(*arguments, **named)
        node.store.trouble.remove_volume(volume, "it was taken out", tell=False)
        return found

    monkeypatch.setattr(node.store.in_memory, "choose", chosen_late)
    writer = lab.Writer(node, lab.write_request(lab.block(2, length=1 << 20)))
    assert not writer.response.is_success
    assert "it was taken out" in writer.response.message
    node.wait_idle()
    assert node.replicas.find(lab.POOL, 2) is None
    assert node.files("rbw") == set()
    assert volume.promised_bytes == 0
    assert len(node.store.writers) == 0


@pytest.mark.req("FS-126", "FS-131")
@pytest.mark.parametrize("state", ["rbw", "finalized"])
def test_a_stale_replica_gives_way_to_a_write_under_a_newer_stamp(
    node: Any, lab: Lab, state: str
) -> None:
    if state == "finalized":
        lab.write_block(node, lab.block(), DATA[:700])
    else:
        writer = lab.Writer(node, lab.write_request(lab.block()))
        writer.send(0, DATA[:700])
        assert writer.ack().is_success
    lab.write_block(node, lab.block(generation_stamp=1002), DATA)
    assert node.files("rbw") == set()
    assert node.files("finalized") == {"blk_1", "blk_1_1002.meta"}
    assert node.content(1) == DATA
    assert ReplicaDeleted(lab.block(length=700), "DS-0") in node.events


def test_a_copy_that_has_been_overtaken_gives_way_and_nobody_is_told(node: Any, lab: Lab) -> None:
    copier = lab.Writer(node, lab.write_request(lab.block(), client=""))
    copier.send(0, DATA[:700])
    lab.wait_until(lambda: node.files("tmp") != set())
    lab.write_block(node, lab.block(generation_stamp=1002), DATA)
    assert (node.files("tmp"), node.content(1)) == (set(), DATA)
    assert not any(isinstance(event, ReplicaDeleted) for event in node.events)


@pytest.mark.parametrize("state", ["nothing", "a copy", "a replica"])
def test_what_came_while_the_files_were_deleted_has_its_own_news(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """Files may take their disk for long: whoever writes the block next need not wait. Of a copy
    under way nobody is told yet: then the namenode hears that the replica is gone."""
    lab.write_block(node, lab.block(), DATA[:700])

    def slowly(paths: Any) -> int:
        if state == "a replica":
            lab.write_block(node, lab.block(generation_stamp=1002), DATA)
        elif state == "a copy":
            copier = lab.Writer(
                node, lab.write_request(lab.block(generation_stamp=1002), client="")
            )
            copier.send(0, DATA[:700])
            lab.wait_until(lambda: node.files("tmp") != set())
        return delete_files(paths)

    monkeypatch.setattr(store, "delete_files", slowly)
    assert node.store.invalidate(lab.block())
    is_told = ReplicaDeleted(lab.block(length=700), "DS-0") in node.events
    assert is_told == (state != "a replica")


@pytest.mark.parametrize("stamp", [1001, 1002])
def test_the_last_news_of_a_block_is_of_the_replica_that_is_there(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, stamp: int
) -> None:
    """It came just when its forerunner was to be told as deleted. Who hears that last would take
    it for gone, and full reports would not name it."""
    lab.write_block(node, lab.block(), DATA[:700])
    is_replaced = node.store._is_replaced

    def write_after(pool_id: str, gone: Any) -> bool:
        answer: bool = is_replaced(pool_id, gone)
        block = lab.block(generation_stamp=stamp)
        node.store.finalize(node.store.create(block, lab.SPEC, StorageType.DISK, temporary=True))
        return answer

    monkeypatch.setattr(node.store, "_is_replaced", write_after)
    assert node.store.invalidate(lab.block())
    assert node.events[-1] == ReplicaReceived(lab.block(generation_stamp=stamp), "DS-0")
    again = BriefHold("whoever writes it next")
    assert node.store.writers.try_hold(lab.block(), again, stamp)


@pytest.mark.parametrize("stamp", [1000, 1001])
def test_a_replica_gives_way_to_nothing_that_is_not_newer(node: Any, lab: Lab, stamp: int) -> None:
    lab.write_block(node, lab.block(), DATA)
    with pytest.raises(errors.ReplicaExists):
        node.store.create(lab.block(generation_stamp=stamp), lab.SPEC, StorageType.DISK)
    assert node.content(1) == DATA


def test_visible_length_is_for_blocks_of_pools_that_are_served(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    assert node.store.visible_length(lab.block()) == len(DATA)
    with pytest.raises(errors.ReplicaNotFound):
        node.store.visible_length(lab.block(2))
    with pytest.raises(errors.ReplicaNotFound, match="does not serve block pool BP-9"):
        node.store.visible_length(type(lab.block())("BP-9", 1, 1))


@pytest.mark.parametrize("what", ["the directory", "its content"])
def test_an_unplugged_disk_is_left(lab: Lab, what: str) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    lab.write_block(node, lab.block(1), DATA)
    lab.write_block(node, lab.block(2), DATA)
    root = Path(node.volumes.all[0].path)
    (root if what == "the directory" else root / "current").rename(lab.root / "unplugged")
    with pytest.raises(errors.ReplicaNotFound):
        node.store.open(lab.block(1))
    assert node.wait_for(VolumeFailed).storage_id == "DS-0"
    for block_id in range(10, 14):
        lab.write_block(node, lab.block(block_id), DATA)
    assert node.store.block_counts() == {"DS-0": 0, "DS-1": 5}


def test_volumes_prove_themselves_when_they_are_told_to(lab: Lab) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    workers = VolumeWorkers(node.store)
    workers.check()
    wait_until(lambda: not workers.checking)
    assert node.events == []
    Path(node.volumes.all[1].path).rename(lab.root / "unplugged")
    workers.check()
    assert node.wait_for(VolumeFailed).storage_id == "DS-1"


def test_a_volume_that_cannot_be_asked_is_passed_over(lab: Lab) -> None:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    Path(node.volumes.all[0].path).rename(lab.root / "unplugged")
    for block_id in range(3):
        lab.write_block(node, lab.block(block_id), DATA)
    assert node.wait_for(VolumeFailed).storage_id == "DS-0"


# --- volumes ---


def volumes_of(tmp_path: Path, *kinds: StorageType) -> VolumeSet:
    volumes = []
    for number, kind in enumerate(kinds):
        path = tmp_path / str(number)
        (path / "current").mkdir(parents=True)
        volumes.append(Volume(str(path), f"DS-{number}", kind))
    return VolumeSet(volumes)


def test_blocks_go_to_the_volumes_in_turn(tmp_path: Path) -> None:
    volumes = volumes_of(tmp_path, *[StorageType.DISK] * 3)
    chosen = [volumes.choose(StorageType.DISK, 1, never).storage_id for _ in range(6)]
    assert chosen == ["DS-0", "DS-1", "DS-2"] * 2


def test_blocks_go_to_volumes_of_the_wanted_type(tmp_path: Path) -> None:
    volumes = volumes_of(tmp_path, StorageType.DISK, StorageType.SSD, StorageType.DISK)
    for _ in range(3):
        assert volumes.choose(StorageType.SSD, 1, never).storage_id == "DS-1"
    with pytest.raises(errors.DiskOutOfSpace, match="ARCHIVE"):
        volumes.choose(StorageType.ARCHIVE, 1, never)


def test_a_volume_without_room_is_passed_over(tmp_path: Path) -> None:
    volumes = volumes_of(tmp_path, StorageType.DISK, StorageType.DISK)
    volumes.all[0].reserve = Reserve(1 << 62)
    for _ in range(3):
        assert volumes.choose(StorageType.DISK, 1, never).storage_id == "DS-1"
    volumes.all[1].promise(1 << 62)
    with pytest.raises(errors.DiskOutOfSpace, match="Out of space"):
        volumes.choose(StorageType.DISK, 1, never)


def test_room_that_is_promised_elsewhere_counts(tmp_path: Path) -> None:
    volume = volumes_of(tmp_path, StorageType.DISK).all[0]
    before = volume.usage().remaining_bytes
    assert volume.usage(1 << 20).remaining_bytes <= before - (1 << 20) + (64 << 20)
    assert volume.usage(1 << 62).remaining_bytes == 0


def test_what_others_use_counts_against_what_is_reserved_for_them(tmp_path: Path) -> None:
    volume = volumes_of(tmp_path, StorageType.DISK).all[0]
    plain = volume.usage()
    volume.reserve = Reserve(min(plain.non_dfs_used_bytes, 1 << 20))
    usage = volume.usage()
    # As much is used by others already, so nothing more is kept free for them.
    assert usage.non_dfs_used_bytes <= plain.non_dfs_used_bytes
    assert usage.capacity_bytes == plain.capacity_bytes - volume.reserved_bytes


def test_running_out_of_descriptors_is_not_about_the_disk() -> None:
    assert not is_about_the_disk(OSError(errno.EMFILE, ""))
    assert not is_about_the_disk(OSError(errno.ENOSPC, ""))
    assert is_about_the_disk(OSError(errno.EIO, ""))
    assert is_about_the_disk(OSError(errno.ENOENT, ""))


def test_a_full_disk_proves_itself_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = volumes_of(tmp_path, StorageType.DISK).all[0]

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "pwrite", full)
    assert volume.probe(()) is None
    assert list(Path(volume.path, "current").iterdir()) == []


def test_a_probe_whose_file_does_not_close_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = volumes_of(tmp_path, StorageType.DISK).all[0]
    close = os.close

    def broken(descriptor: int) -> None:
        close(descriptor)
        raise OSError(errno.EIO, "a late write failed")

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", broken)
        error = volume.probe(())
    assert error is not None
    assert error.errno == errno.EIO
    assert list(Path(volume.path, "current").iterdir()) == []
