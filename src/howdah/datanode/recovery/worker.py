"""The primary of block recoveries: asks, agrees, has it done, and tells the control process.

BlockRecoveryWorker in Hadoop.

A shell around `block_recovery` and `group_recovery`. It runs in the data process, where this
datanode's own replicas are: those are taken and set without a socket. All datanodes of a block
are asked at once, so one that is dead costs one time-out; several blocks are recovered at a
time, and one that fails is logged with its block and datanodes. Its namenode makes another
attempt when it has waited long enough.

The result goes to the control process, whose actor tells the namenode behind the news of the
replicas, and again until it is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from howdah import errors
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.recovery.inter_datanode import Peer
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state import group_recovery
from howdah.datanode.state.block_recovery import Candidate, agree, settle
from howdah.datanode.state.group_recovery import Location
from howdah.datanode.state.messages import BlockSynchronized, RecoverBlock, RecoverGroup
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.striping.layout import GroupLayout

log = logging.getLogger(__name__)

MAX_RECOVERIES = 8
"""Blocks that are recovered at a time."""
T = TypeVar("T")
P = TypeVar("P", DatanodeAddress, Location)
"""Where a replica is: a datanode, or an internal block at one."""


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

    def start(self, order: RecoverBlock | RecoverGroup) -> Future[None]:
        """Recover a block, or a block group, in the background."""
        return self._pool.submit(self._run, order)

    def close(self) -> None:
        """Wait for the recoveries that are under way; no others begin."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, order: RecoverBlock | RecoverGroup) -> None:
        block = order.group if isinstance(order, RecoverGroup) else order.block
        attempt = _Attempt(order.recovery_id, block)
        names = ", ".join(node.transfer_address for node in order.nodes)
        try:
            if isinstance(order, RecoverGroup):
                result = self._recover_group(order, attempt)
            else:
                result = self._recover(order, attempt)
        except errors.RecoveryInProgress as error:
            log.warning("%s", error)
        except (errors.HowdahError, OSError) as error:
            log.error("%s at %s failed: %s", attempt, names, error)
        except Exception:
            # The namenode orders it again; the pool's thread is for other blocks, too.
            log.exception("%s at %s failed on a defect", attempt, names)
        else:
            self._tell(result)

    def _recover(self, order: RecoverBlock, attempt: _Attempt) -> BlockSynchronized:
        log.info("%s%s begins, by order of %s", attempt, _aim(order), order.ordered_by)
        with self._participants(order.nodes) as participants:
            answers = self._call_all(
                attempt, order.nodes, lambda node: participants[node].init_recovery(order), "says"
            )
            agreement = agree(order, answers)
            target = agreement.block
            _log_agreement(attempt, target.length_bytes, agreement.participants)
            outcomes = self._call_all(
                attempt,
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

    def _recover_group(self, order: RecoverGroup, attempt: _Attempt) -> BlockSynchronized:
        log.info("%s of %s begins, by order of %s", attempt, order.policy.name, order.ordered_by)
        group = order.group
        locations = list(map(Location, order.nodes, order.indices))

        def init_recovery(location: Location) -> Candidate | None:
            block = replace(group, block_id=group.block_id + location.index)
            return participants[location.node].init_recovery(
                RecoverBlock(
                    block, order.recovery_id, (location.node,), ordered_by=order.ordered_by
                )
            )

        with self._participants(order.nodes) as participants:
            agreement = group_recovery.agree(
                order, self._call_all(attempt, locations, init_recovery, "says")
            )
            _log_agreement(attempt, agreement.group.length_bytes, agreement.participants)
            layout = GroupLayout(order.policy, agreement.group.length_bytes)

            def settle_block(location: Location) -> str:
                candidate = agreement.participants[location]
                return participants[location.node].settle(
                    candidate.as_block(group.pool_id),
                    order.recovery_id,
                    layout.block_length(location.index),
                    candidate.block_id,
                )

            outcomes = self._call_all(attempt, agreement.participants, settle_block, "is left out")
            return group_recovery.settle(order, agreement, outcomes)

    @contextmanager
    def _participants(
        self, nodes: Iterable[DatanodeAddress]
    ) -> Iterator[Mapping[DatanodeAddress, _Participant]]:
        participants = {node: self._participant(node) for node in nodes}
        try:
            yield participants
        finally:
            for participant in participants.values():
                participant.close()

    def _participant(self, node: DatanodeAddress) -> _Participant:
        if self.uuid and node.uuid == self.uuid:
            return _LocalParticipant(self._store)
        settings = self._settings
        return Peer(
            node,
            settings.socket_timeout_s,
            use_hostname=settings.use_hostname,
            user=None if settings.guard is None else settings.guard.rpc_user,
        )

    def _call_all(
        self,
        attempt: _Attempt,
        locations: Iterable[P],
        question: Callable[[P], T],
        problem: str,
    ) -> dict[P, T | Exception]:
        """Return what is answered at each of `locations`, or how it fails; in their order."""
        asked = list(locations)
        answers: dict[P, T | Exception] = {}
        if not asked:
            return answers
        with ThreadPoolExecutor(len(asked), f"recovery of {attempt.block}") as pool:
            futures = {location: pool.submit(question, location) for location in asked}
        for location, future in futures.items():
            error = future.exception()
            if error is None:
                answers[location] = future.result()
            elif isinstance(error, errors.HowdahError | OSError):
                log.warning("%s: %s %s: %s", attempt, location, problem, error)
                answers[location] = error
            else:
                raise error
        return answers


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What a recovery is called in the log."""

    recovery_id: int
    block: ExtendedBlock

    def __str__(self) -> str:
        return f"recovery {self.recovery_id} of {self.block}"


def _aim(order: RecoverBlock) -> str:
    if order.target is None:
        return ""
    return f" (to {order.target.length_bytes} bytes of {order.target.name})"


def _log_agreement(
    attempt: _Attempt, length_bytes: int, participants: Mapping[P, Candidate]
) -> None:
    log.info(
        "%s: %d bytes at %s",
        attempt,
        length_bytes,
        ", ".join(f"{location} ({candidate})" for location, candidate in participants.items())
        or "no datanode",
    )
