"""Any request at all is answered or refused: a defect is none of the answers, and nothing outside
of the bucket changes.

Requests have parameters, headers and bodies that S3 knows, with values that it does not; some are
signed as they should be, some by somebody else, and some in ways that were never signatures.
"""

from __future__ import annotations

import errno
import http.client
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.gateway.s3.protocol.operations import OPERATIONS
from howdah.runtime import unexpected_errors
from tests.support.s3_gateway import REGION, Door, in_process
from tests.support.torture import times

USER = "ann"
NAME = "s3-any"
PATIENCE_S = 10.0

PARAMETERS = sorted({name for each in OPERATIONS for name in each.parameters})
NUMBERS = ["0", "-1", "1", "1001", "9" * 30, "1e3", "0x10", " 1", "٣", "", "NaN"]
TIMES = ["Thu, 01 Jan 1970 00:00:00 GMT", "9999-99-99", "Thu, 01 Jan 99999 00:00:00 GMT", "x", ""]
ETAGS = ["*", '"x"', "x", '"' * 50, 'W/"x", "y"', ",", ""]
KEYS = [
    *("k", "dir/", "dir/k", "new", "new/er", "", "/", "//", "..", "../secret", "dir/../../secret"),
    *("%2e%2e%2fsecret", "a:b", ".howdah-s3/ann/objects/x", ".reserved/.inodes/1", "nul\0", "\x01"),
    *("n" * 256, "n/" * 600, "\u00e9\U0001f418", "%ff", "k?x", " k ", "k\u2028"),
]
BUCKETS = ["data", "data", "data", "other", "none", "", ".", "..", "A", "d" * 64, ".howdah-s3"]
LARGE = b"<a>" * 50_000
DOCUMENTS = [
    b"",
    b"<Delete/>",
    b"<Delete><Object><Key>k</Key></Object><Object><Key>../secret</Key></Object></Delete>",
    b"<Delete><Object><Key/><VersionId>1</VersionId></Object></Delete>",
    b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>",
    b"<CompleteMultipartUpload><Part><PartNumber>-1</PartNumber><ETag>x</ETag></Part>"
    b"</CompleteMultipartUpload>",
    b"<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>",
    b"<AccessControlPolicy><Owner><ID>ann</ID></Owner><AccessControlList/></AccessControlPolicy>",
    b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><Delete>&c;</Delete>',
    b'<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><Delete>&a;</Delete>',
    b'<?xml version="1.0" encoding="utf-7"?><Delete/>',
    '<?xml version="1.0" encoding="utf-16"?><Delete/>'.encode("utf-16"),
    b"<Delete " + b" ".join(b'a%d="x"' % number for number in range(2000)) + b"/>",
    LARGE,
    b"<Delete>" + b"<Object><Key>k</Key></Object>" * 1001 + b"</Delete>",
    b"<Delete>\0</Delete>",
]
SIZES = [b"0", b"3", b"-1", b"0x3", b"ffffffff", b"f" * 16, b"f" * 100, b"3;x=y", b"+3", b" 3", b""]
CHUNKED = [
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    "STREAMING-NONE",
]
AUTHORIZATIONS = [
    "AWS AKANN:c2lnbmF0dXJl",
    "AWS4-HMAC-SHA256",
    "AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature=",
    "AWS4-HMAC-SHA256 Credential=AKANN/20130524/r/s3/aws4_request,SignedHeaders=host,Signature=0",
    f"AWS4-HMAC-SHA256 Credential=AKANN/{'9' * 8}/r/s3/aws4_request, SignedHeaders=host;;x, "
    f"Signature={'g' * 64}",
    "Basic YTpi",
    "\u00e9",
]
HEADERS: dict[str, list[str]] = {
    "range": [
        "bytes=0-",
        "bytes=-0",
        "bytes=-9",
        "bytes=5-1",
        f"bytes={'9' * 25}-",
        "bytes=0-0,2-",
    ],
    "if-match": ETAGS,
    "if-none-match": ETAGS,
    "if-range": [*ETAGS, *TIMES],
    "if-modified-since": TIMES,
    "if-unmodified-since": TIMES,
    "content-md5": ["", "x", "A" * 22 + "==", "\u00e9"],
    "content-type": [
        "",
        "multipart/form-data",
        "multipart/form-data; boundary=" + "b" * 200,
        "\xff",
    ],
    "content-encoding": ["aws-chunked", "gzip,aws-chunked", ""],
    "expect": ["100-continue", "x"],
    "origin": ["null", "https://x.example"],
    "access-control-request-method": ["PUT", "x"],
    "x-amz-acl": ["private", "public-read-write", "x", ""],
    "x-amz-checksum-crc32": ["NSRBwg==", "x", ""],
    "x-amz-checksum-sha256": ["x", "=" * 50],
    "x-amz-checksum-algorithm": ["CRC32", "CRC64NVME", "x"],
    "x-amz-checksum-mode": ["ENABLED", "x"],
    "x-amz-checksum-type": ["COMPOSITE", "FULL_OBJECT", "x"],
    "x-amz-content-sha256": [*CHUNKED, "UNSIGNED-PAYLOAD", "0" * 64, "x", ""],
    "x-amz-copy-source": [
        "data/k",
        "/data/k",
        "data",
        "/",
        "",
        "data/%ff",
        "x/../k",
        "data/k?versionId=1",
    ],
    "x-amz-copy-source-if-match": ETAGS,
    "x-amz-copy-source-range": ["bytes=0-0", "bytes=0-", "bytes=9-1", f"bytes=0-{'9' * 30}", "x"],
    "x-amz-date": ["20130524T000000Z", "x", "", "9" * 40],
    "x-amz-decoded-content-length": NUMBERS,
    "x-amz-expected-bucket-owner": ["ann", "bob", ""],
    "x-amz-if-match-size": NUMBERS,
    "x-amz-if-match-last-modified-time": TIMES,
    "x-amz-meta-m": ["", "v" * 3000, "=?utf-8?q?x?=", "\u00e9"],
    "x-amz-metadata-directive": ["REPLACE", "x"],
    "x-amz-object-attributes": ["ETag", "x", ",,,"],
    "x-amz-security-token": ["x"],
    "x-amz-server-side-encryption": ["AES256"],
    "x-amz-tagging": ["a=b", "a=b&a=c", "=" * 20, "%ff=%", "&".join(f"k{n}=v" for n in range(20))],
    "x-amz-tagging-directive": ["REPLACE", "x"],
    "x-amz-trailer": ["x-amz-checksum-crc32", "x", ""],
    "transfer-encoding": ["chunked"],
}
VALUES = [*NUMBERS, *ETAGS, *KEYS, "/", "url", "2", "\u00e9", "%ff"]


@dataclass(frozen=True)
class Wanted:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    auth: str
    """How it is signed."""
    length: str | None
    """What the head says of the body, if not the truth."""


def chunks(sizes: list[bytes], trailer: bytes) -> bytes:
    return b"".join(size + b"\r\nabc\r\n" for size in sizes) + trailer


def one_of(mapping: dict[str, list[str]], most: int) -> st.SearchStrategy[dict[str, str]]:
    pairs = st.one_of(
        *(st.tuples(st.just(name), st.sampled_from(given)) for name, given in mapping.items())
    )
    return st.lists(pairs, max_size=most).map(dict)


queries = one_of(
    {
        **{name: ["", *VALUES] for name in PARAMETERS},
        **{name: VALUES for name in ("prefix", "delimiter", "marker", "start-after")},
        **{
            name: NUMBERS for name in ("max-keys", "max-parts", "max-uploads", "part-number-marker")
        },
        **{name: VALUES for name in ("continuation-token", "encoding-type", "key-marker")},
        "response-content-type": ["text/html", "\r\nx: y", "\u00e9"],
        "versionId": ["null", "x"],
        "X-Amz-Algorithm": ["AWS4-HMAC-SHA256", "x"],
        "X-Amz-Expires": NUMBERS,
        "X-Amz-Signature": ["x", "0" * 64],
        "Signature": ["x"],
    },
    4,
)
bodies = st.one_of(
    st.sampled_from(DOCUMENTS),
    st.binary(max_size=200),
    st.builds(
        chunks,
        st.lists(st.sampled_from(SIZES), max_size=3),
        st.sampled_from(
            [b"", b"0\r\n\r\n", b"0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n", b"\r\n"]
        ),
    ),
)
AUTHS = ["header", "header", "header", "query", "none", "other", "late", "odd"]


@st.composite
def requests(draw: st.DrawFn) -> Wanted:
    query = draw(queries)
    path = "/" + "/".join(
        quote(part, safe="%/")
        for part in (draw(st.sampled_from(BUCKETS)), draw(st.sampled_from(KEYS)))
    )
    if query:
        path += "?" + "&".join(
            f"{name}={quote(value, safe='%')}" if value else name for name, value in query.items()
        )
    return Wanted(
        draw(st.sampled_from(["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH"])),
        path,
        draw(one_of(HEADERS, 4)),
        draw(bodies),
        draw(st.sampled_from(AUTHS)),
        draw(
            st.one_of(st.none(), st.none(), st.none(), st.sampled_from(["0", "5", "999999", "-1"]))
        ),
    )


def signed(door: Door, wanted: Wanted) -> tuple[str, dict[str, str]]:
    """The target and the headers of a request, as its client signs it."""
    headers = dict(wanted.headers)
    if wanted.auth == "none":
        return wanted.path, headers
    if wanted.auth == "odd":
        at = len(wanted.path) % len(AUTHORIZATIONS)
        return wanted.path, headers | {"authorization": AUTHORIZATIONS[at]}
    secret = "another" if wanted.auth == "other" else door.secret_key
    made = AWSRequest(
        wanted.method,
        f"{door.url}{wanted.path}",
        headers={
            name: value.encode().decode("latin-1")
            for name, value in headers.items()
            if name not in ("x-amz-date", "transfer-encoding", "expect")
        },
        data=b"" if wanted.auth == "query" else wanted.body,
    )
    kind = S3SigV4QueryAuth if wanted.auth == "query" else S3SigV4Auth
    kind(Credentials(door.access_key, secret), "s3", REGION).add_auth(made)
    found = {name.lower(): str(value) for name, value in made.headers.items()}
    if wanted.auth == "late":
        found["x-amz-date"] = "20130524T000000Z"
    for name in ("transfer-encoding", "expect"):
        if name in headers:
            found[name] = headers[name]
    return made.url.removeprefix(door.url), found


def sent(door: Door, wanted: Wanted) -> int | None:
    """The status of its answer; None where the connection ended without one."""
    target, headers = signed(door, wanted)
    headers["host"] = door.address
    if "transfer-encoding" in headers:
        headers.pop("content-length", None)
    else:
        headers["content-length"] = wanted.length or str(len(wanted.body))
    lines = [f"{wanted.method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join([*lines, "connection: close", "", ""]).encode("utf-8", "surrogateescape")
    host, port = door.address.split(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        try:
            connection.sendall(head + wanted.body)
            connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            # It was answered before all of it had come, and the connection may have ended.
            if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
                raise
        answer = http.client.HTTPResponse(connection, method=wanted.method)
        try:
            answer.begin()
            answer.read()
        except (http.client.HTTPException, ConnectionError):
            return None
        return answer.status


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    fs = MemoryFileSystem(NAME, Configuration(), USER)
    fs.write_bytes("/secret", b"not for clients")
    with in_process(tmp_path_factory.mktemp("s3"), f"mem://{NAME}", USER) as found:
        yield found
    forget(NAME)


def check_answered(door: Door, wanted: Wanted) -> None:
    fs = MemoryFileSystem(NAME, Configuration(), USER)
    fs.write_bytes("/s3/data/k", b"0123456789")
    fs.write_bytes("/s3/data/dir/k", b"k")
    before = dict(unexpected_errors.seen)
    status = sent(door, wanted)
    assert dict(unexpected_errors.seen) == before
    assert status is None or (200 <= status < 500) or status in (501, 503), status
    assert fs.read_bytes("/secret") == b"not for clients"
    assert {each.name for each in fs.list_status("/")} == {"secret", "s3"}


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(wanted=requests())
def test_any_request_is_answered_or_refused(door: Door, wanted: Wanted) -> None:
    check_answered(door, wanted)


@pytest.mark.torture
@settings(max_examples=times(2000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(wanted=requests())
def test_any_of_many_requests_is_answered_or_refused(door: Door, wanted: Wanted) -> None:
    check_answered(door, wanted)
