"""Which worker of `./dev test` gets which modules of tests, and one worker more for unit tests.

Tests that start servers and JVMs wait for more than half of their time: three workers with them
used one core of two, and the unit tests came after all of them. One more worker, the last, takes
unit tests from the first moment on (`BESIDE`). Its priority is low, so that the servers of the
other workers hardly notice it. The others take unit tests as well once all else is done.

* A module stays whole, for its fixtures, and a group of modules does, which has one JVM.
* The modules come in the order in which they were collected (`--no-loadscope-reorder`).
* A run that asks for another distribution (`./dev torture`) gets that one.
* Workers tell how each test went, and nothing else (`send_less`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.support.requirements.marks import is_worker

BESIDE: Final = "tests/unit/"
USUAL: Final = "load"
"""The distribution of a run with workers that names none (pytest-xdist's `--dist`)."""
NICENESS: Final = 5


def is_beside(number: int, count: int, workers: int) -> bool:
    """Whether this one of `count` workers is the one more, where `workers` take everything."""
    return count == workers + 1 and number == workers


def lower_priority(config: pytest.Config, workers: int) -> None:
    """Of this process, where it is the worker for unit tests. Once it has collected its tests:
    all wait for the last to do so."""
    if not is_worker(config):
        return
    told = config.workerinput  # type: ignore[attr-defined]
    number = int(told["workerid"].removeprefix("gw"))
    if is_beside(number, told["workercount"], workers):
        os.nice(NICENESS)


def make_scheduler(
    config: pytest.Config, log: Any, workers: int, group_of: Callable[[str], str | None]
) -> Any:
    """`group_of` names the group of a module; its own name stands for one that has none. None
    where the run names a distribution of pytest-xdist's."""
    if config.option.dist != USUAL:
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    group_of = functools.cache(group_of)

    class ByModule(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types for it
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return group_of(scope) or scope

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            # What is done is counted with each message of a worker, until it is forgotten.
            super().mark_test_complete(node, item_index, duration)
            scope = self._split_scope(self.registered_collections[node][item_index])
            work = self.assigned_work[node]
            if scope in work and all(work[scope].values()):
                del work[scope]

        def _assign_work_unit(self, node: Any) -> None:
            number = int(node.gateway.id.removeprefix("gw"))
            if is_beside(number, self.numnodes, workers):
                unit = next((scope for scope in self.workqueue if scope.startswith(BESIDE)), None)
                if unit is None:
                    # It ends with what it has.
                    node.shutdown()
                    return
                self.workqueue.move_to_end(unit, last=False)
            super()._assign_work_unit(node)

    return ByModule(config, log)


def send_less(config: pytest.Config) -> None:
    """Have this process, where it is a worker, tell the first one only what it needs: of a test
    that passes its call and its end. That it begins, and that nothing was wrong with its fixtures,
    are three messages of six, and twenty thousand tests are so short that these take a fifth of
    their time. What asks for more (`-v`, `--durations`, `--junitxml`) gets it."""
    option = config.option
    if not is_worker(config) or option.verbose > 0 or option.durations is not None:
        return
    if getattr(option, "xmlpath", None):
        return
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = _sparing(plugin.sendevent)


def _sparing(send: Callable[..., None]) -> Callable[..., None]:
    def sendevent(name: str, **details: Any) -> None:
        if name == "logstart":
            return
        if name == "testreport":
            report = details["data"]
            if report["when"] != "call" and report["outcome"] == "passed":
                return
        send(name, **details)

    return sendevent
