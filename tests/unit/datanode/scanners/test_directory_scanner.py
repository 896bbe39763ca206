"""Directories against memory: what differs, and how fast that is found out."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.scanners.directory_scanner import DirectoryScanner, merged
from howdah.datanode.settings import ScanSettings
from howdah.datanode.state.messages import CheckVolumes, Command, Reconcile
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.scanners.comparison import (
    Difference,
    Files,
    InMemory,
    Kind,
    ScanPace,
    compare,
    note,
)
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.testing.waiting import wait_until

Lab = Any
DATA = bytes(range(256)) * 10
HERE = "subdir0/subdir0"


def found(*names: str, length_bytes: int = 10) -> dict[int, Files]:
    files: dict[int, Files] = {}
    for name in names:
        assert note(files, name, f"/f/{name}", length_bytes)
    return files


def here(stamp: int = 1001, length_bytes: int = 10) -> InMemory:
    return InMemory(stamp, length_bytes, here=True)


PAIR = ("blk_1", "blk_1_1001.meta")


def test_what_is_the_same_is_no_difference() -> None:
    assert compare(HERE, found(*PAIR), [1], {1: here()}) == []


@pytest.mark.parametrize(
    ("names", "memory", "kind"),
    [
        ((), here(), Kind.MISSING_BLOCK),
        (("blk_1_1001.meta",), here(), Kind.MISSING_BLOCK),
        (("blk_1",), here(), Kind.MISSING_META),
        (PAIR, here(1002), Kind.MISMATCH),
        (PAIR, here(1001, 11), Kind.MISMATCH),
        ((*PAIR, "blk_1_1000.meta"), here(), Kind.MISMATCH),
        (PAIR, None, Kind.UNKNOWN),
        (PAIR, InMemory(1001, 10, here=False), Kind.DUPLICATE),
        (("blk_1_1001.meta",), None, Kind.MISSING_BLOCK),
    ],
)
def test_each_difference_has_its_name(
    names: tuple[str, ...], memory: InMemory | None, kind: Kind
) -> None:
    known = {} if memory is None else {1: memory}
    expected = [1] if memory is not None and memory.here else []
    assert compare(HERE, found(*names), expected, known) == [Difference(1, kind)]


@pytest.mark.parametrize("names", [(), ("blk_1",), PAIR])
def test_what_is_being_written_is_no_difference(names: tuple[str, ...]) -> None:
    busy = InMemory(1001, 10, here=False, busy=True)
    assert compare(HERE, found(*names), [1], {1: busy}) == []


def test_what_has_been_deleted_meanwhile_is_no_difference() -> None:
    assert compare(HERE, {}, [1], {}) == []


def test_files_in_the_wrong_directory_are_strays() -> None:
    (difference,) = compare("subdir0/subdir1", found(*PAIR), [], {1: here()})
    assert difference.strays == ("/f/blk_1", "/f/blk_1_1001.meta")


@pytest.mark.parametrize("name", ["blk_01", "blk_1.copy", "blk_1_01.meta", "VERSION", "blk_-0"])
def test_other_names_are_nobodys_files(name: str) -> None:
    assert not note({}, name, f"/f/{name}", 0)


replicas = st.dictionaries(
    st.integers(min_value=0, max_value=5),
    st.tuples(st.integers(min_value=1001, max_value=1002), st.integers(min_value=0, max_value=1)),
)


@given(replicas, replicas)
def test_just_those_differ_that_are_not_the_same(
    disk: dict[int, tuple[int, int]], memory: dict[int, tuple[int, int]]
) -> None:
    files: dict[int, Files] = {}
    for block_id, (stamp, length) in disk.items():
        note(files, f"blk_{block_id}", "", length)
        note(files, f"blk_{block_id}_{stamp}.meta", "", 0)
    known = {block_id: InMemory(*replica, here=True) for block_id, replica in memory.items()}
    differences = compare(HERE, files, memory, known)
    different = {each for each in disk.keys() | memory.keys() if disk.get(each) != memory.get(each)}
    assert {each.block_id for each in differences} == different
    assert len(differences) == len(different)


@given(st.integers(min_value=1, max_value=999), st.lists(st.floats(0, 500), min_size=1))
def test_a_scan_works_for_its_part_of_each_second(limit: int, work: list[float]) -> None:
    pace = ScanPace(limit)
    paused = 0.0
    for worked_ms in work:
        paused += pace.pause_ms(worked_ms)
    # What is still to be paid for is less than a second's part and the last piece of work.
    worked = sum(work)
    assert paused <= worked * (1000 - limit) / limit + 1
    assert worked - limit - work[-1] <= (paused * limit / (1000 - limit)) + 1


@pytest.mark.parametrize("limit", [-1, 0, 1000, 5000])
def test_a_pace_of_no_part_of_a_second_is_none(limit: int) -> None:
    assert ScanPace(limit).pause_ms(1e9) == 0


def test_a_block_is_looked_at_once() -> None:
    both = [
        Difference(1, Kind.MISSING_BLOCK),
        Difference(2, Kind.UNKNOWN),
        Difference(1, Kind.UNKNOWN, ("/f/blk_1",)),
    ]
    assert merged(both) == [(1, ("/f/blk_1",)), (2, ())]


# --- with directories ---


class NodeMemory:
    """What a node in this process has, as a control process's inventory would say it."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def _all(self, pool_id: str) -> list[Replica]:
        return list(self._node.replicas.of_pool(pool_id))

    def finalized_by_directory(self, pool_id: str, storage_id: str) -> dict[str, array[int]]:
        ids: dict[str, array[int]] = {}
        for replica in self._all(pool_id):
            if replica.volume_id == storage_id and replica.state is ReplicaState.FINALIZED:
                directory = block_files.subdirectory(replica.block_id)
                ids.setdefault(directory, array("q")).append(replica.block_id)
        return ids

    def in_memory(
        self, pool_id: str, block_ids: Iterable[int], storage_id: str
    ) -> dict[int, InMemory]:
        wanted = set(block_ids)
        return {
            replica.block_id: InMemory(
                replica.generation_stamp,
                replica.length_bytes,
                here=replica.volume_id == storage_id and replica.state is ReplicaState.FINALIZED,
                busy=replica.state is not ReplicaState.FINALIZED,
            )
            for replica in self._all(pool_id)
            if replica.block_id in wanted
        }


class Scan:
    def __init__(self, node: Any, lab: Lab) -> None:
        self.commands: list[Command] = []
        self._node = node
        self.scanner = DirectoryScanner(
            ScanSettings(directory_threads=2),
            node.volumes.working,
            NodeMemory(node),
            self.commands.append,
        )
        self.scanner.pool_served(lab.POOL)

    def run(self) -> None:
        """A scan, and all that it asks for."""
        self.commands.clear()
        self.scanner.scan()
        for command in self.commands:
            if isinstance(command, Reconcile):
                for block_id, strays in command.differences:
                    self._node.store.reconciler.settle(
                        command.pool_id, block_id, command.storage_id, strays
                    )


@pytest.fixture
def node(lab: Lab) -> Any:
    node = lab.node(types=(StorageType.DISK, StorageType.DISK))
    for block_id in (1, 2, 300, 70000):
        lab.write_block(node, lab.block(block_id), DATA)
    node.wait_idle()
    return node


def test_volumes_that_are_as_they_should_be_ask_for_nothing(node: Any, lab: Lab) -> None:
    scan = Scan(node, lab)
    scan.run()
    assert (scan.commands, scan.scanner.scans) == ([], 1)


def test_a_volume_whose_files_all_moved_to_another_is_there_after_one_scan(
    node: Any, lab: Lab
) -> None:
    first, second = node.volumes.all
    source = Path(first.finalized_path(lab.POOL))
    here = {path.name for path in source.rglob("blk_*")}
    assert here
    away = Path(second.finalized_path(lab.POOL), "restored")
    shutil.copytree(source, away)
    shutil.rmtree(source)
    source.mkdir()
    scan = Scan(node, lab)
    scan.run()
    assert {replica.volume_id for replica in node.replicas.of_pool(lab.POOL)} == {"DS-1"}
    assert sorted(replica.block_id for replica in node.replicas.of_pool(lab.POOL)) == [
        1, 2, 300, 70000,
    ]  # fmt: skip
    scan.run()
    assert scan.commands == [], "one scan settles it"


def test_a_volume_without_its_directories_is_checked_and_nothing_is_forgotten(
    node: Any, lab: Lab
) -> None:
    shutil.rmtree(Path(node.volumes.all[0].pool_path(lab.POOL)))
    scan = Scan(node, lab)
    scan.run()
    assert scan.commands == [CheckVolumes()]
    assert len(list(node.replicas.of_pool(lab.POOL))) == 4


def test_replicas_that_are_being_written_are_not_touched(node: Any, lab: Lab) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block(9)))
    writer.send(0, DATA)
    assert writer.ack().is_success
    scan = Scan(node, lab)
    scan.run()
    assert scan.commands == []
    writer.close()


def test_a_defect_of_one_comparison_does_not_end_those_to_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The thread would be the last, and nobody would hear that nothing is compared any more."""
    asked: list[int] = []

    def volumes() -> list[Any]:
        asked.append(len(asked))
        if len(asked) == 1:
            raise RuntimeError("a defect of this test")
        return []

    settings = ScanSettings(directory_interval_s=0.01)
    scanner = DirectoryScanner(settings, volumes, NodeMemory(None), lambda command: None)
    scanner.pool_served("BP-1")
    scanner.start()
    try:
        wait_until(lambda: scanner.scans >= 2)
    finally:
        scanner.stop()
    assert "comparing disk and memory failed on a defect" in caplog.text
    assert "a defect of this test" in caplog.text
