"""Copies between HDFS and an object store, both ways: `howdah sync`, `dfs -cp`, and fsspec."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from howdah.cli.main import main
from howdah.config import Configuration
from howdah.copy.common.failures import CopyFailed
from howdah.copy.options import Options
from howdah.fs.api import FileSystem
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.sync import sync
from howdah.testing import MiniCluster
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import Proxy

FILES = {
    "a": b"one",
    "d/b": bytes(range(256)) * 5000,
    "d/e/c": b"",
    "d/é %41+ #?": b"named",
}


@pytest.fixture
def place(howdah_cluster: MiniCluster, bucket: str) -> Iterator[str]:
    """A directory of the cluster for one test."""
    with howdah_cluster.connect() as fs:
        root = f"/copies-{bucket}"
        fs.mkdirs(root)
        yield root
        fs.delete(root, recursive=True)


@pytest.fixture
def conf(howdah_cluster: MiniCluster, store: StoreServer) -> Configuration:
    return howdah_cluster.conf.with_values(store.keys())


def make(fs: FileSystem, root: str) -> None:
    for name, data in FILES.items():
        fs.mkdirs(f"{root}/{name}".rpartition("/")[0])
        fs.write_bytes(f"{root}/{name}", data)


def found(fs: FileSystem, root: str) -> dict[str, bytes]:
    """The files below a directory."""
    names = [each.path for _, _, files in fs.walk(root) for each in files]
    return {name[len(root) + 1 :]: fs.read_bytes(name) for name in names}


@pytest.mark.req("FS-194", "FS-158")
def test_a_mirror_goes_to_a_bucket_and_back_and_tells_how_it_was_verified(
    howdah_cluster: MiniCluster, place: str, fs: S3FileSystem, conf: Configuration
) -> None:
    here, there = howdah_cluster.uri + place, f"{fs.uri}/t"
    mirror = Options(update=True, delete=True)
    with howdah_cluster.connect() as hdfs:
        make(hdfs, f"{place}/src")
        fs.write_bytes("/t/extra", b"x")
        made = sync(f"{here}/src", there, processes=1, conf=conf, options=mirror)
        assert found(fs, "/t") == FILES
        # Of an empty file the length says all.
        counted = made.counters
        assert (counted.verified_by_checksum, counted.verified_by_length) == (len(FILES) - 1, 1)
        assert counted.entries_deleted == 1
        assert (
            "files copied were verified: 3 by a checksum of all bytes, 1 by their lengths alone"
            in made.lines()
        )
        # The checksums of both sides are the same, so nothing is copied again.
        for one, other in ((f"{here}/src", there), (there, f"{here}/src")):
            again = sync(one, other, processes=1, conf=conf, options=mirror)
            assert again.counters.files_copied == 0
            assert again.counters.skipped_by_checksum == len(FILES) - 1
        back = sync(there, f"{here}/back", processes=1, conf=conf)
        assert back.counters.verified_by_checksum == len(FILES) - 1
        assert found(hdfs, f"{place}/back") == FILES
    assert fs.unfinished_uploads() == []


@pytest.mark.req("FS-194")
def test_without_checksums_a_mirror_says_that_lengths_are_all_that_was_compared(
    howdah_cluster: MiniCluster,
    place: str,
    store: StoreServer,
    fs: S3FileSystem,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with howdah_cluster.connect() as hdfs:
        make(hdfs, f"{place}/src")
    keys = store.keys(create_checksum_algorithm="NONE")
    options = [f"-D{name}={value}" for name, value in keys.items()]
    words = ["-m", "1", f"{howdah_cluster.uri}{place}/src", f"{fs.uri}/t"]
    assert main(["sync", *options, "--json", *words]) == 0
    counted = json.loads(capsys.readouterr().out)["counters"]
    assert counted["verified_by_length"] == len(FILES)
    assert counted["verified_by_checksum"] == 0
    assert found(fs, "/t") == FILES


@pytest.mark.req("FS-194", "FS-188")
def test_a_mirror_whose_bytes_are_damaged_on_the_way_fails_and_names_the_file(
    howdah_cluster: MiniCluster,
    place: str,
    store: StoreServer,
    proxy: Proxy,
    fs: S3FileSystem,
    conf: Configuration,
) -> None:
    with howdah_cluster.connect() as hdfs:
        fs.write_bytes("/t/file", FILES["d/b"])
        behind = conf.with_values(store.behind(proxy.port).keys(retry_limit="0"))
        proxy.plan(always="answer damaged")
        with pytest.raises(CopyFailed, match=r"s3://.*/t/file"):
            sync(f"{fs.uri}/t", f"{howdah_cluster.uri}{place}/back", processes=1, conf=behind)
        proxy.plan()
        assert found(hdfs, f"{place}/back") == {}


@pytest.mark.req("FS-194")
def test_the_shell_copies_between_filesystems(
    howdah_cluster: MiniCluster, place: str, fs: S3FileSystem, conf: Configuration
) -> None:
    options = [f"-D{name}={value}" for name, value in conf.items()]
    here = howdah_cluster.uri + place
    with howdah_cluster.connect() as hdfs:
        make(hdfs, f"{place}/src")
        assert main(["dfs", *options, "-cp", f"{here}/src", f"{fs.uri}/t"]) == 0
        assert found(fs, "/t") == FILES
        assert main(["dfs", *options, "-cp", f"{fs.uri}/t", f"{here}/back"]) == 0
        assert found(hdfs, f"{place}/back") == FILES
        ours = hdfs.get_file_checksum(f"{place}/src/d/b", combine_mode="COMPOSITE_CRC")
        assert ours is not None
        assert fs.get_file_checksum("/t/d/b") == ours


INSTALLED = """
import sys
import fsspec, pandas as pd
import howdah.fsspec
howdah.fsspec.install(object_stores=True)

bucket, *keys = sys.argv[1:]
options = {"conf": dict(each.split("=", 1) for each in keys)}
for scheme in ("s3", "s3a"):
    top = f"{scheme}://{bucket}/{scheme}"
    with fsspec.open(f"{top}/d/a.txt", "wb", **options) as out:
        out.write(b"0123456789")
    fs, path = fsspec.url_to_fs(f"{top}/d", **options)
    assert type(fs).__module__.startswith("howdah."), type(fs)
    assert fs.cat_file(f"{path}/a.txt", 2, 5) == b"234"
    assert [each.rpartition("/")[2] for each in fs.ls(path, detail=False)] == ["a.txt"]
    frame = pd.DataFrame({"x": range(1000)})
    frame.to_parquet(f"{top}/t.parquet", storage_options=options)
    assert pd.read_parquet(f"{top}/t.parquet", storage_options=options).equals(frame)
    fs.rm(path, recursive=True)
    assert not fs.exists(path)
"""


@pytest.mark.req("FS-187")
def test_fsspec_opens_buckets_with_howdah_where_that_is_installed(
    store: StoreServer, bucket: str
) -> None:
    """In a process of its own, since what is taken over stays so."""
    keys = [f"{name}={value}" for name, value in store.keys().items()]
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED, bucket, *keys],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
