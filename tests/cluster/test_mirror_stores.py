"""`howdah mirror` to targets without snapshots: an object store, as moto plays one, and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.registry import connect
from howdah.mirror import Settings, mirror_once, promote, verify
from howdah.mirror.rounds import Round
from howdah.mirror.sides import Directory, Refused
from howdah.mirror.status import status
from howdah.testing import MiniCluster
from howdah.testing.trees import make_tree
from tests.support.mirrors import AFTER, BEFORE, change_tree
from tests.support.objects.store import StoreServer, store_server

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def server() -> Iterator[StoreServer]:
    with store_server() as started:
        yield started


@pytest.fixture
def conf(server: StoreServer, howdah_cluster: MiniCluster) -> Configuration:
    return Configuration({**dict(howdah_cluster.conf.items()), **server.keys()})


@pytest.fixture(params=["bucket", "prefix", "files"])
def target(request: pytest.FixtureRequest, server: StoreServer, tmp_path: Path) -> str:
    """The URI of a target: a whole bucket, a part of one, or a directory."""
    if request.param == "files":
        return (tmp_path / "dst").as_uri()
    bucket = f"s3://{server.new_bucket()}"
    return f"{bucket}/" if request.param == "bucket" else f"{bucket}/a/dst"


@pytest.fixture
def source(howdah_cluster: MiniCluster) -> Iterator[tuple[HdfsFileSystem, str]]:
    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        make_tree(fs, "/stored", BEFORE)
        yield fs, f"{fs.uri}/stored"
        if fs.exists("/stored/.snapshot"):
            for found in fs.list_status("/stored/.snapshot"):
                fs.delete_snapshot("/stored", found.name)
        fs.delete("/stored", recursive=True)


def files(fs: FileSystem, top: str) -> dict[str, bytes]:
    """The files of a target, without a state file in it."""
    return {
        file.path.removeprefix(top).lstrip("/"): fs.read_bytes(file.path)
        for _, _, some in fs.walk(top)
        for file in some
        if not file.name.startswith((".howdah.mirror", "."))
    }


def only_files(tree: object) -> dict[str, bytes]:
    assert isinstance(tree, dict)
    return {name: content for name, content in tree.items() if content is not None}


def test_a_store_follows_and_its_state_file_says_what_it_is(
    source: tuple[HdfsFileSystem, str], target: str, conf: Configuration
) -> None:
    hdfs, uri = source

    def mirror() -> Round:
        return mirror_once(uri, target, Settings(), conf=conf)

    first = mirror()
    side = Directory.of(target, conf, None)
    with connect(target, conf=conf) as store:
        assert files(store, side.path) == only_files(BEFORE)
        change_tree(hdfs, "/stored")
        second = mirror()
        assert files(store, side.path) == only_files(AFTER)
        record = side.read_record()
        assert record is not None
        assert (record.complete, record.goal) == (second.common, None)
        # What has not changed is not copied again.
        assert second.counters.files_copied < first.counters.files_copied
        assert mirror().is_current
        found = status(target, conf=conf)
        assert (found.complete, found.lag_s) == (second.common, 0)
        assert verify(target, conf=conf).is_equal
        store.write_bytes(f"{side.path.rstrip('/')}/same", b"2")
        store.write_bytes(f"{side.path.rstrip('/')}/strange", b"3")
        differ = {one.path: one.verdict.name for one in verify(target, conf=conf).differences}
        assert differ == {"/same": "CHECKSUM", "/strange": "EXTRA"}
        assert promote(target, conf=conf).complete == second.common
    with pytest.raises(Refused, match="was promoted"):
        mirror()
