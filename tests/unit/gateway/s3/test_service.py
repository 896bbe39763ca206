"""A gateway before a filesystem in memory, as botocore sees it."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from howdah import errors
from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.gateway.s3.access_keys import change_access_keys
from howdah.gateway.s3.service import S3Gateway
from tests.support.s3_gateway import Door, add_key, in_process

USER = "ann"
NAME = "s3-service"
PART = b"p" * (5 << 20)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with in_process(tmp_path_factory.mktemp("s3"), f"mem://{NAME}", USER) as found:
        yield found
    forget(NAME)


@pytest.fixture(scope="module")
def s3(door: Door) -> Any:
    return door.client()


@pytest.fixture
def fs(door: Door) -> MemoryFileSystem:
    return MemoryFileSystem(NAME, Configuration(), USER)


@pytest.fixture
def bucket(s3: Any, request: pytest.FixtureRequest) -> str:
    name = f"b{abs(hash(request.node.name)) % 10**12}"
    s3.create_bucket(Bucket=name)
    return name


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        act()
    return str(refused.value.response["Error"]["Code"])


def keys_of(s3: Any, bucket: str, **options: Any) -> list[str]:
    page = s3.list_objects_v2(Bucket=bucket, **options)
    return [each["Key"] for each in page.get("Contents", [])]


def test_an_object_is_a_file_and_a_file_is_an_object(
    s3: Any, bucket: str, fs: MemoryFileSystem
) -> None:
    put = s3.put_object(Bucket=bucket, Key="a/b c+d", Body=b"one")
    assert fs.read_bytes(f"/s3/{bucket}/a/b c+d") == b"one"
    fs.write_bytes(f"/s3/{bucket}/z", b"of HDFS")
    assert s3.get_object(Bucket=bucket, Key="z")["Body"].read() == b"of HDFS"
    page = s3.list_objects_v2(Bucket=bucket)["Contents"]
    assert [(each["Key"], each["Size"]) for each in page] == [("a/b c+d", 3), ("z", 7)]
    head = s3.head_object(Bucket=bucket, Key="a/b c+d")
    got = s3.get_object(Bucket=bucket, Key="a/b c+d")
    assert {put["ETag"], head["ETag"], got["ETag"], page[0]["ETag"]} == {put["ETag"]}
    assert "CacheControl" not in head


def test_what_is_staged_is_not_shown(s3: Any, bucket: str, fs: MemoryFileSystem) -> None:
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, Body=b"x")
    assert fs.exists(f"/s3/{bucket}/.howdah-s3/{USER}/uploads/{upload}")
    assert keys_of(s3, bucket) == []
    assert keys_of(s3, bucket, Prefix=".howdah-s3/") == []
    assert "CommonPrefixes" not in s3.list_objects_v2(Bucket=bucket, Delimiter="/")
    for key in (".howdah-s3/x", f".howdah-s3/{USER}/uploads/{upload}/part-00001"):
        assert code_of(partial(s3.get_object, Bucket=bucket, Key=key)) == "InvalidArgument"


def test_a_put_that_fails_leaves_what_was_there(
    door: Door, s3: Any, bucket: str, fs: MemoryFileSystem
) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"old")
    wrong = {"Bucket": bucket, "Key": "k", "Body": b"new", "ContentMD5": "A" * 22 + "=="}
    assert code_of(lambda: s3.put_object(**wrong)) == "BadDigest"
    url = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "k"})
    host, _, port = door.address.partition(":")
    with socket.create_connection((host, int(port))) as connection:
        target = url.partition(door.address)[2]
        head = f"PUT {target} HTTP/1.1\r\nHost: {door.address}\r\nContent-Length: 100\r\n\r\n"
        connection.sendall(head.encode() + b"half")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1000):
            pass
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"old"
    assert fs.list_status(f"/s3/{bucket}/.howdah-s3/{USER}/objects") == []


def test_ranges_and_conditions_of_reading(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789")["ETag"]
    got = s3.get_object(Bucket=bucket, Key="k", Range="bytes=2-4", IfMatch=etag)
    assert (got["Body"].read(), got["ContentRange"]) == (b"234", "bytes 2-4/10")
    suffix = s3.get_object(Bucket=bucket, Key="k", Range="bytes=-100")
    assert suffix["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert suffix["Body"].read() == b"0123456789"
    get = s3.get_object
    assert code_of(lambda: get(Bucket=bucket, Key="k", Range="bytes=10-")) == "InvalidRange"
    assert code_of(lambda: get(Bucket=bucket, Key="k", IfMatch='"x"')) == "PreconditionFailed"
    assert code_of(lambda: get(Bucket=bucket, Key="k", IfNoneMatch=etag)) == "304"
    assert get(Bucket=bucket, Key="k", PartNumber=1)["Body"].read() == b"0123456789"
    assert code_of(lambda: get(Bucket=bucket, Key="k", PartNumber=2)) == "InvalidPartNumber"
    shown = get(Bucket=bucket, Key="k", ResponseContentType="text/x")
    assert shown["ContentType"] == "text/x"


def test_one_of_many_who_make_an_object_wins(s3: Any, bucket: str) -> None:
    outcomes: list[str] = []

    def put(number: int) -> None:
        try:
            s3.put_object(Bucket=bucket, Key="k", Body=str(number).encode(), IfNoneMatch="*")
            outcomes.append("made")
        except ClientError as error:
            outcomes.append(error.response["Error"]["Code"])

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["PreconditionFailed"] * 7 + ["made"]


def test_a_write_and_a_deletion_may_be_for_one_object_alone(s3: Any, bucket: str) -> None:
    first = s3.put_object(Bucket=bucket, Key="k", Body=b"1")["ETag"]
    second = s3.put_object(Bucket=bucket, Key="k", Body=b"22", IfMatch=first)["ETag"]
    put, delete = s3.put_object, s3.delete_object
    wrong = partial(put, Bucket=bucket, Key="k", Body=b"3", IfMatch=first)
    assert code_of(wrong) == "PreconditionFailed"
    missing = partial(put, Bucket=bucket, Key="m", Body=b"", IfMatch=first)
    assert code_of(missing) == "NoSuchKey"
    assert code_of(lambda: delete(Bucket=bucket, Key="k", IfMatch=first)) == "PreconditionFailed"
    delete(Bucket=bucket, Key="k", IfMatch=second)
    assert keys_of(s3, bucket) == []


def test_directories_are_made_shown_and_deleted_only_if_they_are_empty(
    s3: Any, bucket: str, fs: MemoryFileSystem
) -> None:
    s3.put_object(Bucket=bucket, Key="d/", Body=b"")
    assert keys_of(s3, bucket) == ["d/"]
    assert s3.head_object(Bucket=bucket, Key="d/")["ContentType"] == "application/x-directory"
    assert code_of(lambda: s3.head_object(Bucket=bucket, Key="d")) == "404"
    s3.put_object(Bucket=bucket, Key="d/k", Body=b"x")
    assert keys_of(s3, bucket) == ["d/k"]
    for key in ("d", "d/", "d/none", "nothing"):
        s3.delete_object(Bucket=bucket, Key=key)
    assert fs.read_bytes(f"/s3/{bucket}/d/k") == b"x"
    put = s3.put_object
    below = partial(put, Bucket=bucket, Key="d/k/below", Body=b"")
    assert code_of(below) == "ExistingObjectIsFile"
    over = partial(put, Bucket=bucket, Key="d", Body=b"")
    assert code_of(over) == "ExistingObjectIsDirectory"
    full = partial(put, Bucket=bucket, Key="e/", Body=b"x")
    assert code_of(full) == "InvalidArgument"
    s3.delete_object(Bucket=bucket, Key="d/k")
    s3.delete_object(Bucket=bucket, Key="d/")
    assert not fs.exists(f"/s3/{bucket}/d")


def test_listings_have_pages_prefixes_and_both_versions(s3: Any, bucket: str) -> None:
    names = ["a/x", "a/b/y", "a-b", "a.b", "a0", "ä b"]
    for name in names:
        s3.put_object(Bucket=bucket, Key=name, Body=b"")
    ordered = ["a-b", "a.b", "a/b/y", "a/x", "a0", "ä b"]
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, MaxKeys=2)
    assert [each["Key"] for page in pages for each in page["Contents"]] == ordered
    pages = s3.get_paginator("list_objects").paginate(Bucket=bucket, MaxKeys=2, Delimiter="/")
    keys = [each["Key"] for page in pages for each in page.get("Contents", [])]
    pages = s3.get_paginator("list_objects").paginate(Bucket=bucket, MaxKeys=2, Delimiter="/")
    prefixes = [each["Prefix"] for page in pages for each in page.get("CommonPrefixes", [])]
    assert (keys, prefixes) == (["a-b", "a.b", "a0", "ä b"], ["a/"])
    assert keys_of(s3, bucket, StartAfter="a/b") == ordered[2:]
    assert keys_of(s3, bucket, Prefix="a/") == ordered[2:4]
    bad = partial(s3.list_objects_v2, Bucket=bucket, ContinuationToken="%")
    assert code_of(bad) == "InvalidArgument"
    owner = s3.list_objects_v2(Bucket=bucket, FetchOwner=True)["Contents"][0]["Owner"]
    assert owner["ID"] == USER


def test_one_of_many_is_deleted_only_if_it_is_the_one_that_was_meant(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    head = s3.head_object(Bucket=bucket, Key="k")
    for wrong in ({"Size": 2}, {"ETag": '"x"'}, {"LastModifiedTime": datetime(2015, 1, 1)}):
        told = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k", **wrong}]})
        assert [each["Code"] for each in told["Errors"]] == ["PreconditionFailed"]
    delete = partial(s3.delete_object, Bucket=bucket, Key="k")
    assert code_of(partial(delete, IfMatchSize=2)) == "PreconditionFailed"
    right = {"Size": 1, "ETag": head["ETag"], "LastModifiedTime": head["LastModified"]}
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k", **right}]})
    assert [each["Key"] for each in told["Deleted"]] == ["k"]
    delete(IfMatch='"x"')


def test_a_bucket_is_that_of_its_owner_or_nothing_is_done(s3: Any, bucket: str) -> None:
    place = {"Bucket": bucket, "Key": "k"}
    s3.put_object(**place, Body=b"x", ExpectedBucketOwner=USER)
    for act in (
        partial(s3.put_object, **place, Body=b"y", ExpectedBucketOwner="bob"),
        partial(s3.get_object, **place, ExpectedBucketOwner="bob"),
        partial(s3.delete_bucket, Bucket=bucket, ExpectedBucketOwner="bob"),
        partial(
            s3.copy_object,
            Bucket=bucket,
            Key="copy",
            CopySource=place,
            ExpectedSourceBucketOwner="bob",
        ),
    ):
        assert code_of(act) == "AccessDenied"
    assert s3.get_object(**place)["Body"].read() == b"x"


def test_buckets_are_listed_page_by_page(s3: Any, bucket: str) -> None:
    names = [f"{bucket}-{number}" for number in range(3)]
    for name in names:
        s3.create_bucket(Bucket=name)
    pages = s3.get_paginator("list_buckets").paginate(
        Prefix=f"{bucket}-", PaginationConfig={"PageSize": 2}
    )
    assert [[each["Name"] for each in page["Buckets"]] for page in pages] == [names[:2], names[2:]]


def test_a_part_is_not_copied_from_behind_the_end(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="source", Body=b"01234")
    upload = {"Bucket": bucket, "Key": "k"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    copy = partial(s3.upload_part_copy, **upload, PartNumber=1, CopySource=f"{bucket}/source")
    for text, code in (
        ("bytes=0-5", "InvalidRange"),
        ("bytes=7-9", "InvalidRange"),
        ("bytes=0-", "InvalidArgument"),
        ("bytes=-3", "InvalidArgument"),
        ("bytes=3-1", "InvalidArgument"),
        ("0-2", "InvalidArgument"),
        ("bytes=0-2,3-5", "InvalidArgument"),
    ):
        assert code_of(partial(copy, CopySourceRange=text)) == code
    copy(CopySourceRange="bytes=0-4")


def test_each_object_is_its_only_version(s3: Any, bucket: str) -> None:
    for name in ("a/x", "a/y", "b"):
        s3.put_object(Bucket=bucket, Key=name, Body=b"x")
    pages = s3.get_paginator("list_object_versions").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": 1}
    )
    found = [each for page in pages for each in page.get("Versions", [])]
    assert [(each["Key"], each["VersionId"], each["IsLatest"]) for each in found] == [
        ("a/x", "null", True),
        ("a/y", "null", True),
        ("b", "null", True),
    ]
    page = s3.list_object_versions(Bucket=bucket, Delimiter="/")
    assert [each["Prefix"] for each in page["CommonPrefixes"]] == ["a/"]
    wanted = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in found]
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": wanted})
    assert len(told["Deleted"]) == 3
    wanted[0]["VersionId"] = "other"
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": wanted[:1]})
    assert [each["Code"] for each in told["Errors"]] == ["NoSuchVersion"]


def test_where_there_are_no_attributes_there_are_no_versions(
    s3: Any, bucket: str, fs: MemoryFileSystem
) -> None:
    wanted = {"Status": "Enabled"}
    enable = partial(s3.put_bucket_versioning, Bucket=bucket, VersioningConfiguration=wanted)
    assert code_of(enable) == "NotImplemented"
    create = partial(s3.create_bucket, Bucket="locking", ObjectLockEnabledForBucket=True)
    assert code_of(create) == "NotImplemented"
    assert not fs.exists("/s3/locking")


def test_many_objects_are_deleted_at_once(s3: Any, bucket: str) -> None:
    for name in ("a/b", "c"):
        s3.put_object(Bucket=bucket, Key=name, Body=b"")
    wanted = [{"Key": key} for key in ("a/b", "a", "nothing", "../x")]
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": wanted})
    assert [each["Key"] for each in told["Deleted"]] == ["a/b", "a", "nothing"]
    assert [(each["Key"], each["Code"]) for each in told["Errors"]] == [("../x", "InvalidArgument")]
    quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "c"}], "Quiet": True})
    assert "Deleted" not in quiet
    assert [key for key in keys_of(s3, bucket) if not key.endswith("/")] == []


def test_an_object_is_copied_within_and_between_buckets(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="a b", Body=b"data")["ETag"]
    s3.create_bucket(Bucket=f"{bucket}x")
    source = {"Bucket": bucket, "Key": "a b"}
    copied = s3.copy_object(Bucket=f"{bucket}x", Key="c", CopySource=source)
    got = s3.get_object(Bucket=f"{bucket}x", Key="c")
    assert (got["Body"].read(), got["ETag"]) == (b"data", copied["CopyObjectResult"]["ETag"])
    copy = s3.copy_object
    to_itself = partial(copy, Bucket=bucket, Key="a b", CopySource=source)
    assert code_of(to_itself) == "InvalidRequest"
    stale = partial(copy, Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch='"x"')
    assert code_of(stale) == "PreconditionFailed"
    copy(Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch=etag)
    missing = partial(copy, Bucket=bucket, Key="c", CopySource=f"{bucket}/no")
    assert code_of(missing) == "NoSuchKey"
    leaving = partial(copy, Bucket=bucket, Key="c", CopySource=f"{bucket}/../x")
    assert code_of(leaving) == "InvalidArgument"


def test_parts_of_any_order_become_an_object(s3: Any, bucket: str, fs: MemoryFileSystem) -> None:
    upload = {"Bucket": bucket, "Key": "deep/k"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    s3.put_object(Bucket=bucket, Key="source", Body=b"0123456789")
    parts = []
    for number, body in ((7, b""), (2, PART), (1, PART[:-1] + b"1")):
        told = s3.upload_part(**upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": told["ETag"]})
    copied = s3.upload_part_copy(
        **upload, PartNumber=7, CopySource=f"{bucket}/source", CopySourceRange="bytes=2-4"
    )
    parts[0]["ETag"] = copied["CopyPartResult"]["ETag"]
    parts.sort(key=lambda part: part["PartNumber"])
    shown = s3.list_parts(**upload, MaxParts=2)
    assert [part["PartNumber"] for part in shown["Parts"]] == [1, 2]
    assert shown["IsTruncated"]
    shown = s3.list_parts(**upload, PartNumberMarker=2)
    assert [(part["PartNumber"], part["Size"]) for part in shown["Parts"]] == [(7, 3)]
    found = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert [(each["Key"], each["UploadId"]) for each in found] == [("deep/k", upload["UploadId"])]
    wrong = [{"PartNumber": 1, "ETag": '"x"'}]
    complete = s3.complete_multipart_upload
    assert code_of(lambda: complete(**upload, MultipartUpload={"Parts": wrong})) == "InvalidPart"
    told = complete(**upload, MultipartUpload={"Parts": parts})
    got = s3.get_object(Bucket=bucket, Key="deep/k")
    assert got["Body"].read() == PART[:-1] + b"1" + PART + b"234"
    assert got["ETag"] == told["ETag"]
    assert fs.list_status(f"/s3/{bucket}/.howdah-s3/{USER}/uploads") == []
    again = partial(s3.upload_part, **upload, PartNumber=1, Body=b"")
    assert code_of(again) == "NoSuchUpload"


def test_an_upload_that_was_aborted_or_is_of_another_key_is_none(s3: Any, bucket: str) -> None:
    upload = {"Bucket": bucket, "Key": "k"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    other = {**upload, "Key": "other"}
    for act in (
        lambda: s3.upload_part(**other, PartNumber=1, Body=b""),
        lambda: s3.list_parts(**other),
        lambda: s3.abort_multipart_upload(**other),
        lambda: s3.list_parts(**{**upload, "UploadId": "../.."}),
    ):
        assert code_of(act) == "NoSuchUpload"
    s3.abort_multipart_upload(**upload)
    assert code_of(lambda: s3.abort_multipart_upload(**upload)) == "NoSuchUpload"
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_an_upload_is_conditional_too(s3: Any, bucket: str) -> None:
    upload = {"Bucket": bucket, "Key": "k"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    etag = s3.upload_part(**upload, PartNumber=1, Body=b"parts")["ETag"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
    s3.put_object(Bucket=bucket, Key="k", Body=b"there")
    complete = s3.complete_multipart_upload
    new = partial(complete, **upload, MultipartUpload=parts, IfNoneMatch="*")
    assert code_of(new) == "PreconditionFailed"
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"there"
    complete(**upload, MultipartUpload=parts)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"parts"


def test_buckets_are_directories(s3: Any, bucket: str, fs: MemoryFileSystem) -> None:
    fs.mkdirs("/s3/Not_A_Bucket")
    assert bucket in [each["Name"] for each in s3.list_buckets()["Buckets"]]
    assert "Not_A_Bucket" not in [each["Name"] for each in s3.list_buckets()["Buckets"]]
    s3.head_bucket(Bucket=bucket)
    assert s3.get_bucket_location(Bucket=bucket)["LocationConstraint"] is None
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    assert code_of(lambda: s3.create_bucket(Bucket=bucket)) == "BucketAlreadyOwnedByYou"
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    assert code_of(lambda: s3.delete_bucket(Bucket=bucket)) == "BucketNotEmpty"
    s3.delete_object(Bucket=bucket, Key="k")
    s3.delete_bucket(Bucket=bucket)
    assert not fs.exists(f"/s3/{bucket}")
    for act in (
        lambda: s3.list_objects_v2(Bucket=bucket),
        lambda: s3.get_object(Bucket=bucket, Key="k"),
        lambda: s3.put_object(Bucket=bucket, Key="k", Body=b""),
        lambda: s3.put_object(Bucket=bucket, Key="k/", Body=b""),
        lambda: s3.create_multipart_upload(Bucket=bucket, Key="k"),
        lambda: s3.delete_object(Bucket=bucket, Key="k"),
        lambda: s3.delete_bucket(Bucket=bucket),
    ):
        assert code_of(act) == "NoSuchBucket"
    assert not fs.exists(f"/s3/{bucket}")


def test_what_is_not_supported_is_named(s3: Any, bucket: str) -> None:
    for act in (
        lambda: s3.get_bucket_policy(Bucket=bucket),
        lambda: s3.put_object(Bucket=bucket, Key="k", Body=b"", Tagging="a=b"),
        lambda: s3.put_object(Bucket=bucket, Key="k", Body=b"", Metadata={"a": "b"}),
    ):
        assert code_of(act) == "NotImplemented"


def test_presigned_urls_read_and_write(s3: Any, bucket: str) -> None:
    params = {"Bucket": bucket, "Key": "a b"}
    url = s3.generate_presigned_url("put_object", Params=params)
    with urllib.request.urlopen(urllib.request.Request(url, b"data", method="PUT")) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(s3.generate_presigned_url("get_object", Params=params)) as answer:
        assert answer.read() == b"data"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{url}&a=b")
    assert refused.value.code == 403


def test_who_is_not_known_is_refused(door: Door, s3: Any, bucket: str) -> None:
    for other, code in (
        (replace(door, access_key="AKNOBODY"), "InvalidAccessKeyId"),
        (replace(door, secret_key="another secret"), "SignatureDoesNotMatch"),
    ):
        assert code_of(other.client().list_buckets) == code
    connection = http.client.HTTPConnection(door.address, timeout=60)
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert (answer.status, b"<Code>AccessDenied</Code>" in answer.read()) == (403, True)
    assert len(answer.headers["x-amz-request-id"]) == 16
    connection.close()


def test_a_gateway_tells_how_it_is(door: Door) -> None:
    for path, text in (
        ("health", '"ok"'),
        ("ready", '"filesystem"'),
        ("metrics", "howdah_gateway_requests"),
    ):
        with urllib.request.urlopen(f"{door.url}/_howdah/{path}") as answer:
            assert text in answer.read().decode()
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{door.url}/_howdah/other")


def test_unsigned_requests_are_served_only_as_a_user_who_is_configured(tmp_path: Path) -> None:
    settings = {
        "howdah.s3.anonymous.user": "guest",
        "howdah.s3.buckets": "pub=/public",
        "howdah.s3.root": "/none",
    }
    with in_process(tmp_path, "mem://s3-anonymous", USER, **settings) as door:
        fs = MemoryFileSystem("s3-anonymous", Configuration(), USER)
        fs.write_bytes("/public/k", b"for all")
        fs.set_permission("/public", 0o755)
        with urllib.request.urlopen(f"{door.url}/pub/k") as answer:
            assert answer.read() == b"for all"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"{door.url}/pub/k", b"x", method="PUT"))
        assert refused.value.code == 403
        client = door.client()
        assert [each["Name"] for each in client.list_buckets()["Buckets"]] == ["pub"]
        assert code_of(lambda: client.delete_bucket(Bucket="pub")) == "AccessDenied"
    forget("s3-anonymous")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"howdah.s3.keys.file": "/no/such/file"},
        {"howdah.s3.anonymous.user": "a", "howdah.s3.buckets": "A=/x"},
        {"howdah.s3.anonymous.user": "a", "howdah.s3.buckets": "abc"},
        {"howdah.s3.anonymous.user": "a", "howdah.s3.root": "relative"},
    ],
)
def test_a_gateway_that_cannot_serve_does_not_start(settings: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidConfiguration):
        S3Gateway(Configuration({"fs.defaultFS": "mem://s3-none", **settings}))


def test_a_key_that_is_taken_away_counts_no_more(tmp_path: Path) -> None:
    with in_process(tmp_path, "mem://s3-keys", USER) as door:
        door.client().list_buckets()
        path = tmp_path / "access-keys"
        path.unlink()
        add_key(path, "bob")
        assert code_of(lambda: door.client().list_buckets()) == "InvalidAccessKeyId"
        path.chmod(0o644)
        assert code_of(lambda: door.client().list_buckets()) == "InternalError"
    forget("s3-keys")


def test_a_file_of_keys_may_be_encrypted(tmp_path: Path) -> None:
    add_key(tmp_path / "access-keys", "ann")
    secret = tmp_path / "passphrase"
    secret.write_text("correct horse battery\n")
    secret.chmod(0o600)
    passphrase = "correct horse battery"
    change_access_keys(
        tmp_path / "access-keys", lambda found: None, passphrase=lambda: passphrase, seals=True
    )
    settings = {
        "fs.defaultFS": "mem://s3-sealed",
        "howdah.s3.keys.file": str(tmp_path / "access-keys"),
    }
    with pytest.raises(errors.InvalidConfiguration, match="is encrypted"):
        S3Gateway(Configuration(settings))
    settings["howdah.s3.keys.passphrase.file"] = str(secret)
    gateway = S3Gateway(Configuration(settings))
    assert [user for _, user in gateway.access_keys().values()] == ["ann"]
    gateway.close()


def test_a_file_is_uploaded_and_downloaded_in_parts(s3: Any, bucket: str) -> None:
    from boto3.s3.transfer import TransferConfig

    data = bytes(range(256)) * 50_000
    config = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
    s3.upload_fileobj(io.BytesIO(data), bucket, "k", Config=config)
    got = io.BytesIO()
    s3.download_fileobj(bucket, "k", got, Config=config)
    assert got.getvalue() == data
    assert json.dumps(s3.head_object(Bucket=bucket, Key="k")["Metadata"]) == "{}"


def test_mount_points_of_a_view_are_buckets(tmp_path: Path) -> None:
    links = {
        f"fs.viewfs.mounttable.c.link./{name}": f"mem://s3-view/{name}" for name in ("one", "two")
    }
    target = MemoryFileSystem("s3-view", Configuration(), USER)
    for name in ("one", "two"):
        target.mkdirs(f"/{name}")
    settings = {**links, "howdah.s3.root": "/"}
    with in_process(tmp_path, "viewfs://c", USER, **settings) as door:
        s3 = door.client()
        assert [found["Name"] for found in s3.list_buckets()["Buckets"]] == ["one", "two"]
        s3.put_object(Bucket="one", Key="a/k", Body=b"text")
        s3.copy_object(Bucket="two", Key="k", CopySource={"Bucket": "one", "Key": "a/k"})
        (listed,) = s3.list_objects_v2(Bucket="one")["Contents"]
        assert listed["Key"] == "a/k"
        assert target.read_bytes("/two/k") == target.read_bytes("/one/a/k") == b"text"
        with pytest.raises(ClientError, match="PreconditionFailed"):
            s3.put_object(Bucket="two", Key="k", Body=b"other", IfNoneMatch="*")
        s3.delete_object(Bucket="two", Key="k")
        assert not target.exists("/two/k")
    forget("s3-view")
