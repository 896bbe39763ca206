"""Rules of CORS that a bucket has of its own, as browsers meet them."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from tests.support.s3_gateway import Door, before

ROOT = "/s3-cors"
APP = "https://app.example.com"
"""Whose pages the gateway lets ask."""
RULES = {
    "CORSRules": [
        {
            "ID": "page",
            "AllowedOrigins": ["https://*.page.example"],
            "AllowedMethods": ["GET", "PUT"],
            "AllowedHeaders": ["x-amz-*", "content-type"],
            "ExposeHeaders": ["ETag"],
            "MaxAgeSeconds": 60,
        },
        {"AllowedOrigins": ["*"], "AllowedMethods": ["HEAD"]},
    ]
}
PAGE = "https://a.page.example"


@pytest.fixture(scope="module")
def fs(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with howdah_cluster.connect() as found:
        assert isinstance(found, HdfsFileSystem)
        found.mkdirs(ROOT)
        found.set_permission(ROOT, 0o1777)
        yield found
        found.delete(ROOT, recursive=True)


@pytest.fixture(scope="module")
def door(howdah_cluster: MiniCluster, fs: HdfsFileSystem) -> Iterator[Door]:
    options = ("-D", f"howdah.s3.root={ROOT}", "-D", f"howdah.s3.cors.origins={APP}")
    with before(howdah_cluster, "ann", *options, name="cors") as found:
        found.client().create_bucket(Bucket="data")
        yield found


@pytest.fixture
def ruled(door: Door) -> Iterator[Any]:
    """A client of a bucket with rules of its own."""
    s3 = door.client()
    s3.put_bucket_cors(Bucket="data", CORSConfiguration=RULES)
    yield s3
    s3.delete_bucket_cors(Bucket="data")


def asked_first(door: Door, origin: str, method: str, names: str = "") -> Any:
    """The status and the headers that a browser gets which asks first."""
    headers = {"Origin": origin, "Access-Control-Request-Method": method}
    if names:
        headers["Access-Control-Request-Headers"] = names
    return asked(door, "OPTIONS", headers)


def asked(door: Door, method: str, headers: dict[str, str]) -> Any:
    connection = http.client.HTTPConnection(door.address, timeout=60)
    try:
        connection.request(method, "/data/a/k", headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers
    finally:
        connection.close()


def test_rules_of_a_bucket_are_kept_and_count_instead_of_the_gateways(
    door: Door, ruled: Any
) -> None:
    assert ruled.get_bucket_cors(Bucket="data")["CORSRules"] == RULES["CORSRules"]
    status, told = asked_first(door, PAGE, "PUT", "x-amz-date, Content-Type")
    assert (status, told["Access-Control-Allow-Origin"]) == (200, PAGE)
    assert told["Access-Control-Allow-Methods"] == "GET, PUT"
    assert told["Access-Control-Allow-Headers"] == "x-amz-date, Content-Type"
    assert (told["Access-Control-Expose-Headers"], told["Access-Control-Max-Age"]) == ("ETag", "60")
    status, told = asked_first(door, "https://any.example", "HEAD")
    assert (status, told["Access-Control-Allow-Origin"]) == (200, "*")
    assert told["Access-Control-Max-Age"] is None
    for origin, method, names in (
        (APP, "GET", ""),
        (PAGE, "DELETE", ""),
        (PAGE, "GET", "authorization"),
        ("https://any.example", "HEAD", "x-a"),
    ):
        assert asked_first(door, origin, method, names)[0] == 403
    _, told = asked(door, "GET", {"Origin": PAGE})
    assert (told["Access-Control-Allow-Origin"], told["Vary"]) == (PAGE, "Origin")
    _, told = asked(door, "GET", {"Origin": APP})
    assert told["Access-Control-Allow-Origin"] is None


def test_without_rules_of_its_own_those_of_the_gateway_count(door: Door, ruled: Any) -> None:
    ruled.delete_bucket_cors(Bucket="data")
    with pytest.raises(ClientError, match="NoSuchCORSConfiguration"):
        ruled.get_bucket_cors(Bucket="data")
    assert asked_first(door, APP, "GET")[0] == 200
    assert asked_first(door, PAGE, "GET")[0] == 403


def test_only_the_owner_of_a_bucket_has_to_do_with_its_rules(
    fs: HdfsFileSystem, ruled: Any
) -> None:
    fs.mkdirs(f"{ROOT}/hers")
    fs.set_permission(f"{ROOT}/hers", 0o777)
    fs.set_owner(f"{ROOT}/hers", "eve")
    acts: tuple[Callable[[], object], ...] = (
        lambda: ruled.put_bucket_cors(Bucket="hers", CORSConfiguration=RULES),
        lambda: ruled.delete_bucket_cors(Bucket="hers"),
        lambda: ruled.get_bucket_cors(Bucket="hers"),
    )
    for act in acts:
        with pytest.raises(ClientError, match=r"AccessDenied.*is eve's"):
            act()
    with pytest.raises(ClientError, match="NoSuchBucket"):
        ruled.put_bucket_cors(Bucket="nowhere", CORSConfiguration=RULES)
