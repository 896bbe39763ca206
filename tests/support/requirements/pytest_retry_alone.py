"""A pytest plugin: a test of real processes that failed beside others is run once more alone.

`./dev test` and `./dev torture` load it with `-p`. Workers with servers and JVMs share a machine
that may be shared itself; there a test may fail for a moment that nobody promised, or for a defect
that only such a moment shows. Both have to be explained, and neither is a reason to throw
away an hour of everybody's work: so, where at most `MOST` tests failed, and all of them start
processes (`PLACES`), each is run again in a process of its own with nothing beside it. What
fails again fails the run. What passes does not, but stands at the end of the run with both
outcomes, and in `RECORD`: each run says how many lines are there until somebody has explained
them and removes them.
A test without processes is the same in every run and gets no second one, and neither does
one that took its worker with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.requirements.marks import is_worker

MOST: Final = 3
PLACES: Final = tuple(
    f"tests/{each}/" for each in ("browser", "cluster", "compat", "crash", "spark")
)
COMMAND: Final = (sys.executable, "-m", "pytest", "-q", "-n0")
TIMEOUT_S: Final = 1200

RECORD: Final = Path(".cache", "unexplained_failures.jsonl")
"""Below the project's directory: one object a line for each test that failed and passed alone."""

_PASSED: Final = "passed"


@dataclass(slots=True)
class _Failure:
    """A test that failed: how, and the outcome of its second run, where it had one."""

    message: str
    took_worker: bool
    alone: str = ""


_failures: pytest.StashKey[dict[str, _Failure]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Start with no failure; each is kept by the node id of its test."""
    config.stash[_failures] = {}
    if not is_worker(config):
        config.pluginmanager.register(_Watcher(config.stash[_failures]))


class _Watcher:
    """Remembers which tests failed; a report knows nothing of the configuration."""

    def __init__(self, failures: dict[str, _Failure]) -> None:
        self._failures = failures

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            # pytest-xdist reports a worker that died with a phase of its own.
            took_worker = report.when not in ("setup", "call", "teardown")
            crash = getattr(report.longrepr, "reprcrash", None)
            message = str(crash.message if crash else report.longrepr).strip()
            self._failures[report.nodeid] = _Failure(message.partition("\n")[0], took_worker)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Run again what may be, and let that decide where nothing else failed.

    The workers have ended by now, as pytest-xdist's own hook was registered later; and what
    runs beside the tests (`types_beside`) has its say after this."""
    config = session.config
    failures = config.stash[_failures]
    if is_worker(config) or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    if not 0 < len(failures) <= MOST or any(each.took_worker for each in failures.values()):
        return
    if not all(name.startswith(PLACES) for name in failures):
        return
    for name, failure in failures.items():
        failure.alone = _alone(config, name)
    _record(config.rootpath / RECORD, failures)
    if all(failure.alone == _PASSED for failure in failures.values()):
        session.exitstatus = pytest.ExitCode.OK


def _record(path: Path, failures: dict[str, _Failure]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with path.open("a", encoding="utf-8") as file:
        for name, failure in failures.items():
            if failure.alone == _PASSED:
                line = {"when": when, "test": name, "beside_others": failure.message}
                file.write(json.dumps(line) + "\n")


def _alone(config: pytest.Config, name: str) -> str:
    # A node id stands for its parameters as they are, whatever characters are in them.
    command = [*COMMAND, name]
    try:
        done = subprocess.run(
            command, cwd=config.rootpath, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {TIMEOUT_S} s"
    return _PASSED if done.returncode == pytest.ExitCode.OK else "failed as well"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    tried = {name: each for name, each in config.stash[_failures].items() if each.alone}
    if tried:
        terminalreporter.section("failed beside others, and ran again alone")
    for name, failure in tried.items():
        terminalreporter.write_line(name)
        terminalreporter.write_line(f"    beside others: {failure.message}")
        terminalreporter.write_line(f"    alone: {failure.alone}")
    record = config.rootpath / RECORD
    if not is_worker(config) and record.exists():
        count = len(record.read_text(encoding="utf-8").splitlines())
        if count:
            terminalreporter.section("failures without an explanation")
            terminalreporter.write_line(
                f"{count} in {RECORD}: a test that fails by chance is a defect, of the test or of "
                "what it tests. Remove the line of one that is explained and mended."
            )
