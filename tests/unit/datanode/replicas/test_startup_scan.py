"""What a start makes of the files that a crash, or Hadoop, has left."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.replicas import startup_scan as scans
from howdah.datanode.replicas.startup_scan import good_length, pools_on, scan_pool
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.meta_header import encode_meta_header

Lab = Any
DATA = bytes(range(251)) * 8
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)


def meta_of(data: bytes, spec: ChecksumSpec = SPEC) -> bytes:
    out = bytearray(spec.sums_length(len(data)))
    checksum_chunks(spec, data, out)
    return encode_meta_header(spec) + bytes(out)


class Disk:
    """A volume on which a test lays out files."""

    def __init__(self, root: Path, pool: str, storage_id: str = "DS-0") -> None:
        self.pool = pool
        self.volume = Volume(str(root), storage_id, StorageType.DISK)
        self.volume.make_pool_directories(pool)
        self.finalized = Path(self.volume.finalized_directory(pool, 1))
        self.finalized.mkdir(parents=True, exist_ok=True)
        self.rbw = Path(self.volume.rbw_path(pool))
        self.tmp = Path(self.volume.tmp_path(pool))
        self.quarantine = Path(self.volume.quarantine_path(pool))

    def set_aside(self) -> set[str]:
        return (
            {path.name for path in self.quarantine.iterdir()}
            if self.quarantine.exists()
            else (set())
        )


@pytest.fixture
def disk(tmp_path: Path, lab: Lab) -> Disk:
    return Disk(tmp_path / "disk", lab.POOL)


def scan(*disks: Disk) -> ReplicaMap:
    replicas = ReplicaMap()
    scan_pool(VolumeSet([disk.volume for disk in disks]), disks[0].pool, replicas)
    return replicas


def only(replicas: ReplicaMap) -> Any:
    (replica,) = replicas.of_pool(replicas.pools()[0])
    return replica


def test_a_finalized_pair_is_a_finalized_replica(disk: Disk) -> None:
    (disk.finalized / "blk_1").write_bytes(DATA)
    (disk.finalized / "blk_1_1001.meta").write_bytes(meta_of(DATA))
    replica = only(scan(disk))
    assert replica.state is ReplicaState.FINALIZED
    assert (replica.generation_stamp, replica.length_bytes) == (1001, len(DATA))
    assert disk.volume.pool_used_bytes(disk.pool) == len(DATA) + len(meta_of(DATA))


def test_a_replica_that_was_being_written_waits_for_recovery(disk: Disk) -> None:
    (disk.rbw / "blk_1").write_bytes(DATA)
    (disk.rbw / "blk_1_1001.meta").write_bytes(meta_of(DATA))
    replica = only(scan(disk))
    assert replica.state is ReplicaState.RWR
    assert replica.length_bytes == len(DATA)


def test_data_without_checksums_does_not_count(disk: Disk) -> None:
    (disk.rbw / "blk_1").write_bytes(DATA)
    (disk.rbw / "blk_1_1001.meta").write_bytes(meta_of(DATA[:1024]))
    assert only(scan(disk)).length_bytes == 1024


def test_bytes_that_were_acknowledged_in_a_chunk_that_went_on_still_count(disk: Disk) -> None:
    # Data of the next packet is there, its checksum isn't yet.
    (disk.rbw / "blk_1").write_bytes(DATA[:1500])
    (disk.rbw / "blk_1_1001.meta").write_bytes(meta_of(DATA[:1100]))
    replica = only(scan(disk))
    assert replica.length_bytes == 1100
    assert replica.tail[1] == meta_of(DATA[:1100])[-4:]


def test_a_damaged_end_is_cut_back_to_the_last_good_chunk(disk: Disk) -> None:
    torn = DATA[:1024] + bytes(500)
    (disk.rbw / "blk_1").write_bytes(torn)
    (disk.rbw / "blk_1_1001.meta").write_bytes(meta_of(DATA[:1524]))
    assert only(scan(disk)).length_bytes == 1024


def test_a_crash_between_the_renames_of_a_finalize_is_completed(disk: Disk) -> None:
    (disk.rbw / "blk_1").write_bytes(DATA)
    (disk.finalized / "blk_1_1001.meta").write_bytes(meta_of(DATA))
    replica = only(scan(disk))
    assert replica.state is ReplicaState.FINALIZED
    assert (disk.finalized / "blk_1").read_bytes() == DATA
    assert list(disk.rbw.iterdir()) == []


def test_a_crash_between_hadoops_renames_of_an_append_is_undone(disk: Disk) -> None:
    (disk.finalized / "blk_1").write_bytes(DATA)
    (disk.rbw / "blk_1_1002.meta").write_bytes(meta_of(DATA))
    replica = only(scan(disk))
    assert replica.state is ReplicaState.FINALIZED
    assert (disk.finalized / "blk_1_1002.meta").exists()


@pytest.mark.parametrize("stamp", [1000, 1001, 1002])
def test_a_replica_that_is_written_counts_beside_a_final_one_that_is_older(
    disk: Disk, stamp: int
) -> None:
    """A disk that let an old replica be deleted in memory alone has both."""
    (disk.finalized / "blk_1").write_bytes(DATA)
    (disk.finalized / "blk_1_1001.meta").write_bytes(meta_of(DATA))
    (disk.rbw / "blk_1").write_bytes(DATA + b"more")
    (disk.rbw / f"blk_1_{stamp}.meta").write_bytes(meta_of(DATA + b"more"))
    replica = only(scan(disk))
    if stamp > 1001:
        assert (replica.state, replica.generation_stamp) == (ReplicaState.RWR, 1002)
        assert replica.length_bytes == len(DATA) + 4
        assert disk.set_aside() == {"blk_1", "blk_1_1001.meta"}
    else:
        assert (replica.state, replica.generation_stamp) == (ReplicaState.FINALIZED, 1001)
        assert disk.set_aside() == {"blk_1", f"blk_1_{stamp}.meta"}


def test_a_newer_replica_that_is_none_leaves_the_final_one(disk: Disk) -> None:
    (disk.finalized / "blk_1").write_bytes(DATA)
    (disk.finalized / "blk_1_1001.meta").write_bytes(meta_of(DATA))
    (disk.rbw / "blk_1").write_bytes(DATA)
    (disk.rbw / "blk_1_1002.meta").write_bytes(b"garbage")
    assert only(scan(disk)).state is ReplicaState.FINALIZED
    assert disk.set_aside() == {"blk_1", "blk_1_1002.meta"}


@pytest.mark.parametrize(
    "names",
    [
        ("finalized/blk_1",),
        ("finalized/blk_1_1001.meta",),
        ("rbw/blk_1",),
        ("rbw/blk_1_1001.meta",),
    ],
)
def test_half_a_pair_is_moved_aside_and_not_served(disk: Disk, names: tuple[str, ...]) -> None:
    for name in names:
        kind, file = name.split("/")
        (getattr(disk, kind) / file).write_bytes(DATA)
    assert len(scan(disk)) == 0
    assert disk.set_aside() == {name.split("/")[1] for name in names}


def test_a_meta_file_that_is_none_makes_no_replica(disk: Disk) -> None:
    (disk.rbw / "blk_1").write_bytes(DATA)
    (disk.rbw / "blk_1_1001.meta").write_bytes(b"\x00\x09garbage")
    assert len(scan(disk)) == 0
    assert disk.set_aside() == {"blk_1", "blk_1_1001.meta"}


def test_a_start_syncs_each_directory_once_for_all_that_it_moves_aside(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block_id in range(1, 51):
        (disk.rbw / f"blk_{block_id}").write_bytes(DATA)
    synced: list[Path] = []
    monkeypatch.setattr(scans, "fsync_directory", synced.append)
    assert len(scan(disk)) == 0
    assert len(disk.set_aside()) == 50
    assert synced.count(disk.quarantine) == synced.count(disk.rbw) == 1


def test_what_is_set_aside_twice_is_kept_twice(disk: Disk) -> None:
    for content in (b"one", b"two"):
        (disk.rbw / "blk_1").write_bytes(content)
        scan(disk)
    assert disk.set_aside() == {"blk_1", "blk_1.1"}


def test_copies_that_were_not_completed_are_deleted(disk: Disk) -> None:
    (disk.tmp / "blk_1").write_bytes(DATA)
    (disk.tmp / "blk_1_1001.meta").write_bytes(meta_of(DATA))
    (disk.tmp / "directory").mkdir()
    assert len(scan(disk)) == 0
    assert list(disk.tmp.iterdir()) == []


def test_a_copy_that_was_to_take_the_place_of_a_file_is_deleted(disk: Disk) -> None:
    for directory in (disk.rbw, disk.finalized):
        block_id = 1 if directory is disk.rbw else 2
        (directory / f"blk_{block_id}").write_bytes(DATA)
        (directory / f"blk_{block_id}_1001.meta").write_bytes(meta_of(DATA))
        (directory / f"blk_{block_id}.copy").write_bytes(DATA[:9])
        (directory / f"blk_{block_id}_1001.meta.copy").write_bytes(b"")
    (disk.rbw / "notes.copy").write_bytes(b"")
    assert len(scan(disk)) == 2
    assert {path.name for path in disk.rbw.iterdir()} == {"blk_1", "blk_1_1001.meta", "notes.copy"}
    assert {path.name for path in disk.finalized.iterdir()} == {"blk_2", "blk_2_1001.meta"}
    assert not disk.set_aside()


def test_the_newer_of_two_meta_files_counts(disk: Disk) -> None:
    (disk.finalized / "blk_1").write_bytes(DATA)
    for stamp in (999, 1001, 1000):
        (disk.finalized / f"blk_1_{stamp}.meta").write_bytes(meta_of(DATA))
    assert only(scan(disk)).generation_stamp == 1001
    assert disk.set_aside() == {"blk_1_999.meta", "blk_1_1000.meta"}


@pytest.mark.parametrize("order", [0, 1])
def test_the_better_of_two_replicas_on_two_volumes_counts(
    tmp_path: Path, lab: Lab, order: int
) -> None:
    disks = [Disk(tmp_path / str(i), lab.POOL, f"DS-{i}") for i in range(2)]
    better, worse = disks[order], disks[1 - order]
    for disk, stamp in ((better, 1002), (worse, 1001)):
        (disk.finalized / "blk_1").write_bytes(DATA)
        (disk.finalized / f"blk_1_{stamp}.meta").write_bytes(meta_of(DATA))
    replica = only(scan(*disks))
    assert replica.volume_id == better.volume.storage_id
    assert worse.set_aside() == {"blk_1", "blk_1_1001.meta"}
    assert worse.volume.pool_used_bytes(lab.POOL) == 0


@pytest.mark.parametrize("where", ["subdir200/subdir7", "subdir0/subdir01", "."])
def test_a_block_in_a_directory_of_an_older_layout_is_moved_to_where_it_is_looked_for(
    disk: Disk, where: str
) -> None:
    old = Path(disk.volume.finalized_path(disk.pool), where)
    old.mkdir(parents=True, exist_ok=True)
    (old / "blk_1").write_bytes(DATA)
    (old / "blk_1_1001.meta").write_bytes(meta_of(DATA))
    assert only(scan(disk)).length_bytes == len(DATA)
    assert (disk.finalized / "blk_1").read_bytes() == DATA
    assert (disk.finalized / "blk_1_1001.meta").exists()


def test_files_of_others_are_left_alone(disk: Disk) -> None:
    (disk.finalized / "notes.txt").write_text("mine")
    assert len(scan(disk)) == 0
    assert (disk.finalized / "notes.txt").exists()


def test_pools_are_the_directories_that_are_named_like_one(disk: Disk) -> None:
    Path(disk.volume.path, "current", "BP-2-x-3").mkdir()
    Path(disk.volume.path, "current", "VERSION").write_text("")
    assert pools_on(disk.volume) == ["BP-2-x-3", disk.pool]
    assert pools_on(Volume("/nowhere", "DS")) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    written=st.integers(0, 2000),
    summed=st.integers(0, 2000),
    spec=st.sampled_from(
        [ChecksumSpec(ChecksumType.CRC32C, 64), ChecksumSpec(ChecksumType.CRC32, 512)]
    ),
)
def test_every_byte_that_had_its_checksum_survives_a_kill(
    tmp_path: Path, written: int, summed: int, spec: ChecksumSpec
) -> None:
    """Data goes first: the meta file is that of a prefix of what is in the block file."""
    summed = min(summed, written)
    (tmp_path / "blk").write_bytes(DATA[:written])
    (tmp_path / "meta").write_bytes(meta_of(DATA[:summed], spec))
    length, last_sum = good_length(str(tmp_path / "blk"), str(tmp_path / "meta"))
    assert length == summed
    assert last_sum == (
        meta_of(DATA[:summed], spec)[-4:] if summed % spec.bytes_per_checksum else b""
    )


@pytest.mark.req("AP-047")
@pytest.mark.parametrize("at_once", [512, 1024, 1 << 20])
@pytest.mark.parametrize("hole", [0, 511, 512, 1300])
def test_what_a_power_cut_tore_ends_where_the_first_bad_chunk_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hole: int, at_once: int
) -> None:
    monkeypatch.setattr("howdah.datanode.replicas.startup_scan._VERIFY_BYTES", at_once)
    spec = ChecksumSpec(ChecksumType.CRC32C, 512)
    (tmp_path / "blk").write_bytes(DATA[:hole] + b"\xff" + DATA[hole + 1 : 2000])
    (tmp_path / "meta").write_bytes(meta_of(DATA[:2000], spec))
    expected = hole - hole % 512
    assert good_length(str(tmp_path / "blk"), str(tmp_path / "meta")) == (expected, b"")


def test_a_replica_without_checksums_has_the_length_of_its_file(tmp_path: Path) -> None:
    spec = ChecksumSpec(ChecksumType.NULL, 512)
    (tmp_path / "blk").write_bytes(DATA)
    (tmp_path / "meta").write_bytes(encode_meta_header(spec))
    assert good_length(str(tmp_path / "blk"), str(tmp_path / "meta")) == (len(DATA), b"")


def test_a_meta_header_that_is_cut_is_no_replica(tmp_path: Path) -> None:
    (tmp_path / "blk").write_bytes(DATA)
    (tmp_path / "meta").write_bytes(b"\x00\x01")
    with pytest.raises(errors.ChecksumMismatch):
        good_length(str(tmp_path / "blk"), str(tmp_path / "meta"))


def test_a_node_that_starts_again_serves_what_was_final_and_keeps_what_was_not(lab: Lab) -> None:
    node = lab.node(root=lab.root / "again")
    lab.write_block(node, lab.block(1), DATA)
    writer = lab.Writer(node, lab.write_request(lab.block(2)))
    writer.send(0, DATA[:1000])
    writer.ack()
    # As after kill -9: nothing of the first node is told to end.
    second = lab.node(root=lab.root / "again")
    assert lab.read_block(second, lab.read_request(lab.block(1), 0, len(DATA))).data == DATA
    waiting = second.replicas.find(lab.POOL, 2)
    assert (waiting.state, waiting.length_bytes) == (ReplicaState.RWR, 1000)


# --- a step that fails beside what is good ---


class Refusing:
    """`os.name` fails for paths with a certain text in them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
        self._real = getattr(os, name)
        self._text = text
        monkeypatch.setattr(os, name, self)

    def __call__(self, path: Any, *more: Any, **named: Any) -> Any:
        if self._text in str(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return self._real(path, *more, **named)


def put(disk: Disk, stamp: int, data: bytes = DATA) -> None:
    (disk.finalized / "blk_1").write_bytes(data)
    (disk.finalized / f"blk_1_{stamp}.meta").write_bytes(meta_of(data))


@pytest.mark.req("FS-046")
@pytest.mark.parametrize("good", [0, 1])
def test_the_better_replica_is_there_though_the_other_one_cannot_be_moved_aside(
    tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch, good: int
) -> None:
    disks = [Disk(tmp_path / name, lab.POOL, f"DS-{name}") for name in ("one", "two")]
    put(disks[good], 1002)
    put(disks[1 - good], 1001, DATA[:100])
    Refusing(monkeypatch, "rename", f"/{('one', 'two')[1 - good]}/")
    found = only(scan(*disks))
    assert (found.generation_stamp, found.volume_id) == (1002, disks[good].volume.storage_id)
    assert [disk.volume.failure for disk in disks] == [None, None]
    files = disks[good].finalized.iterdir()
    assert disks[good].volume.pool_used_bytes(lab.POOL) == sum(f.stat().st_size for f in files)


def test_the_volume_of_the_worse_replica_is_left_if_it_is_sick_and_no_other(
    tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick, well = (Disk(tmp_path / name, lab.POOL, f"DS-{name}") for name in ("sick", "well"))
    put(sick, 1001)
    put(well, 1002)
    Refusing(monkeypatch, "rename", "/sick/")
    Refusing(monkeypatch, "open", "/sick/current/probe")
    found = only(scan(sick, well))
    assert found.volume_id == "DS-well"
    assert sick.volume.failure is not None
    assert well.volume.failure is None


@pytest.mark.parametrize("call", ["rename", "makedirs"])
def test_a_final_replica_is_there_though_what_lies_beside_it_cannot_be_moved_aside(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    put(disk, 1002)
    (disk.finalized / "blk_1_1001.meta").write_bytes(b"of an older one")
    (disk.rbw / "blk_1").write_bytes(DATA[:10])
    Refusing(monkeypatch, call, "/disk/")
    found = only(scan(disk))
    assert (found.generation_stamp, found.state) == (1002, ReplicaState.FINALIZED)
    assert disk.volume.failure is None


def test_a_volume_is_used_though_what_is_left_over_there_cannot_be_removed(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(disk, 1001)
    (disk.tmp / "blk_2").write_bytes(DATA)
    (disk.tmp / "below").mkdir()
    (disk.tmp / "below" / "blk_3").write_bytes(DATA)
    (disk.finalized / "blk_1.copy").write_bytes(DATA)
    Path(disk.volume.restart_path(disk.pool, 1)).write_text("1")
    real = os.unlink
    for name in ("unlink", "rmdir"):
        Refusing(monkeypatch, name, "/BP-")
    monkeypatch.setattr(
        "howdah.datanode.replicas.startup_scan.shutil", SimpleNamespace(rmtree=os.unlink)
    )
    found = only(scan(disk))
    monkeypatch.setattr(os, "unlink", real)
    assert found.state is ReplicaState.FINALIZED


def test_copies_of_what_was_in_memory_that_cannot_be_joined_cost_no_other_replica(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> list[str]:
        raise OSError(errno.EIO, "Input/output error")

    put(disk, 1001)
    monkeypatch.setattr("howdah.datanode.memory.saved_copies.recover", fails)
    assert only(scan(disk)).state is ReplicaState.FINALIZED
    assert disk.volume.failure is None
