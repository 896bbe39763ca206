"""Clients that do things at once to few files, in rounds; each round's history is linearizable."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from howdah.testing.world.processes import Process
from howdah.testing.world.workload.clients import Expectations
from howdah.testing.world.world import World

_CLIENTS: Final = 3
_CALLS: Final = 8
_PAUSE_S: Final = 12.0


class Contention:
    """Is one process with several clients, until `is_over`."""

    def __init__(
        self,
        world: World,
        name: str,
        expectations: Expectations,
        connect: Callable[[Process], Any],
        is_over: Callable[[], bool],
        *,
        above: str = "",
    ) -> None:
        self._world = world
        self._name = name
        self._dice: random.Random = world.dice(name)
        self._expectations = expectations
        self._connect = connect
        self._is_over = is_over
        self._above = above
        self.is_done = False

    def __call__(self, process: Process) -> None:
        recording = process.modules.load("howdah.testing.histories.recording")
        linearizability = process.modules.load("howdah.testing.histories.linearizability")
        sleep = process.modules.load("time").sleep
        number = 0
        while not self._is_over():
            number += 1
            kind = self._dice.choice(list(recording.Kind))
            directory = f"{self._above}/{self._name}/{number}"
            history = recording.record(
                lambda: self._connect(process),
                directory,
                kind,
                self._dice.getrandbits(32),
                clients=_CLIENTS,
                calls=_CALLS,
            )
            answered = sum(operation.answered_at is not None for operation in history)
            self._expectations.counts[f"contended {kind}"] += answered
            self._world.story.record(self._name, f"{kind} in {directory}: {answered} answers")
            verdict = linearizability.check(history)
            if not verdict:
                self._expectations.problems.append(f"{self._name}, {directory}: {verdict}")
            sleep(self._dice.random() * _PAUSE_S)
        self.is_done = True
        process.exit(0)  # at once: closing what has failed before would fail again
