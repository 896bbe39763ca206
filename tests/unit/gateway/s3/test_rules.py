"""Names, sums, conditions, documents, metadata, parts and operations of S3."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.fs import paths
from howdah.fs.status import FileStatus
from howdah.gateway.s3.calls import CALLS
from howdah.gateway.s3.protocol import conditions, metadata, multipart
from howdah.gateway.s3.protocol.checksums import BodySums
from howdah.gateway.s3.protocol.documents import document, parsed, text_of
from howdah.gateway.s3.protocol.names import checked_key, is_bucket_name
from howdah.gateway.s3.protocol.operations import (
    OPERATIONS,
    check_parameters,
    check_served,
    operation_of,
)
from howdah.gateway.s3.protocol.refusals import STATUSES, Refused, refused_by
from howdah.gateway.s3.protocol.requests import S3Request, request_of
from howdah.web.http import request_of as parsed_request


def request(method: str, target: str, headers: Mapping[str, str] | None = None) -> S3Request:
    lines = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    found = parsed_request(method.encode(), target.encode(), lines)
    assert found is not None
    return request_of(found)


def status(
    *, file_id: int = 7, mtime_ms: int = 1_700_000_000_500, length: int = 3, directory: bool = False
) -> FileStatus:
    return FileStatus(
        "/b/k", length, directory, 1, 1, mtime_ms, 0, 0o644, "ann", "staff", file_id=file_id
    )


# Names.


@pytest.mark.parametrize(
    "text",
    [
        *("/a", "a//b", "//", "/", "", ".", "..", "../other/x", "a/..", "a/./b", "a/../../b/"),
        *("ts=12:00", "a\0b", ".howdah-s3/ann/objects/x", ".reserved/.inodes/1", ".howdah-s3/"),
        *("a/.howdah-s3-versions/k/x", ".howdah-s3-versions/"),
    ],
)
def test_a_key_that_has_no_path_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        checked_key(text)
    assert refused.value.code == "InvalidArgument"


@pytest.mark.parametrize("text", ["a" * 256, "é" * 128, "a/" * 513])
def test_a_key_that_is_too_long_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        checked_key(text)
    assert refused.value.code == "KeyTooLongError"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30) | st.text("./a:\0", max_size=12))
def test_a_key_never_leaves_its_bucket_and_is_what_its_path_says(text: str) -> None:
    try:
        key = checked_key(text)
    except Refused:
        return
    path = paths.normalize(paths.join("/root/bucket", key.path))
    assert path == f"/root/bucket/{key.path}"
    assert key.path + "/" * key.is_directory == text


@pytest.mark.parametrize("name", ["ab", "Data", "a_b", "-ab", "a..b", "192.168.0.1", "a" * 64, ""])
def test_names_that_s3_does_not_allow_are_no_buckets(name: str) -> None:
    assert not is_bucket_name(name)


# Sums.

SUMS = {
    "x-amz-checksum-crc32": "y/Q5Jg==",
    "x-amz-checksum-crc32c": "4waSgw==",
    "x-amz-checksum-crc64nvme": "rosUhgp5mIg=",
    "x-amz-checksum-sha1": "98O8HYCOBHMq32eZZczDTKeuNEE=",
    "x-amz-checksum-sha256": "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
    "content-md5": "JfnnlDI7RTiF9RgfG2JNCw==",
}
DATA = b"123456789"


@pytest.mark.parametrize("name", SUMS)
def test_a_body_has_the_sum_that_was_said(name: str) -> None:
    sums = BodySums({name: SUMS[name]}, None, None)
    for byte in DATA:
        sums.update(bytes([byte]))
    sums.check({})
    if name != "content-md5":
        assert sums.header == {name: SUMS[name]}
    other = BodySums({name: SUMS[name]}, None, None)
    other.update(DATA + b"0")
    with pytest.raises(Refused) as refused:
        other.check({})
    assert refused.value.code == "BadDigest"


def test_a_sum_may_follow_the_body() -> None:
    for trailers, code in (
        ({"x-amz-checksum-crc32": "y/Q5Jg=="}, ""),
        ({"x-amz-checksum-crc32": "AAAAAA=="}, "BadDigest"),
        ({}, "InvalidRequest"),
        ({"x-amz-checksum-crc32": "y/Q5"}, "InvalidDigest"),
    ):
        sums = BodySums({}, None, "x-amz-checksum-crc32")
        sums.update(DATA)
        if not code:
            sums.check(trailers)
            continue
        with pytest.raises(Refused) as refused:
            sums.check(trailers)
        assert refused.value.code == code


def test_the_signed_sum_is_compared_as_well() -> None:
    sums = BodySums({}, "0" * 64, None)
    sums.update(DATA)
    with pytest.raises(Refused) as refused:
        sums.check({})
    assert refused.value.code == "XAmzContentSHA256Mismatch"


@pytest.mark.parametrize(
    "headers",
    [
        {"content-md5": "no base64!"},
        {"content-md5": "AAAA"},
        {"x-amz-checksum-crc99": "AAAA"},
        {"x-amz-checksum-crc32": "AAAAAA==", "x-amz-checksum-sha1": SUMS["x-amz-checksum-sha1"]},
    ],
)
def test_a_sum_that_is_none_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Refused):
        BodySums(headers, None, None)


# Conditions.


def test_an_etag_changes_with_the_file_and_is_no_md5() -> None:
    etags = {
        conditions.etag_of(each)
        for each in (status(), status(file_id=8), status(mtime_ms=1), status(length=4))
    }
    assert len(etags) == 4
    assert all(etag.endswith('-1"') and len(etag) == 36 for etag in etags)
    assert conditions.etag_of(status(directory=True)) == '"d41d8cd98f00b204e9800998ecf8427e"'


ETAG = conditions.etag_of(status())
BEFORE, AFTER = "Tue, 14 Nov 2023 22:13:19 GMT", "Tue, 14 Nov 2023 22:13:20 GMT"


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({}, False),
        ({"if-match": ETAG}, False),
        ({"if-match": ETAG.strip('"')}, False),
        ({"if-match": f'"x", {ETAG}'}, False),
        ({"if-match": "*"}, False),
        ({"if-match": '"x"'}, None),
        ({"if-none-match": ETAG}, True),
        ({"if-none-match": '"x"'}, False),
        ({"if-none-match": '"x"', "if-modified-since": AFTER}, False),
        ({"if-modified-since": AFTER}, True),
        ({"if-modified-since": BEFORE}, False),
        ({"if-unmodified-since": AFTER}, False),
        ({"if-unmodified-since": BEFORE}, None),
        ({"if-match": ETAG, "if-unmodified-since": BEFORE}, False),
        ({"if-modified-since": "yesterday"}, False),
    ],
)
def test_conditions_of_reading(headers: dict[str, str], outcome: bool | None) -> None:
    if outcome is None:
        with pytest.raises(Refused) as refused:
            conditions.check_reading(headers, status())
        assert refused.value.code == "PreconditionFailed"
    else:
        assert conditions.check_reading(headers, status()) is outcome


def test_conditions_of_writing() -> None:
    assert conditions.must_be_new({"if-none-match": "*"})
    assert not conditions.must_be_new({})
    assert not conditions.must_be_new({"if-none-match": ETAG})
    assert conditions.are_about_the_object({"if-none-match": ETAG})
    assert not conditions.are_about_the_object({"if-none-match": "*"})
    conditions.check_replacing({"if-none-match": ETAG}, None)
    conditions.check_replacing({"if-none-match": '"x"'}, status())
    with pytest.raises(Refused) as refused:
        conditions.check_replacing({"if-none-match": ETAG}, status())
    assert refused.value.code == "PreconditionFailed"
    conditions.check_replacing({"if-match": ETAG}, status())
    for there, code in ((None, "NoSuchKey"), (status(length=9), "PreconditionFailed")):
        with pytest.raises(Refused) as refused:
            conditions.check_replacing({"if-match": ETAG}, there)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("headers", "holds"),
    [
        ({}, True),
        ({"if-match": ETAG}, True),
        ({"if-match": "*"}, True),
        ({"if-match": '"x"'}, False),
        ({"x-amz-if-match-size": "3"}, True),
        ({"x-amz-if-match-size": "4"}, False),
        ({"x-amz-if-match-size": "three"}, False),
        ({"x-amz-if-match-last-modified-time": AFTER}, True),
        ({"x-amz-if-match-last-modified-time": "2023-11-14T22:13:20Z"}, True),
        ({"x-amz-if-match-last-modified-time": "2023-11-14T22:13:20"}, True),
        ({"x-amz-if-match-last-modified-time": BEFORE}, False),
        ({"x-amz-if-match-last-modified-time": "yesterday"}, False),
        ({"if-match": ETAG, "x-amz-if-match-size": "4"}, False),
    ],
)
def test_a_deletion_is_for_the_object_that_was_meant(headers: dict[str, str], holds: bool) -> None:
    if holds:
        conditions.check_deleting(headers, status())
        return
    with pytest.raises(Refused) as refused:
        conditions.check_deleting(headers, status())
    assert refused.value.code == "PreconditionFailed"


def test_a_time_without_a_zone_is_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        header = {"if-unmodified-since": "Tue, 14 Nov 2023 22:13:20 -0000"}
        assert not conditions.check_reading(header, status())
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_part_is_only_of_the_object_that_the_client_has_parts_of() -> None:
    for wanted in (ETAG, AFTER):
        assert conditions.may_be_part({"if-range": wanted}, status())
    assert conditions.may_be_part({}, status())
    for wanted in ('"other"', BEFORE, "yesterday"):
        assert not conditions.may_be_part({"if-range": wanted}, status())


def test_the_conditions_of_a_copy_are_about_its_source() -> None:
    conditions.check_copying({"x-amz-copy-source-if-match": ETAG, "if-match": '"x"'}, status())
    with pytest.raises(Refused):
        conditions.check_copying({"x-amz-copy-source-if-none-match": ETAG}, status())


# Documents.


def test_documents_are_read_with_and_without_a_namespace() -> None:
    for text in (
        b"<Delete><Object><Key> a&amp;b </Key></Object></Delete>",
        b'<?xml version="1.0"?><Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\n'
        b"<Object>\n<Key> a&#38;b </Key></Object></Delete>",
    ):
        (found,) = parsed(text, "Delete").all("Object")
        assert next(found.all("Key")).text == " a&b "


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<Delete>",
        b"<Other/>",
        b'<!DOCTYPE x [<!ENTITY a "b">]><Delete>&a;</Delete>',
        b"<!DOCTYPE Delete><Delete/>",
        b"<Delete>&a;</Delete>",
        b"<Delete>" + b"<a>" * 20 + b"</a>" * 20 + b"</Delete>",
        b"<Delete>" + b"<a/>" * 200_001 + b"</Delete>",
        b"\xff\xfe",
        b'<?xml version="1.0" encoding="no-such"?><Delete/>',
    ],
)
def test_other_documents_are_refused(text: bytes) -> None:
    with pytest.raises(Refused) as refused:
        parsed(text, "Delete")
    assert refused.value.code == "MalformedXML"


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20))
def test_what_is_written_is_read_again(text: str) -> None:
    if "\ufffe" in text or "\uffff" in text:
        return
    found = next(parsed(document("A", [("B", text)]), "A").all("B")).text
    assert found == text


def test_control_characters_are_references() -> None:
    assert text_of("a\x01\rb") == "a&#x1;&#xD;b"


# What is kept.


def test_metadata_is_kept_and_shown() -> None:
    asked = request(
        "PUT",
        "/b/k",
        {
            "content-type": "text/plain",
            "content-encoding": "aws-chunked,gzip",
            "x-amz-meta-who": "Jürgen",
            "user-agent": "x",
        },
    )
    made = metadata.metadata_of(asked, {"x-amz-checksum-crc32": "y/Q5Jg=="})
    again = metadata.decoded(made.encoded())
    assert again == made
    assert again.answer(with_checksum=True) == {
        "Content-Type": "text/plain",
        "Content-Encoding": "gzip",
        "x-amz-meta-who": "Jürgen",
        "x-amz-checksum-crc32": "y/Q5Jg==",
        "x-amz-checksum-type": "FULL_OBJECT",
    }
    assert metadata.Metadata().answer(with_checksum=True) == {"Content-Type": "binary/octet-stream"}
    assert metadata.Metadata().encoded() == b""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"headers": [], "meta": {"a b": "x", "c": 1, "d": "x\\r\\ny"}, "upload": 3}',
        b'{"headers": {"set-cookie": "x"}, "checksum": {"set-cookie": "x"}}',
        b"[" * 16_000,
    ],
)
def test_an_attribute_that_others_wrote_says_nothing(data: bytes) -> None:
    assert metadata.decoded(data) == metadata.Metadata()


def test_blanks_around_what_others_wrote_are_no_part_of_a_header() -> None:
    kept = metadata.decoded(b'{"headers": {"content-type": " a b "}, "meta": {"c": " "}}')
    assert (kept.headers, kept.meta) == ({"content-type": "a b"}, {"c": ""})


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"x-amz-meta-a": "x" * 2048}, "MetadataTooLarge"),
        ({"content-type": "x" * 5000}, "MetadataTooLarge"),
        ({"x-amz-meta-a:b": "x"}, "InvalidArgument"),
        ({"x-amz-meta-a": "a\tb"}, "InvalidArgument"),
    ],
)
def test_metadata_has_bounds(headers: dict[str, str], code: str) -> None:
    asked = S3Request("PUT", "b", "k", [], headers, ("/b/k",))
    with pytest.raises(Refused) as refused:
        metadata.metadata_of(asked)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"x-amz-server-side-encryption": "AES256"}, "NotImplemented"),
        ({"x-amz-grant-read": "id=bob"}, "NotImplemented"),
        ({"x-amz-storage-class": "GLACIER"}, "InvalidStorageClass"),
        ({"x-amz-acl": "private", "x-amz-storage-class": "STANDARD"}, ""),
    ],
)
def test_what_is_not_supported_is_refused_by_its_name(headers: dict[str, str], code: str) -> None:
    asked = request("PUT", "/b/k", headers)
    if not code:
        metadata.check_supported(asked)
        return
    with pytest.raises(Refused) as refused:
        metadata.check_supported(asked)
    assert refused.value.code == code


# Uploads in parts.


def test_an_id_is_of_one_key() -> None:
    made = multipart.upload_id("a/b", bytes(16))
    assert multipart.is_upload_id(made, "a/b")
    for text, key in ((made, "a/c"), (f"../{made}", "a/b"), ("", "a/b"), (made.upper(), "a/b")):
        assert not multipart.is_upload_id(text, key)


def completion(*parts: tuple[int, str]) -> bytes:
    inner = "".join(
        f"<Part><ETag>{etag}</ETag><PartNumber>{number}</PartNumber></Part>"
        for number, etag in parts
    )
    return f"<CompleteMultipartUpload>{inner}</CompleteMultipartUpload>".encode()


def test_parts_are_named_in_order_with_their_etags() -> None:
    sizes = {1: multipart.LEAST_PART_BYTES, 3: 0}
    there = {
        number: multipart.Part(number, f'"{number:032x}-1"', b"", status(length=size))
        for number, size in sizes.items()
    }
    tags = {number: each.etag for number, each in there.items()}
    wanted = multipart.wanted_parts(completion((1, tags[1]), (3, tags[3].strip('"'))))
    multipart.check_parts(wanted, there, None)
    for parts, code in (
        ([(3, tags[3]), (1, tags[1])], "InvalidPartOrder"),
        ([(1, tags[1]), (1, tags[1])], "InvalidPartOrder"),
        ([(1, tags[1]), (2, tags[3])], "InvalidPart"),
        ([(1, tags[3])], "InvalidPart"),
        ([(0, "x")], "InvalidArgument"),
        ([(10_001, "x")], "InvalidArgument"),
        ([], "MalformedXML"),
    ):
        with pytest.raises(Refused) as refused:
            multipart.check_parts(multipart.wanted_parts(completion(*parts)), there, None)
        assert refused.value.code == code
    there[1] = replace(there[1], status=status(length=multipart.LEAST_PART_BYTES - 1))
    with pytest.raises(Refused) as refused:
        multipart.check_parts(wanted, there, None)
    assert refused.value.code == "EntityTooSmall"


def test_an_upload_remembers_what_it_makes() -> None:
    about = multipart.About("a/b", metadata.Metadata({"content-type": "x"}, upload="y"))
    assert multipart.about_of(about.encoded()) == about
    with pytest.raises(Refused):
        multipart.about_of(b"{}")


# Operations.


@pytest.mark.parametrize(
    ("method", "target", "headers", "name"),
    [
        ("GET", "/", {}, "ListBuckets"),
        ("GET", "/b/?list-type=2&prefix=x", {}, "ListObjectsV2"),
        ("GET", "/b", {}, "ListObjects"),
        ("GET", "/b?location", {}, "GetBucketLocation"),
        ("GET", "/b?acl", {}, "GetBucketAcl"),
        ("GET", "/b/k?uploadId=x", {}, "ListParts"),
        ("GET", "/b/k?x-id=GetObject", {}, "GetObject"),
        ("PUT", "/b/k?partNumber=1&uploadId=x", {}, "UploadPart"),
        ("PUT", "/b/k?partNumber=1&uploadId=x", {"x-amz-copy-source": "y"}, "UploadPartCopy"),
        ("PUT", "/b/k", {"x-amz-copy-source": "y"}, "CopyObject"),
        ("POST", "/b/k?uploads=", {}, "CreateMultipartUpload"),
        ("POST", "/b?delete", {}, "DeleteObjects"),
        ("POST", "/b", {}, "PostObject"),
        ("DELETE", "/b/k/", {}, "DeleteObject"),
    ],
)
def test_a_request_is_its_operation(
    method: str, target: str, headers: dict[str, str], name: str
) -> None:
    assert operation_of(request(method, target, headers)).name == name


@pytest.mark.parametrize(
    ("method", "target", "code"),
    [
        # Each would have been PutObject, with what is meant for something else.
        ("PUT", "/b/k?uploadId=x", "InvalidArgument"),
        ("PUT", "/b/k?partNumber=1", "InvalidArgument"),
        ("PUT", "/b/k?renameObject", "NotImplemented"),
        ("PUT", "/b/k?encryption=", "NotImplemented"),
        ("PUT", "/b?metadataTable", "NotImplemented"),
        ("DELETE", "/b?metadataTable", "NotImplemented"),
        ("DELETE", "/b/k?partNumber=1", "InvalidArgument"),
        ("PUT", "/b/k?versionId=1", "InvalidArgument"),
        ("DELETE", "/b/k?versionId=1", ""),
        ("PUT", "/b/k?x-id=PutObject&versionId=&X-Amz-Content=&mine=1", ""),
        ("GET", "/b/k?partNumber=1&other", ""),
    ],
)
def test_a_parameter_that_means_another_operation_is_not_left_out(
    method: str, target: str, code: str
) -> None:
    asked = request(method, target, {})
    operation = operation_of(asked)
    if not code:
        check_parameters(asked, operation)
        return
    with pytest.raises(Refused) as refused:
        check_parameters(asked, operation)
    assert refused.value.code == code


def test_what_is_no_operation_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        operation_of(request("PATCH", "/b/k"))
    assert refused.value.code == "MethodNotAllowed"


def test_every_operation_is_done_or_refused_by_name() -> None:
    assert {each.name for each in OPERATIONS if each.is_served} == set(CALLS)
    assert len({each.name for each in OPERATIONS}) == len(OPERATIONS)
    for operation in OPERATIONS:
        if not operation.is_served:
            with pytest.raises(Refused, match=f"{operation.name} is not supported: ."):
                check_served(operation)


def test_parameters_that_are_numbers_have_bounds() -> None:
    asked = request("GET", "/b?max-keys=5000&empty=&bad=-1&huge=99999999999")
    assert asked.number("max-keys", 1000, most=1000) == 1000
    assert asked.number("missing", 7, most=1000) == 7
    for name in ("empty", "bad", "huge"):
        with pytest.raises(Refused):
            asked.number(name, 1, most=10)


def test_a_path_that_is_not_in_utf_8_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        request("GET", "/b/%ff")
    assert refused.value.code == "InvalidURI"


# Refusals.


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.PathNotFound("x"), "NoSuchKey"),
        (errors.AccessDenied("x"), "AccessDenied"),
        (errors.PathThroughFile("x"), "ExistingObjectIsFile"),
        (errors.SpaceQuotaExceeded("x"), "QuotaExceeded"),
        (errors.SafeMode("x"), "ServiceUnavailable"),
        (errors.Unreachable("x"), "ServiceUnavailable"),
        (errors.NoDatanodes("x"), "InsufficientStorage"),
        (errors.BlockMissing("x"), "InternalError"),
        (errors.RemoteError(""), "InternalError"),
    ],
)
def test_errors_of_a_filesystem_have_codes(error: errors.HowdahError, code: str) -> None:
    refused = refused_by(error)
    assert (refused.code, refused.status) == (code, STATUSES[code])
    assert refused.message


def test_crc32_is_the_usual_one() -> None:
    value = base64.b64encode(zlib.crc32(DATA).to_bytes(4, "big")).decode()
    assert SUMS["x-amz-checksum-crc32"] == value
