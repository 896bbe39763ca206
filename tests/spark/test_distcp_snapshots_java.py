"""Hadoop's DistCp and ours between the same snapshots: `-diff` and `-rdiff`.

Whatever is done between two snapshots, both leave what the second one shows.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.copy.arguments import parse
from howdah.copy.outcome import exit_code
from howdah.fs.api import FileSystem
from howdah.spark import distcp
from howdah.testing import MiniCluster
from howdah.testing.trees import read_tree
from tests.support.hadoop.distcp import HadoopDistCp
from tests.support.torture import times

pytestmark = pytest.mark.timeout(240)

_numbers = itertools.count()

# -- trees, and what is done to them ---------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c d"])
TREES = st.dictionaries(
    NAMES,
    st.recursive(
        st.sampled_from([b"", b"1", b"22"]),
        lambda inner: st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
STEPS = st.lists(
    st.tuples(st.sampled_from("mfrrrdwc"), st.integers(0, 99), st.integers(0, 99), NAMES),
    max_size=10,
)


def make(fs: FileSystem, path: str, what: Any) -> None:
    if isinstance(what, bytes):
        with fs.create(path) as out:
            out.write(what)
        return
    fs.mkdirs(path)
    for name, inner in what.items():
        make(fs, f"{path}/{name}", inner)


def do(fs: FileSystem, top: str, steps: list[tuple[str, int, int, str]]) -> None:
    """Make, rename, delete, write and set modes; what isn't possible is left out."""
    for kind, first, second, name in steps:
        statuses = [each for _, ds, files in fs.walk(top) for each in (*ds, *files)]
        there = sorted(status.path for status in statuses)
        directories = [top, *sorted(s.path for s in statuses if s.is_directory)]
        free = f"{directories[second % len(directories)]}/{name}"
        if kind in "mf" and free not in there:
            make(fs, free, {} if kind == "m" else bytes([65 + first % 26]))
        if not there:
            continue
        path = there[first % len(there)]
        if kind == "d":
            fs.delete(path, recursive=True)
        elif kind == "c":
            fs.set_permission(path, 0o700 + second % 64)
        elif kind == "w" and path not in directories:
            fs.delete(path)
            make(fs, path, b"w" * (second % 3))
        elif kind == "r" and free not in there and not f"{free}/".startswith(f"{path}/"):
            fs.rename(path, free)


def snapshot(fs: Any, path: str, name: str) -> None:
    fs.allow_snapshot(path)
    fs.create_snapshot(path, name)


def run_ours(spark: Any, cluster: MiniCluster, words: list[str]) -> int:
    arguments = parse(words)
    try:
        distcp(
            spark,
            arguments.sources,
            arguments.target,
            options=arguments.options,
            conf=cluster.conf,
        )
    except Exception as error:  # noqa: BLE001 — whatever it is, it has an exit code
        return exit_code(error)
    return 0


def modes(fs: FileSystem, path: str) -> dict[str, int]:
    return {
        each.path.removeprefix(path): each.permission
        for _, directories, files in fs.walk(path)
        for each in (*directories, *files)
    }


def both(
    spark: Any, cluster: MiniCluster, java: HadoopDistCp, tree: Any, steps: Any, back: bool
) -> tuple[tuple[int, Any], tuple[int, Any], Any]:
    """What Hadoop's and ours say and leave, and what it has to be."""
    root = f"/distcp/snapshots/{next(_numbers)}"
    results = []
    with cluster.connect() as fs:
        make(fs, f"{root}/src", tree)
        snapshot(fs, f"{root}/src", "s1")
        wanted = read_tree(fs, f"{root}/src"), modes(fs, f"{root}/src")
        if not back:
            do(fs, f"{root}/src", steps)
            wanted = read_tree(fs, f"{root}/src"), modes(fs, f"{root}/src")
            snapshot(fs, f"{root}/src", "s2")
        for who in ("java", "ours"):
            target = f"{root}/{who}"
            make(fs, target, tree)
            snapshot(fs, target, "s1")
            if back:
                do(fs, target, steps)
                snapshot(fs, target, "s2")
            way = ["-rdiff", "s2", "s1"] if back else ["-diff", "s1", "s2"]
            words = ["-update", "-pp", *way, f"{cluster.uri}{root}/src", f"{cluster.uri}{target}"]
            code = java.run(words).exit_code if who == "java" else run_ours(spark, cluster, words)
            results.append((code, (read_tree(fs, target), modes(fs, target))))
    return results[0], results[1], wanted


def check(
    spark: Any, cluster: MiniCluster, java: HadoopDistCp, tree: Any, steps: Any, back: bool
) -> None:
    theirs, ours, wanted = both(spark, cluster, java, tree, steps, back)
    assert ours == (0, wanted)
    assert theirs == ours


@settings(
    max_examples=3,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(TREES, STEPS, st.booleans())
def test_both_follow_snapshots(
    spark: Any, howdah_cluster: MiniCluster, java: HadoopDistCp, tree: Any, steps: Any, back: bool
) -> None:
    check(spark, howdah_cluster, java, tree, steps, back)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@settings(
    max_examples=times(30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(TREES, STEPS, st.booleans())
def test_both_follow_snapshots_in_hundreds_of_cases(
    spark: Any, howdah_cluster: MiniCluster, java: HadoopDistCp, tree: Any, steps: Any, back: bool
) -> None:
    check(spark, howdah_cluster, java, tree, steps, back)
