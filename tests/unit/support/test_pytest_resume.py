"""A run of pytest that was broken off goes on where it was."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.requirements import pytest_resume

FIRST = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_good(number): pass

def test_skipped(): pytest.skip("not today")
"""
SECOND = """
import os

def test_that_depends(): assert "WELL" in os.environ

def test_later(): pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\naddopts = -p xdist")
    pytester.makepyfile(test_first=FIRST, test_second=SECOND)
    pytester.path.joinpath(".gitignore").write_text(".*\n*.pyc\n__pycache__\n")
    git(pytester, "init", "-q")
    git(pytester, "add", ".")
    commit(pytester)
    return pytester


def git(pytester: pytest.Pytester, *words: str) -> None:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@localhost")
    subprocess.run(["git", *who, *words], cwd=pytester.path, check=True)


def commit(pytester: pytest.Pytester) -> None:
    git(pytester, "commit", "-qam", "as it is")


def ran(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", pytest_resume.__name__, *words)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_what_has_passed_is_left_out(
    project: pytest.Pytester, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(project, *workers).assert_outcomes(passed=4, failed=1, skipped=1)
    monkeypatch.setenv("WELL", "yes")
    again = ran(project, "--resume", *workers)
    # Workers do not tell how many they left out.
    again.assert_outcomes(passed=1, skipped=1, deselected=0 if workers else 4)
    again.stdout.fnmatch_lines(["4 tests had passed before at this commit"])
    ran(project, "--resume", *workers).assert_outcomes(skipped=1, deselected=0 if workers else 5)


def test_what_fails_behind_a_test_is_run_again(project: pytest.Pytester) -> None:
    (project.path / "test_second.py").write_text(
        "import pytest\n\n@pytest.fixture\ndef left(): yield; assert False\n\n"
        "def test_with_it(left): pass\n"
    )
    commit(project)
    ran(project).assert_outcomes(passed=4, skipped=1, errors=1)
    ran(project, "--resume").assert_outcomes(passed=1, skipped=1, errors=1, deselected=3)


def test_a_run_that_does_not_go_on_runs_all(project: pytest.Pytester) -> None:
    ran(project)
    ran(project).assert_outcomes(passed=4, failed=1, skipped=1)


def test_another_commit_begins_anew(project: pytest.Pytester) -> None:
    ran(project)
    (project.path / "test_second.py").write_text(SECOND + "\ndef test_more(): pass\n")
    commit(project)
    ran(project, "--resume").assert_outcomes(passed=5, failed=1, skipped=1)


def test_more_histories_are_another_run(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(project)
    monkeypatch.setenv("HOWDAH_TORTURE", "2")
    ran(project, "--resume").assert_outcomes(passed=4, failed=1, skipped=1)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_nothing_goes_on_where_something_is_changed(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    ran(project)
    (project.path / "test_second.py").write_text("def test_other(): pass\n")
    refused = ran(project, "--resume")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--resume: the checkout has changes*"])
    ran(project, *workers).assert_outcomes(passed=4, skipped=1)


def test_a_line_without_an_end_was_never_written(project: pytest.Pytester) -> None:
    ran(project)
    (file,) = (project.path / pytest_resume.PLACE).iterdir()
    file.write_text(file.read_text() + "test_second.py::test_that")
    ran(project, "--resume").assert_outcomes(failed=1, skipped=1, deselected=4)
