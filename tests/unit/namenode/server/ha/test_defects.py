"""Where a defect happens decides how far it reaches (`howdah.runtime.unexpected_errors`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
import uvloop
from google.protobuf.message import Message

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.edits import edits
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.protocols import client
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.client import AnswerType, RpcClient
from howdah.runtime import unexpected_errors

WAIT_S = 30

T = TypeVar("T", bound=Message)


async def come_true(condition: Callable[[], object]) -> None:
    """Return when it is true; TimeoutError if that takes too long."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await asyncio.sleep(0.001)


class Serving:
    """A namenode that serves on this loop, and a client of it on a thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.conf = Configuration(
            {
                keys.FS_DEFAULTFS.name: "hdfs://127.0.0.1:0",
                keys.DFS_NAMENODE_HTTP_ADDRESS.name: "127.0.0.1:0",
                keys.DFS_NAMENODE_NAME_DIR.name: str(root),
                keys.HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES.name: "root=",
            }
        )
        self.namenode: Namenode

    def run(self, scenario: Callable[[Serving], Awaitable[None]]) -> int:
        """The exit code of the namenode."""
        if not self.root.exists():
            format_namenode(self.conf)

        async def main() -> int:
            loaded = load([self.root], [self.root])
            try:
                self.namenode = Namenode(self.conf, loaded)
                self.namenode.namesystem.safe_mode.leave(force=True)
                serving = asyncio.create_task(self.namenode.serve(None))
                await come_true(lambda: self.namenode._pages.port)
                await asyncio.wait_for(scenario(self), WAIT_S)
                self.namenode._stop.set()
                return await serving
            finally:
                for lock in loaded.locks:
                    lock.release()

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(main())

    async def call(self, method: str, request: Message, response: AnswerType[T]) -> T:
        def ask() -> T:
            rpc = RpcClient(
                ("127.0.0.1", self.namenode._pages.port),
                client.PROTOCOL,
                user=self.namenode.namesystem.permissions.superuser,
            )
            try:
                return rpc.call(method, request, response)
            finally:
                rpc.close()

        return await asyncio.to_thread(ask)

    async def mkdir(self, path: str) -> pb.MkdirsResponseProto:
        request = pb.MkdirsRequestProto(
            src=path, masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
        )
        return await self.call("mkdirs", request, pb.MkdirsResponseProto)


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    return Serving(tmp_path / "name")


def test_defect_in_apply_ends_the_process_and_nothing_of_it_is_acknowledged_or_kept(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    apply = Namespace.apply

    def broken(self: Namespace, edit: edits.Edit) -> None:
        apply(self, edit)
        if isinstance(edit, edits.MkdirOp) and edit.path == "/half":
            raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(Namespace, "apply", broken)

    async def scenario(here: Serving) -> None:
        assert (await here.mkdir("/whole")).result
        with pytest.raises(errors.HowdahError) as caught:
            await here.mkdir("/half")
        assert "nobody foresaw" not in str(caught.value), "the connection ends without an answer"

    assert serving.run(scenario) == 1
    critical = [r.getMessage() for r in caplog.records if r.levelno == logging.CRITICAL]
    txid = serving.namenode.namesystem.last_txid + 1
    assert f"applying OP_MKDIR as transaction {txid} failed on a defect" in critical[0]
    assert "A start replays the log up to the last transaction that is durable" in critical[0]
    monkeypatch.undo()
    images = sorted(path.name for path in serving.root.glob("current/fsimage_*"))
    assert images == ["fsimage_0000000000000000000", "fsimage_0000000000000000000.md5"]

    async def again(here: Serving) -> None:
        assert here.namenode.namesystem.namespace.find("/whole") is not None
        assert here.namenode.namesystem.namespace.find("/half") is None

    assert serving.run(again) == 0


def test_defect_in_a_call_is_told_to_its_caller_and_everybody_is_served_on(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = unexpected_errors.seen["getFileInfo"]

    async def scenario(here: Serving) -> None:
        def fail(*args: object, **options: object) -> None:
            raise RuntimeError("nobody foresaw this")

        queries = here.namenode.client.families[0]
        monkeypatch.setattr(queries, "_queries", fail)
        with pytest.raises(errors.RemoteError, match="getFileInfo failed on an internal error"):
            await here.call(
                "getFileInfo", pb.GetFileInfoRequestProto(src="/"), pb.GetFileInfoResponseProto
            )
        assert (await here.mkdir("/a")).result

    assert serving.run(scenario) == 0
    assert unexpected_errors.seen["getFileInfo"] == before + 1
    assert "getFileInfo failed on a defect" in caplog.text


def test_defect_in_a_duty_is_counted_for_jmx_and_everybody_is_served_on(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(here: Serving) -> None:
        def fail() -> None:
            raise RuntimeError("nobody foresaw this")

        before = unexpected_errors.seen["pending answers"]
        monkeypatch.setattr(here.namenode.client._files.closes, "recheck", lambda ids: fail())
        await come_true(lambda: unexpected_errors.seen["pending answers"] > before)
        assert (await here.mkdir("/a")).result
        assert here.namenode._pages.status().defects["pending answers"] == before + 1

    assert serving.run(scenario) == 0


def test_defect_in_a_callback_of_the_loop_is_counted(serving: Serving) -> None:
    def fail() -> None:
        raise RuntimeError("nobody foresaw this")

    async def scenario(here: Serving) -> None:
        before = unexpected_errors.seen.total()
        asyncio.get_running_loop().call_soon(fail)
        await come_true(lambda: unexpected_errors.seen.total() > before)
        assert unexpected_errors.seen.total() == before + 1
        assert (await here.mkdir("/a")).result

    assert serving.run(scenario) == 0
