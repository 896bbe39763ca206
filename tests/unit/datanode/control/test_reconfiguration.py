"""A volume that is added while the datanode runs, as the control process follows it."""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control import reconfiguration
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.reconfiguration import DATA_DIR, Reconfiguration
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.control.reports import Namespace
from howdah.datanode.scanners.volume_scanner import VolumeScanner, VolumeScanners
from howdah.datanode.settings import ScanSettings
from howdah.datanode.state.messages import (
    AddVolume,
    Command,
    PropertyChange,
    Reconfigured,
    RemoveVolume,
    ReplicaOpened,
    ReplicaReceived,
)
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.meta_header import encode_meta_header

POOL = "BP-1-127.0.0.1-1"
NAMESPACE = Namespace(5, "CID-1", 0, POOL, "3.5.0")


def configured(directory: Path, *volumes: Path) -> Configuration:
    directory.mkdir(exist_ok=True)
    names = ",".join(map(str, volumes))
    (directory / "hdfs-site.xml").write_text(
        f"<configuration><property><name>{DATA_DIR}</name><value>{names}</value></property>"
        "</configuration>"
    )
    return Configuration.load(directory)


def left_behind(path: Path, block_id: int) -> None:
    """A volume of a datanode that has ended, with an empty replica."""
    directories = DataDirectories.open([("DISK", path)])
    directories.join(NAMESPACE)
    (volume,) = directories.volumes.all
    directory = Path(volume.finalized_directory(POOL, block_id))
    directory.mkdir(parents=True)
    (directory / block_files.block_file_name(block_id)).touch()
    header = encode_meta_header(ChecksumSpec(ChecksumType.CRC32C, 512))
    (directory / block_files.meta_file_name(block_id, 1001)).write_bytes(header)
    directories.close()


def test_the_control_process_knows_a_volume_before_the_data_process_uses_it(tmp_path: Path) -> None:
    """What is done there is told at once, and the control process would end on what it cannot
    place."""
    first, second = tmp_path / "a", tmp_path / "b"
    conf = configured(tmp_path / "conf", first)
    directories = DataDirectories.open([("DISK", first)])
    directories.join(NAMESPACE)
    inventory = ReplicaIndex(directories.volumes, ReplicaMap(), Gauges(1))
    ended = threading.Event()
    changes: list[PropertyChange] = []

    def data_process(command: Command) -> None:
        match command:
            case AddVolume(_, storage_id):
                inventory.apply(ReplicaOpened(ExtendedBlock(POOL, 7, 1001, 0), storage_id))
                inventory.apply(ReplicaReceived(ExtendedBlock(POOL, 8, 1001, 10), storage_id))
            case Reconfigured():
                changes.extend(command.changes)
                ended.set()

    left_behind(second, 9)
    (second / "current" / "VERSION").write_text(
        (second / "current" / "VERSION").read_text().replace(_uuid(second), _uuid(first))
    )
    subject = Reconfiguration(
        conf,
        directories,
        inventory,
        VolumeScanners(ScanSettings.of(conf), inventory.finalized, lambda command: None),
        gauges=10,
        namespaces=lambda: [NAMESPACE],
        command=data_process,
        report=lambda: None,
    )
    configured(tmp_path / "conf", first, second)
    subject.start()
    assert ended.wait(60)
    assert [change.error for change in changes] == [""]
    *_, added = inventory.volumes.all
    listed = inventory.listed(POOL)[added.storage_id]
    states = {replica.block_id: replica.state for replica in listed}
    final = ReplicaState.FINALIZED
    assert states == {7: ReplicaState.RBW, 8: final, 9: final}
    directories.close()


def _uuid(path: Path) -> str:
    lines = (path / "current" / "VERSION").read_text().splitlines()
    return next(line for line in lines if line.startswith("datanodeUuid="))


class Swap:
    """A datanode with one volume, whose configuration names another one besides."""

    def __init__(self, root: Path) -> None:
        self.first, self.second = root / "a", root / "b"
        self.root = root
        conf = configured(root / "conf", self.first)
        self.directories = DataDirectories.open([("DISK", self.first)])
        self.directories.join(NAMESPACE)
        self.inventory = ReplicaIndex(self.directories.volumes, ReplicaMap(), Gauges(1))
        self.commands: list[Command] = []
        self.answers = True
        self.late: RemoveVolume | None = None
        """The order whose answer comes while that to a later one is awaited."""
        self.scanners = VolumeScanners(
            ScanSettings.of(conf), self.inventory.finalized, lambda command: None
        )
        self.subject = Reconfiguration(
            conf,
            self.directories,
            self.inventory,
            self.scanners,
            gauges=3,
            namespaces=lambda: [NAMESPACE],
            command=self.obey,
            report=lambda: None,
        )

    def obey(self, command: Command) -> None:
        self.commands.append(command)
        if isinstance(command, RemoveVolume):
            if self.answers:
                self.subject.removed(command.number)
            elif self.late is not None:
                self.subject.removed(self.late.number)

    def to(self, *volumes: Path) -> str:
        """Have the configuration name these; what kept them from being used, if anything did."""
        configured(self.root / "conf", *volumes)
        (change,) = self.subject._find_changes()
        return change.error

    @property
    def used(self) -> list[str]:
        return [volume.path for volume in self.inventory.volumes.all]


@pytest.fixture
def swap(tmp_path: Path) -> Iterator[Swap]:
    made = Swap(tmp_path)
    yield made
    made.directories.close()


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EIO, "Input/output error"), RuntimeError("a defect of this test")],
    ids=["of the disk", "a defect"],
)
@pytest.mark.parametrize("step", ["pools_on", "scan_pool", "start"])
def test_a_directory_whose_adding_failed_is_added_by_the_next_try(
    swap: Swap, monkeypatch: pytest.MonkeyPatch, error: Exception, step: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as failing:
        if step == "start":
            failing.setattr(VolumeScanner, step, fail)
        else:
            failing.setattr(reconfiguration, step, fail)
        if isinstance(error, RuntimeError) and step != "start":
            with pytest.raises(RuntimeError):
                swap.to(swap.first, swap.second)
        else:
            assert str(swap.second) in swap.to(swap.first, swap.second)
    assert swap.used == [str(swap.first)]
    assert not any(isinstance(command, AddVolume) for command in swap.commands)
    assert swap.to(swap.first, swap.second) == ""
    assert swap.used == [str(swap.first), str(swap.second)]
    third = swap.root / "c"
    # A try that failed has taken up none of the three places.
    assert swap.to(swap.first, swap.second, third) == ""


def test_a_directory_that_has_failed_is_used_again_though_the_files_name_it_as_before(
    swap: Swap,
) -> None:
    assert swap.to(swap.first, swap.second) == ""
    failed = swap.inventory.volumes.all[1]
    failed.failure = "Input/output error"
    assert swap.to(swap.first, swap.second) == ""
    assert swap.used == [str(swap.first), str(swap.second)]
    assert [volume.failure for volume in swap.inventory.volumes.all] == [None, None]
    kinds = [type(each) for each in swap.commands]
    assert kinds == [AddVolume, RemoveVolume, AddVolume]
    # Nothing is left to be done.
    configured(swap.root / "conf", swap.first, swap.second)
    assert swap.subject._find_changes() == ()


def test_a_directory_whose_disk_is_still_away_stays_failed(swap: Swap) -> None:
    """Its mount point is there, and empty: nobody makes a volume of that."""
    assert swap.to(swap.first, swap.second) == ""
    swap.inventory.volumes.all[1].failure = "Input/output error"
    shutil.rmtree(swap.second / "current")
    assert str(swap.second) in swap.to(swap.first, swap.second)
    assert swap.inventory.volumes.all[1].failure == "Input/output error"
    assert list(swap.second.glob("current")) == []


def test_a_directory_that_fails_again_while_it_is_added_stays_failed(
    swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Namenodes hear of it as of one that has failed, and the next try finds it."""

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    assert swap.to(swap.first, swap.second) == ""
    swap.inventory.volumes.all[1].failure = "a disk that is away"
    with monkeypatch.context() as failing:
        failing.setattr(reconfiguration, "scan_pool", fail)
        assert str(swap.second) in swap.to(swap.first, swap.second)
    assert swap.used == [str(swap.first), str(swap.second)]
    failures = swap.inventory.failures()
    assert failures is not None
    assert failures.locations == (str(swap.second),)
    assert swap.to(swap.first, swap.second) == ""
    assert swap.used == [str(swap.first), str(swap.second)]
    assert swap.inventory.failures() is None


def test_what_has_failed_is_not_among_what_was_in_effect(swap: Swap) -> None:
    assert swap.to(swap.first, swap.second) == ""
    swap.inventory.volumes.all[1].failure = "Input/output error"
    (change,) = swap.subject._find_changes()
    assert (change.old, change.new) == (str(swap.first), f"{swap.first},{swap.second}")


def test_a_volume_that_cannot_be_removed_keeps_no_other_from_being_added(
    swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconfiguration, "REMOVAL_TIMEOUT_S", 0.01)
    assert swap.to(swap.first, swap.second) == ""
    swap.answers = False
    third = swap.root / "c"
    assert "still uses" in swap.to(third)
    asked = [each for each in swap.commands if isinstance(each, RemoveVolume)]
    assert len(asked) == 2, "the second one is asked for though the first has failed"
    assert str(third) in swap.used


def test_a_late_answer_to_a_removal_is_none_to_the_next_one(
    swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconfiguration, "REMOVAL_TIMEOUT_S", 0.01)
    assert swap.to(swap.first, swap.second) == ""
    swap.answers = False
    assert "still uses" in swap.to(swap.first)
    (order,) = (each for each in swap.commands if isinstance(each, RemoveVolume))
    swap.late = order
    assert "still uses" in swap.to(swap.first)
    assert swap.used == [str(swap.first), str(swap.second)]
    swap.answers = True
    assert swap.to(swap.first) == ""
    assert swap.used == [str(swap.first)]


def test_a_copy_of_a_directory_is_no_other_volume(swap: Swap) -> None:
    shutil.copytree(swap.first, swap.second)
    assert "have the same storage ID" in swap.to(swap.first, swap.second)
    swap.directories.close()
    with pytest.raises(errors.InconsistentStorage, match="have the same storage ID"):
        DataDirectories.open([("DISK", swap.first), ("DISK", swap.second)])
