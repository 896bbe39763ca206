"""What an active namenode does, and no other (shell).

Mirrors Hadoop's ActiveState and FSNamesystem.startActiveServices / stopActiveServices.

Start: a segment of the edit log begins, and the duties have their turns from then on. Stop:
the duties end where they are, calls that wait for datanodes are refused, a checkpoint that is
being written is given up, and the segment of the log ends in order. After that nothing is
written, and no timer or thread of the role is left.

    duty                   does
    ---------------------  ---------------------------------------------------------------
    redundancy work        copies and deletions of replicas (BlockManager.RedundancyMonitor)
    pending answers        `complete` and `append` that wait for replicas
    lease recovery         files of writers that fell silent (LeaseManager.Monitor)
    block warnings         a line in the log when blocks are missing, corrupt or few
    checkpoints            an image when one is due
    edit log roller        a new segment when one is long (NameNodeEditLogRoller)
    trash emptier          checkpoints of trash that are old (TrashPolicyDefault.Emptier)
    lazy persist scrubber  files that were lost in memory (LazyPersistFileScrubber)
    marks of a satisfier   are taken off when none may run any more (StoragePolicySatisfyManager)
    re-encryption          keys of files are encrypted anew (ReencryptionHandler)
    delegation tokens      other keys for them, and the removal of those that are over
                           (AbstractDelegationTokenSecretManager.ExpiredTokenRemover)
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.service.attributes.satisfaction import unmarking
from howdah.namenode.service.calls.reencryption import Reencryptor
from howdah.namenode.service.calls.tokens import TokenCalls
from howdah.namenode.service.calls.trash import TrashEmptier
from howdah.namenode.service.ha.periodic_tasks import PeriodicTask, PeriodicTasks
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.service.incremental_tasks import Round
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.writing.lease_recovery import LeaseRecovery
from howdah.namenode.service.writing.lost_lazy_files import LazyPersistScrubber
from howdah.namenode.state.edit_log.auto_roll import AutoRoll

log = logging.getLogger(__name__)

_REENCRYPTION: Final = "re-encryption"
REJOIN_MS: Final = 2000
"""No sooner than that another segment begins for a journal node that is back."""


class ClientAnswers(Protocol):
    """Calls of clients that wait for datanodes."""

    def look_at_waiting(self) -> None: ...

    def refuse_waiting(self, error: errors.HowdahError) -> None: ...


class OwnCheckpoints(Protocol):
    """The images that this namenode makes."""

    def start(self) -> None: ...

    def tick(self) -> None: ...

    def stop(self) -> None: ...


class BlockWarnings(Protocol):
    """What is worth a line about blocks."""

    def work(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class ActiveParts:
    """What the duties work with."""

    leases: LeaseRecovery
    answers: ClientAnswers
    checkpoints: OwnCheckpoints
    warnings: BlockWarnings
    auto_roll: AutoRoll
    trash: TrashEmptier
    scrubber: LazyPersistScrubber
    reencryptor: Reencryptor
    redundancy_interval_ms: int
    tokens: TokenCalls | None = None
    """None where no delegation tokens are issued."""


class Active:
    """The role. It may be started again after it was stopped."""

    state: Final = HAState.ACTIVE

    def __init__(
        self,
        namesystem: Namesystem,
        log_writer: LogWriter,
        parts: ActiveParts,
        *,
        soon: Callable[[Callable[[], None]], object],
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """`soon` calls back when others had their turn, `later` so many seconds later."""
        self._namesystem = namesystem
        self._log = log_writer
        self._parts = parts
        self._next_redundancy_ms = 0
        self.duties: Final = PeriodicTasks(
            [
                PeriodicTask("redundancy work", self._redundancy),
                PeriodicTask("cache planning", self._plan_caching),
                PeriodicTask("pending answers", parts.answers.look_at_waiting),
                PeriodicTask("lease recovery", parts.leases.round),
                PeriodicTask("block warnings", self._warn),
                PeriodicTask("checkpoints", parts.checkpoints.tick),
                PeriodicTask("edit log roller", self._roll),
                PeriodicTask("trash emptier", self._empty_trash),
                PeriodicTask("lazy persist scrubber", self._scrub),
                PeriodicTask("marks of a satisfier", lambda: unmarking(namesystem)),
                PeriodicTask(_REENCRYPTION, parts.reencryptor.turn),
                PeriodicTask("delegation tokens", self._keep_tokens),
            ],
            soon,
            namesystem.clock.monotonic_ms,
        )
        self._next_rejoin_ms = 0
        parts.reencryptor.when_due = lambda: self.duties.run_now(_REENCRYPTION)
        parts.reencryptor.later = lambda pause_ms, act: later(pause_ms / 1000, act)

    def start(self) -> None:
        """Raises OSError if the log cannot be begun: then nothing was started."""
        namesystem = self._namesystem
        self._log.open()
        namesystem.become_active()
        self._parts.checkpoints.start()
        if self._parts.tokens is not None:
            self._parts.tokens.became_active()
        if not namesystem.namespace.root.owner:
            permissions = namesystem.permissions
            namesystem.commit(edits.SetOwnerOp("/", permissions.superuser, permissions.supergroup))

    def tick(self) -> None:
        self.duties.tick()

    def quiet(self, refusal: errors.HowdahError) -> None:
        """`refusal` is what those are told who wait."""
        self.duties.stop()
        self._parts.answers.refuse_waiting(refusal)
        self._parts.checkpoints.stop()
        self._namesystem.role.writable = False
        self._log.hand_over()

    def stop(self, refusal: errors.HowdahError) -> None:
        """Raises OSError if the log could not be ended: then this process may not go on as if
        it had been."""
        self.quiet(refusal)
        self._log.close()

    # The duties.

    def _redundancy(self) -> Round | None:
        now_ms = self._namesystem.clock.monotonic_ms()
        if now_ms < self._next_redundancy_ms:
            return None
        self._next_redundancy_ms = now_ms + self._parts.redundancy_interval_ms
        return (() for _ in self._namesystem.block_manager.redundancy_round())

    def _plan_caching(self) -> Round | None:
        slices = self._namesystem.caching.round()
        return None if slices is None else (() for _ in slices)

    def _warn(self) -> None:
        for line in self._parts.warnings.work():
            log.warning("%s", line)

    def _roll(self) -> None:
        namesystem = self._namesystem
        now_ms = namesystem.clock.monotonic_ms()
        if self._log.wants_segment and now_ms >= self._next_rejoin_ms:
            self._next_rejoin_ms = now_ms + REJOIN_MS
            log.info(
                "a segment begins with transaction %d, for a journal node that is back",
                self._log.roll(),
            )
        if not namesystem.safe_mode.on and self._parts.auto_roll.is_due(
            self._log.edits_in_segment, now_ms
        ):
            log.info("a new segment begins with transaction %d", self._log.roll())

    def _keep_tokens(self) -> Round | None:
        tokens = self._parts.tokens
        return None if tokens is None else tokens.turn()

    def _empty_trash(self) -> Round | None:
        trash = self._parts.trash
        return ((said,) if said else () for said in trash.round()) if trash.is_due() else None

    def _scrub(self) -> Round | None:
        scrubber = self._parts.scrubber
        if not scrubber.is_due():
            return None
        return ((said,) if said else () for said in scrubber.round())
