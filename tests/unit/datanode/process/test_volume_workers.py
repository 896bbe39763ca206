"""Threads that are the only ones for their work go on after a defect, and say it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from howdah.datanode.process.data_process import DataProcess
from howdah.datanode.process.volume_workers import VolumeWorkers
from howdah.datanode.replicas import store
from howdah.datanode.replicas.files import delete_files as real_delete_files
from howdah.datanode.replicas.volume_move import move_to_volume
from howdah.datanode.state.messages import (
    CheckVolumes,
    DeletionEnded,
    Reconcile,
    ReplicaDeleted,
    VolumeFailed,
)
from howdah.datanode.volumes.usage import UsageAsker, ask_all
from howdah.datanode.volumes.volumes import Usage
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.testing.waiting import wait_until

Lab = Any
DATA = b"all that is here" * 64


class Defect(Exception):
    """What no code expects."""


class FailsOnce:
    """A defect at the first call; what `real` does from then on."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.calls = 0

    def __call__(self, *args: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == 1:
            raise Defect("a defect of this test")
        return self._real(*args, **named)


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


def test_a_deletion_that_meets_a_defect_is_ended_and_the_next_is_carried_out(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for block_id in (1, 2):
        lab.write_block(node, lab.block(block_id), DATA)
    monkeypatch.setattr(node.store, "invalidate", FailsOnce(node.store.invalidate))
    workers = VolumeWorkers(node.store)
    workers.start()
    workers.invalidate([lab.block(1), lab.block(2)])
    wait_until(lambda: node.replicas.find(lab.POOL, 2) is None)
    wait_until(lambda: len(ended(node)) == 2)
    assert node.replicas.find(lab.POOL, 1) is not None
    (record,) = (each for each in caplog.records if each.exc_info)
    assert record.getMessage() == f"cannot delete {lab.block(1)}: failed on a defect"
    # It is not taken for one that is under way still.
    workers.invalidate([lab.block(1)])
    wait_until(lambda: node.replicas.find(lab.POOL, 1) is None)


def ended(node: Any) -> list[int]:
    return [each.block.block_id for each in node.events if isinstance(each, DeletionEnded)]


def test_a_difference_that_meets_a_defect_keeps_no_other_from_its_turn(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settle = FailsOnce(lambda *_: True)
    monkeypatch.setattr(node.store.reconciler, "settle", settle)
    workers = VolumeWorkers(node.store)
    workers.start()
    with caplog.at_level("INFO"):
        workers.reconcile(Reconcile(lab.POOL, "DS-0", ((7, ()), (8, ()))))
        wait_until(lambda: "1 of 2 differences" in caplog.text)
    assert f"block 7 of {lab.POOL}: a defect" in caplog.text
    assert "a defect of this test" in caplog.text


def test_a_check_that_meets_a_defect_is_over_and_the_volume_stays(
    node: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    check = FailsOnce(node.store.trouble.check)
    monkeypatch.setattr(node.store.trouble, "check", check)
    workers = VolumeWorkers(node.store)
    workers.check()
    wait_until(lambda: not workers.checking)
    (volume,) = node.volumes.all
    assert f"checking {volume} failed on a defect" in caplog.text
    assert volume.failure is None
    workers.check()
    wait_until(lambda: check.calls == 2 and not workers.checking)
    assert volume.failure is None


# --- which replica an order is for ---


@pytest.fixture
def two_disks(lab: Lab) -> Any:
    return lab.node(types=(StorageType.DISK, StorageType.DISK))


class Hanging:
    """The first deletion on one volume does not end before it is told to."""

    def __init__(self, node: Any, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
        self.may_end, self.began = threading.Event(), threading.Event()
        self._path = path
        monkeypatch.setattr(f"{store.__name__}.delete_files", self)
        self.workers = VolumeWorkers(node.store)
        self.workers.start()
        node.store.trouble.on_leave.append(self.workers.volume_left)

    def __call__(self, paths: Any) -> int:
        if not self.began.is_set() and any(path.startswith(self._path) for path in paths):
            self.began.set()
            self.may_end.wait(60)
        return real_delete_files(paths)


@pytest.fixture
def hanging(two_disks: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A replica whose deletion hangs in its volume, and the same block on the other volume."""
    lab.write_block(two_disks, lab.block(7), DATA)
    first = two_disks.volumes[two_disks.replicas.find(lab.POOL, 7).volume_id]
    hung = Hanging(two_disks, monkeypatch, first.path)
    hung.workers.invalidate([lab.block(7)])
    assert hung.began.wait(30)
    lab.write_block(two_disks, lab.block(7), DATA)
    assert two_disks.replicas.find(lab.POOL, 7).volume_id != first.storage_id
    yield hung
    hung.may_end.set()


@pytest.mark.req("FS-056")
@pytest.mark.parametrize("is_left", [False, True])
def test_a_replica_on_another_volume_is_deleted_while_the_first_volume_hangs(
    two_disks: Any, lab: Lab, hanging: Any, is_left: bool
) -> None:
    if is_left:
        second = two_disks.replicas.find(lab.POOL, 7).volume_id
        (first,) = (each for each in two_disks.volumes.all if each.storage_id != second)
        two_disks.store.trouble.remove_volume(first, "it hangs")
        assert ended(two_disks) == [7]
    hanging.workers.invalidate([lab.block(7)])
    wait_until(lambda: two_disks.replicas.find(lab.POOL, 7) is None)


def test_a_replica_that_has_come_meanwhile_is_not_said_to_be_deleted(
    two_disks: Any, lab: Lab, hanging: Any
) -> None:
    hanging.may_end.set()
    wait_until(lambda: ended(two_disks) == [7])
    assert not any(isinstance(each, ReplicaDeleted) for each in two_disks.events)


def test_full_reports_are_to_name_a_replica_that_came_behind_a_hung_deletion(
    two_disks: Any, lab: Lab, hanging: Any
) -> None:
    second = two_disks.replicas.find(lab.POOL, 7).volume_id
    hanging.workers.arrived(lab.block(7), second)
    assert ended(two_disks) == [7]
    hanging.may_end.set()
    hanging.workers.invalidate([lab.block(7)])
    wait_until(lambda: len(ended(two_disks)) == 2)
    assert ended(two_disks) == [7, 7], "each order ends once"


def test_the_waiting_orders_of_a_volume_that_is_left_delete_nothing_when_it_answers_again(
    two_disks: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block_id in (1, 2, 3):
        lab.write_block(two_disks, lab.block(block_id), DATA)
    first = two_disks.volumes[two_disks.replicas.find(lab.POOL, 1).volume_id]
    assert two_disks.replicas.find(lab.POOL, 3).volume_id == first.storage_id
    hung = Hanging(two_disks, monkeypatch, first.path)
    hung.workers.invalidate([lab.block(1), lab.block(3)])
    assert hung.began.wait(30)
    two_disks.store.trouble.remove_volume(first, "it hangs")
    assert sorted(ended(two_disks)) == [1, 3]
    lab.write_block(two_disks, lab.block(3), DATA)
    hung.may_end.set()
    hung.workers.invalidate([lab.block(2)])
    wait_until(lambda: two_disks.replicas.find(lab.POOL, 2) is None)
    hung.workers.remove_volume(first)
    wait_until(lambda: not names(f"deletions of {first.path}"))
    assert two_disks.replicas.find(lab.POOL, 3) is not None


def names(prefix: str) -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith(prefix)]


def test_a_replica_that_was_moved_before_its_turn_is_deleted_where_it_is(
    two_disks: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block_id in (1, 2, 3):
        lab.write_block(two_disks, lab.block(block_id), DATA)
    first = two_disks.volumes[two_disks.replicas.find(lab.POOL, 1).volume_id]
    second = two_disks.volumes[two_disks.replicas.find(lab.POOL, 2).volume_id]
    hung = Hanging(two_disks, monkeypatch, first.path)
    hung.workers.invalidate([lab.block(1), lab.block(3)])
    assert hung.began.wait(30)
    move_to_volume(two_disks.store, lab.block(3), second)
    hung.may_end.set()
    wait_until(lambda: sorted(ended(two_disks)) == [1, 3])
    assert two_disks.replicas.find(lab.POOL, 3) is None


def test_a_replica_that_comes_after_an_order_for_nothing_stays(node: Any, lab: Lab) -> None:
    workers = VolumeWorkers(node.store)
    workers.invalidate([lab.block(1)])
    lab.write_block(node, lab.block(1), DATA)
    workers.start()
    wait_until(lambda: ended(node) == [1])
    assert node.replicas.find(lab.POOL, 1) is not None


# --- threads that meet a defect ---


def test_differences_are_settled_after_a_disk_failure_that_met_a_defect(
    node: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> bool:
        raise OSError(5, "Input/output error")

    def defect(*_: object) -> None:
        raise Defect("a defect of this test")

    workers = VolumeWorkers(node.store)
    workers.start()
    with monkeypatch.context() as failing, caplog.at_level("INFO"):
        failing.setattr(node.store.reconciler, "settle", fails)
        failing.setattr(node.store, "disk_failed", defect)
        workers.reconcile(Reconcile(lab.POOL, "DS-0", ((7, ()),)))
        wait_until(lambda: "1 of 1 differences" in caplog.text)
        failing.setattr(node.store.reconciler, "settle", lambda *_: True)
        workers.reconcile(Reconcile(lab.POOL, "DS-0", ((8, ()),)))
        wait_until(lambda: "0 of 1 differences" in caplog.text)


def test_the_namenode_hears_of_a_lost_volume_whatever_follows_from_it_here(
    two_disks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(volume: object) -> None:
        raise Defect("a defect of this test")

    first, _ = two_disks.volumes.all
    monkeypatch.setattr(two_disks.store.in_memory, "lose_volume", defect)
    with pytest.raises(Defect):
        two_disks.store.trouble.remove_volume(first, "it is sick")
    assert any(isinstance(each, VolumeFailed) for each in two_disks.events)


def test_an_order_that_meets_a_defect_does_not_end_the_data_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def obey(message: object) -> None:
        raise Defect("a defect of this test")

    process: Any = SimpleNamespace(_obey=obey)
    DataProcess._try_to_obey(process, CheckVolumes())
    assert "the control process's CheckVolumes is not carried out" in caplog.text


def test_how_full_a_volume_is_is_asked_again_after_a_defect() -> None:
    answers: list[Exception | Usage] = [Defect("a defect of this test"), Usage(1, 2, 3, 4)]

    def ask() -> Usage:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    asker = UsageAsker("usage of a disk", ask)
    (first,) = ask_all([asker], 30)
    assert (first.usage, first.error, first.is_late) == (None, None, False)
    (second,) = ask_all([asker], 30)
    assert second.usage == Usage(1, 2, 3, 4)


def test_a_volume_that_no_thread_could_ask_is_asked_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    asker = UsageAsker("usage of a disk", lambda: Usage(1, 2, 3, 4))
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", no_thread)
        (first,) = ask_all([asker], 0.01)
    assert first.is_late
    (second,) = ask_all([asker], 30)
    assert second.usage == Usage(1, 2, 3, 4)


# --- orders that wait, without a disk ---


class Replicas:
    """A store that knows where each block's replica is, and notes what it is told and asked."""

    def __init__(self) -> None:
        self.places: dict[int, str] = {}
        self.working = ["DS-1", "DS-2"]
        self.events: list[Any] = []
        self.deleted: list[int] = []
        self.hangs = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        volumes = [SimpleNamespace(storage_id=each, path=f"/{each}") for each in self.working]
        self.volumes = SimpleNamespace(
            all=volumes,
            working=lambda: [each for each in volumes if each.storage_id in self.working],
        )

    def find(self, block: Any) -> Any:
        place = self.places.get(block.block_id)
        return None if place is None else SimpleNamespace(volume_id=place)

    def notify(self, event: Any) -> None:
        self.events.append(event)

    def invalidate(self, block: Any) -> None:
        self.hangs.set()
        self.goes_on.wait(60)
        self.deleted.append(block.block_id)

    def ended(self) -> list[int]:
        return [each.block.block_id for each in self.events]


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    made = Replicas()
    yield made
    made.goes_on.set()


def test_an_order_for_a_volume_that_was_left_at_that_moment_is_over(
    replicas: Replicas, lab: Lab
) -> None:
    workers = VolumeWorkers(replicas)  # type: ignore[arg-type]
    replicas.places[1] = "DS-1"
    replicas.working = ["DS-2"]
    workers.invalidate([lab.block(1)])
    assert replicas.ended() == [1]


def test_an_order_that_is_over_is_not_carried_out_when_the_volume_is_back(
    replicas: Replicas, lab: Lab
) -> None:
    workers = VolumeWorkers(replicas)  # type: ignore[arg-type]
    replicas.places.update({1: "DS-1", 2: "DS-1"})
    workers.invalidate([lab.block(1)])
    workers.volume_left(replicas.volumes.all[0])
    assert replicas.ended() == [1]
    workers.invalidate([lab.block(2)])
    workers.start()
    wait_until(lambda: 2 in replicas.ended())
    assert replicas.deleted == [2]


def test_the_orders_of_a_volume_that_is_removed_are_over(replicas: Replicas, lab: Lab) -> None:
    workers = VolumeWorkers(replicas)  # type: ignore[arg-type]
    replicas.places[1] = "DS-1"
    workers.invalidate([lab.block(1)])
    workers.remove_volume(replicas.volumes.all[0])
    assert replicas.ended() == [1]


def test_news_of_the_replica_itself_end_no_order_for_it(replicas: Replicas, lab: Lab) -> None:
    """Only what has come to another volume is another replica."""
    workers = VolumeWorkers(replicas)  # type: ignore[arg-type]
    replicas.places[1] = "DS-1"
    replicas.goes_on.clear()
    workers.invalidate([lab.block(1)])
    workers.arrived(lab.block(1), "DS-2")
    assert replicas.ended() == [], "it may be moved there, and is deleted there then"
    workers.start()
    assert replicas.hangs.wait(30)
    workers.arrived(lab.block(1), "DS-1")
    assert replicas.ended() == []
    workers.arrived(lab.block(1), "DS-2")
    assert replicas.ended() == [1]
