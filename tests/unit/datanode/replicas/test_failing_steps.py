"""Each step of a change of a replica fails once: what is left is what the map says.

A change is a row of calls to the disk. For every one of them the change is made on a replica
of its own, and that call fails. Afterwards the files have at least what the map promises,
every acknowledged byte is there, nobody holds anything, the control process knows what there is,
and a recovery sets the replica to what was acknowledged.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from howdah import errors
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.state.messages import ReplicaOpened, ReplicaReceived
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.runtime.sockets import PeerClosed

Lab = Any
DATA: Final = bytes(range(256)) * 10
ACKED: Final = 700
CALLS: Final = (
    *("open", "rename", "fsync", "fdatasync", "ftruncate", "pwrite", "pwritev", "stat", "fstat"),
)
RECOVERY: Final = 1500
MOST_CALLS: Final = 40


class Failing:
    """The n-th call of `os.name` for a file of the block fails, and no other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
        self._real: Callable[..., Any] = getattr(os, name)
        self._left = number
        self.failed = False
        monkeypatch.setattr(os, name, self._call)

    def _call(self, what: Any, *arguments: Any, **options: Any) -> Any:
        path = os.readlink(f"/proc/self/fd/{what}") if isinstance(what, int) else str(what)
        if "/current/BP-" in path and not self.failed:
            self._left -= 1
            if self._left < 0:
                self.failed = True
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return self._real(what, *arguments, **options)


def open_replica(lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client is gone; `ACKED` bytes of it are acknowledged, and more are there."""
    writer = lab.Writer(node, lab.write_request(lab.block(length=1 << 20)))
    writer.send(0, DATA[:ACKED])
    assert writer.ack().is_success
    with monkeypatch.context() as patch:
        # As where a mirror has not acked.
        patch.setattr(Replica, "acknowledge", lambda replica, length: None)
        writer.send(512, DATA[512:])
        assert writer.ack().is_success
        writer.close()
        node.wait_idle()


def rebuild(lab: Lab, node: Any, stage: Stage, length: int) -> None:
    request = lab.write_request(lab.block(length=1 << 20), stage=stage)
    request = replace(
        request,
        min_bytes_received=length,
        max_bytes_received=len(DATA),
        latest_generation_stamp=1002,
    )
    writer = lab.Writer(node, request)
    if writer.response.is_success and stage is not Stage.PIPELINE_CLOSE_RECOVERY:
        with_rest = DATA[length - length % 512 :]
        try:
            writer.send(length - length % 512, with_rest, sync=True)
            writer.send(len(DATA), b"", last=True)
            writer.ack()
            writer.ack()
        except PeerClosed:
            pass  # The call that failed was one of these.
    writer.close()


def settle(lab: Lab, node: Any, length: int) -> None:
    try:
        found = replica_recovery.init_recovery(node.store, lab.block(), RECOVERY - 1)
        if found is not None:
            replica_recovery.settle(node.store, found.as_block(lab.POOL), RECOVERY - 1, length)
    except (errors.HowdahError, OSError):
        return  # The call that failed was one of these.


def finalized(lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write_block(node, lab.block(), DATA[:ACKED])


def finalized_longer(lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write_block(node, lab.block(), DATA)


CHANGES: Final[dict[str, tuple[Callable[..., None], Callable[..., None]]]] = {
    "a pipeline goes on behind a cut": (
        open_replica,
        lambda lab, node: rebuild(lab, node, Stage.PIPELINE_SETUP_STREAMING_RECOVERY, ACKED),
    ),
    "an append": (
        finalized,
        lambda lab, node: rebuild(lab, node, Stage.PIPELINE_SETUP_APPEND, ACKED),
    ),
    "a close is repeated": (
        finalized,
        lambda lab, node: rebuild(lab, node, Stage.PIPELINE_CLOSE_RECOVERY, ACKED),
    ),
    "a recovery cuts an open replica": (
        open_replica,
        lambda lab, node: settle(lab, node, ACKED),
    ),
    "a recovery cuts a final replica": (
        finalized_longer,
        lambda lab, node: settle(lab, node, ACKED),
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_step_that_fails_leaves_what_the_map_says(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, change: str, call: str
) -> None:
    prepare, make = CHANGES[change]
    for number in range(MOST_CALLS):
        node = lab.node()
        prepare(lab, node, monkeypatch)
        with monkeypatch.context() as patch:
            failing = Failing(patch, call, number)
            make(lab, node)
            node.wait_idle()
        check(lab, node, f"{call} number {number}")
        node.close()
        if not failing.failed:
            return
    pytest.fail(f"{change} makes more than {MOST_CALLS} calls of {call}")


def believed(node: Any) -> tuple[int, ReplicaState]:
    """The stamp and the state of the replica that the control process puts into full reports."""
    match [each for each in node.events if isinstance(each, ReplicaOpened | ReplicaReceived)][-1]:
        case ReplicaReceived(block):
            return block.generation_stamp, ReplicaState.FINALIZED
        case ReplicaOpened(block, _, left_over):
            state = ReplicaState.RWR if left_over else ReplicaState.RBW
            return block.generation_stamp, state
    raise AssertionError("the control process was told of no replica")


def check(lab: Lab, node: Any, what: str) -> None:
    assert len(node.store.writers) == 0, what
    volume = node.volumes.all[0]
    assert volume.failure is None, what
    assert volume.promised_bytes == 0, what
    replica = node.replicas.find(lab.POOL, 1)
    assert replica is not None, f"{what}: the replica is gone"
    assert believed(node) == (replica.generation_stamp, replica.stored_as), what
    block_path, meta_path = map(Path, node.store.paths(lab.POOL, replica))
    length = replica.length_bytes
    assert length >= ACKED, what
    assert block_path.stat().st_size >= length, f"{what}: {replica} is longer than its file"
    assert meta_path.stat().st_size >= block_files.meta_bytes(lab.SPEC, length), what
    assert block_path.read_bytes()[:ACKED] == DATA[:ACKED], what
    found = replica_recovery.init_recovery(node.store, lab.block(), RECOVERY)
    assert found is not None, what
    replica_recovery.settle(node.store, found.as_block(lab.POOL), RECOVERY, ACKED)
    assert node.content(1) == DATA[:ACKED], what
    used = sum(path.stat().st_size for path in node.block_path(1).parent.iterdir())
    assert volume.pool_used_bytes(lab.POOL) == used, f"{what}: the books are wrong"
