"""Ctrl-C in the middle of a job, in a process of its own: no traceback, and no debris."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from howdah.testing.waiting import wait_until

pytestmark = [pytest.mark.timeout(300), pytest.mark.torture]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_copy_that_is_interrupted_takes_back_what_it_began(
    bench: Any, number: int, code: int
) -> None:
    bench.make("src", {f"d{n}/f": bytes(8 << 20) for n in range(8)})
    words = ["distcp", "--master", "local[2]", "-m", "2", "-bandwidth", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "howdah", *words, bench.uri("src"), bench.uri("dst")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:

        def is_copying() -> bool:
            assert process.poll() is None
            return any(".distcp.tmp." in path for path in bench.tree(""))

        wait_until(is_copying, 120)
        # As a terminal does it: to all that run in it.
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.terminate()
        told, _ = process.communicate(timeout=120)
    assert process.returncode == code, told
    assert "Traceback" not in told
    wait_until(lambda: not any(".distcp.tmp." in path for path in bench.tree("")), 30)
    outcome = bench.copy("src", "dst", update=True)
    assert bench.tree("dst") == bench.tree("src")
    assert outcome.counters.files_failed == 0
