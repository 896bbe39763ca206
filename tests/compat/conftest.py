"""What the tests against strangers share: Hadoop's own jars.

Where they cannot be had (see `howdah.testing.hadoop`), or there is no Java, the
tests that need them are skipped and say why.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.testing.hadoop import NoHadoop, hadoop_class_path

_CACHE = Path(__file__).parents[2] / ".cache"
_RUN_TIMEOUT_S = 100


@pytest.fixture(scope="session")
def hadoop_classpath() -> str:
    """The class path of Hadoop's servers and tools, as `java -cp` takes it."""
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    try:
        return hadoop_class_path(_CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def hadoop_run(hadoop_classpath: str) -> Callable[..., str]:
    """Runs a main class, or a program from its source, with Hadoop's jars; checks
    that it succeeds, and gives back what it printed."""

    def run(main: str | Path, *arguments: str | Path, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["java", "-Xmx256m", "-cp", hadoop_classpath, *map(str, (main, *arguments))],
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            cwd=cwd,
            check=False,
        )
        assert done.returncode == 0, f"{main} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
