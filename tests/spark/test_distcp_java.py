"""Hadoop's DistCp and ours on the same trees: the same trees come out of both.

Both copy on the same cluster, from the same sources to two targets that are alike. One
Java process runs Hadoop's with its local job runner, case after case.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from howdah.copy.arguments import parse
from howdah.copy.counters import Counters
from howdah.copy.outcome import exit_code
from howdah.fs.acl import parse_acl
from howdah.fs.api import FileSystem
from howdah.spark import distcp
from howdah.testing import MiniCluster
from tests.support.hadoop.distcp import HadoopDistCp, HadoopRun
from tests.support.torture import times

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

# What Hadoop's copes with: no ends of lines where there are filters, no colons.
NAMES = st.sampled_from(["a", "b", "c d", "e%20", "ü→", "'q\"", "#?&;+", "[x]{y}*", ".h", "-p"])
CONTENTS = st.sampled_from([b"", b"1", b"2", b"22", b"333"])
TREES = st.recursive(
    CONTENTS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
DIRECTORIES = st.dictionaries(NAMES, TREES, max_size=3)
MANNERS = st.sampled_from(
    [
        [],
        ["-update"],
        ["-overwrite"],
        ["-update", "-delete"],
        ["-overwrite", "-delete"],
        ["-update", "-skipcrccheck"],
        ["-update", "-append"],
        ["-update", "-append", "-delete"],
        ["-atomic"],
        ["-atomic", "-tmp=TMP"],
        ["-update", "-updateRoot"],
        ["-overwrite", "-updateRoot"],
        ["-update", "-xtrack=TRACK"],
    ]
)
PRESERVED = st.one_of(
    st.sampled_from(["", "", "-p", "-prbugpcaxt"]),
    st.sets(st.sampled_from("rbugpcaxt"), min_size=1).map(lambda some: "-p" + "".join(some)),
)
OTHERS = st.lists(
    st.sampled_from(
        [
            "-direct",
            "-i",
            "-useiterator",
            "-strategy=dynamic",
            "-m=2",
            "-numListstatusThreads=3",
            "-copybuffersize=1024",
            "-blocksperchunk=1",
            "-filters=FILTERS",
            "-f=LIST",
            "-log=LOG",
            "-bandwidth=50",
        ]
    ),
    max_size=3,
    unique=True,
)
FILTERS = st.sampled_from([".*/a", ".*/b(/.*)?", ".*/[xy]/.*", ".*%20.*\n.*/c d", ".*/x"])


@dataclass(frozen=True)
class Case:
    sources: dict[str, Any]  # names with content: bytes, or a directory
    target: Any  # None, bytes or a directory
    options: list[str]
    filters: str = ""


CASES = st.builds(
    lambda sources, target, manner, preserved, others, filters: Case(
        sources, target, [*manner, *([preserved] if preserved else []), *others], filters
    ),
    st.dictionaries(
        st.sampled_from(["x", "y", "z"]), TREES | st.just(b"x" * (5 << 19)), min_size=1, max_size=3
    ),
    st.one_of(st.none(), CONTENTS, DIRECTORIES),
    MANNERS,
    PRESERVED,
    OTHERS,
    FILTERS,
)


def make(fs: FileSystem, path: str, what: Any) -> None:
    """With attributes by which it can be seen what was preserved."""
    fs.mkdirs(path.rpartition("/")[0])
    if isinstance(what, bytes):
        with fs.create(path, replication=1 + len(what) % 3, block_size=1 << 20) as out:
            out.write(what)
        fs.set_permission(path, 0o600 + len(what) % 64)
    else:
        fs.mkdirs(path)
        for name, inner in what.items():
            make(fs, f"{path}/{name}", inner)
        fs.set_permission(path, 0o711)
    if "/java/dst" in path or "/ours/dst" in path:
        fs.set_times(path, 1_400_000_000_000 if len(what) % 2 else 1_600_000_000_000)
        return
    if len(what) % 2:
        fs.set_owner(path, "anna", "staff")
        fs.set_xattr(path, "user.mark", b"x")
    if len(what) == 2:
        fs.set_acl(path, parse_acl("user::rwx,user:bob:r-x,group::r--,other::---"))
    fs.set_times(path, 1_500_000_000_000 + len(path), 1_400_000_000_000)


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
    letters = "".join(option[2:] or "t" for option in options if option[:2] == "-p")
    # Hadoop's joins the parts of a file after it has set its times.
    keeps_times = "t" in letters and "-blocksperchunk=1" not in options
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
            status.block_size,
            status.modification_time_ms if keeps_times and status.is_file else None,
            fs.get_xattrs(status.path),
            fs.get_acl_status(status.path).all_entries() if status.has_acl else None,
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
    case: Case, spark: Any, cluster: MiniCluster, fs: FileSystem, java: HadoopDistCp, scratch: Path
) -> tuple[Result, Result]:
    """Hadoop's result and ours."""
    root = f"/distcp/java/{next(_numbers)}"
    for name, what in case.sources.items():
        make(fs, f"{root}/{name}", what)
    sources = [f"{cluster.uri}{root}/{name}" for name in case.sources]
    with fs.create(f"{root}/list") as out:
        out.write("\n".join(sources).encode())
    filters = scratch / f"filters{next(_numbers)}"
    filters.write_text(case.filters)
    results = []
    for who in ("java", "ours"):
        target = f"{root}/{who}/dst"
        fs.mkdirs(f"{root}/{who}")
        if case.target is not None:
            make(fs, target, case.target)
        places = {
            "TMP": f"{cluster.uri}{root}/{who}",
            # Hadoop sorts the listing, which its local job runner has there, with the filesystem of
            # that: elsewhere than there it cannot track anything.
            "TRACK": (scratch / f"track{next(_numbers)}").as_uri(),
            "LOG": f"{cluster.uri}{root}/{who}-log",
            "LIST": f"{cluster.uri}{root}/list",
            "FILTERS": str(filters),
        }
        words = []
        for option in case.options:
            name, _, value = option.partition("=")
            words += [name, places.get(value, value)] if value else [name]
        words += [*([] if "-f" in words else sources), f"{cluster.uri}{target}"]
        # Ours compares so by default, and then different block sizes don't matter.
        theirs = ["-D", "dfs.checksum.combine.mode=COMPOSITE_CRC", *words]
        said = java.run(theirs) if who == "java" else run_ours(spark, cluster, words)
        tree = seen(fs, target, case.options)
        copied = 0 if "-blocksperchunk" in words else said.files_copied
        results.append(Result(said.exit_code, copied, said.files_skipped, said.bytes_copied, tree))
        if who == "ours":
            # Nothing is left beside the target.
            assert [status.name for status in fs.list_status(f"{root}/ours")] in ([], ["dst"])
    return results[0], results[1]


def check(case: Case, spark: Any, cluster: MiniCluster, java: HadoopDistCp, scratch: Path) -> None:
    with cluster.connect() as fs:
        theirs, ours = both(case, spark, cluster, fs, java, scratch)
    options = set(case.options)
    alone = len(case.sources) == 1 and all(
        isinstance(each, bytes) for each in case.sources.values()
    )
    # Hadoop's fails if there is no directory yet in which something could be missing, for a
    # single file of which it is to say what is missing, and for one in parts that isn't to go
    # into a directory.
    is_directory = case.target is not None and not isinstance(case.target, bytes)
    fails = not is_directory and options & {"-delete", "-xtrack=TRACK"}
    if fails or (alone and options & {"-blocksperchunk=1", "-xtrack=TRACK"}):
        assert ours.code == 0 or ours.code == theirs.code
    else:
        assert ours.code == theirs.code
    if theirs.code == 0:
        assert ours == theirs


@pytest.mark.req("FS-159", "FS-160", "FS-161", "FS-162", "FS-163", "FS-164")
@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(case=CASES)
# Nothing to copy: there is no target then.
@example(case=Case({"x": {}}, None, ["-update"]))
@example(case=Case({"x": b"1", "y": {"a": b""}}, {"x": b"1"}, ["-update", "-xtrack=TRACK"]))
def test_both_leave_the_same_trees(
    spark: Any, howdah_cluster: MiniCluster, java: HadoopDistCp, case: Case, tmp_path: Path
) -> None:
    check(case, spark, howdah_cluster, java, tmp_path)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@settings(
    max_examples=times(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(case=CASES)
def test_both_leave_the_same_trees_in_hundreds_of_cases(
    spark: Any, howdah_cluster: MiniCluster, java: HadoopDistCp, case: Case, tmp_path: Path
) -> None:
    check(case, spark, howdah_cluster, java, tmp_path)
