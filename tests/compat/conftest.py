"""What the tests against strangers share: Hadoop's own jars.

The jars come from Maven's repository through the `mvn` command, once, into
`.cache/` at the top of the project. Where that cannot be done, or there is no
Java, the tests that need them are skipped and say why. `HOWDAH_HADOOP_CLASSPATH`
names jars that are there already.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HADOOP_VERSION = "3.5.0"
_CACHE = Path(__file__).parents[2] / ".cache" / f"hadoop-{HADOOP_VERSION}"
_FETCH_TIMEOUT_S = 500
_RUN_TIMEOUT_S = 100

_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>howdah</groupId>
  <artifactId>hadoop-jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-common</artifactId>
      <version>{HADOOP_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-hdfs-client</artifactId>
      <version>{HADOOP_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-hdfs</artifactId>
      <version>{HADOOP_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def _fetch(into: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip(f"Hadoop {HADOOP_VERSION} is not there and mvn is not installed to fetch it")
    partial = into.with_name(into.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "pom.xml").write_text(_POM)
    command = [maven, "--batch-mode", "--quiet", "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    try:
        done = subprocess.run(
            command,
            cwd=partial,
            capture_output=True,
            text=True,
            timeout=_FETCH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"Maven did not bring Hadoop {HADOOP_VERSION} within {_FETCH_TIMEOUT_S} s")
    if done.returncode:
        pytest.skip(f"Maven cannot bring Hadoop {HADOOP_VERSION}: {done.stdout[-500:]}")
    partial.rename(into)


@pytest.fixture(scope="session")
def hadoop_classpath() -> str:
    """The class path of Hadoop's servers and tools, as `java -cp` takes it."""
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    given = os.environ.get("HOWDAH_HADOOP_CLASSPATH")
    if given:
        return given
    if not _CACHE.is_dir():
        _fetch(_CACHE)
    return f"{_CACHE}/*"


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
