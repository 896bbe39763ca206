"""Changes of role that take a while (shell). Hadoop: NameNode.transitionToActive,
transitionToStandby, transitionToObserver with FSNamesystem.startActiveServices.

One change at a time; whoever asks meanwhile waits. The loop goes on: datanodes are heard and
health is told while the log is taken over. The steps are those of docs/how-it-works/roles.md:

1. The tail **stops**: nobody reads the log but the takeover.
2. The shared log is **taken over**: no former writer gets anything into it from here on, and
   its segments are finished.
3. The rest of it is read and applied: this namenode has **caught up**.
4. The directories of this machine lose what is **not in the shared log**.
5. A segment **begins**, in the shared log and in the directories.
6. If the former active may still believe in itself, its **lease is waited for**.
7. The role **changes**, in one turn of the loop.

Until 7 this namenode is a standby, and a step that fails leaves it one: it gives the shared
log up, follows it again, and says why. What it has read is nothing that others do not have.
An edit that cannot be applied ends the process.

To stop being active (`roles`), the gate refuses calls first; then the log ends, beside the
loop. If it cannot be ended, the process ends: what it did not acknowledge is nobody's loss.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from howdah import errors
from howdah.namenode.journal.stray_segments import set_strays_aside
from howdah.namenode.server.ha.edit_log_tailer import EditLogTailer
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.service.ha.roles import Roles
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.edit_log.shared_log import SharedJournal, SharedLog
from howdah.namenode.state.inodes.block_events import NamespaceBroken
from howdah.runtime import background_threads
from howdah.storage.layout import SEEN_TXID_NAME

log = logging.getLogger(__name__)


def boottime_ms() -> int:
    """The clock of leases: it goes on while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class Transitions:
    """Changes the role of one namenode that shares its log."""

    def __init__(
        self,
        namesystem: Namesystem,
        roles: Roles,
        shared: SharedLog,
        tailing: EditLogTailer,
        log_writer: LogWriter,
        edits_directories: Sequence[Path],
        seen_txid: Callable[[], int],
        fail: Callable[[str], None],
    ) -> None:
        """`edits_directories` are the `current` directories of this machine; `seen_txid` says
        (on a thread) what the log had reached by their account; `fail` ends the process."""
        self._namesystem = namesystem
        self._roles = roles
        self._shared = shared
        self._tailing = tailing
        self._log = log_writer
        self._directories = list(edits_directories)
        self._seen_txid = seen_txid
        self._fail = fail
        self._one_at_a_time = asyncio.Lock()

    async def become(self, state: HAState) -> None:
        """Nothing happens if that is the role already. Raises IllegalArgument where there is
        no such change, ServiceFailed where it was tried and failed."""
        async with self._one_at_a_time:
            if self._roles.state is state:
                return
            self._roles.check(state)
            if state is HAState.ACTIVE:
                await self._take_over()
            else:
                await self._step_down(state)

    async def _step_down(self, state: HAState) -> None:
        began_s = time.monotonic()
        self._roles.stop_serving(state)
        try:
            if self._log.is_open:
                await background_threads.surely(self._log.end, "the end of the log")
            self._roles.arrive()
            log.info(
                "%s from transaction %d on, after %.0f ms",
                state.value,
                self._namesystem.last_txid,
                (time.monotonic() - began_s) * 1000,
            )
        except Exception as error:
            # Also a defect: this process is no active and no standby.
            why = f"the log could not be ended when the namenode became {state.value}: {error}"
            self._fail(why)
            raise errors.ServiceFailed(why) from error

    async def _take_over(self) -> None:
        began_s = time.monotonic()
        await self._tailing.stop()
        try:
            await self._in_steps()
        except NamespaceBroken as error:
            raise errors.ServiceFailed(f"the process ends: {error}") from error
        except (OSError, errors.HowdahError) as error:
            self._tailing.start()
            log.error("the namenode stays a standby: %s", error)
            raise errors.ServiceFailed(f"the namenode stays a standby: {error}") from error
        except BaseException:
            self._tailing.start()
            raise
        log.info(
            "active from transaction %d on, after %.0f ms",
            self._namesystem.last_txid,
            (time.monotonic() - began_s) * 1000,
        )

    async def _in_steps(self) -> None:
        journal = await background_threads.beside(self._shared.take_over, "takeover of the log")
        try:
            await self._tailing.catch_up()
            await background_threads.pooled(
                lambda: self._check_end(journal), "the end of the shared log"
            )
            source = self._shared.source()
            end_txid = self._namesystem.last_txid
            await background_threads.pooled(
                lambda: set_strays_aside(self._directories, source, end_txid), "copies of the log"
            )
            await background_threads.pooled(
                lambda: self._log.prepare(journal), "the beginning of the log"
            )
        except BaseException:
            await background_threads.surely(journal.close, "giving up the shared log")
            raise
        try:
            await self._wait_for_lease(journal)
            self._roles.become(HAState.ACTIVE)
        except BaseException as error:
            if self._log.is_open:
                # This process writes the log, and is no active: nobody else can be one.
                self._fail(f"the namenode became active by halves: {error}")
            await background_threads.surely(self._log.discard_prepared, "giving up the log")
            raise

    def _check_end(self, journal: SharedJournal) -> None:
        """Raises CorruptEditLog for a shared log that has lost its end."""
        seen = max(self._seen_txid(), journal.seen_txid())
        if self._namesystem.last_txid < seen:
            raise errors.CorruptEditLog(
                f"the shared log {self._shared.name} ends at transaction "
                f"{self._namesystem.last_txid}, but it had reached {seen} by {SEEN_TXID_NAME} "
                "of its directories. Bring what is missing back, or let a namenode take over that "
                f"has it. To go on without it, write {self._namesystem.last_txid} to "
                f"{SEEN_TXID_NAME} in each directory that has a higher number"
            )

    async def _wait_for_lease(self, journal: SharedJournal) -> None:
        # The loop sleeps by another clock than that of leases.
        while (left_ms := journal.serve_from_ms() - boottime_ms()) > 0:
            log.info("the lease of the former active ends in %d ms", left_ms)
            await asyncio.sleep(left_ms / 1000)
        if journal.lost is not None:
            raise errors.ServiceFailed(f"another namenode has taken the log: {journal.lost}")
