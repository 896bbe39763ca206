"""`howdah.namenode.visible-length.delay`, from the configuration to the log of a namenode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import TypeVarTuple

import pytest

from howdah.config import Configuration, keys
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from tests.support.namenode_pair import acknowledged, call

MKDIRS = pb.MkdirsRequestProto(
    src="/a", masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
)
Ts = TypeVarTuple("Ts")


class WatchedLoop(asyncio.SelectorEventLoop):
    """Remembers what it was to do later, and when."""

    def __init__(self) -> None:
        super().__init__()
        self.delays_s: list[float] = []

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self.delays_s.append(delay)
        return super().call_later(delay, callback, *args, context=context)


@pytest.mark.parametrize(("wanted", "delay_s"), [("17", 0.017), ("0", None), ("1h", 0.1)])
def test_a_change_that_nobody_waits_for_is_logged_so_much_later(
    wanted: str, delay_s: float | None, tmp_path: Path
) -> None:
    conf = Configuration(
        {
            keys.HOWDAH_NAMENODE_VISIBLE_LENGTH_DELAY.name: wanted,
            keys.DFS_NAMENODE_NAME_DIR.name: str(tmp_path / "name"),
            keys.DFS_NAMENODE_RPC_ADDRESS.name: "127.0.0.1:0",
            keys.DFS_NAMENODE_HTTP_ADDRESS.name: "127.0.0.1:0",
        }
    )
    format_namenode(conf)
    directories = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    edits_directories = conf.get(keys.DFS_NAMENODE_EDITS_DIR)

    async def main() -> list[float]:
        namenode = Namenode(conf, loaded)
        namenode.namesystem.safe_mode.leave(force=True)
        namenode.roles.become(HAState.ACTIVE)
        await acknowledged(namenode, "what it logs when it becomes active")
        before = namenode.log_writer.durable_txid
        before_calls = len(loop.delays_s)
        call(namenode, "mkdirs", MKDIRS)
        barrier = namenode.log_writer._barrier
        assert not barrier.must_wait(early=True), "the answer does not wait"
        barrier.left_early()
        await asyncio.sleep(0)  # The turn ends.
        asked = loop.delays_s[before_calls:]
        async with asyncio.timeout(60):
            while namenode.log_writer.durable_txid == before:
                await asyncio.sleep(0.005)
        namenode.roles.become(HAState.STOPPING)
        namenode.starting.http.stop()
        return asked

    loop = WatchedLoop()
    loaded = load(directories, edits_directories)
    try:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            asked = runner.run(main())
    finally:
        for lock in loaded.locks:
            lock.release()
    assert asked == ([] if delay_s is None else [delay_s])
