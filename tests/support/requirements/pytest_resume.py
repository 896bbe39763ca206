"""A pytest plugin: a run of hours that was broken off goes on where it was, with `--resume`.

`./dev torture` loads it with `-p`. Each test that passes is noted at once in a file
below `PLACE`, whose name says at which tree of git and with how many histories. `--resume` leaves
out what is noted there, so several runs at one tree are worth a whole one. Where the checkout has
changes nothing is noted, and `--resume` is refused: it could not be said what has passed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.requirements.marks import is_worker
from tests.support.torture import times

PLACE: Final = Path(".cache", "passed")
"""Below the project's directory."""
_BUT_NOT: Final = "but not "
_FOR_WORKERS: Final = "howdah_passed_before"

_passed_before: pytest.StashKey[frozenset[str]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--resume`."""
    parser.addoption(
        "--resume",
        action="store_true",
        help="leave out the tests that have passed before at the same commit, without changes",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Raises UsageError for a run that cannot go on. Workers leave out what the first process
    does, whatever they could read by now."""
    config.stash[_passed_before] = frozenset()
    if is_worker(config):
        told: dict[str, Any] = getattr(config, "workerinput", {})
        config.stash[_passed_before] = frozenset(told.get(_FOR_WORKERS, ()))
        return
    tree = _clean_tree(config.rootpath)
    if tree is None:
        if config.getoption("--resume"):
            raise pytest.UsageError(
                "--resume: the checkout has changes, or is none of git: run the whole"
            )
        return
    file = config.rootpath / PLACE / f"{tree}-{times(1)}"
    if config.getoption("--resume") and file.exists():
        config.stash[_passed_before] = passed_in(file.read_text())
    config.pluginmanager.register(_Notes(file))
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_ForWorkers(config.stash[_passed_before]))


def _clean_tree(root: Path) -> str | None:
    """The tree of the last commit; None where files are not as it has them."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return None if git("status", "--porcelain") else git("rev-parse", "HEAD^{tree}")
    except (OSError, subprocess.CalledProcessError):
        return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has passed before."""
    before = config.stash[_passed_before]
    done = [item for item in items if item.nodeid in before]
    if done:
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if item.nodeid not in before]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many were left out."""
    before = config.stash[_passed_before]
    if before:
        terminalreporter.write_line(f"{len(before)} tests had passed before at this commit")


class _ForWorkers:
    """Tells the workers of pytest-xdist what to leave out."""

    def __init__(self, before: frozenset[str]) -> None:
        self._before = sorted(before)

    def pytest_configure_node(self, node: Any) -> None:
        """`node` is pytest-xdist's WorkerController, which has no types."""
        node.workerinput[_FOR_WORKERS] = self._before


def passed_in(text: str) -> frozenset[str]:
    """The tests that notes say have passed. The last line has no end where it was being written
    when the run was broken off."""
    passed = set()
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            continue
        if line.startswith(_BUT_NOT):
            passed.discard(line[len(_BUT_NOT) : -1])
        else:
            passed.add(line[:-1])
    return frozenset(passed)


class _Notes:
    """Notes each test that passes, at once: a run may be killed. What comes behind the test itself
    may fail still; workers say nothing of it where it does not."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._note(report.nodeid)
        elif report.when == "teardown" and report.failed:
            self._note(f"{_BUT_NOT}{report.nodeid}")

    def _note(self, line: str) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as out:
            out.write(f"{line}\n")
