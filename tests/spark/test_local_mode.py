"""Spark in one process, as it comes, on clusters of one machine, as they come.

The local scheduler offers its cores again only when a task ends. A stage of tasks that
prefer other hosts, beside tasks that prefer the driver's, then waits for ever; unless no host
is named, or nothing is waited for (`spark.locality.wait`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.java import find_java_home
from howdah.local.servers import environment
from howdah.testing import MiniCluster
from tests.support.spark_archive import quick_start

pytestmark = pytest.mark.timeout(600)

PROGRAM = Path(__file__).with_name("usual_queries.py")
# A few seconds, where the machine does nothing else.
HANGS_S = 400


@pytest.fixture
def up(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """`howdah up`, with nothing said but where."""
    yield json.loads(howdah("up", "--dir", str(tmp_path / "c"), "--json"))
    howdah("down", "--dir", str(tmp_path / "c"))


def howdah(*words: str) -> str:
    command = [sys.executable, "-m", "howdah", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_usual_queries_end_on_clusters_in_their_default_form(
    up: dict[str, Any], tmp_path: Path, spark_archive: Path | None
) -> None:
    settings = {
        **environment(),
        "JAVA_HOME": str(find_java_home()),
        "JDK_JAVA_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_SUBMIT_OPTS": quick_start(spark_archive),
    }
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "SPARK_LOCAL_IP"):
        settings.pop(name, None)
    with MiniCluster() as cluster:
        said = run_bounded([f"{up['uri']}/t", f"{cluster.uri}/t"], settings, tmp_path)
    assert said.endswith("done\n"), said


def run_bounded(roots: list[str], settings: dict[str, str], scratch: Path) -> str:
    """What the program has printed when it ended, or hung, with its errors after that."""
    with (scratch / "out").open("w") as out, (scratch / "err").open("w") as err:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *roots],
            stdout=out,
            stderr=err,
            env=settings,
            cwd=scratch,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    said = (scratch / "out").read_text()
    if status == 0:
        return said
    ended = "hung" if status is None else f"ended with {status}"
    return f"{said}{ended}\n{(scratch / 'err').read_text()[-2000:]}"
