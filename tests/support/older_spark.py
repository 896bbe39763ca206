"""PySpark of another version than the one that is installed, fetched once into the cache."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache"


def pyspark_of(version: str) -> Path:
    """A directory with that PySpark, for `PYTHONPATH`. Skips the test where pip cannot bring it."""
    into = CACHE / f"pyspark-{version}"
    into.parent.mkdir(exist_ok=True)
    with into.with_name(into.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not into.exists():
            partial = into.with_name(into.name + ".partial")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
            fetched = subprocess.run(
                [*command, str(partial), f"pyspark=={version}"],
                capture_output=True,
                text=True,
                check=False,
            )
            if fetched.returncode:
                pytest.skip(f"pip cannot bring PySpark {version}: {fetched.stderr[-300:]}")
            partial.rename(into)
    return into
