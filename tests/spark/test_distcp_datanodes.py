"""`distcp` while datanodes die and disks fill, on either side."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.staging import is_staging
from howdah.spark import Options, Outcome, distcp
from howdah.testing import MiniCluster
from howdah.testing.faults import Action, Point
from howdah.testing.trees import Tree, make_tree, read_tree
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

MEBIBYTE = 1 << 20
EVERYTHING = 1 << 50
TREE: Tree = {"d/one": os.urandom(2 * MEBIBYTE + 1), "two": os.urandom(MEBIBYTE)}
FILES = {name: data for name, data in TREE.items() if data is not None}


@pytest.fixture
def other() -> Iterator[MiniCluster]:
    """A cluster both of whose datanodes have all blocks, and may die."""
    conf: dict[str, str | int | float | bool] = {"dfs.replication": 2, "dfs.blocksize": MEBIBYTE}
    with MiniCluster(datanodes=2, conf=conf, faults=True) as cluster:
        yield cluster


def copy(spark: Any, source: str, target: str, conf: Any, **options: Any) -> Outcome:
    return distcp(spark, source, target, options=Options(**options), conf=conf)


def files_of(fs: Any, path: str) -> Tree:
    return {name: data for name, data in read_tree(fs, path).items() if data is not None}


@pytest.mark.req("OS-065")
@pytest.mark.parametrize("action", [Action.KILL, Action.DISK_FULL])
def test_datanode_of_the_target_may_fail_in_the_middle_of_a_file(
    bench: Any, other: MiniCluster, action: Action
) -> None:
    bench.make("src", TREE)
    fault = other.faults.arm(Point.MIDDLE, action)
    outcome = copy(bench.spark, bench.uri("src"), f"{other.uri}/dst", other.conf)
    assert len(fault.victims()) == 1
    assert outcome.counters.files_copied == len(FILES)
    with other.connect() as fs:
        assert files_of(fs, "/dst") == FILES


@pytest.mark.req("OS-065")
def test_datanode_of_the_source_may_die_in_the_middle_of_a_file(
    bench: Any, other: MiniCluster
) -> None:
    with other.connect() as fs:
        make_tree(fs, "/src", TREE)
    target = bench.path("dst")

    def has_begun() -> bool:
        if not bench.fs.exists(target):
            return False
        staging = [each for each in bench.fs.list_status(target) if is_staging(each.name)]
        return any(files for top in staging for _, _, files in bench.fs.walk(top.path))

    with ThreadPoolExecutor(1) as pool:
        # Slow enough to be in the middle.
        copying = pool.submit(
            copy, bench.spark, f"{other.uri}/src", bench.uri("dst"), other.conf, bandwidth_mb=1
        )
        wait_until(lambda: has_begun() or copying.done(), 60)
        other.kill("datanode0")
        outcome = copying.result()
    assert outcome.counters.files_copied == len(FILES)
    assert files_of(bench.fs, target) == FILES


def test_target_without_room_is_named_and_keeps_no_debris(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    conf: dict[str, str | int | float | bool] = {"dfs.datanode.du.reserved": EVERYTHING}
    with MiniCluster(datanodes=1, conf=conf) as full, full.connect() as fs:
        with pytest.raises(CopyFailed) as raised:
            copy(bench.spark, bench.uri("src"), f"{full.uri}/dst", full.conf)
        assert f"{bench.uri('src/a')} --> {full.uri}/dst/a" in str(raised.value)
        assert "could only be written to 0 of the 1 minReplication nodes" in str(raised.value)
        # Nor is there an empty target, into which the next copy would go.
        assert not fs.exists("/dst")
