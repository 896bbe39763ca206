"""Hadoop's keys for a bucket, and what is shown of them."""

from __future__ import annotations

import base64
import itertools
import logging
from functools import partial
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.objects import credentials
from howdah.fs.objects.parts import MAX_OBJECT_BYTES, MAX_PARTS, part_bytes, pieces
from howdah.fs.objects.read_plan import STRAIGHT_AGAIN_BYTES, Manner, ReadPlan
from howdah.fs.objects.retrying import MAX_PAUSE_S, Failed, Retrying, RetryRules, Throttled
from howdah.fs.objects.settings import settings_of

SECRET = "what-nobody-may-read"
OWN_KEY = base64.b64encode(SECRET.ljust(32).encode()).decode()
KEYS = {
    "fs.s3a.encryption.key": OWN_KEY,
    "fs.s3a.bucket.b.encryption.algorithm": "SSE-C",
    "fs.s3a.access.key": "AKID" + SECRET,
    "fs.s3a.secret.key": SECRET,
    "fs.s3a.session.token": SECRET,
    "fs.s3a.bucket.b.secret.key": SECRET,
}


@pytest.mark.req("FS-187")
def test_what_is_set_for_a_bucket_counts_there_alone() -> None:
    conf = Configuration(
        {
            "fs.s3a.endpoint": "store:9000",
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.bucket.logs.endpoint": "https://s3.eu-west-1.amazonaws.com",
            "fs.s3a.bucket.logs.multipart.size": "16M",
        }
    )
    here, there = settings_of(conf, "data"), settings_of(conf, "logs")
    assert (here.endpoint, here.region, here.part_bytes) == ("http://store:9000", None, 64 << 20)
    assert (there.endpoint, there.region, there.part_bytes) == (None, "eu-west-1", 16 << 20)


@pytest.mark.req("FS-187")
def test_secrets_are_shown_nowhere(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    conf = Configuration(KEYS)
    for secret in (SECRET, OWN_KEY):
        assert secret not in repr(conf)
        assert secret not in repr(settings_of(conf, "b"))
    for name in KEYS.keys() - {"fs.s3a.bucket.b.encryption.algorithm"}:
        assert main(["getconf", *(f"-D{k}={v}" for k, v in KEYS.items()), "-confKey", name]) == 0
        assert capsys.readouterr().out == "<redacted>\n"
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("fs.s3a.endpoint", "ftp://x", "neither a host nor"),
        ("fs.s3a.encryption.algorithm", "CSE-KMS", "CSE-KMS .* is not supported: there are AES256"),
        ("fs.s3a.encryption.algorithm", "SSE-C", "fs.s3a.encryption.key is not Base64 of 32"),
        ("fs.s3a.bucket.b.accesspoint.arn", "arn:aws:s3:x:1:accesspoint/x", "not supported"),
        ("fs.s3a.accesspoint.required", "true", "not supported"),
        ("fs.s3a.create.header.x-amz-meta-a", "b", r"fs\.s3a\.create\.header\.x-amz-meta-a .* not"),
        ("fs.s3a.client.s3.custom.headers", "a=b", "not supported"),
        ("fs.s3a.custom.signers", "Mine:org.x.Mine", "not supported"),
        ("fs.s3a.signing-algorithm", "S3SignerType", "not supported"),
        ("fs.s3a.delegation.token.binding", "org.x.Mine", "not supported"),
        ("fs.s3a.directory.marker.retention", "delete", "not supported"),
        ("fs.s3a.multipart.uploads.enabled", "false", "not supported"),
        ("fs.s3a.proxy.host", "proxy", "not supported"),
        ("fs.s3a.input.fadvise", "sideways", "sideways is not supported; there are default"),
        ("fs.s3a.security.credential.provider.path", "jceks://x", "is not read: set fs.s3a.acc"),
        ("hadoop.security.credential.provider.path", "jceks://x", "is not read: set fs.s3a.acc"),
        ("fsspec.s3.endpoint_url", "http://x", "set fs.s3a.endpoint"),
        ("fs.s3a.multipart.size", "1M", "fs.s3a.multipart.size"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str, said: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=said):
        settings_of(Configuration({name: value}), "b")


HARMLESS = {
    "fs.s3a.multipart.uploads.enabled": "true",
    "fs.s3a.directory.marker.retention": "keep",
    "fs.s3a.signing-algorithm": "AWS4SignerType",
    "fs.s3a.accesspoint.required": "false",
    "fs.s3a.encryption.algorithm": "",
}


def test_what_a_site_file_says_as_howdah_does_it_is_no_fault() -> None:
    settings_of(Configuration(HARMLESS), "b")


@pytest.mark.parametrize(
    "more",
    [
        {"fs.s3a.access.key": "A", "fs.s3a.secret.key": SECRET},
        {"fs.s3a.aws.credentials.provider": "org.x.InstanceProfileCredentialsProvider"},
        {"fs.s3a.aws.credentials.provider": "org.x.AnonymousAWSCredentialsProvider"},
    ],
    ids=["keys", "role", "anonymous"],
)
def test_a_file_of_credentials_that_nobody_needs_is_left_alone(more: dict[str, str]) -> None:
    """The key is Hadoop's at large: secrets of other services may be in that file."""
    conf = Configuration({"hadoop.security.credential.provider.path": "jceks://x"} | more)
    settings_of(conf, "b")


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({}, {}),
        (
            {"fs.s3a.encryption.algorithm": "AES256"},
            {"ServerSideEncryption": "AES256"},
        ),
        (
            {
                "fs.s3a.server-side-encryption-algorithm": "SSE-KMS",
                "fs.s3a.bucket.b.server-side-encryption.key": "arn:aws:kms:x",
                "fs.s3a.encryption.context": "a=b, c = d",
            },
            {
                "ServerSideEncryption": "aws:kms",
                "SSEKMSKeyId": "arn:aws:kms:x",
                "SSEKMSEncryptionContext": base64.b64encode(b'{"a": "b", "c": "d"}').decode(),
            },
        ),
        (
            {
                "fs.s3a.acl.default": "BucketOwnerFullControl",
                "fs.s3a.create.storage.class": "intelligent_tiering",
                "fs.s3a.requester.pays.enabled": "true",
            },
            {
                "ACL": "bucket-owner-full-control",
                "StorageClass": "INTELLIGENT_TIERING",
                "RequestPayer": "requester",
            },
        ),
    ],
    ids=["nothing", "the store's key", "a key of KMS", "the rest"],
)
def test_what_requests_carry_besides(conf: dict[str, str], expected: dict[str, str]) -> None:
    found = settings_of(Configuration(conf), "b").additions
    everything = ["ServerSideEncryption", "SSEKMSKeyId", "SSEKMSEncryptionContext", "ACL"]
    everything += ["StorageClass", "RequestPayer", "SSECustomerKey"]
    assert found.of(everything, "file") == expected
    assert found.of(["Range"], "file") == {}
    # A marker of a directory is read all the time.
    assert "StorageClass" not in found.of(everything, "directory/")


def test_encryption_that_cannot_be_is_named() -> None:
    for algorithm, key, said in (
        ("AES256", "x", "AES256 takes no fs.s3a.encryption.key"),
        ("SSE-C", base64.b64encode(b"short").decode(), "is not Base64 of 32 bytes"),
        ("SSE-C", SECRET, "is not Base64 of 32 bytes"),
    ):
        conf = {"fs.s3a.encryption.algorithm": algorithm, "fs.s3a.encryption.key": key}
        with pytest.raises(errors.InvalidConfiguration, match=said) as told:
            settings_of(Configuration(conf), "b")
        assert key == "x" or key not in str(told.value)
    conf = {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.context": "a"}
    with pytest.raises(errors.InvalidConfiguration, match="is not NAME=VALUE, NAME=VALUE: 'a'"):
        settings_of(Configuration(conf), "b")


@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "ca-central-1"])
@pytest.mark.parametrize("fips", ["true", "false"])
def test_amazons_endpoints_are_known_by_their_region(region: str, fips: str) -> None:
    from howdah.fs.objects.s3 import S3Store

    conf = {"fs.s3a.endpoint.region": region, "fs.s3a.endpoint.fips": fips}
    store = S3Store(settings_of(Configuration(conf | KEYS), "bucket"))
    service = "s3-fips" if fips == "true" else "s3"

    class Sent(Exception):
        """No further."""

    def send(request: Any, **_: object) -> None:
        raise Sent(request.url)

    store._connection.made().meta.events.register("before-send.s3", send)
    # That of us-east-1 is Amazon's oldest, and has no region.
    place = "" if (region, fips) == ("us-east-1", "false") else f".{region}"
    with pytest.raises(Sent, match=f"^https://bucket.{service}{place}.amazonaws.com/k$"):
        store.delete("k")
    store.close()


def test_amazons_endpoints_are_none_of_others() -> None:
    conf = {"fs.s3a.endpoint.fips": "true", "fs.s3a.endpoint": "http://minio:9000"}
    with pytest.raises(errors.InvalidConfiguration, match="http://minio:9000 is none of them"):
        settings_of(Configuration(conf), "b")


def test_providers_are_known_by_their_classes() -> None:
    usual = settings_of(Configuration(), "b").providers
    assert credentials.methods_of(usual) == (
        "temporary",
        "simple",
        "env",
        "container-role",
        "iam-role",
    )
    with pytest.raises(errors.InvalidConfiguration, match=r"names org\.x\.Mine"):
        credentials.methods_of(("org.x.Mine",))


def test_parts_grow_so_that_they_hold_the_largest_object() -> None:
    assert sum(part_bytes(n, 64 << 20) for n in range(1, MAX_PARTS + 1)) > MAX_OBJECT_BYTES
    found = pieces(MAX_OBJECT_BYTES, 64 << 20)
    assert len(found) <= MAX_PARTS
    assert found[-1].end == MAX_OBJECT_BYTES
    assert all(a.end == b.start for a, b in itertools.pairwise(found))


@pytest.mark.req("FS-189")
def test_a_reader_is_straight_until_it_moves_and_again_when_it_reads_on() -> None:
    plan = ReadPlan(1 << 30, 1000)
    assert plan.end_of(0, 10) == 1 << 30
    assert plan.skip(1000)
    assert not plan.skip(1001)
    assert plan.end_of(5000, 10) == 6000
    at, answers = 6000, 0
    while not plan.is_straight:
        at = plan.end_of(at, 10)
        answers += 1
    assert at == 1 << 30
    assert 2**answers * 1000 >= STRAIGHT_AGAIN_BYTES


@pytest.mark.req("FS-189")
@pytest.mark.parametrize(
    ("said", "manner"),
    [
        ("", Manner.LEARNT),
        ("normal", Manner.LEARNT),
        ("whole-file", Manner.STRAIGHT),
        ("unheard-of, parquet, sequential", Manner.RANDOM),
    ],
)
def test_a_manner_of_reading_that_is_said_is_kept(said: str, manner: Manner) -> None:
    for name in ("fs.s3a.input.fadvise", "fs.s3a.experimental.input.fadvise"):
        assert settings_of(Configuration({name: said}), "b").manner is manner
    plan = ReadPlan(1 << 30, 1000, manner)
    at = 0
    for _ in range(30):
        end = plan.end_of(at, 10)
        if manner is not Manner.LEARNT:
            assert end == (1 << 30 if manner is Manner.STRAIGHT else at + 1000)
        at = min(end, 1 << 20)
        assert not plan.skip(5000)
    assert plan.moves == 30


def test_requests_are_made_again_by_the_rules() -> None:
    pauses: list[float] = []
    again = Retrying(RetryRules(2, 1.0, 4, 0.1), sleep=pauses.append, draw=lambda: 1.0)

    def failing(error: Exception) -> None:
        raise error

    for error, expected in (
        (Failed("x"), [1.0, 2.0]),
        (Throttled("x"), [0.1, 0.2, 0.4, 0.8]),
        (errors.UnknownHost("x"), []),
        (errors.AccessDenied("x"), []),
    ):
        pauses.clear()
        with pytest.raises(type(error)):
            again("a request", partial(failing, error))
        assert pauses == expected


def test_who_has_patience_for_thousands_of_requests_waits_as_long_each_time() -> None:
    rules = RetryRules(10_000, 0.5, 10_000, 0.1)
    for error in (Failed("x"), Throttled("x")):
        assert rules.pause_s(error, 5_000) == MAX_PAUSE_S
        assert rules.pause_s(error, 10_001) is None
