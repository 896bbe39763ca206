"""A mirror from Apache's HDFS to ours and from ours to Apache's, and back after a promotion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.mirror import Settings, Wanted, mirror_once, promote, verify
from howdah.mirror.sides import Refused
from howdah.spark.compaction.keeping_swap import swap_keeping
from howdah.testing import MiniCluster
from howdah.testing.trees import make_tree, read_tree
from tests.support.hadoop.mixed import MixedCluster
from tests.support.mirrors import BEFORE, change_tree

pytestmark = pytest.mark.timeout(300)

CONF: dict[str, Any] = {"dfs.replication": 1, "dfs.namenode.acls.enabled": True}


@dataclass
class Pair:
    """A directory on two clusters, one of them Apache's."""

    here: HdfsFileSystem
    there: HdfsFileSystem
    path: str

    @property
    def source(self) -> str:
        return self.here.uri + self.path

    @property
    def target(self) -> str:
        return self.there.uri + self.path

    def mirror(self, **wanted: Any) -> str:
        done = mirror_once(self.source, self.target, Settings(wanted=Wanted(**wanted)))
        assert done.common is not None
        return done.common

    def turned(self) -> Pair:
        return Pair(self.there, self.here, self.path)


@pytest.fixture(scope="module")
def clusters(
    hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[HdfsFileSystem, HdfsFileSystem]]:
    directory = tmp_path_factory.mktemp("apache")
    with (
        MiniCluster(datanodes=1, conf=CONF) as ours,
        apache(hadoop_classpath, directory) as apaches,
        ours.connect() as here,
        apaches.connect() as there,
    ):
        assert isinstance(here, HdfsFileSystem)
        assert isinstance(there, HdfsFileSystem)
        for fs in (here, there):
            fs.set_owner("/", group="supergroup")
        yield here, there


def apache(class_path: str, directory: Path) -> MixedCluster:
    return MixedCluster(
        class_path, ["namenode", "datanode0"], namenodes=1, datanodes=1, conf=CONF, dir=directory
    )


@pytest.fixture
def ours(clusters: tuple[HdfsFileSystem, HdfsFileSystem]) -> str:
    """The URI of our cluster."""
    return clusters[0].uri


@pytest.fixture(params=["to Apache's", "from Apache's"])
def pair(clusters: tuple[HdfsFileSystem, HdfsFileSystem], request: pytest.FixtureRequest) -> Pair:
    ours, theirs = clusters
    path = "/mirrored/" + re.sub(r"\W", "-", request.node.name)
    here, there = (ours, theirs) if request.param == "to Apache's" else (theirs, ours)
    make_tree(here, path, BEFORE)
    return Pair(here, there, path)


def test_rounds_promotion_and_the_way_back(pair: Pair) -> None:
    first = pair.mirror()
    assert read_tree(pair.there, pair.path) == read_tree(pair.here, pair.path)
    before = read_tree(pair.there, f"{pair.path}/.snapshot/{first}")
    change_tree(pair.here, pair.path)
    second = pair.mirror()
    assert read_tree(pair.there, pair.path) == read_tree(pair.here, pair.path)
    assert read_tree(pair.there, f"{pair.path}/.snapshot/{first}") == before
    assert verify(pair.target).is_equal
    # Somebody else writes to the target.
    pair.there.write_bytes(f"{pair.path}/stranger", b"x")
    pair.there.write_bytes(f"{pair.path}/changed", b"another")
    with pytest.raises(Refused, match="somebody else has changed"):
        pair.mirror()
    done = promote(pair.target)
    assert (done.complete, done.was_reverted) == (second, True)
    assert read_tree(pair.there, pair.path) == read_tree(
        pair.here, f"{pair.path}/.snapshot/{second}"
    )
    with pytest.raises(Refused, match="was promoted"):
        pair.mirror()
    # The old source follows, from the common snapshot on.
    pair.here.write_bytes(f"{pair.path}/lost", b"it never arrived")
    pair.there.rename(f"{pair.path}/new", f"{pair.path}/newer")
    back = pair.turned()
    back.mirror(reverts=True)
    assert read_tree(pair.here, pair.path) == read_tree(pair.there, pair.path)
    assert verify(back.target).is_equal


@pytest.mark.torture
def test_names_that_are_exchanged_in_turn_reach_the_target(pair: Pair, ours: str) -> None:
    """Our namenode makes such renames in one turn, Apache's the first one only, and its users the
    others: between two rounds of the mirror both are the same."""
    names = [f"{pair.path}/{name}" for name in ("one", "two", "between")]
    one, two, between = names
    for name in (one, two):
        pair.here.write_bytes(f"{name}/file", name.encode())
    first = pair.mirror()
    before = read_tree(pair.there, pair.path)
    ids = {name: pair.there.get_file_status(f"{name}/file").file_id for name in (one, two)}
    steps = [(one, between), (two, one), (between, two)]
    done = pair.here.rename_in_turn(steps)
    assert done == (3 if pair.here.uri == ours else 1)
    for source, target in steps[done:]:
        pair.here.rename(source, target)
    pair.mirror()
    assert pair.there.read_bytes(f"{one}/file") == two.encode()
    assert read_tree(pair.there, pair.path) == read_tree(pair.here, pair.path)
    assert read_tree(pair.there, f"{pair.path}/.snapshot/{first}") == before
    now = {name: pair.there.get_file_status(f"{name}/file").file_id for name in (one, two)}
    assert now == {one: ids[two], two: ids[one]}, "the target has copied what it could rename"
    assert verify(pair.target).is_equal


@pytest.mark.torture
def test_a_directory_that_is_replaced_in_turn_reaches_the_target(pair: Pair) -> None:
    """As a compaction replaces it: some of its files stay, and move into the new one."""
    table, away, ready = (f"{pair.path}/{name}" for name in ("table", "away", "ready"))
    for name in ("kept", "small-1", "small-2"):
        pair.here.write_bytes(f"{table}/{name}", name.encode())
    first = pair.mirror()
    before = read_tree(pair.there, pair.path)
    pair.here.write_bytes(f"{ready}/large", b"small-1small-2")

    def somebody_else() -> None:
        raise AssertionError("nobody else has created the directory")

    swap_keeping(pair.here, table, away, ready, ["kept"], somebody_else)
    pair.mirror()
    assert read_tree(pair.there, pair.path) == read_tree(pair.here, pair.path)
    pair.here.delete(away, recursive=True)
    pair.mirror()
    assert {status.name for status in pair.there.list_status(table)} == {"kept", "large"}
    assert pair.there.read_bytes(f"{table}/kept") == b"kept"
    assert read_tree(pair.there, pair.path) == read_tree(pair.here, pair.path)
    assert read_tree(pair.there, f"{pair.path}/.snapshot/{first}") == before
    assert verify(pair.target).is_equal
