"""Signatures as AWS's documentation and botocore make them, and chunks that are signed."""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.fs.objects.amazon.signing import EMPTY, UNSIGNED, Scope
from howdah.gateway.s3.protocol.chunks import ChunkDecoder
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.requests import S3Request, request_of
from howdah.gateway.s3.protocol.signatures import (
    SIGNED_CHUNKS,
    ChunkSigner,
    Signed,
    check_signature,
    signed_of,
)
from howdah.web.http import request_of as parsed_request

ACCESS = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
WHEN = "20130524T000000Z"
NOW_S = calendar.timegm((2013, 5, 24, 0, 0, 0))


def request(method: str, target: str, headers: Mapping[str, str]) -> S3Request:
    lines = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    found = parsed_request(method.encode(), target.encode("latin-1"), lines)
    assert found is not None
    return request_of(found)


def checked(asked: S3Request, now_s: float = NOW_S, secret: str = SECRET) -> Signed:
    signed = signed_of(asked)
    assert signed is not None
    check_signature(asked, signed, secret, now_s)
    return signed


def authorization(names: str, signature: str) -> str:
    return (
        f"AWS4-HMAC-SHA256 Credential={ACCESS}/20130524/us-east-1/s3/aws4_request,"
        f"SignedHeaders={names},Signature={signature}"
    )


# These are from "Authenticating Requests (AWS Signature Version 4)" of S3's API reference.
GET = {
    "Host": "examplebucket.s3.amazonaws.com",
    "Range": "bytes=0-9",
    "x-amz-content-sha256": EMPTY,
    "x-amz-date": WHEN,
    "Authorization": authorization(
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
}


def test_the_documented_request_is_signed() -> None:
    signed = checked(request("GET", "/test.txt", GET))
    assert (signed.access_key, signed.sha256, signed.is_presigned) == (ACCESS, EMPTY, False)


def test_the_documented_presigned_url_is_signed_until_it_ends() -> None:
    target = (
        "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        f"&X-Amz-Credential={ACCESS}%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        f"&X-Amz-Date={WHEN}&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature="
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
    asked = request("GET", target, {"Host": "examplebucket.s3.amazonaws.com"})
    assert checked(asked, NOW_S + 86_400).payload == UNSIGNED
    with pytest.raises(Refused, match="expired"):
        checked(asked, NOW_S + 86_401)
    with pytest.raises(Refused, match="not yet"):
        checked(asked, NOW_S - 86_400)


SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
CHUNKS = (
    (b"a" * 65_536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
    (b"a" * 1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
    (b"", "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
)


def seeded() -> Signed:
    headers = {
        "Host": "s3.amazonaws.com",
        "x-amz-storage-class": "REDUCED_REDUNDANCY",
        "x-amz-content-sha256": SIGNED_CHUNKS,
        "x-amz-decoded-content-length": "66560",
        "content-encoding": "aws-chunked",
        "content-length": "66824",
        "x-amz-date": WHEN,
        "Authorization": authorization(
            "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;"
            "x-amz-decoded-content-length;x-amz-storage-class",
            SEED,
        ),
    }
    return checked(request("PUT", "/examplebucket/chunkObject.txt", headers))


def chunked(chunks: Any = CHUNKS) -> bytes:
    return (
        b"".join(
            b"%x;chunk-signature=%s\r\n" % (len(data), signature.encode())
            + (data + b"\r\n" if data else b"")
            for data, signature in chunks
        )
        + b"\r\n"
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 70_000))
def test_the_documented_chunks_are_signed_wherever_they_are_cut(size: int) -> None:
    decoder = ChunkDecoder(ChunkSigner(seeded(), SECRET), has_trailers=False)
    body = chunked()
    found = bytearray()
    for at in range(0, len(body), size):
        for piece in decoder.decode(body[at : at + size]):
            found += piece
    assert decoder.is_whole
    assert found == b"a" * 66_560


@pytest.mark.parametrize("at", [100, 65_700, 66_700])
def test_a_chunk_that_was_changed_is_refused(at: int) -> None:
    body = bytearray(chunked())
    body[at] ^= 1
    decoder = ChunkDecoder(ChunkSigner(seeded(), SECRET), has_trailers=False)
    with pytest.raises(Refused):
        list(decoder.decode(bytes(body)))


def test_chunks_in_another_order_are_refused() -> None:
    decoder = ChunkDecoder(ChunkSigner(seeded(), SECRET), has_trailers=False)
    with pytest.raises(Refused, match="another signature"):
        list(decoder.decode(chunked([CHUNKS[1], CHUNKS[0], CHUNKS[2]])))


# Requests as botocore signs them, and changes of them.


def signed_by_botocore(method: str, target: str, headers: Mapping[str, str]) -> S3Request:
    made = AWSRequest(method, f"http://localhost:9878{target}", headers=dict(headers), data=b"")
    S3SigV4Auth(Credentials(ACCESS, SECRET), "s3", "eu-central-1").add_auth(made)
    prepared = made.prepare()
    sent = {"Host": "localhost:9878", **{name: str(v) for name, v in prepared.headers.items()}}
    for name, value in prepared.headers.items():
        if isinstance(value, bytes):
            sent[name] = value.decode("latin-1")
    return request(method, prepared.url.partition("9878")[2], sent)


@pytest.mark.parametrize(
    "target",
    [
        "/b/a%20b%2Bc",
        "/b/%C3%A4/x~y",
        "/b/a=b,c",
        "/b?list-type=2&prefix=a%2Fb%20c&encoding-type=url",
        "/b?uploads",
        "/b/k?x-id=PutObject&partNumber=2&uploadId=z",
        "/b?a.b=1&a%2Fb=2&a=%2F&a=.",
    ],
)
def test_what_botocore_signs_is_accepted(target: str) -> None:
    asked = signed_by_botocore("PUT", target, {"x-amz-meta-a": "two  blanks "})
    assert checked(asked, time.time()).access_key == ACCESS
    with pytest.raises(Refused) as refused:
        checked(asked, time.time(), "another secret")
    assert refused.value.code == "SignatureDoesNotMatch"
    with pytest.raises(Refused) as refused:
        checked(asked, time.time() + 16 * 60)
    assert refused.value.code == "RequestTimeTooSkewed"


def test_a_presigned_url_of_botocore_is_accepted() -> None:
    made = AWSRequest("GET", "http://localhost:9878/b/k%20k?versionId=null")
    S3SigV4QueryAuth(Credentials(ACCESS, SECRET), "s3", "x", 60).add_auth(made)
    target = made.prepare().url.partition("9878")[2]
    assert checked(request("GET", target, {"Host": "localhost:9878"}), time.time()).is_presigned
    with pytest.raises(Refused, match="does not match"):
        checked(request("PUT", target, {"Host": "localhost:9878"}), time.time())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"x-amz-copy-source": "/b/other"}, "AccessDenied"),
        ({"x-amz-content-sha256": UNSIGNED}, "SignatureDoesNotMatch"),
        ({"Range": "bytes=0-99"}, "SignatureDoesNotMatch"),
        ({"Host": "other"}, "SignatureDoesNotMatch"),
        ({"x-amz-date": "20130525T000000Z"}, "AuthorizationHeaderMalformed"),
        ({"x-amz-date": "yesterday"}, "AccessDenied"),
        ({"x-amz-content-sha256": "STREAMING-OTHER"}, "NotImplemented"),
        ({"x-amz-content-sha256": "zz"}, "InvalidArgument"),
        ({"Authorization": "Basic YQ=="}, "InvalidRequest"),
        ({"Authorization": "AWS a:b"}, "InvalidRequest"),
        ({"Authorization": "AWS4-HMAC-SHA256 a"}, "AuthorizationHeaderMalformed"),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=a"}, "AuthorizationHeaderMalformed"),
        ({"Authorization": authorization("host;host", "0")}, "AuthorizationHeaderMalformed"),
        ({"Authorization": authorization("range", "0")}, "AccessDenied"),
        ({"Authorization": authorization("host;x-amz-nothing", "0")}, "AccessDenied"),
    ],
)
def test_a_changed_request_is_refused(change: dict[str, str], code: str) -> None:
    with pytest.raises(Refused) as refused:
        checked(request("GET", "/test.txt", {**GET, **change}))
    assert refused.value.code == code


@pytest.mark.parametrize(
    "query",
    [
        "X-Amz-Algorithm=AWS4-HMAC-SHA256",
        "X-Amz-Algorithm=x&X-Amz-Credential=a&X-Amz-Date=a&X-Amz-Expires=1&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=0",
        *(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256"
            f"&X-Amz-Credential={ACCESS}/20130524/r/s3/aws4_request&X-Amz-Date={WHEN}"
            f"&X-Amz-Expires={expires}&X-Amz-SignedHeaders=host&X-Amz-Signature=0"
            for expires in ("999999999", "0", "-1", "0000000001999999", f"1{'0' * 5000}")
        ),
    ],
)
def test_a_url_that_is_presigned_in_part_is_refused(query: str) -> None:
    with pytest.raises(Refused) as refused:
        signed_of(request("GET", f"/b/k?{query}", {"Host": "h"}))
    assert refused.value.code == "AuthorizationQueryParametersError"


def test_version_2_is_refused_with_what_to_do() -> None:
    with pytest.raises(Refused, match="s3v4"):
        signed_of(request("GET", "/b/k?AWSAccessKeyId=a&Signature=b&Expires=1", {"Host": "h"}))


def test_a_request_is_signed_once_or_not_at_all() -> None:
    assert signed_of(request("GET", "/b", {"Host": "h"})) is None
    with pytest.raises(Refused, match="signed once"):
        signed_of(request("GET", "/b?X-Amz-Signature=0", GET))


def test_unsigned_chunks_have_their_lines_behind_them() -> None:
    decoder = ChunkDecoder(None, has_trailers=True)
    body = b"3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n"
    assert b"".join(decoder.decode(body)) == b"abc"
    assert decoder.trailers == {"x-amz-checksum-crc32": "NSRBwg=="}


@pytest.mark.parametrize(
    "body",
    [
        b"x\r\n",
        b"-1\r\n",
        b"3;chunk-signature=" + b"0" * 64 + b"\r\nabc",
        b"3\r\nabcd\r\n",
        b"1" * 2000,
        b"0\r\n" + b"".join(b"a%d:b\r\n" % number for number in range(17)),
        b"0\r\na:b\r\na:c\r\n",
        b"0\r\n\r\nmore",
        b"ffffffffffffffff\r\n",
    ],
)
def test_what_is_no_chunk_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        list(ChunkDecoder(None, has_trailers=True).decode(body))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_chunks_or_refused(body: bytes) -> None:
    decoder = ChunkDecoder(None, has_trailers=True)
    try:
        found = b"".join(decoder.decode(body))
    except Refused:
        return
    assert len(found) <= len(body)


def test_a_scope_says_what_it_is_for() -> None:
    assert Scope("r", "s3").text(WHEN) == "20130524/r/s3/aws4_request"
