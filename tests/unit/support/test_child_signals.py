"""Programs that tests start can be interrupted wherever the tests run."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support import child_signals

PROGRAM = f"""
import os, signal, subprocess, sys
sys.path.insert(0, {child_signals.__file__!r}.rpartition("/")[0])
from child_signals import hear_signals
hear_signals()
number = int(sys.argv[1])
os.kill(os.getpid(), number)
child = subprocess.Popen(["sleep", "60"])
child.send_signal(number)
print("goes on, and the child ends by", -child.wait(timeout=30))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_ignored_signals_end_children_only(number: int) -> None:
    def ignore() -> None:
        signal.signal(number, signal.SIG_IGN)

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(int(number))],
        preexec_fn=ignore,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == f"goes on, and the child ends by {int(number)}"
