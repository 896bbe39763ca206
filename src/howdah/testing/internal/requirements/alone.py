"""A pytest plugin: a test of real processes that failed beside others is run once more alone.

`./dev test` loads it with `-p`. Workers with servers and JVMs share a machine that may
be shared itself; there a test may fail for a moment that nobody promised, or for a defect
that only such a moment shows. Both have to be looked at, and neither is a reason to throw
away an hour of everybody's work: so, where at most `MOST` tests failed, and all of them start
processes (`PLACES`), each is run again in a process of its own with nothing beside it. What
fails again fails the run. What passes is told at the end of it, by name, and doesn't.
A test without processes is the same in every run and gets no second one, and neither does
one that took its worker with it.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from howdah.testing.internal.requirements.marks import is_worker

MOST: Final = 3
PLACES: Final = tuple(
    f"tests/{each}/" for each in ("browser", "cluster", "compat", "crash", "spark")
)
COMMAND: Final = (sys.executable, "-m", "pytest", "-q", "-n0")
TIMEOUT_S: Final = 1200

_FAILED: Final = "failed"
_DIED: Final = "the process died that ran it"
_PASSED: Final = "passed alone"

_failed: pytest.StashKey[dict[str, str]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """What became of each test that failed, by its node id: nothing is known yet."""
    config.stash[_failed] = {}
    if not is_worker(config):
        config.pluginmanager.register(_Watcher(config.stash[_failed]))


class _Watcher:
    """Remembers which tests failed; a report knows nothing of the configuration."""

    def __init__(self, failed: dict[str, str]) -> None:
        self._failed = failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            died = report.when not in ("setup", "call", "teardown")  # so says pytest-xdist
            self._failed[report.nodeid] = _DIED if died else _FAILED


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Run again what may be, and let that decide where nothing else failed.

    The workers have ended by now, as pytest-xdist's own hook was registered later; and what
    runs beside the tests (`types_beside`) has its say after this."""
    failed = session.config.stash[_failed]
    if is_worker(session.config) or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    if not 0 < len(failed) <= MOST or _DIED in failed.values():
        return
    if not all(name.startswith(PLACES) for name in failed):
        return
    for name in failed:
        failed[name] = _alone(session.config, name)
    if all(outcome == _PASSED for outcome in failed.values()):
        session.exitstatus = pytest.ExitCode.OK


def _alone(config: pytest.Config, name: str) -> str:
    # A node id stands for its parameters as they are, whatever characters are in them.
    command = [*COMMAND, name]
    try:
        done = subprocess.run(
            command, cwd=config.rootpath, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"alone it did not end within {TIMEOUT_S} s"
    return _PASSED if done.returncode == pytest.ExitCode.OK else "failed alone as well"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    tried = {
        name: what for name, what in config.stash[_failed].items() if what not in (_FAILED, _DIED)
    }
    if not tried:
        return
    terminalreporter.section("failed beside others")
    for name, what in tried.items():
        terminalreporter.write_line(f"{what}: {name}")
    terminalreporter.write_line(
        "What passed alone is a defect too, of the test or of what it tests."
    )
