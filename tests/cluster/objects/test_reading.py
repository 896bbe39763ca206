"""A reader stays with its object, and learns how it is read."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.testing.internal.objects.store import StoreServer

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
        fs.delete("/file")
        with pytest.raises(errors.FileChanged, match=r"/file was deleted while it was open"):
            stream.read()


@pytest.mark.req("FS-189")
def test_a_reader_by_version_goes_on_with_its_version(store: StoreServer) -> None:
    bucket = store.new_bucket(versioned=True)
    with store.connect(bucket, change_detection_source="versionid") as fs:
        put(fs, "/file", DATA)
        with fs.open("/file") as stream:
            put(fs, "/file", b"another")
            assert stream.read() == DATA
        assert fs.open("/file").read() == b"another"


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
        assert stream.statistics().requests == 3


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
