"""Requests without botocore: made as its own are, and none where those are out of the ordinary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.objects.amazon.http_requests import (
    Elsewhere,
    HttpRequests,
    Manner,
    RequestTemplates,
    manner_of,
    milliseconds,
)
from howdah.fs.objects.http_client import Answer, Request, Requests, RestReading
from howdah.fs.objects.retrying import Failed, Throttled
from howdah.fs.objects.settings import Settings, settings_of
from howdah.fs.objects.store import NotAsExpected
from howdah.runtime.tls.http_policy import Place

SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKID/20261126/eu-west-1/s3/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=00"
)
AMAZON = Place(True, "b.s3.eu-west-1.amazonaws.com", 443)
SECRET = "what-nobody-may-read"


@dataclass
class Frozen:
    access_key: str = "AKID"
    secret_key: str = SECRET
    token: str | None = None

    def get_frozen_credentials(self) -> Frozen:
        return self


class Scripted(Requests):
    """Answers in their order; what was asked is kept."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.asked: list[Request] = []

    def send(self, place: Place, request: Request) -> Answer:
        self.asked.append(request)
        return self._answers.pop(0)

    def open(self, place: Place, request: Request) -> tuple[RestReading | None, Answer]:
        answer = self.send(place, request)
        return (Body() if answer.status in (200, 206) else None), answer


class Body(RestReading):
    """What nobody reads here."""

    closed = 0

    def __init__(self) -> None:
        Body.closed = 0

    def close(self, left: int) -> None:
        Body.closed += 1


def settings(bucket: str = "b", **keys: str) -> Settings:
    values = {f"fs.s3a.{name.replace('_', '.')}": value for name, value in keys.items()}
    return settings_of(Configuration(values), bucket)


def quick_of(
    *answers: Answer,
    manner: Manner = Manner(AMAZON, "/", "eu-west-1"),  # noqa: B008 (frozen)
    credentials: Frozen | None = None,
) -> tuple[HttpRequests, Scripted]:
    scripted = Scripted(answers)
    found = credentials or Frozen()
    return HttpRequests(settings(), manner, lambda: found, scripted, lambda: None), scripted


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


# --- what is learnt ---------------------------------------------------------------------


@pytest.mark.req("FS-187")
@pytest.mark.parametrize(
    ("url", "endpoint", "found"),
    [
        ("https://b.s3.eu-west-1.amazonaws.com/key", "", (AMAZON, "/")),
        ("https://b.s3.eu-west-1.amazonaws.com/b/key", "", (AMAZON, "/")),
        ("http://minio:9000/b?list-type=2", "http://minio:9000", (("minio", 9000), "/b/")),
        ("http://minio:9000/b/b/key", "http://minio:9000", (("minio", 9000), "/b/")),
        ("http://b.host/b/key", "http://b.host", (("b.host", 80), "/b/")),
        ("http://b.b.host/key", "http://b.host", (("b.b.host", 80), "/")),
        ("http://host/prefix/b/key", "http://host/prefix", None),
        ("https://host/bucket/key", "https://host", None),
    ],
)
def test_a_request_shows_where_a_bucket_is(url: str, endpoint: str, found: Any) -> None:
    manner = manner_of(url, SIGNED, settings(endpoint=endpoint))
    if found is None:
        assert manner is None
        return
    place, before_key = found
    if not isinstance(place, Place):
        place = Place(False, *place)
    assert manner == Manner(place, before_key, "eu-west-1")


@pytest.mark.req("FS-187")
def test_what_is_out_of_the_ordinary_stays_with_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://host/{}/key"
    for bucket in ("b--use1-az4--x-s3", "b--ol-s3", "arn:aws:s3:eu-west-1:1:accesspoint/a"):
        assert manner_of(url.format(bucket), SIGNED, settings(bucket)) is None
    for text in (
        SIGNED.replace("AWS4-HMAC", "AWS4-ECDSA-P256"),
        SIGNED.replace("/s3/", "/s3express/"),
        "AWS AKID:signature",
    ):
        assert manner_of(url.format("b"), text, settings()) is None
    assert manner_of(url.format("b"), SIGNED, settings()) is not None
    for keys in ({"encryption_algorithm": "AES256"}, {"requester_pays_enabled": "true"}):
        assert manner_of(url.format("b"), SIGNED, settings(**keys)) is None
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert manner_of(url.format("b"), SIGNED, settings()) is None
    monkeypatch.setenv("NO_PROXY", "host")
    assert manner_of(url.format("b"), SIGNED, settings()) is not None


@dataclass
class Sent:
    url: str = "https://host/b/key"
    headers: dict[str, Any] = field(default_factory=lambda: {"Authorization": SIGNED.encode()})


@pytest.mark.req("FS-187")
def test_a_manner_is_learnt_from_a_request_that_succeeded() -> None:
    learning = RequestTemplates(settings(), Frozen, None, is_signed=True)
    learning.succeeded(200)  # of nobody's
    for status in (404, 403, 301, 503):
        learning.sends(Sent())
        learning.succeeded(status)
        assert learning.quick is None
    learning.sends(Sent(headers={}))  # a key that was expected to be signed for
    learning.succeeded(200)
    assert learning.quick is None
    learning.sends(Sent())
    learning.succeeded(206)
    assert learning.quick is not None
    learning.forget()
    assert learning.quick is None
    learning.close()


@pytest.mark.req("FS-187")
def test_anonymous_requests_are_not_signed() -> None:
    learning = RequestTemplates(settings(), lambda: None, None, is_signed=False)
    learning.sends(Sent())
    learning.succeeded(200)
    assert learning.quick is None
    learning.sends(Sent(headers={}))
    learning.succeeded(200)
    assert learning.quick is not None
    scripted = Scripted([Answer(200, {"etag": '"1"'}, b"")])
    learning.quick._requests = scripted
    assert learning.quick.head("k", {"ChecksumMode": "ENABLED"})["ETag"] == '"1"'
    assert scripted.asked[0].headers == {"Host": "host", "x-amz-checksum-mode": "ENABLED"}
    learning.close()


# --- what is sent -----------------------------------------------------------------------


@pytest.mark.req("FS-187")
def test_a_body_is_signed_where_nothing_else_holds_it_together() -> None:
    secure, asked = quick_of(Answer(200, {}, b""))
    secure.put("a b/\xe4", {"IfNoneMatch": "*"}, b"body")
    [request] = asked.asked
    assert request.target == "/a%20b/%C3%A4"
    assert request.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD"
    assert request.headers["Host"] == "b.s3.eu-west-1.amazonaws.com"
    assert request.headers["if-none-match"] == "*"
    assert not request.is_repeatable
    manner = Manner(Place(False, "minio", 9000), "/b/", "us-east-1")
    plain, asked = quick_of(Answer(200, {}, b""), Answer(204, {}, b""), manner=manner)
    plain.put("k", {"UploadId": "u/=", "PartNumber": 3}, b"body")
    plain.delete("k")
    put, delete = asked.asked
    assert put.target == "/b/k?partNumber=3&uploadId=u%2F%3D"
    assert put.headers["Host"] == "minio:9000"
    assert put.headers["x-amz-content-sha256"].startswith("230d8358dc8e8890b4c58deeb62912ee")
    assert delete.headers["x-amz-content-sha256"].startswith("e3b0c44298fc1c149afbf4c8996fb924")


@pytest.mark.req("FS-187")
def test_a_token_is_sent_and_signed_and_no_secret_is_shown() -> None:
    quick, asked = quick_of(Answer(200, {}, b""), credentials=Frozen(token="a-token"))
    quick.delete("k")
    [request] = asked.asked
    assert request.headers["x-amz-security-token"] == "a-token"
    assert "x-amz-security-token" in request.headers["authorization"]
    assert SECRET not in repr((request, quick))
    gone = HttpRequests(settings(), Manner(AMAZON, "/", "r"), lambda: None, asked, lambda: None)
    with pytest.raises(Elsewhere):
        gone.delete("k")


@pytest.mark.req("FS-187")
def test_a_listing_of_the_bucket_is_asked_for_by_its_name() -> None:
    page = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
    for before, path in (("/", "/"), ("/b/", "/b")):
        quick, asked = quick_of(Answer(200, {}, page), manner=Manner(AMAZON, before, "r"))
        assert quick.page("a b/", {"MaxKeys": 7}).objects == ()
        wanted = f"{path}?encoding-type=url&list-type=2&max-keys=7&prefix=a%20b%2F"
        assert asked.asked[0].target == wanted


# --- what is answered -------------------------------------------------------------------


@pytest.mark.req("FS-187")
def test_a_look_tells_what_botocore_tells() -> None:
    headers = {
        "etag": '"e"',
        "content-length": "12",
        "last-modified": "Thu, 26 Nov 2026 16:19:56 GMT",
        "x-amz-version-id": "v",
        "x-amz-checksum-crc32c": "AAAAAA==",
        "x-amz-checksum-type": "FULL_OBJECT",
        "x-amz-meta-howdah-writer": "w",
        "content-type": "text/plain",
        "server": "S3",
    }
    quick, _ = quick_of(Answer(200, headers, b""))
    assert quick.head("k", {}) == {
        "ETag": '"e"',
        "ContentLength": 12,
        "LastModified": 1795709996000,
        "VersionId": "v",
        "ChecksumCRC32C": "AAAAAA==",
        "ChecksumType": "FULL_OBJECT",
        "Metadata": {"howdah-writer": "w"},
        "ContentType": "text/plain",
    }
    assert milliseconds(None) == milliseconds("yesterday") == 0
    assert milliseconds("Thu, 26 Nov 2026 17:19:56 +0100") == 1795709996000


@pytest.mark.req("FS-189")
def test_a_file_that_is_opened_with_its_bytes_is_told_as_by_a_look() -> None:
    headers = {"etag": '"e"', "content-length": "12", "x-amz-checksum-crc32c": "AAAAAA=="}
    quick, asked = quick_of(Answer(200, headers, b""))
    found = quick.head_and_get("k", {"ChecksumMode": "ENABLED"})
    assert found is not None
    assert found[0] == {
        "ETag": '"e"',
        "ContentLength": 12,
        "LastModified": 0,
        "ChecksumCRC32C": "AAAAAA==",
        "Metadata": {},
    }
    assert Body.closed == 0
    [request] = asked.asked
    assert (request.method, request.target) == ("GET", "/k")
    assert request.headers["x-amz-checksum-mode"] == "ENABLED"
    # Amazon tells no checksum of an object with a part of it.
    assert "range" not in request.headers


@pytest.mark.req("FS-189")
@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, {"etag": '"e"'}, b""),
        Answer(206, {"etag": '"e"', "content-length": "12"}, b""),
    ],
)
def test_an_answer_that_does_not_tell_how_long_a_file_is_is_let_go(answer: Answer) -> None:
    quick, _ = quick_of(answer)
    assert quick.head_and_get("k", {}) is None
    assert Body.closed == 1


@pytest.mark.req("FS-192")
def test_who_opens_a_file_with_its_bytes_is_refused_as_who_looks() -> None:
    quick, _ = quick_of(Answer(404, {}, said("NoSuchKey")))
    with pytest.raises(errors.PathNotFound, match="s3://b/k"):
        quick.head_and_get("k", {})


def said(code: str, more: str = "") -> bytes:
    return f'<Error xmlns="x"><Code>{code}</Code><Message>it says</Message>{more}</Error>'.encode()


@pytest.mark.req("FS-192")
@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (Answer(404, {}, said("NoSuchKey")), errors.PathNotFound, "s3://b/k"),
        (Answer(404, {}, b""), errors.PathNotFound, "s3://b/k"),
        (Answer(404, {}, said("NoSuchBucket")), errors.UnknownStore, "Bucket b does not exist"),
        (Answer(412, {}, said("PreconditionFailed")), NotAsExpected, "s3://b/k"),
        (Answer(403, {}, said("AccessDenied")), errors.AccessDenied, "it says"),
        (Answer(503, {}, said("SlowDown")), Throttled, "slow down"),
        (Answer(500, {}, b"<html>"), Failed, "without a reason"),
        (Answer(403, {}, b"<html><p>no"), errors.RemoteError, "does not answer as S3 does"),
    ],
)
def test_a_refusal_is_the_error_that_botocores_is(
    answer: Answer, kind: type[errors.HowdahError], text: str
) -> None:
    quick, _ = quick_of(answer)
    with pytest.raises(kind, match=text):
        quick.delete("k")


@pytest.mark.req("FS-192")
@pytest.mark.parametrize(
    "answer",
    [
        Answer(301, {"x-amz-bucket-region": "eu-west-1"}, b""),
        Answer(307, {"location": "https://other/"}, b"<html>"),
        Answer(400, {}, said("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")),
    ],
)
def test_a_bucket_that_is_elsewhere_is_looked_for_by_botocore(answer: Answer) -> None:
    quick, _ = quick_of(answer)
    with pytest.raises(Elsewhere):
        quick.delete("k")


@pytest.mark.req("FS-192")
def test_a_page_of_somebody_elses_is_no_listing() -> None:
    quick, _ = quick_of(Answer(200, {}, b"<html>Welcome</html>"))
    with pytest.raises(errors.RemoteError, match="does not answer as S3 does"):
        quick.page("", {})
