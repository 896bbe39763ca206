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
