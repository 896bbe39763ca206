"""Hadoop's DistCp and ours on the same trees: the same trees come out of both.

Both copy on the same cluster, from the same sources to two targets that are alike. One
Java process runs Hadoop's with its local job runner, case after case.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.fs.api import FileSystem
from howdah.spark import distcp
from howdah.spark.arguments import parse
from howdah.spark.counters import Counters
from howdah.spark.outcome import exit_code
from howdah.testing import MiniCluster
from howdah.testing.hadoop import NoHadoop, hadoop_class_path, hadoop_distcp_class_path

pytestmark = pytest.mark.timeout(240)

_CACHE = Path(__file__).parents[2] / ".cache"
_PROGRAM = Path(__file__).with_name("RunDistCp.java")
_QUICK = (
    "mapreduce.framework.name=local",
    "mapreduce.client.progressmonitor.pollinterval=10",
    "mapreduce.client.completion.pollinterval=10",
)
_numbers = itertools.count()


@dataclass(frozen=True)
class Result:
    """What a DistCp said, and what it left at its target."""

    code: int
    copied: int
    skipped: int
    bytes_copied: int
    tree: dict[str, tuple[Any, ...]]


class JavaDistCp:
    """Hadoop's DistCp in a Java process that is there already."""

    def __init__(self, class_path: str, cluster: MiniCluster, scratch: Path) -> None:
        command = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-cp", f"{cluster.conf_dir}:{class_path}", str(_PROGRAM), *_QUICK]
        command += [f"hadoop.tmp.dir={scratch}"]
        self._said = (scratch / "said").open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
        )

    def run(self, words: list[str]) -> tuple[int, int, int, int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("RESULT "):
                code, copied, skipped, size = map(int, line.split()[1:5])
                return code, copied, skipped, size
        raise AssertionError("the Java process has ended")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._said.close()


@pytest.fixture(scope="module")
def java(
    howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaDistCp]:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    try:
        class_path = f"{hadoop_distcp_class_path(_CACHE)}:{hadoop_class_path(_CACHE)}"
    except NoHadoop as error:
        pytest.skip(error.message)
    process = JavaDistCp(class_path, howdah_cluster, tmp_path_factory.mktemp("distcp"))
    yield process
    process.close()


# -- cases -----------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c d", "e%20"])
CONTENTS = st.sampled_from([b"", b"1", b"2", b"22", b"333"])
TREES = st.recursive(
    CONTENTS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
DIRECTORIES = st.dictionaries(NAMES, TREES, max_size=3)
PRESERVED = st.sampled_from(["", "-p", "-pp", "-pt", "-pugp", "-prb"])
MANNERS = st.sampled_from(
    [
        [],
        ["-update"],
        ["-overwrite"],
        ["-update", "-delete"],
        ["-overwrite", "-delete"],
        ["-update", "-skipcrccheck"],
        ["-update", "-append"],
        ["-atomic"],
        ["-update", "-updateRoot"],
    ]
)
OTHERS = st.lists(
    st.sampled_from(["-direct", "-i", "-useiterator", "-strategy=dynamic", "-m=2"]),
    max_size=2,
    unique=True,
)


@dataclass(frozen=True)
class Case:
    sources: dict[str, Any]  # names with content: bytes, or a directory
    target: Any  # None, bytes or a directory
    options: list[str]


CASES = st.builds(
    lambda sources, target, manner, preserved, others: Case(
        sources, target, [*manner, *([preserved] if preserved else []), *others]
    ),
    st.dictionaries(st.sampled_from(["x", "y", "z"]), TREES, min_size=1, max_size=2),
    st.one_of(st.none(), CONTENTS, DIRECTORIES),
    MANNERS,
    PRESERVED,
    OTHERS,
)


def make(fs: FileSystem, path: str, what: Any) -> None:
    if isinstance(what, bytes):
        with fs.create(path) as out:
            out.write(what)
        # So that it can be seen what was preserved.
        fs.set_permission(path, 0o600 + len(what))
        fs.set_times(path, 1_500_000_000_000 + len(path), 1_400_000_000_000)
        return
    fs.mkdirs(path)
    for name, inner in what.items():
        make(fs, f"{path}/{name}", inner)
    fs.set_permission(path, 0o711)


def seen(fs: FileSystem, path: str, options: list[str]) -> dict[str, tuple[Any, ...]]:
    """All that is at a path, with the attributes that have to be the same."""
    found: dict[str, tuple[Any, ...]] = {}
    if not fs.exists(path):
        return found
    top = fs.get_file_status(path)
    statuses = [top] if top.is_file else []
    if top.is_directory:
        for _, directories, files in fs.walk(path):
            statuses += directories + files
        statuses.append(top)
    keeps_times = any(option in ("-p", "-pt") for option in options)
    for status in statuses:
        content = None
        if status.is_file:
            with fs.open(status.path) as stream:
                content = stream.read()
        found[status.path.removeprefix(path)] = (
            content,
            status.permission,
            status.owner,
            status.group,
            status.replication,
            status.modification_time_ms if keeps_times and status.is_file else None,
        )
    return found


def run_ours(spark: Any, cluster: MiniCluster, words: list[str]) -> tuple[int, int, int, int]:
    arguments = parse(words)
    try:
        outcome = distcp(
            spark,
            arguments.sources,
            arguments.target,
            options=arguments.options,
            conf=cluster.conf,
        )
    except Exception as error:  # noqa: BLE001 — whatever it is, it has an exit code
        return exit_code(error), 0, 0, 0
    counters: Counters = outcome.counters
    return 0, counters.files_copied, counters.files_skipped, counters.bytes_copied


def both(
    case: Case, spark: Any, cluster: MiniCluster, fs: FileSystem, java: JavaDistCp
) -> tuple[Result, Result]:
    """Hadoop's result and ours."""
    root = f"/distcp/java/{next(_numbers)}"
    for name, what in case.sources.items():
        make(fs, f"{root}/{name}", what)
    results = []
    for who in ("java", "ours"):
        target = f"{root}/{who}/dst"
        fs.mkdirs(f"{root}/{who}")
        if case.target is not None:
            make(fs, target, case.target)
        words = [*case.options, *(f"{cluster.uri}{root}/{name}" for name in case.sources)]
        words.append(f"{cluster.uri}{target}")
        said = java.run(words) if who == "java" else run_ours(spark, cluster, words)
        results.append(Result(*said, seen(fs, target, case.options)))
        # Nothing is left beside the target.
        assert [status.name for status in fs.list_status(f"{root}/{who}")] in ([], ["dst"])
    return results[0], results[1]


def check(case: Case, spark: Any, cluster: MiniCluster, java: JavaDistCp) -> None:
    with cluster.connect() as fs:
        theirs, ours = both(case, spark, cluster, fs, java)
    assert ours.code == theirs.code
    if theirs.code == 0:
        assert ours == theirs


@pytest.mark.req("FS-159", "FS-160", "FS-161", "FS-162", "FS-163", "FS-164")
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(CASES)
def test_both_leave_the_same_trees(
    spark: Any, howdah_cluster: MiniCluster, java: JavaDistCp, case: Case
) -> None:
    check(case, spark, howdah_cluster, java)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(CASES)
def test_both_leave_the_same_trees_in_hundreds_of_cases(
    spark: Any, howdah_cluster: MiniCluster, java: JavaDistCp, case: Case
) -> None:
    check(case, spark, howdah_cluster, java)
