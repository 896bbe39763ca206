"""A test that failed beside others and is run again alone: which are, and what that decides."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.requirements import pytest_mypy, pytest_retry_alone

PASSES = "def test_good(): pass\n"
FAILS = "def test_bad(): assert False\n"
ONCE = """
from pathlib import Path

def test_once(request):
    seen = Path(__file__).with_suffix("." + request.node.name)
    again = seen.exists()
    seen.touch()
    assert again
"""


def ran(pytester: pytest.Pytester, *arguments: str, **modules: str) -> pytest.RunResult:
    """A run of modules, by their directory below tests/."""
    pytester.makeini("[pytest]\naddopts = -p xdist")
    for place, text in modules.items():
        path = Path("tests", place, f"test_{place}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return pytester.runpytest_inprocess("-p", pytest_retry_alone.__name__, *arguments, "tests")


def test_what_passes_alone_is_told_and_fails_nothing(pytester: pytest.Pytester) -> None:
    done = ran(pytester, cluster=ONCE + PASSES)
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines(
        [
            "*= failed beside others, and ran again alone =*",
            "tests/cluster/test_cluster.py::test_once",
            "    beside others: assert False",
            "    alone: passed",
            "*= failures without an explanation =*",
            f"1 in {pytest_retry_alone.RECORD}: *",
        ]
    )


def test_later_runs_remember_it_until_its_line_is_removed(pytester: pytest.Pytester) -> None:
    ran(pytester, cluster=ONCE + PASSES)
    (line,) = map(json.loads, (pytester.path / pytest_retry_alone.RECORD).read_text().splitlines())
    assert line["test"] == "tests/cluster/test_cluster.py::test_once"
    assert line["beside_others"] == "assert False"
    done = ran(pytester, cluster=ONCE + PASSES)
    done.stdout.fnmatch_lines([f"1 in {pytest_retry_alone.RECORD}: *"])
    assert "ran again" not in done.stdout.str()
    (pytester.path / pytest_retry_alone.RECORD).write_text("")
    assert "without an explanation" not in ran(pytester, cluster=PASSES).stdout.str()


def test_workers_tell_what_failed(pytester: pytest.Pytester) -> None:
    done = ran(pytester, "-n", "2", cluster=ONCE + PASSES)
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["tests/cluster/test_cluster.py::test_once", "    alone: passed"])


@pytest.mark.parametrize("place", ["browser", "cluster", "compat", "crash", "spark"])
def test_what_fails_alone_as_well_fails_the_run(pytester: pytest.Pytester, place: str) -> None:
    done = ran(pytester, **{place: FAILS + ONCE})
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            f"tests/{place}/test_{place}.py::test_bad",
            "    alone: failed as well",
            f"tests/{place}/test_{place}.py::test_once",
            "    alone: passed",
        ]
    )


def test_a_pure_test_has_no_second_run_and_takes_it_from_the_others(
    pytester: pytest.Pytester,
) -> None:
    done = ran(pytester, unit=ONCE, cluster=ONCE)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert "ran again alone" not in done.stdout.str()


def test_many_failures_are_no_chance(pytester: pytest.Pytester) -> None:
    many = "\n".join(ONCE.replace("once", f"once_{n}") for n in range(pytest_retry_alone.MOST + 1))
    done = ran(pytester, cluster=many)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert "ran again alone" not in done.stdout.str()


def test_a_test_that_takes_its_worker_with_it_has_no_second_run(
    pytester: pytest.Pytester,
) -> None:
    dies = ONCE.replace("assert again", "import os; again or os._exit(3)")
    done = ran(pytester, "-n", "1", cluster=dies)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert "ran again alone" not in done.stdout.str()


def test_one_that_does_not_end_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pytest_retry_alone, "COMMAND", (sys.executable, "-c", "import time; time.sleep(600)")
    )
    monkeypatch.setattr(pytest_retry_alone, "TIMEOUT_S", 0.2)
    done = ran(pytester, cluster=ONCE)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["    alone: did not end within 0.2 s"])


def test_wrong_types_fail_the_run_though_all_passed_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest_mypy, "COMMAND", (sys.executable, "-c", "raise SystemExit(1)"))
    done = ran(pytester, "-p", pytest_mypy.__name__, cluster=ONCE)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*::test_once", "    alone: passed"])
