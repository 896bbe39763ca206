"""What the configuration says of encryption and its like reaches the store with each request that
it concerns, and with no other."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from typing import Any

import pytest

from howdah.fs.objects.filesystem import S3FileSystem
from howdah.options import FileRange
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import Proxy

PART = 16 << 10
DATA = bytes(range(256)) * 200
OWN_KEY = base64.b64encode(os.urandom(32)).decode()
SSE = "x-amz-server-side-encryption"


def is_made(request: str, headers: dict[str, str]) -> bool:
    """An object: by a put, a copy, or the beginning of an upload."""
    if request.startswith("POST"):
        return request.endswith("?uploads")
    return request.startswith("PUT") and "partNumber" not in request


def has_bytes(request: str, headers: dict[str, str]) -> bool:
    """Of an object, that are read or written."""
    listing = "list-type" in request or request.startswith("DELETE") or "?delete" in request
    return not listing


def is_copied(request: str, headers: dict[str, str]) -> bool:
    return "x-amz-copy-source" in headers


def use(fs: S3FileSystem) -> None:
    for path, data in (("/large", DATA), ("/small", DATA[:10])):
        with fs.create(path) as out:
            out.write(data)
    fs.mkdirs("/d")
    fs.rename("/large", "/d/large")
    fs.rename("/small", "/d/small")
    with fs.open("/d/large") as stream:
        assert stream.read() == DATA
        assert [bytes(each.result(60)) for each in stream.read_vectored([FileRange(9, 9)])] == [
            DATA[9:18]
        ]
    assert fs.open("/d/small").read() == DATA[:10]
    fs.mkdirs("/e")
    assert len(fs.list_status("/d")) == 2
    assert fs.delete("/d", recursive=True)


CASES: dict[str, tuple[dict[str, str], dict[str, Callable[[str, dict[str, str]], bool]]]] = {
    "the store's key": ({"encryption_algorithm": "AES256"}, {SSE: is_made}),
    "a key of KMS": (
        {"encryption_algorithm": "SSE-KMS", "encryption_key": "alias/ours"},
        {SSE: is_made, f"{SSE}-aws-kms-key-id": is_made},
    ),
    "a key of ours": (
        {"encryption_algorithm": "SSE-C", "encryption_key": OWN_KEY},
        {
            f"{SSE}-customer-key": has_bytes,
            f"{SSE}-customer-key-md5": has_bytes,
            "x-amz-copy-source-server-side-encryption-customer-key": is_copied,
        },
    ),
    "lists and classes": (
        {"acl_default": "BucketOwnerFullControl", "requester_pays_enabled": "true"},
        {"x-amz-acl": is_made, "x-amz-request-payer": lambda request, headers: True},
    ),
}


@pytest.mark.req("FS-187")
@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_objects_goes_with_their_requests(
    store: StoreServer, bucket: str, proxy: Proxy, name: str
) -> None:
    said, expected = CASES[name]
    proxy.plan()
    with store.behind(proxy.port).connect(bucket, part_bytes=PART, **said) as fs:
        use(fs)
    assert len(proxy.seen) > 20
    for request, headers in zip(proxy.seen, proxy.headers, strict=True):
        for header, concerns in expected.items():
            assert (header in headers) == concerns(request, headers), (request, header)


@pytest.mark.req("FS-187")
def test_an_encoding_and_a_class_are_of_files_alone(store: StoreServer, bucket: str) -> None:
    said = {"object_content_encoding": "gzip", "create_storage_class": "standard_ia"}
    with store.connect(bucket, part_bytes=PART, **said) as fs:
        for path, data in (("/large", DATA), ("/small", DATA[:10])):
            with fs.create(path) as out:
                out.write(data)
            assert fs.open(path).read() == data
        fs.mkdirs("/d")
        fs.rename("/large", "/moved")
    for key, expected in (("moved", "gzip"), ("small", "gzip"), ("d/", None)):
        found = store.client().head_object(Bucket=bucket, Key=key)
        assert found.get("ContentEncoding") == expected
        assert found.get("StorageClass", "STANDARD") == ("STANDARD_IA" if expected else "STANDARD")


@pytest.mark.req("LM-055")
def test_a_store_without_conditions_is_asked_for_none(
    store: StoreServer, bucket: str, proxy: Proxy
) -> None:
    proxy.plan()
    keys = {"create_conditional_enabled": "false"}
    with store.behind(proxy.port).connect(bucket, part_bytes=PART, **keys) as fs:
        for path, data in (("/large", DATA), ("/small", DATA[:10])):
            with fs.create(path) as out:
                out.write(data)
        with pytest.raises(FileExistsError):
            fs.create("/small")
    assert not any("if-none-match" in each for each in proxy.headers)


@pytest.mark.req("LM-055", "OS-174", "XC-012")
@pytest.mark.parametrize(
    "keys", [{"create_performance": "true"}, {"performance_flags": "delete,create"}], ids=str
)
def test_who_wants_to_is_told_of_another_file_by_close_and_a_small_file_is_one_request(
    store: StoreServer, bucket: str, proxy: Proxy, keys: dict[str, str]
) -> None:
    with store.behind(proxy.port).connect(bucket, part_bytes=PART, **keys) as fs:
        fs.write_bytes("/d/first", b"x")  # whether a file is above is asked once
        proxy.plan()
        with fs.create("/d/small") as out:
            out.write(DATA[:10])
        assert [each.split()[0] for each in proxy.seen] == ["PUT"]
        for data in (DATA, DATA[:11]):
            out = fs.create("/d/small")
            out.write(data)
            with pytest.raises(FileExistsError, match="/d/small was made by somebody else"):
                out.close()
            assert fs.read_bytes("/d/small") == DATA[:10]
        assert fs.unfinished_uploads() == []
        with pytest.raises(FileExistsError):
            fs.copy_file("/d/first", "/d/small")  # a copy has no condition
    # Where the store makes sure of nothing it is asked before.
    unsure: dict[str, Any] = {**keys, "create_conditional_enabled": "false"}
    with store.connect(bucket, **unsure) as fs, pytest.raises(FileExistsError):
        fs.create("/d/small")


@pytest.mark.req("FS-190")
def test_a_store_that_removes_one_object_at_a_time_is_asked_so(
    store: StoreServer, bucket: str, proxy: Proxy
) -> None:
    with store.behind(proxy.port).connect(bucket, multiobjectdelete_enable="false") as fs:
        for number in range(3):
            fs.write_bytes(f"/d/{number}", b"x")
        proxy.plan()
        assert fs.delete("/d", recursive=True)
        assert not any("?delete" in each for each in proxy.seen)
        assert len([each for each in proxy.seen if each.startswith("DELETE")]) == 3
        assert not fs.exists("/d/0")


@pytest.mark.req("FS-189")
def test_reads_at_random_ask_for_little_from_the_first_on(
    store: StoreServer, bucket: str, proxy: Proxy
) -> None:
    keys: dict[str, Any] = {"input_fadvise": "random", "readahead_range": "1000"}
    with store.behind(proxy.port).connect(bucket, **keys) as fs:
        fs.write_bytes("/file", DATA)
        proxy.plan()
        with fs.open("/file", buffer_size=100) as stream:
            assert stream.read(10) == DATA[:10]
        assert [each["range"] for each in proxy.headers if "range" in each] == ["bytes=0-999"]
