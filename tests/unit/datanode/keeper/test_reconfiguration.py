"""A volume that is added while the datanode runs, as the keeper follows it."""

from __future__ import annotations

import threading
from pathlib import Path

from howdah.config import Configuration
from howdah.datanode.channel.gauges import Gauges
from howdah.datanode.channel.messages import (
    AddVolume,
    Command,
    Reconfigured,
    ReplicaOpened,
    ReplicaReceived,
)
from howdah.datanode.keeper.directories import DataDirectories
from howdah.datanode.keeper.inventory import Inventory
from howdah.datanode.keeper.reconfiguration import DATA_DIR, Reconfiguration
from howdah.datanode.keeper.reports import Namespace
from howdah.datanode.replicas.replicas import ReplicaMap
from howdah.datanode.replicas.states import ReplicaState
from howdah.datanode.scanners.volume_scanner import VolumeScanners
from howdah.datanode.settings import ScanSettings
from howdah.datanode.volumes import block_files
from howdah.transfer.blocks import ExtendedBlock
from howdah.transfer.checksum import ChecksumSpec, ChecksumType
from howdah.transfer.meta_header import encode_meta_header

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


def test_the_keeper_knows_a_volume_before_the_data_process_uses_it(tmp_path: Path) -> None:
    """What is done there is told at once, and the keeper would end on what it cannot place."""
    first, second = tmp_path / "a", tmp_path / "b"
    conf = configured(tmp_path / "conf", first)
    directories = DataDirectories.open([("DISK", first)])
    directories.join(NAMESPACE)
    inventory = Inventory(directories.volumes, ReplicaMap(), Gauges(1))
    ended, changes = threading.Event(), []

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
        (second / "current" / "VERSION")
        .read_text()
        .replace(*(_uuid(path) for path in (second, first)))
    )
    reconfiguration = Reconfiguration(
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
    reconfiguration.start()
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
