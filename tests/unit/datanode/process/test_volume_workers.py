"""Threads that are the only ones for their work go on after a defect, and say it."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.datanode.channel.messages import DeletionEnded, Reconcile
from howdah.datanode.process.volume_workers import VolumeWorkers
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
