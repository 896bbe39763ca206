"""Copies within a bucket are the store's: no byte of a file comes by here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.fsspec import HowdahS3FileSystem
from tests.support.objects.clouds import CloudServer
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import Answer, Proxy

SMALL = b"small"
LARGE = bytes(range(256)) * (6 << 12)
"""More than is copied in one request."""
FILES = {"small": SMALL, "d/large": LARGE, "d/é %41+ #?": b"named"}


@pytest.fixture
def through(store: StoreServer, bucket: str, proxy: Proxy) -> Iterator[S3FileSystem]:
    """A filesystem with a tree at /src."""
    keys: dict[str, Any] = {"multipart_size": "5M", "multipart_threshold": "5M"}
    with store.behind(proxy.port).connect(bucket, **keys) as made:
        for name, data in FILES.items():
            made.write_bytes(f"/src/{name}", data)
        proxy.plan()
        yield made
        proxy.plan()


def found(fs: S3FileSystem, root: str) -> dict[str, bytes]:
    names = [each.path for _, _, files in fs.walk(root) for each in files]
    return {name[len(root) + 1 :]: fs.read_bytes(name) for name in names}


def check_no_bytes_came_by(proxy: Proxy) -> None:
    for request, headers in zip(proxy.seen, proxy.headers, strict=True):
        if request.startswith("GET"):
            assert "list-type" in request
        if request.startswith("PUT"):
            is_marker = request.endswith("/")
            assert is_marker or "x-amz-copy-source" in headers, request


def copied(proxy: Proxy) -> int:
    return sum("x-amz-copy-source" in each for each in proxy.headers)


@pytest.mark.req("FS-190", "FS-194")
@pytest.mark.parametrize("words", [[], ["-t", "3"]], ids=["one by one", "three at a time"])
def test_the_shell_has_a_tree_copied_by_its_store(
    store: StoreServer, bucket: str, through: S3FileSystem, proxy: Proxy, words: list[str]
) -> None:
    options = [f"-D{name}={value}" for name, value in store.behind(proxy.port).keys().items()]
    options += ["-Dfs.s3a.multipart.size=5M", "-Dfs.s3a.multipart.threshold=5M"]
    root = f"s3://{bucket}"
    assert main(["dfs", *options, "-cp", *words, f"{root}/src", f"{root}/to"]) == 0
    check_no_bytes_came_by(proxy)
    # The large one in two parts; nothing twice, as by way of a temporary name.
    assert copied(proxy) == len(FILES) + 1
    assert found(through, "/to") == FILES
    assert through.get_file_checksum("/to/d/large") == through.get_file_checksum("/src/d/large")
    assert through.unfinished_uploads() == []


@pytest.mark.req("FS-190")
def test_the_shell_replaces_what_it_is_told_to(
    store: StoreServer,
    bucket: str,
    through: S3FileSystem,
    proxy: Proxy,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [f"-D{name}={value}" for name, value in store.behind(proxy.port).keys().items()]
    root = f"s3://{bucket}"
    through.write_bytes("/there", b"old")
    copy = ["-cp", f"{root}/src/small", f"{root}/there"]
    assert main(["dfs", *options, *copy]) == 1
    assert capsys.readouterr().err == f"cp: `{root}/there': File exists\n"
    assert through.read_bytes("/there") == b"old"
    assert main(["dfs", *options, "-cp", "-f", *copy[1:]]) == 0
    assert through.read_bytes("/there") == SMALL


@pytest.mark.req("FS-190")
def test_fsspec_has_files_copied_by_their_store(
    store: StoreServer, bucket: str, through: S3FileSystem, proxy: Proxy
) -> None:
    conf = store.behind(proxy.port).keys(multipart_size="5M", multipart_threshold="5M")
    fs = HowdahS3FileSystem(host=bucket, conf=conf)
    through.write_bytes("/there", b"old")
    proxy.plan()
    fs.cp_file("/src/small", "/there")
    fs.copy("/src/", "/to/", recursive=True)
    check_no_bytes_came_by(proxy)
    assert found(through, "/to") == FILES
    assert through.read_bytes("/there") == SMALL
    proxy.plan(first=("PUT", Answer(403, "AccessDenied", "not to be copied")))
    fs.cp_file("/src/small", "/through")
    assert through.read_bytes("/through") == SMALL


@pytest.mark.req("FS-190")
def test_a_copy_that_cannot_be_is_named(through: S3FileSystem, proxy: Proxy) -> None:
    for source, target, kind in (
        ("/none", "/to", errors.PathNotFound),
        ("/src", "/to", errors.PathIsDirectory),
        ("/src/small", "/src/small", errors.PathExists),
        ("/src/small", "/src/d/large", errors.PathExists),
        ("/src/small", "/src/d", errors.PathExists),
        ("/src/small", "/src/small/below", errors.ParentNotDirectory),
    ):
        with pytest.raises(kind) as told:
            through.copy_file(source, target)
        assert isinstance(told.value, OSError)
        assert (told.value.filename, told.value.filename2) == (source, target)
    assert copied(proxy) == 0
    assert found(through, "/src") == FILES


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("name", ["small", "d/large"])
@pytest.mark.parametrize("retries", ["0", "3"])
def test_a_copy_that_fails_leaves_what_was_there(
    store: StoreServer, bucket: str, through: S3FileSystem, proxy: Proxy, name: str, retries: str
) -> None:
    through.write_bytes("/there", b"old")
    keys: dict[str, Any] = {
        "multipart_size": "5M",
        "multipart_threshold": "5M",
        "retry_limit": retries,
    }
    with store.behind(proxy.port).connect(bucket, **keys) as fs:
        proxy.plan(first=("PUT", "refused"))
        if retries == "0":
            with pytest.raises(errors.Unreachable):
                fs.copy_file(f"/src/{name}", "/there", overwrite=True)
        else:
            fs.copy_file(f"/src/{name}", "/there", overwrite=True)
    assert through.read_bytes("/there") == (b"old" if retries == "0" else FILES[name])
    assert through.unfinished_uploads() == []


@pytest.mark.req("FS-190")
def test_every_store_copies(cloud: CloudServer) -> None:
    with cloud.connect(cloud.new_bucket()) as fs:
        fs.write_bytes("/src/file", LARGE)
        fs.copy_file("/src/file", "/to/file")
        assert fs.read_bytes("/to/file") == LARGE
        assert fs.get_file_checksum("/to/file") == fs.get_file_checksum("/src/file")
        assert fs.read_bytes("/src/file") == LARGE
