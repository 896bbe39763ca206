"""Simulated worlds for tests, all in children of one process, which loads the servers' code once.

    python -m tests.support.worlds

reads lines of a scenario and a seed, and answers each with a line of JSON. To load the code takes
longer than most worlds do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

from howdah.testing.world import runner
from howdah.testing.world.blanks import BlankProcesses


class Worlds:
    """Is that process, from the first world on."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, scenario: str, seed: int) -> dict[str, Any]:
        """Return the fields of a `Result`. Raises ValueError if the process has ended."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.worlds"],
                env={**os.environ, "PYTHONHASHSEED": "random"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None, "it has pipes"
        assert answers is not None, "it has pipes"
        try:
            asked.write(f"{scenario} {seed}\n")
            asked.flush()
            result: dict[str, Any] = json.loads(answers.readline())
        except BaseException:
            # Such as the test's timeout: the answer would be taken for that of the next world.
            self._process.kill()
            self._process.communicate()
            self._process = None
            raise
        return result

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None


def main() -> None:
    runner.warm_up()
    blanks, kinds = BlankProcesses(), Counter[str]()
    for line in sys.stdin:
        scenario, seed = line.split()
        runner.provide(blanks, kinds)
        result = runner.run_forked(scenario, int(seed), blanks=blanks)
        kinds |= Counter(result.processes)
        print(json.dumps(asdict(result)), flush=True)


if __name__ == "__main__":
    main()
