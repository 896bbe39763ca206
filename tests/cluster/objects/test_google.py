"""Buckets of Google's as files: names, listings, tokens, generations, shell and fsspec."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs import capabilities
from howdah.fs.objects.google.filesystem import GoogleFileSystem
from howdah.fsspec import HowdahGoogleFileSystem
from tests.support.objects.google import GoogleServer, google_server

NAMES = ["a b+c%41", "é\u0301", "x?y#z&=", "{1}[2]*", "tab\there", "日本", "..c", "~", "'\"<&>"]


def keys_in(google: GoogleServer, bucket: str) -> list[str]:
    return sorted(google.cloud.buckets[bucket])


def put(fs: GoogleFileSystem, path: str, data: bytes = b"x") -> None:
    with fs.create(path) as out:
        out.write(data)


@pytest.fixture
def fs(google: GoogleServer) -> Iterator[GoogleFileSystem]:
    with google.connect(google.new_bucket()) as made:
        yield made


@pytest.mark.req("FS-197", "FS-004")
def test_a_bucket_is_connected_to_by_its_name(google: GoogleServer) -> None:
    root = f"gs://{google.new_bucket()}"
    with howdah.connect(f"{root}/", conf=Configuration(google.keys())) as fs:
        with fs.create(f"{root}/d/file") as out:
            out.write(b"here")
        assert fs.open("/d/file").read() == b"here"
        assert fs.qualify("/x") == f"{root}/x"
        assert fs.has_path_capability("/", "fs.gs.rename.copies")
        assert fs.has_path_capability("/", capabilities.ETAGS_AVAILABLE)
        assert isinstance(fs, GoogleFileSystem)
        with pytest.raises(errors.UnsupportedOperation, match="Google has no list of uploads"):
            fs.unfinished_uploads("/")


def test_an_emulator_is_found_by_its_variable(
    google: GoogleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"127.0.0.1:{google.port}")
    with howdah.connect(f"gs://{google.new_bucket()}/", conf=Configuration()) as fs:
        fs.mkdirs("/d")
        assert fs.is_directory("/d")


def test_a_name_may_have_anything_in_it(fs: GoogleFileSystem) -> None:
    for name in NAMES:
        put(fs, f"/d/{name}/{name}", name.encode())
    assert sorted(each.name for each in fs.list_status("/d")) == sorted(NAMES)
    fs.rename("/d", "/e")
    for name in NAMES:
        assert [each.path for each in fs.list_status(f"/e/{name}")] == [f"/e/{name}/{name}"]
        assert fs.open(f"/e/{name}/{name}").read() == name.encode()
    assert fs.delete("/e", recursive=True)
    assert fs.list_status("/") == []


@pytest.mark.req("FS-190", "FS-197")
def test_directories_are_markers(google: GoogleServer, fs: GoogleFileSystem) -> None:
    bucket = fs.uri.removeprefix("gs://")
    fs.mkdirs("/a/b/c")
    assert keys_in(google, bucket) == ["a/b/c/"]
    put(fs, "/a/b/c/file")
    fs.delete("/a/b/c/file")
    assert fs.list_status("/a/b/c") == []
    fs.delete("/a/b/c")
    # A directory that lost its last entry stays one.
    assert keys_in(google, bucket) == ["a/b/"]


@pytest.mark.req("FS-197")
def test_a_page_of_a_listing_may_be_empty_and_not_the_last(google: GoogleServer) -> None:
    bucket = google.new_bucket("sparse")
    conf = Configuration({**google.keys(), "fs.gs.list.max.items.per.call": "2"})
    with GoogleFileSystem(bucket, conf) as fs:
        for name in ("1", "2", "3", "d/4", "d/5"):
            put(fs, f"/top/{name}")
        assert [each.name for each in fs.list_status("/top")] == ["1", "2", "3", "d"]
        assert fs.is_directory("/top")
        with pytest.raises(errors.DirectoryNotEmpty):
            fs.delete("/top")
        bulk = fs.bulk_delete("/top")
        assert bulk.delete(["/top/1", "/top/2", "/top/none"]) == []
        assert keys_in(google, bucket) == ["top/3", "top/d/4", "top/d/5"]
        assert fs.delete("/top", recursive=True)
    assert keys_in(google, bucket) == []


@pytest.mark.req("FS-190", "FS-189")
def test_a_large_object_is_copied_by_the_store_in_several_calls(fs: GoogleFileSystem) -> None:
    data = bytes(range(256)) * 5000
    put(fs, "/large", data)
    checksum = fs.get_file_checksum("/large")
    before = fs.store_calls
    fs.rename("/large", "/moved")
    assert 3 <= fs.store_calls - before < 12
    assert fs.open("/moved").read() == data
    assert checksum is not None
    assert fs.get_file_checksum("/moved") == checksum


@pytest.mark.req("FS-189")
def test_an_object_is_known_by_its_generation(google: GoogleServer, fs: GoogleFileSystem) -> None:
    bucket = google.cloud.buckets[fs.uri.removeprefix("gs://")]
    put(fs, "/file")
    first = fs.get_file_status("/file").etag
    assert first == str(bucket["file"].generation)
    with fs.create("/file", overwrite=True) as out:
        out.write(b"other")
    assert fs.list_status("/")[0].etag == str(bucket["file"].generation) != first


@pytest.mark.req("FS-188", "OS-182")
def test_a_session_that_is_gone_says_so(google: GoogleServer) -> None:
    with google.connect(google.new_bucket(), part_bytes=256 << 10) as fs:
        out = fs.create("/lost")
        out.write(bytes(600 << 10))
        google.cloud.sessions.clear()

        def go_on() -> None:
            out.write(bytes(1 << 20))
            out.close()

        with pytest.raises(errors.HowdahError, match="/lost"):
            go_on()
        with pytest.raises(errors.HowdahError, match="/lost"):
            out.close()
        assert not fs.exists("/lost")


@pytest.mark.req("FS-188")
def test_a_store_that_has_something_else_than_what_was_sent_is_found_out(
    google: GoogleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = type(google.cloud).piece

    def damaged(
        self: object, name: str, content_range: str, body: bytes, crc: str | None
    ) -> object:
        # It looks at no checksum, and a byte is another one.
        return usual(google.cloud, name, content_range, b"?" + body[1:] if body else body, None)

    with google.connect(google.new_bucket(), part_bytes=256 << 10) as fs:
        out = fs.create("/damaged")
        monkeypatch.setattr(type(google.cloud), "piece", damaged)
        out.write(bytes(700 << 10))
        with pytest.raises(errors.ChecksumMismatch, match="/damaged"):
            out.close()
        assert not fs.exists("/damaged")


@pytest.fixture
def guarded() -> Iterator[GoogleServer]:
    """A store that lets nobody in without a token."""
    with google_server() as started:
        yield started


@pytest.mark.req("FS-197")
def test_a_service_account_has_tokens_and_gets_another_when_one_is_refused(
    guarded: GoogleServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    bucket = guarded.new_bucket()
    keys = guarded.service_account(tmp_path / "key.json")
    data = bytes(700 << 10)
    with GoogleFileSystem(bucket, Configuration(keys)) as fs:
        put(fs, "/a", b"by a token")
        assert guarded.cloud.issued == 1
        out = fs.create("/b")
        out.write(data)
        guarded.cloud.tokens = set()
        out.close()
        guarded.cloud.tokens = set()
        assert fs.open("/a").read() == b"by a token"
        assert fs.open("/b").read() == data
        assert guarded.cloud.issued >= 3
        of_nobody = {"access_token": "of nobody", "expires_in": 3600}
        monkeypatch.setattr(guarded.cloud, "token", lambda body: of_nobody)
        guarded.cloud.tokens = set()
        with pytest.raises(errors.AccessDenied, match="refuses the credentials") as told:
            fs.list_status("/")
        assert "of nobody" not in str(told.value)
    assert "token-of-nobody-else" not in caplog.text
    assert "PRIVATE KEY" not in caplog.text


@pytest.mark.req("FS-197")
def test_credentials_that_cannot_be_used_are_said_in_a_line(
    google: GoogleServer, tmp_path: Path
) -> None:
    absent = {
        **google.keys(auth_type="SERVICE_ACCOUNT_JSON_KEYFILE"),
        "fs.gs.auth.service.account.json.keyfile": str(tmp_path / "absent.json"),
    }
    bucket = google.new_bucket()
    with GoogleFileSystem(bucket, Configuration(absent)) as fs:
        with pytest.raises(errors.AccessDenied, match=r"absent\.json cannot be used: No such file"):
            fs.list_status("/")
    (tmp_path / "broken.json").write_text('{"private_key": "what-nobody-may-read"}')
    absent["fs.gs.auth.service.account.json.keyfile"] = str(tmp_path / "broken.json")
    with GoogleFileSystem(bucket, Configuration(absent)) as fs:
        with pytest.raises(errors.AccessDenied) as told:
            fs.list_status("/")
    assert "what-nobody-may-read" not in str(told.value)
    with google.connect("no-such-bucket") as fs:
        with pytest.raises(errors.UnknownStore, match="Bucket no-such-bucket does not exist"):
            fs.list_status("/")
        with pytest.raises(errors.UnknownStore, match="Bucket no-such-bucket does not exist"):
            fs.create("/x")


def test_the_shell_makes_lists_reads_renames_and_removes(
    google: GoogleServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "local").write_bytes(b"from here\n")

    def run(*words: str) -> str:
        options = [f"-D{name}={value}" for name, value in google.keys().items()]
        assert main(["dfs", *options, *words]) == 0
        return capsys.readouterr().out

    root = f"gs://{google.new_bucket()}"
    run("-mkdir", "-p", f"{root}/a/b")
    run("-put", str(tmp_path / "local"), f"{root}/a/b/file")
    assert run("-cat", f"{root}/a/b/file") == "from here\n"
    run("-mv", f"{root}/a/b/file", f"{root}/a/moved")
    assert f"{root}/a/moved" in run("-ls", f"{root}/a")
    run("-rm", "-r", "-skipTrash", f"{root}/a")
    assert run("-ls", f"{root}/") == ""


def test_fsspec_reads_and_writes_a_bucket(google: GoogleServer) -> None:
    fs = HowdahGoogleFileSystem(google.new_bucket(), conf=google.keys())
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
