"""A command that is told to end removes what it has half done."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_put_that_is_ended_leaves_nothing(howdah_cluster: MiniCluster, number: int) -> None:
    with howdah_cluster.connect() as fs:
        target = f"/signals-{number}/file"
        fs.mkdirs(f"/signals-{number}")
        with subprocess.Popen(
            [sys.executable, "-m", "howdah", "dfs", "-fs", howdah_cluster.uri, "-put", "-", target],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            # Standard input stays open: the copy waits for more.
            wait_until(lambda: fs.exists(f"{target}._COPYING_"), 30)
            process.send_signal(number)
            _, told = process.communicate(timeout=60)
        assert process.returncode == 128 + number
        word = {2: "Interrupted", 15: "Terminated", 1: "Hangup"}[number]
        assert told == f"put: {word}\n"
        assert fs.list_status(f"/signals-{number}") == []
