"""A pytest plugin: a run that ends early leaves no process behind.

`./dev test` loads it with `-p`. SIGTERM ends a run as Ctrl-C does, with a summary and the exit
code 143. Whatever ends the run, even SIGKILL, a process of its own then kills what the run has
started: workers, servers, and reruns (`marked_processes`).
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Generator
from types import FrameType
from typing import Final

import pytest

from tests.support.requirements import marked_processes
from tests.support.requirements.marks import is_worker

MARK: Final = "HOWDAH_TEST_RUN"
EXIT_CODE: Final = 128 + signal.SIGTERM


def pytest_configure(config: pytest.Config) -> None:
    """Mark this process, and start the one that outlives it. A run within a run belongs to
    the outer one."""
    if is_worker(config) or MARK in os.environ:
        return
    token = secrets.token_hex(8)
    # Started before the mark is set: it must not find itself.
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", marked_processes.__file__, f"{MARK}={token}"],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    os.environ[MARK] = token
    run = _Run()
    config.pluginmanager.register(run)
    before = signal.signal(signal.SIGTERM, run.end)

    def close() -> None:
        del os.environ[MARK]
        signal.signal(signal.SIGTERM, before)
        # It kills what is left, and ends.
        watcher.communicate()

    config.add_cleanup(close)


class _Run:
    """Remembers whether SIGTERM ended the run."""

    def __init__(self) -> None:
        self._was_ended = False

    def end(self, number: int, frame: FrameType | None) -> None:
        self._was_ended = True
        pytest.exit("ended by SIGTERM")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Set the exit code behind the summary, which pytest writes for its own codes alone."""
        result = yield
        if self._was_ended:
            session.exitstatus = EXIT_CODE
        return result
