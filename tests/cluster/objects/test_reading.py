"""A reader stays with its object, and learns how it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.objects.filesystem import S3FileSystem
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import Proxy

DATA = bytes(range(256)) * 1000


def put(fs: S3FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(data)


@pytest.mark.req("FS-189")
def test_an_object_that_was_replaced_under_its_reader_is_told(fs: S3FileSystem) -> None:
    put(fs, "/file", DATA)
    with fs.open("/file") as stream:
        assert stream.pread(5, 5) == DATA[5:10]
        put(fs, "/file", DATA[::-1])
        with pytest.raises(errors.FileChanged, match=r"/file was replaced while it was open"):
            stream.pread(5, 5)
    with fs.open("/file") as stream:
        stream.unbuffer()
        fs.delete("/file")
        with pytest.raises(errors.FileChanged, match=r"/file was deleted while it was open"):
            stream.read()


CHANGES = [
    # source, mode, versioned: what a reader finds when its object was replaced
    ("etag", "server", False, "told"),
    ("etag", "client", False, "told"),
    ("etag", "warn", False, "warned"),
    ("etag", "none", False, "the other"),
    ("etag", "server", True, "told"),
    ("versionid", "server", True, "its own"),
    ("versionid", "client", True, "told"),
    ("versionid", "warn", True, "warned"),
    ("versionid", "none", True, "the other"),
    ("versionid", "none", False, "the other"),
]


@pytest.mark.req("FS-189")
@pytest.mark.parametrize(("source", "mode", "versioned", "found"), CHANGES)
def test_what_a_reader_finds_when_its_object_was_replaced(
    store: StoreServer,
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    source: str,
    mode: str,
    versioned: bool,
    found: str,
) -> None:
    bucket = store.new_bucket(versioned=versioned)
    keys: dict[str, Any] = {"change_detection_source": source, "change_detection_mode": mode}
    with store.behind(proxy.port).connect(bucket, **keys) as fs:
        put(fs, "/file", DATA)
        with fs.open("/file") as stream:
            stream.unbuffer()  # what came with the opening is of what was there
            put(fs, "/file", DATA[::-1])
            proxy.plan()
            caplog.clear()
            if found == "told":
                reads: tuple[Callable[[], object], ...] = (lambda: stream.pread(5, 5), stream.read)
                for read in reads:
                    with pytest.raises(errors.FileChanged, match=r"^/file was replaced while"):
                        read()
            else:
                expected = DATA if found == "its own" else DATA[::-1]
                assert stream.pread(5, 5) == expected[5:10]
                assert stream.read() == expected
            warned = [each for each in caplog.messages if "/file was replaced" in each]
            assert len(warned) == (1 if found == "warned" else 0)
        first = proxy.headers[0]
        assert ("if-match" in first) == (source == "etag" and mode == "server")
        assert ("versionId=" in proxy.seen[0]) == (found == "its own")
        with fs.open("/file") as stream:
            assert stream.read() == DATA[::-1]


@pytest.mark.req("FS-189")
@pytest.mark.parametrize("mode", ["server", "client", "warn"])
def test_who_reads_by_versions_needs_a_bucket_that_has_them(
    store: StoreServer, bucket: str, mode: str
) -> None:
    keys: dict[str, Any] = {"change_detection_source": "versionid", "change_detection_mode": mode}
    with store.connect(bucket, **keys) as fs:
        put(fs, "/file", DATA)
        with pytest.raises(errors.UnsupportedOperation, match=f"^/file has no version.*{bucket}"):
            fs.open("/file")
    with store.connect(bucket, **keys, change_detection_version_required="false") as fs:
        assert fs.open("/file").read() == DATA


@pytest.mark.req("FS-188", "FS-189")
def test_bytes_that_are_damaged_on_the_way_are_not_taken_for_the_files(
    store: StoreServer, proxy: Proxy, bucket: str
) -> None:
    with store.behind(proxy.port).connect(bucket, retry_limit="0", part_bytes=1 << 17) as fs:
        put(fs, "/file", DATA)
        reads: tuple[Callable[[], object], ...] = (
            lambda: fs.open("/file").read(),
            lambda: fs.open("/file").pread(0, len(DATA)),
            lambda: fs.open("/file").read(len(DATA)),
        )
        for read in reads:
            proxy.plan(always="answer damaged")
            with pytest.raises(errors.ChecksumMismatch, match=r"^/file: what was read has the"):
                read()
        # Of a part of a file the store has no checksum.
        for data in (DATA, DATA[:100]):
            proxy.plan(always="sent damaged")
            with pytest.raises(errors.ChecksumMismatch, match=r"/new was damaged on the way"):
                put(fs, "/new", data)
            proxy.plan()
            assert not fs.exists("/new")
            assert fs.unfinished_uploads() == []
    # What is damaged now and then is sent again.
    with store.behind(proxy.port).connect(bucket, part_bytes=1 << 17) as fs:
        for data in (DATA, DATA[:100]):
            proxy.plan()
            put(fs, "/counted", data)
            for number in range(1, len(proxy.seen)):
                proxy.plan({number: "sent damaged"})
                put(fs, "/sent", data)
                proxy.plan()
                assert fs.open("/sent").read() == data


@pytest.mark.req("FS-189")
@pytest.mark.parametrize("length", [0, 1, 64 << 10, (64 << 10) + 1, len(DATA)])
def test_a_file_is_opened_and_read_in_one_request(
    store: StoreServer, bucket: str, proxy: Proxy, length: int
) -> None:
    with store.behind(proxy.port).connect(bucket) as fs:
        put(fs, "/file", DATA[:length])
        proxy.plan()
        with fs.open("/file") as stream:
            assert stream.size == length
            assert stream.read() == DATA[:length]
            found = stream.statistics()
        assert (found.requests, found.is_verified) == (1, length > 0)
        assert proxy.seen == [f"GET /{bucket}/file"]
        # Half of it comes, and the rest by another request.
        proxy.plan({1: "object cut"})
        with fs.open("/file") as stream:
            assert stream.read() == DATA[:length]
        assert len(proxy.seen) == (2 if length > 1 else len(proxy.seen))
        for path, kind in (("/none", errors.PathNotFound), ("/", errors.PathIsDirectory)):
            with pytest.raises(kind):
                fs.open(path)
        proxy.plan()


@pytest.mark.req("FS-189")
@pytest.mark.parametrize("more", [{"requester_pays_enabled": "true"}, {}], ids=["not", "quick"])
def test_what_comes_with_the_opening_is_of_the_object_that_was_opened(
    store: StoreServer, bucket: str, more: dict[str, Any]
) -> None:
    with store.connect(bucket, **more) as fs:
        for length in (100, len(DATA)):
            put(fs, "/file", DATA[:length])
            with fs.open("/file") as stream:
                put(fs, "/file", DATA[::-1])
                if more:
                    with pytest.raises(errors.FileChanged, match="/file was replaced while"):
                        stream.read()
                else:
                    assert stream.read() == DATA[:length]


@pytest.mark.req("FS-189")
def test_a_reader_checks_the_whole_and_asks_for_little_at_random(fs: S3FileSystem) -> None:
    put(fs, "/file", DATA)
    with fs.open("/file") as stream:
        assert stream.read() == DATA
        found = stream.statistics()
        assert (found.requests, found.is_verified) == (1, True)
    with fs.open("/file", buffer_size=4096) as stream:
        for offset in (200_000, 100_000, 5):
            stream.seek(offset)
            assert stream.read(10) == DATA[offset : offset + 10]
        # The first one came with the opening, and was of no use.
        assert stream.statistics().requests == 4
    with fs.open("/file", buffer_size=4096) as stream:
        assert stream.pread(200_000, 10) == DATA[200_000:200_010]
        assert stream.statistics().requests == 1


@pytest.mark.req("FS-187")
def test_what_is_not_there_is_said_in_a_line(store: StoreServer, bucket: str) -> None:
    with store.connect("no-such-bucket") as absent:
        with pytest.raises(errors.UnknownStore, match="Bucket no-such-bucket does not exist at"):
            absent.list_status("/")
    keys = store.keys()
    del keys["fs.s3a.access.key"]
    keys["fs.s3a.aws.credentials.provider"] = (
        "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    )
    with S3FileSystem(bucket, Configuration(keys)) as nobody:
        with pytest.raises(errors.AccessDenied, match=r"no credentials .* fs\.s3a\.access\.key"):
            nobody.list_status("/")
    with pytest.raises(errors.IllegalArgument, match="names no bucket"):
        S3FileSystem("", Configuration(keys))


@pytest.mark.req("FS-188", "FS-189")
@pytest.mark.parametrize("more", [{}, {"requester_pays_enabled": "true"}], ids=["quick", "not"])
def test_bytes_from_elsewhere_in_a_file_are_not_taken_for_those_that_were_asked_for(
    store: StoreServer, proxy: Proxy, bucket: str, more: dict[str, Any]
) -> None:
    """A cache in between may know nothing of ranges."""
    with store.behind(proxy.port).connect(bucket, retry_limit="0", **more) as fs:
        proxy.plan()
        put(fs, "/file", DATA)
        with fs.open("/file") as stream:
            stream.unbuffer()
            proxy.plan(always="range ignored")
            # Either names the file: what answers so is no store, or no answer of one.
            refused = (errors.ProtocolViolation, errors.RemoteError)
            with pytest.raises(refused, match=f"s3://{bucket}/file: "):
                stream.pread(1000, 10)
            stream.seek(2000)
            with pytest.raises(refused, match=f"s3://{bucket}/file: "):
                stream.read(10)
            stream.seek(0)
            assert stream.read() == DATA
        proxy.plan()
