"""Hadoop's own servers and tools: jars that tests and measurements are held against.

PySpark ships Hadoop's client only. The rest comes from Maven's repository through
the `mvn` command, once, into a cache. `HOWDAH_HADOOP_CLASSPATH` names jars that
are there already. Where neither works `NoHadoop` says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from howdah.errors import HowdahError

HADOOP_VERSION = "3.5.0"
_FETCH_TIMEOUT_S = 500
_ARTIFACTS = ("hadoop-common", "hadoop-hdfs-client", "hadoop-hdfs")


class NoHadoop(HowdahError, RuntimeError):
    """Hadoop's jars are not here and cannot be fetched; the message says why."""


def hadoop_class_path(cache: Path) -> str:
    """The class path of Hadoop's servers and tools, as `java -cp` takes it.

    `cache` is a directory of ours that keeps what was fetched.
    """
    given = os.environ.get("HOWDAH_HADOOP_CLASSPATH")
    if given:
        return given
    jars = cache / f"hadoop-{HADOOP_VERSION}"
    if not jars.is_dir():
        _fetch(jars)
    return f"{jars}/*"


def _fetch(into: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoHadoop(f"Hadoop {HADOOP_VERSION} is not there and mvn is not installed to fetch it")
    partial = into.with_name(into.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "pom.xml").write_text(_pom())
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
        raise NoHadoop(
            f"Maven did not bring Hadoop {HADOOP_VERSION} within {_FETCH_TIMEOUT_S} s"
        ) from None
    if done.returncode:
        raise NoHadoop(f"Maven cannot bring Hadoop {HADOOP_VERSION}: {done.stdout[-500:]}")
    partial.rename(into)


def _pom() -> str:
    wanted = "".join(
        f"<dependency><groupId>org.apache.hadoop</groupId><artifactId>{name}</artifactId>"
        f"<version>{HADOOP_VERSION}</version></dependency>"
        for name in _ARTIFACTS
    )
    return (
        "<project xmlns='http://maven.apache.org/POM/4.0.0'><modelVersion>4.0.0</modelVersion>"
        "<groupId>howdah</groupId><artifactId>hadoop-jars</artifactId><version>1</version>"
        f"<dependencies>{wanted}</dependencies></project>"
    )
