"""Jobs on a cluster of Spark, when processes die in the middle of them.

A limit of bandwidth makes a copy long enough to hit it; what is in the filesystem tells
when. The drivers are processes, as users start them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howdah.copy.common.staging import WORK_PREFIX, is_staging
from howdah.testing.spark_cluster import SparkCluster
from howdah.testing.trees import Tree
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(300)

MEBIBYTE = 1 << 20
LONG_S = 240.0


def staged(fs: Any, path: str) -> list[Any]:
    """The files in the staging directories of a target."""
    try:
        tops = [each.path for each in fs.list_status(path) if is_staging(each.name)]
        return [file for top in tops for _, _, files in fs.walk(top) for file in files]
    except FileNotFoundError:
        return []  # not yet, or not any more


def has_begun(ground: Any, name: str) -> bool:
    return bool(staged(ground.fs, ground.path(name)))


def debris(ground: Any) -> list[str]:
    """What is in the test's directory that no job was to leave."""
    odd = (".distcp.tmp.", WORK_PREFIX, ".howdah-compact.", ".howdah.lock")
    tops = ground.fs.walk(ground.path(""))
    return [s.path for _, dirs, files in tops for s in (*dirs, *files) if s.name.startswith(odd)]


def finals(ground: Any, name: str) -> list[Any]:
    """The files of a tree that have their names for good. What is in staging is not looked at:
    executors that have lost their driver are clearing it away."""
    found = []
    for _, directories, files in ground.fs.walk(ground.path(name)):
        directories[:] = [each for each in directories if not is_staging(each.name)]
        found += [file for file in files if not is_staging(file.name)]
    return found


def copied(ground: Any, name: str) -> Tree:
    """Those files, as a tree."""
    top = ground.path(name) + "/"
    return {
        file.path.removeprefix(top): read(ground.fs, file.path) for file in finals(ground, name)
    }


def read(fs: Any, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


def some_files(count: int, size: int = MEBIBYTE) -> Tree:
    return {f"d{number % 3}/{number}": os.urandom(size) for number in range(count)}


def only_files(tree: Tree) -> Tree:
    return {path: data for path, data in tree.items() if data is not None}


def submit(
    cluster: SparkCluster, ground: Any, *options: str, target: str = "dst", slowly: bool = True
) -> subprocess.Popen[bytes]:
    limit = ("-bandwidth", "1") if slowly else ()
    return cluster.submit(
        "distcp",
        "--master",
        cluster.master,
        "--json",
        "-m",
        "4",
        *limit,
        *options,
        ground.uri("src"),
        ground.uri(target),
    )


def counters(cluster: SparkCluster, driver: subprocess.Popen[bytes]) -> dict[str, int]:
    code = driver.wait()
    told = cluster.driver_log(driver)
    assert code == 0, told
    # Among what Spark has to say.
    (line,) = [each for each in told.splitlines() if each.startswith('{"counters"')]
    found: dict[str, int] = json.loads(line)["counters"]
    return found


@pytest.mark.req("OS-065")
def test_copy_outlives_an_executor_that_is_killed(ground: Any, spark_cluster: SparkCluster) -> None:
    tree = some_files(4)
    ground.make("src", tree)
    driver = submit(spark_cluster, ground)
    wait_until(lambda: has_begun(ground, "dst"), LONG_S)
    victim = spark_cluster.kill_executor()
    assert victim.host in spark_cluster.hosts
    counted = counters(spark_cluster, driver)
    assert only_files(ground.tree("dst")) == tree
    # What the dead one had finished is not copied, nor counted, again.
    assert counted["files_copied"] + counted["files_skipped"] == len(tree)
    assert debris(ground) == []


@pytest.mark.torture
@pytest.mark.req("OS-065")
def test_copy_whose_driver_was_killed_is_finished_by_the_next(
    ground: Any, spark_cluster: SparkCluster
) -> None:
    tree = some_files(8)
    ground.make("src", tree)
    driver = submit(spark_cluster, ground)
    wait_until(lambda: has_begun(ground, "dst"), LONG_S)
    spark_cluster.kill_driver(driver, with_java=False)
    assert copied(ground, "dst").items() <= ground.tree("src").items()
    counted = counters(spark_cluster, submit(spark_cluster, ground, "-update", slowly=False))
    assert only_files(ground.tree("dst")) == tree
    assert counted["files_copied"] + counted["files_skipped"] == len(tree)
    assert debris(ground) == []


def final_names(ground: Any, name: str) -> int:
    return len(finals(ground, name)) if ground.fs.exists(ground.path(name)) else 0


MOMENTS: dict[str, Callable[[Any, SparkCluster], object]] = {
    "executors have come": lambda ground, cluster: cluster.executors(),
    "the first byte": lambda ground, cluster: has_begun(ground, "dst"),
    "the first file": lambda ground, cluster: final_names(ground, "dst") >= 1,
    "half of the files": lambda ground, cluster: final_names(ground, "dst") >= 6,
    "the last file": lambda ground, cluster: final_names(ground, "dst") >= 12,
}


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("with_java", [True, False])
@pytest.mark.parametrize("moment", MOMENTS)
def test_driver_may_be_killed_at_any_moment(
    ground: Any, spark_cluster: SparkCluster, moment: str, with_java: bool
) -> None:
    tree = some_files(12)
    ground.make("src", tree)
    driver = submit(spark_cluster, ground, "-p")
    wait_until(lambda: MOMENTS[moment](ground, spark_cluster), LONG_S)
    spark_cluster.kill_driver(driver, with_java=with_java)
    if ground.fs.exists(ground.path("dst")):
        assert copied(ground, "dst").items() <= ground.tree("src").items()
    counters(spark_cluster, submit(spark_cluster, ground, "-update", "-p", slowly=False))
    assert only_files(ground.tree("dst")) == tree
    assert debris(ground) == []


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("with_java", [True, False])
def test_atomic_copy_is_there_as_a_whole_or_not_at_all(
    ground: Any, spark_cluster: SparkCluster, with_java: bool
) -> None:
    tree = some_files(6)
    ground.make("src", tree)
    driver = submit(spark_cluster, ground, "-atomic")

    def is_working() -> bool:
        work = [s for s in ground.fs.list_status(ground.path("")) if WORK_PREFIX in s.name]
        return any(final_names(ground, each.name) >= 2 for each in work)

    wait_until(is_working, LONG_S)
    spark_cluster.kill_driver(driver, with_java=with_java)
    assert not ground.fs.exists(ground.path("dst"))
    counters(spark_cluster, submit(spark_cluster, ground, "-atomic", slowly=False))
    assert only_files(ground.tree("dst")) == tree
    assert debris(ground) == []


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_copy_outlives_executors_that_are_killed_again_and_again(
    ground: Any, spark_cluster: SparkCluster
) -> None:
    tree = some_files(24)
    ground.make("src", tree)
    driver = submit(spark_cluster, ground, "-strategy", "dynamic")
    for done in (1, 8, 16):
        enough = lambda least=done: final_names(ground, "dst") >= least  # noqa: E731
        wait_until(enough, LONG_S)
        spark_cluster.kill_executor()
    counted = counters(spark_cluster, driver)
    assert only_files(ground.tree("dst")) == tree
    assert counted["files_copied"] + counted["files_skipped"] == len(tree)
    assert debris(ground) == []


# --- executors elsewhere ------------------------------------------------------------------


def bare_python(directory: Path, without: tuple[str, ...]) -> Path:
    """An interpreter that finds all packages but some, as on another machine."""
    site = directory / "site"
    site.mkdir(parents=True)
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        is_hidden = path.name.startswith(without) or path.suffix == ".pth"
        if not is_hidden and not path.name.startswith(("howdah", "__editable__")):
            (site / path.name).symlink_to(path)
    program = directory / "python"
    # -S: no site-packages, and no .pth files that would bring a checkout of howdah in.
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{site}" exec "{sys.executable}" -S "$@"\n'
    )
    program.chmod(0o755)
    return program


def run_with(
    cluster: SparkCluster, ground: Any, python: Path
) -> tuple[int, str, subprocess.Popen[bytes]]:
    driver = cluster.submit(
        "distcp",
        "--master",
        cluster.master,
        ground.uri("src"),
        ground.uri("dst"),
        settings={
            "PYSPARK_PYTHON": str(python),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            # One executor, with one Python: what it finds, every other one would. Its workers
            # are PySpark's own: those of the fixture are forked from a process of howdah's.
            "PYSPARK_SUBMIT_ARGS": "--conf spark.cores.max=1"
            " --conf spark.python.daemon.module=pyspark.daemon pyspark-shell",
        },
    )
    return driver.wait(), cluster.driver_log(driver), driver


@pytest.mark.req("LM-022")
def test_executors_that_have_no_howdah_are_sent_it(
    ground: Any, spark_cluster: SparkCluster, tmp_path: Path
) -> None:
    python = bare_python(tmp_path, ("google_crc32c", "uvloop"))
    told = subprocess.run(
        [python, "-c", "import howdah"], capture_output=True, text=True, check=False, env={}
    )
    assert "No module named 'howdah'" in told.stderr
    ground.make("src", {"a": b"1"})
    code, log, _ = run_with(spark_cluster, ground, python)
    assert code == 0, log
    assert ground.tree("dst") == {"a": b"1"}


@pytest.mark.torture
def test_package_that_executors_lack_is_named(
    ground: Any, spark_cluster: SparkCluster, tmp_path: Path
) -> None:
    ground.make("src", {"a": b"1"})
    code, log, _ = run_with(spark_cluster, ground, bare_python(tmp_path, ("google", "protobuf")))
    assert code == 25
    (line,) = [each for each in log.splitlines() if each.startswith("howdah distcp: ")]
    assert "no package protobuf" in line


@pytest.mark.torture
def test_master_that_is_not_there_is_said_in_a_line(
    ground: Any, spark_cluster: SparkCluster
) -> None:
    ground.make("src", {"a": b"1"})
    code, log = spark_cluster.run(
        "distcp", "--master", "spark://127.0.0.1:1", ground.uri("src"), ground.uri("dst")
    )
    assert code == 25
    assert "howdah distcp: there is no Spark at spark://127.0.0.1:1: " in log
    assert "Traceback" not in log
