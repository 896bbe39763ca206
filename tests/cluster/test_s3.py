"""`howdah s3` before a cluster: what HDFS has that a filesystem in memory has not."""

from __future__ import annotations

import base64
import io
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from tests.support.s3_gateway import Door, add_key, before

ROOT = "/s3-gateway"
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
    with before(howdah_cluster, "ann", "-D", f"howdah.s3.root={ROOT}") as found:
        yield found


@pytest.fixture(scope="module")
def s3(door: Door) -> Any:
    client = door.client()
    client.create_bucket(Bucket="data")
    return client


@pytest.fixture(scope="module")
def second(howdah_cluster: MiniCluster, s3: Any) -> Iterator[Any]:
    """A client of another gateway before the same cluster."""
    options = ("-D", f"howdah.s3.root={ROOT}")
    with before(howdah_cluster, "ann", *options, name="second") as found:
        yield found.client()


def keys_of(s3: Any, **options: Any) -> list[str]:
    page = s3.list_objects_v2(Bucket="data", **options)
    return [each["Key"] for each in page.get("Contents", [])]


def test_objects_are_files_of_their_users(s3: Any, fs: HdfsFileSystem) -> None:
    s3.put_object(Bucket="data", Key="own/k", Body=b"hers")
    status = fs.get_file_status(f"{ROOT}/data/own/k")
    assert (status.owner, status.permission, status.length) == ("ann", 0o644, 4)
    assert fs.get_file_status(f"{ROOT}/data/own").permission == 0o755
    staging = fs.get_file_status(f"{ROOT}/data/.howdah-s3")
    assert staging.permission == 0o1777
    assert fs.get_file_status(f"{ROOT}/data/.howdah-s3/ann").permission == 0o700


def test_permissions_are_those_of_hdfs(door: Door, s3: Any, fs: HdfsFileSystem) -> None:
    s3.put_object(Bucket="data", Key="private/k", Body=b"hers")
    fs.set_permission(f"{ROOT}/data/private", 0o700)
    bob = Door(door.address, "AKBOB", "secret+/of-bob").client()
    acts: tuple[Callable[[], object], ...] = (
        lambda: bob.get_object(Bucket="data", Key="private/k"),
        lambda: bob.put_object(Bucket="data", Key="new", Body=b"his"),
        lambda: bob.delete_object(Bucket="data", Key="private/k"),
    )
    for act in acts:
        with pytest.raises(ClientError, match="AccessDenied"):
            act()
    assert fs.read_bytes(f"{ROOT}/data/private/k") == b"hers"
    s3.delete_object(Bucket="data", Key="private/k")


def test_a_bucket_goes_with_what_others_have_staged(
    door: Door, s3: Any, fs: HdfsFileSystem
) -> None:
    s3.create_bucket(Bucket="shared")
    fs.set_permission(f"{ROOT}/shared", 0o777)
    bob = Door(door.address, "AKBOB", "secret+/of-bob").client()
    s3.create_multipart_upload(Bucket="shared", Key="k")
    bob.create_multipart_upload(Bucket="shared", Key="k")
    with pytest.raises(ClientError, match="AccessDenied"):
        bob.delete_bucket(Bucket="shared")
    assert {each.name for each in fs.list_status(f"{ROOT}/shared/.howdah-s3")} == {"ann", "bob"}
    s3.delete_bucket(Bucket="shared")
    assert not fs.exists(f"{ROOT}/shared")


@pytest.mark.parametrize(("owner", "mode"), [("bob", 0o777), ("ann", 0o755)])
def test_nothing_is_staged_where_others_could_exchange_it(
    s3: Any, fs: HdfsFileSystem, owner: str, mode: int
) -> None:
    staging = f"{ROOT}/trap{mode}/.howdah-s3"
    fs.mkdirs(f"{staging}/ann/objects")
    for path, permission in ((staging, 0o1777), (f"{staging}/ann", mode)):
        fs.set_permission(path, permission)
    fs.set_owner(f"{staging}/ann", owner)
    with pytest.raises(ClientError, match="has to belong to ann"):
        s3.put_object(Bucket=f"trap{mode}", Key="k", Body=b"x")


def test_a_user_who_may_not_write_to_the_bucket_itself_writes_below(
    s3: Any, fs: HdfsFileSystem
) -> None:
    fs.mkdirs(f"{ROOT}/below/hers")
    fs.set_owner(f"{ROOT}/below/hers", "ann")
    s3.put_object(Bucket="below", Key="hers/k", Body=b"x")
    assert fs.read_bytes(f"{ROOT}/below/hers/k") == b"x"
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.put_object(Bucket="below", Key="k", Body=b"x")


def test_metadata_is_kept_with_the_file_and_copied(s3: Any) -> None:
    kept = {"Metadata": {"who": "ann"}, "ContentType": "text/x", "CacheControl": "max-age=3"}
    s3.put_object(Bucket="data", Key="meta", Body=b"x", **kept)
    s3.copy_object(Bucket="data", Key="meta2", CopySource="data/meta")
    s3.copy_object(
        Bucket="data",
        Key="meta",
        CopySource="data/meta",
        MetadataDirective="REPLACE",
        Metadata={"who": "bob"},
    )
    head = s3.head_object(Bucket="data", Key="meta2", ChecksumMode="ENABLED")
    assert {name: head[name] for name in kept} == kept
    assert head["ChecksumCRC32"] == base64.b64encode(zlib.crc32(b"x").to_bytes(4, "big")).decode()
    assert s3.head_object(Bucket="data", Key="meta")["Metadata"] == {"who": "bob"}
    s3.put_object(Bucket="data", Key="meta", Body=b"x")
    assert s3.head_object(Bucket="data", Key="meta")["Metadata"] == {}


def test_directories_that_no_client_asked_for_go_with_their_last_object(
    s3: Any, fs: HdfsFileSystem
) -> None:
    fs.mkdirs(f"{ROOT}/data/prune/theirs")
    fs.set_owner(f"{ROOT}/data/prune/theirs", "ann")
    fs.set_permission(f"{ROOT}/data/prune", 0o777)
    s3.put_object(Bucket="data", Key="prune/theirs/a/b/k", Body=b"")
    s3.put_object(Bucket="data", Key="prune/made/", Body=b"")
    s3.put_object(Bucket="data", Key="prune/made/c/k", Body=b"")
    s3.delete_object(Bucket="data", Key="prune/theirs/a/b/k")
    s3.delete_objects(Bucket="data", Delete={"Objects": [{"Key": "prune/made/c/k"}]})
    assert keys_of(s3, Prefix="prune/") == ["prune/made/", "prune/theirs/"]
    s3.put_object(Bucket="data", Key="prune/made/k", Body=b"")
    s3.delete_object(Bucket="data", Key="prune/made/")
    s3.delete_object(Bucket="data", Key="prune/made/k")
    assert keys_of(s3, Prefix="prune/") == ["prune/theirs/"]


def test_who_deletes_all_keys_leaves_no_directories(s3: Any, fs: HdfsFileSystem) -> None:
    # As S3A makes directories, and deletes a tree of them.
    for key in ("tree/", "tree/0/", "tree/0/a/", "tree/0/b/"):
        s3.put_object(Bucket="data", Key=key)
    s3.put_object(Bucket="data", Key="tree/0/a/k", Body=b"x")
    s3.put_object(Bucket="data", Key="tree/0/c/k", Body=b"x")
    found = keys_of(s3, Prefix="tree/")
    names = ["", "0/", "0/a/", "0/a/k", "0/b/", "0/c/k"]
    assert found == [f"tree/{name}" for name in names]
    assert keys_of(s3, Prefix="tree/0/", Delimiter="/") == ["tree/0/"]
    s3.delete_object(Bucket="data", Key="tree/0/a/k")
    assert s3.head_object(Bucket="data", Key="tree/0/a/")["ContentLength"] == 0
    s3.delete_objects(Bucket="data", Delete={"Objects": [{"Key": key} for key in found]})
    assert not fs.exists(f"{ROOT}/data/tree")


def test_a_directory_that_several_make_at_once_is_made(s3: Any) -> None:
    def make(number: int) -> None:
        for name in range(10):
            s3.put_object(Bucket="data", Key=f"at-once/d{name}/")
            s3.put_object(Bucket="data", Key=f"at-once/e{name}/{number}", Body=b"x")
            s3.put_object(Bucket="data", Key=f"at-once/e{name}/")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(4)))
    assert len(keys_of(s3, Prefix="at-once/")) == 10 + 10 * 5


def test_objects_come_and_go_in_one_directory_while_others_do(s3: Any) -> None:
    failures: list[ClientError] = []

    def work(number: int) -> None:
        try:
            for _ in range(15):
                s3.put_object(Bucket="data", Key=f"busy/dir/{number}", Body=b"x")
                s3.delete_object(Bucket="data", Key=f"busy/dir/{number}")
        except ClientError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert keys_of(s3, Prefix="busy/") == []


@pytest.mark.parametrize(
    "races", [50, pytest.param(1000, marks=[pytest.mark.torture, pytest.mark.timeout(900)])]
)
def test_one_of_two_gateways_replaces_what_both_have_seen(s3: Any, second: Any, races: int) -> None:
    etag = s3.put_object(Bucket="data", Key="raced", Body=b"first")["ETag"]
    begin = threading.Barrier(2)

    def put(client: Any, body: bytes) -> str | None:
        begin.wait(60)
        try:
            put = client.put_object(Bucket="data", Key="raced", Body=body, IfMatch=etag)
        except ClientError as error:
            if error.response["Error"]["Code"] != "PreconditionFailed":
                raise
            return None
        return str(put["ETag"])

    with ThreadPoolExecutor(2) as pool:
        for number in range(races):
            bodies = [b"%d by %d" % (number, gateway) for gateway in range(2)]
            etags = list(pool.map(put, (s3, second), bodies))
            (winner,) = [gateway for gateway, made in enumerate(etags) if made is not None]
            found = second.get_object(Bucket="data", Key="raced")
            assert (found["ETag"], found["Body"].read()) == (etags[winner], bodies[winner])
            etag = found["ETag"]


def test_of_one_who_replaces_and_one_who_deletes_one_does(s3: Any, second: Any) -> None:
    begin = threading.Barrier(2)

    def succeeds(act: Callable[[], object]) -> bool:
        begin.wait(60)
        try:
            act()
        except ClientError as error:
            # Who comes after a deletion finds nothing.
            if error.response["Error"]["Code"] not in ("PreconditionFailed", "NoSuchKey"):
                raise
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        for _ in range(30):
            etag = s3.put_object(Bucket="data", Key="gone", Body=b"first")["ETag"]
            known = {"Bucket": "data", "Key": "gone", "IfMatch": etag}
            acts = [partial(s3.put_object, Body=b"new", **known)]
            acts.append(partial(second.delete_object, **known))
            replaced, deleted = pool.map(succeeds, acts)
            # A deletion of what is not there succeeds; but then the other one did not.
            assert replaced is not deleted
            assert keys_of(s3, Prefix="gone") == (["gone"] if replaced else [])


def test_a_file_that_is_being_written_is_not_listed(s3: Any, fs: HdfsFileSystem) -> None:
    fs.mkdirs(f"{ROOT}/data/writing")
    with fs.create(f"{ROOT}/data/writing/k") as out:
        out.write(b"x" * 1000)
        out.hflush()
        assert keys_of(s3, Prefix="writing/k") == []
    assert keys_of(s3, Prefix="writing/") == ["writing/k"]


def test_parts_become_one_file_without_a_copy(s3: Any, fs: HdfsFileSystem) -> None:
    upload = {"Bucket": "data", "Key": "joined/k"}
    upload["UploadId"] = s3.create_multipart_upload(**upload, Metadata={"a": "b"})["UploadId"]
    bodies = [os.urandom(PART_BYTES + number) for number in range(3)] + [b""]
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"],
        }
        for number, body in enumerate(bodies, 1)
    ]
    told = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert fs.read_bytes(f"{ROOT}/data/joined/k") == b"".join(bodies)
    assert len(fs.block_locations(f"{ROOT}/data/joined/k")) == 3
    head = s3.head_object(Bucket="data", Key="joined/k")
    assert (head["ETag"], head["Metadata"]) == (told["ETag"], {"a": "b"})
    again = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert again["ETag"] == told["ETag"], "a completion that is sent again is told the same"
    s3.put_object(Bucket="data", Key="joined/k", Body=b"")
    with pytest.raises(ClientError, match="NoSuchUpload"):
        s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})


def test_a_large_object_is_replaced_while_it_is_read(s3: Any) -> None:
    data = os.urandom(12 << 20)
    s3.upload_fileobj(io.BytesIO(data), "data", "replaced")
    body = s3.get_object(Bucket="data", Key="replaced")["Body"]
    first = body.read(1000)
    s3.put_object(Bucket="data", Key="replaced", Body=b"new")
    assert first + body.read() == data
    assert s3.get_object(Bucket="data", Key="replaced")["Body"].read() == b"new"


def tags_of(s3: Any, key: str) -> dict[str, str]:
    found = s3.get_object_tagging(Bucket="data", Key=key)["TagSet"]
    return {each["Key"]: each["Value"] for each in found}


def test_tags_are_kept_changed_and_copied(door: Door, s3: Any) -> None:
    s3.put_object(Bucket="data", Key="tags/k", Body=b"x", Tagging="a=1&b%20c=%2F")
    assert tags_of(s3, "tags/k") == {"a": "1", "b c": "/"}
    assert (
        s3.head_object(Bucket="data", Key="tags/k")["ResponseMetadata"]["HTTPHeaders"][
            "x-amz-tagging-count"
        ]
        == "2"
    )
    etag = s3.head_object(Bucket="data", Key="tags/k")["ETag"]
    wanted = [{"Key": "ä", "Value": ""}]
    s3.put_object_tagging(Bucket="data", Key="tags/k", Tagging={"TagSet": wanted})
    assert tags_of(s3, "tags/k") == {"ä": ""}
    assert s3.head_object(Bucket="data", Key="tags/k")["ETag"] == etag
    source = {"Bucket": "data", "Key": "tags/k"}
    s3.copy_object(Bucket="data", Key="tags/copy", CopySource=source)
    assert tags_of(s3, "tags/copy") == {"ä": ""}
    s3.copy_object(
        Bucket="data", Key="tags/copy", CopySource=source, TaggingDirective="REPLACE", Tagging="c=d"
    )
    assert tags_of(s3, "tags/copy") == {"c": "d"}
    s3.delete_object_tagging(Bucket="data", Key="tags/k")
    s3.delete_object_tagging(Bucket="data", Key="tags/k")
    assert tags_of(s3, "tags/k") == {}
    upload = {"Bucket": "data", "Key": "tags/parts"}
    upload["UploadId"] = s3.create_multipart_upload(**upload, Tagging="e=f")["UploadId"]
    etag = s3.upload_part(**upload, PartNumber=1, Body=b"x")["ETag"]
    s3.complete_multipart_upload(
        **upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]}
    )
    assert tags_of(s3, "tags/parts") == {"e": "f"}
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.get_object_tagging(Bucket="data", Key="tags/nothing")
    bob = Door(door.address, "AKBOB", "secret+/of-bob").client()
    with pytest.raises(ClientError, match="AccessDenied"):
        bob.put_object_tagging(Bucket="data", Key="tags/k", Tagging={"TagSet": wanted})


def test_attributes_of_an_object_are_told_by_their_names(s3: Any) -> None:
    put = s3.put_object(Bucket="data", Key="attributes", Body=b"x", ChecksumAlgorithm="SHA256")
    names = ["ETag", "Checksum", "ObjectSize", "StorageClass", "ObjectParts"]
    told = s3.get_object_attributes(Bucket="data", Key="attributes", ObjectAttributes=names)
    assert told["ETag"] == put["ETag"].strip('"')
    assert told["Checksum"]["ChecksumSHA256"] == put["ChecksumSHA256"]
    assert (told["ObjectSize"], told["StorageClass"]) == (1, "STANDARD")
    told = s3.get_object_attributes(
        Bucket="data", Key="attributes", ObjectAttributes=["ObjectSize"]
    )
    assert "ETag" not in told
