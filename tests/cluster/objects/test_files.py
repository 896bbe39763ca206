"""Files and directories of a bucket, as every filesystem has them."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs import capabilities
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.fsspec import HowdahS3FileSystem
from tests.support.objects.store import ACCESS_KEY, SECRET_KEY, StoreServer


def keys_in(store: StoreServer, bucket: str) -> list[str]:
    """The keys of a bucket, as another client sees them."""
    client = store.client()
    found = client.list_objects_v2(Bucket=bucket).get("Contents", [])
    return [each["Key"] for each in found]


def put(fs: S3FileSystem, path: str, data: bytes = b"x") -> None:
    with fs.create(path) as out:
        out.write(data)


@pytest.mark.req("FS-187", "FS-004")
def test_a_bucket_is_connected_to_by_either_scheme(store: StoreServer, bucket: str) -> None:
    conf = Configuration(store.keys())
    for scheme in ("s3", "s3a"):
        with howdah.connect(f"{scheme}://{bucket}/", conf=conf) as fs:
            with fs.create(f"{scheme}://{bucket}/{scheme}/file") as out:
                out.write(scheme.encode())
            assert fs.open(f"/{scheme}/file").read() == scheme.encode()
            assert fs.qualify("/x") == f"{scheme}://{bucket}/x"
    assert keys_in(store, bucket) == ["s3/file", "s3a/file"]


@pytest.mark.req("FS-190")
def test_directories_are_markers_as_hadoop_makes_them(
    store: StoreServer, bucket: str, fs: S3FileSystem
) -> None:
    fs.mkdirs("/a/b/c")
    assert keys_in(store, bucket) == ["a/b/c/"]
    assert [fs.is_directory(path) for path in ("/a", "/a/b", "/a/b/c", "/a/x")] == [True] * 3 + [
        False
    ]
    put(fs, "/a/b/c/file")
    fs.delete("/a/b/c/file")
    assert fs.list_status("/a/b/c") == []
    fs.delete("/a/b/c")
    # A directory that lost its last entry stays one.
    assert keys_in(store, bucket) == ["a/b/"]


@pytest.mark.req("FS-190")
def test_what_others_put_there_is_a_tree(store: StoreServer, bucket: str, fs: S3FileSystem) -> None:
    client = store.client()
    for key in ("x/y/1", "x/y/2", "x/z", "x/", "odd//name", "odd/./dot"):
        client.put_object(Bucket=bucket, Key=key, Body=b"" if key.endswith("/") else b"1")
    assert [(e.path, e.is_directory) for e in fs.list_status("/x")] == [
        ("/x/y", True),
        ("/x/z", False),
    ]
    assert fs.list_status("/odd") == []
    assert fs.content_summary("/x").file_count == 3
    assert fs.delete("/odd", recursive=True)
    assert keys_in(store, bucket) == ["x/", "x/y/1", "x/y/2", "x/z"]


@pytest.mark.req("FS-190")
def test_a_listing_of_many_names_costs_no_request_for_each(store: StoreServer, bucket: str) -> None:
    with store.connect(bucket, paging_maximum="10") as fs:
        client = store.client()
        for number in range(35):
            client.put_object(Bucket=bucket, Key=f"d/{number:02}", Body=b"")
            before = fs.store_calls
        assert [each.name for each in fs.list_status("/d")] == [f"{n:02}" for n in range(35)]
        assert fs.store_calls - before == 4
        assert fs.delete("/d", recursive=True)
    assert keys_in(store, bucket) == []


@pytest.mark.req("FS-190")
def test_a_rename_copies_and_says_so(store: StoreServer, bucket: str, fs: S3FileSystem) -> None:
    for name in ("1", "2/3", "2/4"):
        put(fs, f"/from/{name}", name.encode())
    fs.mkdirs("/from/empty")
    fs.rename("/from", "/to")
    assert keys_in(store, bucket) == ["to/1", "to/2/3", "to/2/4", "to/empty/"]
    assert fs.open("/to/2/4").read() == b"2/4"
    assert fs.has_path_capability("/", "fs.s3.rename.copies")
    assert fs.has_path_capability("/", capabilities.ETAGS_AVAILABLE)
    with pytest.raises(errors.PathExists):
        fs.rename("/to/1", "/to/2/3")
    with pytest.raises(errors.PathNotFound):
        fs.rename("/none", "/x")
    with pytest.raises(errors.RemoteError, match="is under source"):
        fs.rename("/to", "/to/2/x")


@pytest.mark.req("FS-190")
def test_a_large_object_is_copied_in_parts_at_the_store(fs: S3FileSystem) -> None:
    data = bytes(range(256)) * (11 << 12)
    put(fs, "/large", data)
    checksum = fs.get_file_checksum("/large")
    fs.rename("/large", "/moved")
    assert fs.open("/moved").read() == data
    assert checksum is not None
    assert fs.get_file_checksum("/moved") == checksum
    assert fs.unfinished_uploads() == []


@pytest.mark.req("FS-190")
@pytest.mark.parametrize("size", [1 << 20, 6 << 20], ids=["one request", "parts"])
def test_what_others_say_of_an_object_goes_with_it(
    store: StoreServer, bucket: str, fs: S3FileSystem, size: int
) -> None:
    said = {
        "ContentType": "text/csv",
        "ContentEncoding": "gzip",
        "CacheControl": "no-store",
        "Metadata": {"origin": "elsewhere"},
    }
    store.client().put_object(Bucket=bucket, Key="theirs", Body=bytes(size), **said)
    fs.rename("/theirs", "/moved")
    found = store.client().head_object(Bucket=bucket, Key="moved")
    assert found["ContentLength"] == size
    assert "elsewhere" in found["Metadata"].values()
    assert {name: found[name] for name in said if name != "Metadata"} == {
        name: value for name, value in said.items() if name != "Metadata"
    }


@pytest.mark.req("FS-190")
def test_a_source_that_is_gone_when_it_is_copied_is_named(
    store: StoreServer, bucket: str, fs: S3FileSystem
) -> None:
    put(fs, "/gone")
    info = fs._info("/gone")
    store.client().delete_object(Bucket=bucket, Key="gone")
    with pytest.raises(errors.PathNotFound, match=r"File does not exist: /gone$"):
        fs._copying.copy(info, "copy")


def test_the_etag_of_a_file_is_in_its_status(fs: S3FileSystem) -> None:
    put(fs, "/file")
    etag = fs.get_file_status("/file").etag
    assert etag
    assert fs.list_status("/")[0].etag == etag
    put_again = fs.create("/file", overwrite=True)
    put_again.write(b"other")
    put_again.close()
    assert fs.get_file_status("/file").etag != etag


def test_the_shell_makes_lists_reads_renames_and_removes(
    store: StoreServer, bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "local").write_bytes(b"from here\n")

    def run(*words: str) -> str:
        options = [f"-D{name}={value}" for name, value in store.keys().items()]
        assert main(["dfs", *options, *words]) == 0
        return capsys.readouterr().out

    root = f"s3a://{bucket}"
    run("-mkdir", "-p", f"{root}/a/b")
    run("-put", str(tmp_path / "local"), f"{root}/a/b/file")
    assert run("-cat", f"{root}/a/b/file") == "from here\n"
    run("-mv", f"{root}/a/b/file", f"{root}/a/moved")
    assert f"{root}/a/moved" in run("-ls", f"{root}/a")
    run("-get", f"{root}/a/moved", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"from here\n"
    run("-rm", "-r", "-skipTrash", f"{root}/a")
    assert run("-ls", f"{root}/") == ""


def test_fsspec_reads_and_writes_a_bucket(store: StoreServer, bucket: str) -> None:
    fs = HowdahS3FileSystem(bucket, conf=store.keys())
    fs.pipe_file("/d/a", b"0123456789")
    with fs.open("/d/b", "wb") as out:
        out.write(b"b" * 10)
    assert fs.ls("/d", detail=False) == ["/d/a", "/d/b"]
    assert fs.cat_file("/d/a", 2, 5) == b"234"
    assert fs.info("/d/a")["ETag"]
    fs.mv("/d", "/e", recursive=True)
    assert fs.find("/e") == ["/e/a", "/e/b"]
    fs.rm("/e", recursive=True)
    assert not fs.exists("/e")


def test_s3fs_reads_what_howdah_writes_and_the_other_way_round(
    store: StoreServer, bucket: str, fs: S3FileSystem
) -> None:
    theirs = fsspec.filesystem(
        "s3",
        endpoint_url=store.endpoint,
        key=ACCESS_KEY,
        secret=SECRET_KEY,
        skip_instance_cache=True,
    )
    put(fs, "/ours", b"ours")
    assert theirs.cat_file(f"{bucket}/ours") == b"ours"
    theirs.pipe_file(f"{bucket}/d/theirs", b"theirs")
    assert fs.open("/d/theirs").read() == b"theirs"


@pytest.mark.req("FS-190")
def test_a_file_that_comes_while_an_empty_directory_is_removed_stays(
    store: StoreServer, bucket: str, fs: S3FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else makes it between the look and the removal."""
    fs.mkdirs("/d")
    really = fs._tree.has_entries

    def looked(path: str) -> bool:
        found = really(path)
        store.client().put_object(Bucket=bucket, Key="d/new", Body=b"new")
        return found

    monkeypatch.setattr(fs._tree, "has_entries", looked)
    assert fs.delete("/d", recursive=False)
    assert fs.read_bytes("/d/new") == b"new"


@pytest.mark.req("FS-190")
def test_no_file_is_made_below_one_that_was_to_be_a_directory(fs: S3FileSystem) -> None:
    given_up = fs.create("/x/y")
    given_up.abort()
    put(fs, "/x")
    with pytest.raises(errors.ParentNotDirectory):
        fs.create("/x/z")
    given_up = fs.create("/v/y")
    given_up.abort()
    fs.copy_file("/x", "/v")
    with pytest.raises(errors.ParentNotDirectory):
        fs.create("/v/z")
