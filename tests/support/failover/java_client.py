"""Hadoop's own client at work while servers are killed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from howdah.testing.spark import Cluster, java_command
from howdah.testing.waiting import wait_until
from tests.support.hadoop.programs import hadoop_program

TIMEOUT_S: Final = 120.0


class JavaRounds:
    """A program such as `FailoverClient.java` at work: in rounds, until it is told to finish."""

    def __init__(
        self, command: Sequence[str], output: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """`environment` is what it has beside that of this process."""
        self._output = output
        with output.open("wb") as out:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
            )

    @property
    def said(self) -> str:
        return self._output.read_text(errors="replace")

    @property
    def rounds(self) -> int:
        """How many were acknowledged."""
        return self.said.count("round ")

    def wait_for(self, rounds: int) -> None:
        """Until so many more were acknowledged."""
        goal = self.rounds + rounds
        wait_until(
            lambda: self.rounds >= goal or self._process.poll() is not None,
            TIMEOUT_S,
            f"{rounds} more rounds",
        )
        assert self._process.poll() is None, self.said[-3000:]

    def finish(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(TIMEOUT_S) == 0, self.said[-3000:]
        assert "done " in self.said

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class JavaClient(JavaRounds):
    """One at work on a cluster of ours."""

    def __init__(
        self, cluster: Cluster, program: Path, uri: str, output: Path, jars: str | None = None
    ) -> None:
        """`uri` is the directory in which it works. `jars` is a class path of Hadoop's, for what
        PySpark's jars do not have."""
        command = java_command(cluster, str(program), [uri])
        if jars is not None:
            command = [*hadoop_program(program, jars, cluster.conf_dir), uri]
        super().__init__(command, output)
