"""`howdah s3` keeps versions of objects in HDFS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from tests.support.s3_gateway import Door, add_key, before

ROOT = "/s3-versions"
OPTIONS = ("-D", f"howdah.s3.root={ROOT}")
PART_BYTES = 5 << 20


@pytest.fixture(scope="module")
def fs(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with howdah_cluster.connect() as found:
        assert isinstance(found, HdfsFileSystem)
        found.mkdirs(ROOT)
        found.set_permission(ROOT, 0o1777)
        yield found


@pytest.fixture(scope="module")
def door(howdah_cluster: MiniCluster, fs: HdfsFileSystem) -> Iterator[Door]:
    add_key(howdah_cluster.dir / "access-keys", "bob")
    with before(howdah_cluster, "ann", *OPTIONS, name="versions") as found:
        yield found


@pytest.fixture(scope="module")
def s3(door: Door) -> Any:
    return door.client()


@pytest.fixture(scope="module")
def second(howdah_cluster: MiniCluster, s3: Any) -> Iterator[Any]:
    """A client of another gateway before the same cluster."""
    with before(howdah_cluster, "ann", *OPTIONS, name="versions2") as found:
        yield found.client()


@pytest.fixture
def bucket(s3: Any, request: pytest.FixtureRequest) -> str:
    name = f"b{abs(hash(request.node.name)) % 10**12}"
    s3.create_bucket(Bucket=name)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        act()
    return str(refused.value.response["Error"]["Code"])


def versions_in(s3: Any, bucket: str, **options: Any) -> list[tuple[str, str, bool]]:
    """Key, id, and whether it is current, of all versions."""
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, **options)
    return [
        (each["Key"], each["VersionId"], each["IsLatest"])
        for page in pages
        for each in page.get("Versions", [])
    ]


def test_versions_are_read_copied_tagged_and_listed_by_their_ids(
    s3: Any, bucket: str, fs: HdfsFileSystem
) -> None:
    put = partial(s3.put_object, Bucket=bucket, Key="dir/k")
    first, second = put(Body=b"one", Metadata={"a": "1"}), put(Body=b"two")
    assert fs.read_bytes(f"{ROOT}/{bucket}/dir/k") == b"two"
    old = {"Bucket": bucket, "Key": "dir/k", "VersionId": first["VersionId"]}
    found = s3.get_object(**old)
    assert (found["Body"].read(), found["VersionId"]) == (b"one", first["VersionId"])
    assert (found["ETag"], found["Metadata"]) == (first["ETag"], {"a": "1"})
    head = s3.head_object(Bucket=bucket, Key="dir/k")
    assert (head["VersionId"], head["ETag"]) == (second["VersionId"], second["ETag"])
    s3.put_object_tagging(**old, Tagging={"TagSet": [{"Key": "x", "Value": "1"}]})
    assert s3.head_object(**old)["ResponseMetadata"]["HTTPHeaders"]["x-amz-tagging-count"] == "1"
    assert s3.get_object_tagging(Bucket=bucket, Key="dir/k")["TagSet"] == []
    copied = s3.copy_object(Bucket=bucket, Key="copy", CopySource=old)
    assert copied["CopySourceVersionId"] == first["VersionId"]
    assert s3.get_object(Bucket=bucket, Key="copy")["Body"].read() == b"one"
    expected = [
        ("copy", copied["VersionId"], True),
        ("dir/k", second["VersionId"], True),
        ("dir/k", first["VersionId"], False),
    ]
    assert versions_in(s3, bucket) == expected
    assert versions_in(s3, bucket, PaginationConfig={"PageSize": 1}) == expected
    assert [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [
        "copy",
        "dir/k",
    ]


def test_what_is_deleted_comes_back_with_its_marker_gone(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="dir/k", Body=b"one")
    marker = s3.delete_object(Bucket=bucket, Key="dir/k")
    assert marker["DeleteMarker"]
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=bucket, Key="dir/k")
    headers = refused.value.response["ResponseMetadata"]["HTTPHeaders"]
    assert headers["x-amz-delete-marker"] == "true"
    page = s3.list_object_versions(Bucket=bucket)
    assert [each["VersionId"] for each in page["DeleteMarkers"]] == [marker["VersionId"]]
    assert code_of(lambda: s3.delete_bucket(Bucket=bucket)) == "BucketNotEmpty"
    s3.delete_object(Bucket=bucket, Key="dir/k", VersionId=marker["VersionId"])
    assert s3.get_object(Bucket=bucket, Key="dir/k")["Body"].read() == b"one"
    wanted = [{"Key": key, "VersionId": version} for key, version, _ in versions_in(s3, bucket)]
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": wanted})
    assert [each["VersionId"] for each in told["Deleted"]] == [wanted[0]["VersionId"]]
    s3.delete_bucket(Bucket=bucket)


def test_uploads_in_parts_have_versions(s3: Any, bucket: str) -> None:
    made = []
    for body in (b"a" * PART_BYTES, b"b"):
        place = {"Bucket": bucket, "Key": "k"}
        place["UploadId"] = s3.create_multipart_upload(**place)["UploadId"]
        part = s3.upload_part(**place, PartNumber=1, Body=body)
        parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
        made.append(s3.complete_multipart_upload(**place, MultipartUpload=parts)["VersionId"])
    assert versions_in(s3, bucket) == [("k", made[1], True), ("k", made[0], False)]
    head = s3.head_object(Bucket=bucket, Key="k", VersionId=made[0])
    assert head["ContentLength"] == PART_BYTES


def test_while_versions_are_suspended_one_is_null(s3: Any, bucket: str) -> None:
    put = partial(s3.put_object, Bucket=bucket, Key="k")
    first = put(Body=b"one")["VersionId"]
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    assert "VersionId" not in put(Body=b"two")
    assert "VersionId" not in put(Body=b"three")
    assert versions_in(s3, bucket) == [("k", "null", True), ("k", first, False)]
    marker = s3.delete_object(Bucket=bucket, Key="k")
    assert (marker["DeleteMarker"], marker["VersionId"]) == (True, "null")
    assert versions_in(s3, bucket) == [("k", first, False)]


def test_versions_have_the_rights_of_their_directory(
    door: Door, s3: Any, bucket: str, fs: HdfsFileSystem
) -> None:
    s3.put_object(Bucket=bucket, Key="private/k", Body=b"hers")
    fs.set_permission(f"{ROOT}/{bucket}/private", 0o700)
    version = s3.put_object(Bucket=bucket, Key="private/k", Body=b"newer")
    (old,) = [found for _, found, is_latest in versions_in(s3, bucket) if not is_latest]
    bob = Door(door.address, "AKBOB", "secret+/of-bob").client()
    place = {"Bucket": bucket, "Key": "private/k"}
    for act in (
        partial(bob.get_object, **place, VersionId=old),
        partial(bob.delete_object, **place, VersionId=old),
        partial(bob.delete_object, **place, VersionId=version["VersionId"]),
        partial(bob.put_bucket_versioning, Bucket=bucket, VersioningConfiguration={"Status": "x"}),
        partial(
            bob.put_bucket_versioning,
            Bucket=bucket,
            VersioningConfiguration={"Status": "Suspended"},
        ),
    ):
        assert code_of(act) in ("AccessDenied", "MalformedXML")
    assert len(versions_in(s3, bucket)) == 2


def test_locked_versions_are_not_deleted(door: Door, s3: Any, fs: HdfsFileSystem) -> None:
    s3.create_bucket(Bucket="locking", ObjectLockEnabledForBucket=True)
    fs.set_permission(f"{ROOT}/locking", 0o777)
    until = datetime(2999, 1, 1, tzinfo=UTC)
    place = {"Bucket": "locking", "Key": "k"}
    put = s3.put_object(
        **place, Body=b"x", ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=until
    )
    version = {**place, "VersionId": put["VersionId"]}
    head = s3.head_object(**version)
    assert (head["ObjectLockMode"], head["ObjectLockRetainUntilDate"]) == ("GOVERNANCE", until)
    assert s3.get_object_retention(**version)["Retention"]["Mode"] == "GOVERNANCE"
    assert code_of(partial(s3.delete_object, **version)) == "AccessDenied"
    bob = Door(door.address, "AKBOB", "secret+/of-bob").client()
    bypass = {**version, "BypassGovernanceRetention": True}
    assert code_of(partial(bob.delete_object, **bypass)) == "AccessDenied"
    s3.put_object_legal_hold(**version, LegalHold={"Status": "ON"})
    assert code_of(partial(s3.delete_object, **bypass)) == "AccessDenied"
    s3.put_object_legal_hold(**version, LegalHold={"Status": "OFF"})
    s3.delete_object(**bypass)
    plain = s3.put_object(**place, Body=b"y")
    assert code_of(partial(s3.get_object_retention, **place)) == "NoSuchObjectLockConfiguration"
    rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Years": 1}}
    wanted = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    s3.put_object_lock_configuration(Bucket="locking", ObjectLockConfiguration=wanted)
    found = s3.get_object_lock_configuration(Bucket="locking")
    assert found["ObjectLockConfiguration"] == wanted
    s3.put_object(**place, Body=b"z")
    assert s3.get_object_retention(**place)["Retention"]["Mode"] == "COMPLIANCE"
    s3.delete_object(**place, VersionId=plain["VersionId"])
    s3.create_bucket(Bucket="without")
    code = code_of(partial(s3.get_object_lock_configuration, Bucket="without"))
    assert code == "ObjectLockConfigurationNotFoundError"
    lock = {"ObjectLockLegalHoldStatus": "ON"}
    put_there = partial(s3.put_object, Bucket="without", Key="k", Body=b"x", **lock)
    assert code_of(put_there) == "InvalidRequest"


def test_nothing_is_lost_between_two_gateways(s3: Any, second: Any, bucket: str) -> None:
    puts = 20
    s3.put_object(Bucket=bucket, Key="k", Body=b"first")
    begin = threading.Barrier(3)
    missing: list[str] = []

    def put(client: Any, name: str) -> list[tuple[str, bytes]]:
        begin.wait(60)
        made = []
        for number in range(puts):
            body = f"{name} {number}".encode()
            made.append((client.put_object(Bucket=bucket, Key="k", Body=body)["VersionId"], body))
        return made

    def read() -> list[tuple[str, bytes]]:
        begin.wait(60)
        for _ in range(puts):
            try:
                second.get_object(Bucket=bucket, Key="k")["Body"].read()
            except ClientError as error:
                missing.append(str(error))
        return []

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(put, s3, "first"), pool.submit(put, second, "second")]
        jobs.append(pool.submit(read))
        made = [each for job in jobs for each in job.result()]
    assert missing == []
    for version, body in made:
        found = s3.get_object(Bucket=bucket, Key="k", VersionId=version)
        assert found["Body"].read() == body
    assert len(versions_in(s3, bucket)) == 2 * puts + 1


def test_one_of_two_gateways_replaces_the_version_that_both_have_seen(
    s3: Any, second: Any, bucket: str
) -> None:
    begin = threading.Barrier(2)
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"first")["ETag"]

    def put(client: Any, body: bytes) -> str | None:
        begin.wait(60)
        try:
            return str(client.put_object(Bucket=bucket, Key="k", Body=body, IfMatch=etag)["ETag"])
        except ClientError as error:
            if error.response["Error"]["Code"] != "PreconditionFailed":
                raise
            return None

    with ThreadPoolExecutor(2) as pool:
        for number in range(20):
            etags = list(pool.map(put, (s3, second), (b"%d a" % number, b"%d b" % number)))
            (etag,) = [each for each in etags if each is not None]
            assert second.head_object(Bucket=bucket, Key="k")["ETag"] == etag
    assert len(versions_in(s3, bucket)) == 21
