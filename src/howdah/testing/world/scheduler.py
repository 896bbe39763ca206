"""One order of everything: tasks, timers and virtual time, all drawn from a seed.

A task is a thread of a simulated process, or a piece of a scenario. It is a greenlet: it runs until
it waits (`park`) or lets others go first (`give_way`), and then the scheduler draws the next of
those that are ready. Time stands still while a task runs, but for a little that is drawn at each
turn, and jumps to the next timer when nobody is ready. So the seed decides all that happens, and a
seed is replayed by running it again.

Rules:
- only code of the standard library and of howdah that was loaded into a simulated process runs in a
  task, or code that waits through this scheduler alone: nothing here may wait for the real system;
- whoever parks has to look again when it is back: a wake-up may be spurious, as one for a signal;
- a task of a process that has died never runs again, not even its `finally`. It is kept, because
  Python would run it otherwise.
"""

from __future__ import annotations

import hashlib
import heapq
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

try:
    from greenlet import getcurrent, greenlet
except ImportError as missing:  # pragma: no cover - the tests' environment has it
    raise ImportError(
        "howdah.testing.world needs greenlet: pip install 'howdah[simulation]'"
    ) from missing

START_NS: Final = 1_000_000_000
"""What the monotonic clock shows when a world begins."""
_TURN_NS: Final = (500, 5_000)
"""How long a turn of a task takes: loops that poll a clock come to an end."""
_FACTS_AT_ONCE: Final = 1024


class Deadlock(Exception):
    """Says that nobody is ready and no timer is set: nothing will ever happen again."""


class OutOfTime(Exception):
    """Says that what was waited for did not come within its virtual time."""


@dataclass(frozen=True, slots=True)
class Uncaught:
    """Records an exception that ended a task of a process, or of a scenario."""

    process: str
    task: str
    text: str


class Owner(Protocol):
    """Is a process, as its threads know it."""

    name: str
    tasks: list[Task]
    main: Task | None
    pending_signals: list[int]
    is_dead: bool
    is_stopped: bool

    def handle_signals(self) -> None:
        """Run the handlers of signals that came, in the main thread."""


class Task:
    """Is a thread."""

    __slots__ = (
        "cpu_ns",
        "fact",
        "glet",
        "ident",
        "is_late",
        "is_runnable",
        "locals",
        "name",
        "process",
        "sentinel",
        "state",
        "turn",
    )

    def __init__(self, ident: int, process: Owner | None, name: str) -> None:
        self.ident = ident
        self.process = process
        self.name = name
        owner = process.name if process is not None else ""
        self.fact = f" {('run', owner, name)}\n"
        """What is noted of its turns."""
        self.state = "ready"
        self.turn = 0
        """Counts waits and turns, so that a timer knows whether it is still meant."""
        self.is_late = False
        self.cpu_ns = 0
        self.locals: dict[int, dict[str, Any]] = {}
        """By the number of a `threading.local`."""
        self.sentinel: Callable[[], None] | None = None
        """Called at the end; `threading.Thread.join` waits for it."""
        self.glet: Any = None

    def __repr__(self) -> str:
        owner = self.process.name if self.process is not None else "scenario"
        return f"<task {self.name!r} of {owner}, {self.state}>"


class Scheduler:
    """Runs tasks and timers in an order that `seed` decides."""

    def __init__(self, seed: int) -> None:
        self.begin(seed)

    def begin(self, seed: int) -> None:
        """Begin at the beginning, with nothing to run."""
        self.seed = seed
        self.random = random.Random(f"{seed}/order")
        self.now_ns = START_NS
        self.current: Task | None = None
        self.turns = 0
        self.yield_chance = 0.1
        """How likely a task lets others go first where threads may meet."""
        self.yields_in: tuple[str, ...] = ()
        """Modules and packages between whose statements a task lets others go first, too."""
        self.statement_chance = 0.02
        """How likely it does there."""
        self.uncaught: list[Uncaught] = []
        self.on_note: Callable[[int, tuple[object, ...]], None] | None = None
        """Hears of all that gets into the trace."""
        self.before_turn: list[Callable[[], None]] = []
        """Called between two turns, when no task runs."""
        self.loading = 0
        """How many imports are under way: none of them lets others go first."""
        self._trace = hashlib.sha256()
        self._facts: list[str] = []
        """Those that are not yet in the digest."""
        self._ready: list[Task] = []
        self._stopped: list[Task] = []
        self._timers: list[tuple[int, int, Callable[[], None] | Task, int]] = []
        """When, the place among those of the same time, what to call or whom to wake, and the turn
        in which a task has set it."""
        self._numbers = 0
        self._hub = getcurrent()
        self._to_hub = self._hub.switch
        self._chance = self.random.random

    # -- the trace

    def note(self, *facts: object) -> None:
        """Write a fact into the trace. It must not hold anything that two runs of a seed differ
        in, such as an address."""
        self._facts.append(f"{self.now_ns} {facts}\n")
        if len(self._facts) >= _FACTS_AT_ONCE:
            self._digest()
        if self.on_note is not None:
            self.on_note(self.now_ns, facts)

    def _digest(self) -> None:
        self._trace.update("".join(self._facts).encode())
        self._facts.clear()

    @property
    def trace(self) -> str:
        """Return a digest of all that was noted; equal for two runs of one seed."""
        self._digest()
        return self._trace.hexdigest()

    @property
    def elapsed_s(self) -> float:
        """Return the virtual seconds since the world began."""
        return (self.now_ns - START_NS) / 1e9

    # -- tasks

    def spawn(self, process: Owner | None, name: str, run: Callable[[], object]) -> Task:
        """Begin a thread; it is ready, and runs when it is drawn."""
        self._numbers += 1
        task = Task(self._numbers, process, name)

        def live(*_: object) -> None:
            try:
                run()
            except SystemExit:
                pass
            except BaseException as error:  # noqa: BLE001 - it is for the scenario to judge
                owner = process.name if process is not None else ""
                text = "".join(traceback.format_exception(error))
                self.uncaught.append(Uncaught(owner, task.name, text))
                self.note("uncaught", owner, task.name, type(error).__name__)
            finally:
                task.state = "done"
                if task.sentinel is not None:
                    task.sentinel()

        task.glet = greenlet(live, parent=self._hub)
        if process is not None:
            process.tasks.append(task)
        self._ready.append(task)
        return task

    def wake(self, task: Task) -> None:
        """Let a task that is parked go on. Others are left alone."""
        if task.state == "parked":
            task.state = "ready"
            task.is_late = False
            self._ready.append(task)

    def at(self, when_ns: int, act: Callable[[], None]) -> None:
        """Call `act` at a virtual time, outside of all tasks: it must not wait."""
        self._numbers += 1
        heapq.heappush(self._timers, (when_ns, self._numbers, act, 0))

    def after(self, delay_s: float, act: Callable[[], None]) -> None:
        """Call `act` after some virtual time, in the same way."""
        self.at(self.now_ns + round(delay_s * 1e9), act)

    def park(self, deadline_ns: int | None = None) -> bool:
        """Wait; True if woken, False if the deadline came."""
        task = self.current
        assert task is not None, "only a task may wait"
        assert not self.loading, "a module waits while it is imported"
        task.turn += 1
        task.state = "parked"
        if deadline_ns is not None:
            self._numbers += 1
            heapq.heappush(self._timers, (deadline_ns, self._numbers, task, task.turn))
        self._switch(task)
        return not task.is_late

    def sleep_until(self, when_ns: int) -> None:
        """Wait until a virtual time, whatever wakes this task before."""
        while self.now_ns < when_ns:
            self.park(when_ns)

    def give_way(self) -> None:
        """Let others go first here, by chance."""
        task = self.current
        if task is not None and not self.loading and self._chance() < self.yield_chance:
            task.state = "ready"
            self._ready.append(task)
            self._switch(task)

    def give_way_between_statements(self) -> None:
        """Let others go first between two plain statements, by chance."""
        task = self.current
        if task is not None and not self.loading and self._chance() < self.statement_chance:
            task.state = "ready"
            self._ready.append(task)
            self._switch(task)

    def leave(self) -> None:
        """End the running task here and now, as a process ends: nothing of it runs any more."""
        assert self.current is not None
        self.current.state = "done"
        self._hub.switch()

    def _switch(self, task: Task) -> None:
        self._to_hub()
        task.turn += 1
        process = task.process
        if process is not None and process.pending_signals and task is process.main:
            process.handle_signals()

    def resume(self, process: Owner) -> None:
        """Draw the tasks of a process again that was stopped."""
        back = [task for task in self._stopped if task.process is process]
        self._stopped = [task for task in self._stopped if task.process is not process]
        self._ready += back

    # -- running

    def step(self) -> None:
        """Run one turn of a task, or one timer. Raises Deadlock."""
        if self.before_turn:
            for act in list(self.before_turn):
                act()
        timers = self._timers
        while timers:
            when_ns, _, whom, turn = timers[0]
            if isinstance(whom, Task):
                if whom.turn != turn or whom.state != "parked":
                    heapq.heappop(timers)  # It has been woken before.
                    continue
                if when_ns > self.now_ns and self._ready:
                    break
                whom.state, whom.is_late = "ready", True
                self._ready.append(whom)
            elif when_ns > self.now_ns and self._ready:
                break
            heapq.heappop(timers)
            self.now_ns = max(self.now_ns, when_ns)
            if not isinstance(whom, Task):
                whom()
            return
        if not self._ready:
            raise Deadlock("nobody is ready and no timer is set")
        self._turn()

    def _turn(self) -> None:
        ready = self._ready
        count = len(ready)
        if count > 1:
            drawn = int(self._chance() * count)
            ready[drawn], ready[-1] = ready[-1], ready[drawn]
        task = ready.pop()
        process = task.process
        if process is not None:
            if process.is_dead:
                return
            if process.is_stopped:
                self._stopped.append(task)
                return
        self.turns += 1
        took_ns = _TURN_NS[0] + int(self._chance() * (_TURN_NS[1] - _TURN_NS[0]))
        self.now_ns += took_ns
        task.cpu_ns += took_ns
        self._facts.append(f"{self.now_ns}{task.fact}")
        if len(self._facts) >= _FACTS_AT_ONCE:
            self._digest()
        if self.on_note is not None:
            self.on_note(self.now_ns, ("run", process.name if process else "", task.name))
        task.state = "running"
        self.current = task
        try:
            task.glet.switch()
        finally:
            self.current = None

    def run(self, until: Callable[[], object], timeout_s: float) -> None:
        """Go on until something holds. Raises OutOfTime after `timeout_s` of virtual time, and
        Deadlock."""
        end_ns = self.now_ns + round(timeout_s * 1e9)
        while not until():
            self.step()
            if self.now_ns > end_ns:
                raise OutOfTime(f"it did not come about within {timeout_s:g} simulated seconds")

    def run_for(self, duration_s: float) -> None:
        """Go on for some virtual time."""
        end_ns = self.now_ns + round(duration_s * 1e9)
        self.at(end_ns, lambda: None)
        while self.now_ns < end_ns:
            self.step()
