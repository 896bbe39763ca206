"""kill -9 of gateways for S3, of the active namenode and of datanodes while objects are written.

Whoever reads meanwhile gets one object or the other, whole. Whoever is told of an object finds it,
whatever is killed then; whoever is not told sends again, and has it. What is left behind goes when
its time is over.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from tests.support.s3_gateway import Door, before
from tests.support.torture import times

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1800)]

T = TypeVar("T")

BUCKET, KEY = "kills", "dir/k"
PART_BYTES = 5 << 20
PATIENCE_S = 180.0
VICTIMS = ("gateway", "namenode", "datanode")
CONF: dict[str, str | int] = {
    "dfs.replication": 2,
    "dfs.namenode.replication.min": 1,
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
    "dfs.client.socket-timeout": "5s",
}


def whole(number: int, parts: int) -> bytes:
    """An object that says which one it is, in each of its parts."""
    piece = b"%08d" % number
    return piece * (PART_BYTES // len(piece)) * (parts - 1) + piece * 1000


@dataclass
class Scene:
    cluster: MiniCluster
    fs: FileSystem
    stack: ExitStack = field(default_factory=ExitStack)
    door: Door | None = None
    failures: list[str] = field(default_factory=list)
    is_over: bool = False

    def start_gateway(self, *options: str) -> None:
        self.stack.close()
        self.door = self.stack.enter_context(before(self.cluster, "ann", *options))

    @property
    def client(self) -> Any:
        assert self.door is not None
        return self.door.client(connect_timeout=5, read_timeout=60)

    def kill(self, victim: str) -> None:
        if victim == "gateway":
            assert self.door is not None
            assert self.door.process is not None
            self.door.process.kill()
            self.door.process.wait(60)
            self.start_gateway()
            return
        name = self.cluster.active() if victim == "namenode" else "datanode0"
        self.cluster.kill(name)
        self.cluster.start(name)

    def until_told(self, act: Callable[[Any], T]) -> T:
        """Send a request until it is answered by what a client takes for an answer."""
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return act(self.client)
            except (BotoCoreError, ClientError) as error:
                is_refused = isinstance(error, ClientError) and (
                    error.response["ResponseMetadata"]["HTTPStatusCode"] < 500
                )
                if is_refused or time.monotonic() > deadline_s:
                    raise
            time.sleep(0.2)

    def read(self, sizes: dict[int, int]) -> None:
        """Look at the object all the time, past the gateways."""
        while not self.is_over:
            try:
                content = self.fs.read_bytes(f"/s3/{BUCKET}/{KEY}")
            except OSError:
                continue  # Servers are being killed.
            number = int(content[:8])
            if content != whole(number, sizes[number]):
                self.failures.append(f"{number} has {len(content)} bytes, and is not whole")


@pytest.fixture
def scene() -> Iterator[Scene]:
    with MiniCluster(namenodes=2, datanodes=2, conf=CONF) as cluster, cluster.connect() as fs:
        fs.mkdirs("/s3")
        fs.set_permission("/s3", 0o1777)
        found = Scene(cluster, fs)
        found.start_gateway()
        try:
            found.client.create_bucket(Bucket=BUCKET)
            yield found
        finally:
            found.is_over = True
            found.stack.close()


def put(scene: Scene, body: bytes, strike: Callable[[str], None]) -> None:
    strike("put")
    scene.until_told(lambda s3: s3.put_object(Bucket=BUCKET, Key=KEY, Body=body))


def put_parts(scene: Scene, body: bytes, strike: Callable[[str], None]) -> None:
    what = {"Bucket": BUCKET, "Key": KEY}
    strike("begin")
    upload = scene.until_told(lambda s3: s3.create_multipart_upload(**what))["UploadId"]
    parts: list[dict[str, Any]] = []
    for at in range(0, len(body), PART_BYTES):
        number = len(parts) + 1
        piece = body[at : at + PART_BYTES]
        asked = {**what, "UploadId": upload, "PartNumber": number}
        strike(f"part {number}")
        told = scene.until_told(lambda s3: s3.upload_part(Body=piece, **asked))  # noqa: B023
        parts.append({"PartNumber": number, "ETag": told["ETag"]})
    strike("complete")
    asked = {**what, "UploadId": upload, "MultipartUpload": {"Parts": parts}}
    scene.until_told(lambda s3: s3.complete_multipart_upload(**asked))


CASES = [(put, 2, "put"), *((put_parts, 3, step) for step in ("begin", "part 2", "complete"))]


def test_objects_are_whole_whoever_is_killed(scene: Scene) -> None:
    chance = random.Random(37)
    sizes = {0: 2}
    put(scene, whole(0, 2), lambda step: None)
    reader = threading.Thread(target=scene.read, args=(sizes,))
    reader.start()
    cases = [(victim, *case) for victim in VICTIMS for case in CASES for _ in range(times(2))]
    try:
        for number, (victim, write, parts, at) in enumerate(cases, 1):
            sizes[number] = parts
            killers: list[threading.Thread] = []

            def strike(step: str, victim: str = victim, at: str = at) -> None:
                """Kill somebody soon, while this step is done."""
                if step == at:
                    delay_s = chance.uniform(0, 0.3)
                    run = threading.Timer(delay_s, scene.kill, (victim,))
                    run.start()
                    killers.append(run)  # noqa: B023

            write(scene, whole(number, parts), strike)
            for killer in killers:
                killer.join()
            found = scene.until_told(
                lambda s3: s3.get_object(Bucket=BUCKET, Key=KEY)["Body"].read()
            )
            assert found == whole(number, parts), f"{victim} was killed at {at}"
    finally:
        scene.is_over = True
        reader.join()
    assert scene.failures == []
    # What is left goes when its time is over, when its user begins another upload.
    time.sleep(1.1)
    scene.start_gateway("-D", "howdah.s3.uploads.lifetime=1s")
    scene.until_told(lambda s3: s3.create_multipart_upload(Bucket=BUCKET, Key="another"))
    staging = f"/s3/{BUCKET}/.howdah-s3/ann"
    assert len(scene.fs.list_status(f"{staging}/uploads")) == 1
    assert scene.fs.list_status(f"{staging}/objects") == []
