"""Hadoop's keys for a bucket, and what is shown of them."""

from __future__ import annotations

import itertools
import logging

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.objects import credentials
from howdah.fs.objects.parts import MAX_OBJECT_BYTES, MAX_PARTS, part_bytes, pieces
from howdah.fs.objects.read_plan import STRAIGHT_AGAIN_BYTES, ReadPlan
from howdah.fs.objects.retrying import Failed, Retrying, RetryRules, Throttled
from howdah.fs.objects.settings import settings_of

SECRET = "what-nobody-may-read"
KEYS = {
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
    assert SECRET not in repr(conf)
    assert SECRET not in repr(settings_of(conf, "b"))
    for name in KEYS:
        assert main(["getconf", *(f"-D{k}={v}" for k, v in KEYS.items()), "-confKey", name]) == 0
        assert capsys.readouterr().out == "<redacted>\n"
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("fs.s3a.endpoint", "ftp://x", "neither a host nor"),
        ("fs.s3a.encryption.algorithm", "SSE-KMS", "not supported"),
        ("fsspec.s3.endpoint_url", "http://x", "set fs.s3a.endpoint"),
        ("fs.s3a.multipart.size", "1M", "fs.s3a.multipart.size"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str, said: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=said):
        settings_of(Configuration({name: value}), "b")


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
            again("a request", lambda error=error: failing(error))  # type: ignore[misc]
        assert pauses == expected
