"""Three journal nodes in this process, on real sockets and files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from howdah.config import Configuration, keys
from howdah.config.journal_uri import JournalUri
from howdah.formats.version import NamenodeVersion
from howdah.journalnode.server import JournalNode
from howdah.namenode.journal.quorum.quorum_log import QuorumLog
from howdah.namenode.journal.quorum.settings import QuorumSettings

T = TypeVar("T")

VERSION = NamenodeVersion(7, "CID-quorum", "BP-1-127.0.0.1-1", 0)


class Quorum:
    """The nodes, each with its directory and its port."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._ports = ["0", "0", "0"]
        self.nodes: list[JournalNode | None] = [None, None, None]
        for number in range(3):
            self.start(number)

    def conf(self, number: int) -> Configuration:
        return Configuration(
            {
                keys.DFS_JOURNALNODE_RPC_ADDRESS.name: f"127.0.0.1:{self._ports[number]}",
                keys.DFS_JOURNALNODE_HTTP_ADDRESS.name: "127.0.0.1:0",
                keys.DFS_JOURNALNODE_EDITS_DIR.name: str(self.directory(number)),
            }
        )

    def directory(self, number: int) -> Path:
        return self._base / f"jn{number}"

    def start(self, number: int) -> None:
        node = JournalNode(self.conf(number))
        rpc, _ = self._run(node.start())
        self._ports[number] = str(rpc[1])
        self.nodes[number] = node

    def stop(self, number: int) -> None:
        node, self.nodes[number] = self.nodes[number], None
        assert node is not None
        self._on_loop(node.stop)

    @property
    def uri(self) -> JournalUri:
        return JournalUri(tuple(("127.0.0.1", int(port)) for port in self._ports), "ns")

    def log(self, **settings: str) -> QuorumLog:
        return QuorumLog(self.uri, VERSION, QuorumSettings.of(Configuration(settings), None), "ns")

    def close(self) -> None:
        for number, node in enumerate(self.nodes):
            if node is not None:
                self.stop(number)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

    def _on_loop(self, act: Callable[[], T]) -> T:
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(act())
            except BaseException as error:
                done.set_exception(error)
                raise

        self._loop.call_soon_threadsafe(run)
        return done.result(30)
