"""The one thread that moves replicas for a plan, and what is answered about it.

DiskBalancer and DiskBalancerMover in Hadoop. A plan that was submitted is checked and begun at
once; there is one at a time. The pairs of volumes of the plan have their turn one after the other,
and each goes once over the replicas of its source. Every move is whole or has not been
(`howdah.datanode.replicas.volume_move`), so the datanode may be killed in the middle of one. A plan
that was cut off is planned and submitted anew.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from howdah import errors
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.replicas.volume_move import move_to_volume
from howdah.datanode.state.disk_balancer.checks import Submitted, checked_plan, work_of
from howdah.datanode.state.disk_balancer.work import BalancerWork, DiskBalancerSettings
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume
from howdah.diskbalancer.status import BANDWIDTH_KEY, VOLUMES_KEY, WorkResult, WorkStatus
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.runtime.byte_rate import Throttle

log = logging.getLogger(__name__)

CANCEL_TIMEOUT_S: Final = 10.0
"""How long a cancellation waits for the thread to end, as in Hadoop."""
_NOT_NOW: Final = (errors.ReplicaNotFound, errors.RecoveryInProgress)
"""Deleted meanwhile, or wanted by a client."""


class _Cancelled(Exception):
    """The plan ends in the middle of a move."""


class DiskBalancer:
    """Takes plans, and works on one. Thread-safe."""

    def __init__(
        self, store: BlockStore, settings: DiskBalancerSettings, uuid: Callable[[], str]
    ) -> None:
        """`uuid` is that of this datanode, once it has one."""
        self._store = store
        self._settings = settings
        self._uuid = uuid
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._result = WorkResult.NO_PLAN
        self._plan_id = ""
        self._plan_file = ""
        self._works: list[BalancerWork] = []

    def configure(self, *, enabled: bool, plan_valid_s: float) -> None:
        """From now on. A plan that is at work ends where plans are not taken any more (Hadoop's
        goes on, and cannot be cancelled)."""
        with self._lock:
            self._settings = replace(self._settings, enabled=enabled, plan_valid_s=plan_valid_s)
            if not enabled and self._is_at_work():
                self._result = WorkResult.PLAN_CANCELLED
                self._cancelled.set()

    # --- what is asked for ---

    def submit(self, submitted: Submitted, plan_file: str) -> None:
        """Begin with this plan. Raises `DiskBalancerError`."""
        with self._lock:
            self._check_enabled()
            if self._is_at_work():
                raise _refusal("PLAN_ALREADY_IN_PROGRESS", "Executing another plan")
            try:
                plan = checked_plan(
                    submitted,
                    self._uuid(),
                    int(self._settings.plan_valid_s * 1000),
                    int(time.time() * 1000),
                )
                works = work_of(
                    plan,
                    {
                        volume.storage_id: volume.storage_type
                        for volume in self._store.volumes.working()
                    },
                )
            except errors.DiskBalancerError as error:
                log.error("plan %s is refused as %s: %s", plan_file, error.result, error)
                raise
            cancelled = threading.Event()
            thread = threading.Thread(
                target=self._run, args=(works, cancelled), name="disk balancer", daemon=True
            )
            before = self._plan_id, self._plan_file
            # Its thread names them.
            self._plan_id, self._plan_file = submitted.plan_id, plan_file
            try:
                thread.start()
            except RuntimeError as error:
                self._plan_id, self._plan_file = before
                raise errors.RetriableError(
                    f"there is no thread for plan {plan_file}: {error}"
                ) from error
            self._works, self._cancelled, self._thread = works, cancelled, thread
            self._result = WorkResult.PLAN_UNDER_PROGRESS

    def cancel(self, plan_id: str) -> None:
        """End this plan, if it is at work; what was moved stays moved. Raises
        `DiskBalancerError`."""
        with self._lock:
            self._check_enabled()
            if not plan_id or plan_id != self._plan_id:
                raise _refusal("NO_SUCH_PLAN", "No such plan.")
            thread = self._thread
            if thread is None or not self._is_at_work():
                return
            self._result = WorkResult.PLAN_CANCELLED
            self._cancelled.set()
        thread.join(CANCEL_TIMEOUT_S)
        log.info("plan %s is cancelled", plan_id)

    def status(self) -> WorkStatus:
        """How far the plan is, the last one if none is at work. Raises `DiskBalancerError`."""
        with self._lock:
            self._check_enabled()
            if self._result is WorkResult.PLAN_UNDER_PROGRESS and not self._is_at_work():
                self._result = WorkResult.PLAN_DONE
            return WorkStatus(
                self._result,
                self._plan_id,
                self._plan_file,
                tuple(
                    work.entry(
                        self._store.volumes[work.source_id].path,
                        self._store.volumes[work.destination_id].path,
                    )
                    for work in self._works
                ),
            )

    def setting(self, key: str) -> str:
        """The directories of the volumes by their storage ids, as JSON, or MiB a second."""
        with self._lock:
            self._check_enabled()
        if key == VOLUMES_KEY:
            working = self._store.volumes.working()
            return json.dumps({volume.storage_id: volume.path for volume in working})
        if key == BANDWIDTH_KEY:
            return str(self._settings.rules.bandwidth_mib)
        raise _refusal("UNKNOWN_KEY", "Unknown key")

    def _check_enabled(self) -> None:
        if not self._settings.enabled:
            raise _refusal("DISK_BALANCER_NOT_ENABLED", "Disk Balancer is not enabled.")

    def _is_at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    # --- the work ---

    def _run(self, works: list[BalancerWork], cancelled: threading.Event) -> None:
        log.info("begins with plan %s, %s: %d moves", self._plan_id, self._plan_file, len(works))
        for work in works:
            if cancelled.is_set():
                break
            try:
                self._work(work, cancelled)
            except Exception as defect:
                # The next pair of volumes has its turn, and who asks is told.
                log.exception("moving from %s to %s: a defect", work.source_id, work.destination_id)
                work.failed(f"a defect: {defect}")
        log.info("plan %s has ended", self._plan_id)

    def _work(self, work: BalancerWork, cancelled: threading.Event) -> None:
        rules = self._settings.rules
        source = self._store.volumes[work.source_id]
        destination = self._store.volumes[work.destination_id]
        throttle = Throttle(work.bandwidth(rules))
        work.start_time_ms = int(time.time() * 1000)
        began_s = time.monotonic()

        def took(count_bytes: int) -> None:
            if cancelled.wait(throttle.delay_s(count_bytes, time.monotonic())):
                raise _Cancelled
            work.elapsed_s = int(time.monotonic() - began_s)

        for pool_id, replica in self._replicas_of(source):
            if cancelled.is_set() or work.is_enough(rules):
                break
            if work.has_failed(rules):
                work.error = f"Error count exceeded. The last error: {work.error}"
                break
            trouble = _unusable("source", source) or _unusable("dest", destination)
            if trouble:
                work.error = trouble
                break
            if not work.accepts(replica.length_bytes, rules):
                continue
            try:
                self._move(work, replica.as_block(pool_id), destination, took)
            except errors.DiskOutOfSpace as error:
                work.error = error.message
                break
            except _Cancelled:
                break
        else:
            if not work.is_enough(rules) and not work.error:
                work.error = "No source blocks found to move."
        work.elapsed_s = int(time.monotonic() - began_s)
        log.log(
            logging.WARNING if work.error else logging.INFO,
            "moved %d replicas, %d of %d bytes, from %s to %s in %d s%s",
            work.blocks_copied,
            work.bytes_copied,
            work.bytes_to_copy,
            source,
            destination,
            work.elapsed_s,
            f": {work.error}" if work.error else "",
        )

    def _move(
        self,
        work: BalancerWork,
        block: ExtendedBlock,
        destination: Volume,
        took: Callable[[int], None],
    ) -> None:
        """One replica. What is no error of a disk, or of this block alone, is raised."""
        try:
            move_to_volume(self._store, block, destination, took)
        except _NOT_NOW as error:
            log.info("%s stays where it is: %s", block, error)
        except errors.DiskOutOfSpace:
            raise
        except OSError as error:
            log.error("%s stays where it is: %s", block, error)
            work.failed(str(error))
        else:
            work.moved(block.length_bytes)

    def _replicas_of(self, volume: Volume) -> Iterator[tuple[str, Replica]]:
        """The finalized ones, each looked up when it has its turn."""
        for pool_id in self._store.served_pools():
            for block_id in self._store.block_ids(pool_id):
                replica = self._store.find_id(pool_id, block_id)
                if (
                    replica is not None
                    and replica.volume_id == volume.storage_id
                    and replica.state is ReplicaState.FINALIZED
                ):
                    yield pool_id, replica


def _refusal(result: str, message: str) -> errors.DiskBalancerError:
    return errors.DiskBalancerError.of(result, message)


def _unusable(role: str, volume: Volume) -> str:
    if volume.failure is None:
        return ""
    return f"Disk Balancer - Unable to find {role} volume: {volume.path}: {volume.failure}"
