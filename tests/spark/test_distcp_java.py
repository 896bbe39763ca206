"""Hadoop's DistCp and ours on the same trees: the same trees come out of both.

Both copy on the same cluster, from the same sources to two targets that are alike. One
Java process runs Hadoop's with its local job runner, case after case.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
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
from howdah.testing.hadoop_distcp import HadoopDistCp, HadoopRun

pytestmark = pytest.mark.timeout(240)

_numbers = itertools.count()


@dataclass(frozen=True)
class Result:
    """What a DistCp said, and what it left at its target."""

    code: int
    copied: int
    skipped: int
    bytes_copied: int
    tree: dict[str, tuple[Any, ...]]


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


def run_ours(spark: Any, cluster: MiniCluster, words: list[str]) -> HadoopRun:
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
        return HadoopRun(exit_code(error), 0, 0, 0, 0.0)
    done: Counters = outcome.counters
    return HadoopRun(0, done.files_copied, done.files_skipped, done.bytes_copied, 0.0)


def both(
    case: Case, spark: Any, cluster: MiniCluster, fs: FileSystem, java: HadoopDistCp
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
        tree = seen(fs, target, case.options)
        results.append(
            Result(said.exit_code, said.files_copied, said.files_skipped, said.bytes_copied, tree)
        )
        # Nothing is left beside the target.
        assert [status.name for status in fs.list_status(f"{root}/{who}")] in ([], ["dst"])
    return results[0], results[1]


def check(case: Case, spark: Any, cluster: MiniCluster, java: HadoopDistCp) -> None:
    with cluster.connect() as fs:
        theirs, ours = both(case, spark, cluster, fs, java)
    assert ours.code == theirs.code
    if theirs.code == 0:
        assert ours == theirs


@pytest.mark.req("FS-159", "FS-160", "FS-161", "FS-162", "FS-163", "FS-164")
@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(CASES)
def test_both_leave_the_same_trees(
    spark: Any, howdah_cluster: MiniCluster, java: HadoopDistCp, case: Case
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
    spark: Any, howdah_cluster: MiniCluster, java: HadoopDistCp, case: Case
) -> None:
    check(case, spark, howdah_cluster, java)
