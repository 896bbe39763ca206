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
from types import FrameType
from typing import Final

import pytest

from howdah.testing.internal.requirements import marked_processes
from howdah.testing.internal.requirements.marks import is_worker

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
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end_run)

    def close() -> None:
        del os.environ[MARK]
        if signal.getsignal(signal.SIGTERM) is _end_run:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # It kills what is left, and ends.
        watcher.communicate()

    config.add_cleanup(close)


def _end_run(number: int, frame: FrameType | None) -> None:
    pytest.exit("ended by SIGTERM", returncode=EXIT_CODE)
