"""Threads as generators, and a scheduler that asks somebody else who runs next.

What is a thread in the real thing is a generator here. It yields a `Wait` wherever
another thread, a process that dies, or the network may come in between; between two
waits nothing does, as under a lock. `World.runnable` are the tasks whose wait is over;
who of them runs, and when time passes, is decided outside. So a run is a sequence of
choices, and the same choices make the same run.

A process that is killed loses its tasks where they wait: nothing of them runs again, no
handler and no `finally`. One that is frozen keeps them, and they don't run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from howdah import errors
from howdah.testing.in_memory import ManualClock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wait:
    """Until `ready`, or until the clock shows `deadline_ms`."""

    ready: Callable[[], bool]
    deadline_ms: int | None = None


Steps = Generator[Wait, None, T]
"""What a task does; it returns a `T` in the end."""

PAUSE = Wait(lambda: True)
"""Others may go first."""


class Choices(Protocol):
    """Where everything comes from that is left to chance."""

    def below(self, count: int) -> int:
        """One of 0 … count - 1; 0 is the tamest."""


class Process:
    """Something that can be killed or frozen, with what runs in it."""

    def __init__(self, name: str, host: str) -> None:
        self.name = name
        self.host = host
        self.alive = True
        self.frozen = False
        self.at_death: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return self.name

    @property
    def runs(self) -> bool:
        return self.alive and not self.frozen


class Task:
    """One thread of a process."""

    __slots__ = ("done", "name", "process", "steps", "wait")

    def __init__(self, process: Process, name: str, steps: Steps[Any]) -> None:
        self.process = process
        self.name = name
        self.steps = steps
        self.wait = PAUSE
        self.done = False

    def __repr__(self) -> str:
        return f"{self.process}: {self.name}"


@dataclass(slots=True)
class World:
    """All tasks, and the time."""

    clock: ManualClock
    choices: Choices
    tasks: list[Task] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    steps: int = 0
    _dead: list[Task] = field(default_factory=list)

    @property
    def now_ms(self) -> int:
        return self.clock.monotonic_ms()

    @property
    def now_s(self) -> float:
        return self.clock.monotonic_ms() / 1000

    def note(self, who: object, event: str) -> None:
        """A line of the trace."""
        self.trace.append(f"{self.now_s - 1000:8.1f}s #{self.steps:<5} {who}: {event}")

    def spawn(self, process: Process, name: str, steps: Steps[Any]) -> Task:
        assert process.alive, f"{process} is dead and begins {name}"
        task = Task(process, name, steps)
        self.tasks.append(task)
        return task

    def runnable(self) -> list[Task]:
        """The tasks that can go on, who waited longest first."""
        now_ms = self.now_ms
        runnable = []
        for task in self.tasks:
            process, wait = task.process, task.wait
            if process.alive and not process.frozen:
                deadline_ms = wait.deadline_ms
                if (deadline_ms is not None and now_ms >= deadline_ms) or wait.ready():
                    runnable.append(task)
        return runnable

    def run(self, task: Task) -> None:
        """One step of a task, which is last in the queue then."""
        self.steps += 1
        self.tasks.remove(task)
        try:
            task.wait = next(task.steps)
        except StopIteration:
            task.done = True
            return
        except (errors.HowdahError, OSError) as error:
            task.done = True
            self.note(task, f"ends: {type(error).__name__} {error}")
            return
        if task.process.alive:
            self.tasks.append(task)
        else:
            self._dead.append(task)

    def next_deadline_ms(self) -> int | None:
        """When the first wait is over, if none is before that."""
        return min(
            (
                task.wait.deadline_ms
                for task in self.tasks
                if task.process.runs and task.wait.deadline_ms is not None
            ),
            default=None,
        )

    def kill(self, process: Process) -> None:
        """As `kill -9` does it."""
        process.alive = False
        # Kept, since a generator that is forgotten is closed, and would run its handlers.
        self._dead += [task for task in self.tasks if task.process is process]
        self.tasks = [task for task in self.tasks if task.process is not process]
        for tell in process.at_death:
            tell()

    def sleep(self, seconds: float) -> Steps[None]:
        """Until that much time has passed."""
        yield Wait(lambda: False, self.now_ms + round(seconds * 1000))

    def wait(self, ready: Callable[[], bool], timeout_s: float | None = None) -> Steps[bool]:
        """Until `ready`; false when the time is over before."""
        deadline_ms = None if timeout_s is None else self.now_ms + round(timeout_s * 1000)
        yield Wait(ready, deadline_ms)
        return ready()
