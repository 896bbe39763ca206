"""A router before an active namenode and an observer, all on one loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.service import WireAnswer
from howdah.router.server import Router
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from tests.support.namenode_pair import Pair, become, run

T = TypeVar("T")
PROVIDER: Final = (
    "org.apache.hadoop.hdfs.server.namenode.ha.RouterObserverReadConfiguredFailoverProxyProvider"
)


class ObservedRouter:
    """An active namenode, an observer, and a router before them; who is asked for what."""

    def __init__(self, pair: Pair, router: Router, place: str) -> None:
        self.pair = pair
        self.router = router
        self.place = place
        self.asked: dict[str, Counter[str]] = {}

    def watch(self, name: str, namenode: Namenode) -> None:
        counts = self.asked[name] = Counter()
        dispatch = namenode.registry.dispatch_to_wire

        def noting(call: Call) -> WireAnswer:
            counts[call.method] += 1
            return dispatch(call)

        watched: Any = namenode.registry
        watched.dispatch_to_wire = noting

    @property
    def client_values(self) -> dict[str, str]:
        """The configuration of a client that knows two routers, which are this one."""
        return {
            "fs.defaultFS": "hdfs://fed",
            "dfs.nameservices": "fed",
            "dfs.ha.namenodes.fed": "r1,r2",
            "dfs.namenode.rpc-address.fed.r1": self.place,
            "dfs.namenode.rpc-address.fed.r2": self.place,
            "dfs.client.failover.proxy.provider.fed": PROVIDER,
        }

    def client(self) -> FileSystem:
        return connect(conf=Configuration(self.client_values))

    def single(self, **values: str) -> FileSystem:
        """A client that knows one router."""
        return connect(f"hdfs://{self.place}", conf=Configuration(values))


def before_an_observer(tmp_path: Path, work: Callable[[ObservedRouter], T], **settings: str) -> T:
    """What `work` finds out, in a thread; `settings` are the router's. The root of the
    nameservice is mounted at `/m`."""
    pair = Pair(tmp_path / "pair")
    pair.format()

    async def scenario(pair: Pair) -> T:
        active, observer = await pair.serve("nn0"), await pair.serve("nn1")
        await become(active, HAState.ACTIVE)
        await become(observer, HAState.OBSERVER)
        values = {
            **dict(pair.conf("nn0").items()),
            "dfs.federation.router.store.driver.file.directory": str(tmp_path / "store"),
            "dfs.federation.router.rpc-address": "127.0.0.1:0",
            "dfs.federation.router.admin.enable": "false",
            "dfs.federation.router.http.enable": "false",
            "dfs.federation.router.heartbeat.interval": "1s",
            "dfs.federation.router.observer.read.default": "true",
            **settings,
        }
        router = Router(Configuration({key: str(value) for key, value in values.items()}))
        store = store_at(tmp_path / "store")
        store.prepare()
        store.add_mount(MountEntry("/m", (Destination("ns", "/"),)))
        try:
            (host, port), _, _ = await router.start()
            scene = ObservedRouter(pair, router, f"{host}:{port}")
            scene.watch("active", active)
            scene.watch("observer", observer)
            return await asyncio.to_thread(work, scene)
        finally:
            await router.stop()

    return run(pair, scenario)
