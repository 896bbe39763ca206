"""mypy beside the tests: the run fails where either does, and says why."""

from __future__ import annotations

import sys

import pytest

from tests.support.requirements import pytest_mypy

GOOD = "def test_it(): pass"
BAD = "def test_it(): assert False"


def ran(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tests: str, types: str
) -> pytest.RunResult:
    monkeypatch.setattr(pytest_mypy, "COMMAND", (sys.executable, "-c", types))
    pytester.makepyfile(tests)
    return pytester.runpytest_inprocess("-p", pytest_mypy.__name__, "-p", "no:cacheprovider")


def test_a_run_with_right_types_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ran(pytester, monkeypatch, GOOD, "")
    assert done.ret == pytest.ExitCode.OK
    assert "= types =" not in done.stdout.str()


@pytest.mark.parametrize("tests", [GOOD, BAD])
def test_a_run_with_wrong_types_fails_and_shows_them(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tests: str
) -> None:
    done = ran(pytester, monkeypatch, tests, "print('a.py:1: error: no'); raise SystemExit(1)")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*= types =*", "a.py:1: error: no"])


def test_a_checker_that_dies_fails_the_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ran(pytester, monkeypatch, GOOD, "import os; os.kill(os.getpid(), 9)")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*= types =*", "mypy ended with -9"])


def test_failed_tests_fail_the_run_whatever_the_types(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ran(pytester, monkeypatch, BAD, "").ret == pytest.ExitCode.TESTS_FAILED


def test_an_interrupted_run_does_not_wait_for_types(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    monkeypatch.setattr(pytest_mypy, "COMMAND", command)
    pytester.makepyfile("def test_it(): raise KeyboardInterrupt")
    done = pytester.inline_run("-p", pytest_mypy.__name__, no_reraise_ctrlc=True)
    assert done.ret == pytest.ExitCode.INTERRUPTED
