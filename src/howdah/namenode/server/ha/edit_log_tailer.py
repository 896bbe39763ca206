"""A standby follows the log of the active (shell). Hadoop: EditLogTailer.

The steps are those of docs/how-it-works/roles.md:

1. **Read.** Every `period_s` a thread reads what is durable behind the last edit that was
   applied: finished segments, and of the unfinished one what is durable if
   `dfs.ha.tail-edits.in-progress` says so.
2. **Apply.** The loop applies the edits in slices, by the same `apply` as the active's calls
   and a start's replay. Leases, retry cache and block map follow.
3. **Ask for a roll.** If only finished segments are read and the active's has been long
   unfinished (`dfs.ha.log-roll.period`), the active is asked to begin another.

A log that cannot be read is read again at the next turn, and is said to fail once. An edit
that cannot be applied ends the process: the namespace is none any more.

Whoever becomes active stops the tail, which ends between two slices, and reads the rest of
the log itself by `catch_up` (`transitions`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import LoggedEdit
from howdah.namenode.service.ha.tailer_metrics import TailerMetrics
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.namenode.state.inodes.block_events import NamespaceBroken
from howdah.runtime import background_threads, unexpected_errors

log = logging.getLogger(__name__)

BATCH_EDITS: Final = 4096
"""So many are read ahead on the thread."""
SLICE_EDITS: Final = 256
"""So many are applied before others have their turn: a few milliseconds' work."""


@dataclass(frozen=True, slots=True)
class TailSettings:
    """How often, and how far, the log is read. A `roll_period_s` below 0 asks for no roll."""

    period_s: float
    unfinished: bool
    roll_period_s: float


class EditLogTailer:
    """Follows one shared log. Everything but the reading belongs to the loop."""

    def __init__(
        self,
        namesystem: Namesystem,
        shared: SharedLog,
        settings: TailSettings,
        *,
        ask_for_roll: Callable[[], None],
        applied: Callable[[], object] = lambda: None,
    ) -> None:
        """`ask_for_roll` is called on a thread, and raises OSError when nobody rolls;
        `applied` is told when edits were applied."""
        self._namesystem = namesystem
        self._shared = shared
        self._settings = settings
        self._ask_for_roll = ask_for_roll
        self._applied = applied
        self._reading: asyncio.Task[None] | None = None
        self.segment_ended: Callable[[], object] = lambda: None
        """Called when a segment was applied to its end, before anything of the next one is."""
        self._stopping = asyncio.Event()
        self._stopping.set()
        self._failure = ""
        self._rolling = False
        self._rolled_ms = 0
        self._rolled_txid = 0
        self.figures = TailerMetrics()
        self._began_ns = 0
        self.last_read_ms = 0
        """When the log was last read to its end, by the namesystem's monotonic clock."""

    @property
    def is_running(self) -> bool:
        return not self._stopping.is_set()

    @property
    def failure(self) -> str:
        """Why the log could not be read at the last attempt; empty if it could."""
        return self._failure

    def start(self) -> None:
        """Follow from now on."""
        if not self.is_running:
            self._rolled_ms = self._namesystem.clock.monotonic_ms()
            self._stopping = asyncio.Event()
            run = self._run(self._stopping, self._reading)
            self._reading = asyncio.get_running_loop().create_task(run)

    def end(self) -> None:
        """No edit is applied after this call; a reading that is under way ends by itself."""
        self._stopping.set()

    async def stop(self) -> None:
        """The same, and wait until nothing is read any more."""
        self.end()
        if self._reading is not None:
            await self._reading

    async def catch_up(self) -> None:
        """After a `stop`: apply all that is in finished segments, to their end. Raises OSError
        if they cannot be read, NamespaceBroken."""
        assert not self.is_running, "one reads at a time"
        await self._read_on(unfinished=False, stopping=asyncio.Event())

    async def _run(self, stopping: asyncio.Event, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await before
            while not stopping.is_set():
                await self._turn(stopping)
                try:
                    await asyncio.wait_for(stopping.wait(), self._settings.period_s)
                except TimeoutError:
                    continue
        except NamespaceBroken:
            log.info("the log is not followed any more")  # The process ends.

    async def _turn(self, stopping: asyncio.Event) -> None:
        figures, began_ns = self.figures, time.perf_counter_ns()
        if self._began_ns:
            figures.pauses.add(began_ns - self._began_ns)
        self._began_ns = began_ns
        try:
            await self._read_on(unfinished=self._settings.unfinished, stopping=stopping)
            figures.turns.add(time.perf_counter_ns() - began_ns)
            if not stopping.is_set():
                self._roll_if_long()
        except (OSError, errors.HowdahError) as error:
            # The words change with the order in which nodes fail: once is enough.
            if not self._failure:
                log.error("the shared log %s is read again later: %s", self._shared.name, error)
            self._failure = str(error) or repr(error)
            return
        except NamespaceBroken:
            raise
        except Exception as error:  # noqa: BLE001 - the namenode goes on standing by
            unexpected_errors.note("tailing", error, "the log is read again later")
            self._failure = f"{type(error).__name__}: {error}"
            return
        if self._failure:
            log.info("the shared log %s is read again", self._shared.name)
            self._failure = ""

    async def _read_on(self, *, unfinished: bool, stopping: asyncio.Event) -> None:
        """Read from the last edit that was applied to the end that is known now (1, 2)."""
        namesystem, figures, first_txid = self._namesystem, self.figures, self._namesystem.last_txid
        edits = self._shared.edits(first_txid + 1, unfinished=unfinished)
        while not stopping.is_set():
            began_ns = time.perf_counter_ns()
            batch = await background_threads.beside(
                lambda: _next_slice(edits), "reading of the log"
            )
            figures.reads.add(time.perf_counter_ns() - began_ns)
            for start in range(0, len(batch), SLICE_EDITS):
                if stopping.is_set():
                    return
                for logged in batch[start : start + SLICE_EDITS]:
                    namesystem.follow(logged)
                    if namesystem.at_segment_end:
                        self.segment_ended()
                figures.loaded_ms = namesystem.clock.monotonic_ms()
                self._applied()
                await asyncio.sleep(0)
            if len(batch) < BATCH_EDITS:
                self.last_read_ms = namesystem.clock.monotonic_ms()
                figures.loads += namesystem.last_txid > first_txid
                figures.edits += namesystem.last_txid - first_txid
                namesystem.caught_up()
                return

    def _roll_if_long(self) -> None:
        """Nothing is asked for if the last roll brought nothing (3). Nobody waits for the
        answer: who is asked may hang, and this namenode be the one to take over."""
        namesystem, period_s = self._namesystem, self._settings.roll_period_s
        now_ms = namesystem.clock.monotonic_ms()
        if period_s < 0 or self._rolling or now_ms - self._rolled_ms <= period_s * 1000:
            return
        if self._rolled_txid and self._rolled_txid >= namesystem.last_txid:
            return
        self._rolled_ms, self._rolled_txid = now_ms, namesystem.last_txid
        self._rolling = True
        asking = background_threads.beside(self._ask_for_roll, "asking for a roll")
        asking.add_done_callback(self._rolled)

    def _rolled(self, asking: asyncio.Future[None]) -> None:
        self._rolling = False
        error = asking.exception()
        if isinstance(error, OSError | errors.HowdahError):
            log.warning("no other namenode has rolled its log: %s", error)
        elif error is not None:
            unexpected_errors.note("asking for a roll", error, "it is asked for again later")


def _next_slice(edits: Iterator[LoggedEdit]) -> list[LoggedEdit]:
    return list(itertools.islice(edits, BATCH_EDITS))
