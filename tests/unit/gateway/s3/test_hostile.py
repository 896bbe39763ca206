"""Requests that no client of S3 sends by itself, and what clients without a key send."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.gateway.s3.protocol.documents import parsed
from howdah.runtime import unexpected_errors
from tests.support.s3_gateway import Door, in_process

USER = "ann"
NAME = "s3-hostile"
TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
CHUNKS = b"3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    settings = {"howdah.s3.anonymous.user": USER}
    with in_process(tmp_path_factory.mktemp("s3"), f"mem://{NAME}", USER, **settings) as found:
        found.client().create_bucket(Bucket="data")
        yield found
    forget(NAME)


@pytest.fixture
def fs() -> MemoryFileSystem:
    return MemoryFileSystem(NAME, Configuration(), USER)


@pytest.fixture(autouse=True)
def _without_defects() -> Iterator[None]:
    before = dict(unexpected_errors.seen)
    yield
    assert dict(unexpected_errors.seen) == before


def sent(
    door: Door,
    method: str,
    target: str,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    is_signed: bool = False,
) -> tuple[int, bytes, http.client.HTTPMessage]:
    """The answer to a request that is sent as it is."""
    lines = dict(headers or {})
    if is_signed:
        made = AWSRequest(method, f"{door.url}{target}", headers=dict(lines), data=body)
        S3SigV4Auth(Credentials(door.access_key, door.secret_key), "s3", "r").add_auth(made)
        lines = {name: str(value) for name, value in made.headers.items()}
    connection = http.client.HTTPConnection(door.address, timeout=60)
    try:
        connection.request(method, target, body, lines)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def test_unsigned_chunks_of_nobody_are_no_part_of_the_object(
    door: Door, fs: MemoryFileSystem
) -> None:
    headers = {
        "x-amz-content-sha256": TRAILER,
        "x-amz-decoded-content-length": "3",
        "x-amz-trailer": "x-amz-checksum-crc32",
    }
    assert sent(door, "PUT", "/data/chunks", headers, CHUNKS)[0] == 200
    assert fs.read_bytes("/s3/data/chunks") == b"abc"
    headers["x-amz-content-sha256"] = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    status, body, _ = sent(door, "PUT", "/data/chunks", headers, CHUNKS)
    assert (status, b"InvalidRequest" in body) == (400, True)


@pytest.mark.parametrize("value", [" text/x ", "", "\ttext/x", "ä"])
def test_whatever_an_answer_is_to_say_can_be_said(door: Door, value: str) -> None:
    door.client().put_object(Bucket="data", Key="k", Body=b"x")
    target = f"/data/k?response-content-type={quote(value, safe='')}"
    status, _, headers = sent(door, "GET", target, is_signed=True)
    assert status in (200, 400)
    if status == 200:
        assert headers["Content-Type"] == value.strip().encode().decode("latin-1")


def test_a_link_without_a_signature_does_not_choose_what_an_object_is(door: Door) -> None:
    status, body, _ = sent(door, "GET", "/data/k?response-content-type=text/html")
    assert (status, b"InvalidRequest" in body) == (400, True)


def test_a_copy_has_a_source_that_is_not_escaped(door: Door, fs: MemoryFileSystem) -> None:
    fs.write_bytes("/s3/data/ä", b"umlaut")
    headers = {"x-amz-copy-source": "/data/ä".encode().decode("latin-1")}
    assert sent(door, "PUT", "/data/copy", headers)[0] == 200
    assert fs.read_bytes("/s3/data/copy") == b"umlaut"


def test_what_is_staged_in_a_bucket_within_a_bucket_is_not_shown(
    door: Door, fs: MemoryFileSystem
) -> None:
    fs.write_bytes("/s3/data/inner/.howdah-s3/ann/objects/x", b"staged")
    fs.write_bytes("/s3/data/inner/k", b"x")
    client: Any = door.client()
    page = client.list_objects_v2(Bucket="data", Prefix="inner")
    assert [each["Key"] for each in page["Contents"]] == ["inner/k"]
    for key in ("inner/.howdah-s3/ann/objects/x", "inner/.howdah-s3/"):
        assert sent(door, "GET", f"/data/{key}")[0] == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"x-amz-server-side-encryption-customer-key": "x"},
        {"x-amz-server-side-encryption": "AES256"},
    ],
)
def test_a_protection_that_is_not_there_is_refused(door: Door, headers: dict[str, str]) -> None:
    status, body, _ = sent(door, "PUT", "/data/secret", headers, b"x")
    assert (status, b"NotImplemented" in body) == (501, True)


def test_where_the_access_keys_are_is_nobodys_business(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("keys")
    with in_process(directory, "mem://s3-hostile-keys", USER) as door:
        (directory / "access-keys").unlink()
        status, body, _ = sent(door, "GET", "/", is_signed=True)
    forget("s3-hostile-keys")
    assert status == 500
    assert b"access-keys" not in body


def test_text_between_elements_is_gathered() -> None:
    # As a sum of strings it took seconds of a gateway's time.
    text = b"<Delete>" + b"x<a/>" * 150_000 + b"</Delete>"
    assert parsed(text, "Delete").text == "x" * 150_000


def test_if_range_asks_for_all_of_what_is_another_object(door: Door) -> None:
    door.client().put_object(Bucket="data", Key="r", Body=b"0123")
    headers = {"Range": "bytes=1-2", "If-Range": '"another"'}
    assert sent(door, "GET", "/data/r", headers)[:2] == (200, b"0123")
    del headers["If-Range"]
    assert sent(door, "GET", "/data/r", headers)[:2] == (206, b"12")


def test_the_sum_of_a_document_is_compared(door: Door) -> None:
    client = door.client()
    upload = client.create_multipart_upload(Bucket="data", Key="sum")["UploadId"]
    headers = {"Content-MD5": "A" * 22 + "=="}
    target = f"/data/sum?uploadId={upload}"
    status, body, _ = sent(door, "POST", target, headers, b"<CompleteMultipartUpload/>")
    assert (status, b"BadDigest" in body) == (400, True)


def test_a_directory_is_made_for_the_object_that_was_meant(door: Door) -> None:
    assert sent(door, "PUT", "/data/dir/", {"If-Match": '"x"'})[0] == 404
    assert sent(door, "PUT", "/data/dir/", {"If-None-Match": "*"})[0] == 200
    assert sent(door, "PUT", "/data/dir/", {"If-None-Match": "*"})[0] == 412


def test_uploads_are_listed_page_by_page(door: Door) -> None:
    client = door.client()
    client.create_bucket(Bucket="paged")
    made = {
        (key, client.create_multipart_upload(Bucket="paged", Key=key)["UploadId"])
        for key in ("a", "a", "a", "b", "b")
    }
    found: list[tuple[str, str]] = []
    markers: dict[str, str] = {}
    while True:
        page = client.list_multipart_uploads(Bucket="paged", MaxUploads=1, **markers)
        found += [(each["Key"], each["UploadId"]) for each in page.get("Uploads", [])]
        if not page["IsTruncated"]:
            break
        markers = {
            "KeyMarker": page["NextKeyMarker"],
            "UploadIdMarker": page["NextUploadIdMarker"],
        }
    assert len(found) == 5
    assert set(found) == made


def test_the_object_is_gone_though_its_directory_may_not_be_looked_at(
    door: Door, fs: MemoryFileSystem
) -> None:
    fs.write_bytes("/s3/data/dark/k", b"x")
    fs.set_permission("/s3/data/dark", 0o333)
    assert sent(door, "DELETE", "/data/dark/k")[0] == 204
    assert not fs.exists("/s3/data/dark/k")
