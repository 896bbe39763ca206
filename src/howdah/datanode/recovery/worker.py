"""The primary of block recoveries: asks, agrees, has it done, and tells the control process.

BlockRecoveryWorker in Hadoop.

A shell around `block_recovery`. It runs in the data process, where this datanode's own
replicas are: those are taken and set without a socket. All datanodes of a block are
asked at once, so one that is dead costs one time-out; several blocks are recovered at a
time, and one that fails is logged with its block and datanodes. Its namenode makes
another attempt when it has waited long enough.

The result goes to the control process, whose actor tells the namenode behind the news of the
replicas, and again until it is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

from howdah import errors
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.recovery.inter_datanode import Peer
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.block_recovery import Candidate, agree, settle
from howdah.datanode.state.messages import BlockSynchronized, RecoverBlock
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock

log = logging.getLogger(__name__)

MAX_RECOVERIES = 8
"""Blocks that are recovered at a time."""
T = TypeVar("T")


class _Participant(Protocol):
    def init_recovery(self, order: RecoverBlock) -> Candidate | None: ...

    def settle(
        self, replica: ExtendedBlock, recovery_id: int, new_length_bytes: int, new_block_id: int
    ) -> str: ...

    def close(self) -> None: ...


class _LocalParticipant:
    """This datanode as a participant of its own recovery."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store

    def init_recovery(self, order: RecoverBlock) -> Candidate | None:
        return replica_recovery.init_recovery(self._store, order.block, order.recovery_id)

    def settle(
        self, replica: ExtendedBlock, recovery_id: int, new_length_bytes: int, new_block_id: int
    ) -> str:
        return replica_recovery.settle(
            self._store, replica, recovery_id, new_length_bytes, new_block_id
        )

    def close(self) -> None:
        """There is no connection."""


class RecoveryWorker:
    """Runs the recoveries of which this datanode is the primary."""

    def __init__(
        self,
        store: BlockStore,
        settings: DataSettings,
        tell: Callable[[BlockSynchronized], None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._tell = tell
        self._pool = ThreadPoolExecutor(MAX_RECOVERIES, "recovery")
        self.uuid = ""
        """Of this datanode, once it has registered."""

    def start(self, order: RecoverBlock) -> Future[None]:
        """Recover a block in the background."""
        return self._pool.submit(self._run, order)

    def close(self) -> None:
        """Wait for the recoveries that are under way; no others begin."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, order: RecoverBlock) -> None:
        names = ", ".join(node.transfer_address for node in order.nodes)
        try:
            result = self._recover(order)
        except errors.RecoveryInProgress as error:
            log.warning("%s", error)
        except (errors.HowdahError, OSError) as error:
            log.error(
                "recovery %d of %s at %s failed: %s", order.recovery_id, order.block, names, error
            )
        except Exception:
            # The namenode orders it again; the pool's thread is for other blocks, too.
            log.exception(
                "recovery %d of %s at %s failed on a defect", order.recovery_id, order.block, names
            )
        else:
            self._tell(result)

    def _recover(self, order: RecoverBlock) -> BlockSynchronized:
        log.info("recovery %d of %s begins, by order of %s", *_about(order))
        participants = {node: self._participant(node) for node in order.nodes}
        try:
            answers = self._call_all(
                order, order.nodes, lambda node: participants[node].init_recovery(order), "says"
            )
            agreement = agree(order, answers)
            log.info(
                "recovery %d of %s: %d bytes at %s",
                order.recovery_id,
                order.block,
                agreement.block.length_bytes,
                ", ".join(f"{node} ({one})" for node, one in agreement.participants.items())
                or "no datanode",
            )
            target = agreement.block
            outcomes = self._call_all(
                order,
                agreement.participants,
                lambda node: participants[node].settle(
                    agreement.participants[node].as_block(order.block.pool_id),
                    order.recovery_id,
                    target.length_bytes,
                    target.block_id,
                ),
                "is left out",
            )
            return settle(order, agreement, outcomes)
        finally:
            for participant in participants.values():
                participant.close()

    def _participant(self, node: DatanodeAddress) -> _Participant:
        if self.uuid and node.uuid == self.uuid:
            return _LocalParticipant(self._store)
        settings = self._settings
        return Peer(node, settings.socket_timeout_s, use_hostname=settings.use_hostname)

    def _call_all(
        self,
        order: RecoverBlock,
        nodes: Iterable[DatanodeAddress],
        question: Callable[[DatanodeAddress], T],
        problem: str,
    ) -> dict[DatanodeAddress, T | Exception]:
        """Return what each of `nodes` answers, or how it fails; in their order."""
        asked = list(nodes)
        answers: dict[DatanodeAddress, T | Exception] = {}
        if not asked:
            return answers
        with ThreadPoolExecutor(len(asked), f"recovery of {order.block}") as pool:
            futures = {node: pool.submit(question, node) for node in asked}
        for node, future in futures.items():
            error = future.exception()
            if error is None:
                answers[node] = future.result()
            elif isinstance(error, errors.HowdahError | OSError):
                log.warning(
                    "recovery %d of %s: %s %s: %s",
                    order.recovery_id,
                    order.block,
                    node,
                    problem,
                    error,
                )
                answers[node] = error
            else:
                raise error
        return answers


def _about(order: RecoverBlock) -> tuple[int, str, str]:
    block = str(order.block)
    if order.target is not None:
        block += f" (to {order.target.length_bytes} bytes of {order.target.name})"
    return order.recovery_id, block, order.ordered_by
