"""Tasks run where replicas are: of any Spark job that reads, of copies and of `verify`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from howdah.copy.listing.entries import entries
from howdah.fs import paths
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import Options, distcp, verify
from howdah.spark.copy_job import partitions
from howdah.spark.locality import plan_files
from howdah.spark.locality.plan_files import OPEN_COST, PlanFiles
from howdah.spark.verification import job as verifying

pytestmark = pytest.mark.timeout(240)

MEBIBYTE = 1 << 20
FILES = 12
"""More than one task's, with one replica each."""


@pytest.fixture(autouse=True)
def _tasks_have_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "FILES_A_PART", 5)
    monkeypatch.setattr(verifying, "FILES_A_PART", 5)


@pytest.fixture
def kept(bench: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PlanFiles]]:
    """Plans, which are not removed when they are done with."""
    found: list[PlanFiles] = []

    def keep(plan: PlanFiles) -> None:
        found.append(plan)

    monkeypatch.setattr(PlanFiles, "forget", keep)
    yield found
    bench.fs.delete(plan_home(bench), recursive=True)


def parts_of(fs: HdfsFileSystem, plan: PlanFiles) -> dict[str, list[Any]]:
    """The host of each mark, and the rows of its part."""
    import pyarrow as pa

    found: dict[str, list[Any]] = {}
    for mark in fs.list_status(f"{plan.directory}/marks"):
        ((host,),) = [block.hosts for block in fs.block_locations(mark.path)]
        with fs.open(f"{plan.directory}/rows/{mark.name}") as stored:
            found.setdefault(host, []).extend(pa.ipc.open_stream(stored).read_all().to_batches())
    return found


# --- the plan -------------------------------------------------------------------------------


def test_a_copys_parts_stand_at_hosts_with_replicas_of_their_files(
    bench: Any, kept: list[PlanFiles]
) -> None:
    bench.make_on("src", bench.nodes, FILES)
    outcome = bench.copy("src", "dst", locality=True)
    assert outcome.notes == ()
    (plan,) = kept
    parts = parts_of(bench.fs, plan)
    assert len(parts) == 3
    names = Counter[str]()
    for host, batches in parts.items():
        for entry in (entry for batch in batches for entry in entries(batch)):
            names[paths.name_of(entry.path)] += 1
            if entry.length:
                assert host in bench.fs.block_locations(entry.path)[0].hosts
    assert names == Counter(["src", *(f"{number:03}" for number in range(FILES))])
    assert bench.tree("dst") == bench.tree("src")


def test_verifys_parts_stand_at_the_hosts_of_their_replicas(
    bench: Any, kept: list[PlanFiles]
) -> None:
    bench.make_on("src", bench.nodes, FILES)
    with verify(bench.spark, bench.uri("src"), conf=bench.cluster.conf, locality=True) as found:
        assert found.sums.replicas == {"sound": FILES}
        assert found.sums.notes == ()
    (plan,) = kept
    parts = parts_of(bench.fs, plan)
    assert len(parts) == 3
    for host, batches in parts.items():
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert {row["address"].partition(":")[0] for row in rows} == {host}
        assert len(rows) == 4


def test_what_spark_cannot_read_is_told_and_copied_all_the_same(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.make("src", {f"{number}": b"x" for number in range(FILES)})
    # As it is where Java's client doesn't know the namenode's name.
    monkeypatch.setattr(plan_files, "FORMAT", "no-such-format")
    outcome = bench.copy("src", "dst", locality=True)
    (note,) = outcome.notes
    assert note.startswith("Tasks don't prefer the nodes with replicas: Spark cannot read hdfs://")
    assert bench.tree("dst") == bench.tree("src")
    assert not bench.fs.exists(plan_home(bench))


def test_a_home_that_cannot_be_written_is_told_and_the_copy_goes_on(bench: Any) -> None:
    bench.make("src", {f"{number}": b"x" for number in range(FILES)})
    home = plan_home(bench)
    with bench.fs.create(home):
        pass  # A file, where the directory should be.
    try:
        outcome = bench.copy("src", "dst", locality=True)
    finally:
        bench.fs.delete(home)
    (note,) = outcome.notes
    assert home in note
    assert "cannot be made" in note
    assert bench.tree("dst") == bench.tree("src")


def test_a_plan_over_spark_connect_leaves_nothing_behind(bench: Any, spark_connect: Any) -> None:
    nodes = bench.nodes
    bench.make_on("src", nodes, FILES)
    # Copied in parts, each of which has a place of its own.
    for number, node in enumerate(nodes):
        path = f"{bench.path('src')}/large{number}"
        options = {"replication": 1, "block_size": MEBIBYTE, "favored_nodes": [node]}
        with bench.fs.create(path, **options) as out:
            out.write(bytes(range(256)) * (3 * MEBIBYTE // 256))
    before = spark_connect.conf.get(OPEN_COST)
    outcome = distcp(
        spark_connect,
        bench.uri("src"),
        bench.uri("dst"),
        options=Options(locality=True, blocks_per_chunk=1),
        conf=bench.cluster.conf,
    )
    assert outcome.notes == ()
    assert bench.tree("dst") == bench.tree("src")
    assert not bench.fs.exists(plan_home(bench))
    assert spark_connect.conf.get(OPEN_COST) == before


def test_plans_that_killed_runs_have_left_are_removed_after_a_week(bench: Any) -> None:
    bench.make_on("src", bench.nodes, FILES)
    home = plan_home(bench)
    for name, age_ms in (("old", plan_files.KEPT_MS + 60_000), ("other", 60_000)):
        bench.fs.mkdirs(f"{home}/{name}")
        now = bench.fs.get_file_status(f"{home}/{name}").modification_time_ms
        bench.fs.set_times(f"{home}/{name}", now - age_ms, -1)
    bench.copy("src", "dst", locality=True)
    left = [status.name for status in bench.fs.list_status(home)]
    bench.fs.delete(home, recursive=True)
    assert left == ["other"]


def test_a_plan_of_which_spark_sees_not_all_is_not_used(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.make_on("src", bench.nodes, FILES)
    whole = bench.fs.__class__.list_status

    def less(fs: Any, path: str) -> Any:
        """The driver takes a part for one that nobody told it of, and removes it."""
        found = whole(fs, path)
        if path.endswith("/marks"):
            fs.delete(found[0].path)
        return found

    monkeypatch.setattr(bench.fs.__class__, "list_status", less)
    outcome = bench.copy("src", "dst", locality=True)
    monkeypatch.undo()
    (note,) = outcome.notes
    assert "Spark sees 2 of the 3 parts" in note
    assert bench.tree("dst") == bench.tree("src")


def plan_home(bench: Any) -> str:
    return f"{bench.fs.home_directory()}/{plan_files.HOME}"
