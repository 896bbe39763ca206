"""`howdah s3` and `howdah mount` before a router: buckets and directories of several clusters."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from tests.support.mounts import Mount, mounted, need_fuse
from tests.support.routers import Routers
from tests.support.s3_gateway import before

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(180)]

SIDES = ("east", "west")
BUCKETS = ("east", "spread")
"""Of one cluster, and of both."""
MIB = 1 << 20


@dataclass(frozen=True)
class Scene:
    fs: HdfsFileSystem
    """Through the router."""
    direct: dict[str, HdfsFileSystem]
    uri: str
    cluster: MiniCluster


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("gateways")
    with ExitStack() as stack:
        clusters = {
            side: stack.enter_context(MiniCluster(datanodes=1, conf={"dfs.replication": 1}))
            for side in SIDES
        }
        routers = stack.enter_context(Routers(directory / "routers", clusters))
        store = store_at(directory / "routers" / "store")
        store.prepare()
        direct = {}
        for side, cluster in clusters.items():
            store.add_mount(MountEntry(f"/{side}", (Destination(side, "/mounted"),)))
            fs = stack.enter_context(cluster.connect())
            assert isinstance(fs, HdfsFileSystem)
            for path in ("/mounted", "/spread"):
                fs.mkdirs(path)
                fs.set_permission(path, 0o1777)
            direct[side] = fs
        both = tuple(Destination(side, "/spread") for side in SIDES)
        store.add_mount(MountEntry("/spread", both, Order.HASH_ALL))
        uri = routers.start()
        through = stack.enter_context(routers.connect())
        assert isinstance(through, HdfsFileSystem)
        yield Scene(through, direct, uri, clusters["east"])


@pytest.fixture(scope="module")
def gateways(scene: Scene) -> Iterator[tuple[Any, Any]]:
    """Clients of two gateways."""
    options = ("-D", f"fs.defaultFS={scene.uri}", "-D", "howdah.s3.root=/")
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(before(scene.cluster, "ann", *options, name=name)).client()
            for name in ("first", "second")
        )
        yield first, second


@pytest.fixture(scope="module")
def mount(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mount]:
    need_fuse()
    with mounted(f"{scene.uri}/", tmp_path_factory.mktemp("mount") / "hdfs") as found:
        yield found


# -- objects -----------------------------------------------------------------------------


def test_mount_points_are_buckets(gateways: tuple[Any, Any]) -> None:
    assert {each["Name"] for each in gateways[0].list_buckets()["Buckets"]} == {*SIDES, "spread"}


@pytest.mark.parametrize("bucket", BUCKETS)
def test_objects_are_files_behind_mount_points(
    gateways: tuple[Any, Any], scene: Scene, bucket: str
) -> None:
    first, second = gateways
    contents = {f"objects/{number}": os.urandom(1000 + number) for number in range(12)}
    for key, content in contents.items():
        first.put_object(Bucket=bucket, Key=key, Body=content)
    for key, content in contents.items():
        assert second.get_object(Bucket=bucket, Key=key)["Body"].read() == content
        assert scene.fs.read_bytes(f"/{bucket}/{key}") == content
    pages = second.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix="objects/", PaginationConfig={"PageSize": 5}
    )
    assert [each["Key"] for page in pages for each in page["Contents"]] == sorted(contents)
    gone = [{"Key": key} for key in contents]
    deleted = second.delete_objects(Bucket=bucket, Delete={"Objects": gone})
    assert "Errors" not in deleted
    assert "Contents" not in first.list_objects_v2(Bucket=bucket, Prefix="objects/")


@pytest.mark.parametrize("bucket", BUCKETS)
def test_parts_become_one_object(gateways: tuple[Any, Any], scene: Scene, bucket: str) -> None:
    first, second = gateways
    upload = {"Bucket": bucket, "Key": "joined"}
    upload["UploadId"] = first.create_multipart_upload(**upload)["UploadId"]
    bodies = [os.urandom(5 * MIB), b"the end"]
    parts = [
        {
            "PartNumber": number,
            "ETag": client.upload_part(**upload, PartNumber=number, Body=body)["ETag"],
        }
        for number, (client, body) in enumerate(zip(gateways, bodies, strict=True), 1)
    ]
    second.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert scene.fs.read_bytes(f"/{bucket}/joined") == b"".join(bodies)


def raced(gateways: tuple[Any, Any], key: str, bodies: list[bytes], **condition: str) -> list[str]:
    """The ETags of what two gateways put at the same moment; empty for one that was refused."""
    begin = threading.Barrier(2)

    def put(client: Any, body: bytes) -> str:
        begin.wait(60)
        try:
            put = client.put_object(Bucket="east", Key=key, Body=body, **condition)
        except ClientError as error:
            if error.response["Error"]["Code"] != "PreconditionFailed":
                raise
            return ""
        return str(put["ETag"])

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(put, gateways, bodies))


def test_one_of_two_gateways_replaces_what_both_have_seen(gateways: tuple[Any, Any]) -> None:
    etag = gateways[0].put_object(Bucket="east", Key="raced", Body=b"first")["ETag"]
    for number in range(30):
        bodies = [b"%d by %d" % (number, gateway) for gateway in range(2)]
        etags = raced(gateways, "raced", bodies, IfMatch=etag)
        (winner,) = [gateway for gateway, made in enumerate(etags) if made]
        found = gateways[1].get_object(Bucket="east", Key="raced")
        assert (found["ETag"], found["Body"].read()) == (etags[winner], bodies[winner])
        etag = found["ETag"]


def test_one_of_two_gateways_makes_what_was_not_there(gateways: tuple[Any, Any]) -> None:
    for number in range(30):
        etags = raced(gateways, f"made-{number}", [b"x", b"y"], IfNoneMatch="*")
        assert etags.count("") == 1


def test_no_exclusive_creation_is_promised_in_several_clusters(
    gateways: tuple[Any, Any], scene: Scene
) -> None:
    """A file that was staged in one of them is not seen by the other, where the same key may be
    created at that moment."""
    for number in range(6):
        key = f"exclusive-{number}"
        with pytest.raises(ClientError, match=r"NotImplemented.*may be in several nameservices"):
            gateways[0].put_object(Bucket="spread", Key=key, Body=b"x", IfNoneMatch="*")
        assert not scene.fs.exists(f"/spread/{key}")


@pytest.mark.parametrize("bucket", BUCKETS)
def test_what_has_changed_is_not_deleted(gateways: tuple[Any, Any], bucket: str) -> None:
    first, second = gateways
    old = first.put_object(Bucket=bucket, Key="changed", Body=b"old")["ETag"]
    new = second.put_object(Bucket=bucket, Key="changed", Body=b"new")["ETag"]
    with pytest.raises(ClientError, match="PreconditionFailed"):
        first.delete_object(Bucket=bucket, Key="changed", IfMatch=old)
    first.delete_object(Bucket=bucket, Key="changed", IfMatch=new)
    with pytest.raises(ClientError, match="NoSuchKey"):
        second.get_object(Bucket=bucket, Key="changed")


# -- a mount -----------------------------------------------------------------------------


def test_mount_points_are_directories(mount: Mount) -> None:
    assert {*SIDES, "spread"} <= {*mount.shell("ls").split()}


@pytest.mark.parametrize("side", BUCKETS)
def test_files_come_in_and_out_whole(mount: Mount, scene: Scene, side: str, tmp_path: Path) -> None:
    content = os.urandom(3 * MIB + 17)
    (tmp_path / "source").write_bytes(content)
    mount.run("cp", tmp_path / "source", f"{side}/copied")
    assert scene.fs.read_bytes(f"/{side}/copied") == content
    assert mount.run("cat", f"{side}/copied").stdout == content
    mount.shell(f"mv {side}/copied {side}/moved; echo more >> {side}/moved")
    assert scene.fs.read_bytes(f"/{side}/moved") == content + b"more\n"
    mount.shell(f"mkdir -p {side}/a/b && rmdir {side}/a/b && rm -r {side}/a {side}/moved")
    assert not scene.fs.exists(f"/{side}/a")
    assert not scene.fs.exists(f"/{side}/moved")


def test_files_move_from_one_cluster_to_another(mount: Mount, scene: Scene) -> None:
    mount.shell("mkdir east/tree && echo text > east/tree/file")
    mount.shell("mv east/tree/file west/file && mv east/tree west/tree")
    assert scene.direct["west"].read_bytes("/mounted/file") == b"text\n"
    assert scene.direct["west"].get_file_status("/mounted/tree").is_directory
    assert not scene.fs.exists("/east/tree")


def test_a_tree_of_several_clusters_is_archived(mount: Mount, scene: Scene) -> None:
    for number in range(10):
        scene.fs.write_bytes(f"/spread/tree/{number}", b"x" * number)
    mount.shell("tar cf west/tree.tar spread/tree && tar xf west/tree.tar -C east")
    for number in range(10):
        assert scene.direct["east"].read_bytes(f"/mounted/spread/tree/{number}") == b"x" * number
