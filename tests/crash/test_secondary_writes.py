"""A fault at every write, fsync, rename, … of a secondary namenode."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.namenode.server.process.secondary import SecondaryServer
from howdah.testing import MiniCluster
from tests.support.site_faults import Crash, Fault, Gate, through

STRIDE = 11
CONF = {
    "dfs.namenode.num.checkpoints.retained": "1",
    "dfs.namenode.num.extra.edits.retained": "0",
    "dfs.namenode.checkpoint.check.period": "1d",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def history(cluster: MiniCluster, fs: FileSystem, where: Path) -> None:
    """Two checkpoints of one process: all is fetched, then what is new; old ones go."""
    values = {
        **dict(cluster.conf.items()),
        "dfs.namenode.http-address": cluster.http.removeprefix("http://"),
        "dfs.namenode.checkpoint.dir": (where / "images").as_uri(),
        "dfs.namenode.checkpoint.edits.dir": (where / "edits").as_uri(),
    }
    server = SecondaryServer(Configuration(values))
    try:
        for _ in range(2):
            fs.mkdirs(f"/{os.urandom(4).hex()}")
            server.secondary.checkpoint()
    finally:
        server.close()


def newest(current: Path) -> bytes:
    images = [path for path in current.glob("fsimage_*") if not path.suffix]
    return max(images).read_bytes()


def at_every_site(
    cluster: MiniCluster, fs: FileSystem, where: Path, fault: Fault, step: int
) -> int:
    """How many sites there were a fault at."""
    whole = Gate()
    with through(whole):
        history(cluster, fs, where / "whole")
    hits = 0
    for at in range(list(Fault).index(fault) % step, len(whole.sites), step):
        gate, said = Gate(fault, at), None
        with through(gate):
            try:
                history(cluster, fs, where / f"{at}")
            except Crash:
                assert gate.dead.is_set()
            except (OSError, errors.HowdahError) as error:
                said = str(error)
        # Where directories are made, the one above them is synced, too.
        places = (str(where / f"{at}"), f"{gate.hit}")
        assert said is None or any(place in said for place in places), f"not said where: {said}"
        hits += gate.hit is not None
        # The next process goes on with what is there.
        history(cluster, fs, where / f"{at}")
        kept = where / f"{at}" / "images" / "current"
        assert newest(kept) == newest(cluster.data_dirs("namenode")[0] / "current")
        assert len(list(kept.iterdir())) == 4, "VERSION, seen_txid, an image and its sum"
        shutil.rmtree(where / f"{at}")
    return hits


@pytest.mark.req("FS-031", "LM-009")
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_fault_in_a_secondary_costs_no_more_than_a_checkpoint(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path, fault: Fault
) -> None:
    assert at_every_site(cluster, fs, tmp_path, fault, STRIDE)


@pytest.mark.torture
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_fault_at_every_single_site_of_a_secondary(
    cluster: MiniCluster, fs: FileSystem, tmp_path: Path, fault: Fault
) -> None:
    assert at_every_site(cluster, fs, tmp_path, fault, 1) > 50
