"""A world: machines on a network, in one deterministic order that a seed decides."""

from __future__ import annotations

import random
import traceback
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from howdah.testing.world.blanks import CLIENT, BlankProcesses
from howdah.testing.world.loader import ModuleTree
from howdah.testing.world.network import Network
from howdah.testing.world.processes import Machine, Process, new_process
from howdah.testing.world.scheduler import Deadlock, OutOfTime, Scheduler, Uncaught

_PATIENCE_S: Final = 600.0
_KEPT_LINES: Final = 2000


class Unexpected(AssertionError):
    """Says that something happened in a world that must not happen."""


class Story:
    """Tells what happened: virtual time, who, and what, a line for each event.

    Keeps the last lines, and passes all of them on to `listener`.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.listener: Callable[[str], None] | None = None

    def record(self, who: str, event: str) -> None:
        line = f"{self._scheduler.elapsed_s:12.6f} {who:12} {event}"
        self.lines.append(line)
        self._scheduler.note("story", who, event.partition("\n")[0])
        if self.listener is not None:
            self.listener(line)

    def logger(self, name: str) -> Callable[[str, str, str], None]:
        """Takes the lines that a process logs."""

        def log(level: str, logger: str, message: str) -> None:
            line = f"{self._scheduler.elapsed_s:12.6f} {name:12} {level} {logger}: {message}"
            self.lines.append(line)
            if self.listener is not None:
                self.listener(line)

        return log


class World:
    """Holds everything that is simulated from one seed.

    >>> world = World(7)                                          # doctest: +SKIP
    >>> one = world.machine("one")                                # doctest: +SKIP
    >>> world.call(one, "greeter", lambda process: 6 * 7)         # doctest: +SKIP
    42
    """

    def __init__(
        self, seed: int, *, left_out: Collection[int] = (), blanks: BlankProcesses | None = None
    ) -> None:
        """`left_out` are the places of faults that do not happen, in the plan that the seed
        makes. `blanks` are for one world: it goes on where they are."""
        self.seed = seed
        self.left_out = frozenset(left_out)
        self.planned_faults = 0
        """How many faults the seed has drawn, those that are left out among them."""
        self.faults: list[str] = []
        """Those that have happened, each behind its place."""
        self._blanks = blanks
        self.kinds: Counter[str] = Counter()
        """How many processes there were, by the module that they need first."""
        if blanks is None:
            self.scheduler = Scheduler(seed)
            self.network = Network(self.scheduler, self.dice("network"))
        else:
            self.scheduler, self.network = blanks.scheduler, blanks.network
            self.scheduler.begin(seed)
            self.network.begin(self.dice("network"))
        self.story = Story(self.scheduler)
        self.machines: dict[str, Machine] = {}

    def dice(self, name: str) -> random.Random:
        """Make a source of chance for one part of the world, or of a scenario."""
        return random.Random(f"{self.seed}/{name}")

    @property
    def now_s(self) -> float:
        """Return the virtual seconds since the world began."""
        return self.scheduler.elapsed_s

    # -- machines and processes

    def machine(self, name: str) -> Machine:
        """Add a machine, with a disk and an address."""
        assert name not in self.machines, f"there is a machine {name}"
        number = len(self.machines) + 1
        address = f"10.0.{number >> 8}.{number & 255}"
        made = Machine(self.scheduler, self.network, name, address)
        self.machines[name] = made
        return made

    def process(
        self,
        machine: Machine,
        name: str,
        environment: Mapping[str, str] | None = None,
        *,
        kind: str = CLIENT,
    ) -> Process:
        """Make a process, which `Process.start` begins. `kind` is the module that it needs
        first."""
        made = new_process(
            machine, name, environment, kind=kind, make_modules=ModuleTree, blanks=self
        )
        made.on_log = self.story.logger(name)
        return made

    def let_threads_meet_in(self, *packages: str, chance: float = 0.02) -> None:
        """From now on, let threads of new processes meet between any two statements of functions
        in these modules and packages, and not at locks, sockets and files alone."""
        self._blanks = None  # They have loaded code that does not.
        self.scheduler.yields_in = packages
        self.scheduler.statement_chance = chance
        self.story.record("threads", f"meet in {', '.join(packages)}")

    def take(self, kind: str) -> Process | None:
        """Return a process that has loaded its modules before the world began, if there is one."""
        self.kinds[kind] += 1
        return self._blanks.take(kind) if self._blanks is not None else None

    def call(
        self,
        machine: Machine,
        name: str,
        run: Callable[[Process], Any],
        *,
        timeout_s: float = _PATIENCE_S,
        kind: str = CLIENT,
    ) -> Any:
        """Run a function in a process of its own to its end, and return what it returns."""
        process = self.process(machine, name, kind=kind)
        returned: list[Any] = []

        def main(own: Process) -> int:
            returned.append(run(own))
            return 0

        process.start(main)
        self.run(lambda: process.is_dead, timeout_s=timeout_s)
        if not returned:
            raise Unexpected(f"{name} ended with status {process.status}")
        return returned[0]

    # -- time

    def run(self, until: Callable[[], object], *, timeout_s: float = _PATIENCE_S) -> None:
        """Go on until something holds. Raises Unexpected if it does not within so much virtual
        time, if nothing can ever happen any more, or if a thread ends by an exception."""
        try:
            self.scheduler.run(lambda: self.scheduler.uncaught or until(), timeout_s)
        except (OutOfTime, Deadlock) as error:
            raise Unexpected(f"{error}\n{self.stacks()}") from error
        self.check()

    def run_for(self, duration_s: float) -> None:
        """Go on for some virtual time."""
        self.scheduler.run_for(duration_s)
        self.check()

    def check(self) -> None:
        """Raise Unexpected if a thread has ended by an exception that nobody caught."""
        if self.scheduler.uncaught:
            failed = self.scheduler.uncaught[0]
            raise Unexpected(f"{failed.task} of {failed.process} failed\n{failed.text}")

    def fail(self, what: str) -> None:
        """Note that something is wrong: the world ends soon, and `run` raises Unexpected."""
        self.scheduler.uncaught.append(Uncaught("the world", "a check", what))
        self.scheduler.note("wrong", what.partition("\n")[0])

    # -- faults

    def cut(self, left: Machine, right: Machine) -> None:
        """Let nothing get from one to the other, either way."""
        self.story.record("wire", f"cut between {left.name} and {right.name}")
        self.network.cut(left.address, right.address)
        self.network.cut(right.address, left.address)

    def heal(self, left: Machine, right: Machine) -> None:
        self.story.record("wire", f"healed between {left.name} and {right.name}")
        self.network.heal(left.address, right.address)
        self.network.heal(right.address, left.address)

    # -- looking on

    def stacks(self) -> str:
        """Return what every thread that lives does."""
        lines: list[str] = []
        for machine in self.machines.values():
            for process in machine.processes.values():
                lines.append(f"{process.name} on {machine.name}:")
                for task in process.tasks:
                    if task.state == "done" or task.glet.gr_frame is None:
                        continue
                    frames = traceback.extract_stack(task.glet.gr_frame)
                    shown = [
                        f"{frame.filename.rpartition('/src/')[2]}:{frame.lineno} {frame.name}"
                        for frame in frames
                        if "/testing/world/" not in frame.filename
                    ]
                    lines.append(f"  {task.name} ({task.state}): {' < '.join(shown[::-1][:8])}")
        return "\n".join(lines)
