"""Java maps Spark's classes from the archive that was made for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from howdah.java import find_java_home
from howdah.testing.spark import spark_class_path
from tests.support.spark_archive import quick_start

MAIN = "org.apache.spark.deploy.SparkSubmit"


@pytest.mark.parametrize("more", ["", "conf"])
def test_a_class_comes_from_the_archive(
    spark_archive: Path | None, tmp_path: Path, more: str
) -> None:
    """Also with a directory of settings, as long as it comes after the jars."""
    if spark_archive is None:
        pytest.skip("this Java makes no archives")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "file").touch()
    classes = spark_class_path() + (f":{tmp_path / more}" if more else "")
    options = [*quick_start(spark_archive).split(), "-Xlog:class+load", "-cp", classes]
    done = subprocess.run(
        [str(find_java_home() / "bin" / "java"), *options, MAIN, "--version"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert f"{MAIN} source: shared objects file (top)" in done.stdout
