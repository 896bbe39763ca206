"""Requests without botocore, against stores: over TLS, and where a bucket moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.fs.objects.s3 import S3Store
from howdah.local import certificates
from tests.support.objects.store import StoreServer, stub_server
from tests.support.objects.trouble import Answer, Proxy


def is_quick(fs: S3FileSystem) -> bool:
    store = fs._store
    assert isinstance(store, S3Store)
    return store._connection.is_quick


def write(fs: S3FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(data)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StoreServer, Path]]:
    directory = tmp_path_factory.mktemp("cluster") / "tls"
    certificates.make(directory, ["127.0.0.1"])
    with stub_server(tls=directory) as server:
        yield server, directory / "ca.pem"


@pytest.mark.req("FS-187", "FS-188")
def test_a_store_over_tls_is_believed_by_the_bundle_of_amazons_clients(
    secure: tuple[StoreServer, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, bundle = secure
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    data = bytes(range(256)) * 60_000
    with server.connect("bucket", multipart_size="5M") as fs:
        for number in range(3):
            write(fs, f"/d/{number}", data)
            assert fs.open(f"/d/{number}").read() == data
            assert is_quick(fs)
        assert [each.name for each in fs.list_status("/d")] == ["0", "1", "2"]


@pytest.mark.req("FS-192")
def test_a_certificate_that_nobody_vouches_for_is_refused_with_and_without_botocore(
    secure: tuple[StoreServer, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, bundle = secure
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    with server.connect("bucket", retry_limit="0") as fs:
        with pytest.raises(errors.RemoteError, match="no TLS with https://127"):
            fs.exists("/d")
        assert not is_quick(fs)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    with server.connect("bucket", retry_limit="0") as fs:
        fs.exists("/d")
        assert is_quick(fs)
        store = fs._store
        assert isinstance(store, S3Store)
        learning = store._connection._clients.get().learning
        assert learning is not None
        learning._requests._connections.close()
        believed = learning._requests._connections._tls
        monkeypatch.setattr(believed, "_ca_file", None)
        monkeypatch.setattr(believed, "_made", None)
        with pytest.raises(errors.RemoteError, match="no TLS with https://127"):
            fs.exists("/d")


@pytest.mark.req("FS-192")
def test_a_bucket_that_moves_is_found_again(store: StoreServer, bucket: str, proxy: Proxy) -> None:
    with store.behind(proxy.port).connect(bucket, retry_limit="0") as fs:
        proxy.plan()
        write(fs, "/a", b"1")
        assert is_quick(fs)
        proxy.plan(
            always=Answer(
                400,
                "AuthorizationHeaderMalformed",
                more="<Region>eu-west-1</Region>",
                headers={"x-amz-bucket-region": "eu-west-1"},
                unless="/eu-west-1/s3/aws4_request",
            )
        )
        write(fs, "/b", b"2")
        assert fs.open("/b").read() == b"2"
        assert is_quick(fs)
        proxy.plan()


@pytest.mark.req("FS-187")
def test_a_bucket_that_is_read_by_anybody_is_read_without_a_signature(
    store: StoreServer, bucket: str, fs: S3FileSystem
) -> None:
    store.client().put_bucket_acl(Bucket=bucket, ACL="public-read")
    write(fs, "/file", b"1")
    provider = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
    with store.connect(bucket, aws_credentials_provider=provider) as anonymous:
        assert [each.path for each in anonymous.list_status("/")] == ["/file"]
        assert is_quick(anonymous)
        assert anonymous.open("/file").read() == b"1"


@pytest.mark.req("FS-188")
def test_a_store_that_goes_away_is_named(store: StoreServer, bucket: str, proxy: Proxy) -> None:
    with store.behind(proxy.port).connect(bucket, retry_limit="0") as fs:
        proxy.plan()
        write(fs, "/a", b"1")
        assert is_quick(fs)
        proxy.plan(always="refused")
        with pytest.raises(errors.Unreachable, match=f"s3://{bucket}/a: "):
            fs.open("/a")
        proxy.plan()
        assert fs.open("/a").read() == b"1"
