"""A controller that runs: the pure one on a loop, its actions carried out on threads (shell).

Everything that happens is an event on one queue; the loop feeds it to `controller.Controller`
and starts what that answers. Orders to namenodes, fencing and breadcrumbs are one thread's work,
one after the other; another thread checks the local namenode; the election has its own.

An order to become active is given only if the election is held for certain at that moment.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from howdah import errors
from howdah.failover.fencing_methods import Fencer
from howdah.failover.namenodes import Namenode, fence_gracefully, make_active, make_standby
from howdah.failover.process_watch import DeathWatch
from howdah.failover.settings import Timeouts, is_same_host
from howdah.failover.state.active_node import target_of
from howdah.failover.state.controller import Attempt, Controller
from howdah.failover.state.election import Election, ElectionStatus
from howdah.failover.state.elector import (
    Action,
    Fence,
    Join,
    MakeActive,
    MakeStandby,
    Quit,
    ReadBreadcrumb,
    Report,
    WriteBreadcrumb,
)
from howdah.failover.state.health import Answer, Health, HealthMonitor, Intervals
from howdah.failover.state.service import RequestSource, ServiceState, ServingProcess, Target
from howdah.failover.state.status import Checked, Counts, ElectionView
from howdah.runtime import unexpected_errors
from howdah.runtime.process_identity import AskedToEnd

log = logging.getLogger(__name__)

_Event = Callable[[], list[Action]]
_BY_US: Final = RequestSource.CONTROLLER
_NOT_BEGUN: Final = ElectionStatus("", False, "it has not begun")
_TURN_S: Final = 5.0
"""So often the loop turns if nothing happens, so that it is seen to live."""


def now_ms() -> int:
    """Milliseconds of a monotonic clock."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a controller works with."""

    own: Target
    targets: Mapping[str, Target]
    """All namenodes of the nameservice, by their ids."""
    fencer: Fencer
    timeouts: Timeouts
    intervals: Intervals
    on_death: Callable[[ServingProcess], None] = lambda process: None
    """Called when the process of the local namenode has died, before the election is left."""
    user: str | None = None
    """As whom namenodes are called; None is the process's user."""


class RunningController:
    """Runs the loop of one controller, and its threads."""

    def __init__(self, controller: Controller, around: Surroundings) -> None:
        self._controller = controller
        self._around = around
        self._election: Election | None = None
        self._events: queue.SimpleQueue[_Event | None] = queue.SimpleQueue()
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._cedes: deque[threading.Event] = deque()
        self._happened = threading.Condition()
        self._stopped = AskedToEnd()
        self._failure: str | None = None
        self._deaths = DeathWatch(self._died)
        self._died_ms = 0
        self._joined = threading.Event()
        self._checked = Checked()
        self._counts = Counts()
        """Of what the worker does."""
        self._deaths_seen = 0
        self._reported = ("", 0)
        """Why it stands in the election as it does, and since when."""
        self._turned_ms = now_ms()

    # -- what others ask: from any thread ------------------------------------------------------

    def report(self, candidacy: int, report: Report, reason: str) -> None:
        """The election's listener."""

        def event() -> list[Action]:
            log.info("election: %s (%s)", report.name.lower().replace("_", " "), reason)
            self._reported = (reason, now_ms())
            return self._controller.reported(candidacy, report)

        self._events.put(event)

    def fail(self, reason: str) -> None:
        """End, with exit code 1."""
        self._failure = self._failure or reason
        self.stop()

    def stop(self) -> None:
        """End soon. May be called by a signal's handler."""
        self._stopped.set()
        self._events.put(None)

    def cede(self, for_ms: int) -> None:
        """Step 10; returns when the namenode was ordered to be standby."""
        done = threading.Event()

        def event() -> list[Action]:
            actions = self._controller.cede(for_ms, now_ms())
            if MakeStandby(cedes=True) in actions:
                self._cedes.append(done)
            else:
                done.set()
            return actions

        self._events.put(event)
        # A fencing command that is under way comes first.
        while not done.wait(0.5):
            if self._stopped.is_set():
                raise errors.RetriableError("the failover controller stops")

    def not_eligible(self) -> str | None:
        return self._controller.not_eligible()

    def active_content(self) -> bytes | None:
        assert self._election is not None
        return self._election.active_content()

    def hasten(self) -> None:
        assert self._election is not None
        self._election.hasten()

    def wait_for_attempt(self, since_ms: int, timeout_s: float) -> Attempt | None:
        """Wait for the first attempt that ends after `since_ms`, and return it; see
        `graceful.Desk`."""
        attempts: list[Attempt] = []

        def is_over() -> bool:
            attempt = self._controller.last_attempt
            if attempt is not None and attempt.at_ms >= since_ms:
                attempts.append(attempt)
            is_hopeless = self._controller.health is not Health.HEALTHY
            return bool(attempts) or is_hopeless or self._stopped.is_set()

        with self._happened:
            self._happened.wait_for(is_over, timeout_s)
        return attempts[0] if attempts else None

    def when_joined(self, timeout_s: float | None = None) -> bool:
        """Wait until it is in the election; False if it is not in time."""
        return self._joined.wait(timeout_s)

    def sight(self) -> ElectionView:
        """What is known of it, from any thread and without a call."""
        controller, election = self._controller, self._election
        reason, reported_ms = self._reported
        return ElectionView(
            own=self._around.own,
            targets=tuple(self._around.targets.values()),
            position=controller.elector.position,
            is_attempting=controller.elector.is_attempting,
            stays_out_until_ms=controller.stays_out_until_ms,
            reason=reason,
            reported_ms=reported_ms,
            standing=_NOT_BEGUN if election is None else election.standing(),
            checked=self._checked,
            counts=replace(self._counts, deaths=self._deaths_seen),
            attempt=controller.last_attempt,
            turned_ms=self._turned_ms,
            now_ms=now_ms(),
        )

    # -- the loop --------------------------------------------------------------------------------

    def run(self, election: Election, on_join: Callable[[], None] = lambda: None) -> str | None:
        """Until `stop` or a failure; why it failed. The election is closed then."""
        self._election = election
        worker = threading.Thread(target=self._work, name="orders", daemon=True)
        watcher = threading.Thread(target=self._watch, name="health", daemon=True)
        worker.start()
        watcher.start()
        try:
            while not self._stopped.is_set():
                self._turn(election)
                if self._joined.is_set() and on_join is not None:
                    on_join()
                    on_join = _nothing
        except Exception as error:  # noqa: BLE001 - the process says why it ends
            unexpected_errors.note("the failover controller", error, "it ends")
            self._failure = f"{type(error).__name__}: {error}"
        finally:
            self._stopped.set()
            self._orders.put(None)
            for waiter in self._cedes:
                waiter.set()
            with self._happened:
                self._happened.notify_all()
            election.close()
        return self._failure

    def _turn(self, election: Election) -> None:
        self._turned_ms = now_ms()
        next_ms = self._controller.next_at_ms()
        timeout_s = _TURN_S
        if next_ms is not None:
            timeout_s = min(max((next_ms - self._turned_ms) / 1000, 0.001), _TURN_S)
        try:
            event = self._events.get(timeout=timeout_s)
        except queue.Empty:
            event = self._tick
        if event is None:
            return
        position = self._controller.elector.position
        for action in event():
            self._start(election, action)
        if position is not self._controller.elector.position:
            log.info(
                "%s: %s is now %s in the election",
                self._around.own,
                position.value,
                self._controller.elector.position.value,
            )
        with self._happened:
            self._happened.notify_all()

    def _tick(self) -> list[Action]:
        return self._controller.tick(now_ms())

    def _start(self, election: Election, action: Action) -> None:
        match action:
            case Join(candidacy, content):
                log.info("%s is healthy: its controller joins the election", self._around.own)
                election.join(candidacy, content)
                self._joined.set()
            case Quit(clears):
                log.info("the controller of %s leaves the election", self._around.own)
                election.quit(clears=clears)
            case MakeStandby():
                self._orders.put(lambda: self._make_standby(action))
            case _:
                self._orders.put(lambda: self._take_step(election, action))

    # -- the worker --------------------------------------------------------------------------------

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                order()
            except Exception as error:  # noqa: BLE001 - a worker that ends unheard obeys nobody
                unexpected_errors.note(
                    "an order of the failover controller", error, "the controller ends"
                )
                self.fail(f"{type(error).__name__}: {error}")
                return

    def _take_step(
        self,
        election: Election,
        step: ReadBreadcrumb | Fence | WriteBreadcrumb | MakeActive,
    ) -> None:
        controller, attempt = self._controller, step.attempt
        if not controller.elector.is_current(attempt):
            return
        event: _Event
        try:
            match step:
                case ReadBreadcrumb():
                    breadcrumb = election.read_breadcrumb()
                    event = partial(controller.breadcrumb_read, attempt, breadcrumb)
                case Fence(content=content):
                    self._fence(content)
                    self._counts = replace(self._counts, fenced=self._counts.fenced + 1)
                    event = partial(controller.fenced, attempt)
                case WriteBreadcrumb(before=before):
                    election.write_breadcrumb(before)
                    event = partial(controller.breadcrumb_written, attempt)
                case MakeActive():
                    message = self._make_active(election)
                    made = self._counts.became_active + 1
                    self._counts = replace(self._counts, became_active=made)
                    event = partial(controller.became_active, attempt, message, now_ms())
        except errors.HowdahError as error:
            log.error("%s does not become active: %s", self._around.own, error)
            self._counts = replace(self._counts, failed=self._counts.failed + 1)
            event = partial(controller.failed, attempt, str(error), now_ms())
        self._events.put(event)

    def _fence(self, content: bytes) -> None:
        """Step 3. Raises HowdahError unless the namenode is standby or fenced."""
        target = target_of(content, self._around.targets, is_same_host)
        log.info("%s may still be active, and is ordered to be standby", target)
        timeout_s = self._around.timeouts.to_standby_s
        if not fence_gracefully(target, _BY_US, timeout_s, self._around.user):
            self._around.fencer.fence(target)

    def _make_active(self, election: Election) -> str:
        """Step 5."""
        own = self._around.own
        if not election.holds():
            raise errors.ServiceFailed("the election is not held any more")
        began_s = time.monotonic()
        try:
            make_active(own, _BY_US, self._around.timeouts.to_active_s, self._around.user)
        except errors.HowdahError as error:
            raise errors.ServiceFailed(f"Couldn't make {own} active: {error}") from error
        message = f"Successfully transitioned {own} to active state"
        log.info("%s in %.3f s", message, time.monotonic() - began_s)
        return message

    def _make_standby(self, order: MakeStandby) -> None:
        own, failure = self._around.own, None
        try:
            make_standby(own, _BY_US, self._around.timeouts.to_standby_s, self._around.user)
            log.info("%s is standby", own)
        except errors.HowdahError as error:
            failure = str(error)
            log.error("%s did not become standby: %s", own, failure)
        at_ms = now_ms()

        def event() -> list[Action]:
            actions = self._controller.became_standby(order, failure, at_ms)
            if order.cedes:
                # The election is left before the caller is told.
                assert self._election is not None
                for action in actions:
                    self._start(self._election, action)
                self._cedes.popleft().set()
                return []
            return actions

        self._events.put(event)

    # -- the watcher -------------------------------------------------------------------------------

    def _watch(self) -> None:
        try:
            self._check_until_stopped()
        except Exception as error:  # noqa: BLE001 - nobody would watch the namenode
            unexpected_errors.note("the health monitor", error, "the controller ends")
            self.fail(f"Health monitor failed: {type(error).__name__}: {error}")

    def _check_until_stopped(self) -> None:
        monitor = HealthMonitor(self._around.intervals)
        namenode = Namenode(self._around.own, self._around.timeouts.health_s, self._around.user)
        pause_s = 0.0
        while not self._stopped.wait(pause_s):
            asked_ms = now_ms()
            state: ServiceState | None = None
            before, reason = monitor.health, ""
            try:
                status = namenode.status()
                state = status.state
                self._deaths.seen(status.process)
                namenode.check_health()
                answer = Answer.HEALTHY
            except errors.HealthCheckFailed as error:
                answer, reason = Answer.UNHEALTHY, str(error)
            except errors.HowdahError as error:
                answer, reason, state = Answer.NONE, str(error), None
            pause_s = monitor.checked(answer)
            if monitor.health is not before:
                level = logging.INFO if answer is Answer.HEALTHY else logging.WARNING
                text = "%s entered state %s %s"
                log.log(level, text, self._around.own, monitor.health.value, reason)
            self._checked = Checked(monitor.health, reason, state, now_ms())
            self._events.put(self._seen(monitor.health, state, asked_ms))
        namenode.close()

    def _died(self, process: ServingProcess) -> None:
        """Steps 17 and 18."""
        if self._stopped.is_set():
            return
        log.warning("%s has died: process %d is gone", self._around.own, process.pid)
        try:
            self._around.on_death(process)
        except Exception as error:  # noqa: BLE001 - its lease ends without that, a little later
            unexpected_errors.note("what follows from a death", error, "the election is left")

        def event() -> list[Action]:
            self._died_ms = now_ms()
            self._deaths_seen += 1
            return self._controller.died()

        self._events.put(event)

    def _seen(self, health: Health, state: ServiceState | None, asked_ms: int) -> _Event:
        def event() -> list[Action]:
            actions: list[Action] = []
            if asked_ms < self._died_ms:
                return actions
            if state is not None:
                actions += self._controller.observed(state, asked_ms, now_ms())
            return actions + self._controller.checked(health, now_ms())

        return event


def _nothing() -> None:
    """There is nothing to do."""
