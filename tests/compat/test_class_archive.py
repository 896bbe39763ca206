"""Java maps Hadoop's classes from the archive that was made for it."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.hadoop.java import archive_path, hadoop_java

VERSION = "org.apache.hadoop.util.VersionInfo"


def test_a_class_comes_from_the_archive(hadoop_classpath: str) -> None:
    archive = archive_path(hadoop_classpath)
    if archive is None or not archive.exists():
        pytest.skip("the jars are elsewhere, or this Java makes no archives")
    command = [*hadoop_java(hadoop_classpath, options=["-Xlog:class+load"]), VERSION]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert f"{VERSION} source: shared objects file" in said
