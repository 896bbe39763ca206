"""Containers of Azure's as files: names, markers, listings, secrets, shell and fsspec."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
from pathlib import Path
from urllib.parse import quote

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs import capabilities
from howdah.fs.objects.azure.filesystem import AzureFileSystem
from howdah.fs.objects.azure.requests import VERSION, Query
from howdah.fs.objects.azure.store import AzureStore
from howdah.fsspec import HowdahAzureFileSystem
from tests.support.objects.azurite import ACCOUNT, SECRET, Azurite

NAMES = ["a b+c%41", "é\u0301", "x?y#z&=", "{1}[2]*", "tab\there", "日本", "..c", "~", "'\"<&>"]


@pytest.fixture(scope="module")
def fs(azurite: Azurite) -> AzureFileSystem:
    return azurite.connect(azurite.new_bucket())


def store_of(fs: AzureFileSystem) -> AzureStore:
    assert isinstance(fs._store, AzureStore)
    return fs._store


def names_in(fs: AzureFileSystem) -> list[str]:
    """Names of blobs, as the service has them."""
    from howdah.fs.objects.azure import documents

    query: Query = [("restype", "container"), ("comp", "list")]
    answer = store_of(fs)._call("a listing", "GET", None, query)
    return [each.name for each in documents.listing(answer.body).blobs]


def put(fs: AzureFileSystem, path: str, data: bytes = b"x") -> None:
    with fs.create(path) as out:
        out.write(data)


@pytest.mark.req("FS-195", "FS-004")
@pytest.mark.parametrize("scheme", ["az", "abfs", "abfss", "wasb", "wasbs"])
def test_a_container_is_connected_to_by_any_of_its_names(azurite: Azurite, scheme: str) -> None:
    container = azurite.new_bucket().partition("@")[0]
    kind = "blob" if scheme.startswith("wasb") else "dfs"
    host = ACCOUNT if scheme == "az" else f"{ACCOUNT}.{kind}.core.windows.net"
    root = f"{scheme}://{container}@{host}"
    with howdah.connect(f"{root}/", conf=Configuration(azurite.keys())) as fs:
        with fs.create(f"{root}/d/file") as out:
            out.write(scheme.encode())
        assert fs.open("/d/file").read() == scheme.encode()
        assert fs.qualify("/x") == f"{root}/x"
        assert fs.has_path_capability("/", f"fs.{scheme}.rename.copies")
        assert fs.has_path_capability("/", capabilities.ETAGS_AVAILABLE)


def test_a_name_may_have_anything_in_it(fs: AzureFileSystem) -> None:
    for name in NAMES:
        put(fs, f"/names/{name}/{name}", name.encode())
    assert sorted(each.name for each in fs.list_status("/names")) == sorted(NAMES)
    fs.rename("/names", "/renamed")
    for name in NAMES:
        assert [each.path for each in fs.list_status(f"/renamed/{name}")] == [
            f"/renamed/{name}/{name}"
        ]
        assert fs.open(f"/renamed/{name}/{name}").read() == name.encode()
    assert fs.delete("/renamed", recursive=True)
    assert not fs.exists("/renamed")


@pytest.mark.req("FS-196")
def test_directories_are_markers_as_hadoop_makes_them(azurite: Azurite) -> None:
    with azurite.connect(azurite.new_bucket()) as fs:
        fs.mkdirs("/a/b/c")
        assert names_in(fs) == ["a/b/c"]
        assert [fs.is_directory(path) for path in ("/a", "/a/b", "/a/b/c", "/a/x")] == [
            *[True] * 3,
            False,
        ]
        assert fs.get_file_status("/a/b/c").length == 0
        put(fs, "/a/b/c/file")
        fs.mkdirs("/a/b/c")
        assert [each.path for each in fs.list_status("/a/b")] == ["/a/b/c"]
        fs.delete("/a/b/c/file")
        assert fs.list_status("/a/b/c") == []
        with pytest.raises(errors.DirectoryNotEmpty):
            fs.delete("/a/b")
        with pytest.raises(errors.PathIsDirectory):
            fs.open("/a/b/c")
        with pytest.raises(errors.PathExists):
            fs.create("/a/b/c", overwrite=True)
        fs.rename("/a/b", "/moved")
        assert [(e.path, e.is_directory) for e in fs.list_status("/moved")] == [("/moved/c", True)]
        fs.delete("/moved/c")
        # A directory that lost its last entry stays one.
        assert fs.list_status("/moved") == []
        assert fs.delete("/moved", recursive=True)
        assert fs.delete("/a", recursive=True)
        assert names_in(fs) == []


@pytest.mark.req("FS-196")
def test_a_marker_takes_the_place_of_no_file(fs: AzureFileSystem) -> None:
    put(fs, "/taken", b"a file")
    with pytest.raises(errors.PathExists):
        fs.mkdirs("/taken")
    with pytest.raises(errors.PathExists, match="is a file"):
        # Made by somebody else between the look and the marker.
        fs._tree.make_marker("/taken")
    assert fs.open("/taken").read() == b"a file"


@pytest.mark.req("FS-196")
def test_a_directory_whose_marker_and_files_are_on_two_pages_is_told_of_once(
    azurite: Azurite,
) -> None:
    bucket = azurite.new_bucket()
    with azurite.connect(bucket) as fs:
        for path in ("/d/a", "/d/a/b/c"):
            fs.mkdirs(path)
        for name in ("a-1", "a-2", "a.3", "a/x", "a/b/y", "b"):
            put(fs, f"/d/{name}")
    for size in range(1, 7):
        conf = Configuration({**azurite.keys(), "fs.azure.list.max.results": str(size)})
        with AzureFileSystem(bucket, conf) as fs:
            found = [(each.name, each.is_directory) for each in fs.list_status("/d")]
            assert found == [
                ("a", True),
                ("a-1", False),
                ("a-2", False),
                ("a.3", False),
                ("b", False),
            ]
            summary = fs.content_summary("/d")
            assert (summary.file_count, summary.length) == (6, 6)
    with AzureFileSystem(bucket, conf) as fs:
        assert fs.delete("/d", recursive=True)
        assert names_in(fs) == []


@pytest.mark.req("FS-196")
def test_many_blobs_go_in_one_request(azurite: Azurite) -> None:
    with azurite.connect(azurite.new_bucket()) as fs:
        for number in range(20):
            put(fs, f"/d/{number:02}")
        before = fs.store_calls
        bulk = fs.bulk_delete("/d")
        assert bulk.page_size == 256
        assert bulk.delete([f"/d/{number:02}" for number in range(10)] + ["/d/none"]) == []
        assert fs.store_calls - before < 6
        before = fs.store_calls
        assert fs.delete("/d", recursive=True)
        assert fs.store_calls - before < 8
        assert names_in(fs) == []


@pytest.mark.req("FS-189")
def test_a_file_is_opened_and_read_in_one_request(azurite: Azurite) -> None:
    with azurite.connect(azurite.new_bucket()) as fs:
        fs.mkdirs("/empty")
        for length in (0, 1, 64 << 10, 200_000):
            put(fs, f"/{length}", b"x" * length)
            before = fs.store_calls
            with fs.open(f"/{length}") as stream:
                assert stream.read() == b"x" * length
                assert stream.statistics().is_verified == (length > 0)
            assert fs.store_calls - before == 1
        for path, kind in (("/none", errors.PathNotFound), ("/empty", errors.PathIsDirectory)):
            with pytest.raises(kind):
                fs.open(path)


@pytest.mark.req("FS-189")
def test_the_checksum_of_a_file_compares_with_the_one_of_another_filesystem(
    fs: AzureFileSystem,
) -> None:
    put(fs, "/sums/a", b"123456789")
    found = fs.get_file_checksum("/sums/a")
    assert found is not None
    assert (found.algorithm, found.bytes.hex()) == ("COMPOSITE-CRC32C", "e3069283")
    fs.rename("/sums/a", "/sums/b")
    assert fs.get_file_checksum("/sums/b") == found


def sas(container: str, permissions: str) -> str:
    """A service SAS of a container, which ends long after this test."""
    fields = {
        "sp": permissions,
        "se": "2100-01-01T00:00:00Z",
        "sv": VERSION,
        "sr": "c",
    }
    text = "\n".join(
        (
            permissions,
            "",
            fields["se"],
            f"/blob/{ACCOUNT}/{container}",
            *([""] * 3),
            fields["sv"],
            fields["sr"],
            *([""] * 7),
        )
    )
    signed = hmac.new(base64.b64decode(SECRET), text.encode(), hashlib.sha256).digest()
    fields["sig"] = base64.b64encode(signed).decode()
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items())


@pytest.mark.req("FS-195")
def test_a_shared_access_signature_opens_as_much_as_it_says(
    azurite: Azurite, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bucket = azurite.new_bucket()
    container = bucket.partition("@")[0]
    keys = azurite.keys()
    del keys[f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net"]
    host = f"{ACCOUNT}.dfs.core.windows.net"
    keys[f"fs.azure.account.auth.type.{host}"] = "SAS"
    name = f"fs.azure.sas.fixed.token.{host}"
    with AzureFileSystem(bucket, Configuration({**keys, name: sas(container, "rwdlc")})) as fs:
        put(fs, "/d/file", b"by a signature")
        fs.rename("/d/file", "/d/moved")
        assert fs.open("/d/moved").read() == b"by a signature"
        assert [each.path for each in fs.list_status("/d")] == ["/d/moved"]
    signature = sas(container, "rl").partition("sig=")[2]
    with AzureFileSystem(bucket, Configuration({**keys, name: "?" + sas(container, "rl")})) as fs:
        assert fs.open("/d/moved").read() == b"by a signature"
        with pytest.raises(errors.AccessDenied) as told:
            put(fs, "/d/other")
        assert signature not in str(told.value)
        assert signature not in repr(fs._settings)
    assert signature not in caplog.text


@pytest.mark.req("FS-195")
def test_what_the_service_refuses_is_said_in_a_line(azurite: Azurite) -> None:
    with azurite.connect(f"no-such-container@{ACCOUNT}") as absent:
        for ask in (lambda: absent.list_status("/"), lambda: absent.create("/x")):
            with pytest.raises(errors.UnknownStore, match="Container no-such-container does not"):
                ask()
    bucket = azurite.new_bucket()
    keys = azurite.keys()
    name = f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net"
    wrong = base64.b64encode(b"another key").decode()
    with AzureFileSystem(bucket, Configuration({**keys, name: wrong})) as denied:
        with pytest.raises(errors.AccessDenied) as told:
            denied.list_status("/")
        assert "\n" not in str(told.value)
        assert wrong not in str(told.value)
    with pytest.raises(errors.UnsupportedOperation, match="Azure has no list of uploads"):
        denied.unfinished_uploads("/")


def test_the_shell_makes_lists_reads_renames_and_removes(
    azurite: Azurite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "local").write_bytes(b"from here\n")

    def run(*words: str) -> str:
        options = [f"-D{name}={value}" for name, value in azurite.keys().items()]
        assert main(["dfs", *options, *words]) == 0
        return capsys.readouterr().out

    container = azurite.new_bucket().partition("@")[0]
    root = f"abfss://{container}@{ACCOUNT}.dfs.core.windows.net"
    run("-mkdir", "-p", f"{root}/a/b")
    run("-put", str(tmp_path / "local"), f"{root}/a/b/file")
    assert run("-cat", f"{root}/a/b/file") == "from here\n"
    run("-mv", f"{root}/a/b/file", f"{root}/a/moved")
    assert f"{root}/a/moved" in run("-ls", f"{root}/a")
    run("-get", f"{root}/a/moved", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"from here\n"
    run("-rm", "-r", "-skipTrash", f"{root}/a")
    assert run("-ls", f"{root}/") == ""


def test_fsspec_reads_and_writes_a_container(azurite: Azurite) -> None:
    bucket = azurite.new_bucket()
    assert HowdahAzureFileSystem._get_kwargs_from_urls(f"abfs://{bucket}/d") == {"host": bucket}
    fs = HowdahAzureFileSystem(bucket, conf=azurite.keys())
    fs.pipe_file("/d/a", b"0123456789")
    with fs.open("/d/b", "wb") as out:
        out.write(b"b" * 10)
    assert fs.ls("/d", detail=False) == ["/d/a", "/d/b"]
    assert fs.cat_file("/d/a", 2, 5) == b"234"
    assert fs.info("/d/a")["ETag"]
    assert fs.unstrip_protocol("/d/a") == f"az://{bucket}/d/a"
    fs.mv("/d", "/e", recursive=True)
    assert fs.find("/e") == ["/e/a", "/e/b"]
    fs.rm("/e", recursive=True)
    assert not fs.exists("/e")
