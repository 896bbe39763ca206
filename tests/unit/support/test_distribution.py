"""Which worker of a run gets which modules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.requirements import distribution

CLUSTER = ["tests/cluster/test_a.py", "tests/cluster/test_b.py", "tests/spark/test_c.py"]
UNIT = [f"tests/unit/test_{name}.py" for name in "defg"]


class Worker:
    """What a scheduler sees of a worker, which here runs nothing by itself."""

    def __init__(self, number: int, tests: list[str]) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self._tests = tests
        self.given: list[int] = []
        self.ended = 0

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def modules(self) -> list[str]:
        names = [self._tests[index].partition("::")[0] for index in self.given]
        return list(dict.fromkeys(names))


class Run:
    """Three tests a module, on two workers and the one for unit tests."""

    def __init__(self, modules: list[str], *, count: int = 3) -> None:
        self.tests = [f"{module}::test_{number}" for module in modules for number in range(3)]
        config = SimpleNamespace(
            getvalue=lambda name: [f"{count}*popen"],
            option=SimpleNamespace(dist="load", loadscopereorder=False, debug=False),
        )
        self.scheduler = distribution.make_scheduler(
            cast(pytest.Config, config),
            None,
            2,
            lambda scope: "spark" if scope.startswith("tests/spark") else None,
        )
        self.workers = [Worker(number, self.tests) for number in range(count)]
        for worker in self.workers:
            self.scheduler.add_node(worker)
            self.scheduler.add_node_collection(worker, self.tests)
        self.scheduler.schedule()

    def ends(self, worker: Worker) -> None:
        """All that the worker was given by now has run."""
        for index in worker.given[worker.ended :]:
            self.scheduler.mark_test_complete(worker, index)
            worker.ended += 1


def test_one_worker_has_unit_tests_from_the_first_moment_on() -> None:
    first, second, beside = Run([*CLUSTER, *UNIT]).workers
    assert beside.modules == UNIT[:1]
    assert first.modules + second.modules == CLUSTER[:2]


def test_it_gets_nothing_else_and_ends_when_there_are_no_more() -> None:
    run = Run([*CLUSTER, *UNIT])
    first, _, beside = run.workers
    for _ in UNIT:
        run.ends(beside)
    assert beside.modules == UNIT
    assert beside.shutting_down
    run.ends(first)
    assert first.modules == [CLUSTER[0], CLUSTER[2]]


def test_the_others_take_unit_tests_when_all_else_is_done() -> None:
    run = Run([*CLUSTER, *UNIT])
    first, second, _ = run.workers
    for _ in range(2):
        run.ends(first)
        run.ends(second)
    assert set(UNIT[1:3]) <= {*first.modules, *second.modules}


def test_what_is_done_is_forgotten() -> None:
    run = Run([*CLUSTER, *UNIT])
    first, *_ = run.workers
    assert list(run.scheduler.assigned_work[first]) == [CLUSTER[0]]
    run.ends(first)
    # "spark" is the group of the third module.
    assert list(run.scheduler.assigned_work[first]) == ["spark"]


def test_where_there_are_no_unit_tests_it_ends_at_once() -> None:
    beside = Run(CLUSTER).workers[-1]
    assert not beside.modules
    assert beside.shutting_down


def test_with_another_number_of_workers_all_are_alike() -> None:
    first, second = Run([*CLUSTER, *UNIT], count=2).workers
    assert first.modules + second.modules == CLUSTER[:2]


def test_a_distribution_that_a_run_asks_for_stays() -> None:
    asked: Any = SimpleNamespace(option=SimpleNamespace(dist="worksteal"))
    assert distribution.make_scheduler(asked, None, 2, lambda scope: None) is None


@pytest.mark.parametrize(
    ("number", "count", "lowered"), [(2, 3, True), (1, 3, False), (2, 4, False), (1, 2, False)]
)
def test_the_priority_of_that_worker_alone_is_low(
    monkeypatch: pytest.MonkeyPatch, number: int, count: int, lowered: bool
) -> None:
    by: list[int] = []
    monkeypatch.setattr(os, "nice", by.append)
    told: Any = SimpleNamespace(workerinput={"workerid": f"gw{number}", "workercount": count})
    distribution.lower_priority(told, 2)
    assert by == ([distribution.NICENESS] if lowered else [])


def test_the_priority_of_a_run_without_workers_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "nice", lambda by: pytest.fail(f"lowered by {by}"))
    distribution.lower_priority(cast(pytest.Config, SimpleNamespace()), 2)


class WorkerInteractor:
    """What pytest-xdist calls the one that sends."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def sendevent(self, name: str, **details: Any) -> None:
        self.sent.append(name if "data" not in details else f"{name} {details['data']['when']}")


def sent(*, verbose: int = 0, durations: int | None = None, outcome: str = "passed") -> list[str]:
    interactor = WorkerInteractor()
    told: Any = SimpleNamespace(
        workerinput={},
        option=SimpleNamespace(verbose=verbose, durations=durations),
        pluginmanager=SimpleNamespace(get_plugins=lambda: [object(), interactor]),
    )
    distribution.send_less(told)
    interactor.sendevent("logstart")
    for when in ("setup", "call", "teardown"):
        interactor.sendevent("testreport", data={"when": when, "outcome": outcome})
    interactor.sendevent("logfinish")
    return interactor.sent


ALL = ["logstart", "testreport setup", "testreport call", "testreport teardown", "logfinish"]


def test_of_a_test_that_passes_its_call_and_its_end_are_told() -> None:
    assert sent() == ["testreport call", "logfinish"]


def test_whatever_else_becomes_of_it_is_told() -> None:
    assert sent(outcome="failed") == ALL[1:]
    assert sent(outcome="skipped") == ALL[1:]


def test_who_asks_for_more_is_told_all() -> None:
    assert sent(verbose=1) == ALL
    assert sent(durations=0) == ALL
