"""A pytest plugin: mypy runs beside the tests, as they leave a core idle now and then.

`./dev test` loads it with `-p`. What mypy said stands at the end of the run, and a run whose
types are wrong fails, whatever became of its tests. A run that is interrupted ends mypy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import IO, Final

import pytest

from tests.support.requirements.marks import is_worker

COMMAND: Final = (sys.executable, "-m", "mypy", "--no-error-summary")


@dataclass(frozen=True, slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    output: IO[bytes]


_running: pytest.StashKey[_Running] = pytest.StashKey()


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if is_worker(config):
        return
    output = tempfile.TemporaryFile()  # noqa: SIM115 -- it is open as long as the run lasts
    process = subprocess.Popen(
        COMMAND,
        cwd=config.rootpath,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    config.stash[_running] = _Running(process, output)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Wait for mypy, and let it decide where the tests have passed."""
    found = session.config.stash.get(_running, None)
    if found is None:
        return
    if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        found.process.kill()
    if found.process.wait() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    found = config.stash.get(_running, None)
    if found is None:
        return
    found.output.seek(0)
    said = found.output.read().decode(errors="replace").strip()
    if said or found.process.returncode:
        terminalreporter.section("types")
        terminalreporter.write_line(said or f"mypy ended with {found.process.returncode}")


def pytest_unconfigure(config: pytest.Config) -> None:
    found = config.stash.get(_running, None)
    if found is None:
        return
    # Still running only where pytest itself has failed.
    found.process.kill()
    found.process.wait()
    found.output.close()
