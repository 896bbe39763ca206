"""Pages of other servers, and buckets that are hosts."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.gateway.s3.bucket_rules import MOST_SEEN, BucketRules
from howdah.gateway.s3.protocol.cors import (
    CorsRule,
    answer_headers,
    decoded,
    encoded,
    rules_of_document,
    rules_of_setting,
)
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.requests import request_of
from howdah.gateway.s3.service import S3Gateway
from howdah.web.http import request_of as parsed_request
from tests.support.s3_gateway import Door, in_process

USER = "ann"
NAME = "s3-browsers"
APP = "https://app.example.com"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    settings = {
        "howdah.s3.anonymous.user": USER,
        "howdah.s3.cors.origins": f"{APP}, https://*.trusted.example",
        "howdah.s3.domains": "s3.example.com, example.net",
    }
    with in_process(tmp_path_factory.mktemp("s3"), f"mem://{NAME}", USER, **settings) as found:
        fs = MemoryFileSystem(NAME, Configuration(), USER)
        fs.write_bytes("/s3/my.data/a/k", b"x")
        fs.write_bytes("/s3/my.data/_howdah/metrics", b"a key")
        yield found
    forget(NAME)


def asked(
    door: Door, method: str, target: str, headers: Mapping[str, str]
) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection(door.address, timeout=60)
    try:
        connection.request(method, target, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


@pytest.mark.parametrize("origin", [APP, "https://a.b.trusted.example"])
def test_a_page_that_is_allowed_may_ask_and_see(door: Door, origin: str) -> None:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization,x-amz-date",
    }
    status, _, told = asked(door, "OPTIONS", "/my.data/a/k", headers)
    assert (status, told.get_all("Access-Control-Allow-Origin")) == (200, [origin])
    assert "PUT" in told["Access-Control-Allow-Methods"]
    assert told["Access-Control-Allow-Headers"] == "authorization,x-amz-date"
    assert "Access-Control-Allow-Credentials" not in told
    for target, expected in (("/my.data/a/k", 200), ("/my.data/nothing", 404)):
        status, _, told = asked(door, "GET", target, {"Origin": origin})
        assert (status, told.get_all("Access-Control-Allow-Origin")) == (expected, [origin])
        assert "ETag" in told["Access-Control-Expose-Headers"]
        assert told["Vary"] == "Origin"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}, 403),
        ({"Origin": "https://trusted.example", "Access-Control-Request-Method": "GET"}, 403),
        ({"Origin": APP, "Access-Control-Request-Method": "TRACE"}, 403),
        ({"Origin": APP}, 400),
        ({"Access-Control-Request-Method": "GET"}, 400),
        (
            {
                "Origin": APP,
                "Access-Control-Request-Method": "GET",
                "Access-Control-Request-Headers": "a: b",
            },
            400,
        ),
    ],
)
def test_another_page_may_not(door: Door, headers: dict[str, str], status: int) -> None:
    found, _, told = asked(door, "OPTIONS", "/my.data/a/k", headers)
    assert (found, told["Access-Control-Allow-Origin"]) == (status, None)


def test_another_page_sees_nothing(door: Door) -> None:
    _, _, told = asked(door, "GET", "/my.data/a/k", {"Origin": "https://evil.example"})
    assert told["Access-Control-Allow-Origin"] is None


def test_all_pages_may_where_all_are_configured() -> None:
    def told(origins: list[str], origin: str | None) -> str | None:
        found = answer_headers(rules_of_setting(origins), origin, "GET")
        return found.get("Access-Control-Allow-Origin")

    assert told(["*"], APP) == "*"
    assert told(["*"], None) is None
    assert told([], APP) is None
    assert told(["https://ab*ba"], "https://aba") is None


@pytest.mark.parametrize("origin", ["example.com", "https://*.*", "ftp://a", "https://a b"])
def test_what_is_no_origin_is_not_configured(origin: str) -> None:
    settings = {"howdah.s3.anonymous.user": "a", "howdah.s3.cors.origins": origin}
    with pytest.raises(errors.InvalidConfiguration, match="origins"):
        S3Gateway(Configuration({"fs.defaultFS": "mem://s3-none", **settings}))


@pytest.mark.parametrize(
    ("host", "target", "bucket", "key"),
    [
        ("my.data.s3.example.com:9878", "/a/k?x=1", "my.data", "a/k"),
        ("DATA.S3.example.com.", "/", "data", ""),
        ("data.example.net", "/a%20b", "data", "a b"),
        ("s3.example.com", "/data/k", "data", "k"),
        ("evils3.example.com", "/data/k", "data", "k"),
        ("127.0.0.1:9878", "/data/k", "data", "k"),
        ("[::1]:9878", "/data/k", "data", "k"),
        ("", "/data/k", "data", "k"),
    ],
)
def test_a_bucket_is_a_host_below_a_domain(host: str, target: str, bucket: str, key: str) -> None:
    found = parsed_request(b"GET", target.encode(), [(b"host", host.encode())])
    assert found is not None
    asked_for = request_of(found, ["s3.example.com", "example.net"])
    assert (asked_for.bucket, asked_for.key) == (bucket, key)


def test_an_object_is_found_by_its_host(door: Door) -> None:
    host = {"Host": "my.data.s3.example.com"}
    assert asked(door, "GET", "/a/k", host)[:2] == (200, b"x")
    assert asked(door, "GET", "/_howdah/metrics", host)[:2] == (200, b"a key")
    assert asked(door, "GET", "/a/k", {"Host": "rebound.example.org"})[0] == 403


def test_botocore_signs_for_hosts_below_a_domain(door: Door) -> None:
    import boto3
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    credentials = boto3.Session(door.access_key, door.secret_key).get_credentials()
    made = AWSRequest("GET", "http://my.data.example.net/a/k")
    S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(made)
    headers = {name: str(value) for name, value in made.headers.items()}
    assert asked(door, "GET", "/a/k", {"Host": "my.data.example.net", **headers})[0] == 200


def test_a_gateway_that_wants_signatures_is_asked_by_any_name(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with in_process(tmp_path_factory.mktemp("names"), "mem://s3-names", USER) as door:
        status, body, _ = asked(door, "GET", "/", {"Host": "s3.behind-a-balancer.example"})
    forget("s3-names")
    assert (status, b"not signed" in body) == (403, True)


# -- rules of buckets --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("", "MalformedXML"),
        ("<AllowedOrigin>*</AllowedOrigin>", "MalformedXML"),
        ("<AllowedOrigin>http://*.*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>", "Request"),
        ("<AllowedOrigin>*</AllowedOrigin><AllowedMethod>TRACE</AllowedMethod>", "Request"),
        (
            "<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>"
            "<ExposeHeader>a\r\nb: c</ExposeHeader>",
            "Request",
        ),
        (
            "<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>"
            "<MaxAgeSeconds>-1</MaxAgeSeconds>",
            "MalformedXML",
        ),
        (
            "<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>"
            + f"<AllowedHeader>{'a' * 90}</AllowedHeader>" * 200,
            "16384 bytes",
        ),
    ],
)
def test_what_are_no_rules_is_refused(rule: str, code: str) -> None:
    document = f"<CORSConfiguration><CORSRule>{rule}</CORSRule></CORSConfiguration>"
    with pytest.raises(Refused) as refused:
        rules_of_document(document.encode())
    assert code in refused.value.code + refused.value.message


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\xff", b"{}", b"[1]", b'[{"origins": "*"}]', b"[[[", b"null", b"1"),
        encoded([CorsRule(("*",))]).replace(b'"*"', b'"a\\nb"', 1),
    ],
)
def test_what_another_one_has_put_there_says_nothing(data: bytes) -> None:
    assert decoded(data) is None or decoded(data) == ()


def test_what_was_seen_of_a_bucket_counts_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now_s, looked = 100.0, []
    own, others = (CorsRule(("https://own.example",)),), (CorsRule(("*",)),)

    def look(bucket: str) -> tuple[CorsRule, ...] | None:
        looked.append(bucket)
        if bucket == "closed":
            raise errors.AccessDenied("it is not the gateway's")
        return own if bucket == "own" else None

    rules = BucketRules(look, others, lambda: now_s)
    for bucket, expected in (("own", own), ("plain", others), ("closed", others), ("", others)):
        assert rules.of(bucket) == rules.of(bucket) == expected
    assert looked == ["own", "plain", "closed"]
    rules.forget("own")
    now_s += 4.9
    assert (rules.of("own"), rules.of("plain")) == (own, others)
    now_s += 0.2
    rules.of("plain")
    assert looked == ["own", "plain", "closed", "own", "plain"]
    for number in range(MOST_SEEN * 2):
        rules.of(f"b{number}")
    assert len(rules._seen._seen) <= MOST_SEEN
