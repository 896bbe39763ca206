"""A plan at work: real files of a datanode in this process."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.disk_balancer import worker as worker_module
from howdah.datanode.disk_balancer.worker import DiskBalancer
from howdah.datanode.replicas.volume_move import move_to_volume
from howdah.datanode.state.disk_balancer.checks import Submitted
from howdah.datanode.state.disk_balancer.work import DiskBalancerSettings, WorkRules
from howdah.datanode.volumes.volumes import Volume
from howdah.diskbalancer.plan_files import plan_id, plan_text
from howdah.diskbalancer.planner import MoveStep, NodePlan
from howdah.diskbalancer.status import BANDWIDTH_KEY, VOLUMES_KEY, WorkResult
from howdah.diskbalancer.volumes import DiskVolume
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.testing.waiting import wait_until

Lab = Any
UUID = "uuid-of-this-one"
BLOCKS = 8
LENGTH = 100_000
FAST = DiskBalancerSettings(rules=WorkRules(bandwidth_mib=1000))


class Bench:
    """A datanode with two volumes, whose replicas all lie on the first."""

    def __init__(self, lab: Lab, settings: DiskBalancerSettings = FAST) -> None:
        self.lab = lab
        self.node = lab.node(types=(StorageType.DISK, StorageType.DISK))
        self.source, self.target = self.node.volumes.all
        for block_id in range(1, BLOCKS + 1):
            lab.write_block(self.node, lab.block(block_id), self.data(block_id))
            if self.node.store.find(lab.block(block_id)).volume_id != self.source.storage_id:
                move_to_volume(self.node.store, lab.block(block_id, length=LENGTH), self.source)
        self.balancer = DiskBalancer(self.node.store, settings, lambda: UUID)

    def data(self, block_id: int) -> bytes:
        return bytes([block_id]) * LENGTH

    def submit(self, count: int = BLOCKS * LENGTH // 2, **more: Any) -> str:
        """A plan to move so many bytes; its id."""
        source, target = (
            DiskVolume(each.storage_id, "DISK", 1 << 40, 0, each.path)
            for each in (self.source, self.target)
        )
        step = MoveStep(source, target, count, 0.5, "set", **more)
        text = plan_text(NodePlan("host", UUID, 1, 1 << 60, (step,)))
        self.balancer.submit(Submitted(plan_id(text), 1, text, skips_date_check=False), "/plan")
        return plan_id(text)

    def on(self, volume: Volume) -> int:
        return int(self.node.store.block_counts()[volume.storage_id])

    def wait(self) -> Any:
        wait_until(lambda: self.balancer.status().result is not WorkResult.PLAN_UNDER_PROGRESS, 60)
        status = self.balancer.status()
        assert len(self.node.store.writers) == 0
        for block_id in range(1, BLOCKS + 1):
            read = self.lab.read_request(self.lab.block(block_id), 0, LENGTH)
            assert self.lab.read_block(self.node, read).data == self.data(block_id)
        return status


@pytest.fixture
def bench(lab: Lab) -> Bench:
    return Bench(lab)


def test_half_of_the_replicas_go_to_the_other_volume(bench: Bench) -> None:
    assert bench.balancer.status().result is WorkResult.NO_PLAN
    plan = bench.submit()
    status = bench.wait()
    assert (status.result, status.plan_id, status.plan_file) == (
        WorkResult.PLAN_DONE,
        plan,
        "/plan",
    )
    (entry,) = status.entries
    assert (entry.source_path, entry.destination_path) == (bench.source.path, bench.target.path)
    assert (entry.bytes_copied, entry.blocks_copied) == (4 * LENGTH, 4)
    assert (entry.error, entry.error_count) == ("", 0)
    assert entry.start_time_ms > 0
    assert (bench.on(bench.source), bench.on(bench.target)) == (4, 4)


def test_a_plan_for_more_than_there_is_says_so(bench: Bench) -> None:
    bench.submit(100 * LENGTH)
    (entry,) = bench.wait().entries
    assert (entry.blocks_copied, entry.error) == (BLOCKS, "No source blocks found to move.")


def test_replicas_that_are_too_long_are_left(bench: Bench) -> None:
    bench.submit(LENGTH // 2)
    (entry,) = bench.wait().entries
    assert (entry.blocks_copied, entry.error) == (0, "No source blocks found to move.")


class Pause:
    """Moves wait, each before it begins, until they may."""

    def __init__(self, patch: pytest.MonkeyPatch, instead: Callable[..., None] | None = None):
        self.began, self.goes_on = threading.Event(), threading.Event()

        def paused(*arguments: Any) -> None:
            self.began.set()
            assert self.goes_on.wait(60)
            (instead or move_to_volume)(*arguments)

        patch.setattr(worker_module, "move_to_volume", paused)


def test_there_is_one_plan_at_a_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pause = Pause(monkeypatch)
    bench.submit()
    assert pause.began.wait(60)
    with pytest.raises(errors.DiskBalancerError, match="Executing another plan") as refused:
        bench.submit(5)
    assert refused.value.result == "PLAN_ALREADY_IN_PROGRESS"
    assert bench.balancer.status().result is WorkResult.PLAN_UNDER_PROGRESS
    pause.goes_on.set()
    bench.wait()
    bench.submit(5)
    bench.wait()


class Slow:
    """A limit that lets nothing more through."""

    def __init__(self, bytes_per_s: int) -> None:
        pass

    def delay_s(self, count_bytes: int, now_s: float) -> float:
        return 3600.0


def test_a_plan_is_cancelled_in_the_middle_of_a_replica(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "Throttle", Slow)
    bench.submit(BLOCKS * LENGTH)
    wait_until(lambda: len(bench.node.store.writers) > 0, 60)
    plan = bench.balancer.status().plan_id
    bench.balancer.cancel(plan)
    status = bench.wait()
    assert status.result is WorkResult.PLAN_CANCELLED
    assert (bench.on(bench.source), bench.on(bench.target)) == (BLOCKS, 0)
    assert not bench.node.files("tmp")
    bench.balancer.cancel(plan)
    assert bench.balancer.status().result is WorkResult.PLAN_CANCELLED


def test_a_plan_that_there_is_not_cannot_be_cancelled(bench: Bench) -> None:
    for unknown in ("", "0" * 40):
        with pytest.raises(errors.DiskBalancerError, match="No such plan") as refused:
            bench.balancer.cancel(unknown)
        assert refused.value.result == "NO_SUCH_PLAN"


def test_errors_are_counted_until_there_are_too_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(5, "input/output error")

    monkeypatch.setattr(worker_module, "move_to_volume", fails)
    bench.submit(max_disk_errors=2)
    (entry,) = bench.wait().entries
    assert (entry.error_count, entry.blocks_copied) == (3, 0)
    assert entry.error.startswith("Error count exceeded. The last error: [Errno 5]")


@pytest.mark.parametrize("kind", [errors.ReplicaNotFound, errors.RecoveryInProgress])
def test_replicas_that_somebody_else_wants_are_no_errors(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: type[errors.HowdahError]
) -> None:
    def refuses(store: Any, block: Any, *more: Any) -> None:
        if block.block_id <= BLOCKS // 2:
            raise kind("not now")
        move_to_volume(store, block, *more)

    monkeypatch.setattr(worker_module, "move_to_volume", refuses)
    bench.submit(BLOCKS * LENGTH)
    (entry,) = bench.wait().entries
    assert (entry.error_count, entry.blocks_copied) == (0, BLOCKS // 2)


def test_a_full_volume_ends_the_moves(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise errors.DiskOutOfSpace("it is full")

    monkeypatch.setattr(worker_module, "move_to_volume", full)
    bench.submit()
    (entry,) = bench.wait().entries
    assert (entry.error_count, entry.error) == (0, "it is full")


def test_a_volume_that_is_taken_out_ends_the_moves(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = Pause(monkeypatch)
    bench.submit()
    assert pause.began.wait(60)
    bench.node.store.trouble.remove_volume(bench.target, "it was taken out", tell=False)
    pause.goes_on.set()
    (entry,) = bench.wait().entries
    assert entry.error.startswith("Disk Balancer - Unable to find dest volume: ")


def test_a_defect_is_told_of_and_ends_no_thread_but_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: Any) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(worker_module, "move_to_volume", defect)
        bench.submit()
        (entry,) = bench.wait().entries
    assert (entry.error_count, entry.error) == (1, "a defect: a bug")
    bench.submit()
    assert bench.wait().entries[0].blocks_copied == 4


def test_a_refused_plan_leaves_the_last_one_as_it_is(bench: Bench) -> None:
    plan = bench.submit()
    bench.wait()
    with pytest.raises(errors.DiskBalancerError, match="mis-matched hash"):
        bench.balancer.submit(Submitted("0" * 40, 1, "{}", skips_date_check=True), "/other")
    status = bench.balancer.status()
    assert (status.plan_id, status.result) == (plan, WorkResult.PLAN_DONE)


def test_settings_are_told(bench: Bench) -> None:
    assert bench.balancer.setting(BANDWIDTH_KEY) == "1000"
    assert json.loads(bench.balancer.setting(VOLUMES_KEY)) == {
        each.storage_id: each.path for each in bench.node.volumes.all
    }
    with pytest.raises(errors.DiskBalancerError, match="Unknown key") as refused:
        bench.balancer.setting("other")
    assert refused.value.result == "UNKNOWN_KEY"


def test_a_plan_ends_where_plans_are_not_taken_any_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "Throttle", Slow)
    bench.submit()
    bench.balancer.configure(enabled=False, plan_valid_s=1)
    with pytest.raises(errors.DiskBalancerError, match="not enabled"):
        bench.balancer.status()
    wait_until(lambda: len(bench.node.store.writers) == 0, 60)
    bench.balancer.configure(enabled=True, plan_valid_s=1)
    assert bench.wait().result is WorkResult.PLAN_CANCELLED


def test_how_old_a_plan_may_be_changes_meanwhile(bench: Bench) -> None:
    text = plan_text(NodePlan("host", UUID, 1, int(time.time() * 1000) - 60_000, ()))
    bench.balancer.configure(enabled=True, plan_valid_s=2)
    with pytest.raises(errors.DiskBalancerError, match="generated more than 2s ago"):
        bench.balancer.submit(Submitted(plan_id(text), 1, text, skips_date_check=False), "/plan")


def test_where_it_is_not_enabled_everything_is_refused(lab: Lab) -> None:
    bench = Bench(lab, DiskBalancerSettings(enabled=False))
    for ask in (
        bench.submit,
        lambda: bench.balancer.cancel("1"),
        bench.balancer.status,
        lambda: bench.balancer.setting(BANDWIDTH_KEY),
    ):
        with pytest.raises(errors.DiskBalancerError, match="not enabled") as refused:
            ask()
        assert refused.value.result == "DISK_BALANCER_NOT_ENABLED"


def test_a_plan_that_no_thread_carries_out_is_not_said_to_be_done(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    bench = Bench(lab)
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(errors.RetriableError, match="there is no thread for plan"):
            bench.submit()
    assert bench.balancer.status().result is WorkResult.NO_PLAN
    bench.submit()
    wait_until(lambda: bench.balancer.status().result is WorkResult.PLAN_DONE)
