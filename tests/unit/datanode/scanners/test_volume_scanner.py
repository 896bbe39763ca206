"""The thread that verifies a volume, and the second look of who owns the replicas."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.process.volume_workers import verify_again
from howdah.datanode.scanners import volume_scanner
from howdah.datanode.scanners.volume_scanner import VolumeScanners
from howdah.datanode.settings import ScanSettings
from howdah.datanode.state.messages import (
    CheckVolumes,
    Command,
    CorruptFound,
    Recheck,
    ReplicaSuspect,
)
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.status import Status
from howdah.testing.waiting import wait_until
from tests.support.replicas import flip

Lab = Any
DATA = bytes(range(256)) * 10
FAST = ScanSettings(period_s=3600.0, bytes_per_second=1 << 30)


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


class Scanned:
    """The scanners of a node, and what they ask of it."""

    def __init__(self, node: Any, lab: Lab, settings: ScanSettings = FAST) -> None:
        self.commands: list[Command] = []
        self._node = node
        self.scanners = VolumeScanners(settings, self._lookup, self._take)
        self.scanners.pool_served(lab.POOL)
        for volume in node.volumes.all:
            self.scanners.add(volume)

    def _lookup(self, pool_id: str, block_id: int, storage_id: str) -> Replica | None:
        found: Replica | None = self._node.replicas.find(pool_id, block_id)
        if found is None or found.volume_id != storage_id:
            return None
        return found if found.state is ReplicaState.FINALIZED else None

    def _take(self, command: Command) -> None:
        self.commands.append(command)

    @property
    def rounds(self) -> int:
        return sum(figures.rounds for figures, _ in self.scanners.figures().values())

    @property
    def blocks(self) -> int:
        return sum(figures.blocks for figures, _ in self.scanners.figures().values())


@pytest.fixture
def scan(lab: Lab) -> Iterator[Callable[..., Scanned]]:
    made: list[Scanned] = []

    def begin(node: Any, settings: ScanSettings = FAST) -> Scanned:
        made.append(Scanned(node, lab, settings))
        return made[-1]

    yield begin
    for scanned in made:
        scanned.scanners.stop()


def test_sound_replicas_are_verified_once_a_round(
    node: Any, lab: Lab, scan: Callable[..., Scanned]
) -> None:
    for block_id in (1, 257, 65537):
        lab.write_block(node, lab.block(block_id), DATA)
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)
    assert (scanned.blocks, scanned.commands) == (3, [])


def test_the_damaged_chunk_is_looked_at_again(
    node: Any, lab: Lab, scan: Callable[..., Scanned]
) -> None:
    lab.write_block(node, lab.block(1), DATA)
    lab.write_block(node, lab.block(2), DATA)
    flip(node.block_path(1), 600)
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)
    assert scanned.commands == [Recheck(lab.block(1, length=len(DATA)), 512, 1024)]
    assert scanned.blocks == 1


@pytest.mark.parametrize("cut", ["block", "meta"])
def test_a_file_that_ends_too_early_is_damaged_where_it_ends(
    node: Any, lab: Lab, scan: Callable[..., Scanned], cut: str
) -> None:
    lab.write_block(node, lab.block(1), DATA[:1300])
    path = node.block_path(1)
    path = path if cut == "block" else next(path.parent.glob("*.meta"))
    os.truncate(path, path.stat().st_size - 2)
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)
    assert scanned.commands == [Recheck(lab.block(1, length=1300), 1024, 1300)]
    verify_again(node.store, lab.block(1), 1024, 1300)
    assert len(corrupt_found(node)) == 1


def test_a_file_that_is_missing_is_no_damage(
    node: Any, lab: Lab, scan: Callable[..., Scanned]
) -> None:
    lab.write_block(node, lab.block(1), DATA)
    next(node.block_path(1).parent.glob("*.meta")).unlink()
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)
    assert scanned.commands == []


def test_every_round_sees_what_has_come_since(
    node: Any, lab: Lab, scan: Callable[..., Scanned]
) -> None:
    lab.write_block(node, lab.block(1), DATA)
    scanned = scan(node, replace(FAST, period_s=1e-3))
    wait_until(lambda: scanned.rounds >= 1, 30)
    lab.write_block(node, lab.block(2), DATA)
    flip(node.block_path(2), 5)
    wait_until(lambda: Recheck(lab.block(2, length=len(DATA)), 0, 512) in scanned.commands, 30)


def test_a_suspect_is_verified_though_the_round_is_over(
    node: Any, lab: Lab, scan: Callable[..., Scanned]
) -> None:
    lab.write_block(node, lab.block(1), DATA)
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)
    flip(node.block_path(1), 5)
    scanned.scanners.suspect(lab.block(1), "DS-0")
    wait_until(lambda: bool(scanned.commands), 30)
    assert scanned.commands == [Recheck(lab.block(1, length=len(DATA)), 0, 512)]


def test_the_place_is_kept_over_a_stop(node: Any, lab: Lab, scan: Callable[..., Scanned]) -> None:
    lab.write_block(node, lab.block(1), DATA)
    first = scan(node)
    wait_until(lambda: first.rounds == 1, 30)
    first.scanners.stop()
    path = Path(node.volumes.all[0].pool_path(lab.POOL), "scanner.cursor")
    assert json.loads(path.read_bytes())["atEnd"] is True
    again = scan(node)
    again.scanners.suspect(lab.block(1), "DS-0")
    wait_until(lambda: again.blocks == 1, 30)
    assert again.rounds == 0, "the round is not over"


def test_a_cursor_that_is_damaged_begins_a_round(
    node: Any, lab: Lab, scan: Callable[..., Scanned]
) -> None:
    Path(node.volumes.all[0].pool_path(lab.POOL), "scanner.cursor").write_bytes(b"{")
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)


def test_a_directory_that_cannot_be_listed_has_the_volumes_checked(
    node: Any, scan: Callable[..., Scanned], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: str) -> list[str]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "listdir", failing)
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)
    assert scanned.commands == [CheckVolumes()]


@pytest.mark.parametrize("settings", [ScanSettings(period_s=-1), ScanSettings(bytes_per_second=0)])
def test_it_can_be_switched_off(
    node: Any, scan: Callable[..., Scanned], settings: ScanSettings
) -> None:
    assert scan(node, settings).scanners.figures() == {}


# --- the second look ---


def corrupt_found(node: Any) -> list[CorruptFound]:
    return [event for event in node.events if isinstance(event, CorruptFound)]


def test_damage_that_is_there_is_told_with_its_storage(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    flip(node.block_path(1), 600)
    verify_again(node.store, lab.block(), 512, 1024)
    (found,) = corrupt_found(node)
    assert (found.block, found.storage_id, found.node) == (
        lab.block(length=len(DATA)),
        "DS-0",
        None,
    )


def test_a_sound_replica_is_not_told(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    verify_again(node.store, lab.block(), 0, len(DATA))
    assert corrupt_found(node) == []


def test_a_meta_file_that_is_none_is_damage(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    next(node.block_path(1).parent.glob("*.meta")).write_bytes(b"")
    verify_again(node.store, lab.block(), 0, 0)
    assert len(corrupt_found(node)) == 1


@pytest.mark.parametrize("stamp", [1000, 1002])
def test_a_replica_that_is_another_one_now_is_not_looked_at(
    node: Any, lab: Lab, stamp: int
) -> None:
    lab.write_block(node, lab.block(), DATA)
    flip(node.block_path(1), 600)
    verify_again(node.store, lab.block(generation_stamp=stamp), 512, 1024)
    assert corrupt_found(node) == []


def test_a_replica_that_is_deleted_is_no_fault(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    node.store.invalidate(lab.block())
    verify_again(node.store, lab.block(), 0, 512)
    assert corrupt_found(node) == []


def test_a_replica_that_is_appended_to_is_no_fault(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    flip(node.block_path(1), 5)
    node.replicas.find(lab.POOL, 1).reopen(1002, b"")
    verify_again(node.store, lab.block(), 0, 512)
    assert corrupt_found(node) == []


def test_a_reader_that_found_damage_makes_the_replica_suspicious(node: Any, lab: Lab) -> None:
    lab.write_block(node, lab.block(), DATA)
    request = lab.read_request(lab.block(), 0, len(DATA))
    lab.read_block(node, request, verdict=Status.ERROR_CHECKSUM)
    assert node.wait_for(ReplicaSuspect) == ReplicaSuspect(lab.block(length=len(DATA)), "DS-0")


def test_a_defect_at_one_replica_does_not_end_the_verification_of_the_volume(
    node: Any,
    lab: Lab,
    scan: Callable[..., Scanned],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for block_id in (1, 2, 3):
        lab.write_block(node, lab.block(block_id), DATA)
    monkeypatch.setattr(volume_scanner, "_LONGEST_WAIT_S", 0.01)
    real = Scanned._lookup
    failed: list[int] = []

    def lookup(self: Scanned, pool_id: str, block_id: int, storage_id: str) -> Replica | None:
        if not failed:
            failed.append(block_id)
            raise RuntimeError("a defect of this test")
        return real(self, pool_id, block_id, storage_id)

    monkeypatch.setattr(Scanned, "_lookup", lookup)
    scanned = scan(node)
    wait_until(lambda: scanned.rounds == 1, 30)
    assert f"the verification of {node.volumes.all[0]} failed on a defect" in caplog.text
    assert scanned.blocks == 2
